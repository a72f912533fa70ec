#include "collector/counters.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "collector/clock.h"
#include "collector/diagnose.h"
#include "collector/exits.h"
#include "collector/graphs.h"
#include "collector/guard.h"
#include "collector/names.h"
#include "collector/output.h"
#include "collector/profiler.h"
#include "collector/ranges.h"
#include "collector/subscriber.h"

enum {
  SITES = 64,
  PATH_MOST = 128, /* bytes kept of a path of ranges */
};

/* A launch that is measured, until its values are there. */
typedef struct taken {
  launch launch;
  uint32_t ordinal;
  int64_t start;
  char path[PATH_MOST];
} taken;

/* A context in which launches are measured. */
typedef struct site {
  size_t number;
  profiler profiler;
  void *context; /* NULL: free */
  enum {
    NEW,
    READY,
    FAILED
  } state;
  bool refuses_graphs;
  bool flushed;
  bool open; /* is there a session? */
  int64_t started;
  size_t count; /* launches of the session */
  taken session[PROFILER_RANGES];
} site;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool active;
static site *sites[SITES];
static atomic_uint open_sessions;
/* Of each site: since when a measured launch, or its session's begin or end,
 * has been under way; 0: none is. A session that waits for launches is not. */
static atomic_int_fast64_t busy_since[SITES];
static uint32_t unit_number, launch_number;
static double spent_s;
static uint32_t measured;

/* Is a session for one launch alone? */
static bool one_by_one(const site *s) {
  return s->profiler.set.passes > 1 || the_plan.flush_cache;
}

/* ---- contexts ---- */

/* With the lock. */
static site *site_of(const void *context) {
  for (size_t i = 0; i < SITES; i++)
    if (sites[i] && sites[i]->context == context) return sites[i];
  return NULL;
}

/* With the lock; NULL: no memory, or too many of them. */
static site *make_site(void *context) {
  for (size_t i = 0; i < SITES; i++) {
    if (sites[i] && sites[i]->context) continue;
    if (!sites[i]) sites[i] = calloc(1, sizeof *sites[i]);
    if (!sites[i]) break;
    sites[i]->number = i;
    sites[i]->context = context;
    sites[i]->state = NEW;
    sites[i]->refuses_graphs = false;
    return sites[i];
  }
  diagnose(SPOOL_WARNING, "contexts",
           "launches of further contexts are not measured");
  return NULL;
}

static void is_busy(const site *s, bool busy) {
  atomic_store(&busy_since[s->number], busy ? clock_now() : 0);
}

/* ---- a session ---- */

/* What goes into the log; `values` of double follow, then the kernel's name
 * and the path of ranges, each with its NUL. */
typedef struct counters_entry {
  log_entry entry; /* time: the end; value: CUptiResult or SPOOL_ERROR_* */
  int64_t start;
  uint32_t number, unit;
  uint32_t context, correlation;
  uint32_t device;
  uint32_t grid[3], block[3];
  uint32_t shared, ordinal;
  uint32_t passes, flushed;
  uint32_t graph;
  uint32_t values;
  uint32_t ids[PLAN_METRICS];
  uint32_t reserved;
} counters_entry;

_Static_assert(sizeof(counters_entry) % sizeof(double) == 0, "values follow");

static char *put_text(char *at, const char *text) {
  size_t size = strlen(text) + 1;
  memcpy(at, text, size);
  return at + size;
}

/* What the log has of one without a kernel. */
static const char *kernel_of(const launch *l) {
  return l->kernel ? l->kernel : "";
}

static void log_counters(const site *s, const taken *t, uint32_t error,
                         const double *values) {
  const launch *l = &t->launch;
  const metric_set *set = &s->profiler.set;
  size_t count = error ? 0 : set->count;
  size_t texts = strlen(kernel_of(l)) + strlen(t->path) + 2;
  counters_entry *e =
      log_reserve(LOG_COUNTERS, sizeof *e + count * sizeof(double) + texts);
  if (!e) return;
  log_entry head = e->entry;
  head.value = error;
  *e = (counters_entry){
      .entry = head,
      .start = t->start,
      .number = ++launch_number,
      .unit = unit_number,
      .context = l->context_id,
      .correlation = l->correlation,
      .device = s->profiler.device,
      .shared = l->shared,
      .ordinal = t->ordinal,
      .passes = (uint32_t)set->passes,
      .flushed = s->flushed,
      .graph = l->graph,
      .values = (uint32_t)count,
  };
  memcpy(e->grid, l->grid, sizeof e->grid);
  memcpy(e->block, l->block, sizeof e->block);
  memcpy(e->ids, set->ids, sizeof e->ids);
  if (count) memcpy(e + 1, values, count * sizeof *values);
  put_text(put_text((char *)(e + 1) + count * sizeof(double), kernel_of(l)),
           t->path);
  log_commit();
}

static bool start_session(site *s, profiler_range range) {
  s->started = clock_now();
  if (!profiler_start(&s->profiler, range, &s->flushed)) return false;
  s->count = 0;
  s->open = true;
  atomic_fetch_add(&open_sessions, 1);
  return true;
}

/* The values of the session's launches. A range for each, in their order: with
 * another number nobody can tell which is which. Returns what was wrong. */
static uint32_t log_session(site *s, size_t ranges, uint32_t error) {
  double values[PLAN_METRICS];
  uint32_t first = error;
  if (!error && ranges != s->count) {
    first = error = SPOOL_ERROR_NO_DATA;
    diagnose(SPOOL_WARNING, "ranges", "%zu ranges for %zu launches", ranges,
             s->count);
  }
  for (size_t i = 0; i < s->count; i++) {
    bool has = !error && metrics_values(&s->profiler.set, i, values);
    uint32_t wrong = has ? 0 : error ? error : SPOOL_ERROR_NO_DATA;
    log_counters(s, &s->session[i], wrong, values);
    if (!first) first = wrong;
  }
  return first;
}

/* With the lock. Returns what was wrong, 0 for nothing. */
static uint32_t end_session(site *s) {
  uint32_t error = 0;
  if (!s->open) return 0;
  is_busy(s, true);
  size_t ranges = profiler_stop(&s->profiler, &error);
  error = log_session(s, ranges, error);
  spent_s += (double)(clock_now() - s->started) / 1e9;
  measured += (uint32_t)s->count;
  s->open = false;
  (void)atomic_fetch_sub(&open_sessions, 1);
  is_busy(s, false);
  return error;
}

/* Would one more go beyond the budget? */
static bool over_budget(void) {
  double each = measured ? spent_s / measured : 0;
  return spent_s + each > the_plan.budget_s;
}

static void fill_taken(taken *t, const launch *l, uint32_t ordinal) {
  *t = (taken){.launch = *l, .ordinal = ordinal, .start = clock_now()};
  ranges_path(t->path, sizeof t->path);
}

static void refuse(const site *s, const launch *l, uint32_t ordinal,
                   uint32_t error) {
  taken refused;
  fill_taken(&refused, l, ordinal);
  log_counters(s, &refused, error, NULL);
}

static void tell_opened(const profiler *p) {
  diagnose(SPOOL_INFO, "counters", "%zu metrics in %zu passes on %s (GPU %u)",
           p->set.count, p->set.passes, p->chip, (unsigned)p->device);
}

/* With the lock: the context's site when it can measure; NULL. */
static site *ready_site(void *context) {
  site *s = site_of(context);
  if (!s) s = make_site(context);
  if (s && s->state == NEW) {
    s->state = profiler_open(&s->profiler, context) ? READY : FAILED;
    if (s->state == READY) tell_opened(&s->profiler);
  }
  return s && s->state == READY ? s : NULL;
}

/* With the lock: is there a session, after this? */
static bool make_ready(site *s, const launch *l, uint32_t ordinal) {
  profiler_range range = l->graph ? PROFILER_ALL : PROFILER_LAUNCHES;
  if (s->open && (one_by_one(s) || l->graph || s->count == PROFILER_RANGES))
    (void)end_session(s);
  if (s->open) return true;
  if (!over_budget()) return start_session(s, range);
  refuse(s, l, ordinal, SPOOL_ERROR_BUDGET);
  return false;
}

/* With the lock: was it taken? */
static bool take(site *s, const launch *l, uint32_t ordinal) {
  is_busy(s, true);
  bool ready = make_ready(s, l, ordinal);
  is_busy(s, ready);
  if (ready) fill_taken(&s->session[s->count++], l, ordinal);
  return ready;
}

/* ---- launches ---- */

static void end_session_of(const void *context) {
  site *s = site_of(context);
  if (s) (void)end_session(s);
}

void counters_enter(const launch *l) {
  uint32_t ordinal = 0;
  if (!atomic_load_explicit(&active, memory_order_acquire)) return;
  bool wanted = chosen_is(l, &ordinal) && !guard_capturing();
  if (!wanted && !atomic_load(&open_sessions)) return;
  pthread_mutex_lock(&lock);
  site *s = wanted && atomic_load(&active) ? ready_site(l->context) : NULL;
  if (s)
    (void)take(s, l, ordinal);
  else if (!wanted)
    end_session_of(l->context);
  pthread_mutex_unlock(&lock);
}

void counters_exit(const void *context) {
  if (!atomic_load(&open_sessions)) return;
  pthread_mutex_lock(&lock);
  site *s = site_of(context);
  if (s && one_by_one(s)) (void)end_session(s);
  if (s) is_busy(s, false);
  pthread_mutex_unlock(&lock);
}

void counters_break(const void *context) {
  if (!atomic_load(&open_sessions)) return;
  pthread_mutex_lock(&lock);
  end_session_of(context);
  pthread_mutex_unlock(&lock);
}

/* ---- graphs ---- */

/* One launch, which is the application's own, in one pass. */
static bool can_take_graphs(site *s) {
  if (s->refuses_graphs) return false;
  if (s->profiler.set.passes == 1) return true;
  s->refuses_graphs = true;
  diagnose(SPOOL_WARNING, "graph_refused",
           "graphs are not measured: these metrics need %zu passes, and no "
           "graph is launched again",
           s->profiler.set.passes);
  return false;
}

/* What goes wrong once does so again. */
static void give_up_graphs(site *s, uint32_t error) {
  s->refuses_graphs = true;
  diagnose(SPOOL_WARNING, "graph_refused",
           "graphs are not measured: %s (%u); samples say what they do",
           error == SPOOL_ERROR_NO_DATA ? "the profiler gave no values"
           : error                      ? cupti_result_name((CUptiResult)error)
                   : "no range can be begun around a launch",
           (unsigned)error);
}

/* With the lock. */
static void take_graph(const launch *l, uint32_t ordinal) {
  site *s = ready_site(l->context);
  if (!s || !can_take_graphs(s)) return;
  if (graphs_may_wait(l->graph))
    refuse(s, l, ordinal, SPOOL_ERROR_WAITS);
  else if (!take(s, l, ordinal) && !over_budget())
    give_up_graphs(s, 0);
}

void counters_graph_enter(const launch *l) {
  uint32_t ordinal = 0;
  if (!atomic_load_explicit(&active, memory_order_acquire)) return;
  bool wanted = chosen_graph_is(l, &ordinal) && !guard_capturing();
  pthread_mutex_lock(&lock);
  end_session_of(l->context);
  if (wanted && atomic_load(&active)) take_graph(l, ordinal);
  pthread_mutex_unlock(&lock);
}

void counters_graph_exit(const void *context) {
  if (!atomic_load(&open_sessions)) return;
  pthread_mutex_lock(&lock);
  site *s = site_of(context);
  uint32_t error = s ? end_session(s) : 0;
  if (error) give_up_graphs(s, error);
  pthread_mutex_unlock(&lock);
}

/* ---- on and off ---- */

static void end_all(void) {
  for (size_t i = 0; i < SITES; i++)
    if (sites[i]) (void)end_session(sites[i]);
}

void counters_start(uint32_t unit, bool anew) {
  pthread_mutex_lock(&lock);
  end_all();
  unit_number = unit;
  if (cupti.version && chosen_begin(anew)) {
    exits_register();
    atomic_store(&active, true);
    subscriber_launches(true);
  }
  pthread_mutex_unlock(&lock);
}

/* With the lock. One that failed stays so, as long as its context is there. */
static void close_site(site *s) {
  if (s->state != READY) return;
  (void)end_session(s);
  profiler_close(&s->profiler);
  s->state = NEW;
}

/* The driver is no more, and CUPTI with it: nothing is given back. */
static void forget_site(site *s) {
  s->profiler = (profiler){0};
  s->open = false;
  is_busy(s, false);
  if (s->state == READY) s->state = NEW;
}

void counters_stop(void) {
  if (!atomic_exchange(&active, false)) return;
  pthread_mutex_lock(&lock);
  bool entered = guard_enter();
  bool alive = driver_alive();
  if (alive) subscriber_launches(false);
  for (size_t i = 0; i < SITES; i++)
    if (sites[i]) (alive ? close_site : forget_site)(sites[i]);
  atomic_store(&open_sessions, 0);
  if (entered) guard_leave();
  pthread_mutex_unlock(&lock);
}

void counters_context_gone(const void *context) {
  pthread_mutex_lock(&lock);
  site *s = site_of(context);
  if (s) {
    close_site(s);
    s->context = NULL;
  }
  pthread_mutex_unlock(&lock);
}

int64_t counters_since(void) {
  int64_t first = 0;
  for (size_t i = 0; i < SITES; i++) {
    int64_t since = atomic_load(&busy_since[i]);
    if (since && (!first || since < first)) first = since;
  }
  return first;
}

/* ---- for the writer ---- */

bool counters_write(const log_entry *entry) {
  if (entry->type != LOG_COUNTERS) return false;
  const counters_entry *e = (const void *)entry;
  const double *values = (const void *)(e + 1);
  const char *kernel = (const char *)(values + e->values);
  spool_value out[PLAN_METRICS];
  for (uint32_t i = 0; i < e->values; i++)
    out[i] = (spool_value){.metric = e->ids[i], .value = values[i]};
  spool_counters record = {
      .start = e->start,
      .end = entry->time,
      .launch = e->number,
      .unit = e->unit,
      .name = *kernel ? names_id(kernel) : 0,
      .device = e->device,
      .context = e->context,
      .stream = SPOOL_NO_ID,
      .correlation = e->correlation,
      .tid = entry->tid,
      .dynamic_shared = e->shared,
      .ordinal = e->ordinal,
      .ranges = names_id(kernel + strlen(kernel) + 1),
      .passes = e->passes,
      .flushed = e->flushed,
      .error = entry->value,
      .values = e->values,
      .graph = e->graph,
  };
  memcpy(record.grid, e->grid, sizeof record.grid);
  memcpy(record.block, e->block, sizeof record.block);
  output_record(SPOOL_COUNTERS, &record, sizeof record, out,
                e->values * sizeof *out);
  return true;
}

void counters_forget(void) {
  pthread_mutex_init(&lock, NULL);
  atomic_store(&active, false);
  atomic_store(&open_sessions, 0);
  for (size_t i = 0; i < SITES; i++) atomic_store(&busy_since[i], 0);
  memset(sites, 0, sizeof sites); /* the parent's */
}

#include "collector/counters.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
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
  PATH_MOST = 128,  /* bytes kept of a path of ranges */
  BUCKETS = 1024,   /* of series */
  SPREAD_MOST = 64, /* passes, a bit each */
  MISSES = 12,      /* launches without a gain before another pass is on */
  NOWHERE = PROFILER_RANGES,
};

/* A launch that is measured, until its values are there. */
typedef struct taken {
  launch launch;
  uint32_t ordinal;
  int64_t start;
  char path[PATH_MOST];
} taken;

/* A launch that comes in several units, in each of which it is measured for
 * another set of metrics: in the recording it is one, that of the first. */
typedef struct series {
  const void *like; /* of chosen.h, a graph's: NULL */
  taken first;
  uint32_t wanted, taken; /* units in which it is to be measured, and was */
  uint64_t spread;        /* passes that launches like it had, a bit each */
  size_t number;          /* of its range in the session, NOWHERE: none */
  uint32_t passes, error;
  bool flushed;
  bool left; /* it lacks passes for counters.budget_s */
  size_t count;
  uint64_t names[PLAN_METRICS]; /* hashes; no metric comes twice */
  uint32_t ids[PLAN_METRICS];
  double values[PLAN_METRICS];
  struct series *after; /* in the order of their first launches */
  struct series *alike; /* of the same bucket */
} series;

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
  bool open;    /* is there a session? */
  size_t count; /* launches of the session, or series whose passes it spreads */
  taken session[PROFILER_RANGES];
  series *series, **last;
  series *buckets[BUCKETS]; /* of them, for finding one */
  series *now;              /* that the session is of, NULL: of none */
  /* Where the session spreads passes over launches: */
  bool spreads;
  bool in_range; /* of the launch that caller makes, of the series now */
  bool spoiled;  /* by another launch */
  bool refuses_spread;
  pthread_t caller;
  series *spread[PROFILER_RANGES];
  size_t pass, misses; /* the one that is on, and launches that had it already
                        * but lack others, since it was of use */
} site;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool active;
static bool paused; /* between units: sites keep what was measured */
static site *sites[SITES];
static atomic_uint open_sessions;
/* Which set is measured, unless there are fewer; how often the work of a unit
 * that counts on began. */
static size_t phase, begun_again;
/* Of each site: since when a measured launch, or its session's begin or end,
 * has been under way; 0: none is. A session that waits for launches is not. */
static atomic_int_fast64_t busy_since[SITES];
static uint32_t unit_number, launch_number;
/* What the launches of this phase took, and how many were measured and left
 * out; what those of earlier phases took. */
static double phase_s, spent_s;
static uint32_t phase_taken, phase_left;

/* Is a session for one launch alone? */
static bool one_by_one(const site *s) {
  return profiler_one_by_one(&s->profiler);
}

/* Are the metrics taken from several launches? */
static bool by_series(const site *s) {
  return s->profiler.set_count > 1;
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
    sites[i]->refuses_graphs = sites[i]->refuses_spread = false;
    return sites[i];
  }
  diagnose(SPOOL_WARNING, "contexts",
           "launches of further contexts are not measured");
  return NULL;
}

/* With the lock. What is busy counts for the budget. */
static void is_busy(const site *s, bool busy) {
  int64_t now = clock_now();
  int64_t since =
      atomic_exchange(&busy_since[s->number], busy ? (int_fast64_t)now : 0);
  if (since) phase_s += (double)(now - since) / 1e9;
}

/* ---- a session ---- */

/* What goes into the log: the record, which has no names yet, its values, then
 * the kernel's name and the path of ranges, each with its NUL. */
typedef struct counters_entry {
  log_entry entry;
  spool_counters record;
} counters_entry;

static char *put_text(char *at, const char *text) {
  size_t size = strlen(text) + 1;
  memcpy(at, text, size);
  return at + size;
}

/* What the log has of one without a kernel. */
static const char *kernel_of(const launch *l) {
  return l->kernel ? l->kernel : "";
}

/* What came of a launch, or of a series. */
typedef struct outcome {
  uint32_t passes, error;
  bool flushed;
  size_t count; /* of values, with their metrics' ids */
  const uint32_t *ids;
  const double *values;
} outcome;

static void log_counters(const site *s, const taken *t, const outcome *made) {
  const launch *l = &t->launch;
  size_t count = made->error ? 0 : made->count;
  size_t texts = strlen(kernel_of(l)) + strlen(t->path) + 2;
  counters_entry *e = log_reserve(
      LOG_COUNTERS, sizeof *e + count * sizeof(spool_value) + texts);
  if (!e) return;
  e->record = (spool_counters){
      .start = t->start,
      .end = e->entry.time,
      .launch = ++launch_number,
      .unit = unit_number,
      .device = s->profiler.device,
      .context = l->context_id,
      .stream = SPOOL_NO_ID,
      .correlation = l->correlation,
      .tid = e->entry.tid,
      .dynamic_shared = l->shared,
      .ordinal = t->ordinal,
      .passes = made->passes,
      .flushed = made->flushed,
      .error = made->error,
      .values = (uint32_t)count,
      .graph = l->graph,
  };
  memcpy(e->record.grid, l->grid, sizeof l->grid);
  memcpy(e->record.block, l->block, sizeof l->block);
  spool_value *values = (void *)(e + 1);
  for (size_t i = 0; i < count; i++)
    values[i] = (spool_value){.metric = made->ids[i], .value = made->values[i]};
  put_text(put_text((char *)(values + count), kernel_of(l)), t->path);
  log_commit();
}

static void fill_taken(taken *t, const launch *l, uint32_t ordinal) {
  *t = (taken){.launch = *l, .ordinal = ordinal, .start = clock_now()};
  ranges_path(t->path, sizeof t->path);
}

/* ---- series ---- */

/* Which set is taken in this unit. */
static size_t current_set(const site *s) {
  size_t count = s->profiler.set_count;
  return count == 0 ? 0 : phase < count ? phase : count - 1;
}

static bool same_launch(const launch *a, const launch *b) {
  return a->kernel == b->kernel && a->graph == b->graph &&
         a->shared == b->shared &&
         memcmp(a->grid, b->grid, sizeof a->grid) == 0 &&
         memcmp(a->block, b->block, sizeof a->block) == 0;
}

static series **bucket_of(site *s, const launch *l, const choice *c) {
  uintptr_t mixed = (uintptr_t)c->like / 16 + (uintptr_t)l->kernel / 16;
  return &s->buckets[mixed % BUCKETS];
}

/* NULL: it was not wanted before. */
static series *series_of(site *s, const launch *l, const choice *c) {
  for (series *at = *bucket_of(s, l, c); at; at = at->alike)
    if (at->like == c->like && at->first.ordinal == c->ordinal &&
        same_launch(&at->first.launch, l))
      return at;
  return NULL;
}

/* The first that is like a launch, whatever its ordinal; NULL: there is none.
 */
static series *series_like(site *s, const launch *l, const choice *c) {
  series *first = NULL;
  for (series *at = *bucket_of(s, l, c); at; at = at->alike)
    if (at->like == c->like && same_launch(&at->first.launch, l))
      first = at; /* the last one was there first */
  return first;
}

/* The one of a launch, made where there is none; NULL: no memory, or it has had
 * its passes. */
static series *series_for(site *s, const launch *l, const choice *c) {
  series *of = series_of(s, l, c);
  if (of) return of->taken < of->wanted ? of : NULL;
  of = calloc(1, sizeof *of);
  if (!of) {
    diagnose(SPOOL_ERROR, "memory", "no memory to measure %s", kernel_of(l));
    return NULL;
  }
  of->like = c->like;
  of->number = NOWHERE;
  of->wanted = c->passes;
  fill_taken(&of->first, l, c->ordinal);
  if (!s->series) s->last = &s->series;
  *s->last = of;
  s->last = &of->after;
  series **bucket = bucket_of(s, l, c);
  of->alike = *bucket;
  *bucket = of;
  return of;
}

static uint32_t count_bits(uint64_t bits) {
  uint32_t count = 0;
  for (; bits; bits &= bits - 1) count++;
  return count;
}

/* Writes them as launches; one of which nothing was measured has nothing to
 * say. */
static void end_all_series(site *s) {
  while (s->series) {
    series *of = s->series;
    const outcome made = {.passes = of->passes + count_bits(of->spread),
                          .error = of->count ? 0 : of->error,
                          .flushed = of->flushed,
                          .count = of->count,
                          .ids = of->ids,
                          .values = of->values};
    if (made.count || made.error) log_counters(s, &of->first, &made);
    s->series = of->after;
    free(of);
  }
  memset(s->buckets, 0, sizeof s->buckets);
}

static uint64_t hash_of(const char *name) {
  uint64_t hash = 14695981039346656037u;
  for (; *name; name++) hash = (hash ^ (uint8_t)*name) * 1099511628211u;
  return hash;
}

/* NULL: not measured. */
static const double *value_of(const series *of, const char *name) {
  uint64_t hash = hash_of(name);
  for (size_t i = 0; i < of->count; i++)
    if (of->names[i] == hash) return &of->values[i];
  return NULL;
}

static void add_value(series *of, const char *name, uint32_t id, double value) {
  uint64_t hash = hash_of(name);
  if (isnan(value) || of->count == PLAN_METRICS || value_of(of, name)) return;
  of->names[of->count] = hash;
  of->ids[of->count] = id;
  of->values[of->count++] = value;
}

/* What a session of a series gave. What an earlier one gave stays: its cache
 * was flushed before all of its passes. */
static void add_values(site *s, const double *values, uint32_t error) {
  const metric_set *set = s->profiler.set;
  series *of = s->now;
  s->now = NULL;
  of->taken++;
  if (error) {
    of->error = error;
    return;
  }
  if (of->count == 0) of->flushed = s->flushed && set->passes == 1;
  of->passes += (uint32_t)set->passes;
  for (size_t i = 0; i < set->count; i++)
    add_value(of, set->names[i], set->ids[i], values[i]);
}

/* ---- passes of several launches ---- */

#define OF_PEAK ".pct_of_peak_sustained_elapsed"

/* A range around a launch is 10 to 40 us longer than its kernel, and what is of
 * its length is smaller by as much: amounts are divided by the cycles that the
 * kernel took where it was measured alone. False: it is not known. */
static bool of_kernel(const site *s, const series *of, size_t index,
                      const char *name, double *value) {
  char amount[160], peak[200], cycles[64];
  const char *end = strstr(name, OF_PEAK), *unit = strstr(name, "__");
  if (!end) return true;
  if (!unit || (size_t)snprintf(amount, sizeof amount, "%.*s",
                                (int)(end - name), name) >= sizeof amount)
    return false;
  (void)snprintf(peak, sizeof peak, "%s.peak_sustained", amount);
  (void)snprintf(cycles, sizeof cycles, "%.*s__cycles_elapsed.avg",
                 (int)(unit - name), name);
  const char *const names[] = {amount, peak};
  const double *took = value_of(of, cycles);
  double two[2];
  if (!took || !metrics_evaluate(s->profiler.set, index, names, 2, two) ||
      !(two[1] > 0))
    return false;
  *value = 100 * two[0] / (two[1] * *took);
  return true;
}

/* What the ranges of a session gave, each of a series. */
static void add_spread(site *s, size_t ranges) {
  const metric_set *set = s->profiler.set;
  double values[PLAN_METRICS];
  for (size_t i = 0; i < ranges; i++) {
    size_t number = profiler_number(&s->profiler, i);
    series *of = number < s->count ? s->spread[number] : NULL;
    if (!of || !metrics_values(set, i, values)) continue;
    for (size_t k = 0; k < set->count; k++)
      if (!isnan(values[k]) && !value_of(of, set->names[k]) &&
          of_kernel(s, of, i, set->names[k], &values[k]))
        add_value(of, set->names[k], set->ids[k], values[k]);
  }
}

/* A session of them is over; what failed is not tried again. */
static void end_spread(site *s, size_t ranges, uint32_t error) {
  if (!error) add_spread(s, ranges);
  if (error) s->refuses_spread = true;
  for (size_t i = 0; i < s->count; i++) {
    if (!s->spread[i]) continue;
    s->spread[i]->number = NOWHERE;
    if (error) s->spread[i]->spread = 0;
  }
}

/* ---- sessions ---- */

static bool start_session(site *s, profiler_range range) {
  size_t set = current_set(s);
  if (!profiler_start(&s->profiler, set, range, &s->flushed)) return false;
  s->count = 0;
  s->spreads = range == PROFILER_PUSHED;
  s->pass = s->misses = 0;
  s->open = true;
  atomic_fetch_add(&open_sessions, 1);
  return true;
}

/* CUPTI gives no number for what it has not measured. */
static bool has_number(const double *values, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (!isnan(values[i])) return true;
  return false;
}

/* The values of the session's launches. A range for each, in their order: with
 * another number nobody can tell which is which. Returns what was wrong. */
static uint32_t log_session(site *s, size_t ranges, uint32_t error) {
  const metric_set *set = s->profiler.set;
  double values[PLAN_METRICS];
  uint32_t first = error;
  if (!error && ranges != s->count) {
    first = error = SPOOL_ERROR_NO_DATA;
    diagnose(SPOOL_WARNING, "ranges", "%zu ranges for %zu launches", ranges,
             s->count);
  }
  for (size_t i = 0; i < s->count; i++) {
    bool has = !error && metrics_values(set, i, values) &&
               has_number(values, set->count);
    outcome made = {.passes = (uint32_t)set->passes,
                    .error = has     ? 0
                             : error ? error
                                     : SPOOL_ERROR_NO_DATA,
                    .flushed = s->flushed,
                    .count = set->count,
                    .ids = set->ids,
                    .values = values};
    if (s->now)
      add_values(s, values, made.error);
    else
      log_counters(s, &s->session[i], &made);
    if (!first) first = made.error;
  }
  return first;
}

/* With the lock. Of a series with another launch in its range some numbers are
 * wrong, and it is not known which: all its passes are taken again. */
static void end_range(site *s) {
  if (!s->in_range) return;
  if (!profiler_pop(&s->profiler)) s->spoiled = s->refuses_spread = true;
  if (s->spoiled) {
    s->spread[s->now->number] = NULL;
    s->now->number = NOWHERE;
    s->now->spread = 0;
  }
  s->now = NULL;
  s->in_range = s->spoiled = false;
}

/* With the lock. Returns what was wrong, 0 for nothing. */
static uint32_t end_session(site *s) {
  uint32_t error = 0;
  if (!s->open) return 0;
  is_busy(s, true);
  if (s->in_range) s->spoiled = true; /* its launch is yet to end */
  end_range(s);
  size_t ranges = profiler_stop(&s->profiler, &error);
  if (s->spreads)
    end_spread(s, ranges, error);
  else
    error = log_session(s, ranges, error);
  s->open = false;
  (void)atomic_fetch_sub(&open_sessions, 1);
  is_busy(s, false);
  return error;
}

/* Would a launch go beyond the budget? */
static bool over_budget(void) {
  double each = phase_taken ? phase_s / phase_taken : 0;
  return spent_s + phase_s + each > the_plan.budget_s;
}

static void refuse(const site *s, const launch *l, uint32_t ordinal,
                   uint32_t error) {
  taken refused;
  const metric_set *set = s->profiler.set;
  const outcome made = {.passes = set ? (uint32_t)set->passes : 0,
                        .error = error};
  fill_taken(&refused, l, ordinal);
  log_counters(s, &refused, &made);
}

static void tell_opened(const profiler *p) {
  for (size_t i = 0; i < p->set_count; i++)
    diagnose(SPOOL_INFO, "counters",
             "%zu metrics in %zu passes on %s (GPU %u)%s", p->sets[i].count,
             p->sets[i].passes, p->chip, (unsigned)p->device,
             i > 0 ? ", in the units after the first" : "");
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
static bool make_ready(site *s, const launch *l) {
  profiler_range range = l->graph ? PROFILER_ALL : PROFILER_LAUNCHES;
  if (s->open && (one_by_one(s) || l->graph || s->count == PROFILER_RANGES))
    (void)end_session(s);
  is_busy(s, true);
  return s->open || start_session(s, range);
}

/* With the lock: was it taken? */
static bool take(site *s, const launch *l, const choice *c) {
  bool ready = make_ready(s, l);
  is_busy(s, ready);
  if (ready) fill_taken(&s->session[s->count++], l, c->ordinal);
  phase_taken += ready;
  return ready;
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

/* With the lock. One that is beyond the budget is refused. */
static void take_wanted(site *s, const launch *l, const choice *c) {
  series *of = by_series(s) ? series_for(s, l, c) : NULL;
  if (by_series(s) && !of) return;
  if (over_budget()) {
    if (!of || of->count == 0) refuse(s, l, c->ordinal, SPOOL_ERROR_BUDGET);
    phase_left++;
    return;
  }
  if (s->open && of) (void)end_session(s);
  s->now = of;
  if (take(s, l, c)) return;
  if (of) add_values(s, NULL, SPOOL_ERROR_NO_DATA);
  if (l->graph) give_up_graphs(s, 0);
}

/* ---- spreading passes ---- */

/* Are the passes of this unit taken from launches that are alike? More than
 * there are bits for are replayed. */
static bool spreads(const site *s) {
  size_t set = current_set(s), passes = s->profiler.sets[set].passes;
  return set > 0 && passes > 1 && passes <= SPREAD_MOST;
}

static uint64_t all_passes(const site *s) {
  return UINT64_MAX >> (SPREAD_MOST - s->profiler.sets[current_set(s)].passes);
}

/* How many series of the session lack passes. */
static size_t lacking(const site *s) {
  uint64_t all = all_passes(s);
  size_t count = 0;
  for (size_t i = 0; i < s->count; i++)
    count += s->spread[i] && s->spread[i]->spread != all;
  return count;
}

/* With the lock: a launch comes that had this pass but lacks others. After
 * MISSES of them, or as many as there are series that lack passes, the next
 * pass that this one lacks is on. A turn takes 11 ms, a launch that is measured
 * 2 ms. */
static void miss(site *s, const series *of) {
  size_t passes = s->profiler.set->passes, most = lacking(s);
  if (++s->misses < (most < MISSES ? most : MISSES)) return;
  bool goes = true;
  is_busy(s, true);
  do {
    s->pass = (s->pass + 1) % passes;
    goes = profiler_turn(&s->profiler);
  } while (goes && of->spread >> s->pass & 1);
  s->misses = 0;
  s->refuses_spread = !goes;
  if (!goes) (void)end_session(s);
  is_busy(s, false);
}

/* With the lock: has it a range in an open session, after this? */
static bool has_range(site *s, series *of) {
  if (!s->open && !start_session(s, PROFILER_PUSHED)) {
    s->refuses_spread = true;
    return false;
  }
  if (of->number != NOWHERE) return true;
  if (s->count == PROFILER_RANGES) return false;
  of->number = s->count;
  s->spread[s->count++] = of;
  return true;
}

/* With the lock. A launch that is like one of the first unit has the pass that
 * is on, where none like it had it yet. */
static void take_spread(site *s, const launch *l, const choice *c) {
  series *of = series_like(s, l, c);
  bool flushed;
  if (!of || of->count == 0 || of->wanted < 2 || s->refuses_spread) return;
  if (over_budget()) {
    (void)end_session(s);
    phase_left += !of->left && of->spread != all_passes(s);
    of->left = true;
    return;
  }
  if (of->spread == all_passes(s)) return;
  if (s->open && of->spread >> s->pass & 1) miss(s, of);
  if (s->refuses_spread) return;
  is_busy(s, true);
  if (has_range(s, of) && !(of->spread >> s->pass & 1)) {
    s->in_range = profiler_push(&s->profiler, of->number, &flushed);
    s->refuses_spread = !s->in_range; /* what failed once does so again */
  }
  is_busy(s, s->in_range);
  if (!s->in_range) return;
  of->flushed = of->flushed && flushed;
  of->spread |= UINT64_C(1) << s->pass;
  s->now = of;
  s->caller = pthread_self();
  s->misses = 0;
  phase_taken++;
}

/* ---- launches ---- */

/* Not the one of ranges that are pushed: nothing else is in these. */
static void end_session_of(const void *context) {
  site *s = site_of(context);
  if (s && s->in_range) {
    s->spoiled = true;
    if (pthread_equal(s->caller, pthread_self())) end_range(s);
  }
  if (s && !s->spreads) (void)end_session(s);
}

void counters_enter(const launch *l) {
  choice c;
  if (!atomic_load_explicit(&active, memory_order_acquire)) return;
  bool wanted = chosen_is(l, &c);
  bool may =
      (wanted || (c.like && the_plan.pass_count > 1)) && !guard_capturing();
  if (!may && !atomic_load(&open_sessions)) return;
  pthread_mutex_lock(&lock);
  site *s = may && atomic_load(&active) ? ready_site(l->context) : NULL;
  if (s && spreads(s) && !s->in_range)
    take_spread(s, l, &c);
  else if (s && wanted && !spreads(s))
    take_wanted(s, l, &c);
  else
    end_session_of(l->context);
  pthread_mutex_unlock(&lock);
}

void counters_exit(const void *context) {
  if (!atomic_load(&open_sessions)) return;
  pthread_mutex_lock(&lock);
  site *s = site_of(context);
  if (s && s->in_range && pthread_equal(s->caller, pthread_self()))
    end_range(s);
  else if (s && s->in_range)
    s->spoiled = true; /* this launch may have been made since it began */
  if (s && !s->spreads && one_by_one(s)) (void)end_session(s);
  if (s && !s->in_range) is_busy(s, false);
  pthread_mutex_unlock(&lock);
}

void counters_break(const void *context) {
  if (!atomic_load(&open_sessions)) return;
  pthread_mutex_lock(&lock);
  site *s = site_of(context);
  if (s) (void)end_session(s);
  pthread_mutex_unlock(&lock);
}

/* ---- graphs ---- */

/* One launch, which is the application's own, in one pass. */
static bool can_take_graphs(site *s) {
  size_t passes = s->profiler.sets[current_set(s)].passes;
  if (s->refuses_graphs || passes == 1) return !s->refuses_graphs;
  s->refuses_graphs = true;
  diagnose(SPOOL_WARNING, "graph_refused",
           "graphs are not measured: these metrics need %zu passes, and no "
           "graph is launched again",
           passes);
  return false;
}

/* With the lock. */
static void take_graph(const launch *l, const choice *c) {
  site *s = ready_site(l->context);
  if (!s || spreads(s) || !can_take_graphs(s)) return;
  if (graphs_may_wait(l->graph))
    refuse(s, l, c->ordinal, SPOOL_ERROR_WAITS);
  else
    take_wanted(s, l, c);
}

void counters_graph_enter(const launch *l) {
  choice c = {.passes = UINT32_MAX};
  if (!atomic_load_explicit(&active, memory_order_acquire)) return;
  bool wanted = chosen_graph_is(l, &c.ordinal) && !guard_capturing();
  pthread_mutex_lock(&lock);
  end_session_of(l->context);
  if (wanted && atomic_load(&active)) take_graph(l, &c);
  pthread_mutex_unlock(&lock);
}

void counters_graph_exit(const void *context) {
  if (!atomic_load(&open_sessions)) return;
  pthread_mutex_lock(&lock);
  site *s = site_of(context);
  uint32_t error = s && !s->spreads ? end_session(s) : 0;
  if (error) give_up_graphs(s, error);
  pthread_mutex_unlock(&lock);
}

/* ---- on and off ---- */

static void end_all(void) {
  for (size_t i = 0; i < SITES; i++)
    if (sites[i]) (void)end_session(sites[i]);
}

static void end_phase(void) {
  if (phase_taken > 0 || phase_left > 0)
    diagnose(SPOOL_INFO, phase_left > 0 ? "budget" : "measured",
             "%u launches took %.2f s, %u were left out for "
             "counters.budget_s = %g",
             (unsigned)phase_taken, phase_s, (unsigned)phase_left,
             the_plan.budget_s);
  spent_s += phase_s;
  phase_s = 0;
  phase_taken = phase_left = 0;
}

void counters_start(uint32_t unit, bool restart) {
  pthread_mutex_lock(&lock);
  end_all();
  unit_number = unit;
  end_phase();
  phase = restart && (atomic_load(&active) || paused) ? phase + 1 : 0;
  begun_again = 0;
  if (cupti.version && chosen_begin(restart)) {
    exits_register();
    atomic_store(&active, true);
    subscriber_use(USE_COUNTERS, true);
  }
  pthread_mutex_unlock(&lock);
}

void counters_again(void) {
  pthread_mutex_lock(&lock);
  bool entered = guard_enter();
  if (atomic_load(&active) && begun_again++ > 0) {
    end_all();
    end_phase();
    phase++;
  }
  if (entered) guard_leave();
  pthread_mutex_unlock(&lock);
}

/* With the lock. One that failed stays so, as long as its context is there. */
static void close_site(site *s) {
  if (s->state != READY) return;
  (void)end_session(s);
  end_all_series(s);
  profiler_close(&s->profiler);
  s->state = NEW;
}

/* The driver is no more, and CUPTI with it: nothing is given back. */
static void forget_site(site *s) {
  s->now = NULL;
  end_all_series(s);
  s->profiler = (profiler){0};
  s->open = s->in_range = false;
  is_busy(s, false);
  if (s->state == READY) s->state = NEW;
}

/* Measures no more, and ends or forgets each site. Is the driver there? */
static bool turn_off(void (*each)(site *s)) {
  bool alive = driver_alive();
  if (alive && atomic_exchange(&active, false)) {
    subscriber_use(USE_COUNTERS, false);
    subscriber_settle(); /* launches take the lock */
  }
  atomic_store(&active, false);
  pthread_mutex_lock(&lock);
  bool entered = guard_enter();
  for (size_t i = 0; i < SITES; i++)
    if (sites[i]) (alive ? each : forget_site)(sites[i]);
  end_phase();
  atomic_store(&open_sessions, 0);
  if (entered) guard_leave();
  pthread_mutex_unlock(&lock);
  return alive;
}

static void pause_site(site *s) {
  (void)end_session(s);
}

void counters_pause(void) {
  if (atomic_load(&active)) paused = turn_off(pause_site);
}

void counters_stop(void) {
  if (!atomic_load(&active) && !paused) return;
  (void)turn_off(close_site);
  paused = false;
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
  const spool_value *values = (const void *)(e + 1);
  spool_counters record = e->record;
  const char *kernel = (const char *)(values + record.values);
  record.name = *kernel ? names_id(kernel) : 0;
  record.ranges = names_id(kernel + strlen(kernel) + 1);
  output_record(SPOOL_COUNTERS, &record, sizeof record, values,
                record.values * sizeof *values);
  return true;
}

void counters_reset(void) {
  pthread_mutex_lock(&lock);
  spent_s = phase_s = 0;
  phase_taken = phase_left = 0;
  pthread_mutex_unlock(&lock);
}

void counters_forget(void) {
  pthread_mutex_init(&lock, NULL);
  counters_reset();
  atomic_store(&active, false);
  atomic_store(&open_sessions, 0);
  paused = false;
  phase = 0;
  for (size_t i = 0; i < SITES; i++) atomic_store(&busy_since[i], 0);
  memset(sites, 0, sizeof sites); /* the parent's */
}

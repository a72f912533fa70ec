#include "collector/units.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "collector/activity.h"
#include "collector/callbacks.h"
#include "collector/clock.h"
#include "collector/control.h"
#include "collector/counters.h"
#include "collector/diagnose.h"
#include "collector/guard.h"
#include "collector/names.h"
#include "collector/output.h"
#include "collector/samples.h"
#include "collector/spool.h"
#include "collector/wake.h"

#define READ_S 5.0 /* the longest that a unit waits for the writer */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static size_t item;           /* of the plan */
static uint32_t taken;        /* units of that item */
static uint32_t number;       /* of the last unit that began */
static atomic_bool open;      /* is a unit open? */
static plan_step current;     /* its step */
static plan_step recording;   /* what is switched on now */
static atomic_bool stopped;   /* for good */
static atomic_bool held;      /* until units_allow */
static atomic_bool in_window; /* of unit.within */
static atomic_int apart;      /* step of the range that is open and a unit of
                               * its own, STEP_END outside of such */
static atomic_bool profiled;  /* between cudaProfilerStart and Stop */
static atomic_uint rests;     /* odd while nothing is recorded after a unit */
static atomic_int_fast64_t opened_at;

static const char *word_of(plan_step step) {
  static const char *const words[] = {"end",  "plain", "timeline", "counters",
                                      "skip", "pause", "operators"};
  return words[step];
}

/* ---- what is switched on ---- */

static bool wants_cupti(plan_step step) {
  return step == STEP_TIMELINE || step == STEP_OPERATORS ||
         step == STEP_COUNTERS;
}

/* Are counters what the next unit in the plan's order is for, too? */
static bool counts_on(void) {
  size_t next = item;
  if (next < the_plan.item_count && taken >= the_plan.items[next].count) next++;
  return next < the_plan.item_count &&
         the_plan.items[next].step == STEP_COUNTERS;
}

/* Windows that are opened from outside leave CUPTI to others in between. */
static void switch_off(plan_step next) {
  bool gives =
      (plan_by() == UNIT_BY_SOCKET || the_plan.yield) && wants_cupti(recording);
  if (recording == STEP_TIMELINE) samples_stop();
  if (recording == STEP_TIMELINE || recording == STEP_OPERATORS)
    activity_stop();
  if (next == STEP_SKIP && !gives && counts_on())
    counters_pause();
  else if (next != STEP_COUNTERS || gives)
    counters_stop();
  if (gives) callbacks_end();
  recording = STEP_END;
}

/* What the timeline saw of graphs says which of them may be measured. */
static void read_graphs(void) {
  if (the_plan.graph_count > 0) (void)wake_ask(WAKE_FLUSH, NULL, READ_S);
}

static bool may_record(plan_step step) {
  if (step != STEP_COUNTERS || !the_plan.yield) return callbacks_begin();
  diagnose(SPOOL_WARNING, "yield",
           "no counters: they need the subscription that yield gives up");
  return false;
}

static void turn_to(plan_step step) {
  if (step == recording && step != STEP_COUNTERS) return;
  bool entered = guard_enter();
  if (step != recording) switch_off(step);
  if (wants_cupti(step) && !may_record(step)) {
    recording = step; /* units_driver tries again */
    if (entered) guard_leave();
    return;
  }
  if (step == STEP_COUNTERS && step != recording) read_graphs();
  if (step == STEP_TIMELINE || step == STEP_OPERATORS) activity_start();
  if (step == STEP_TIMELINE && !the_plan.yield) samples_start();
  if (step == STEP_COUNTERS) counters_start(number + 1, !atomic_load(&apart));
  recording = step;
  if (entered) guard_leave();
}

/* ---- ends of units ---- */

static bool untold; /* that the last unit has ended */

/* Who hears of an end may take CUPTI for free. */
static void switch_to(plan_step step) {
  turn_to(step);
  if (untold) control_say("unit %u %s end", (unsigned)number, word_of(current));
  untold = false;
}

static const uint16_t unit_types[] = {
    [STEP_END] = SPOOL_UNIT_OTHER,
    [STEP_PLAIN] = SPOOL_UNIT_PLAIN,
    [STEP_TIMELINE] = SPOOL_UNIT_TIMELINE,
    [STEP_COUNTERS] = SPOOL_UNIT_COUNTERS,
    [STEP_SKIP] = SPOOL_UNIT_OTHER,
    [STEP_PAUSE] = SPOOL_UNIT_OTHER,
    [STEP_OPERATORS] = SPOOL_UNIT_OPERATORS,
};

/* The unit has no name yet. */
typedef struct unit_entry {
  log_entry entry;
  spool_unit unit;
} unit_entry;

static void log_end(bool end) {
  unit_entry *e = log_reserve(LOG_UNIT, sizeof *e);
  if (e) {
    e->unit = (spool_unit){.time = e->entry.time,
                           .unit = number,
                           .type = unit_types[current],
                           .end = end,
                           .tid = e->entry.tid};
    log_commit();
  }
  untold = end;
  if (!end) control_say("unit %u %s begin", (unsigned)number, word_of(current));
}

static void close_unit(void) {
  if (!atomic_load(&open)) return;
  log_end(true);
  atomic_store(&open, false);
}

/* Everything so far is in the file; llmprof reads it, and says what next. */
static void pause_here(void) {
  switch_to(STEP_SKIP);
  (void)wake_ask(WAKE_FLUSH, NULL, the_plan.pause_s);
  control_pause();
}

/* What the next unit is to be; pauses on the way. */
static plan_step next_step(void) {
  while (item < the_plan.item_count) {
    plan_item *at = &the_plan.items[item];
    if (at->step == STEP_PAUSE) {
      pause_here();
    } else if (taken < at->count) {
      taken++;
      return at->step;
    }
    item++;
    taken = 0;
  }
  return STEP_END;
}

static void set_resting(bool resting) {
  if ((atomic_load(&rests) & 1) != resting) atomic_fetch_add(&rests, 1);
}

static void open_unit(plan_step step) {
  switch_to(step);
  if (step == STEP_END) return;
  current = step;
  number++;
  atomic_store(&opened_at, clock_now());
  set_resting(false);
  log_end(false);
  atomic_store(&open, true);
}

static bool may_begin(void) {
  return !atomic_load(&stopped) && !atomic_load(&held);
}

static void next_unit(void) {
  pthread_mutex_lock(&lock);
  if (may_begin()) {
    close_unit();
    open_unit(next_step());
  }
  pthread_mutex_unlock(&lock);
}

/* Takes no part in the plan's order. */
static void unit_apart(plan_step step) {
  pthread_mutex_lock(&lock);
  if (may_begin()) {
    close_unit();
    atomic_store(&apart, (int)step);
    open_unit(step);
  }
  pthread_mutex_unlock(&lock);
}

/* None follows at once: nothing is recorded until the next one. Did one end?
 * Who found a unit open may come after units_reset has ended it, and then has
 * no plan to read. */
static bool last_unit(void) {
  pthread_mutex_lock(&lock);
  bool was_open = atomic_load(&open);
  if (was_open) {
    close_unit();
    switch_to(STEP_SKIP);
    set_resting(true);
  }
  pthread_mutex_unlock(&lock);
  return was_open;
}

unsigned units_rest(void) {
  unsigned now = atomic_load(&rests);
  return now & 1 ? now : 0;
}

/* ---- what begins and ends them ---- */

void units_begin(void) {
  if (plan_by() == UNIT_BY_PROCESS || plan_by() == UNIT_BY_TIME) next_unit();
}

void units_driver(void) {
  pthread_mutex_lock(&lock);
  if (plan_early()) (void)callbacks_begin();
  plan_step step = recording;
  recording = STEP_END;
  if (step != STEP_END) switch_to(step);
  pthread_mutex_unlock(&lock);
}

/* Lines of a graph are those of its capture, which CUPTI has to see. */
static void see_capture(void) {
  pthread_mutex_lock(&lock);
  if (may_begin()) {
    close_unit();
    switch_to(STEP_SKIP);
    bool entered = guard_enter();
    (void)callbacks_begin();
    if (entered) guard_leave();
  }
  pthread_mutex_unlock(&lock);
}

/* What a range is a unit of its own for; STEP_END: nothing. */
static plan_step step_apart(const char *domain, const char *text, size_t size) {
  if (plan_range_is(&the_plan.operators, domain, text, size))
    return STEP_OPERATORS;
  if (plan_range_is(&the_plan.eager, domain, text, size)) return STEP_COUNTERS;
  return STEP_END;
}

/* May units begin here? */
static bool is_inside(void) {
  return (!the_plan.within.name[0] || atomic_load(&in_window)) &&
         (!the_plan.in_profiler || atomic_load(&profiled));
}

void units_push(const char *domain, const char *text, size_t size) {
  int own_now = atomic_load(&apart);
  if (own_now == STEP_COUNTERS &&
      plan_range_is(&the_plan.range, domain, text, size))
    counters_again();
  if (own_now != STEP_END) return;
  plan_step own = step_apart(domain, text, size);
  if (own != STEP_END) unit_apart(own);
  if (plan_range_is(&the_plan.capture, domain, text, size) &&
      the_plan.sources != SOURCES_OFF && !the_plan.yield)
    see_capture();
  if (plan_by() != UNIT_BY_RANGE) return;
  if (plan_range_is(&the_plan.within, domain, text, size))
    atomic_store(&in_window, true);
  if (plan_range_is(&the_plan.range, domain, text, size) && is_inside())
    next_unit();
}

void units_pop(const plan_range *range) {
  int own = atomic_load(&apart);
  if (own != STEP_END) {
    if ((int)step_apart(range->domain, range->name, strlen(range->name)) != own)
      return;
    atomic_store(&apart, STEP_END);
    (void)last_unit();
  }
  if (plan_by() != UNIT_BY_RANGE ||
      !plan_range_is(&the_plan.within, range->domain, range->name,
                     strlen(range->name)))
    return;
  atomic_store(&in_window, false);
  (void)last_unit();
}

void units_profiler(bool started) {
  atomic_store(&profiled, started);
  if (plan_by() == UNIT_BY_PROFILER && started) next_unit();
  if (started || (plan_by() != UNIT_BY_PROFILER && !the_plan.in_profiler))
    return;
  /* Engines kill their workers soon after the window. */
  if (last_unit()) (void)wake_ask(WAKE_FLUSH, NULL, READ_S);
}

/* One that nobody is left to end, ends. */
static void as_wished(void) {
  control_wish wish = control_wished();
  if (wish == WISH_BEGIN)
    next_unit();
  else if (wish == WISH_END || !control_connected())
    (void)last_unit();
}

void units_tick(void) {
  if (plan_by() == UNIT_BY_SOCKET) as_wished();
  if (plan_by() != UNIT_BY_TIME || !atomic_load(&open)) return;
  if ((double)(clock_now() - atomic_load(&opened_at)) / 1e9 >=
      the_plan.unit_seconds)
    next_unit();
}

void units_end(void) {
  pthread_mutex_lock(&lock);
  close_unit();
  switch_to(STEP_END);
  atomic_store(&stopped, true);
  pthread_mutex_unlock(&lock);
}

bool units_reset(void) {
  if (pthread_mutex_trylock(&lock) != 0) return false;
  close_unit();
  switch_to(STEP_END);
  item = 0;
  taken = number = 0;
  set_resting(false);
  atomic_store(&apart, STEP_END);
  atomic_store(&in_window, false);
  atomic_store(&held, true);
  pthread_mutex_unlock(&lock);
  return true;
}

void units_allow(void) {
  atomic_store(&held, false);
}

bool units_write(const log_entry *entry) {
  if (entry->type != LOG_UNIT) return false;
  spool_unit record = ((const unit_entry *)(const void *)entry)->unit;
  if (plan_by() == UNIT_BY_RANGE) record.name = names_id(the_plan.range.name);
  output_record(SPOOL_UNIT, &record, sizeof record, NULL, 0);
  return true;
}

void units_forget(void) {
  pthread_mutex_init(&lock, NULL);
  item = 0;
  taken = number = 0;
  atomic_store(&open, false);
  atomic_store(&stopped, false);
  atomic_store(&held, false);
  atomic_store(&in_window, false);
  atomic_store(&apart, STEP_END);
  atomic_store(&profiled, false);
  atomic_store(&rests, 0);
  current = recording = STEP_END;
  untold = false;
}

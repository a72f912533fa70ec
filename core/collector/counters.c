#include "collector/counters.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "collector/clock.h"
#include "collector/diagnose.h"
#include "collector/exits.h"
#include "collector/guard.h"
#include "collector/metrics.h"
#include "collector/names.h"
#include "collector/output.h"
#include "collector/places.h"
#include "collector/ranges.h"
#include "collector/subscriber.h"

/* One pass on GH100 for time, DRAM, L2, occupancy and the tensor pipe; a plan
 * gives its own. */
static const char *const default_metrics[] = {
    "gpu__time_duration.sum",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "sm__cycles_elapsed.avg",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "sm__inst_executed_pipe_tensor.sum",
};

enum {
  SESSION_MOST = 256, /* launches of a session */
  PATH_MOST = 128,    /* bytes kept of a path of ranges */
};

/* A launch that is measured, until its values are there. */
typedef struct taken {
  launch launch;
  uint32_t ordinal;
  int64_t start;
  char path[PATH_MOST];
} taken;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool active;

static enum {
  NEW,
  READY,
  FAILED
} state;
static metric_set set;
static CUpti_RangeProfiler_Object *profiler;
static void *profiled_context;
static char *chip;
static uint32_t unit_number, launch_number;
static double spent_s;
static uint32_t measured;

static CUdeviceptr scratch; /* overwritten to empty the L2 cache */
static size_t scratch_size;
static bool flushed;

static taken session[SESSION_MOST];
static size_t session_count;
static atomic_bool session_open;
static int64_t session_start;
static atomic_int_fast64_t last_taken; /* time; 0: no session */

/* Is a session for one launch alone? */
static bool one_by_one(void) {
  return set.passes > 1 || the_plan.flush_cache;
}

/* ---- the profiler ---- */

static bool init_image(void) {
  CUPTI_PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params, p);
  p.pRangeProfilerObject = profiler;
  p.counterDataSize = set.data_size;
  p.pCounterData = set.data;
  return metrics_ok(cupti.cuptiRangeProfilerCounterDataImageInitialize(&p),
                    "cuptiRangeProfilerCounterDataImageInitialize");
}

static bool set_config(void) {
  CUPTI_PARAMS(CUpti_RangeProfiler_SetConfig_Params, p);
  p.pRangeProfilerObject = profiler;
  p.configSize = set.config_size;
  p.pConfig = set.config;
  p.counterDataImageSize = set.data_size;
  p.pCounterDataImage = set.data;
  p.range = CUPTI_AutoRange;
  p.replayMode = set.passes > 1 ? CUPTI_KernelReplay : CUPTI_UserReplay;
  p.maxRangesPerPass = SESSION_MOST;
  p.numNestingLevels = 1;
  p.minNestingLevel = 1;
  return metrics_ok(cupti.cuptiRangeProfilerSetConfig(&p),
                    "cuptiRangeProfilerSetConfig");
}

static bool make_image(void) {
  CUPTI_PARAMS(CUpti_RangeProfiler_GetCounterDataSize_Params, p);
  p.pRangeProfilerObject = profiler;
  p.pMetricNames = (const char **)set.names;
  p.numMetrics = set.count;
  p.maxNumOfRanges = SESSION_MOST;
  p.maxNumRangeTreeNodes = SESSION_MOST;
  if (!metrics_ok(cupti.cuptiRangeProfilerGetCounterDataSize(&p),
                  "cuptiRangeProfilerGetCounterDataSize"))
    return false;
  set.data_size = p.counterDataSize;
  set.data = calloc(1, set.data_size);
  return set.data != NULL;
}

static bool enable(void *context) {
  CUPTI_PARAMS(CUpti_RangeProfiler_Enable_Params, p);
  p.ctx = context;
  if (!metrics_ok(cupti.cuptiRangeProfilerEnable(&p),
                  "cuptiRangeProfilerEnable"))
    return false;
  profiler = p.pRangeProfilerObject;
  profiled_context = context;
  return true;
}

static void disable(void) {
  if (!profiler) return;
  CUPTI_PARAMS(CUpti_RangeProfiler_Disable_Params, p);
  p.pRangeProfilerObject = profiler;
  (void)cupti.cuptiRangeProfilerDisable(&p);
  profiler = NULL;
}

/* What this GPU has at present, freed by the caller; NULL: not known. */
static uint8_t *availability(void *context) {
  CUPTI_PARAMS(CUpti_Profiler_GetCounterAvailability_Params, p);
  p.ctx = context;
  if (!cupti.cuptiProfilerGetCounterAvailability ||
      !metrics_ok(cupti.cuptiProfilerGetCounterAvailability(&p),
                  "cuptiProfilerGetCounterAvailability"))
    return NULL;
  uint8_t *image = calloc(1, p.counterAvailabilityImageSize);
  if (!image) return NULL;
  p.pCounterAvailabilityImage = image;
  if (metrics_ok(cupti.cuptiProfilerGetCounterAvailability(&p),
                 "cuptiProfilerGetCounterAvailability"))
    return image;
  free(image);
  return NULL;
}

static bool make_set(void *context) {
  CUdevice device = 0;
  if (driver.context_device(&device) != CUDA_SUCCESS) return false;
  chip = metrics_chip((size_t)device);
  if (!chip) return false;
  uint8_t *available = availability(context);
  bool own = the_plan.metric_count > 0;
  bool ok =
      metrics_make(&set, CUPTI_PROFILER_TYPE_RANGE_PROFILER, chip, available,
                   own ? the_plan.metrics : (char *const *)default_metrics,
                   own ? the_plan.metric_count
                       : sizeof default_metrics / sizeof *default_metrics);
  free(available);
  return ok;
}

/* Twice the cache, so that nothing of it is left. */
static void make_scratch(void) {
  CUdevice device;
  int bytes = 0;
  if (!the_plan.flush_cache || scratch ||
      driver.context_device(&device) != CUDA_SUCCESS ||
      driver.device_attribute(&bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE,
                              device) != CUDA_SUCCESS ||
      bytes <= 0)
    return;
  scratch_size = 2 * (size_t)bytes;
  if (driver.memory_alloc(&scratch, scratch_size) != CUDA_SUCCESS) scratch = 0;
}

static bool empty_cache(void) {
  return scratch &&
         driver.memory_set(scratch, 0, scratch_size, NULL) == CUDA_SUCCESS &&
         driver.context_sync() == CUDA_SUCCESS;
}

static bool set_up(void *context) {
  if (!driver_load() || !metrics_begin() || !make_set(context)) return false;
  if (!cupti.cuptiRangeProfilerEnable) return false;
  if (!enable(context) || !make_image()) {
    disable();
    return false;
  }
  make_scratch();
  diagnose(SPOOL_INFO, "counters", "%zu metrics in %zu passes on %s", set.count,
           set.passes, chip);
  return true;
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
  uint32_t values;
  uint32_t ids[PLAN_METRICS];
} counters_entry;

static char *put_text(char *at, const char *text) {
  size_t size = strlen(text) + 1;
  memcpy(at, text, size);
  return at + size;
}

static void log_counters(const taken *t, uint32_t error, const double *values) {
  const launch *l = &t->launch;
  size_t count = error ? 0 : set.count;
  size_t texts = strlen(l->kernel) + strlen(t->path) + 2;
  counters_entry *e =
      log_reserve(LOG_COUNTERS, sizeof *e + count * sizeof(double) + texts);
  if (!e) return;
  log_entry head = e->entry;
  head.value = error;
  CUdevice device = 0;
  (void)driver.context_device(&device);
  *e = (counters_entry){
      .entry = head,
      .start = t->start,
      .number = ++launch_number,
      .unit = unit_number,
      .context = l->context_id,
      .correlation = l->correlation,
      .device = (uint32_t)device,
      .shared = l->shared,
      .ordinal = t->ordinal,
      .passes = (uint32_t)set.passes,
      .flushed = flushed,
      .values = (uint32_t)count,
  };
  memcpy(e->grid, l->grid, sizeof e->grid);
  memcpy(e->block, l->block, sizeof e->block);
  memcpy(e->ids, set.ids, sizeof e->ids);
  if (count) memcpy(e + 1, values, count * sizeof *values);
  put_text(put_text((char *)(e + 1) + count * sizeof(double), l->kernel),
           t->path);
  log_commit();
}

static bool start_session(void) {
  if (!places_sync()) return false;
  flushed = the_plan.flush_cache && empty_cache();
  if (!init_image() || !set_config()) return false;
  CUPTI_PARAMS(CUpti_RangeProfiler_Start_Params, p);
  p.pRangeProfilerObject = profiler;
  if (!metrics_ok(cupti.cuptiRangeProfilerStart(&p), "cuptiRangeProfilerStart"))
    return false;
  session_count = 0;
  atomic_store(&session_open, true);
  return true;
}

/* How many ranges there are values of; a failure is *error. */
static size_t stop_profiler(uint32_t *error) {
  CUPTI_PARAMS(CUpti_RangeProfiler_Stop_Params, stop);
  stop.pRangeProfilerObject = profiler;
  CUptiResult result = cupti.cuptiRangeProfilerStop(&stop);
  *error = (uint32_t)result;
  if (!metrics_ok(result, "cuptiRangeProfilerStop")) return 0;
  CUPTI_PARAMS(CUpti_RangeProfiler_DecodeData_Params, decode);
  decode.pRangeProfilerObject = profiler;
  result = cupti.cuptiRangeProfilerDecodeData(&decode);
  *error = (uint32_t)result;
  if (!metrics_ok(result, "cuptiRangeProfilerDecodeData")) return 0;
  CUPTI_PARAMS(CUpti_RangeProfiler_GetCounterDataInfo_Params, info);
  info.pCounterDataImage = set.data;
  info.counterDataImageSize = set.data_size;
  result = cupti.cuptiRangeProfilerGetCounterDataInfo(&info);
  *error = (uint32_t)result;
  if (!metrics_ok(result, "cuptiRangeProfilerGetCounterDataInfo")) return 0;
  return info.numTotalRanges;
}

/* With the lock. A range for each launch, in their order: with another number
 * nobody can tell which is which. */
static void end_session(void) {
  double values[PLAN_METRICS];
  uint32_t error = 0;
  if (!atomic_load(&session_open)) return;
  size_t ranges = stop_profiler(&error);
  if (!error && ranges != session_count) {
    error = SPOOL_ERROR_NO_DATA;
    diagnose(SPOOL_WARNING, "ranges", "%zu ranges for %zu launches", ranges,
             session_count);
  }
  for (size_t i = 0; i < session_count; i++) {
    bool has = !error && metrics_values(&set, i, values);
    log_counters(&session[i],
                 has     ? 0
                 : error ? error
                         : SPOOL_ERROR_NO_DATA,
                 values);
  }
  spent_s += (double)(clock_now() - session_start) / 1e9;
  measured += (uint32_t)session_count;
  atomic_store(&last_taken, 0);
  atomic_store(&session_open, false);
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

/* With the lock: false when it cannot be measured. */
static bool make_ready(const launch *l, uint32_t ordinal) {
  taken refused;
  if (state == NEW) state = set_up(l->context) ? READY : FAILED;
  if (state != READY) return false;
  if (l->context != profiled_context) {
    diagnose(SPOOL_WARNING, "other_context",
             "not measured, in another context than the first: %s", l->kernel);
    return false;
  }
  if (session_count == SESSION_MOST) end_session();
  if (atomic_load(&session_open)) return true;
  session_start = clock_now();
  if (!over_budget()) return start_session();
  fill_taken(&refused, l, ordinal);
  log_counters(&refused, SPOOL_ERROR_BUDGET, NULL);
  return false;
}

/* With the lock. */
static void take(const launch *l, uint32_t ordinal) {
  if (atomic_load(&session_open) && one_by_one()) end_session();
  if (!make_ready(l, ordinal)) return;
  fill_taken(&session[session_count++], l, ordinal);
  atomic_store(&last_taken, clock_now());
}

void counters_enter(const launch *l) {
  uint32_t ordinal = 0;
  if (!atomic_load_explicit(&active, memory_order_acquire)) return;
  bool wanted = chosen_is(l, &ordinal) && !guard_capturing();
  if (!wanted && !atomic_load(&session_open)) return;
  pthread_mutex_lock(&lock);
  if (!wanted)
    end_session();
  else if (atomic_load(&active))
    take(l, ordinal);
  pthread_mutex_unlock(&lock);
}

void counters_exit(void) {
  if (!atomic_load(&session_open)) return;
  pthread_mutex_lock(&lock);
  if (one_by_one()) end_session();
  pthread_mutex_unlock(&lock);
}

void counters_break(void) {
  if (!atomic_load(&session_open)) return;
  pthread_mutex_lock(&lock);
  end_session();
  pthread_mutex_unlock(&lock);
}

/* ---- on and off ---- */

void counters_start(uint32_t unit) {
  pthread_mutex_lock(&lock);
  end_session();
  unit_number = unit;
  if (cupti.version && chosen_begin()) {
    exits_register();
    atomic_store(&active, true);
    subscriber_launches(true);
  }
  pthread_mutex_unlock(&lock);
}

static void take_down(void) {
  end_session();
  disable();
  if (scratch) (void)driver.memory_free(scratch);
}

void counters_stop(void) {
  if (!atomic_exchange(&active, false)) return;
  pthread_mutex_lock(&lock);
  bool entered = guard_enter();
  if (driver_alive()) {
    subscriber_launches(false);
    take_down();
    metrics_free(&set);
  }
  profiler = NULL;
  scratch = 0;
  free(chip);
  chip = NULL;
  if (state == READY) state = NEW;
  if (entered) guard_leave();
  pthread_mutex_unlock(&lock);
}

void counters_context_gone(void *context) {
  if (profiler && context == profiled_context) counters_stop();
}

int64_t counters_since(void) {
  return atomic_load(&last_taken);
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
      .name = names_id(kernel),
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
  atomic_store(&session_open, false);
  atomic_store(&last_taken, 0);
  profiler = NULL;
  set = (metric_set){0};
  state = NEW;
  scratch = 0;
}

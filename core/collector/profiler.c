#include "collector/profiler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/diagnose.h"
#include "collector/places.h"
#include "collector/plan.h"

/* The set called light (lua/llmprof/nvidia/metrics.lua): one pass on every
 * chip since GA100; a plan gives its own. */
static const char *const default_metrics[] = {
    "gpu__time_duration.sum",
    "dram__bytes_read.sum|dram__bytes_op_read.sum",
    "dram__bytes_write.sum|dram__bytes_op_write.sum",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "lts__t_bytes.sum",
    "sm__cycles_elapsed.avg",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "sm__inst_executed_pipe_tensor.sum",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
};

/* ---- open and closed ---- */

/* Of a session, at most. */
static size_t most_ranges(const profiler *p) {
  if (p->range == PROFILER_PUSHED) return PROFILER_RANGES;
  return p->range == PROFILER_ALL || profiler_one_by_one(p) ? 1
                                                            : PROFILER_RANGES;
}

/* What the set's values are decoded into, once. */
static bool make_image(const profiler *p, metric_set *set) {
  if (set->data) return true;
  CUPTI_PARAMS(CUpti_RangeProfiler_GetCounterDataSize_Params, size);
  size.pRangeProfilerObject = p->object;
  size.pMetricNames = (const char **)set->names;
  size.numMetrics = set->count;
  size.maxNumOfRanges = most_ranges(p);
  size.maxNumRangeTreeNodes = (uint32_t)most_ranges(p);
  if (!METRICS_OK(cuptiRangeProfilerGetCounterDataSize, size)) return false;
  set->data_size = size.counterDataSize;
  set->data = calloc(1, set->data_size);
  return set->data != NULL;
}

static bool enable(profiler *p) {
  CUPTI_PARAMS(CUpti_RangeProfiler_Enable_Params, on);
  on.ctx = p->context;
  if (!METRICS_OK(cuptiRangeProfilerEnable, on)) return false;
  p->object = on.pRangeProfilerObject;
  return true;
}

static void disable(profiler *p) {
  if (!p->object) return;
  CUPTI_PARAMS(CUpti_RangeProfiler_Disable_Params, off);
  off.pRangeProfilerObject = p->object;
  (void)cupti.cuptiRangeProfilerDisable(&off);
  p->object = NULL;
}

/* What this GPU has at present, freed by the caller; NULL: not known. */
static uint8_t *availability(void *context) {
  CUPTI_PARAMS(CUpti_Profiler_GetCounterAvailability_Params, p);
  p.ctx = context;
  if (!cupti.cuptiProfilerGetCounterAvailability ||
      !METRICS_OK(cuptiProfilerGetCounterAvailability, p))
    return NULL;
  uint8_t *image = calloc(1, p.counterAvailabilityImageSize);
  if (!image) return NULL;
  p.pCounterAvailabilityImage = image;
  if (METRICS_OK(cuptiProfilerGetCounterAvailability, p)) return image;
  free(image);
  return NULL;
}

/* One more set, of those of the names that there are; none: it is left out. */
static void add_set(profiler *p, const uint8_t *available, char *const names[],
                    size_t count, bool single) {
  if (metrics_make(&p->sets[p->set_count], CUPTI_PROFILER_TYPE_RANGE_PROFILER,
                   p->chip, available, names, count, single))
    p->set_count++;
}

/* Has the first set one of these names, which have "|" between them? */
static bool is_taken(const profiler *p, const char *names) {
  for (size_t i = 0; p->set_count > 0 && i < p->sets[0].count; i++) {
    const char *name = p->sets[0].names[i];
    size_t size = strlen(name);
    for (const char *at = names; at; at = strchr(at, '|')) {
      at += *at == '|';
      if (strncmp(at, name, size) == 0 && (at[size] == '|' || !at[size]))
        return true;
    }
  }
  return false;
}

/* The plan's metrics, unit by unit: in one pass but for the last unit, which
 * takes what no pass had before. */
static void add_passes(profiler *p, const uint8_t *available) {
  for (size_t i = 0; i < the_plan.pass_count; i++) {
    bool last = i + 1 == the_plan.pass_count;
    size_t to = last ? the_plan.metric_count : the_plan.passes[i + 1];
    char *wanted[PLAN_METRICS];
    size_t count = 0;
    for (size_t k = the_plan.passes[i]; k < to; k++)
      if (!is_taken(p, the_plan.metrics[k]))
        wanted[count++] = the_plan.metrics[k];
    if (count > 0) add_set(p, available, wanted, count, !last);
  }
}

static bool make_sets(profiler *p) {
  CUdevice device = 0;
  if (driver.cuCtxGetDevice(&device) != CUDA_SUCCESS) return false;
  p->device = (uint32_t)device;
  p->chip = metrics_chip(p->device);
  if (!p->chip) return false;
  uint8_t *available = availability(p->context);
  if (the_plan.pass_count > 0)
    add_passes(p, available);
  else if (the_plan.metric_count > 0)
    add_set(p, available, the_plan.metrics, the_plan.metric_count, false);
  else
    add_set(p, available, (char *const *)default_metrics,
            sizeof default_metrics / sizeof *default_metrics, false);
  free(available);
  p->set = &p->sets[0];
  return p->set_count > 0;
}

bool profiler_one_by_one(const profiler *p) {
  return the_plan.flush_cache || p->set_count > 1 || p->sets[0].passes > 1;
}

bool profiler_open(profiler *p, void *context) {
  *p = (profiler){.context = context};
  if (!driver_load() || !metrics_begin() || !make_sets(p) ||
      !cupti.cuptiRangeProfilerEnable || !enable(p)) {
    profiler_close(p);
    return false;
  }
  if (the_plan.flush_cache) cache_flush_open(&p->cache_flush);
  return true;
}

void profiler_close(profiler *p) {
  disable(p);
  cache_flush_close(&p->cache_flush);
  for (size_t i = 0; i < p->set_count; i++) metrics_free(&p->sets[i]);
  free(p->chip);
  *p = (profiler){0};
}

/* ---- on and off ---- */

/* An image of one range is kept as CUPTI has made it: to copy it takes a
 * fraction of the 30 ms for which CUPTI makes it again. */
static bool init_image(const profiler *p, metric_set *set) {
  if (set->blank) {
    memcpy(set->data, set->blank, set->data_size);
    return true;
  }
  CUPTI_PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params, image);
  image.pRangeProfilerObject = p->object;
  image.counterDataSize = set->data_size;
  image.pCounterData = set->data;
  if (!METRICS_OK(cuptiRangeProfilerCounterDataImageInitialize, image))
    return false;
  set->blank = most_ranges(p) == 1 ? malloc(set->data_size) : NULL;
  if (set->blank) memcpy(set->blank, set->data, set->data_size);
  return true;
}

static bool set_config(const profiler *p) {
  bool automatic = p->range == PROFILER_LAUNCHES;
  bool replays = automatic && p->set->passes > 1;
  CUPTI_PARAMS(CUpti_RangeProfiler_SetConfig_Params, config);
  config.pRangeProfilerObject = p->object;
  config.configSize = p->set->config_size;
  config.pConfig = p->set->config;
  config.counterDataImageSize = p->set->data_size;
  config.pCounterDataImage = p->set->data;
  config.range = automatic ? CUPTI_AutoRange : CUPTI_UserRange;
  config.replayMode = replays ? CUPTI_KernelReplay : CUPTI_UserReplay;
  config.maxRangesPerPass = most_ranges(p);
  config.numNestingLevels = 1;
  config.minNestingLevel = 1;
  return METRICS_OK(cuptiRangeProfilerSetConfig, config);
}

/* Once it has had ranges of one kind CUPTI refuses those of the other, it goes
 * on with the set of metrics that it had first, and enabled again, with what
 * was made for it before, it crashes (13.0): all is made anew, which takes 0.3
 * s. */
static bool turn_to(profiler *p, size_t set, profiler_range range) {
  void *context = p->context;
  if (p->used && (p->range != range || p->set != &p->sets[set])) {
    profiler_close(p);
    if (!profiler_open(p, context)) return false;
  }
  if (set >= p->set_count) return false;
  p->set = &p->sets[set];
  p->range = range;
  p->used = true;
  return make_image(p, &p->sets[set]);
}

static bool push_range(const profiler *p, size_t number) {
  char name[24];
  (void)snprintf(name, sizeof name, "%zu", number);
  CUPTI_PARAMS(CUpti_RangeProfiler_PushRange_Params, push);
  push.pRangeProfilerObject = p->object;
  push.pRangeName = name;
  return cupti.cuptiRangeProfilerPushRange &&
         METRICS_OK(cuptiRangeProfilerPushRange, push);
}

static CUptiResult pop_range(const profiler *p) {
  CUPTI_PARAMS(CUpti_RangeProfiler_PopRange_Params, pop);
  pop.pRangeProfilerObject = p->object;
  return cupti.cuptiRangeProfilerPopRange(&pop);
}

static bool start(const profiler *p) {
  CUPTI_PARAMS(CUpti_RangeProfiler_Start_Params, on);
  on.pRangeProfilerObject = p->object;
  return METRICS_OK(cuptiRangeProfilerStart, on);
}

static CUptiResult stop(const profiler *p) {
  CUPTI_PARAMS(CUpti_RangeProfiler_Stop_Params, off);
  off.pRangeProfilerObject = p->object;
  return cupti.cuptiRangeProfilerStop(&off);
}

static bool flush(const profiler *p) {
  return the_plan.flush_cache && cache_flush_run(&p->cache_flush);
}

bool profiler_start(profiler *p, size_t set, profiler_range range,
                    bool *flushed) {
  if (!turn_to(p, set, range) || !places_sync()) return false;
  *flushed = range != PROFILER_PUSHED && flush(p);
  if (!init_image(p, &p->sets[set]) || !set_config(p) || !start(p))
    return false;
  if (range != PROFILER_ALL || push_range(p, 0)) return true;
  (void)stop(p);
  return false;
}

bool profiler_turn(profiler *p) {
  return places_sync() && metrics_ok(stop(p), "cuptiRangeProfilerStop") &&
         start(p);
}

bool profiler_push(profiler *p, size_t number, bool *flushed) {
  if (!places_sync()) return false;
  *flushed = flush(p);
  return push_range(p, number);
}

bool profiler_pop(const profiler *p) {
  (void)places_sync();
  return metrics_ok(pop_range(p), "cuptiRangeProfilerPopRange");
}

/* All of the range has run before its end is marked. */
static CUptiResult end_range(const profiler *p) {
  if (p->range != PROFILER_ALL) return CUPTI_SUCCESS;
  (void)places_sync();
  return pop_range(p);
}

static CUptiResult decode(const profiler *p) {
  CUPTI_PARAMS(CUpti_RangeProfiler_DecodeData_Params, data);
  data.pRangeProfilerObject = p->object;
  return cupti.cuptiRangeProfilerDecodeData(&data);
}

static CUptiResult count(const profiler *p, size_t *ranges) {
  CUPTI_PARAMS(CUpti_RangeProfiler_GetCounterDataInfo_Params, info);
  info.pCounterDataImage = p->set->data;
  info.counterDataImageSize = p->set->data_size;
  CUptiResult result = cupti.cuptiRangeProfilerGetCounterDataInfo(&info);
  *ranges = result == CUPTI_SUCCESS ? info.numTotalRanges : 0;
  return result;
}

/* Keeps the first failure. */
static bool succeeds(CUptiResult result, const char *what, uint32_t *error) {
  if (metrics_ok(result, what)) return true;
  if (!*error) *error = (uint32_t)result;
  return false;
}

size_t profiler_stop(profiler *p, uint32_t *error) {
  size_t ranges = 0;
  *error = 0;
  (void)succeeds(end_range(p), "cuptiRangeProfilerPopRange", error);
  if (!succeeds(stop(p), "cuptiRangeProfilerStop", error) || *error ||
      !succeeds(decode(p), "cuptiRangeProfilerDecodeData", error))
    return 0;
  (void)succeeds(count(p, &ranges), "cuptiRangeProfilerGetCounterDataInfo",
                 error);
  return ranges;
}

size_t profiler_number(const profiler *p, size_t index) {
  CUPTI_PARAMS(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params, info);
  info.pCounterDataImage = p->set->data;
  info.counterDataImageSize = p->set->data_size;
  info.rangeIndex = index;
  info.rangeDelimiter = "/";
  if (!cupti.cuptiRangeProfilerCounterDataGetRangeInfo ||
      !METRICS_OK(cuptiRangeProfilerCounterDataGetRangeInfo, info) ||
      !info.rangeName)
    return SIZE_MAX;
  return strtoul(info.rangeName, NULL, 10);
}

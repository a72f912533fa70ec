/* CUPTI's range profiler on one context, with the plan's metrics on its GPU. */
#ifndef LLMPROF_COLLECTOR_PROFILER_H
#define LLMPROF_COLLECTOR_PROFILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/cache_flush.h"
#include "collector/metrics.h"

enum {
  PROFILER_RANGES = 256, /* from a start to the next stop, at most */
};

/* What is a range: each launch of a kernel, all of what runs meanwhile, or what
 * is between a push and a pop. A launch of the first kind may be replayed where
 * one pass is too few. Of the last kind a session has one pass at a time: what
 * has the same number in other passes is taken for the same. */
typedef enum profiler_range {
  PROFILER_LAUNCHES,
  PROFILER_ALL,
  PROFILER_PUSHED,
} profiler_range;

typedef struct profiler {
  void *context;
  uint32_t device;
  char *chip;
  metric_set sets[PLAN_PASSES]; /* each is taken by a session of its own */
  size_t set_count;
  const metric_set *set;              /* of the last session */
  CUpti_RangeProfiler_Object *object; /* NULL: closed */
  profiler_range range;               /* since the last start */
  bool used;                          /* was there one, with this object? */
  cache_flush cache_flush;
} profiler;

/* On the calling thread's context, which is this one. False: a diagnostic says
 * why, and there is nothing to close. */
bool profiler_open(profiler *p, void *context);
void profiler_close(profiler *p);

/* Is a session for one launch alone? */
bool profiler_one_by_one(const profiler *p);

/* Takes one of the sets. Waits for the GPU before. *flushed: was the L2 cache
 * emptied (not before ranges that are pushed)? Another kind of range, or
 * another set, than the last one opens the profiler again. */
bool profiler_start(profiler *p, size_t set, profiler_range range,
                    bool *flushed);

/* Goes on to the next pass, after the last to the first. Waits for the GPU. */
bool profiler_turn(profiler *p);

/* A range of this number, below PROFILER_RANGES, begins. Waits for the GPU
 * before. *flushed: as above, for this range. */
bool profiler_push(profiler *p, size_t number, bool *flushed);

/* It ends, when all that was launched has run. */
bool profiler_pop(const profiler *p);

/* How many ranges there are values of (metrics_values of the set); a failure
 * is *error, a CUptiResult, else it is 0. */
size_t profiler_stop(profiler *p, uint32_t *error);

/* The number that a range was pushed with; SIZE_MAX: not known. */
size_t profiler_number(const profiler *p, size_t index);

#endif

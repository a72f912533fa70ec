/* What is drawn where: made in perfetto_lanes.c, written in perfetto.c. */
#ifndef LLMPROF_PERFETTO_INTERNAL_H
#define LLMPROF_PERFETTO_INTERNAL_H

#include "export/perfetto.h"
#include "trace/trace_events.h"

/* Tracks: a place each, then a thread each, then one for threads that were not
 * recorded. */
typedef struct perfetto_lane {
  uint32_t track;
  uint32_t number; /* 0: the track itself, 1: its first further lane, ... */
} perfetto_lane;

/* Operations, ranges and calls under one numbering, in this order: an item. */
typedef struct perfetto_layout {
  const llmprof_ops *ops;
  const llmprof_ranges *ranges;
  const llmprof_calls *calls;
  const llmprof_values *call_of;         /* by operation: what launched it */
  size_t first_range, first_call, count; /* items */
  size_t places, threads;
  uint32_t *lane; /* by item: row in lanes, LLMPROF_NONE: left out */
  perfetto_lane *lanes;
  size_t lane_count, lane_cap;
} perfetto_layout;

/* Zero-initialise the layout; free it, on failure too. */
bool llmprof_perfetto_lay_out(perfetto_layout *layout, llmprof_trace *trace,
                              llmprof_error *err);
void llmprof_perfetto_layout_free(perfetto_layout *layout);

/* ns; an end before the start counts as the start. */
int64_t llmprof_perfetto_start(const perfetto_layout *layout, size_t item);
int64_t llmprof_perfetto_end(const perfetto_layout *layout, size_t item);

#endif

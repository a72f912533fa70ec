/* The columns of the trace's frames: each a function from a row to its value.
 * Private to the trace module. */
#ifndef LLMPROF_TRACE_COLUMNS_H
#define LLMPROF_TRACE_COLUMNS_H

#include "llmprof/frame.h"
#include "trace/trace_internal.h"

/* The value of a column for one event; LLMPROF_ABSENT if it has none. */
typedef int64_t (*llmprof_getter)(const llmprof_trace *trace, size_t row);

/* What of a trace must be loaded before a column's getter may be called,
 * besides the frame's own rows. */
typedef enum llmprof_column_needs {
  NEEDS_NOTHING,
  NEEDS_DETAILS,
  NEEDS_ATTRIBUTION,
} llmprof_column_needs;

typedef struct llmprof_column_spec {
  const char *name, *unit;
  llmprof_column_type type;
  llmprof_getter get;
  llmprof_column_needs needs;
} llmprof_column_spec;

/* Lists end with an unnamed column. Rows are: operations; calls; ranges;
 * projections; for the columns of pairs, kernels and ranges. */
extern const llmprof_column_spec llmprof_gpu_columns[];
extern const llmprof_column_spec llmprof_kernel_columns[];
extern const llmprof_column_spec llmprof_api_columns[];
extern const llmprof_column_spec llmprof_range_columns[];
extern const llmprof_column_spec llmprof_projection_columns[];
extern const llmprof_column_spec llmprof_pair_kernel_columns[];
extern const llmprof_column_spec llmprof_pair_range_columns[];

static inline int64_t llmprof_row_number(const llmprof_trace *trace,
                                         size_t row) {
  (void)trace;
  return (int64_t)row;
}

static inline int64_t llmprof_widen(uint32_t value) {
  return value == LLMPROF_NONE ? LLMPROF_ABSENT : (int64_t)value;
}

/* In ns; absent when either time is, or when they are more than 292 years
 * apart, as only a broken file says. */
static inline int64_t llmprof_between(int64_t start, int64_t end) {
  int64_t time;
  if (start == LLMPROF_ABSENT || end == LLMPROF_ABSENT ||
      __builtin_sub_overflow(end, start, &time))
    return LLMPROF_ABSENT;
  return time;
}

static inline int64_t llmprof_thread_pid(const llmprof_trace *trace,
                                         uint32_t thread) {
  if (thread == LLMPROF_NONE) return LLMPROF_ABSENT;
  return trace->processes[trace->threads[thread].process].pid;
}

static inline int64_t llmprof_thread_tid(const llmprof_trace *trace,
                                         uint32_t thread) {
  return thread == LLMPROF_NONE ? LLMPROF_ABSENT : trace->threads[thread].tid;
}

#endif

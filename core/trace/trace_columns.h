/* The columns of the trace's frames: each a function from a row to its value.
 * Private to the trace module. */
#ifndef LLMPROF_TRACE_COLUMNS_H
#define LLMPROF_TRACE_COLUMNS_H

#include <stddef.h>

#include "llmprof/frame.h"
#include "trace/trace_internal.h"

/* What of a trace must be loaded before a column's getter may be called,
 * besides the frame's own rows. */
typedef enum llmprof_column_needs {
  NEEDS_NOTHING,
  NEEDS_DETAILS,
  NEEDS_LINKS, /* of the attribution, and the ranges they lead to */
  NEEDS_ATTRIBUTION,
} llmprof_column_needs;

/* Where a column's cells are found, from the cheapest way to the dearest:
 * in an array of the trace; in one that is reached through another; by asking
 * `get` of each of the few things that the rows are about, such as threads; by
 * asking it of each row. */
typedef struct llmprof_column_spec {
  const char *name, *unit;
  llmprof_column_type type; /* LLMPROF_I64 that are computed may become _U32 */
  llmprof_column_needs needs;
  size_t array;       /* AT() the cells, where the trace has them; else 0 */
  size_t index;       /* AT() the cells' numbers by row; 0: by row as they are.
                         Not for pairs */
  size_t domain;      /* AT() how many things `get` is asked of, with `index` */
  llmprof_getter by;  /* in place of `index`: the numbers by row, which are kept
                         as long as the trace */
  llmprof_getter get; /* without `array` */
  bool shared;        /* computed once, and kept as long as the trace */
  size_t shorts;      /* AT() them as LLMPROF_U32, where they are kept so */
  size_t from, took;  /* AT() what they are the sum of, where `array` is not
                         there */
  size_t of_name;     /* AT() them by name of kernels, where they are kept so */
  size_t near;        /* AT() them as LLMPROF_U32, where launches are near */
  size_t numbers;     /* AT() what `by` would say, where it is kept */
  llmprof_getter twin; /* asked of each kind of operations, where these are
                          twins */
} llmprof_column_spec;

#define AT(of) offsetof(struct llmprof_trace, of)

/* Lists end with an unnamed column. Rows are: operations; calls; ranges;
 * projections; samples of either kind; for the columns of pairs, kernels and
 * ranges. */
extern const llmprof_column_spec llmprof_gpu_columns[];
extern const llmprof_column_spec llmprof_kernel_columns[];
extern const llmprof_column_spec llmprof_api_columns[];
extern const llmprof_column_spec llmprof_range_columns[];
extern const llmprof_column_spec llmprof_projection_columns[];
extern const llmprof_column_spec llmprof_sample_columns[];
extern const llmprof_column_spec llmprof_cpu_sample_columns[];
extern const llmprof_column_spec llmprof_pair_kernel_columns[];
extern const llmprof_column_spec llmprof_pair_range_columns[];

/* Both of pairs that are one for each kernel: rows are kernels. */
extern const llmprof_column_spec llmprof_single_pair_columns[];

/* Rows first .. first + count - 1 of `all` of a kind of event, which are of a
 * piece of the trace, as seen by a frame directly or through an index. */
typedef struct llmprof_axis {
  llmprof_trace *trace;
  int piece;
  size_t first, count, all;
  const uint32_t *index;
  const llmprof_column_spec *specs;
  const uint32_t *numbers; /* of pairs, what `by` says, once it was asked: */
  llmprof_getter by;
} llmprof_axis;

/* What a frame's column that nobody has looked at yet is of, where that is rows
 * of a trace as they are, the first of which becomes *first; else NULL. */
const llmprof_axis *llmprof_trace_axis(const llmprof_frame *frame,
                                       size_t column, size_t *first);

/* The cells of the rows, into data, index and type of the column, once what
 * they need is loaded. What is computed for them alone is the frame's. */
bool llmprof_trace_cells(llmprof_axis *from, const llmprof_column_spec *spec,
                         llmprof_frame *frame, llmprof_column *column,
                         llmprof_error *err);

/* A getter that is its row. */
int64_t llmprof_row_number(const llmprof_trace *trace, size_t row);

static inline int64_t llmprof_widen(uint32_t value) {
  return value == LLMPROF_NONE ? LLMPROF_ABSENT : (int64_t)value;
}

static inline int64_t llmprof_thread_pid(const llmprof_trace *trace,
                                         size_t thread) {
  if (thread == LLMPROF_NONE) return LLMPROF_ABSENT;
  return trace->processes[trace->threads[thread].process].pid;
}

static inline int64_t llmprof_thread_tid(const llmprof_trace *trace,
                                         size_t thread) {
  return thread == LLMPROF_NONE ? LLMPROF_ABSENT : trace->threads[thread].tid;
}

#endif

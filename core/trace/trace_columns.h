/* The columns of the trace's frames: what each is made of. Private to the
 * trace module. */
#ifndef LLMPROF_TRACE_COLUMNS_H
#define LLMPROF_TRACE_COLUMNS_H

#include <stddef.h>

#include "llmprof/frame.h"
#include "trace/trace_internal.h"

/* The value of a column for one event, or for the thing with a number;
 * LLMPROF_ABSENT if it has none. */
typedef int64_t (*llmprof_getter)(const llmprof_trace *trace, size_t row);

/* Values of a row: `of` it or, with a key, of the row that the key says; and of
 * what that says of the row that `through` says. All are AT() columns of the
 * trace; 0: none. */
typedef struct llmprof_source {
  size_t of, key, through;
} llmprof_source;

/* Cells are, whichever is there first: what `function` makes of `in`; what
 * `get` says of the number that `in` or, where there is none, the row itself
 * is; in[0] as it is; the number of the row. */
typedef struct llmprof_column_spec {
  const char *name, *unit;
  llmprof_column_type type;
  llmprof_source in[LLMPROF_VALUES_IN];
  llmprof_values_function function;
  llmprof_getter get;
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

/* Rows first .. first + count - 1 of a kind of event or, where `rows` are
 * there, these. */
typedef struct llmprof_axis {
  llmprof_trace *trace;
  size_t first, count;
  const llmprof_values *rows;
  const llmprof_column_spec *specs;
} llmprof_axis;

/* The cells of the rows, into the column, once what they need is loaded. What
 * is made for them alone is the frame's. */
bool llmprof_trace_cells(const llmprof_axis *from,
                         const llmprof_column_spec *spec, llmprof_frame *frame,
                         llmprof_column *column, llmprof_error *err);

/* Of starts and durations. */
void llmprof_ends(const int64_t *const *in, size_t count, int64_t *out);

static inline int64_t llmprof_thread_pid(const llmprof_trace *trace,
                                         size_t thread) {
  if (thread == LLMPROF_NONE) return LLMPROF_ABSENT;
  return llmprof_process_at(trace, llmprof_thread_at(trace, thread)->process)
      ->pid;
}

static inline int64_t llmprof_thread_tid(const llmprof_trace *trace,
                                         size_t thread) {
  return thread == LLMPROF_NONE ? LLMPROF_ABSENT
                                : llmprof_thread_at(trace, thread)->tid;
}

#endif

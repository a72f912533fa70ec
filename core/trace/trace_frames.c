/* The frames of a trace: one table of columns per kind of row, computed when
 * first asked for and loading what they need of the trace.
 *
 * The rows of a frame are events of one kind (operations, calls, ranges,
 * projections), or pairs of a kernel and a range: then a column is computed
 * once per kernel or per range and reached through the pairs. */
#include <string.h>

#include "base/alloc.h"
#include "base/thread_pool.h"
#include "trace/trace_columns.h"
#include "trace/trace_events.h"

/* ---- making frames ---- */

static const llmprof_column_spec *find_spec(const llmprof_axis *from,
                                            const char *name) {
  const llmprof_column_spec *spec = from->specs;
  while (strcmp(spec->name, name) != 0) spec++;
  return spec;
}

static bool load_column(llmprof_frame *frame, llmprof_column *column,
                        void *user, llmprof_error *err) {
  const llmprof_axis *from = user;
  return llmprof_trace_cells(from, find_spec(from, column->name), frame, column,
                             err);
}

/* Declare the axis's columns; specs end with an unnamed one. */
static bool add_columns(llmprof_frame *frame, const llmprof_axis *wanted) {
  llmprof_axis *kept = llmprof_memdup(wanted, sizeof *wanted);
  if (!kept || !llmprof_frame_own(frame, kept)) return false;
  for (const llmprof_column_spec *spec = wanted->specs; spec->name; spec++) {
    llmprof_column column = {
        .name = spec->name, .unit = spec->unit, .type = spec->type};
    if (!llmprof_frame_add(frame, &column, load_column, kept)) return false;
  }
  return true;
}

/* ---- pairs of a kernel and a range around its launch ---- */

/* Rows of kernels and ranges, by pair. A kernel in no range makes one pair,
 * with none. */
typedef struct pairs {
  const llmprof_trace *trace;
  int64_t *range, *outer; /* by link */
  llmprof_values *of[2];  /* kernels, ranges */
} pairs;

/* Each of both on a thread. */
static bool fill_pairs(void *user, size_t worker, size_t which,
                       llmprof_error *err) {
  const pairs *p = user;
  llmprof_cursor links;
  llmprof_cursor_open(&links, p->trace->attribution.link);
  bool ok = true;
  (void)worker;
  for (size_t op = 0; ok && op < p->trace->ops.first[LLMPROF_COPY]; op++) {
    int64_t link = llmprof_cursor_at(&links, op);
    do {
      bool in = link != LLMPROF_ABSENT;
      int64_t range = in ? p->range[link] : link;
      ok = llmprof_values_append(p->of[which], which ? range : (int64_t)op);
      if (in) link = p->outer[link];
    } while (ok && link != LLMPROF_ABSENT);
  }
  return (ok && llmprof_values_end(p->of[which])) || llmprof_fail_nomem(err);
}

/* Takes the pairs' columns. */
static llmprof_frame *frame_of_pairs(llmprof_trace *trace, const pairs *p) {
  llmprof_frame *frame =
      llmprof_frame_new(llmprof_values_count(p->of[0]), trace->strings);
  if (!frame) {
    llmprof_values_free(p->of[0]);
    llmprof_values_free(p->of[1]);
    return NULL;
  }
  const llmprof_axis kernels = {trace, 0, trace->ops.first[LLMPROF_COPY],
                                llmprof_frame_keep(frame, p->of[0]),
                                llmprof_pair_kernel_columns};
  const llmprof_axis around = {trace, 0, trace->ranges.count,
                               llmprof_frame_keep(frame, p->of[1]),
                               llmprof_pair_range_columns};
  if (kernels.rows && around.rows && add_columns(frame, &kernels) &&
      add_columns(frame, &around))
    return frame;
  llmprof_frame_free(frame);
  return NULL;
}

static llmprof_frame *pairs_frame(llmprof_trace *trace, llmprof_error *err) {
  const llmprof_attribution *a = llmprof_trace_attribution(trace, err);
  if (!a) return NULL;
  pairs p = {trace,
             llmprof_values_all(a->range),
             llmprof_values_all(a->outer),
             {llmprof_values_new(), llmprof_values_new()}};
  const llmprof_parallel_loop loop = {
      .parts = 2, .work = fill_pairs, .user = &p};
  llmprof_frame *frame = NULL;
  if (p.range && p.outer && p.of[0] && p.of[1] &&
      llmprof_parallel_for(&loop, llmprof_thread_pool_size(2), err)) {
    frame = frame_of_pairs(trace, &p);
  } else {
    llmprof_values_free(p.of[0]);
    llmprof_values_free(p.of[1]);
  }
  llmprof_free(p.range);
  llmprof_free(p.outer);
  return frame ? frame : (llmprof_fail_nomem(err), NULL);
}

/* ---- by name ---- */

/* All rows of a piece; of operations those of some kinds, which follow each
 * other. Without columns: pairs. */
static const struct made_frame {
  const char *name;
  const llmprof_column_spec *specs;
  int piece, first, end;
} frames[] = {
    {"kernels", llmprof_kernel_columns, LLMPROF_PART_OPS, LLMPROF_KERNEL,
     LLMPROF_COPY},
    {"transfers", llmprof_gpu_columns, LLMPROF_PART_OPS, LLMPROF_COPY,
     LLMPROF_GRAPH},
    {"graphs", llmprof_gpu_columns, LLMPROF_PART_OPS, LLMPROF_GRAPH,
     LLMPROF_OP_KINDS},
    {"gpu", llmprof_gpu_columns, LLMPROF_PART_OPS, LLMPROF_KERNEL,
     LLMPROF_OP_KINDS},
    {"api", llmprof_api_columns, LLMPROF_PART_CALLS, 0, 0},
    {"ranges", llmprof_range_columns, LLMPROF_PART_RANGES, 0, 0},
    {"projections", llmprof_projection_columns, LLMPROF_PIECE_PROJECTIONS, 0,
     0},
    {"kernel_ranges", NULL, 0, 0, 0},
    {"samples", llmprof_sample_columns, LLMPROF_PART_SAMPLES, 0, 0},
    {"cpu_samples", llmprof_cpu_sample_columns, LLMPROF_PART_CPU_SAMPLES, 0, 0},
};

static llmprof_frame *make_frame(llmprof_trace *trace,
                                 const struct made_frame *of,
                                 llmprof_error *err) {
  if (!of->specs) return pairs_frame(trace, err);
  if (!llmprof_trace_load(trace, of->piece, err)) return NULL;
  llmprof_axis rows = {trace, 0, llmprof_piece_rows(trace, of->piece), NULL,
                       of->specs};
  if (of->piece == LLMPROF_PART_OPS) {
    rows.first = trace->ops.first[of->first];
    rows.count = trace->ops.first[of->end] - rows.first;
  }
  llmprof_frame *frame = llmprof_frame_new(rows.count, trace->strings);
  if (frame && add_columns(frame, &rows)) return frame;
  llmprof_frame_free(frame);
  return llmprof_fail_nomem(err), NULL;
}

const char *llmprof_trace_frame_name(size_t number) {
  return number < sizeof frames / sizeof *frames ? frames[number].name : NULL;
}

llmprof_frame *llmprof_trace_frame(llmprof_trace *trace, const char *name,
                                   llmprof_error *err) {
  for (size_t i = 0; i < sizeof frames / sizeof *frames; i++) {
    if (strcmp(frames[i].name, name) == 0)
      return make_frame(trace, &frames[i], err);
  }
  return llmprof_fail(err, LLMPROF_NOTFOUND, "no frame '%s'", name), NULL;
}

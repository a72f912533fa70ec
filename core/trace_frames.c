/* The frames of a trace: one table of columns per kind of row, each column a
 * function from a row to its value. Columns are computed when first asked
 * for, and load what they need of the trace.
 *
 * The rows of a frame are events of one kind (operations, calls, ranges,
 * projections), or pairs of a kernel and a range: then a column is computed
 * once per kernel or per range and reached through the pairs. */
#include <stdio.h>
#include <string.h>

#include "llmprof/alloc.h"
#include "llmprof/frame.h"
#include "trace_internal.h"

/* The value of a column for one event; LLMPROF_ABSENT if it has none. */
typedef int64_t (*getter)(const llmprof_trace *trace, size_t row);

enum {
  NEEDS_NOTHING,
  NEEDS_DETAILS,
  NEEDS_ATTRIBUTION
};

typedef struct column_spec {
  const char *name, *unit;
  llmprof_type type;
  getter get;
  int needs;
} column_spec;

static int64_t widen(uint32_t value) {
  return value == LLMPROF_NONE ? LLMPROF_ABSENT : (int64_t)value;
}

static int64_t thread_pid(const llmprof_trace *t, uint32_t thread) {
  return thread == LLMPROF_NONE
             ? LLMPROF_ABSENT
             : (int64_t)t->processes[t->threads[thread].process].pid;
}

static int64_t thread_tid(const llmprof_trace *t, uint32_t thread) {
  return thread == LLMPROF_NONE ? LLMPROF_ABSENT
                                : (int64_t)t->threads[thread].tid;
}

/* ---- operations ---- */

static int64_t op_row(const llmprof_trace *t, size_t row) {
  (void)t;
  return (int64_t)row;
}

static int64_t op_start(const llmprof_trace *t, size_t row) {
  return t->ops.start[row];
}

static int64_t op_end(const llmprof_trace *t, size_t row) {
  return t->ops.end[row];
}

static int64_t op_duration(const llmprof_trace *t, size_t row) {
  return t->ops.end[row] - t->ops.start[row];
}

static int64_t op_name(const llmprof_trace *t, size_t row) {
  return widen(t->ops.name[row]);
}

static int64_t op_correlation(const llmprof_trace *t, size_t row) {
  return widen(t->ops.correlation[row]);
}

static int64_t op_bytes(const llmprof_trace *t, size_t row) {
  uint32_t first = t->ops.first[LLMPROF_COPY];
  return row < first ? LLMPROF_ABSENT : t->ops.bytes[row - first];
}

static int64_t op_kind(const llmprof_trace *t, size_t row) {
  int64_t kind = LLMPROF_KERNEL;
  while (row >= t->ops.first[kind + 1]) kind++;
  return kind;
}

static const llmprof_place *place(const llmprof_trace *t, size_t row) {
  return llmprof_intern_get(&t->places, t->ops.place[row]);
}

static int64_t op_device(const llmprof_trace *t, size_t row) {
  return widen(place(t, row)->device);
}

static int64_t op_context(const llmprof_trace *t, size_t row) {
  return widen(place(t, row)->context);
}

static int64_t op_stream(const llmprof_trace *t, size_t row) {
  return widen(place(t, row)->stream);
}

static int64_t op_pid(const llmprof_trace *t, size_t row) {
  uint32_t process = place(t, row)->process;
  return process == LLMPROF_NONE ? LLMPROF_ABSENT
                                 : (int64_t)t->processes[process].pid;
}

/* ---- details of kernels ---- */

static int64_t kernel_short_name(const llmprof_trace *t, size_t row) {
  return widen(t->details.short_name[row]);
}

static int64_t kernel_mangled_name(const llmprof_trace *t, size_t row) {
  return widen(t->details.mangled[row]);
}

static int64_t kernel_graph_node(const llmprof_trace *t, size_t row) {
  return t->details.graph_node ? t->details.graph_node[row] : LLMPROF_ABSENT;
}

static const llmprof_shape *shape(const llmprof_trace *t, size_t row) {
  return llmprof_intern_get(&t->shapes, t->details.shape[row]);
}

static int64_t kernel_grid_x(const llmprof_trace *t, size_t row) {
  return shape(t, row)->grid[0];
}

static int64_t kernel_grid_y(const llmprof_trace *t, size_t row) {
  return shape(t, row)->grid[1];
}

static int64_t kernel_grid_z(const llmprof_trace *t, size_t row) {
  return shape(t, row)->grid[2];
}

static int64_t kernel_block_x(const llmprof_trace *t, size_t row) {
  return shape(t, row)->block[0];
}

static int64_t kernel_block_y(const llmprof_trace *t, size_t row) {
  return shape(t, row)->block[1];
}

static int64_t kernel_block_z(const llmprof_trace *t, size_t row) {
  return shape(t, row)->block[2];
}

static int64_t kernel_registers(const llmprof_trace *t, size_t row) {
  return shape(t, row)->registers;
}

static int64_t kernel_static_shared(const llmprof_trace *t, size_t row) {
  return shape(t, row)->static_shared;
}

static int64_t kernel_dynamic_shared(const llmprof_trace *t, size_t row) {
  return shape(t, row)->dynamic_shared;
}

/* ---- the call that launched an operation ---- */

static uint32_t launch_thread(const llmprof_trace *t, size_t row) {
  uint32_t call = t->attribution.call[row];
  return call == LLMPROF_NONE ? LLMPROF_NONE : t->calls.thread[call];
}

static int64_t launch_call(const llmprof_trace *t, size_t row) {
  return widen(t->attribution.call[row]);
}

static int64_t launch_api(const llmprof_trace *t, size_t row) {
  uint32_t call = t->attribution.call[row];
  return call == LLMPROF_NONE ? LLMPROF_ABSENT : widen(t->calls.name[call]);
}

static int64_t launch_pid(const llmprof_trace *t, size_t row) {
  return thread_pid(t, launch_thread(t, row));
}

static int64_t launch_tid(const llmprof_trace *t, size_t row) {
  return thread_tid(t, launch_thread(t, row));
}

static int64_t launch_start(const llmprof_trace *t, size_t row) {
  uint32_t call = t->attribution.call[row];
  return call == LLMPROF_NONE ? LLMPROF_ABSENT : t->calls.start[call];
}

static int64_t launch_end(const llmprof_trace *t, size_t row) {
  uint32_t call = t->attribution.call[row];
  return call == LLMPROF_NONE ? LLMPROF_ABSENT : t->calls.end[call];
}

static int64_t launch_time(const llmprof_trace *t, size_t row) {
  uint32_t call = t->attribution.call[row];
  if (call == LLMPROF_NONE) return LLMPROF_ABSENT;
  return t->calls.end[call] - t->calls.start[call];
}

/* Absent when the operation started before the call returned. */
static int64_t launch_queue(const llmprof_trace *t, size_t row) {
  uint32_t call = t->attribution.call[row];
  if (call == LLMPROF_NONE) return LLMPROF_ABSENT;
  int64_t wait = t->ops.start[row] - t->calls.end[call];
  return wait >= 0 ? wait : LLMPROF_ABSENT;
}

static int64_t launch_total(const llmprof_trace *t, size_t row) {
  uint32_t call = t->attribution.call[row];
  if (call == LLMPROF_NONE) return LLMPROF_ABSENT;
  int64_t end = t->calls.end[call];
  if (t->ops.end[row] > end) end = t->ops.end[row];
  return end - t->calls.start[call];
}

static int64_t launch_range(const llmprof_trace *t, size_t row) {
  uint32_t link = t->attribution.link[row];
  return link == LLMPROF_NONE ? LLMPROF_ABSENT
                              : (int64_t)t->attribution.links[link].range;
}

static int64_t launch_tag(const llmprof_trace *t, size_t row) {
  int64_t range = launch_range(t, row);
  return range == LLMPROF_ABSENT ? range : widen(t->ranges.tag[range]);
}

/* ---- API calls ---- */

static int64_t call_start(const llmprof_trace *t, size_t row) {
  return t->calls.start[row];
}

static int64_t call_end(const llmprof_trace *t, size_t row) {
  return t->calls.end[row];
}

static int64_t call_duration(const llmprof_trace *t, size_t row) {
  return t->calls.end[row] - t->calls.start[row];
}

static int64_t call_name(const llmprof_trace *t, size_t row) {
  return widen(t->calls.name[row]);
}

static int64_t call_correlation(const llmprof_trace *t, size_t row) {
  return widen(t->calls.correlation[row]);
}

static int64_t call_pid(const llmprof_trace *t, size_t row) {
  return thread_pid(t, t->calls.thread[row]);
}

static int64_t call_tid(const llmprof_trace *t, size_t row) {
  return thread_tid(t, t->calls.thread[row]);
}

/* ---- ranges ---- */

static int64_t range_row(const llmprof_trace *t, size_t row) {
  (void)t;
  return (int64_t)row;
}

static int64_t range_start(const llmprof_trace *t, size_t row) {
  return t->ranges.start[row];
}

static int64_t range_end(const llmprof_trace *t, size_t row) {
  return t->ranges.end[row];
}

static int64_t range_duration(const llmprof_trace *t, size_t row) {
  return t->ranges.end[row] - t->ranges.start[row];
}

static int64_t range_text(const llmprof_trace *t, size_t row) {
  return widen(t->ranges.text[row]);
}

static int64_t range_tag(const llmprof_trace *t, size_t row) {
  return widen(t->ranges.tag[row]);
}

static int64_t range_colon_tag(const llmprof_trace *t, size_t row) {
  return widen(t->ranges.colon_tag[row]);
}

static int64_t range_domain(const llmprof_trace *t, size_t row) {
  return widen(t->ranges.domain[row]);
}

static int64_t range_category(const llmprof_trace *t, size_t row) {
  return widen(t->ranges.category[row]);
}

static int64_t range_payload(const llmprof_trace *t, size_t row) {
  return t->ranges.payload[row];
}

static int64_t range_style(const llmprof_trace *t, size_t row) {
  return t->ranges.style[row];
}

static int64_t range_open(const llmprof_trace *t, size_t row) {
  return t->ranges.open[row];
}

static int64_t range_pid(const llmprof_trace *t, size_t row) {
  return thread_pid(t, t->ranges.thread[row]);
}

static int64_t range_tid(const llmprof_trace *t, size_t row) {
  return thread_tid(t, t->ranges.thread[row]);
}

static int64_t range_level(const llmprof_trace *t, size_t row) {
  return widen(t->attribution.level[row]);
}

static int64_t range_parent(const llmprof_trace *t, size_t row) {
  return widen(t->attribution.parent[row]);
}

/* ---- projections ---- */

static int64_t projected_range(const llmprof_trace *t, size_t row) {
  return t->projections[row].range;
}

static int64_t projected_start(const llmprof_trace *t, size_t row) {
  return t->projections[row].start;
}

static int64_t projected_end(const llmprof_trace *t, size_t row) {
  return t->projections[row].end;
}

static int64_t projected_duration(const llmprof_trace *t, size_t row) {
  return t->projections[row].end - t->projections[row].start;
}

static int64_t projected_operations(const llmprof_trace *t, size_t row) {
  return t->projections[row].operations;
}

static int64_t projected_children(const llmprof_trace *t, size_t row) {
  return t->projections[row].children;
}

/* Properties of the range that is projected. */
#define OF_RANGE(name)                                                  \
  static int64_t projected_##name(const llmprof_trace *t, size_t row) { \
    return range_##name(t, t->projections[row].range);                  \
  }
OF_RANGE(tag)
OF_RANGE(colon_tag)
OF_RANGE(style)
OF_RANGE(level)
OF_RANGE(pid)
OF_RANGE(tid)

static int64_t projected_range_duration(const llmprof_trace *t, size_t row) {
  return range_duration(t, t->projections[row].range);
}

/* ---- the tables ---- */

#define OPERATION_COLUMNS                                                  \
  {"op", NULL, LLMPROF_U32, op_row, 0},                                    \
      {"name", NULL, LLMPROF_STRING, op_name, 0},                          \
      {"start", "ns", LLMPROF_I64, op_start, 0},                           \
      {"end", "ns", LLMPROF_I64, op_end, 0},                               \
      {"duration", "ns", LLMPROF_I64, op_duration, 0},                     \
      {"device", NULL, LLMPROF_U32, op_device, 0},                         \
      {"context", NULL, LLMPROF_U32, op_context, 0},                       \
      {"stream", NULL, LLMPROF_U32, op_stream, 0},                         \
      {"pid", NULL, LLMPROF_U32, op_pid, 0},                               \
      {"correlation", NULL, LLMPROF_U32, op_correlation, 0},               \
      {"call", NULL, LLMPROF_U32, launch_call, NEEDS_ATTRIBUTION},         \
      {"api", NULL, LLMPROF_STRING, launch_api, NEEDS_ATTRIBUTION},        \
      {"api_start", "ns", LLMPROF_I64, launch_start, NEEDS_ATTRIBUTION},   \
      {"api_end", "ns", LLMPROF_I64, launch_end, NEEDS_ATTRIBUTION},       \
      {"api_time", "ns", LLMPROF_I64, launch_time, NEEDS_ATTRIBUTION},     \
      {"queue_time", "ns", LLMPROF_I64, launch_queue, NEEDS_ATTRIBUTION},  \
      {"launch_time", "ns", LLMPROF_I64, launch_total, NEEDS_ATTRIBUTION}, \
      {"launch_pid", NULL, LLMPROF_U32, launch_pid, NEEDS_ATTRIBUTION},    \
      {"launch_tid", NULL, LLMPROF_U32, launch_tid, NEEDS_ATTRIBUTION},    \
      {"range", NULL, LLMPROF_U32, launch_range, NEEDS_ATTRIBUTION}, {     \
    "tag", NULL, LLMPROF_STRING, launch_tag, NEEDS_ATTRIBUTION             \
  }

static const column_spec gpu_columns[] = {
    OPERATION_COLUMNS,
    {"kind", NULL, LLMPROF_U32, op_kind, 0},
    {"bytes", "bytes", LLMPROF_I64, op_bytes, 0},
    {0},
};

static const column_spec kernel_columns[] = {
    OPERATION_COLUMNS,
    {"short_name", NULL, LLMPROF_STRING, kernel_short_name, NEEDS_DETAILS},
    {"mangled_name", NULL, LLMPROF_STRING, kernel_mangled_name, NEEDS_DETAILS},
    {"grid_x", NULL, LLMPROF_U32, kernel_grid_x, NEEDS_DETAILS},
    {"grid_y", NULL, LLMPROF_U32, kernel_grid_y, NEEDS_DETAILS},
    {"grid_z", NULL, LLMPROF_U32, kernel_grid_z, NEEDS_DETAILS},
    {"block_x", NULL, LLMPROF_U32, kernel_block_x, NEEDS_DETAILS},
    {"block_y", NULL, LLMPROF_U32, kernel_block_y, NEEDS_DETAILS},
    {"block_z", NULL, LLMPROF_U32, kernel_block_z, NEEDS_DETAILS},
    {"registers", NULL, LLMPROF_U32, kernel_registers, NEEDS_DETAILS},
    {"static_shared", "bytes", LLMPROF_U32, kernel_static_shared,
     NEEDS_DETAILS},
    {"dynamic_shared", "bytes", LLMPROF_U32, kernel_dynamic_shared,
     NEEDS_DETAILS},
    {"graph_node", NULL, LLMPROF_I64, kernel_graph_node, NEEDS_DETAILS},
    {0},
};

static const column_spec api_columns[] = {
    {"name", NULL, LLMPROF_STRING, call_name, 0},
    {"start", "ns", LLMPROF_I64, call_start, 0},
    {"end", "ns", LLMPROF_I64, call_end, 0},
    {"duration", "ns", LLMPROF_I64, call_duration, 0},
    {"pid", NULL, LLMPROF_U32, call_pid, 0},
    {"tid", NULL, LLMPROF_U32, call_tid, 0},
    {"correlation", NULL, LLMPROF_U32, call_correlation, 0},
    {0},
};

static const column_spec range_columns[] = {
    {"range", NULL, LLMPROF_U32, range_row, 0},
    {"text", NULL, LLMPROF_STRING, range_text, 0},
    {"tag", NULL, LLMPROF_STRING, range_tag, 0},
    {"colon_tag", NULL, LLMPROF_STRING, range_colon_tag, 0},
    {"domain", NULL, LLMPROF_STRING, range_domain, 0},
    {"category", NULL, LLMPROF_STRING, range_category, 0},
    {"start", "ns", LLMPROF_I64, range_start, 0},
    {"end", "ns", LLMPROF_I64, range_end, 0},
    {"duration", "ns", LLMPROF_I64, range_duration, 0},
    {"style", NULL, LLMPROF_U32, range_style, 0},
    {"pid", NULL, LLMPROF_U32, range_pid, 0},
    {"tid", NULL, LLMPROF_U32, range_tid, 0},
    {"payload", NULL, LLMPROF_I64, range_payload, 0},
    {"open", NULL, LLMPROF_U32, range_open, 0},
    {"level", NULL, LLMPROF_U32, range_level, NEEDS_ATTRIBUTION},
    {"parent", NULL, LLMPROF_U32, range_parent, NEEDS_ATTRIBUTION},
    {0},
};

static const column_spec projection_columns[] = {
    {"range", NULL, LLMPROF_U32, projected_range, 0},
    {"tag", NULL, LLMPROF_STRING, projected_tag, 0},
    {"colon_tag", NULL, LLMPROF_STRING, projected_colon_tag, 0},
    {"style", NULL, LLMPROF_U32, projected_style, 0},
    {"start", "ns", LLMPROF_I64, projected_start, 0},
    {"end", "ns", LLMPROF_I64, projected_end, 0},
    {"duration", "ns", LLMPROF_I64, projected_duration, 0},
    {"range_duration", "ns", LLMPROF_I64, projected_range_duration, 0},
    {"operations", NULL, LLMPROF_U32, projected_operations, 0},
    {"children", NULL, LLMPROF_U32, projected_children, 0},
    {"level", NULL, LLMPROF_U32, projected_level, 0},
    {"pid", NULL, LLMPROF_U32, projected_pid, 0},
    {"tid", NULL, LLMPROF_U32, projected_tid, 0},
    {0},
};

/* Of pairs: from the kernel, and from the range. */
static const column_spec pair_kernel_columns[] = {
    {"kernel", NULL, LLMPROF_U32, op_row, 0},
    {"name", NULL, LLMPROF_STRING, op_name, 0},
    {"duration", "ns", LLMPROF_I64, op_duration, 0},
    {"pid", NULL, LLMPROF_U32, launch_pid, NEEDS_ATTRIBUTION},
    {"tid", NULL, LLMPROF_U32, launch_tid, NEEDS_ATTRIBUTION},
    {0},
};

static const column_spec pair_range_columns[] = {
    {"range", NULL, LLMPROF_U32, range_row, 0},
    {"tag", NULL, LLMPROF_STRING, range_tag, 0},
    {"colon_tag", NULL, LLMPROF_STRING, range_colon_tag, 0},
    {"style", NULL, LLMPROF_U32, range_style, 0},
    {0},
};

/* ---- making frames ---- */

/* Rows first .. first + count - 1 of a kind of event, as seen by a frame
 * directly or through an index. Owned by the frame. */
typedef struct axis {
  llmprof_trace *trace;
  size_t first, count;
  const uint32_t *index;
  const column_spec *specs;
} axis;

static const column_spec *find_spec(const axis *from, const char *name) {
  const column_spec *spec = from->specs;
  while (strcmp(spec->name, name) != 0) spec++;
  return spec;
}

static bool load_needs(llmprof_trace *trace, int needs, llmprof_error *err) {
  if (needs == NEEDS_DETAILS) return llmprof_trace_details(trace, err) != NULL;
  if (needs == NEEDS_ATTRIBUTION)
    return llmprof_trace_attribution(trace, err) != NULL;
  return true;
}

static bool load_column(llmprof_frame *frame, llmprof_column *column,
                        void *user, llmprof_error *err) {
  const axis *from = user;
  const column_spec *spec = find_spec(from, column->name);
  if (!load_needs(from->trace, spec->needs, err)) return false;
  bool wide = spec->type == LLMPROF_I64;
  void *data =
      llmprof_alloc(from->count, wide ? sizeof(int64_t) : sizeof(uint32_t));
  if (!data || !llmprof_frame_own(frame, data)) return llmprof_fail_nomem(err);
  int64_t *longs = data;
  uint32_t *shorts = data;
  for (size_t i = 0; i < from->count; i++) {
    int64_t value = spec->get(from->trace, from->first + i);
    if (wide)
      longs[i] = value;
    else
      shorts[i] = value == LLMPROF_ABSENT ? UINT32_MAX : (uint32_t)value;
  }
  column->data = data;
  column->index = from->index;
  return true;
}

/* Declare the axis's columns; specs end with an unnamed one. */
static bool add_columns(llmprof_frame *frame, const axis *wanted) {
  axis *kept = llmprof_memdup(wanted, sizeof *wanted);
  if (!kept || !llmprof_frame_own(frame, kept)) return false;
  for (const column_spec *spec = wanted->specs; spec->name; spec++) {
    llmprof_column column = {
        .name = spec->name, .unit = spec->unit, .type = spec->type};
    if (!llmprof_frame_add(frame, &column, load_column, kept)) return false;
  }
  return true;
}

static llmprof_frame *one_axis(const axis *rows, llmprof_error *err) {
  llmprof_frame *frame = llmprof_frame_new(rows->count, rows->trace->strings);
  if (frame && add_columns(frame, rows)) return frame;
  llmprof_frame_free(frame);
  return llmprof_fail_nomem(err), NULL;
}

static llmprof_frame *ops_frame(llmprof_trace *trace, int first_kind,
                                int end_kind, const column_spec *specs,
                                llmprof_error *err) {
  const llmprof_ops *ops = llmprof_trace_ops(trace, err);
  if (!ops) return NULL;
  uint32_t first = ops->first[first_kind];
  return one_axis(
      &(axis){trace, first, ops->first[end_kind] - first, NULL, specs}, err);
}

static llmprof_frame *kernels_frame(llmprof_trace *trace, llmprof_error *err) {
  return ops_frame(trace, LLMPROF_KERNEL, LLMPROF_COPY, kernel_columns, err);
}

static llmprof_frame *transfers_frame(llmprof_trace *trace,
                                      llmprof_error *err) {
  return ops_frame(trace, LLMPROF_COPY, LLMPROF_GRAPH, gpu_columns, err);
}

static llmprof_frame *graphs_frame(llmprof_trace *trace, llmprof_error *err) {
  return ops_frame(trace, LLMPROF_GRAPH, LLMPROF_OP_KINDS, gpu_columns, err);
}

static llmprof_frame *gpu_frame(llmprof_trace *trace, llmprof_error *err) {
  return ops_frame(trace, LLMPROF_KERNEL, LLMPROF_OP_KINDS, gpu_columns, err);
}

static llmprof_frame *api_frame(llmprof_trace *trace, llmprof_error *err) {
  const llmprof_calls *calls = llmprof_trace_calls(trace, err);
  if (!calls) return NULL;
  return one_axis(&(axis){trace, 0, calls->count, NULL, api_columns}, err);
}

static llmprof_frame *ranges_frame(llmprof_trace *trace, llmprof_error *err) {
  const llmprof_ranges *ranges = llmprof_trace_ranges(trace, err);
  if (!ranges) return NULL;
  return one_axis(&(axis){trace, 0, ranges->count, NULL, range_columns}, err);
}

static llmprof_frame *projections_frame(llmprof_trace *trace,
                                        llmprof_error *err) {
  size_t count;
  if (!llmprof_trace_projections(trace, &count, err)) return NULL;
  return one_axis(&(axis){trace, 0, count, NULL, projection_columns}, err);
}

/* ---- pairs of a kernel and a range around its launch ---- */

static size_t count_pairs(const llmprof_trace *trace) {
  const llmprof_attribution *a = &trace->attribution;
  size_t count = 0;
  for (size_t op = 0; op < trace->ops.first[LLMPROF_COPY]; op++) {
    uint32_t link = a->link[op];
    do {
      count++;
      if (link != LLMPROF_NONE) link = a->links[link].outer;
    } while (link != LLMPROF_NONE);
  }
  return count;
}

/* A kernel in no range makes one pair, with none. */
static void fill_pairs(const llmprof_trace *trace, uint32_t *ops,
                       uint32_t *ranges) {
  const llmprof_attribution *a = &trace->attribution;
  size_t at = 0;
  for (uint32_t op = 0; op < trace->ops.first[LLMPROF_COPY]; op++) {
    uint32_t link = a->link[op];
    do {
      ops[at] = op;
      ranges[at++] = link == LLMPROF_NONE ? LLMPROF_NONE : a->links[link].range;
      if (link != LLMPROF_NONE) link = a->links[link].outer;
    } while (link != LLMPROF_NONE);
  }
}

static llmprof_frame *pairs_frame(llmprof_trace *trace, llmprof_error *err) {
  if (!llmprof_trace_attribution(trace, err)) return NULL;
  size_t count = count_pairs(trace);
  llmprof_frame *frame = llmprof_frame_new(count, trace->strings);
  uint32_t *ops = llmprof_alloc(count, sizeof *ops);
  uint32_t *ranges = llmprof_alloc(count, sizeof *ranges);
  if (!frame || !ops || !ranges) {
    llmprof_free(ops);
    llmprof_free(ranges);
    llmprof_frame_free(frame);
    return llmprof_fail_nomem(err), NULL;
  }
  fill_pairs(trace, ops, ranges);
  bool owns_ops = llmprof_frame_own(frame, ops);
  bool owns_ranges = llmprof_frame_own(frame, ranges);
  axis kernels = {trace, 0, trace->ops.first[LLMPROF_COPY], ops,
                  pair_kernel_columns};
  axis around = {trace, 0, trace->ranges.count, ranges, pair_range_columns};
  if (owns_ops && owns_ranges && add_columns(frame, &kernels) &&
      add_columns(frame, &around))
    return frame;
  llmprof_frame_free(frame);
  return llmprof_fail_nomem(err), NULL;
}

/* ---- by name ---- */

static const struct {
  const char *name;
  llmprof_frame *(*make)(llmprof_trace *trace, llmprof_error *err);
} frames[] = {
    {"kernels", kernels_frame},
    {"transfers", transfers_frame},
    {"graphs", graphs_frame},
    {"gpu", gpu_frame},
    {"api", api_frame},
    {"ranges", ranges_frame},
    {"projections", projections_frame},
    {"kernel_ranges", pairs_frame},
};

const char *llmprof_trace_frame_name(size_t number) {
  return number < sizeof frames / sizeof *frames ? frames[number].name : NULL;
}

llmprof_frame *llmprof_trace_frame(llmprof_trace *trace, const char *name,
                                   llmprof_error *err) {
  for (size_t i = 0; i < sizeof frames / sizeof *frames; i++) {
    if (strcmp(frames[i].name, name) == 0) return frames[i].make(trace, err);
  }
  return llmprof_fail(err, LLMPROF_NOTFOUND, "no frame '%s'", name), NULL;
}

/* ---- labels ---- */

/* By link: the innermost range, from it outwards, whose tag is wanted. */
static void label_links(const llmprof_trace *trace, const uint32_t *tags,
                        size_t count, uint32_t *of_link) {
  const llmprof_attribution *a = &trace->attribution;
  for (size_t l = 0; l < a->link_count; l++) {
    uint32_t outer = a->links[l].outer, range = a->links[l].range;
    of_link[l] = outer == LLMPROF_NONE ? LLMPROF_NONE : of_link[outer];
    for (size_t i = 0; i < count; i++) {
      if (trace->ranges.tag[range] == tags[i] && tags[i] != LLMPROF_NO_STRING)
        of_link[l] = range;
    }
  }
}

/* By row of the frame, whose operations are in `ops`. */
static bool label_rows(llmprof_trace *trace, const llmprof_column *ops,
                       const char *const *tags, size_t count, uint32_t *labels,
                       size_t rows) {
  const llmprof_attribution *a = &trace->attribution;
  uint32_t *of_link = llmprof_alloc(a->link_count, sizeof *of_link);
  uint32_t *wanted = llmprof_alloc(count, sizeof *wanted);
  bool ok = of_link && wanted;
  if (ok) {
    for (size_t i = 0; i < count; i++)
      wanted[i] =
          llmprof_strings_find(trace->strings, tags[i], strlen(tags[i]));
    label_links(trace, wanted, count, of_link);
    for (size_t row = 0; row < rows; row++) {
      uint32_t link = a->link[llmprof_cell(ops, row)];
      labels[row] = link == LLMPROF_NONE ? LLMPROF_NONE : of_link[link];
    }
  }
  llmprof_free(of_link);
  llmprof_free(wanted);
  return ok;
}

static bool add_label(llmprof_frame *frame, const char *name,
                      const llmprof_trace *trace, const uint32_t *labels) {
  char range[80];
  snprintf(range, sizeof range, "%s_range", name);
  llmprof_column tag = {.name = name,
                        .type = LLMPROF_STRING,
                        .data = trace->ranges.tag,
                        .index = labels};
  llmprof_column row = {.name = range, .type = LLMPROF_U32, .data = labels};
  return llmprof_frame_add(frame, &tag, NULL, NULL) &&
         llmprof_frame_add(frame, &row, NULL, NULL);
}

bool llmprof_trace_label(llmprof_trace *trace, llmprof_frame *frame,
                         const char *name, const char *const *tags,
                         size_t count, llmprof_error *err) {
  size_t number = llmprof_frame_find(frame, "op");
  if (number == SIZE_MAX)
    return llmprof_fail(err, LLMPROF_UNSUPPORTED,
                        "only frames of GPU operations can be labelled");
  const llmprof_column *ops = llmprof_frame_column(frame, number, err);
  if (!ops || !llmprof_trace_attribution(trace, err)) return false;
  size_t rows = llmprof_frame_rows(frame);
  uint32_t *labels = llmprof_alloc(rows, sizeof *labels);
  if (!labels || !llmprof_frame_own(frame, labels))
    return llmprof_fail_nomem(err);
  return (label_rows(trace, ops, tags, count, labels, rows) &&
          add_label(frame, name, trace, labels)) ||
         llmprof_fail_nomem(err);
}

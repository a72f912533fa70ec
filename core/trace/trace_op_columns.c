/* Columns of GPU operations: what they are, the launch shape of kernels, and
 * the API call that launched them. */
#include "trace/trace_columns.h"

/* ---- operations ---- */

static int64_t op_start(const llmprof_trace *t, size_t row) {
  return t->ops.start[row];
}

static int64_t op_end(const llmprof_trace *t, size_t row) {
  return t->ops.end[row];
}

static int64_t op_duration(const llmprof_trace *t, size_t row) {
  return llmprof_between(t->ops.start[row], t->ops.end[row]);
}

static int64_t op_name(const llmprof_trace *t, size_t row) {
  return llmprof_widen(t->ops.name[row]);
}

static int64_t op_correlation(const llmprof_trace *t, size_t row) {
  return llmprof_widen(t->ops.correlation[row]);
}

static int64_t op_bytes(const llmprof_trace *t, size_t row) {
  uint32_t first = t->ops.first[LLMPROF_COPY];
  return row < first ? LLMPROF_ABSENT : t->ops.bytes[row - first];
}

static int64_t op_kind(const llmprof_trace *t, size_t row) {
  size_t kind = LLMPROF_KERNEL;
  while (row >= t->ops.first[kind + 1]) kind++;
  return t->words.kind[kind];
}

static int64_t op_direction(const llmprof_trace *t, size_t row) {
  uint32_t first = t->ops.first[LLMPROF_COPY];
  if (row < first) return LLMPROF_ABSENT;
  return llmprof_widen(t->words.direction[t->ops.copy_kind[row - first]]);
}

static int64_t op_host_memory(const llmprof_trace *t, size_t row) {
  uint32_t first = t->ops.first[LLMPROF_COPY];
  if (row < first) return LLMPROF_ABSENT;
  return llmprof_widen(t->words.host_memory[t->ops.host_memory[row - first]]);
}

static const llmprof_place *place(const llmprof_trace *t, size_t row) {
  return llmprof_intern_get(&t->places, t->ops.place[row]);
}

static int64_t op_device(const llmprof_trace *t, size_t row) {
  return llmprof_widen(place(t, row)->device);
}

static int64_t op_context(const llmprof_trace *t, size_t row) {
  return llmprof_widen(place(t, row)->context);
}

static int64_t op_stream(const llmprof_trace *t, size_t row) {
  return llmprof_widen(place(t, row)->stream);
}

static int64_t op_pid(const llmprof_trace *t, size_t row) {
  uint32_t process = place(t, row)->process;
  return process == LLMPROF_NONE ? LLMPROF_ABSENT
                                 : (int64_t)t->processes[process].pid;
}

/* ---- details of kernels ---- */

static int64_t kernel_short_name(const llmprof_trace *t, size_t row) {
  return llmprof_widen(t->details.short_name[row]);
}

static int64_t kernel_mangled_name(const llmprof_trace *t, size_t row) {
  return llmprof_widen(t->details.mangled_name[row]);
}

static int64_t kernel_graph_node(const llmprof_trace *t, size_t row) {
  return t->details.graph_node ? t->details.graph_node[row] : LLMPROF_ABSENT;
}

static const llmprof_shape *shape(const llmprof_trace *t, size_t row) {
  return llmprof_intern_get(&t->shapes, t->details.shape[row]);
}

static int64_t kernel_grid_x(const llmprof_trace *t, size_t row) {
  return llmprof_widen(shape(t, row)->grid[0]);
}

static int64_t kernel_grid_y(const llmprof_trace *t, size_t row) {
  return llmprof_widen(shape(t, row)->grid[1]);
}

static int64_t kernel_grid_z(const llmprof_trace *t, size_t row) {
  return llmprof_widen(shape(t, row)->grid[2]);
}

static int64_t kernel_block_x(const llmprof_trace *t, size_t row) {
  return llmprof_widen(shape(t, row)->block[0]);
}

static int64_t kernel_block_y(const llmprof_trace *t, size_t row) {
  return llmprof_widen(shape(t, row)->block[1]);
}

static int64_t kernel_block_z(const llmprof_trace *t, size_t row) {
  return llmprof_widen(shape(t, row)->block[2]);
}

static int64_t kernel_registers(const llmprof_trace *t, size_t row) {
  return llmprof_widen(shape(t, row)->registers);
}

static int64_t kernel_static_shared(const llmprof_trace *t, size_t row) {
  return llmprof_widen(shape(t, row)->static_shared);
}

static int64_t kernel_dynamic_shared(const llmprof_trace *t, size_t row) {
  return llmprof_widen(shape(t, row)->dynamic_shared);
}

/* ---- the call that launched an operation ---- */

static uint32_t launch_thread(const llmprof_trace *t, size_t row) {
  uint32_t call = t->attribution.call[row];
  return call == LLMPROF_NONE ? LLMPROF_NONE : t->calls.thread[call];
}

static int64_t launch_call(const llmprof_trace *t, size_t row) {
  return llmprof_widen(t->attribution.call[row]);
}

static int64_t launch_api(const llmprof_trace *t, size_t row) {
  uint32_t call = t->attribution.call[row];
  return call == LLMPROF_NONE ? LLMPROF_ABSENT
                              : llmprof_widen(t->calls.name[call]);
}

static int64_t launch_pid(const llmprof_trace *t, size_t row) {
  return llmprof_thread_pid(t, launch_thread(t, row));
}

static int64_t launch_tid(const llmprof_trace *t, size_t row) {
  return llmprof_thread_tid(t, launch_thread(t, row));
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
  return llmprof_between(launch_start(t, row), launch_end(t, row));
}

/* Absent when the operation started before the call returned. */
static int64_t launch_queue(const llmprof_trace *t, size_t row) {
  int64_t wait = llmprof_between(launch_end(t, row), t->ops.start[row]);
  return wait >= 0 ? wait : LLMPROF_ABSENT;
}

static int64_t launch_total(const llmprof_trace *t, size_t row) {
  int64_t end = launch_end(t, row);
  if (t->ops.end[row] > end) end = t->ops.end[row];
  return llmprof_between(launch_start(t, row), end);
}

/* From the launching call to the start; negative where clocks disagree. */
static int64_t launch_delay(const llmprof_trace *t, size_t row) {
  return llmprof_between(launch_start(t, row), t->ops.start[row]);
}

static int64_t launch_range(const llmprof_trace *t, size_t row) {
  uint32_t link = t->attribution.link[row];
  return link == LLMPROF_NONE ? LLMPROF_ABSENT
                              : (int64_t)t->attribution.links[link].range;
}

static int64_t launch_tag(const llmprof_trace *t, size_t row) {
  int64_t range = launch_range(t, row);
  return range == LLMPROF_ABSENT ? range : llmprof_widen(t->ranges.tag[range]);
}

/* ---- the tables ---- */

#define OPERATION_COLUMNS                                                  \
  {"op", NULL, LLMPROF_U32, llmprof_row_number, NEEDS_NOTHING},            \
      {"name", NULL, LLMPROF_STRING_ID, op_name, NEEDS_NOTHING},           \
      {"start", "ns", LLMPROF_I64, op_start, NEEDS_NOTHING},               \
      {"end", "ns", LLMPROF_I64, op_end, NEEDS_NOTHING},                   \
      {"duration", "ns", LLMPROF_I64, op_duration, NEEDS_NOTHING},         \
      {"device", NULL, LLMPROF_U32, op_device, NEEDS_NOTHING},             \
      {"context", NULL, LLMPROF_U32, op_context, NEEDS_NOTHING},           \
      {"stream", NULL, LLMPROF_U32, op_stream, NEEDS_NOTHING},             \
      {"pid", NULL, LLMPROF_U32, op_pid, NEEDS_NOTHING},                   \
      {"correlation", NULL, LLMPROF_U32, op_correlation, NEEDS_NOTHING},   \
      {"call", NULL, LLMPROF_U32, launch_call, NEEDS_ATTRIBUTION},         \
      {"api", NULL, LLMPROF_STRING_ID, launch_api, NEEDS_ATTRIBUTION},     \
      {"api_start", "ns", LLMPROF_I64, launch_start, NEEDS_ATTRIBUTION},   \
      {"api_end", "ns", LLMPROF_I64, launch_end, NEEDS_ATTRIBUTION},       \
      {"api_time", "ns", LLMPROF_I64, launch_time, NEEDS_ATTRIBUTION},     \
      {"queue_time", "ns", LLMPROF_I64, launch_queue, NEEDS_ATTRIBUTION},  \
      {"launch_time", "ns", LLMPROF_I64, launch_total, NEEDS_ATTRIBUTION}, \
      {"delay", "ns", LLMPROF_I64, launch_delay, NEEDS_ATTRIBUTION},       \
      {"launch_pid", NULL, LLMPROF_U32, launch_pid, NEEDS_ATTRIBUTION},    \
      {"launch_tid", NULL, LLMPROF_U32, launch_tid, NEEDS_ATTRIBUTION},    \
      {"range", NULL, LLMPROF_U32, launch_range, NEEDS_ATTRIBUTION}, {     \
    "tag", NULL, LLMPROF_STRING_ID, launch_tag, NEEDS_ATTRIBUTION          \
  }

const llmprof_column_spec llmprof_gpu_columns[] = {
    OPERATION_COLUMNS,
    {"kind", NULL, LLMPROF_STRING_ID, op_kind, NEEDS_NOTHING},
    {"bytes", "bytes", LLMPROF_I64, op_bytes, NEEDS_NOTHING},
    {"direction", NULL, LLMPROF_STRING_ID, op_direction, NEEDS_NOTHING},
    {"host_memory", NULL, LLMPROF_STRING_ID, op_host_memory, NEEDS_NOTHING},
    {0},
};

const llmprof_column_spec llmprof_kernel_columns[] = {
    OPERATION_COLUMNS,
    {"short_name", NULL, LLMPROF_STRING_ID, kernel_short_name, NEEDS_DETAILS},
    {"mangled_name", NULL, LLMPROF_STRING_ID, kernel_mangled_name,
     NEEDS_DETAILS},
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

/* Of pairs: from the kernel, and from the range. */
const llmprof_column_spec llmprof_pair_kernel_columns[] = {
    {"kernel", NULL, LLMPROF_U32, llmprof_row_number, NEEDS_NOTHING},
    {"name", NULL, LLMPROF_STRING_ID, op_name, NEEDS_NOTHING},
    {"duration", "ns", LLMPROF_I64, op_duration, NEEDS_NOTHING},
    {"pid", NULL, LLMPROF_U32, launch_pid, NEEDS_ATTRIBUTION},
    {"tid", NULL, LLMPROF_U32, launch_tid, NEEDS_ATTRIBUTION},
    {0},
};

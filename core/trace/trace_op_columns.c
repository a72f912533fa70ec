/* Columns of GPU operations: what they are, the launch shape of kernels, and
 * the API call that launched them. */
#include "llmprof/trace_builder.h"
#include "trace/trace_columns.h"

/* ---- operations ---- */

static int64_t op_duration(const llmprof_trace *t, size_t row) {
  return llmprof_between(t->ops.start[row], llmprof_op_end(t, row));
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

/* ---- where operations ran, by place ---- */

static const llmprof_place *place(const llmprof_trace *t, size_t number) {
  return llmprof_intern_get(&t->places, (uint32_t)number);
}

static int64_t place_device(const llmprof_trace *t, size_t number) {
  return llmprof_widen(place(t, number)->device);
}

static int64_t place_context(const llmprof_trace *t, size_t number) {
  return llmprof_widen(place(t, number)->context);
}

static int64_t place_stream(const llmprof_trace *t, size_t number) {
  return llmprof_widen(place(t, number)->stream);
}

static int64_t place_pid(const llmprof_trace *t, size_t number) {
  uint32_t process = place(t, number)->process;
  return process == LLMPROF_NONE ? LLMPROF_ABSENT
                                 : (int64_t)t->processes[process].pid;
}

/* ---- what twins have in common ---- */

static int64_t twin_name(const llmprof_trace *t, size_t number) {
  return llmprof_widen(llmprof_twin_at(t, number)->name);
}

static int64_t twin_api(const llmprof_trace *t, size_t number) {
  return llmprof_widen(llmprof_twin_at(t, number)->api);
}

#define TWIN(name, field, getter)                                     \
  static int64_t twin_##name(const llmprof_trace *t, size_t number) { \
    return getter(t, llmprof_twin_at(t, number)->field);              \
  }
TWIN(device, place, place_device)
TWIN(context, place, place_context)
TWIN(stream, place, place_stream)
TWIN(pid, place, place_pid)
TWIN(launch_pid, thread, llmprof_thread_pid)
TWIN(launch_tid, thread, llmprof_thread_tid)

/* ---- details of kernels ---- */

static int64_t kernel_graph_node(const llmprof_trace *t, size_t row) {
  return t->details.graph_node ? t->details.graph_node[row] : LLMPROF_ABSENT;
}

/* ---- the shapes of launches ---- */

static const llmprof_shape *shape(const llmprof_trace *t, size_t number) {
  return llmprof_intern_get(&t->shapes, (uint32_t)number);
}

#define SHAPE(name, field)                                             \
  static int64_t shape_##name(const llmprof_trace *t, size_t number) { \
    return llmprof_widen(shape(t, number)->field);                     \
  }
SHAPE(grid_x, grid[0])
SHAPE(grid_y, grid[1])
SHAPE(grid_z, grid[2])
SHAPE(block_x, block[0])
SHAPE(block_y, block[1])
SHAPE(block_z, block[2])
SHAPE(registers, registers)
SHAPE(static_shared, static_shared)
SHAPE(dynamic_shared, dynamic_shared)

/* ---- the call that launched an operation ---- */

static int64_t launch_thread(const llmprof_trace *t, size_t row) {
  return llmprof_widen(llmprof_launch_thread(t, row));
}

static int64_t launch_time(const llmprof_trace *t, size_t row) {
  return llmprof_between(llmprof_launch_start(t, row),
                         llmprof_launch_end(t, row));
}

/* From the launching call to the start; negative where clocks disagree. */
static int64_t launch_delay(const llmprof_trace *t, size_t row) {
  if (llmprof_narrow_is_near(t)) return llmprof_near_delay(t, row);
  return llmprof_between(llmprof_launch_start(t, row), t->ops.start[row]);
}

/* The same from its end. */
static int64_t launch_wait(const llmprof_trace *t, size_t row) {
  if (!llmprof_narrow_is_near(t))
    return llmprof_between(llmprof_launch_end(t, row), t->ops.start[row]);
  int64_t delay = llmprof_near_delay(t, row);
  return delay == LLMPROF_ABSENT ? delay : delay - t->narrow.launched.took[row];
}

/* Absent when the operation started before the call returned. */
static int64_t launch_queue(const llmprof_trace *t, size_t row) {
  int64_t wait = launch_wait(t, row);
  return wait >= 0 ? wait : LLMPROF_ABSENT;
}

static int64_t near_total(const llmprof_trace *t, size_t row) {
  int64_t delay = llmprof_near_delay(t, row);
  if (delay == LLMPROF_ABSENT) return delay;
  int64_t took = t->narrow.launched.took[row];
  int64_t total = delay + t->narrow.op_duration[row];
  return total > took ? total : took;
}

static int64_t launch_total(const llmprof_trace *t, size_t row) {
  if (llmprof_narrow_is_near(t)) return near_total(t, row);
  int64_t end = llmprof_launch_end(t, row);
  if (llmprof_op_end(t, row) > end) end = llmprof_op_end(t, row);
  return llmprof_between(llmprof_launch_start(t, row), end);
}

/* ---- the ranges around it, by link ---- */

static int64_t link_range(const llmprof_trace *t, size_t number) {
  return t->attribution.links[number].range;
}

static int64_t link_tag(const llmprof_trace *t, size_t number) {
  return llmprof_widen(t->ranges.tag[link_range(t, number)]);
}

static int64_t link_colon_tag(const llmprof_trace *t, size_t number) {
  return llmprof_widen(t->ranges.colon_tag[link_range(t, number)]);
}

static int64_t link_style(const llmprof_trace *t, size_t number) {
  return t->ranges.style[link_range(t, number)];
}

/* ---- the tables ---- */

#define OF_PLACE(name)                                                         \
  {                                                                            \
#name, NULL, LLMPROF_U32, .index = AT(ops.place),                          \
                              .domain = AT(places.count), .get = place_##name, \
                              .twin = twin_##name                              \
  }
#define OF_SHAPE(name, unit, getter)                                   \
  {                                                                    \
    name, unit, LLMPROF_U32, .needs = NEEDS_DETAILS,                   \
                             .index = AT(details.shape),               \
                             .domain = AT(shapes.count), .get = getter \
  }
#define OF_LINK(name, type, getter)                                        \
  {                                                                        \
    name, NULL, type, .needs = NEEDS_LINKS, .index = AT(attribution.link), \
                      .domain = AT(attribution.link_count), .get = getter  \
  }

#define OP_DURATION                                                   \
  {                                                                   \
    "duration", "ns", LLMPROF_I64, .shorts = AT(narrow.op_duration),  \
                                   .get = op_duration, .shared = true \
  }

#define BY_LAUNCH(name, what)                                                  \
  {                                                                            \
    name, NULL, LLMPROF_U32,                                                   \
        .needs = NEEDS_ATTRIBUTION, .by = launch_thread,                       \
        .numbers = AT(narrow.launched.thread), .domain = AT(thread_ids.count), \
        .get = llmprof_thread_##what, .twin = twin_launch_##what               \
  }
#define OP_NAME \
  { "name", NULL, LLMPROF_STRING_ID, .array = AT(ops.name), .twin = twin_name }

#define OP_END                                                             \
  {                                                                        \
    "end", "ns", LLMPROF_I64, .array = AT(ops.end), .from = AT(ops.start), \
                              .took = AT(narrow.op_duration)               \
  }

#define OPERATION_COLUMNS                                                 \
  {"op", NULL, LLMPROF_U32, .get = llmprof_row_number}, OP_NAME,          \
      {"start", "ns", LLMPROF_I64, .array = AT(ops.start)}, OP_END,       \
      OP_DURATION, OF_PLACE(device), OF_PLACE(context), OF_PLACE(stream), \
      OF_PLACE(pid),                                                      \
      {"correlation", NULL, LLMPROF_U32, .array = AT(ops.correlation)},   \
      {"call", NULL, LLMPROF_U32, .needs = NEEDS_ATTRIBUTION,             \
       .array = AT(attribution.call)},                                    \
      {"api",                                                             \
       NULL,                                                              \
       LLMPROF_STRING_ID,                                                 \
       .needs = NEEDS_ATTRIBUTION,                                        \
       .array = AT(calls.name),                                           \
       .index = AT(attribution.call),                                     \
       .twin = twin_api},                                                 \
      {"api_start",                                                       \
       "ns",                                                              \
       LLMPROF_I64,                                                       \
       .needs = NEEDS_ATTRIBUTION,                                        \
       .array = AT(calls.start),                                          \
       .index = AT(attribution.call),                                     \
       .get = llmprof_launch_start},                                      \
      {"api_end",                                                         \
       "ns",                                                              \
       LLMPROF_I64,                                                       \
       .needs = NEEDS_ATTRIBUTION,                                        \
       .array = AT(calls.end),                                            \
       .from = AT(calls.start),                                           \
       .took = AT(narrow.call_duration),                                  \
       .index = AT(attribution.call),                                     \
       .get = llmprof_launch_end},                                        \
      {"api_time",                                                        \
       "ns",                                                              \
       LLMPROF_I64,                                                       \
       .needs = NEEDS_ATTRIBUTION,                                        \
       .near = AT(narrow.launched.took),                                  \
       .get = launch_time},                                               \
      {"queue_time", "ns", LLMPROF_I64, .needs = NEEDS_ATTRIBUTION,       \
       .get = launch_queue},                                              \
      {"launch_time", "ns", LLMPROF_I64, .needs = NEEDS_ATTRIBUTION,      \
       .get = launch_total},                                              \
      {"delay", "ns", LLMPROF_I64, .needs = NEEDS_ATTRIBUTION,            \
       .get = launch_delay},                                              \
      BY_LAUNCH("launch_pid", pid), BY_LAUNCH("launch_tid", tid),         \
      OF_LINK("range", LLMPROF_U32, link_range),                          \
      OF_LINK("tag", LLMPROF_STRING_ID, link_tag)

const llmprof_column_spec llmprof_gpu_columns[] = {
    OPERATION_COLUMNS,
    {"kind", NULL, LLMPROF_STRING_ID, .get = op_kind, .shared = true},
    {"bytes", "bytes", LLMPROF_I64, .get = op_bytes},
    {"direction", NULL, LLMPROF_STRING_ID, .get = op_direction},
    {"host_memory", NULL, LLMPROF_STRING_ID, .get = op_host_memory},
    {0},
};

const llmprof_column_spec llmprof_kernel_columns[] = {
    OPERATION_COLUMNS,
    {"short_name", NULL, LLMPROF_STRING_ID, .needs = NEEDS_DETAILS,
     .array = AT(details.short_name), .of_name = AT(narrow.names.short_of)},
    {"mangled_name", NULL, LLMPROF_STRING_ID, .needs = NEEDS_DETAILS,
     .array = AT(details.mangled_name), .of_name = AT(narrow.names.mangled_of)},
    OF_SHAPE("grid_x", NULL, shape_grid_x),
    OF_SHAPE("grid_y", NULL, shape_grid_y),
    OF_SHAPE("grid_z", NULL, shape_grid_z),
    OF_SHAPE("block_x", NULL, shape_block_x),
    OF_SHAPE("block_y", NULL, shape_block_y),
    OF_SHAPE("block_z", NULL, shape_block_z),
    OF_SHAPE("registers", NULL, shape_registers),
    OF_SHAPE("static_shared", "bytes", shape_static_shared),
    OF_SHAPE("dynamic_shared", "bytes", shape_dynamic_shared),
    {"graph_node", NULL, LLMPROF_I64, .needs = NEEDS_DETAILS,
     .get = kernel_graph_node},
    {0},
};

/* Of pairs: from the kernel, and from the range. */
#define PAIR_KERNEL_COLUMNS                                          \
  {"kernel", NULL, LLMPROF_U32, .get = llmprof_row_number}, OP_NAME, \
      OP_DURATION, BY_LAUNCH("pid", pid), BY_LAUNCH("tid", tid)

const llmprof_column_spec llmprof_pair_kernel_columns[] = {
    PAIR_KERNEL_COLUMNS,
    {0},
};

const llmprof_column_spec llmprof_single_pair_columns[] = {
    PAIR_KERNEL_COLUMNS,
    OF_LINK("range", LLMPROF_U32, link_range),
    OF_LINK("tag", LLMPROF_STRING_ID, link_tag),
    OF_LINK("colon_tag", LLMPROF_STRING_ID, link_colon_tag),
    OF_LINK("style", LLMPROF_U32, link_style),
    {0},
};

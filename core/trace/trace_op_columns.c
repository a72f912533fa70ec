/* Columns of GPU operations: what they are, the launch shape of kernels, and
 * the API call that launched them. */
#include "llmprof/trace_builder.h"
#include "trace/trace_columns.h"

/* ---- operations ---- */

static int64_t op_kind(const llmprof_trace *t, size_t row) {
  size_t kind = LLMPROF_KERNEL;
  while (row >= t->ops.first[kind + 1]) kind++;
  return t->words.kind[kind];
}

static int64_t direction(const llmprof_trace *t, size_t copy_kind) {
  return llmprof_widen(t->words.direction[copy_kind]);
}

static int64_t host_memory(const llmprof_trace *t, size_t kind) {
  return llmprof_widen(t->words.host_memory[kind]);
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

/* ---- times, from those of an operation and of the call that launched it ----
 */

/* From the start of the call; negative where clocks disagree. */
static void delays(const int64_t *const *in, size_t count, int64_t *out) {
  for (size_t i = 0; i < count; i++)
    out[i] = llmprof_between(in[0][i], in[1][i]);
}

/* From the end of the call, its start and duration; absent when the operation
 * started before the call returned. */
static void queue_times(const int64_t *const *in, size_t count, int64_t *out) {
  for (size_t i = 0; i < count; i++) {
    int64_t end = llmprof_end_of(in[0][i], in[1][i]);
    int64_t wait = llmprof_between(end, in[2][i]);
    out[i] = wait >= 0 ? wait : LLMPROF_ABSENT;
  }
}

/* From the start of the call to the later of two ends. */
static void launch_times(const int64_t *const *in, size_t count, int64_t *out) {
  for (size_t i = 0; i < count; i++) {
    int64_t end = llmprof_end_of(in[0][i], in[1][i]);
    int64_t op_end = llmprof_end_of(in[2][i], in[3][i]);
    out[i] = llmprof_between(in[0][i], op_end > end ? op_end : end);
  }
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

#define OF_PLACE(name)                                       \
  {                                                          \
#name, NULL, LLMPROF_U32,                                \
        .in = {{.of = AT(ops.place) } }, .get = place_##name \
  }
#define OF_SHAPE(name, unit, getter)                                          \
  {                                                                           \
    name, unit, LLMPROF_U32, .needs = NEEDS_DETAILS,                          \
                             .in = {{.of = AT(details.shape)}}, .get = getter \
  }
#define OF_LINK(name, type, getter)                                        \
  {                                                                        \
    name, NULL, type, .needs = NEEDS_LINKS, .index = AT(attribution.link), \
                      .domain = AT(attribution.link_count), .get = getter  \
  }

/* What a call has that launched it. */
#define LAUNCH(column) \
  { AT(calls.column), .key = AT(attribution.call) }
#define OF_LAUNCH(name, unit, type, column)                                \
  {                                                                        \
    name, unit, type, .needs = NEEDS_ATTRIBUTION, .in = { LAUNCH(column) } \
  }
#define OF_LAUNCHER(name, what)                           \
  {                                                       \
    name, NULL, LLMPROF_U32, .needs = NEEDS_ATTRIBUTION,  \
                             .in = {LAUNCH(thread)},      \
                             .get = llmprof_thread_##what \
  }

#define OP_NAME                                                     \
  {                                                                 \
    "name", NULL, LLMPROF_STRING_ID, .in = { {.of = AT(ops.name)} } \
  }

#define OP_DURATION                                                   \
  {                                                                   \
    "duration", "ns", LLMPROF_I64, .in = { {.of = AT(ops.duration)} } \
  }

#define OPERATION_COLUMNS                                                      \
  {"op", NULL, LLMPROF_U32, .get = llmprof_row_number}, OP_NAME,               \
      {"start", "ns", LLMPROF_I64, .in = {{.of = AT(ops.start)}}},             \
      {"end", "ns", LLMPROF_I64, .function = llmprof_ends,                     \
       .in = {{.of = AT(ops.start)}, {.of = AT(ops.duration)}}},               \
      OP_DURATION, OF_PLACE(device), OF_PLACE(context), OF_PLACE(stream),      \
      OF_PLACE(pid),                                                           \
      {"correlation", NULL, LLMPROF_U32, .in = {{.of = AT(ops.correlation)}}}, \
      {"call", NULL, LLMPROF_U32, .needs = NEEDS_ATTRIBUTION,                  \
       .in = {{.of = AT(attribution.call)}}},                                  \
      OF_LAUNCH("api", NULL, LLMPROF_STRING_ID, name),                         \
      OF_LAUNCH("api_start", "ns", LLMPROF_I64, start),                        \
      {"api_end",                                                              \
       "ns",                                                                   \
       LLMPROF_I64,                                                            \
       .needs = NEEDS_ATTRIBUTION,                                             \
       .function = llmprof_ends,                                               \
       .in = {LAUNCH(start), LAUNCH(duration)}},                               \
      OF_LAUNCH("api_time", "ns", LLMPROF_I64, duration),                      \
      {"queue_time",                                                           \
       "ns",                                                                   \
       LLMPROF_I64,                                                            \
       .needs = NEEDS_ATTRIBUTION,                                             \
       .function = queue_times,                                                \
       .in = {LAUNCH(start), LAUNCH(duration), {.of = AT(ops.start)}}},        \
      {"launch_time",                                                          \
       "ns",                                                                   \
       LLMPROF_I64,                                                            \
       .needs = NEEDS_ATTRIBUTION,                                             \
       .function = launch_times,                                               \
       .in = {LAUNCH(start),                                                   \
              LAUNCH(duration),                                                \
              {.of = AT(ops.start)},                                           \
              {.of = AT(ops.duration)}}},                                      \
      {"delay",                                                                \
       "ns",                                                                   \
       LLMPROF_I64,                                                            \
       .needs = NEEDS_ATTRIBUTION,                                             \
       .function = delays,                                                     \
       .in = {LAUNCH(start), {.of = AT(ops.start)}}},                          \
      OF_LAUNCHER("launch_pid", pid), OF_LAUNCHER("launch_tid", tid),          \
      OF_LINK("range", LLMPROF_U32, link_range),                               \
      OF_LINK("tag", LLMPROF_STRING_ID, link_tag)

const llmprof_column_spec llmprof_gpu_columns[] = {
    OPERATION_COLUMNS,
    {"kind", NULL, LLMPROF_STRING_ID, .get = op_kind},
    {"bytes", "bytes", LLMPROF_I64, .in = {{.of = AT(ops.bytes)}}},
    {"direction", NULL, LLMPROF_STRING_ID, .in = {{.of = AT(ops.copy_kind)}},
     .get = direction},
    {"host_memory", NULL, LLMPROF_STRING_ID,
     .in = {{.of = AT(ops.host_memory)}}, .get = host_memory},
    {0},
};

const llmprof_column_spec llmprof_kernel_columns[] = {
    OPERATION_COLUMNS,
    {"short_name", NULL, LLMPROF_STRING_ID, .needs = NEEDS_DETAILS,
     .in = {{.of = AT(details.short_name)}}},
    {"mangled_name", NULL, LLMPROF_STRING_ID, .needs = NEEDS_DETAILS,
     .in = {{.of = AT(details.mangled_name)}}},
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
     .in = {{.of = AT(details.graph_node)}}},
    {0},
};

/* Of pairs: from the kernel, and from the range. */
#define PAIR_KERNEL_COLUMNS                                          \
  {"kernel", NULL, LLMPROF_U32, .get = llmprof_row_number}, OP_NAME, \
      OP_DURATION, OF_LAUNCHER("pid", pid), OF_LAUNCHER("tid", tid)

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

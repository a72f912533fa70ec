/* Columns of GPU operations: what they are, the launch shape of kernels, and
 * the API call that launched them. */
#include "llmprof/trace_builder.h"
#include "trace/trace_columns.h"
#include "trace/trace_events.h"

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
  return llmprof_intern_get(&t->rows[LLMPROF_PLACES], (uint32_t)number);
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
                                 : (int64_t)llmprof_process_at(t, process)->pid;
}

/* ---- the shapes of launches ---- */

static const llmprof_shape *shape(const llmprof_trace *t, size_t number) {
  return llmprof_intern_get(&t->rows[LLMPROF_SHAPES], (uint32_t)number);
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

/* ---- where in the program, by stack ---- */

static int64_t stack_module(const llmprof_trace *t, size_t stack) {
  return llmprof_widen(llmprof_trace_source_module(t, stack));
}

static int64_t stack_line(const llmprof_trace *t, size_t stack) {
  const llmprof_stack_frame *line = llmprof_trace_source_line(t, stack);
  return line ? llmprof_widen(line->module) : LLMPROF_ABSENT;
}

static int64_t stack_function(const llmprof_trace *t, size_t stack) {
  const llmprof_stack_frame *line = llmprof_trace_source_line(t, stack);
  return line ? llmprof_widen(line->function) : LLMPROF_ABSENT;
}

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

/* ---- the tables ---- */

#define I64  LLMPROF_I64
#define U32  LLMPROF_U32
#define TEXT LLMPROF_STRING_ID
#define OF(c) \
  { .of = AT(c) }

/* Of the call that launched it; of the range around that. */
#define CALL(c) \
  { .of = AT(calls.c), .key = AT(attribution.call) }
#define RANGE(c) \
  { AT(ranges.c), AT(attribution.range), AT(attribution.link) }

#define PLACE(field) \
  { #field, NULL, U32, .in = {OF(ops.place) }, .get = place_##field }
#define SHAPE_OF(field, unit) \
  { #field, unit, U32, .in = {OF(details.shape) }, .get = shape_##field }

#define OPERATION_COLUMNS                                                    \
  {.name = "op", .type = U32}, {"name", NULL, TEXT, .in = {OF(ops.name)}},   \
      {"start", "ns", I64, .in = {OF(ops.start)}},                           \
      {"end", "ns", I64, .in = {OF(ops.start), OF(ops.duration)},            \
       .function = llmprof_ends},                                            \
      {"duration", "ns", I64, .in = {OF(ops.duration)}}, PLACE(device),      \
      PLACE(context), PLACE(stream), PLACE(pid),                             \
      {"correlation", NULL, U32, .in = {OF(ops.correlation)}},               \
      {"call", NULL, U32, .in = {OF(attribution.call)}},                     \
      {"api", NULL, TEXT, .in = {CALL(name)}},                               \
      {"api_start", "ns", I64, .in = {CALL(start)}},                         \
      {"api_end", "ns", I64, .in = {CALL(start), CALL(duration)},            \
       .function = llmprof_ends},                                            \
      {"api_time", "ns", I64, .in = {CALL(duration)}},                       \
      {"queue_time", "ns", I64,                                              \
       .in = {CALL(start), CALL(duration), OF(ops.start)},                   \
       .function = queue_times},                                             \
      {"launch_time", "ns", I64,                                             \
       .in = {CALL(start), CALL(duration), OF(ops.start), OF(ops.duration)}, \
       .function = launch_times},                                            \
      {"delay", "ns", I64, .in = {CALL(start), OF(ops.start)},               \
       .function = delays},                                                  \
      {"launch_pid", NULL, U32, .in = {CALL(thread)},                        \
       .get = llmprof_thread_pid},                                           \
      {"launch_tid", NULL, U32, .in = {CALL(thread)},                        \
       .get = llmprof_thread_tid},                                           \
      {"stack", NULL, U32, .in = {OF(op_stacks.stack)}},                     \
      {"line", NULL, TEXT, .in = {OF(op_stacks.stack)}, .get = stack_line},  \
      {"function", NULL, TEXT, .in = {OF(op_stacks.stack)},                  \
       .get = stack_function},                                               \
      {"torch_module", NULL, TEXT, .in = {OF(op_stacks.stack)},              \
       .get = stack_module},                                                 \
      {"range", NULL, U32,                                                   \
       .in = {{.of = AT(attribution.range), .key = AT(attribution.link)}}},  \
  {                                                                          \
    "tag", NULL, TEXT, .in = { RANGE(tag) }                                  \
  }

const llmprof_column_spec llmprof_gpu_columns[] = {
    OPERATION_COLUMNS,
    {"kind", NULL, TEXT, .get = op_kind},
    {"bytes", "bytes", I64, .in = {OF(ops.bytes)}},
    {"direction", NULL, TEXT, .in = {OF(ops.copy_kind)}, .get = direction},
    {"host_memory", NULL, TEXT, .in = {OF(ops.host_memory)},
     .get = host_memory},
    {0},
};

const llmprof_column_spec llmprof_kernel_columns[] = {
    OPERATION_COLUMNS,
    {"short_name", NULL, TEXT, .in = {OF(details.short_name)}},
    {"mangled_name", NULL, TEXT, .in = {OF(details.mangled_name)}},
    {"shape", NULL, U32, .in = {OF(details.shape)}}, /* that of all these */
    SHAPE_OF(grid_x, NULL),
    SHAPE_OF(grid_y, NULL),
    SHAPE_OF(grid_z, NULL),
    SHAPE_OF(block_x, NULL),
    SHAPE_OF(block_y, NULL),
    SHAPE_OF(block_z, NULL),
    SHAPE_OF(registers, NULL),
    SHAPE_OF(static_shared, "bytes"),
    SHAPE_OF(dynamic_shared, "bytes"),
    {"graph_node", NULL, I64, .in = {OF(details.graph_node)}},
    {0},
};

const llmprof_column_spec llmprof_pair_kernel_columns[] = {
    {.name = "kernel", .type = U32},
    {"name", NULL, TEXT, .in = {OF(ops.name)}},
    {"duration", "ns", I64, .in = {OF(ops.duration)}},
    {"pid", NULL, U32, .in = {CALL(thread)}, .get = llmprof_thread_pid},
    {"tid", NULL, U32, .in = {CALL(thread)}, .get = llmprof_thread_tid},
    {0},
};

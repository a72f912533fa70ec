/* Columns of API calls, NVTX ranges and their projections onto the GPU, of
 * hardware samples, and of samples of the CPU. */
#include "llmprof/trace_builder.h"
#include "trace/trace_columns.h"

void llmprof_ends(const int64_t *const *in, size_t count, int64_t *out) {
  for (size_t i = 0; i < count; i++)
    out[i] = llmprof_end_of(in[0][i], in[1][i]);
}

/* Of starts and ends. */
static void betweens(const int64_t *const *in, size_t count, int64_t *out) {
  for (size_t i = 0; i < count; i++)
    out[i] = llmprof_between(in[0][i], in[1][i]);
}

#define I64  LLMPROF_I64
#define U32  LLMPROF_U32
#define TEXT LLMPROF_STRING_ID
#define OF(c) \
  { .of = AT(c) }

/* Of the range of a projection. */
#define RANGE(c) \
  { .of = AT(ranges.c), .key = AT(projections.range) }

/* By the threads in a column. */
#define PID(thread) \
  { "pid", NULL, U32, .in = {thread}, .get = llmprof_thread_pid }
#define TID(thread) \
  { "tid", NULL, U32, .in = {thread}, .get = llmprof_thread_tid }

const llmprof_column_spec llmprof_api_columns[] = {
    {"name", NULL, TEXT, .in = {OF(calls.name)}},
    {"start", "ns", I64, .in = {OF(calls.start)}},
    {"end", "ns", I64, .in = {OF(calls.start), OF(calls.duration)},
     .function = llmprof_ends},
    {"duration", "ns", I64, .in = {OF(calls.duration)}},
    PID(OF(calls.thread)),
    TID(OF(calls.thread)),
    {"correlation", NULL, U32, .in = {OF(calls.correlation)}},
    {0},
};

const llmprof_column_spec llmprof_range_columns[] = {
    {.name = "range", .type = U32},
    {"text", NULL, TEXT, .in = {OF(ranges.text)}},
    {"tag", NULL, TEXT, .in = {OF(ranges.tag)}},
    {"colon_tag", NULL, TEXT, .in = {OF(ranges.colon_tag)}},
    {"domain", NULL, TEXT, .in = {OF(ranges.domain)}},
    {"category", NULL, TEXT, .in = {OF(ranges.category)}},
    {"start", "ns", I64, .in = {OF(ranges.start)}},
    {"end", "ns", I64, .in = {OF(ranges.end)}},
    {"duration", "ns", I64, .in = {OF(ranges.start), OF(ranges.end)},
     .function = betweens},
    {"style", NULL, U32, .in = {OF(ranges.style)}},
    PID(OF(ranges.thread)),
    TID(OF(ranges.thread)),
    {"payload", NULL, I64, .in = {OF(ranges.payload)}},
    {"communicator", NULL, I64, .in = {OF(ranges.communicator)}},
    {"message", "bytes", I64, .in = {OF(ranges.message)}},
    {"open", NULL, U32, .in = {OF(ranges.open)}},
    {"level", NULL, U32, .in = {OF(attribution.level)}},
    {"parent", NULL, U32, .in = {OF(attribution.parent)}},
    {"self", "ns", I64, .in = {OF(attribution.self)}},
    {0},
};

const llmprof_column_spec llmprof_projection_columns[] = {
    {"range", NULL, U32, .in = {OF(projections.range)}},
    {"tag", NULL, TEXT, .in = {RANGE(tag)}},
    {"colon_tag", NULL, TEXT, .in = {RANGE(colon_tag)}},
    {"style", NULL, U32, .in = {RANGE(style)}},
    {"start", "ns", I64, .in = {OF(projections.start)}},
    {"end", "ns", I64, .in = {OF(projections.end)}},
    {"duration", "ns", I64, .in = {OF(projections.start), OF(projections.end)},
     .function = betweens},
    {"range_duration", "ns", I64, .in = {RANGE(start), RANGE(end)},
     .function = betweens},
    {"operations", NULL, U32, .in = {OF(projections.operations)}},
    {"children", NULL, U32, .in = {OF(projections.children)}},
    {"level", NULL, U32,
     .in = {{.of = AT(attribution.level), .key = AT(projections.range)}}},
    PID(RANGE(thread)),
    TID(RANGE(thread)),
    {0},
};

#define SAMPLED(name, value)                      \
  {                                               \
    name, "%", LLMPROF_F64, .in = {               \
      OF(samples.values[LLMPROF_SAMPLED_##value]) \
    }                                             \
  }

const llmprof_column_spec llmprof_sample_columns[] = {
    {"device", NULL, U32, .in = {OF(samples.device)}},
    {"start", "ns", I64, .in = {OF(samples.start)}},
    {"end", "ns", I64, .in = {OF(samples.end)}},
    {"duration", "ns", I64, .in = {OF(samples.start), OF(samples.end)},
     .function = betweens},
    SAMPLED("gpu", GPU),
    SAMPLED("sm", SM),
    SAMPLED("tensor", TENSOR),
    SAMPLED("dram_read", DRAM_READ),
    SAMPLED("dram_write", DRAM_WRITE),
    {0},
};

/* ---- samples of the CPU ---- */

/* Of the frame of a stack. */
static const llmprof_stack_frame *stack_frame(const llmprof_trace *t,
                                              size_t row) {
  return llmprof_intern_get(&t->rows[LLMPROF_STACK_FRAMES], (uint32_t)row);
}

static int64_t frame_function(const llmprof_trace *t, size_t row) {
  return llmprof_widen(stack_frame(t, row)->function);
}

static int64_t frame_module(const llmprof_trace *t, size_t row) {
  return llmprof_widen(stack_frame(t, row)->module);
}

static int64_t frame_caller(const llmprof_trace *t, size_t row) {
  uint32_t parent = stack_frame(t, row)->parent;
  return parent == LLMPROF_NONE ? LLMPROF_ABSENT : frame_function(t, parent);
}

/* From 1, the outermost. Readers keep stacks short. */
static int64_t frame_depth(const llmprof_trace *t, size_t row) {
  int64_t depth = 0;
  for (uint32_t at = (uint32_t)row; at != LLMPROF_NONE;
       at = stack_frame(t, at)->parent)
    depth++;
  return depth;
}

#define STACK \
  { OF(cpu_samples.stack) }

const llmprof_column_spec llmprof_cpu_sample_columns[] = {
    {.name = "cpu_sample", .type = U32},
    {"time", "ns", I64, .in = {OF(cpu_samples.time)}},
    {"name", NULL, TEXT, .in = STACK, .get = frame_function},
    {"module", NULL, TEXT, .in = STACK, .get = frame_module},
    {"caller", NULL, TEXT, .in = STACK, .get = frame_caller},
    {"depth", NULL, U32, .in = STACK, .get = frame_depth},
    PID(OF(cpu_samples.thread)),
    TID(OF(cpu_samples.thread)),
    {"weight", NULL, I64, .in = {OF(cpu_samples.weight)}},
    {"cut", NULL, U32, .in = {OF(cpu_samples.cut)}},
    {"stack", NULL, U32, .in = STACK},
    {0},
};

const llmprof_column_spec llmprof_pair_range_columns[] = {
    {.name = "range", .type = U32},
    {"tag", NULL, TEXT, .in = {OF(ranges.tag)}},
    {"colon_tag", NULL, TEXT, .in = {OF(ranges.colon_tag)}},
    {"style", NULL, U32, .in = {OF(ranges.style)}},
    {0},
};

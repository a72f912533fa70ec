/* Columns of API calls, NVTX ranges and their projections onto the GPU, of
 * hardware samples, and of samples of the CPU. */
#include "llmprof/trace_builder.h"
#include "trace/trace_columns.h"

int64_t llmprof_row_number(const llmprof_trace *trace, size_t row) {
  (void)trace;
  return (int64_t)row;
}

void llmprof_ends(const int64_t *const *in, size_t count, int64_t *out) {
  for (size_t i = 0; i < count; i++)
    out[i] = llmprof_end_of(in[0][i], in[1][i]);
}

/* ---- ranges ---- */

static int64_t range_duration(const llmprof_trace *t, size_t row) {
  return llmprof_between(t->ranges.start[row], t->ranges.end[row]);
}

static int64_t range_tag(const llmprof_trace *t, size_t row) {
  return llmprof_widen(t->ranges.tag[row]);
}

static int64_t range_colon_tag(const llmprof_trace *t, size_t row) {
  return llmprof_widen(t->ranges.colon_tag[row]);
}

static int64_t range_style(const llmprof_trace *t, size_t row) {
  return t->ranges.style[row];
}

static int64_t range_open(const llmprof_trace *t, size_t row) {
  return t->ranges.open[row];
}

static int64_t range_pid(const llmprof_trace *t, size_t row) {
  return llmprof_thread_pid(t, t->ranges.thread[row]);
}

static int64_t range_tid(const llmprof_trace *t, size_t row) {
  return llmprof_thread_tid(t, t->ranges.thread[row]);
}

static int64_t range_level(const llmprof_trace *t, size_t row) {
  return llmprof_widen(t->attribution.level[row]);
}

/* Its duration without the ranges in it. */
static int64_t range_self(const llmprof_trace *t, size_t row) {
  if (t->attribution.level[row] == LLMPROF_NONE) return LLMPROF_ABSENT;
  uint64_t length =
      (uint64_t)t->ranges.end[row] - (uint64_t)t->ranges.start[row];
  uint64_t self = length - t->attribution.inner[row];
  return self > INT64_MAX ? INT64_MAX : (int64_t)self;
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
  return llmprof_between(t->projections[row].start, t->projections[row].end);
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

/* Of what has its threads in an array. */
#define OF_THREAD(name, rows, getter)                                      \
  {                                                                        \
    name, NULL, LLMPROF_U32, .index = AT(rows.thread),                     \
                             .domain = AT(thread_ids.count), .get = getter \
  }

#define OF_CALLER(name, getter) \
  { name, NULL, LLMPROF_U32, .in = {{.of = AT(calls.thread)}}, .get = getter }

const llmprof_column_spec llmprof_api_columns[] = {
    {"name", NULL, LLMPROF_STRING_ID, .in = {{.of = AT(calls.name)}}},
    {"start", "ns", LLMPROF_I64, .in = {{.of = AT(calls.start)}}},
    {"end", "ns", LLMPROF_I64, .function = llmprof_ends,
     .in = {{.of = AT(calls.start)}, {.of = AT(calls.duration)}}},
    {"duration", "ns", LLMPROF_I64, .in = {{.of = AT(calls.duration)}}},
    OF_CALLER("pid", llmprof_thread_pid),
    OF_CALLER("tid", llmprof_thread_tid),
    {"correlation", NULL, LLMPROF_U32, .in = {{.of = AT(calls.correlation)}}},
    {0},
};

const llmprof_column_spec llmprof_range_columns[] = {
    {"range", NULL, LLMPROF_U32, .get = llmprof_row_number},
    {"text", NULL, LLMPROF_STRING_ID, .array = AT(ranges.text)},
    {"tag", NULL, LLMPROF_STRING_ID, .array = AT(ranges.tag)},
    {"colon_tag", NULL, LLMPROF_STRING_ID, .array = AT(ranges.colon_tag)},
    {"domain", NULL, LLMPROF_STRING_ID, .array = AT(ranges.domain)},
    {"category", NULL, LLMPROF_STRING_ID, .array = AT(ranges.category)},
    {"start", "ns", LLMPROF_I64, .array = AT(ranges.start)},
    {"end", "ns", LLMPROF_I64, .array = AT(ranges.end)},
    {"duration", "ns", LLMPROF_I64, .get = range_duration},
    {"style", NULL, LLMPROF_U32, .get = range_style},
    OF_THREAD("pid", ranges, llmprof_thread_pid),
    OF_THREAD("tid", ranges, llmprof_thread_tid),
    {"payload", NULL, LLMPROF_I64, .array = AT(ranges.payload)},
    {"communicator", NULL, LLMPROF_I64, .array = AT(ranges.communicator)},
    {"message", "bytes", LLMPROF_I64, .array = AT(ranges.message)},
    {"open", NULL, LLMPROF_U32, .get = range_open},
    {"level", NULL, LLMPROF_U32, .needs = NEEDS_ATTRIBUTION,
     .array = AT(attribution.level)},
    {"parent", NULL, LLMPROF_U32, .needs = NEEDS_ATTRIBUTION,
     .array = AT(attribution.parent)},
    {"self", "ns", LLMPROF_I64, .needs = NEEDS_ATTRIBUTION, .get = range_self},
    {0},
};

const llmprof_column_spec llmprof_projection_columns[] = {
    {"range", NULL, LLMPROF_U32, .get = projected_range},
    {"tag", NULL, LLMPROF_STRING_ID, .get = projected_tag},
    {"colon_tag", NULL, LLMPROF_STRING_ID, .get = projected_colon_tag},
    {"style", NULL, LLMPROF_U32, .get = projected_style},
    {"start", "ns", LLMPROF_I64, .get = projected_start},
    {"end", "ns", LLMPROF_I64, .get = projected_end},
    {"duration", "ns", LLMPROF_I64, .get = projected_duration},
    {"range_duration", "ns", LLMPROF_I64, .get = projected_range_duration},
    {"operations", NULL, LLMPROF_U32, .get = projected_operations},
    {"children", NULL, LLMPROF_U32, .get = projected_children},
    {"level", NULL, LLMPROF_U32, .get = projected_level},
    {"pid", NULL, LLMPROF_U32, .get = projected_pid},
    {"tid", NULL, LLMPROF_U32, .get = projected_tid},
    {0},
};

/* ---- hardware samples ---- */

static int64_t sample_duration(const llmprof_trace *t, size_t row) {
  return llmprof_between(t->samples.start[row], t->samples.end[row]);
}

#define SAMPLED(name, value)                                 \
  {                                                          \
    name, "%", LLMPROF_F64,                                  \
        .array = AT(samples.values[LLMPROF_SAMPLED_##value]) \
  }

const llmprof_column_spec llmprof_sample_columns[] = {
    {"device", NULL, LLMPROF_U32, .array = AT(samples.device)},
    {"start", "ns", LLMPROF_I64, .array = AT(samples.start)},
    {"end", "ns", LLMPROF_I64, .array = AT(samples.end)},
    {"duration", "ns", LLMPROF_I64, .get = sample_duration},
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
  return llmprof_intern_get(&t->stack_frames, (uint32_t)row);
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

static int64_t cpu_sample_cut(const llmprof_trace *t, size_t row) {
  return t->cpu_samples.cut[row];
}

#define OF_STACK(name, type, getter)                                  \
  {                                                                   \
    name, NULL, type, .index = AT(cpu_samples.stack),                 \
                      .domain = AT(stack_frames.count), .get = getter \
  }

const llmprof_column_spec llmprof_cpu_sample_columns[] = {
    {"cpu_sample", NULL, LLMPROF_U32, .get = llmprof_row_number},
    {"time", "ns", LLMPROF_I64, .array = AT(cpu_samples.time)},
    OF_STACK("name", LLMPROF_STRING_ID, frame_function),
    OF_STACK("module", LLMPROF_STRING_ID, frame_module),
    OF_STACK("caller", LLMPROF_STRING_ID, frame_caller),
    OF_STACK("depth", LLMPROF_U32, frame_depth),
    OF_THREAD("pid", cpu_samples, llmprof_thread_pid),
    OF_THREAD("tid", cpu_samples, llmprof_thread_tid),
    {"weight", NULL, LLMPROF_I64, .array = AT(cpu_samples.weight)},
    {"cut", NULL, LLMPROF_U32, .get = cpu_sample_cut},
    {"stack", NULL, LLMPROF_U32, .array = AT(cpu_samples.stack)},
    {0},
};

const llmprof_column_spec llmprof_pair_range_columns[] = {
    {"range", NULL, LLMPROF_U32, .get = llmprof_row_number},
    {"tag", NULL, LLMPROF_STRING_ID, .array = AT(ranges.tag)},
    {"colon_tag", NULL, LLMPROF_STRING_ID, .array = AT(ranges.colon_tag)},
    {"style", NULL, LLMPROF_U32, .get = range_style},
    {0},
};

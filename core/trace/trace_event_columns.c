/* Columns of API calls, NVTX ranges and their projections onto the GPU. */
#include "trace/trace_columns.h"

/* ---- API calls ---- */

static int64_t call_start(const llmprof_trace *t, size_t row) {
  return t->calls.start[row];
}

static int64_t call_end(const llmprof_trace *t, size_t row) {
  return t->calls.end[row];
}

static int64_t call_duration(const llmprof_trace *t, size_t row) {
  return llmprof_between(t->calls.start[row], t->calls.end[row]);
}

static int64_t call_name(const llmprof_trace *t, size_t row) {
  return llmprof_widen(t->calls.name[row]);
}

static int64_t call_correlation(const llmprof_trace *t, size_t row) {
  return llmprof_widen(t->calls.correlation[row]);
}

static int64_t call_pid(const llmprof_trace *t, size_t row) {
  return llmprof_thread_pid(t, t->calls.thread[row]);
}

static int64_t call_tid(const llmprof_trace *t, size_t row) {
  return llmprof_thread_tid(t, t->calls.thread[row]);
}

/* ---- ranges ---- */

static int64_t range_start(const llmprof_trace *t, size_t row) {
  return t->ranges.start[row];
}

static int64_t range_end(const llmprof_trace *t, size_t row) {
  return t->ranges.end[row];
}

static int64_t range_duration(const llmprof_trace *t, size_t row) {
  return llmprof_between(t->ranges.start[row], t->ranges.end[row]);
}

static int64_t range_text(const llmprof_trace *t, size_t row) {
  return llmprof_widen(t->ranges.text[row]);
}

static int64_t range_tag(const llmprof_trace *t, size_t row) {
  return llmprof_widen(t->ranges.tag[row]);
}

static int64_t range_colon_tag(const llmprof_trace *t, size_t row) {
  return llmprof_widen(t->ranges.colon_tag[row]);
}

static int64_t range_domain(const llmprof_trace *t, size_t row) {
  return llmprof_widen(t->ranges.domain[row]);
}

static int64_t range_category(const llmprof_trace *t, size_t row) {
  return llmprof_widen(t->ranges.category[row]);
}

static int64_t range_payload(const llmprof_trace *t, size_t row) {
  return t->ranges.payload[row];
}

static int64_t range_communicator(const llmprof_trace *t, size_t row) {
  return t->ranges.communicator[row];
}

static int64_t range_message(const llmprof_trace *t, size_t row) {
  return t->ranges.message[row];
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

static int64_t range_parent(const llmprof_trace *t, size_t row) {
  return llmprof_widen(t->attribution.parent[row]);
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

const llmprof_column_spec llmprof_api_columns[] = {
    {"name", NULL, LLMPROF_STRING_ID, call_name, NEEDS_NOTHING},
    {"start", "ns", LLMPROF_I64, call_start, NEEDS_NOTHING},
    {"end", "ns", LLMPROF_I64, call_end, NEEDS_NOTHING},
    {"duration", "ns", LLMPROF_I64, call_duration, NEEDS_NOTHING},
    {"pid", NULL, LLMPROF_U32, call_pid, NEEDS_NOTHING},
    {"tid", NULL, LLMPROF_U32, call_tid, NEEDS_NOTHING},
    {"correlation", NULL, LLMPROF_U32, call_correlation, NEEDS_NOTHING},
    {0},
};

const llmprof_column_spec llmprof_range_columns[] = {
    {"range", NULL, LLMPROF_U32, llmprof_row_number, NEEDS_NOTHING},
    {"text", NULL, LLMPROF_STRING_ID, range_text, NEEDS_NOTHING},
    {"tag", NULL, LLMPROF_STRING_ID, range_tag, NEEDS_NOTHING},
    {"colon_tag", NULL, LLMPROF_STRING_ID, range_colon_tag, NEEDS_NOTHING},
    {"domain", NULL, LLMPROF_STRING_ID, range_domain, NEEDS_NOTHING},
    {"category", NULL, LLMPROF_STRING_ID, range_category, NEEDS_NOTHING},
    {"start", "ns", LLMPROF_I64, range_start, NEEDS_NOTHING},
    {"end", "ns", LLMPROF_I64, range_end, NEEDS_NOTHING},
    {"duration", "ns", LLMPROF_I64, range_duration, NEEDS_NOTHING},
    {"style", NULL, LLMPROF_U32, range_style, NEEDS_NOTHING},
    {"pid", NULL, LLMPROF_U32, range_pid, NEEDS_NOTHING},
    {"tid", NULL, LLMPROF_U32, range_tid, NEEDS_NOTHING},
    {"payload", NULL, LLMPROF_I64, range_payload, NEEDS_NOTHING},
    {"communicator", NULL, LLMPROF_I64, range_communicator, NEEDS_NOTHING},
    {"message", "bytes", LLMPROF_I64, range_message, NEEDS_NOTHING},
    {"open", NULL, LLMPROF_U32, range_open, NEEDS_NOTHING},
    {"level", NULL, LLMPROF_U32, range_level, NEEDS_ATTRIBUTION},
    {"parent", NULL, LLMPROF_U32, range_parent, NEEDS_ATTRIBUTION},
    {0},
};

const llmprof_column_spec llmprof_projection_columns[] = {
    {"range", NULL, LLMPROF_U32, projected_range, NEEDS_NOTHING},
    {"tag", NULL, LLMPROF_STRING_ID, projected_tag, NEEDS_NOTHING},
    {"colon_tag", NULL, LLMPROF_STRING_ID, projected_colon_tag, NEEDS_NOTHING},
    {"style", NULL, LLMPROF_U32, projected_style, NEEDS_NOTHING},
    {"start", "ns", LLMPROF_I64, projected_start, NEEDS_NOTHING},
    {"end", "ns", LLMPROF_I64, projected_end, NEEDS_NOTHING},
    {"duration", "ns", LLMPROF_I64, projected_duration, NEEDS_NOTHING},
    {"range_duration", "ns", LLMPROF_I64, projected_range_duration,
     NEEDS_NOTHING},
    {"operations", NULL, LLMPROF_U32, projected_operations, NEEDS_NOTHING},
    {"children", NULL, LLMPROF_U32, projected_children, NEEDS_NOTHING},
    {"level", NULL, LLMPROF_U32, projected_level, NEEDS_NOTHING},
    {"pid", NULL, LLMPROF_U32, projected_pid, NEEDS_NOTHING},
    {"tid", NULL, LLMPROF_U32, projected_tid, NEEDS_NOTHING},
    {0},
};

const llmprof_column_spec llmprof_pair_range_columns[] = {
    {"range", NULL, LLMPROF_U32, llmprof_row_number, NEEDS_NOTHING},
    {"tag", NULL, LLMPROF_STRING_ID, range_tag, NEEDS_NOTHING},
    {"colon_tag", NULL, LLMPROF_STRING_ID, range_colon_tag, NEEDS_NOTHING},
    {"style", NULL, LLMPROF_U32, range_style, NEEDS_NOTHING},
    {0},
};

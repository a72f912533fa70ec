/* The builder: API calls, all of them or what is kept of them. */
#include "llmprof/alloc.h"
#include "trace/trace_events.h"
#include "trace/trace_internal.h"

/* ---- what each took ---- */

static bool grow_durations(llmprof_builder *b, llmprof_error *err) {
  llmprof_narrow *n = &b->trace->narrow;
  size_t cap;
  if (!llmprof_builder_grow(b, n->count, n->cap, "API calls", &cap, err))
    return false;
  if (!llmprof_durations_resize(n, cap)) return llmprof_fail_nomem(err);
  n->cap = cap;
  return true;
}

static inline bool add_duration(llmprof_builder *b,
                                const llmprof_call_row *call,
                                llmprof_error *err) {
  llmprof_narrow *n = &b->trace->narrow;
  if (n->count == n->cap && !grow_durations(b, err)) return false;
  n->name[n->count] = call->name;
  n->duration[n->count] = llmprof_between(call->start, call->end);
  return true;
}

/* ---- rows ---- */

static inline bool add_narrow(llmprof_builder *b, const llmprof_call_row *call,
                              llmprof_error *err) {
  llmprof_narrow *n = &b->trace->narrow;
  if (n->loading & LLMPROF_CALLS_DURATIONS && !add_duration(b, call, err))
    return false;
  n->count++;
  return !(n->loading & LLMPROF_CALLS_LAUNCHES) ||
         llmprof_narrow_take(b->trace, call) || llmprof_fail_nomem(err);
}

static bool add_narrows(llmprof_builder *b, const llmprof_call_row *calls,
                        size_t count, llmprof_error *err) {
  bool ok = true;
  for (size_t i = 0; ok && i < count; i++) ok = add_narrow(b, &calls[i], err);
  return ok;
}

static bool grow(llmprof_builder *b, llmprof_error *err) {
  size_t cap, count = b->trace->calls.count;
  if (!llmprof_builder_grow(b, count, b->call_cap, "API calls", &cap, err))
    return false;
  if (!llmprof_calls_resize(b->trace, cap)) return llmprof_fail_nomem(err);
  b->call_cap = cap;
  return true;
}

/* In the room that is there. */
static inline bool put(llmprof_builder *b, const llmprof_call_row *call) {
  const llmprof_narrow *n = &b->trace->narrow;
  llmprof_calls *calls = &b->trace->calls;
  size_t row = calls->count++;
  calls->start[row] = call->start;
  calls->thread[row] = call->thread;
  calls->correlation[row] = call->correlation;
  calls->name[row] = call->name;
  int64_t took = llmprof_between(call->start, call->end);
  if (!n->calls_near || took < 0 || took >= UINT32_MAX)
    return llmprof_ends_put_call(b, row, call);
  n->call_duration[row] = (uint32_t)took;
  return true;
}

bool llmprof_builder_add_calls(llmprof_builder *b,
                               const llmprof_call_row *calls, size_t count,
                               llmprof_error *err) {
  const llmprof_calls *all = &b->trace->calls;
  if (b->trace->narrow.loading) return add_narrows(b, calls, count, err);
  for (size_t i = 0; i < count; i++) {
    if (all->count == b->call_cap && !grow(b, err)) return false;
    if (!put(b, &calls[i])) return llmprof_fail_nomem(err);
  }
  return true;
}

bool llmprof_builder_add_call(llmprof_builder *b, const llmprof_call_row *call,
                              llmprof_error *err) {
  return llmprof_builder_add_calls(b, call, 1, err);
}

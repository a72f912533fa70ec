/* The builder: API calls, all of them or what is kept of them. */
#include "llmprof/alloc.h"
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

/* From the first duration on that does not fit, they take eight bytes each. */
static bool leave_piles(llmprof_builder *b, llmprof_error *err) {
  llmprof_narrow *n = &b->trace->narrow;
  if (!grow_durations(b, err)) return false;
  uint32_t *shorts = llmprof_alloc(n->piles->rows, sizeof *shorts);
  if (!shorts) return llmprof_fail_nomem(err);
  llmprof_piles_keys(n->piles, n->name);
  llmprof_piles_numbers(n->piles, shorts);
  for (size_t i = 0; i < n->piles->rows; i++)
    n->duration[i] = shorts[i] == UINT32_MAX ? LLMPROF_ABSENT : shorts[i];
  llmprof_free(shorts);
  llmprof_piles_free(n->piles);
  n->piles = NULL;
  return true;
}

static bool add_duration(llmprof_builder *b, const llmprof_call_row *call,
                         llmprof_error *err) {
  llmprof_narrow *n = &b->trace->narrow;
  int64_t duration = llmprof_between(call->start, call->end);
  bool fits = duration >= 0 && duration < UINT32_MAX;
  if (n->piles && (fits || duration == LLMPROF_ABSENT))
    return llmprof_piles_add(n->piles, call->name,
                             fits ? (uint32_t)duration : UINT32_MAX) ||
           llmprof_fail_nomem(err);
  if (n->piles && !leave_piles(b, err)) return false;
  if (n->count == n->cap && !grow_durations(b, err)) return false;
  n->name[n->count] = call->name;
  n->duration[n->count] = duration;
  return true;
}

/* ---- rows ---- */

static bool add_narrow(llmprof_builder *b, const llmprof_call_row *call,
                       llmprof_error *err) {
  llmprof_narrow *n = &b->trace->narrow;
  if (n->loading & LLMPROF_CALLS_DURATIONS && !add_duration(b, call, err))
    return false;
  n->count++;
  return !(n->loading & LLMPROF_CALLS_LAUNCHES) ||
         llmprof_narrow_take(b->trace, call) || llmprof_fail_nomem(err);
}

__attribute__((noinline)) static bool
grow_and_put_call(llmprof_builder *b, const llmprof_call_row *call,
                  llmprof_error *err) {
  llmprof_calls *calls = &b->trace->calls;
  size_t cap;
  if (b->trace->narrow.loading) return add_narrow(b, call, err);
  if (!llmprof_builder_grow(b, calls->count, b->call_cap, "API calls", &cap,
                            err))
    return false;
  if (!llmprof_calls_resize(calls, cap)) return llmprof_fail_nomem(err);
  b->call_cap = cap;
  return llmprof_calls_put(calls, call);
}

bool llmprof_builder_add_call(llmprof_builder *b, const llmprof_call_row *call,
                              llmprof_error *err) {
  llmprof_calls *calls = &b->trace->calls;
  return calls->count == b->call_cap ? grow_and_put_call(b, call, err)
                                     : llmprof_calls_put(calls, call);
}

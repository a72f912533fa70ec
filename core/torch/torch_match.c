/* The process of a GPU operation is that of the call that launched it, as the
 * operation's own pid is a GPU. Correlation ids are unique within a process; in
 * a file that was merged from several, the nearest call counts. */
#include <stdlib.h>

#include "base/bisect.h"
#include "llmprof/alloc.h"
#include "torch/torch_internal.h"

static int by_correlation(const void *a, const void *b) {
  const torch_call *one = *(const torch_call *const *)a;
  const torch_call *other = *(const torch_call *const *)b;
  if (one->row.correlation != other->row.correlation)
    return one->row.correlation < other->row.correlation ? -1 : 1;
  return one->event < other->event ? -1 : 1;
}

static size_t distance(size_t a, size_t b) {
  return a < b ? b - a : a - b;
}

/* Mark the calls whose correlation id several processes have. */
static void note_shared(torch_call **calls, size_t count) {
  for (size_t begin = 0, end; begin < count; begin = end) {
    uint32_t id = calls[begin]->row.correlation;
    bool shared = false;
    for (end = begin; end < count && calls[end]->row.correlation == id; end++)
      shared |= calls[end]->process != calls[begin]->process;
    for (size_t i = begin; i < end; i++) calls[i]->shared = shared;
  }
}

/* Does the call come before the operation, in the order of the calls? */
static bool is_before(const torch_call *call, const torch_op *op) {
  return call->row.correlation < op->correlation ||
         (call->row.correlation == op->correlation && call->event < op->event);
}

/* The call of the operation's correlation id that is nearest to it in the file;
 * NULL: none has the id. */
static const torch_call *nearest_call(torch_call *const *calls, size_t count,
                                      const torch_op *op) {
  size_t low = 0, high = count;
  LLMPROF_BISECT(low, high, at, is_before(calls[at], op));
  const torch_call *before = low ? calls[low - 1] : NULL;
  const torch_call *behind = low < count ? calls[low] : NULL;
  if (before && before->row.correlation != op->correlation) before = NULL;
  if (behind && behind->row.correlation != op->correlation) behind = NULL;
  if (!before || !behind) return before ? before : behind;
  return distance(behind->event, op->event) < distance(before->event, op->event)
             ? behind
             : before;
}

static void match(torch_trace *t, torch_call *const *calls, torch_op *op) {
  const torch_call *call = nearest_call(calls, t->call_count, op);
  op->call = call ? (uint32_t)(call - t->calls) : LLMPROF_NONE;
  op->place.process = call                      ? call->process
                      : t->processes.count == 1 ? 0
                                                : LLMPROF_NONE;
  if (call) t->ambiguous += call->shared;
}

bool torch_match_calls(torch_trace *t, llmprof_error *err) {
  torch_call **calls = llmprof_alloc(t->call_count, sizeof(void *));
  if (!calls) return llmprof_fail_nomem(err);
  for (size_t i = 0; i < t->call_count; i++) calls[i] = &t->calls[i];
  qsort(calls, t->call_count, sizeof(void *), by_correlation);
  note_shared(calls, t->call_count);
  for (size_t i = 0; i < t->op_count; i++) match(t, calls, &t->ops[i]);
  llmprof_free(calls);
  return true;
}

/* Whose is a GPU operation: its own pid is a GPU, so the call that launched it
 * tells. Correlation ids are unique within a process; in a file that was put
 * together from several, those that stand together belong together. */
#include <stdlib.h>

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

/* The first of the calls with this correlation; `count` when there is none. */
static size_t find_calls(const torch_call *const *calls, size_t count,
                         int64_t correlation) {
  size_t low = 0, high = count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (calls[middle]->row.correlation < correlation)
      low = middle + 1;
    else
      high = middle;
  }
  return low < count && calls[low]->row.correlation == correlation ? low
                                                                   : count;
}

static uint32_t process_of(torch_trace *t, const torch_call *const *calls,
                           const torch_op *op) {
  size_t at = op->correlation == LLMPROF_ABSENT
                  ? t->call_count
                  : find_calls(calls, t->call_count, op->correlation);
  if (at == t->call_count) return t->processes.count == 1 ? 0 : LLMPROF_NONE;
  const torch_call *nearest = calls[at];
  bool several = false;
  for (; at < t->call_count && calls[at]->row.correlation == op->correlation;
       at++) {
    several |= calls[at]->process != nearest->process;
    if (distance(calls[at]->event, op->event) <
        distance(nearest->event, op->event))
      nearest = calls[at];
  }
  t->ambiguous += several;
  return nearest->process;
}

bool torch_match_calls(torch_trace *t, llmprof_error *err) {
  const torch_call **calls = llmprof_alloc(t->call_count, sizeof(void *));
  if (!calls) return llmprof_fail_nomem(err);
  for (size_t i = 0; i < t->call_count; i++) calls[i] = &t->calls[i];
  qsort(calls, t->call_count, sizeof(void *), by_correlation);
  for (size_t i = 0; i < t->op_count; i++)
    t->ops[i].place.process = process_of(t, calls, &t->ops[i]);
  llmprof_free(calls);
  return true;
}

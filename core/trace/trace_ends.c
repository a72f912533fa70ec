/* When operations and calls ended: kept as what each took, four bytes in place
 * of eight, while all of that fits and nobody asks for the arrays themselves.
 * Columns of durations are these very numbers. */
#include "llmprof/alloc.h"
#include "trace/trace_events.h"
#include "trace/trace_internal.h"

/* Of rows that a reader adds later than this. */
static bool may_be_near(const llmprof_trace *trace, llmprof_part part,
                        size_t cap) {
  return trace->reader && trace->reader->load && !trace->image.borrowed &&
         !trace->narrow.whole[part] && !cap;
}

void llmprof_ends_begin(llmprof_trace *trace, llmprof_part part) {
  llmprof_narrow *n = &trace->narrow;
  if (part == LLMPROF_PART_OPS)
    n->near = may_be_near(trace, part, trace->builder->op_cap);
  if (part == LLMPROF_PART_CALLS)
    n->calls_near = may_be_near(trace, part, trace->builder->call_cap);
}

int64_t *llmprof_ends_of(const int64_t *start, const uint32_t *took,
                         size_t count, size_t cap) {
  int64_t *end = llmprof_alloc(cap, sizeof *end);
  for (size_t i = 0; end && i < count; i++) end[i] = start[i] + took[i];
  return end;
}

/* ---- while rows are added ---- */

/* From the first that took too long on all ends are kept. */
static bool keep(const int64_t *start, uint32_t **took, size_t count,
                 size_t cap, int64_t **end) {
  *end = llmprof_ends_of(start, *took, count, cap);
  if (!*end) return false;
  llmprof_free(*took);
  *took = NULL;
  return true;
}

bool llmprof_ends_put_op(llmprof_builder *b, size_t row,
                         const llmprof_op_row *op) {
  llmprof_narrow *n = &b->trace->narrow;
  llmprof_ops *ops = &b->trace->ops;
  int64_t took = llmprof_between(op->start, op->end);
  bool fits = took >= 0 && took < UINT32_MAX;
  if (n->near && fits) {
    n->op_duration[row] = (uint32_t)took;
    return true;
  }
  if (n->near && !keep(ops->start, &n->op_duration, row, b->op_cap, &ops->end))
    return false;
  n->near = false;
  ops->end[row] = op->end;
  return true;
}

bool llmprof_ends_put_call(llmprof_builder *b, size_t row,
                           const llmprof_call_row *call) {
  llmprof_narrow *n = &b->trace->narrow;
  llmprof_calls *calls = &b->trace->calls;
  if (n->calls_near &&
      !keep(calls->start, &n->call_duration, row, b->call_cap, &calls->end))
    return false;
  n->calls_near = false;
  calls->end[row] = call->end;
  return true;
}

/* ---- for whoever asks for the arrays ---- */

/* Frames may have what each took, which stays. */
static bool widen(const int64_t *start, const uint32_t *took, size_t count,
                  int64_t **end) {
  if (*end || !took) return true;
  *end = llmprof_ends_of(start, took, count, count);
  return *end != NULL;
}

bool llmprof_ends_widen(llmprof_trace *trace, llmprof_part part) {
  const llmprof_narrow *n = &trace->narrow;
  llmprof_ops *ops = &trace->ops;
  llmprof_calls *calls = &trace->calls;
  if (part == LLMPROF_PART_OPS)
    return widen(ops->start, n->op_duration, ops->count, &ops->end);
  return widen(calls->start, n->call_duration, calls->count, &calls->end);
}

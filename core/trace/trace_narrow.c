/* API calls of which only a part is kept, where no more will be asked for: what
 * each took, and by operation what its report needs of the call that launched
 * it, which is found while calls are read. */
#include <string.h>

#include "frame/sort.h"
#include "llmprof/alloc.h"
#include "trace/trace_events.h"
#include "trace/trace_gallop.h"
#include "trace/trace_internal.h"

bool llmprof_trace_narrow_calls(llmprof_trace *trace, unsigned kept) {
  bool ok = trace->reader && trace->reader->load && !trace->attributed &&
            !trace->loaded[LLMPROF_PART_OPS] &&
            !trace->loaded[LLMPROF_PART_CALLS] && !trace->narrow.loaded &&
            !trace->image.pieces[LLMPROF_PART_CALLS];
  if (ok) trace->narrow.kept = kept;
  return ok;
}

bool llmprof_narrow_is_used(const llmprof_trace *trace, unsigned part) {
  return trace->narrow.kept & part && !trace->loaded[LLMPROF_PART_CALLS];
}

/* ---- operations ---- */

void llmprof_narrow_begin_ops(llmprof_trace *trace) {
  llmprof_narrow *n = &trace->narrow;
  n->twinned = n->kept & LLMPROF_CALLS_LAUNCHES && !trace->image.borrowed;
  if (n->twinned) llmprof_twins_begin(trace);
}

bool llmprof_narrow_put_op(llmprof_builder *b, size_t row,
                           const llmprof_op_row *op) {
  const llmprof_narrow *n = &b->trace->narrow;
  llmprof_ops *ops = &b->trace->ops;
  if (!llmprof_ends_put_op(b, row, op)) return false;
  if (n->twinned) return llmprof_twins_put(b, row, op);
  ops->name[row] = op->name;
  ops->place[row] = op->place;
  return true;
}

/* ---- finding those that a call launched ---- */

/* Do their ids ascend as they lie? */
static bool ascend(const uint32_t *ids, size_t count) {
  bool ok = true;
  for (size_t i = 1; ok && i < count; i++) ok = ids[i - 1] <= ids[i];
  return ok;
}

static bool seek_kind(const llmprof_ops *ops, int kind, llmprof_seeker *s) {
  uint32_t first = ops->first[kind];
  *s = (llmprof_seeker){.ids = ops->correlation + first,
                        .first = first,
                        .count = ops->first[kind + 1] - first,
                        .before = -1,
                        .next = -1};
  if (ascend(s->ids, s->count)) return true;
  s->rows = llmprof_alloc(s->count, sizeof *s->rows);
  for (size_t i = 0; s->rows && i < s->count; i++) s->rows[i] = (uint32_t)i;
  return s->rows && llmprof_sort_rows_u32(s->rows, s->count, s->ids);
}

static bool make_own(llmprof_launched *l, size_t ops) {
  l->thread = llmprof_alloc(ops, sizeof *l->thread);
  l->name = llmprof_alloc(ops, sizeof *l->name);
  for (size_t op = 0; l->thread && l->name && op < ops; op++)
    l->thread[op] = l->name[op] = LLMPROF_NONE;
  return l->thread && l->name;
}

static bool make_launched(llmprof_launched *l, size_t ops) {
  l->delay = llmprof_alloc(ops, sizeof *l->delay);
  l->took = llmprof_alloc(ops, sizeof *l->took);
  l->again = llmprof_zalloc(ops / 64 + 1, sizeof *l->again);
  for (size_t op = 0; l->delay && l->took && op < ops; op++)
    l->delay[op] = l->took[op] = UINT32_MAX;
  return l->delay && l->took && l->again;
}

bool llmprof_narrow_begin(llmprof_trace *trace, llmprof_error *err) {
  llmprof_narrow *n = &trace->narrow;
  size_t ops = trace->ops.count;
  bool ok = (n->twins.of_op ? llmprof_twins_begin_calls(&n->twins)
                            : make_own(&n->launched, ops)) &&
            make_launched(&n->launched, ops);
  for (int kind = 0; ok && kind < LLMPROF_OP_KINDS; kind++)
    ok = seek_kind(&trace->ops, kind, &n->seekers[kind]);
  n->before = n->next = -1;
  n->only = NULL;
  return ok || llmprof_fail_nomem(err);
}

/* What only served to find calls goes. */
void llmprof_narrow_end(llmprof_trace *trace, bool ok) {
  llmprof_narrow *n = &trace->narrow;
  for (int kind = 0; kind < LLMPROF_OP_KINDS; kind++) {
    llmprof_free(n->seekers[kind].rows);
    n->seekers[kind] = (llmprof_seeker){0};
  }
  llmprof_twins_end(trace, ok);
  if (!ok) {
    llmprof_launched_free(&n->launched);
    return;
  }
  if (trace->image.borrowed) return;
  llmprof_free(trace->ops.correlation);
  trace->ops.correlation = NULL;
}

/* Starts of operations served to tell those of ranges, as did which of them
 * have the call of one before. */
void llmprof_narrow_projected(llmprof_trace *trace) {
  if (!llmprof_narrow_is_near(trace)) return;
  llmprof_free(trace->ops.start);
  trace->ops.start = NULL;
  llmprof_free(trace->narrow.launched.again);
  trace->narrow.launched.again = NULL;
}

/* ---- a call ---- */

/* From the first that does not fit, start and end are kept as they are. */
static bool lengthen(llmprof_trace *trace) {
  llmprof_launched *l = &trace->narrow.launched;
  size_t ops = trace->ops.count;
  int64_t *start = llmprof_alloc(ops, sizeof *start);
  int64_t *end = llmprof_alloc(ops, sizeof *end);
  if (!start || !end) {
    llmprof_free(start);
    llmprof_free(end);
    return false;
  }
  for (size_t op = 0; op < ops; op++) {
    start[op] = llmprof_narrow_start(trace, op);
    end[op] = llmprof_narrow_end_of(trace, op);
  }
  llmprof_free(l->delay);
  llmprof_free(l->took);
  l->delay = l->took = NULL;
  l->start = start;
  l->end = end;
  return true;
}

static bool is_small(int64_t value) {
  return value >= 0 && value < UINT32_MAX;
}

static bool put_times(llmprof_trace *trace, size_t op,
                      const llmprof_call_row *call) {
  llmprof_launched *l = &trace->narrow.launched;
  int64_t delay = llmprof_between(call->start, trace->ops.start[op]);
  int64_t took = llmprof_between(call->start, call->end);
  bool fits = is_small(took) && delay >= -LLMPROF_SOONEST &&
              delay < UINT32_MAX - LLMPROF_SOONEST;
  if (!l->start && !fits && !lengthen(trace)) return false;
  if (l->start) {
    l->start[op] = call->start;
    l->end[op] = call->end;
  } else {
    l->delay[op] = (uint32_t)(delay + LLMPROF_SOONEST);
    l->took[op] = (uint32_t)took;
  }
  return true;
}

/* Is it of that process, and was no call found that launched it? */
static bool is_free(const llmprof_trace *trace, size_t op, uint32_t process) {
  const llmprof_narrow *n = &trace->narrow;
  const llmprof_twin *twin =
      n->twins.of_op ? llmprof_twin_at(trace, n->twins.of_op[op]) : NULL;
  uint32_t thread = twin ? twin->thread : n->launched.thread[op];
  const llmprof_place *places =
      (const llmprof_place *)(const void *)trace->places.records;
  uint32_t place = twin ? twin->place : trace->ops.place[op];
  return places[place].process == process && thread == LLMPROF_NONE;
}

static bool put_launch(llmprof_trace *trace, size_t op,
                       const llmprof_call_row *call) {
  llmprof_launched *l = &trace->narrow.launched;
  if (trace->narrow.twins.of_op) return llmprof_twins_launch(trace, op, call);
  l->thread[op] = call->thread;
  l->name[op] = call->name;
  return true;
}

/* Of several calls with its id the first one counts. */
static bool put(llmprof_trace *trace, size_t op, const llmprof_call_row *call,
                uint32_t process, bool *again) {
  llmprof_launched *l = &trace->narrow.launched;
  if (!is_free(trace, op, process)) return true;
  if (!put_times(trace, op, call) || !put_launch(trace, op, call)) return false;
  if (*again) l->again[op / 64] |= (uint64_t)1 << op % 64;
  *again = true;
  return true;
}

/* `at` is the first with the id or, where none has it, behind it. */
static bool take_all(llmprof_trace *trace, llmprof_seeker *s, size_t at,
                     const llmprof_call_row *call, bool *again) {
  uint32_t id = call->correlation;
  uint32_t process = trace->threads[call->thread].process;
  for (; at < s->count && llmprof_id_at(s->rows, s->ids, at) == id; at++) {
    size_t op = s->first + (s->rows ? s->rows[at] : at);
    if (!put(trace, op, call, process, again)) return false;
  }
  s->at = at;
  s->before = at ? (int64_t)llmprof_id_at(s->rows, s->ids, at - 1) : -1;
  s->next = at < s->count ? llmprof_id_at(s->rows, s->ids, at) : LLMPROF_NONE;
  return true;
}

/* Of one kind those with its id. */
static bool take_kind(llmprof_trace *trace, llmprof_seeker *s,
                      const llmprof_call_row *call, bool *again) {
  uint32_t id = call->correlation;
  if (id > s->before && id < s->next) return true;
  size_t at = id == s->next
                  ? s->at
                  : llmprof_gallop(s->rows, s->ids, 0, s->count, s->at, id);
  return take_all(trace, s, at, call, again);
}

/* What no seeker has, and which one has the id behind it, if that is one. */
static void find_gap(llmprof_narrow *n) {
  n->before = -1;
  n->next = INT64_MAX;
  n->only = NULL;
  for (int kind = 0; kind < LLMPROF_OP_KINDS; kind++) {
    llmprof_seeker *s = &n->seekers[kind];
    if (s->before > n->before) n->before = s->before;
    if (s->next == n->next) n->only = NULL;
    if (s->next >= n->next) continue;
    n->next = s->next;
    n->only = s;
  }
}

bool llmprof_narrow_take_id(llmprof_trace *trace,
                            const llmprof_call_row *call) {
  llmprof_narrow *n = &trace->narrow;
  bool again = false, ok = true;
  if (n->only && call->correlation == n->next)
    ok = take_kind(trace, n->only, call, &again);
  else
    for (int kind = 0; ok && kind < LLMPROF_OP_KINDS; kind++)
      ok = take_kind(trace, &n->seekers[kind], call, &again);
  find_gap(n);
  return ok;
}

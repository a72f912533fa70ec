/* Operations that are alike in their name, their place and the call that
 * launched them are twins: of most traces there are some hundred kinds, so that
 * one number by operation takes the place of four. Where there are too many,
 * each keeps its own. */
#include "llmprof/alloc.h"
#include "trace/trace_internal.h"

enum {
  FEW = 1 << 16, /* kinds are never too many, */
  SOME = 8       /* nor where there are so many operations for each */
};

void llmprof_twins_free(llmprof_twins *t) {
  llmprof_free(t->of_op);
  llmprof_free(t->latest);
  llmprof_intern_free(&t->kinds);
  *t = (llmprof_twins){0};
}

static bool are_many(const llmprof_twins *t, size_t ops) {
  return t->kinds.count > FEW && t->kinds.count > ops / SOME;
}

/* ---- before calls are known ---- */

/* That of the last operation with its name is the same nearly always. */
static bool number_op(llmprof_twins *t, const llmprof_twin *twin,
                      uint32_t *number) {
  uint32_t *last = &t->latest[(uint32_t)(twin->name + 1)];
  if (*last) {
    const llmprof_twin *before = llmprof_intern_get(&t->kinds, *last - 1);
    *number = *last - 1;
    if (before->place == twin->place) return true;
  }
  if (!llmprof_intern_add(&t->kinds, twin, number)) return false;
  *last = *number + 1;
  return true;
}

/* Numbers take the place of names; returns of how many operations, all but
 * those from which on there are too many, or no memory. */
static size_t number_ops(llmprof_trace *trace) {
  llmprof_twins *t = &trace->narrow.twins;
  llmprof_ops *ops = &trace->ops;
  size_t strings = llmprof_strings_count(trace->strings);
  t->latest = llmprof_zalloc(strings + 1, sizeof *t->latest);
  if (!t->latest) return 0;
  for (size_t op = 0; op < ops->count; op++) {
    uint32_t number;
    llmprof_twin twin = {ops->name[op], ops->place[op], LLMPROF_NONE,
                         LLMPROF_NONE};
    if (!number_op(t, &twin, &number) || are_many(t, op + 1)) return op;
    ops->name[op] = number;
  }
  return ops->count;
}

/* By kind: the last of those that are alike but for the call; none yet. */
static bool begin_calls(llmprof_twins *t) {
  llmprof_free(t->latest);
  t->latest = llmprof_zalloc(t->kinds.count, sizeof *t->latest);
  return t->latest != NULL;
}

void llmprof_twins_make(llmprof_trace *trace) {
  llmprof_twins *t = &trace->narrow.twins;
  llmprof_ops *ops = &trace->ops;
  llmprof_intern_init(&t->kinds, sizeof(llmprof_twin));
  size_t done = number_ops(trace);
  if (done < ops->count || !begin_calls(t)) {
    for (size_t op = 0; op < done; op++)
      ops->name[op] = llmprof_twin_at(trace, ops->name[op])->name;
    llmprof_twins_free(t);
    return;
  }
  t->of_op = ops->name;
  ops->name = NULL;
  llmprof_free(ops->place);
  ops->place = NULL;
}

/* ---- while calls are read ---- */

/* Each operation keeps its own from now on. */
static bool part(llmprof_trace *trace) {
  llmprof_twins *t = &trace->narrow.twins;
  llmprof_launched *l = &trace->narrow.launched;
  size_t ops = trace->ops.count;
  uint32_t *place = llmprof_alloc(ops, sizeof *place);
  l->thread = llmprof_alloc(ops, sizeof *l->thread);
  l->name = llmprof_alloc(ops, sizeof *l->name);
  if (!place || !l->thread || !l->name) {
    llmprof_free(place);
    llmprof_free(l->thread);
    llmprof_free(l->name);
    l->thread = l->name = NULL;
    return false;
  }
  for (size_t op = 0; op < ops; op++) {
    const llmprof_twin *twin = llmprof_twin_at(trace, t->of_op[op]);
    place[op] = twin->place;
    l->thread[op] = twin->thread;
    l->name[op] = twin->api;
    t->of_op[op] = twin->name;
  }
  trace->ops.name = t->of_op;
  trace->ops.place = place;
  t->of_op = NULL;
  llmprof_twins_free(t);
  return true;
}

bool llmprof_twins_vary(llmprof_trace *trace, size_t op,
                        const llmprof_call_row *call) {
  llmprof_twins *t = &trace->narrow.twins;
  uint32_t before = t->of_op[op], number;
  llmprof_twin twin = *llmprof_twin_at(trace, before);
  twin.thread = call->thread;
  twin.api = call->name;
  if (!llmprof_intern_add(&t->kinds, &twin, &number)) return false;
  t->latest[before] = number + 1;
  t->of_op[op] = number;
  return !are_many(t, trace->ops.count) || part(trace);
}

void llmprof_twins_end(llmprof_trace *trace, bool ok) {
  llmprof_twins *t = &trace->narrow.twins;
  for (size_t op = 0; !ok && t->of_op && op < trace->ops.count; op++) {
    llmprof_twin twin = *llmprof_twin_at(trace, t->of_op[op]);
    twin.thread = twin.api = LLMPROF_NONE;
    t->of_op[op] = llmprof_intern_find(&t->kinds, &twin);
  }
  if (!ok) return;
  llmprof_free(t->latest);
  t->latest = NULL;
}

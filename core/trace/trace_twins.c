/* Operations that are alike in their name, their place and the call that
 * launched them are twins: of most traces there are some hundred kinds, so that
 * one number by operation takes the place of four. Where there are too many,
 * each keeps its own. */
#include "base/alloc.h"
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

/* ---- while operations are read ---- */

void llmprof_twins_begin(llmprof_trace *trace) {
  llmprof_intern_init(&trace->narrow.twins.kinds, sizeof(llmprof_twin));
}

/* Where the last kind with a name is noted, as its number and 1. */
static inline uint32_t *latest_of(llmprof_twins *t, uint32_t name) {
  size_t slot = (uint32_t)(name + 1);
  if (slot >= t->latest_count) {
    if (!llmprof_grow(&t->latest, &t->latest_cap, slot + 1, sizeof *t->latest))
      return NULL;
    while (t->latest_count < t->latest_cap) t->latest[t->latest_count++] = 0;
  }
  return &t->latest[slot];
}

/* Apart, so that the common case saves no registers. */
__attribute__((noinline)) static bool
add_kind(llmprof_twins *t, const llmprof_op_row *op, uint32_t *number) {
  const llmprof_twin twin = {op->name, op->place, LLMPROF_NONE, LLMPROF_NONE};
  if (!llmprof_intern_add(&t->kinds, &twin, number)) return false;
  uint32_t *last = latest_of(t, op->name);
  if (last) *last = *number + 1;
  return last != NULL;
}

/* Names and places take the place of numbers, of so many operations. */
static bool give_up(llmprof_builder *b, size_t ops) {
  llmprof_trace *trace = b->trace;
  llmprof_twins *t = &trace->narrow.twins;
  trace->ops.place = llmprof_alloc(b->op_cap, sizeof *trace->ops.place);
  if (!trace->ops.place) return false;
  for (size_t op = 0; op < ops; op++) {
    const llmprof_twin *twin = llmprof_twin_at(trace, t->of_op[op]);
    trace->ops.place[op] = twin->place;
    t->of_op[op] = twin->name;
  }
  trace->ops.name = t->of_op;
  t->of_op = NULL;
  llmprof_twins_free(t);
  trace->narrow.twinned = false;
  return true;
}

/* The last kind with its name is its own nearly always. */
bool llmprof_twins_put(llmprof_builder *b, size_t row,
                       const llmprof_op_row *op) {
  llmprof_twins *t = &b->trace->narrow.twins;
  size_t slot = (uint32_t)(op->name + 1);
  uint32_t last = slot < t->latest_count ? t->latest[slot] : 0;
  if (last && llmprof_twin_at(b->trace, last - 1)->place == op->place) {
    t->of_op[row] = last - 1;
    return true;
  }
  return add_kind(t, op, &t->of_op[row]) &&
         (!are_many(t, row + 1) || give_up(b, row + 1));
}

/* By kind: the last of those that are alike but for the call; none yet. */
bool llmprof_twins_begin_calls(llmprof_twins *t) {
  llmprof_free(t->latest);
  t->latest = llmprof_zalloc(t->kinds.count, sizeof *t->latest);
  t->latest_count = t->latest_cap = t->kinds.count;
  return t->latest != NULL;
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
  t->latest_count = t->latest_cap = 0;
}

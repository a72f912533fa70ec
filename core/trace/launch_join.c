/* A merge join of operations and calls by process and correlation id. Calls of
 * one process come in the order of their ids, as a rule; others are sorted. */
#include "trace/launch_join.h"

#include "frame/sort.h"
#include "llmprof/alloc.h"

/* Process and id as one number; LLMPROF_ABSENT where one of them is not known.
 */
static int64_t key_of(uint32_t process, int64_t id) {
  if (process == LLMPROF_NONE || id == LLMPROF_ABSENT) return LLMPROF_ABSENT;
  return (int64_t)process << 32 | id;
}

typedef struct join {
  const llmprof_trace *trace;
  llmprof_cursor op_id, op_place, call_id;
  int64_t process; /* of all calls, which come in order, in a key; else: */
  int64_t *keys;   /* by call */
  uint32_t *rows;  /* calls in the order of their keys; NULL: as they lie */
  size_t count;    /* calls that have a key */
  int64_t last;    /* key that was looked for, */
  size_t at;       /* and the first call in order whose key is not less */
} join;

static int64_t key_of_op(join *j, size_t op) {
  const llmprof_place *place = llmprof_intern_get(
      &j->trace->places, (uint32_t)llmprof_cursor_at(&j->op_place, op));
  return key_of(place->process, llmprof_cursor_at(&j->op_id, op));
}

/* The key of the n-th call in order. */
static inline int64_t key_at(join *j, size_t n) {
  return j->rows ? j->keys[j->rows[n]]
                 : j->process | llmprof_cursor_at(&j->call_id, n);
}

/* ---- calls in order ---- */

/* Are they, and all of one process? */
static bool calls_ascend(join *j) {
  const llmprof_trace *trace = j->trace;
  llmprof_values_bounds threads, ids;
  if (!llmprof_values_find_bounds(trace->calls.thread, &threads) ||
      !llmprof_values_find_bounds(trace->calls.correlation, &ids) ||
      threads.nulls || threads.low > threads.high || !ids.ascend)
    return false;
  uint32_t process = trace->threads[threads.low].process;
  for (int64_t t = threads.low; t <= threads.high; t++)
    if (trace->threads[t].process != process) return false;
  j->process = key_of(process, 0);
  return true;
}

static bool sort_calls(join *j) {
  const llmprof_trace *trace = j->trace;
  size_t calls = trace->calls.count;
  llmprof_cursor thread;
  llmprof_cursor_open(&thread, trace->calls.thread);
  j->keys = llmprof_alloc(calls, sizeof *j->keys);
  j->rows = llmprof_alloc(calls, sizeof *j->rows);
  if (!j->keys || !j->rows) return false;
  for (size_t call = 0; call < calls; call++) {
    int64_t by = llmprof_cursor_at(&thread, call);
    j->keys[call] = by == LLMPROF_ABSENT
                        ? LLMPROF_ABSENT
                        : key_of(trace->threads[by].process,
                                 llmprof_cursor_at(&j->call_id, call));
    if (j->keys[call] != LLMPROF_ABSENT) j->rows[j->count++] = (uint32_t)call;
  }
  return llmprof_sort_rows_i64(j->rows, j->count, j->keys);
}

/* ---- the join ---- */

enum {
  NEAR = 64 /* calls that are passed one by one */
};

/* The first call in order whose key is not less. */
static size_t search(const join *j, int64_t key) {
  const llmprof_values *ids = j->trace->calls.correlation;
  size_t low = 0, high = j->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    int64_t there = j->rows ? j->keys[j->rows[middle]]
                            : j->process | llmprof_values_get(ids, middle);
    if (there < key)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Mostly a few calls behind the last. */
static size_t find(join *j, int64_t key) {
  size_t end = j->count - j->at < NEAR ? j->count : j->at + NEAR;
  if (key < j->last) return search(j, key);
  for (size_t n = j->at; n < end; n++)
    if (key_at(j, n) >= key) return n;
  return end == j->count ? end : search(j, key);
}

static uint32_t call_of(join *j, int64_t key) {
  j->at = find(j, key);
  j->last = key;
  if (j->at == j->count || key_at(j, j->at) != key) return LLMPROF_NONE;
  return j->rows ? j->rows[j->at] : (uint32_t)j->at;
}

static bool join_all(join *j, llmprof_values *calls) {
  bool ok = true;
  for (size_t op = 0; ok && op < j->trace->ops.count; op++) {
    int64_t key = key_of_op(j, op);
    uint32_t call = key == LLMPROF_ABSENT ? LLMPROF_NONE : call_of(j, key);
    ok = llmprof_values_append(calls, llmprof_widen(call));
  }
  return ok;
}

bool llmprof_launch_join(llmprof_trace *trace) {
  join j = {.trace = trace};
  llmprof_cursor_open(&j.op_id, trace->ops.correlation);
  llmprof_cursor_open(&j.op_place, trace->ops.place);
  llmprof_cursor_open(&j.call_id, trace->calls.correlation);
  bool ordered = calls_ascend(&j);
  if (ordered) j.count = trace->calls.count;
  bool ok =
      (ordered || sort_calls(&j)) && join_all(&j, trace->attribution.call);
  llmprof_free(j.keys);
  llmprof_free(j.rows);
  return ok;
}

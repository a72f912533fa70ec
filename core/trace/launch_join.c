/* A merge join of operations and calls by process and correlation id. Calls of
 * one process come in the order of their ids, as a rule; others are sorted. */
#include "trace/launch_join.h"

#include "base/bisect.h"
#include "base/interrupt.h"
#include "base/thread_pool.h"
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
  const llmprof_place *places;
  llmprof_cursor call_id;
  int64_t process; /* of all calls, which come in order, in a key; else: */
  int64_t *keys;   /* by call */
  uint32_t *rows;  /* calls in the order of their keys; NULL: as they lie */
  size_t count;    /* calls that have a key */
  int64_t last;    /* key that was looked for, */
  size_t at;       /* the first call in order whose key is not less, */
  int64_t there;   /* and its key; INT64_MAX behind all */
} join;

static void go_to(join *j, size_t n) {
  j->at = n;
  if (n == j->count)
    j->there = INT64_MAX;
  else if (j->rows)
    j->there = j->keys[j->rows[n]];
  else
    j->there = j->process | llmprof_cursor_at(&j->call_id, n);
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
  uint32_t process = llmprof_thread_at(trace, (size_t)threads.low)->process;
  for (int64_t t = threads.low; t <= threads.high; t++)
    if (llmprof_thread_at(trace, (size_t)t)->process != process) return false;
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
                        : key_of(llmprof_thread_at(trace, (size_t)by)->process,
                                 llmprof_cursor_at(&j->call_id, call));
    if (j->keys[call] != LLMPROF_ABSENT) j->rows[j->count++] = (uint32_t)call;
  }
  return llmprof_sort_rows_i64(j->rows, j->count, j->keys);
}

/* ---- the join ---- */

enum {
  NEAR = 8 /* calls that are passed one by one */
};

static int64_t key_at(const join *j, size_t n) {
  return j->rows
             ? j->keys[j->rows[n]]
             : j->process | llmprof_values_get(j->trace->calls.correlation, n);
}

/* From the n-th call in order on, the first whose key is not less: by steps
 * that double, then by halves. */
static size_t search(const join *j, size_t n, int64_t key) {
  size_t low = n, high = n;
  for (size_t step = 1; high < j->count && key_at(j, high) < key; step *= 2) {
    low = high + 1;
    high += step;
  }
  if (high > j->count) high = j->count;
  LLMPROF_BISECT(low, high, at, key_at(j, at) < key);
  return low;
}

/* Mostly a few calls behind the last. */
static inline uint32_t call_of(join *j, int64_t key) {
  if (key < j->last) go_to(j, search(j, 0, key));
  for (size_t passed = 0; j->there < key; passed++)
    go_to(j, passed < NEAR ? j->at + 1 : search(j, j->at, key));
  j->last = key;
  if (j->there != key) return LLMPROF_NONE;
  return j->rows ? j->rows[j->at] : (uint32_t)j->at;
}

/* Operations in parts, and a worker's own of a part: by operation, the call
 * that launched it or none. */
typedef struct joining {
  const join *calls;
  uint32_t *found; /* PART by worker */
  uint8_t *launched;
  llmprof_values *call; /* of the trace */
} joining;

enum {
  PART = 1 << 15 /* operations */
};

static size_t end_of(const joining *to, size_t first) {
  size_t left = to->calls->trace->ops.count - first;
  return first + (left < PART ? left : PART);
}

static bool join_part(void *user, size_t worker, size_t part,
                      llmprof_error *err) {
  const joining *to = user;
  join j = *to->calls;
  const llmprof_ops *ops = &j.trace->ops;
  uint32_t *found = to->found + worker * PART;
  size_t end = end_of(to, part * PART);
  go_to(&j, 0);
  for (size_t op = part * PART; op < end; op += LLMPROF_BLOCK) {
    int64_t ids[LLMPROF_BLOCK], places[LLMPROF_BLOCK];
    size_t count = llmprof_block(op, end);
    llmprof_values_read(ops->correlation, op, count, ids);
    llmprof_values_read(ops->place, op, count, places);
    if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
    for (size_t i = 0; i < count; i++) {
      int64_t key = key_of(j.places[places[i]].process, ids[i]);
      *found++ = key == LLMPROF_ABSENT ? LLMPROF_NONE : call_of(&j, key);
    }
  }
  return true;
}

static bool take_part(void *user, size_t worker, size_t part,
                      llmprof_error *err) {
  const joining *to = user;
  const uint32_t *found = to->found + worker * PART;
  size_t count = end_of(to, part * PART) - part * PART;
  for (size_t i = 0; i < count; i++) {
    if (!llmprof_values_append(to->call, llmprof_widen(found[i])))
      return llmprof_fail_nomem(err);
    if (found[i] != LLMPROF_NONE) to->launched[found[i]] = 1;
  }
  return true;
}

static bool join_all(const join *j, uint8_t *launched, llmprof_error *err) {
  size_t ops = j->trace->ops.count, parts = (ops + PART - 1) / PART;
  size_t workers = llmprof_thread_pool_size(parts);
  joining to = {j, llmprof_alloc(workers * PART, sizeof *to.found), launched,
                j->trace->attribution.call};
  const llmprof_parallel_loop loop = {parts, join_part, take_part, &to};
  bool ok = to.found && llmprof_parallel_for(&loop, workers, err) &&
            llmprof_values_end(to.call);
  llmprof_free(to.found);
  return ok;
}

bool llmprof_launch_join(llmprof_trace *trace, uint8_t *launched,
                         llmprof_error *err) {
  size_t places;
  join j = {.trace = trace,
            .places = llmprof_trace_rows(trace, LLMPROF_PLACES, &places)};
  llmprof_cursor_open(&j.call_id, trace->calls.correlation);
  bool ordered = calls_ascend(&j);
  if (ordered) j.count = trace->calls.count;
  bool ok = (ordered || sort_calls(&j)) && join_all(&j, launched, err);
  llmprof_free(j.keys);
  llmprof_free(j.rows);
  return ok;
}

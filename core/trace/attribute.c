/* Which ranges launched which GPU operations, by sweeps instead of joins.
 *
 * 1. Calls sorted by process and correlation id meet operations by galloping
 *    from the last match: both come nearly in order.
 * 2. Per thread, ranges and launching calls are walked in order of time. The
 *    ranges that may still enclose a later call are the open list; those that
 *    enclose the current one form its chain, shared with the call before as
 *    far as they agree.
 * 3. Ranges are walked once for what is around each of them, and it is noted
 *    which are open where a part of the calls begins: so parts can be walked at
 *    once. Where they begin does not depend on how many threads there are. */
#include <string.h>

#include "base/bounds.h"
#include "frame/sort.h"
#include "llmprof/alloc.h"
#include "trace/attribute_sweep.h"
#include "trace/trace_events.h"
#include "trace/trace_gallop.h"

/* ---- rows grouped by a small key ---- */

/* Some of the rows 0..count-1 in buckets by key: bucket k is rows[start[k]]
 * to rows[start[k + 1] - 1], in row order. */
typedef struct buckets {
  uint32_t *rows;
  size_t *start;
  size_t keys;
} buckets;

/* The bucket of a row, LLMPROF_NONE to leave it out. */
typedef uint32_t (*key_function)(const void *user, size_t row);

static void buckets_free(buckets *b) {
  llmprof_free(b->rows);
  llmprof_free(b->start);
}

static bool buckets_fill(buckets *b, size_t count, size_t keys,
                         key_function key, const void *user) {
  *b = (buckets){.keys = keys};
  b->start = llmprof_zalloc(keys + 2, sizeof *b->start);
  if (!b->start) return false;
  size_t *fill = b->start + 1; /* one ahead: ends up as the starts */
  for (size_t row = 0; row < count; row++) {
    uint32_t k = key(user, row);
    if (k != LLMPROF_NONE) fill[k + 1]++;
  }
  for (size_t k = 1; k <= keys; k++) fill[k] += fill[k - 1];
  b->rows = llmprof_alloc(fill[keys], sizeof *b->rows);
  if (!b->rows) return false;
  for (size_t row = 0; row < count; row++) {
    uint32_t k = key(user, row);
    if (k != LLMPROF_NONE) b->rows[fill[k]++] = (uint32_t)row;
  }
  return true;
}

/* ---- operations meet calls ---- */

static uint32_t call_process(const void *user, size_t row) {
  const llmprof_trace *trace = user;
  const llmprof_calls *calls = &trace->calls;
  uint32_t thread = calls->thread[row];
  if (thread == LLMPROF_NONE || calls->correlation[row] == LLMPROF_NONE)
    return LLMPROF_NONE;
  return trace->threads[thread].process;
}

static void match_ops(llmprof_trace *trace, const buckets *calls,
                      size_t *cursor) {
  const llmprof_ops *ops = &trace->ops;
  const llmprof_place *places =
      (const llmprof_place *)(const void *)trace->places.records;
  const uint32_t *correlation = trace->calls.correlation;
  for (size_t op = 0; op < ops->count; op++) {
    uint32_t process = places[ops->place[op]].process;
    uint32_t wanted = ops->correlation[op];
    trace->attribution.call[op] = LLMPROF_NONE;
    if (process == LLMPROF_NONE || wanted == LLMPROF_NONE ||
        process >= calls->keys)
      continue;
    size_t low = calls->start[process], high = calls->start[process + 1];
    size_t at = llmprof_gallop(calls->rows, correlation, low, high,
                               cursor[process], wanted);
    if (at < high && correlation[calls->rows[at]] == wanted)
      trace->attribution.call[op] = calls->rows[at];
    cursor[process] = at;
  }
}

static bool find_calls(llmprof_trace *trace) {
  size_t processes = trace->process_ids.count;
  const llmprof_calls *rows = &trace->calls;
  buckets calls;
  size_t *cursor = llmprof_alloc(processes, sizeof *cursor);
  bool ok = buckets_fill(&calls, rows->count, processes, call_process, trace) &&
            cursor;
  for (size_t p = 0; ok && p < processes; p++) {
    cursor[p] = calls.start[p];
    ok = llmprof_sort_rows_u32(calls.rows + calls.start[p],
                               calls.start[p + 1] - calls.start[p],
                               rows->correlation);
  }
  if (ok) match_ops(trace, &calls, cursor);
  buckets_free(&calls);
  llmprof_free(cursor);
  return ok;
}

/* ---- calls meet ranges ---- */

/* Ranges that overlap without nesting make a chain of all of them around each
 * call: quadratic in the end. So many links are never too many. */
enum {
  MANY_LINKS = 4 << 20
};

static size_t most_links(const llmprof_trace *trace) {
  uint64_t ratio = llmprof_bound_get(LLMPROF_BOUND_RATIO);
  size_t events = trace->ranges.count + llmprof_trace_calls_read(trace);
  return ratio ? MANY_LINKS + events * (size_t)ratio : SIZE_MAX;
}

static void reverse(uint32_t *rows, size_t count) {
  for (size_t a = 0, b = count; a + 1 < b; a++) {
    uint32_t swap = rows[a];
    rows[a] = rows[--b];
    rows[b] = swap;
  }
}

/* By start; of two that start together, the one that ends later is outside,
 * and of two alike the one that was recorded first. */
static bool sort_ranges(const llmprof_ranges *r, uint32_t *rows, size_t count) {
  if (!llmprof_sort_rows_i64(rows, count, r->start)) return false;
  for (size_t i = 0; i < count;) {
    size_t j = i + 1;
    while (j < count && r->start[rows[j]] == r->start[rows[i]]) j++;
    if (j - i > 1) { /* reversed twice, rows alike keep their order */
      reverse(rows + i, j - i);
      if (!llmprof_sort_rows_i64(rows + i, j - i, r->end)) return false;
      reverse(rows + i, j - i);
    }
    i = j;
  }
  return true;
}

/* What lacks a time encloses nothing and lies in nothing. */
static uint32_t range_thread(const void *user, size_t row) {
  const llmprof_sweep *s = user;
  const llmprof_ranges *r = &s->trace->ranges;
  if (r->end_thread[row] != LLMPROF_NONE || r->start[row] == LLMPROF_ABSENT)
    return LLMPROF_NONE;
  return r->thread[row];
}

static uint32_t launch_thread(const void *user, size_t row) {
  const llmprof_sweep *s = user;
  if ((s->launched && !s->launched[row]) ||
      llmprof_launches_start(&s->launches, (uint32_t)row) == LLMPROF_ABSENT ||
      llmprof_launches_end(&s->launches, (uint32_t)row) == LLMPROF_ABSENT)
    return LLMPROF_NONE;
  return s->launches.by_op ? llmprof_launch_thread(s->trace, row)
                           : s->trace->calls.thread[row];
}

/* The thread that launched all that was launched, where that is one, and what
 * was not has no times; else LLMPROF_NONE. */
static uint32_t only_thread(const llmprof_sweep *s) {
  const llmprof_narrow *n = &s->trace->narrow;
  uint32_t only = LLMPROF_NONE;
  if (!s->launches.by_op || !n->twins.of_op || n->launched.start) return only;
  for (size_t i = 0; i < n->twins.kinds.count; i++) {
    uint32_t thread = llmprof_twin_at(s->trace, i)->thread;
    if (thread == LLMPROF_NONE) continue;
    if (only != LLMPROF_NONE && thread != only) return LLMPROF_NONE;
    only = thread;
  }
  return only;
}

/* What a thread called. Where there is only one there are no buckets. */
static bool calls_of(const llmprof_sweep *s, const buckets *calls,
                     size_t thread, llmprof_queue *q) {
  if (calls->start)
    return llmprof_queue_up(&s->launches, q, calls->rows + calls->start[thread],
                            calls->start[thread + 1] - calls->start[thread]);
  *q = thread == s->only ? s->all : (llmprof_queue){0};
  return true;
}

static bool sweep_buckets(llmprof_sweep *s, const buckets *ranges,
                          const buckets *calls) {
  for (size_t t = 0; t < ranges->keys; t++) {
    uint32_t *rows = ranges->rows + ranges->start[t];
    size_t count = ranges->start[t + 1] - ranges->start[t];
    llmprof_queue q;
    if (!sort_ranges(&s->trace->ranges, rows, count) ||
        !calls_of(s, calls, t, &q) || !llmprof_sweep_thread(s, rows, count, &q))
      return false;
  }
  return true;
}

static bool fill_calls(llmprof_sweep *s, buckets *calls) {
  const llmprof_trace *trace = s->trace;
  s->only = only_thread(s);
  if (s->only != LLMPROF_NONE &&
      llmprof_queue_find(&s->launches, &s->all, trace->ops.count))
    return true;
  return buckets_fill(calls,
                      s->launches.by_op ? trace->ops.count : trace->calls.count,
                      trace->thread_ids.count, launch_thread, s);
}

static bool sweep_threads(llmprof_sweep *s) {
  const llmprof_trace *trace = s->trace;
  buckets ranges = {0}, calls = {0};
  bool ok = buckets_fill(&ranges, trace->ranges.count, trace->thread_ids.count,
                         range_thread, s) &&
            fill_calls(s, &calls) && sweep_buckets(s, &ranges, &calls);
  buckets_free(&ranges);
  buckets_free(&calls);
  return ok;
}

/* By call, and from there by operation. */
static bool find_links_of_calls(llmprof_sweep *s) {
  llmprof_trace *trace = s->trace;
  llmprof_attribution *a = &trace->attribution;
  size_t calls = trace->calls.count;
  s->launched = llmprof_zalloc(calls, sizeof *s->launched);
  s->link_of_call = llmprof_alloc(calls, sizeof *s->link_of_call);
  bool ok = s->launched && s->link_of_call;
  for (size_t call = 0; ok && call < calls; call++)
    s->link_of_call[call] = LLMPROF_NONE;
  for (size_t op = 0; ok && op < trace->ops.count; op++)
    if (a->call[op] != LLMPROF_NONE) s->launched[a->call[op]] = 1;
  ok = ok && sweep_threads(s);
  for (size_t op = 0; ok && op < trace->ops.count; op++)
    a->link[op] = a->call[op] == LLMPROF_NONE ? LLMPROF_NONE
                                              : s->link_of_call[a->call[op]];
  llmprof_free(s->launched);
  llmprof_free(s->link_of_call);
  return ok;
}

static bool find_links_of_ops(llmprof_sweep *s) {
  uint32_t *link = s->trace->attribution.link;
  for (size_t op = 0; op < s->trace->ops.count; op++) link[op] = LLMPROF_NONE;
  s->link_of_call = link;
  return sweep_threads(s);
}

static bool find_links(llmprof_trace *trace, llmprof_error *err) {
  llmprof_sweep s = {.trace = trace,
                     .launches = {trace, llmprof_narrow_launches(trace)},
                     .most_links = most_links(trace),
                     .err = err};
  s.filled = llmprof_alloc(trace->ranges.count, sizeof *s.filled);
  bool ok = s.filled && (s.launches.by_op ? find_links_of_ops(&s)
                                          : find_links_of_calls(&s));
  llmprof_free(s.open);
  llmprof_free(s.filled);
  return ok;
}

static bool attribute(llmprof_trace *trace, llmprof_error *err) {
  llmprof_attribution *a = &trace->attribution;
  size_t ops = trace->ops.count, ranges = trace->ranges.count;
  bool narrow = llmprof_narrow_launches(trace);
  if (!narrow) a->call = llmprof_alloc(ops, sizeof *a->call);
  a->link = llmprof_alloc(ops, sizeof *a->link);
  a->parent = llmprof_alloc(ranges, sizeof *a->parent);
  a->level = llmprof_alloc(ranges, sizeof *a->level);
  a->inner = llmprof_alloc(ranges, sizeof *a->inner);
  if ((!narrow && !a->call) || !a->link || !a->parent || !a->level || !a->inner)
    return false;
  for (size_t r = 0; r < ranges; r++) {
    a->parent[r] = a->level[r] = LLMPROF_NONE;
    a->inner[r] = 0;
  }
  return (narrow || find_calls(trace)) && find_links(trace, err);
}

const llmprof_attribution *llmprof_trace_attribution(llmprof_trace *trace,
                                                     llmprof_error *err) {
  if (!llmprof_trace_load(trace, LLMPROF_PART_OPS, err) ||
      !llmprof_trace_load_launching(trace, err) ||
      !llmprof_trace_ranges(trace, err))
    return NULL;
  if (trace->attributed) return &trace->attribution;
  llmprof_error why = {0};
  trace->attributed = llmprof_image_take(trace, LLMPROF_PIECE_ATTRIBUTION) ||
                      attribute(trace, &why);
  if (trace->attributed) return &trace->attribution;
  llmprof_attribution_free(&trace->attribution);
  if (why.code && err) *err = why;
  if (!why.code) llmprof_fail_nomem(err);
  return NULL;
}

bool llmprof_trace_load_links(llmprof_trace *trace, llmprof_error *err) {
  if (!trace->attributed && trace->image.pieces[LLMPROF_PIECE_ATTRIBUTION] &&
      llmprof_trace_ranges(trace, err))
    trace->attributed = llmprof_image_take(trace, LLMPROF_PIECE_ATTRIBUTION);
  return trace->attributed || llmprof_trace_attribution(trace, err);
}

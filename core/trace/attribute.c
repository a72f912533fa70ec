/* Which ranges launched which GPU operations, by sweeps instead of joins.
 *
 * 1. Calls sorted by process and correlation id meet operations by galloping
 *    from the last match: both come nearly in order.
 * 2. Per thread, ranges and launching calls are walked in order of time. The
 *    ranges that may still enclose a later call are the open list; those that
 *    enclose the current one form its chain, shared with the call before as
 *    far as they agree. */
#include <string.h>

#include "frame/sort.h"
#include "llmprof/alloc.h"
#include "llmprof/bounds.h"
#include "trace/trace_gallop.h"
#include "trace/trace_internal.h"

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

/* A range that may enclose calls still to come, and its link in the chain of
 * the call before (LLMPROF_NONE if it was not in it). */
typedef struct open_range {
  uint32_t range;
  uint32_t link, outer; /* links[link].outer == outer, for reuse */
} open_range;

enum {
  STRETCHES = 16 /* more are sorted */
};

/* Calls by start, from a few stretches in which they are. */
typedef struct queue {
  const uint32_t *rows; /* NULL: all that have times, as they lie */
  size_t at[STRETCHES], end[STRETCHES], count;
  int64_t start[STRETCHES]; /* of the row at each */
} queue;

typedef struct sweep {
  llmprof_trace *trace;
  bool by_op;    /* calls are numbered by the operation that they launched */
  uint32_t only; /* thread that made all calls, or LLMPROF_NONE; */
  queue all;     /* then these */
  uint8_t *launches; /* by call: 1 if it launched an operation; NULL: all did */
  uint32_t *link_of_call; /* for those, the chain or LLMPROF_NONE */
  open_range *open;       /* by start */
  size_t open_count, open_cap;
  bool nested;     /* every open range lies within the one before it */
  bool changed;    /* since the last chain was made */
  int64_t min_end; /* of the open ranges */
  uint32_t last;   /* the last chain */
  int64_t *filled; /* by range: until when ranges in it reach */
  size_t link_cap, most_links;
  llmprof_watch watch;
  llmprof_error *err; /* filled when it stops for want of anything but memory */
} sweep;

static inline int64_t start_of(const sweep *s, uint32_t call) {
  return s->by_op ? llmprof_narrow_start(s->trace, call)
                  : s->trace->calls.start[call];
}

static inline int64_t end_of(const sweep *s, uint32_t call) {
  return s->by_op ? llmprof_narrow_end_of(s->trace, call)
                  : s->trace->calls.end[call];
}

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

static bool goes_on(sweep *s, size_t work) {
  return llmprof_watch_go_on(&s->watch, work, llmprof_trace_path(s->trace),
                             s->err);
}

static bool add_link(sweep *s, uint32_t range, uint32_t outer, uint32_t *link) {
  llmprof_attribution *a = &s->trace->attribution;
  if (a->link_count >= s->most_links)
    return llmprof_fail_bound(s->err, llmprof_trace_path(s->trace),
                              LLMPROF_BOUND_RATIO);
  if (a->link_count >= UINT32_MAX - 1 ||
      !llmprof_grow(&a->links, &s->link_cap, a->link_count + 1,
                    sizeof *a->links))
    return false;
  a->links[a->link_count] = (llmprof_link){range, outer};
  *link = (uint32_t)a->link_count++;
  return true;
}

/* Forget ranges that ended before `now`. In a nested list those are on top. */
static void close_ended(sweep *s, int64_t now) {
  const int64_t *end = s->trace->ranges.end;
  if (s->min_end >= now) return;
  size_t kept = 0;
  int64_t min_end = INT64_MAX;
  for (size_t i = 0; i < s->open_count; i++) {
    int64_t e = end[s->open[i].range];
    if (e < now) continue;
    s->open[kept++] = s->open[i];
    if (e < min_end) min_end = e;
  }
  s->changed = true;
  s->open_count = kept;
  s->min_end = min_end;
  if (!kept) s->nested = true;
}

/* As close_ended, at the cost of what is closed only. */
static void pop_ended(sweep *s, int64_t now) {
  const int64_t *end = s->trace->ranges.end;
  if (!s->nested) {
    close_ended(s, now);
    return;
  }
  while (s->open_count && end[s->open[s->open_count - 1].range] < now) {
    s->open_count--;
    s->changed = true;
  }
  s->min_end =
      s->open_count ? end[s->open[s->open_count - 1].range] : INT64_MAX;
}

/* Of a range that ends after it starts; without overflow. */
static uint64_t length_of(const llmprof_ranges *r, uint32_t range) {
  return (uint64_t)r->end[range] - (uint64_t)r->start[range];
}

/* The tightest open range around `range`: the shortest that reaches as far. */
static uint32_t find_parent(const sweep *s, uint32_t range) {
  const llmprof_ranges *r = &s->trace->ranges;
  uint32_t best = LLMPROF_NONE;
  for (size_t i = s->open_count; i-- > 0;) {
    uint32_t candidate = s->open[i].range;
    if (r->end[candidate] < r->end[range]) continue;
    if (best == LLMPROF_NONE || length_of(r, candidate) < length_of(r, best))
      best = candidate;
    if (s->nested) break; /* all others are longer */
  }
  return best;
}

/* The part of the parent that is in `range` and not in one before it. Ranges
 * come by start. */
static void fill_parent(sweep *s, uint32_t range, uint32_t parent) {
  const llmprof_ranges *r = &s->trace->ranges;
  int64_t from = r->start[range], end = r->end[range];
  if (s->filled[parent] > from) from = s->filled[parent];
  if (end <= from) return;
  s->trace->attribution.inner[parent] += (uint64_t)end - (uint64_t)from;
  s->filled[parent] = end;
}

static bool open_one(sweep *s, uint32_t range) {
  const llmprof_ranges *r = &s->trace->ranges;
  llmprof_attribution *a = &s->trace->attribution;
  if (!goes_on(s, s->nested ? 1 : s->open_count)) return false;
  pop_ended(s, r->start[range]);
  uint32_t parent = find_parent(s, range);
  a->parent[range] = parent;
  a->level[range] = parent == LLMPROF_NONE ? 0 : a->level[parent] + 1;
  s->filled[range] = r->start[range];
  if (parent != LLMPROF_NONE) fill_parent(s, range, parent);
  if (!llmprof_grow(&s->open, &s->open_cap, s->open_count + 1, sizeof *s->open))
    return false;
  if (s->open_count) {
    uint32_t top = s->open[s->open_count - 1].range;
    if (r->end[range] > r->end[top]) s->nested = false;
  }
  s->open[s->open_count++] = (open_range){range, LLMPROF_NONE, LLMPROF_NONE};
  if (r->end[range] < s->min_end) s->min_end = r->end[range];
  s->changed = true;
  return true;
}

/* Make the chain of the ranges that reach to `end`. */
static bool make_chain(sweep *s, int64_t end, uint32_t *chain) {
  uint32_t outer = LLMPROF_NONE;
  for (size_t i = 0; i < s->open_count; i++) {
    open_range *o = &s->open[i];
    if (s->trace->ranges.end[o->range] < end) continue;
    if (o->link == LLMPROF_NONE || o->outer != outer) {
      if (!add_link(s, o->range, outer, &o->link)) return false;
      o->outer = outer;
    }
    outer = o->link;
  }
  *chain = outer;
  return true;
}

static bool place_call(sweep *s, uint32_t call, int64_t start) {
  int64_t end = end_of(s, call);
  if (!goes_on(s, s->nested && !s->changed ? 1 : s->open_count)) return false;
  pop_ended(s, start);
  if (s->min_end < end) { /* not all of them enclose it */
    s->changed = true;
    return make_chain(s, end, &s->link_of_call[call]);
  }
  if (s->changed && !make_chain(s, end, &s->last)) return false;
  s->changed = false;
  s->link_of_call[call] = s->last;
  return true;
}

/* ---- calls by start ---- */

static inline uint32_t row_at(const queue *q, size_t at) {
  return q->rows ? q->rows[at] : (uint32_t)at;
}

/* False when there are too many. */
static bool begin_stretch(queue *q, size_t at, int64_t start) {
  if (q->count == STRETCHES) return false;
  q->at[q->count] = at;
  q->start[q->count++] = start;
  return true;
}

static bool find_stretches(const sweep *s, queue *q, size_t count) {
  int64_t before = INT64_MAX;
  q->count = 0;
  for (size_t i = 0; i < count; i++) {
    int64_t start = start_of(s, row_at(q, i));
    if (start == LLMPROF_ABSENT) continue;
    if ((start < before || !q->count) && !begin_stretch(q, i, start))
      return false;
    q->end[q->count - 1] = i + 1;
    before = start;
  }
  return true;
}

static bool sort_calls(const sweep *s, uint32_t *rows, size_t count) {
  if (!s->by_op)
    return llmprof_sort_rows_i64(rows, count, s->trace->calls.start);
  size_t ops = s->trace->ops.count;
  int64_t *starts = llmprof_alloc(ops, sizeof *starts);
  for (size_t i = 0; starts && i < count; i++)
    starts[rows[i]] = start_of(s, rows[i]);
  bool ok = starts && llmprof_sort_rows_i64(rows, count, starts);
  llmprof_free(starts);
  return ok;
}

static bool queue_up(const sweep *s, queue *q, uint32_t *rows, size_t count) {
  q->rows = rows;
  return find_stretches(s, q, count) ||
         (sort_calls(s, rows, count) && find_stretches(s, q, count));
}

/* The stretch that has the next call. */
static size_t first_of(const queue *q) {
  size_t best = 0;
  for (size_t i = 1; i < q->count; i++)
    if (q->start[i] < q->start[best]) best = i;
  return best;
}

/* The next call and its start; false at the end. */
static bool next_call(const sweep *s, queue *q, uint32_t *call,
                      int64_t *start) {
  if (!q->count) return false;
  size_t best = first_of(q);
  *call = row_at(q, q->at[best]);
  *start = q->start[best];
  while (++q->at[best] < q->end[best]) {
    q->start[best] = start_of(s, row_at(q, q->at[best]));
    if (q->start[best] != LLMPROF_ABSENT) return true;
  }
  q->count--;
  for (size_t i = best; i < q->count; i++) {
    q->at[i] = q->at[i + 1];
    q->end[i] = q->end[i + 1];
    q->start[i] = q->start[i + 1];
  }
  return true;
}

/* Calls of operations that lie one behind the other, and are within the same
 * ranges as the one before, up to when the next range opens or another stretch
 * has one: nearly all are. The last of a stretch is left. */
static size_t take_alike(sweep *s, queue *q, int64_t opens) {
  const llmprof_launched *l = &s->trace->narrow.launched;
  const int64_t *starts = s->trace->ops.start;
  size_t best = first_of(q), at = q->at[best], end = q->end[best] - 1;
  for (size_t i = 0; i < q->count; i++)
    if (i != best && q->start[i] < opens) opens = q->start[i];
  for (; at < end; at++) {
    if (l->took[at] == UINT32_MAX) continue;
    int64_t start = starts[at] + LLMPROF_SOONEST - (int64_t)l->delay[at];
    if (start >= opens || start > s->min_end ||
        l->took[at] > (uint64_t)s->min_end - (uint64_t)start)
      break;
    s->link_of_call[at] = s->last;
  }
  size_t taken = at - q->at[best];
  q->at[best] = at;
  q->start[best] = llmprof_narrow_start(s->trace, at);
  return taken;
}

/* Ranges of one thread, sorted by start, and launching calls. */
static bool sweep_thread(sweep *s, const uint32_t *ranges, size_t range_count,
                         queue *calls) {
  const llmprof_ranges *r = &s->trace->ranges;
  uint32_t call;
  int64_t start;
  s->open_count = 0;
  s->nested = true;
  s->changed = true;
  s->min_end = INT64_MAX;
  size_t next = 0;
  while (next_call(s, calls, &call, &start)) {
    while (next < range_count && r->start[ranges[next]] <= start) {
      if (!open_one(s, ranges[next++])) return false;
    }
    if (!place_call(s, call, start)) return false;
    if (s->changed || calls->rows || !calls->count) continue;
    if (!goes_on(s, take_alike(s, calls,
                               next < range_count ? r->start[ranges[next]]
                                                  : INT64_MAX)))
      return false;
  }
  while (next < range_count) { /* they still get their parents */
    if (!open_one(s, ranges[next++])) return false;
  }
  return true;
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
  const sweep *s = user;
  const llmprof_ranges *r = &s->trace->ranges;
  if (r->end_thread[row] != LLMPROF_NONE || r->start[row] == LLMPROF_ABSENT)
    return LLMPROF_NONE;
  return r->thread[row];
}

static uint32_t launch_thread(const void *user, size_t row) {
  const sweep *s = user;
  if ((s->launches && !s->launches[row]) ||
      start_of(s, (uint32_t)row) == LLMPROF_ABSENT ||
      end_of(s, (uint32_t)row) == LLMPROF_ABSENT)
    return LLMPROF_NONE;
  return s->by_op ? llmprof_launch_thread(s->trace, row)
                  : s->trace->calls.thread[row];
}

/* The thread that launched all that was launched, where that is one, and what
 * was not has no times; else LLMPROF_NONE. */
static uint32_t only_thread(const sweep *s) {
  const llmprof_narrow *n = &s->trace->narrow;
  uint32_t only = LLMPROF_NONE;
  if (!s->by_op || !n->twins.of_op || n->launched.start) return only;
  for (size_t i = 0; i < n->twins.kinds.count; i++) {
    uint32_t thread = llmprof_twin_at(s->trace, i)->thread;
    if (thread == LLMPROF_NONE) continue;
    if (only != LLMPROF_NONE && thread != only) return LLMPROF_NONE;
    only = thread;
  }
  return only;
}

/* What a thread called. Where there is only one there are no buckets. */
static bool calls_of(const sweep *s, const buckets *calls, size_t thread,
                     queue *q) {
  if (calls->start)
    return queue_up(s, q, calls->rows + calls->start[thread],
                    calls->start[thread + 1] - calls->start[thread]);
  *q = thread == s->only ? s->all : (queue){0};
  return true;
}

static bool sweep_buckets(sweep *s, const buckets *ranges,
                          const buckets *calls) {
  for (size_t t = 0; t < ranges->keys; t++) {
    uint32_t *rows = ranges->rows + ranges->start[t];
    size_t count = ranges->start[t + 1] - ranges->start[t];
    queue q;
    if (!sort_ranges(&s->trace->ranges, rows, count) ||
        !calls_of(s, calls, t, &q) || !sweep_thread(s, rows, count, &q))
      return false;
  }
  return true;
}

static bool fill_calls(sweep *s, buckets *calls) {
  const llmprof_trace *trace = s->trace;
  s->only = only_thread(s);
  if (s->only != LLMPROF_NONE && find_stretches(s, &s->all, trace->ops.count))
    return true;
  return buckets_fill(calls, s->by_op ? trace->ops.count : trace->calls.count,
                      trace->thread_ids.count, launch_thread, s);
}

static bool sweep_threads(sweep *s) {
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
static bool find_links_of_calls(sweep *s) {
  llmprof_trace *trace = s->trace;
  llmprof_attribution *a = &trace->attribution;
  size_t calls = trace->calls.count;
  s->launches = llmprof_zalloc(calls, sizeof *s->launches);
  s->link_of_call = llmprof_alloc(calls, sizeof *s->link_of_call);
  bool ok = s->launches && s->link_of_call;
  for (size_t call = 0; ok && call < calls; call++)
    s->link_of_call[call] = LLMPROF_NONE;
  for (size_t op = 0; ok && op < trace->ops.count; op++)
    if (a->call[op] != LLMPROF_NONE) s->launches[a->call[op]] = 1;
  ok = ok && sweep_threads(s);
  for (size_t op = 0; ok && op < trace->ops.count; op++)
    a->link[op] = a->call[op] == LLMPROF_NONE ? LLMPROF_NONE
                                              : s->link_of_call[a->call[op]];
  llmprof_free(s->launches);
  llmprof_free(s->link_of_call);
  return ok;
}

static bool find_links_of_ops(sweep *s) {
  uint32_t *link = s->trace->attribution.link;
  for (size_t op = 0; op < s->trace->ops.count; op++) link[op] = LLMPROF_NONE;
  s->link_of_call = link;
  return sweep_threads(s);
}

static bool find_links(llmprof_trace *trace, llmprof_error *err) {
  sweep s = {.trace = trace,
             .by_op = llmprof_narrow_launches(trace),
             .most_links = most_links(trace),
             .err = err};
  s.filled = llmprof_alloc(trace->ranges.count, sizeof *s.filled);
  bool ok =
      s.filled && (s.by_op ? find_links_of_ops(&s) : find_links_of_calls(&s));
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

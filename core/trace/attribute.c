/* Which ranges launched which GPU operations, by sweeps instead of joins.
 *
 * 1. Calls and operations meet by process and correlation id (launch_join.c).
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
#include "trace/launch_join.h"

/* ---- rows grouped by a small key ---- */

/* Some of the rows 0..count-1 in buckets by key: bucket k is rows[start[k]]
 * to rows[start[k + 1] - 1], in row order. */
typedef struct buckets {
  uint32_t *rows;
  size_t *start;
  size_t keys;
} buckets;

/* The buckets of some rows, LLMPROF_NONE to leave one out. */
typedef void (*key_function)(const llmprof_sweep *s, size_t first, size_t count,
                             uint32_t *keys);

static void buckets_free(buckets *b) {
  llmprof_free(b->rows);
  llmprof_free(b->start);
}

static bool buckets_fill(buckets *b, size_t count, const llmprof_sweep *s,
                         key_function key) {
  uint32_t k[LLMPROF_BLOCK];
  size_t keys = s->trace->thread_ids.count;
  *b = (buckets){.keys = keys};
  b->start = llmprof_zalloc(keys + 2, sizeof *b->start);
  if (!b->start) return false;
  size_t *fill = b->start + 1; /* one ahead: ends up as the starts */
  for (size_t row = 0; row < count; row += LLMPROF_BLOCK) {
    size_t some = llmprof_block(row, count);
    key(s, row, some, k);
    for (size_t i = 0; i < some; i++)
      if (k[i] != LLMPROF_NONE) fill[k[i] + 1]++;
  }
  for (size_t t = 1; t <= keys; t++) fill[t] += fill[t - 1];
  b->rows = llmprof_alloc(fill[keys], sizeof *b->rows);
  if (!b->rows) return false;
  for (size_t row = 0; row < count; row += LLMPROF_BLOCK) {
    size_t some = llmprof_block(row, count);
    key(s, row, some, k);
    for (size_t i = 0; i < some; i++)
      if (k[i] != LLMPROF_NONE) b->rows[fill[k[i]]++] = (uint32_t)(row + i);
  }
  return true;
}

/* ---- calls meet ranges ---- */

/* Ranges that overlap without nesting make a chain of all of them around each
 * call: quadratic in the end. So many links are never too many. */
enum {
  MANY_LINKS = 4 << 20
};

static size_t most_links(const llmprof_trace *trace) {
  uint64_t ratio = llmprof_bound_get(LLMPROF_BOUND_RATIO);
  size_t events = trace->ranges.count + trace->calls.count;
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
static void range_threads(const llmprof_sweep *s, size_t first, size_t count,
                          uint32_t *keys) {
  const llmprof_ranges *r = &s->trace->ranges;
  for (size_t i = 0, row = first; i < count; i++, row++)
    keys[i] =
        r->end_thread[row] != LLMPROF_NONE || r->start[row] == LLMPROF_ABSENT
            ? LLMPROF_NONE
            : r->thread[row];
}

/* Of calls that launched: who made them. A start alone encloses nothing. */
static void launch_threads(const llmprof_sweep *s, size_t first, size_t count,
                           uint32_t *keys) {
  int64_t duration[LLMPROF_BLOCK], thread[LLMPROF_BLOCK];
  llmprof_values_read(s->trace->calls.duration, first, count, duration);
  llmprof_values_read(s->trace->calls.thread, first, count, thread);
  for (size_t i = 0; i < count; i++)
    keys[i] = s->launched[first + i] && duration[i] != LLMPROF_ABSENT
                  ? llmprof_u32(thread[i])
                  : LLMPROF_NONE;
}

static bool sweep_buckets(llmprof_sweep *s, const buckets *ranges,
                          const buckets *calls) {
  for (size_t t = 0; t < ranges->keys; t++) {
    uint32_t *rows = ranges->rows + ranges->start[t];
    size_t count = ranges->start[t + 1] - ranges->start[t];
    llmprof_queue q;
    if (!sort_ranges(&s->trace->ranges, rows, count) ||
        !llmprof_queue_up(s->trace, &q, calls->rows + calls->start[t],
                          calls->start[t + 1] - calls->start[t]) ||
        !llmprof_sweep_thread(s, rows, count, &q))
      return false;
  }
  return true;
}

static bool sweep_threads(llmprof_sweep *s) {
  const llmprof_trace *trace = s->trace;
  buckets ranges = {0}, calls = {0};
  bool ok = buckets_fill(&ranges, trace->ranges.count, s, range_threads) &&
            buckets_fill(&calls, trace->calls.count, s, launch_threads) &&
            sweep_buckets(s, &ranges, &calls);
  buckets_free(&ranges);
  buckets_free(&calls);
  return ok;
}

static void mark_launched(llmprof_sweep *s) {
  const llmprof_trace *trace = s->trace;
  int64_t call[LLMPROF_BLOCK];
  for (size_t c = 0; c < trace->calls.count; c++)
    s->link_of_call[c] = LLMPROF_NONE;
  for (size_t op = 0; op < trace->ops.count; op += LLMPROF_BLOCK) {
    size_t count = llmprof_block(op, trace->ops.count);
    llmprof_values_read(trace->attribution.call, op, count, call);
    for (size_t i = 0; i < count; i++)
      if (call[i] != LLMPROF_ABSENT) s->launched[call[i]] = 1;
  }
}

static void hand_on_links(const llmprof_sweep *s) {
  const llmprof_attribution *a = &s->trace->attribution;
  size_t ops = s->trace->ops.count;
  int64_t call[LLMPROF_BLOCK];
  for (size_t op = 0; op < ops; op += LLMPROF_BLOCK) {
    size_t count = llmprof_block(op, ops);
    llmprof_values_read(a->call, op, count, call);
    for (size_t i = 0; i < count; i++)
      a->link[op + i] =
          call[i] == LLMPROF_ABSENT ? LLMPROF_NONE : s->link_of_call[call[i]];
  }
}

/* By call, and from there by operation. */
static bool find_links(llmprof_trace *trace, llmprof_error *err) {
  size_t calls = trace->calls.count;
  llmprof_sweep s = {
      .trace = trace, .most_links = most_links(trace), .err = err};
  s.filled = llmprof_alloc(trace->ranges.count, sizeof *s.filled);
  s.launched = llmprof_zalloc(calls, sizeof *s.launched);
  s.link_of_call = llmprof_alloc(calls, sizeof *s.link_of_call);
  bool ok = s.filled && s.launched && s.link_of_call;
  if (ok) mark_launched(&s);
  ok = ok && sweep_threads(&s);
  if (ok) hand_on_links(&s);
  llmprof_free(s.launched);
  llmprof_free(s.link_of_call);
  llmprof_free(s.open);
  llmprof_free(s.filled);
  return ok;
}

static bool attribute(llmprof_trace *trace, llmprof_error *err) {
  llmprof_attribution *a = &trace->attribution;
  size_t ranges = trace->ranges.count;
  a->link = llmprof_alloc(trace->ops.count, sizeof *a->link);
  a->parent = llmprof_alloc(ranges, sizeof *a->parent);
  a->level = llmprof_alloc(ranges, sizeof *a->level);
  a->inner = llmprof_alloc(ranges, sizeof *a->inner);
  if (!a->link || !a->parent || !a->level || !a->inner) return false;
  for (size_t r = 0; r < ranges; r++) {
    a->parent[r] = a->level[r] = LLMPROF_NONE;
    a->inner[r] = 0;
  }
  return llmprof_columns_begin(trace, LLMPROF_PIECE_ATTRIBUTION) &&
         llmprof_launch_join(trace) &&
         llmprof_columns_end(trace, LLMPROF_PIECE_ATTRIBUTION) &&
         find_links(trace, err);
}

const llmprof_attribution *llmprof_trace_attribution(llmprof_trace *trace,
                                                     llmprof_error *err) {
  if (!llmprof_trace_load(trace, LLMPROF_PART_OPS, err) ||
      !llmprof_trace_load(trace, LLMPROF_PART_CALLS, err) ||
      !llmprof_trace_ranges(trace, err))
    return NULL;
  if (trace->attributed) return &trace->attribution;
  llmprof_error why = {0};
  trace->attributed = llmprof_snapshot_take(trace, LLMPROF_PIECE_ATTRIBUTION) ||
                      attribute(trace, &why);
  if (trace->attributed) return &trace->attribution;
  llmprof_attribution_free(trace);
  if (why.code && err) *err = why;
  if (!why.code) llmprof_fail_nomem(err);
  return NULL;
}

bool llmprof_trace_load_links(llmprof_trace *trace, llmprof_error *err) {
  if (!trace->attributed && trace->snapshot.pieces[LLMPROF_PIECE_ATTRIBUTION] &&
      llmprof_trace_ranges(trace, err))
    trace->attributed = llmprof_snapshot_take(trace, LLMPROF_PIECE_ATTRIBUTION);
  return trace->attributed || llmprof_trace_attribution(trace, err);
}

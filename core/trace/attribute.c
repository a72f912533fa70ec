/* Which ranges launched which GPU operations, by sweeps instead of joins.
 *
 * 1. Calls and operations meet by process and correlation id (launch_join.c).
 * 2. Per thread, ranges and launching calls are walked in order of time. The
 *    ranges that may still enclose a later call are the open list: there is
 *    what is around the next range. Those that enclose a call form its chain,
 *    shared with the call before as far as they agree. */

#include "base/alloc.h"
#include "base/bounds.h"
#include "frame/sort.h"
#include "trace/attribute_sweep.h"
#include "trace/launch_join.h"

/* ---- rows grouped by a small key ---- */

/* Some of the rows 0..count-1 that have a key, in row order. */
typedef struct bucket {
  uint32_t *rows;
  size_t count, cap;
} bucket;

/* The buckets of some rows, LLMPROF_NONE to leave one out. */
typedef void (*key_function)(const llmprof_sweep *s, size_t first, size_t count,
                             uint32_t *keys);

static void buckets_free(bucket *b, size_t keys) {
  for (size_t k = 0; b && k < keys; k++) llmprof_free(b[k].rows);
  llmprof_free(b);
}

static bool bucket_add(bucket *b, size_t row) {
  if (b->count == b->cap &&
      !llmprof_grow(&b->rows, &b->cap, b->count + 1, sizeof *b->rows))
    return false;
  b->rows[b->count++] = (uint32_t)row;
  return true;
}

/* One for each thread; NULL when out of memory. */
static bucket *buckets_fill(size_t count, const llmprof_sweep *s,
                            key_function key) {
  uint32_t k[LLMPROF_BLOCK];
  size_t keys = s->trace->rows[LLMPROF_THREADS].count;
  bucket *made = llmprof_zalloc(keys, sizeof *made);
  bool ok = made != NULL;
  for (size_t row = 0; ok && row < count; row += LLMPROF_BLOCK) {
    size_t some = llmprof_block(row, count);
    key(s, row, some, k);
    for (size_t i = 0; ok && i < some; i++)
      ok = k[i] == LLMPROF_NONE || bucket_add(&made[k[i]], row + i);
  }
  if (ok) return made;
  buckets_free(made, keys);
  return NULL;
}

/* ---- calls meet ranges ---- */

/* Ranges that overlap without nesting make a chain of all of them around each
 * call: quadratic in the end. This number of links is never too large. */
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
static bool sort_ranges(const llmprof_sweep *s, uint32_t *rows, size_t count) {
  if (!llmprof_sort_rows_i64(rows, count, s->start)) return false;
  for (size_t i = 0; i < count;) {
    size_t j = i + 1;
    while (j < count && s->start[rows[j]] == s->start[rows[i]]) j++;
    if (j - i > 1) { /* reversed twice, rows alike keep their order */
      reverse(rows + i, j - i);
      if (!llmprof_sort_rows_i64(rows + i, j - i, s->end)) return false;
      reverse(rows + i, j - i);
    }
    i = j;
  }
  return true;
}

/* By start, as those of one API mostly lie. */
static bool sort_calls(const llmprof_trace *trace, uint32_t *rows,
                       size_t count) {
  int64_t start[LLMPROF_BLOCK], last = INT64_MIN;
  bool ascend = true;
  llmprof_values_bounds all;
  if (llmprof_values_find_bounds(trace->calls.start, &all) && all.ascend)
    return true;
  for (size_t first = 0; ascend && first < count; first += LLMPROF_BLOCK) {
    size_t some = llmprof_block(first, count);
    llmprof_values_gather(trace->calls.start, rows + first, some, start);
    for (size_t i = 0; i < some; i++) {
      ascend &= start[i] >= last;
      last = start[i];
    }
  }
  if (ascend) return true;
  int64_t *starts = llmprof_values_all(trace->calls.start);
  bool ok = starts && llmprof_sort_rows_i64(rows, count, starts);
  llmprof_free(starts);
  return ok;
}

/* What lacks a time encloses nothing and lies in nothing. */
static void range_threads(const llmprof_sweep *s, size_t first, size_t count,
                          uint32_t *keys) {
  const llmprof_ranges *r = &s->trace->ranges;
  int64_t thread[LLMPROF_BLOCK], end_thread[LLMPROF_BLOCK];
  llmprof_values_read(r->thread, first, count, thread);
  llmprof_values_read(r->end_thread, first, count, end_thread);
  for (size_t i = 0; i < count; i++)
    keys[i] =
        end_thread[i] != LLMPROF_ABSENT || s->start[first + i] == LLMPROF_ABSENT
            ? LLMPROF_NONE
            : llmprof_u32(thread[i]);
}

/* Of calls that launched: who made them. */
static void launch_threads(const llmprof_sweep *s, size_t first, size_t count,
                           uint32_t *keys) {
  int64_t thread[LLMPROF_BLOCK];
  llmprof_values_read(s->trace->calls.thread, first, count, thread);
  for (size_t i = 0; i < count; i++)
    keys[i] = s->launched[first + i] ? llmprof_u32(thread[i]) : LLMPROF_NONE;
}

static bool sweep_thread(llmprof_sweep *s, const bucket *ranges,
                         const bucket *calls) {
  return sort_ranges(s, ranges->rows, ranges->count) &&
         sort_calls(s->trace, calls->rows, calls->count) &&
         llmprof_sweep_thread(s, ranges->rows, ranges->count, calls->rows,
                              calls->count);
}

static bool sweep_threads(llmprof_sweep *s) {
  const llmprof_trace *trace = s->trace;
  size_t threads = trace->rows[LLMPROF_THREADS].count;
  bucket *ranges = buckets_fill(trace->ranges.count, s, range_threads);
  bucket *calls = buckets_fill(trace->calls.count, s, launch_threads);
  bool ok = ranges && calls;
  for (size_t t = 0; ok && t < threads; t++)
    ok = sweep_thread(s, &ranges[t], &calls[t]);
  buckets_free(ranges, threads);
  buckets_free(calls, threads);
  return ok;
}

static void mark_launched(llmprof_sweep *s) {
  const llmprof_trace *trace = s->trace;
  int64_t call[LLMPROF_BLOCK];
  for (size_t op = 0; op < trace->ops.count; op += LLMPROF_BLOCK) {
    size_t count = llmprof_block(op, trace->ops.count);
    llmprof_values_read(trace->attribution.call, op, count, call);
    for (size_t i = 0; i < count; i++) {
      if (call[i] == LLMPROF_ABSENT) continue;
      s->launched[call[i]] = 1;
      s->link_of_call[call[i]] = LLMPROF_NONE;
    }
  }
}

/* ---- what was found, as columns ---- */

static bool put_links_of_ops(const llmprof_sweep *s) {
  const llmprof_attribution *a = &s->trace->attribution;
  int64_t call[LLMPROF_BLOCK];
  bool ok = true;
  for (size_t op = 0; ok && op < s->trace->ops.count; op += LLMPROF_BLOCK) {
    size_t count = llmprof_block(op, s->trace->ops.count);
    llmprof_values_read(a->call, op, count, call);
    for (size_t i = 0; ok && i < count; i++)
      ok = llmprof_values_append(a->link,
                                 call[i] == LLMPROF_ABSENT
                                     ? LLMPROF_ABSENT
                                     : llmprof_widen(s->link_of_call[call[i]]));
  }
  return ok;
}

static bool put_links(const llmprof_found *found, llmprof_attribution *a) {
  a->link_count = found->link_count;
  bool ok = true;
  for (size_t l = 0; ok && l < found->link_count; l++)
    ok = llmprof_values_append(a->range, found->links[l].range) &&
         llmprof_values_append(a->outer, llmprof_widen(found->links[l].outer));
  return ok;
}

/* Its duration without the ranges in it. */
static int64_t self_of(const llmprof_sweep *s, size_t range) {
  if (s->found->level[range] == LLMPROF_NONE) return LLMPROF_ABSENT;
  uint64_t length = (uint64_t)s->end[range] - (uint64_t)s->start[range];
  uint64_t self = length - s->found->inner[range];
  return self > INT64_MAX ? INT64_MAX : (int64_t)self;
}

static bool put_ranges(const llmprof_sweep *s, llmprof_attribution *a) {
  const llmprof_found *found = s->found;
  bool ok = true;
  for (size_t r = 0; ok && r < s->trace->ranges.count; r++)
    ok = llmprof_values_append(a->parent, llmprof_widen(found->parent[r])) &&
         llmprof_values_append(a->level, llmprof_widen(found->level[r])) &&
         llmprof_values_append(a->self, self_of(s, r));
  return ok;
}

static bool sweep(llmprof_sweep *s, llmprof_attribution *a) {
  for (size_t r = 0; r < s->trace->ranges.count; r++) {
    s->found->parent[r] = s->found->level[r] = LLMPROF_NONE;
    s->found->inner[r] = 0;
  }
  mark_launched(s);
  return sweep_threads(s) && put_links_of_ops(s) && put_links(s->found, a) &&
         put_ranges(s, a);
}

/* By call, and from there by operation. */
static bool find_links(llmprof_trace *trace, llmprof_error *err) {
  size_t calls = trace->calls.count, ranges = trace->ranges.count;
  int64_t *start = llmprof_values_all(trace->ranges.start);
  int64_t *end = llmprof_values_all(trace->ranges.end);
  llmprof_found found = {
      .parent = llmprof_alloc(ranges, sizeof *found.parent),
      .level = llmprof_alloc(ranges, sizeof *found.level),
      .inner = llmprof_alloc(ranges, sizeof *found.inner),
  };
  llmprof_sweep s = {
      .trace = trace,
      .start = start,
      .end = end,
      .found = &found,
      .most_links = most_links(trace),
      .filled = llmprof_alloc(ranges, sizeof *s.filled),
      .launched = llmprof_zalloc(calls, sizeof *s.launched),
      .link_of_call = llmprof_alloc(calls, sizeof *s.link_of_call),
      .err = err,
  };
  bool ok = start && end && found.parent && found.level && found.inner &&
            s.filled && s.launched && s.link_of_call &&
            sweep(&s, &trace->attribution);
  llmprof_free(start);
  llmprof_free(end);
  llmprof_free(found.links);
  llmprof_free(found.parent);
  llmprof_free(found.level);
  llmprof_free(found.inner);
  llmprof_free(s.launched);
  llmprof_free(s.link_of_call);
  llmprof_free(s.open);
  llmprof_free(s.filled);
  return ok;
}

bool llmprof_attribute(llmprof_trace *trace, llmprof_error *err) {
  return llmprof_launch_join(trace) && find_links(trace, err);
}

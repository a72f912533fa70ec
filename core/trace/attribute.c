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

/* Ranges that take part, by thread: what lacks a time encloses nothing and lies
 * in nothing. */
static bool add_ranges(llmprof_sweep *s) {
  const llmprof_ranges *r = &s->trace->ranges;
  llmprof_cursor thread, end_thread;
  llmprof_cursor_open(&thread, r->thread);
  llmprof_cursor_open(&end_thread, r->end_thread);
  for (size_t range = 0; range < r->count; range++) {
    int64_t of = llmprof_cursor_at(&thread, range);
    s->parent[range] = s->level[range] = LLMPROF_NONE;
    s->inner[range] = 0;
    if (of == LLMPROF_ABSENT || s->start[range] == LLMPROF_ABSENT ||
        llmprof_cursor_at(&end_thread, range) != LLMPROF_ABSENT)
      continue;
    llmprof_sweep_thread *t = &s->threads[of];
    if (!llmprof_grow(&t->ranges, &t->range_cap, t->range_count + 1,
                      sizeof *t->ranges))
      return false;
    t->ranges[t->range_count++] = (uint32_t)range;
  }
  return true;
}

/* Add the ranges of the thread that one works for, but for those of a named
 * domain, which are libraries'. */
static bool add_callers(const llmprof_sweep *s, llmprof_sweep_thread *t) {
  const llmprof_ranges *r = &s->trace->ranges;
  const llmprof_sweep_thread *caller = &s->threads[t->caller];
  for (size_t i = 0; i < caller->range_count; i++) {
    uint32_t range = caller->ranges[i];
    if (llmprof_id_at(r->domain, range) != LLMPROF_NO_STRING ||
        llmprof_id_at(r->thread, range) != t->caller)
      continue;
    if (!llmprof_grow(&t->ranges, &t->range_cap, t->range_count + 1,
                      sizeof *t->ranges))
      return false;
    t->ranges[t->range_count++] = range;
  }
  return true;
}

static bool make_ready(llmprof_sweep *s, uint32_t thread) {
  llmprof_sweep_thread *t = &s->threads[thread];
  t->all = s;
  t->thread = thread;
  t->caller = llmprof_thread_at(s->trace, thread)->caller;
  if (t->caller == thread) t->caller = LLMPROF_NONE;
  t->nested = t->changed = true;
  t->min_end = INT64_MAX;
  return (t->caller == LLMPROF_NONE || add_callers(s, t)) &&
         sort_ranges(s, t->ranges, t->range_count);
}

/* All calls by start; *rows NULL: as they lie. */
static bool order_calls(const llmprof_trace *trace, uint32_t **rows) {
  llmprof_values_bounds all;
  size_t count = trace->calls.count;
  *rows = NULL;
  if (llmprof_values_find_bounds(trace->calls.start, &all) && all.ascend)
    return true;
  int64_t *starts = llmprof_values_all(trace->calls.start);
  *rows = llmprof_alloc(count, sizeof **rows);
  bool ok = starts && *rows;
  for (size_t call = 0; ok && call < count; call++)
    (*rows)[call] = (uint32_t)call;
  ok = ok && llmprof_sort_rows_i64(*rows, count, starts);
  llmprof_free(starts);
  return ok;
}

static bool sweep_threads(llmprof_sweep *s) {
  size_t count = s->trace->rows[LLMPROF_THREADS].count;
  s->threads = llmprof_zalloc(count, sizeof *s->threads);
  bool ok = s->threads && add_ranges(s) && order_calls(s->trace, &s->order);
  for (size_t t = 0; ok && t < count; t++) ok = make_ready(s, (uint32_t)t);
  ok = ok && llmprof_sweep_calls(s);
  for (size_t t = 0; s->threads && t < count; t++) {
    llmprof_free(s->threads[t].ranges);
    llmprof_free(s->threads[t].open);
  }
  llmprof_free(s->threads);
  llmprof_free(s->order);
  return ok;
}

/* ---- what was found, as columns ---- */

static bool append_block(void *user, size_t first, size_t count,
                         int64_t *const *cells, llmprof_error *err) {
  (void)first;
  (void)err;
  bool ok = true;
  for (size_t i = 0; ok && i < count; i++)
    ok = llmprof_values_append(user, cells[0][i]);
  return ok;
}

static bool put_links_of_ops(const llmprof_sweep *s) {
  const llmprof_attribution *a = &s->trace->attribution;
  llmprof_values *of_call = llmprof_values_ids(s->link_of_call);
  llmprof_values *link = llmprof_values_lookup(a->call, of_call);
  bool ok =
      of_call && link &&
      llmprof_values_each((const llmprof_values *const[]){link}, 1, NULL,
                          s->trace->ops.count, append_block, a->link, s->err);
  llmprof_values_free(link);
  llmprof_values_free(of_call);
  return ok;
}

static bool put_links(const llmprof_sweep *s, llmprof_attribution *a) {
  a->link_count = s->link_count;
  bool ok = true;
  for (size_t l = 0; ok && l < s->link_count; l++)
    ok = llmprof_values_append(a->range, s->links[l].range) &&
         llmprof_values_append(a->outer, llmprof_widen(s->links[l].outer));
  return ok;
}

/* Its duration without the ranges in it. */
static int64_t self_of(const llmprof_sweep *s, size_t range) {
  if (s->level[range] == LLMPROF_NONE) return LLMPROF_ABSENT;
  uint64_t length = (uint64_t)s->end[range] - (uint64_t)s->start[range];
  uint64_t self = length - s->inner[range];
  return self > INT64_MAX ? INT64_MAX : (int64_t)self;
}

static bool put_ranges(const llmprof_sweep *s, llmprof_attribution *a) {
  bool ok = true;
  for (size_t r = 0; ok && r < s->trace->ranges.count; r++)
    ok = llmprof_values_append(a->parent, llmprof_widen(s->parent[r])) &&
         llmprof_values_append(a->level, llmprof_widen(s->level[r])) &&
         llmprof_values_append(a->self, self_of(s, r));
  return ok;
}

bool llmprof_attribute(llmprof_trace *trace, llmprof_error *err) {
  size_t calls = trace->calls.count, ranges = trace->ranges.count;
  llmprof_attribution *a = &trace->attribution;
  llmprof_sweep s = {
      .trace = trace,
      .start = llmprof_values_all(trace->ranges.start),
      .end = llmprof_values_all(trace->ranges.end),
      .launched = llmprof_zalloc(calls, sizeof *s.launched),
      .most_links = most_links(trace),
      .link_of_call = llmprof_alloc(calls, sizeof *s.link_of_call),
      .parent = llmprof_alloc(ranges, sizeof *s.parent),
      .level = llmprof_alloc(ranges, sizeof *s.level),
      .inner = llmprof_alloc(ranges, sizeof *s.inner),
      .filled = llmprof_alloc(ranges, sizeof *s.filled),
      .err = err,
  };
  bool ok = s.start && s.end && s.launched && s.link_of_call && s.parent &&
            s.level && s.inner && s.filled &&
            llmprof_launch_join(trace, s.launched, err) && sweep_threads(&s) &&
            put_links_of_ops(&s) && put_links(&s, a) && put_ranges(&s, a);
  llmprof_free(s.start);
  llmprof_free(s.end);
  llmprof_free(s.launched);
  llmprof_free(s.links);
  llmprof_free(s.link_of_call);
  llmprof_free(s.parent);
  llmprof_free(s.level);
  llmprof_free(s.inner);
  llmprof_free(s.filled);
  return ok;
}

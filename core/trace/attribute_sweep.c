#include "trace/attribute_sweep.h"

#include "base/alloc.h"

/* ---- ranges ---- */

static bool goes_on(llmprof_sweep *a, size_t work) {
  return llmprof_watch_go_on(&a->watch, work, llmprof_trace_path(a->trace),
                             a->err);
}

static bool add_link(llmprof_sweep *a, uint32_t range, uint32_t outer,
                     uint32_t *link) {
  if (a->link_count >= a->most_links)
    return llmprof_fail_bound(a->err, llmprof_trace_path(a->trace),
                              LLMPROF_BOUND_RATIO);
  if (a->link_count >= UINT32_MAX - 1 ||
      !llmprof_grow(&a->links, &a->link_cap, a->link_count + 1,
                    sizeof *a->links))
    return false;
  a->links[a->link_count] = (llmprof_link){range, outer};
  *link = (uint32_t)a->link_count++;
  return true;
}

/* Forget ranges that ended before `now`. In a nested list those are on top. */
static void close_ended(llmprof_sweep_thread *s, int64_t now) {
  const int64_t *end = s->all->end;
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
static void pop_ended(llmprof_sweep_thread *s, int64_t now) {
  const int64_t *end = s->all->end;
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
static uint64_t length_of(const llmprof_sweep_thread *s, uint32_t range) {
  return (uint64_t)s->all->end[range] - (uint64_t)s->all->start[range];
}

/* Is a range one of the thread's caller, which is placed among its own? */
static bool is_callers(const llmprof_sweep_thread *s, uint32_t range) {
  return s->caller != LLMPROF_NONE &&
         llmprof_id_at(s->all->trace->ranges.thread, range) != s->thread;
}

/* The tightest open range around `range`: the shortest that reaches as far. */
static uint32_t find_parent(const llmprof_sweep_thread *s, uint32_t range) {
  uint32_t best = LLMPROF_NONE;
  for (size_t i = s->open_count; i-- > 0;) {
    uint32_t candidate = s->open[i].range;
    if (s->all->end[candidate] < s->all->end[range] || is_callers(s, candidate))
      continue;
    if (best == LLMPROF_NONE || length_of(s, candidate) < length_of(s, best))
      best = candidate;
    if (s->nested) break; /* all others are longer */
  }
  return best;
}

/* The part of the parent that is in `range` and not in one before it. Ranges
 * come by start. */
static void fill_parent(llmprof_sweep_thread *s, uint32_t range,
                        uint32_t parent) {
  int64_t from = s->all->start[range], end = s->all->end[range];
  if (s->all->filled[parent] > from) from = s->all->filled[parent];
  if (end <= from) return;
  s->all->inner[parent] += (uint64_t)end - (uint64_t)from;
  s->all->filled[parent] = end;
}

/* What is around it, while what is open is what was before it. */
static void place_range(llmprof_sweep_thread *s, uint32_t range) {
  llmprof_sweep *a = s->all;
  uint32_t parent = find_parent(s, range);
  a->parent[range] = parent;
  a->level[range] = parent == LLMPROF_NONE ? 0 : a->level[parent] + 1;
  s->all->filled[range] = s->all->start[range];
  if (parent != LLMPROF_NONE) fill_parent(s, range, parent);
}

static bool open_one(llmprof_sweep_thread *s, uint32_t range) {
  if (!goes_on(s->all, s->nested ? 1 : s->open_count)) return false;
  pop_ended(s, s->all->start[range]);
  if (!is_callers(s, range)) place_range(s, range);
  if (!llmprof_grow(&s->open, &s->open_cap, s->open_count + 1, sizeof *s->open))
    return false;
  if (s->open_count) {
    uint32_t top = s->open[s->open_count - 1].range;
    if (s->all->end[range] > s->all->end[top]) s->nested = false;
  }
  s->open[s->open_count++] =
      (llmprof_open_range){range, LLMPROF_NONE, LLMPROF_NONE};
  if (s->all->end[range] < s->min_end) s->min_end = s->all->end[range];
  s->changed = true;
  return true;
}

/* Make the chain of the ranges that reach to `end`. */
static bool make_chain(llmprof_sweep_thread *s, int64_t end, uint32_t *chain) {
  uint32_t outer = LLMPROF_NONE;
  for (size_t i = 0; i < s->open_count; i++) {
    llmprof_open_range *o = &s->open[i];
    if (s->all->end[o->range] < end) continue;
    if (o->link == LLMPROF_NONE || o->outer != outer) {
      if (!add_link(s->all, o->range, outer, &o->link)) return false;
      o->outer = outer;
    }
    outer = o->link;
  }
  *chain = outer;
  return true;
}

static bool place_call(llmprof_sweep_thread *s, uint32_t call, int64_t start,
                       int64_t end) {
  if (!goes_on(s->all, s->nested && !s->changed ? 1 : s->open_count))
    return false;
  if (s->min_end < start) pop_ended(s, start);
  if (s->min_end < end) { /* not all of them enclose it */
    s->changed = true;
    return make_chain(s, end, &s->all->link_of_call[call]);
  }
  if (s->changed && !make_chain(s, end, &s->last)) return false;
  s->changed = false;
  s->all->link_of_call[call] = s->last;
  return true;
}

/* Does the chain of the call before enclose one? */
static inline bool is_alike(const llmprof_sweep_thread *s, int64_t start,
                            int64_t end) {
  return !s->changed && s->min_end >= start && s->min_end >= end &&
         (s->next == s->range_count ||
          s->all->start[s->ranges[s->next]] > start);
}

/* Open what has started by then. */
static bool open_until(llmprof_sweep_thread *s, int64_t time) {
  while (s->next < s->range_count && s->all->start[s->ranges[s->next]] <= time)
    if (!open_one(s, s->ranges[s->next++])) return false;
  return true;
}

/* A call that launched, so that its thread is known. */
static bool sweep_call(llmprof_sweep_thread *s, uint32_t call, int64_t start,
                       int64_t duration) {
  uint32_t *link = &s->all->link_of_call[call];
  int64_t end = llmprof_end_of(start, duration);
  *link = LLMPROF_NONE;
  if (duration == LLMPROF_ABSENT) return true; /* it encloses nothing */
  if (!is_alike(s, start, end))
    return open_until(s, start) && place_call(s, call, start, end);
  *link = s->last;
  return true;
}

static bool sweep_block(void *user, size_t first, size_t count,
                        int64_t *const *cells, llmprof_error *err) {
  llmprof_sweep *all = user;
  all->err = err;
  if (!goes_on(all, count)) return false;
  for (size_t i = 0; i < count; i++) {
    uint32_t call = all->order ? all->order[first + i] : (uint32_t)(first + i);
    if (all->launched[call] &&
        !sweep_call(&all->threads[cells[2][i]], call, cells[0][i], cells[1][i]))
      return false;
  }
  return true;
}

bool llmprof_sweep_calls(llmprof_sweep *all) {
  const llmprof_calls *of = &all->trace->calls;
  llmprof_error *err = all->err;
  if (!llmprof_values_each(
          (const llmprof_values *const[]){of->start, of->duration, of->thread},
          3, all->order, of->count, sweep_block, all, err))
    return false;
  all->err = err;
  size_t count = all->trace->rows[LLMPROF_THREADS].count;
  for (size_t t = 0; t < count; t++)
    if (!open_until(&all->threads[t], INT64_MAX)) return false;
  return true;
}

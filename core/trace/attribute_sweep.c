#include "trace/attribute_sweep.h"

#include <string.h>

#include "base/alloc.h"
#include "base/bounds.h"
#include "base/thread_pool.h"
#include "trace/trace_events.h"

/* ---- ranges ---- */

static bool goes_on(llmprof_sweep *s, size_t work) {
  return llmprof_watch_go_on(&s->watch, work, llmprof_trace_path(s->trace),
                             s->err);
}

static bool fail_links(const llmprof_sweep *s) {
  return llmprof_fail_bound(s->err, llmprof_trace_path(s->trace),
                            LLMPROF_BOUND_RATIO);
}

static bool add_link(llmprof_sweep *s, uint32_t range, uint32_t outer,
                     uint32_t *link) {
  if (s->link_count >= s->most_links) return fail_links(s);
  if (s->link_count >= UINT32_MAX - 1 ||
      !llmprof_grow(&s->links, &s->link_cap, s->link_count + 1,
                    sizeof *s->links))
    return false;
  s->links[s->link_count] = (llmprof_link){range, outer};
  *link = (uint32_t)s->link_count++;
  return true;
}

/* Forget ranges that ended before `now`. In a nested list those are on top. */
static void close_ended(llmprof_sweep *s, int64_t now) {
  const int64_t *end = s->end;
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
static void pop_ended(llmprof_sweep *s, int64_t now) {
  const int64_t *end = s->end;
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
static uint64_t length_of(const llmprof_sweep *s, uint32_t range) {
  return (uint64_t)s->end[range] - (uint64_t)s->start[range];
}

/* The tightest open range around `range`: the shortest that reaches as far. */
static uint32_t find_parent(const llmprof_sweep *s, uint32_t range) {
  uint32_t best = LLMPROF_NONE;
  for (size_t i = s->open_count; i-- > 0;) {
    uint32_t candidate = s->open[i].range;
    if (s->end[candidate] < s->end[range]) continue;
    if (best == LLMPROF_NONE || length_of(s, candidate) < length_of(s, best))
      best = candidate;
    if (s->nested) break; /* all others are longer */
  }
  return best;
}

/* The part of the parent that is in `range` and not in one before it. Ranges
 * come by start. */
static void fill_parent(llmprof_sweep *s, uint32_t range, uint32_t parent) {
  int64_t from = s->start[range], end = s->end[range];
  if (s->filled[parent] > from) from = s->filled[parent];
  if (end <= from) return;
  s->found->inner[parent] += (uint64_t)end - (uint64_t)from;
  s->filled[parent] = end;
}

/* What is around it, while what is open is what was before it. */
static void place_range(llmprof_sweep *s, uint32_t range) {
  llmprof_found *a = s->found;
  uint32_t parent = find_parent(s, range);
  a->parent[range] = parent;
  a->level[range] = parent == LLMPROF_NONE ? 0 : a->level[parent] + 1;
  s->filled[range] = s->start[range];
  if (parent != LLMPROF_NONE) fill_parent(s, range, parent);
}

static bool open_one(llmprof_sweep *s, uint32_t range, bool place) {
  if (!goes_on(s, s->nested ? 1 : s->open_count)) return false;
  pop_ended(s, s->start[range]);
  if (place) place_range(s, range);
  if (!llmprof_grow(&s->open, &s->open_cap, s->open_count + 1, sizeof *s->open))
    return false;
  if (s->open_count) {
    uint32_t top = s->open[s->open_count - 1].range;
    if (s->end[range] > s->end[top]) s->nested = false;
  }
  s->open[s->open_count++] =
      (llmprof_open_range){range, LLMPROF_NONE, LLMPROF_NONE};
  if (s->end[range] < s->min_end) s->min_end = s->end[range];
  s->changed = true;
  return true;
}

/* Make the chain of the ranges that reach to `end`. */
static bool make_chain(llmprof_sweep *s, int64_t end, uint32_t *chain) {
  uint32_t outer = LLMPROF_NONE;
  for (size_t i = 0; i < s->open_count; i++) {
    llmprof_open_range *o = &s->open[i];
    if (s->end[o->range] < end) continue;
    if (o->link == LLMPROF_NONE || o->outer != outer) {
      if (!add_link(s, o->range, outer, &o->link)) return false;
      o->outer = outer;
    }
    outer = o->link;
  }
  *chain = outer;
  return true;
}

static bool place_call(llmprof_sweep *s, uint32_t call, int64_t start,
                       int64_t end) {
  if (!goes_on(s, s->nested && !s->changed ? 1 : s->open_count)) return false;
  if (s->min_end < start) pop_ended(s, start);
  if (s->min_end < end) { /* not all of them enclose it */
    s->changed = true;
    return make_chain(s, end, &s->link_of_call[call]);
  }
  if (s->changed && !make_chain(s, end, &s->last)) return false;
  s->changed = false;
  s->link_of_call[call] = s->last;
  return true;
}

/* ---- calls, one after the other ---- */

/* Calls of a stretch whose times were read. */
typedef struct read_ahead {
  size_t first, end;
  int64_t start[LLMPROF_BLOCK], duration[LLMPROF_BLOCK];
} read_ahead;

/* A queue, and what is at hand of each of its stretches. */
typedef struct walk {
  llmprof_queue calls;
  read_ahead *ahead;
} walk;

static void read_times(const llmprof_trace *trace, walk *w, size_t stretch) {
  read_ahead *a = &w->ahead[stretch];
  size_t at = w->calls.at[stretch];
  size_t count = llmprof_block(at, w->calls.end[stretch]);
  const uint32_t *rows = w->calls.rows + at;
  a->first = at;
  a->end = at + count;
  llmprof_values_gather(trace->calls.start, rows, count, a->start);
  llmprof_values_gather(trace->calls.duration, rows, count, a->duration);
}

static int64_t next_start(const llmprof_trace *trace, walk *w, size_t stretch) {
  size_t at = w->calls.at[stretch];
  if (at == w->ahead[stretch].end) read_times(trace, w, stretch);
  return w->ahead[stretch].start[at - w->ahead[stretch].first];
}

/* The stretch that has the next call; how many there are at the end. */
static size_t first_of(const llmprof_trace *trace, walk *w, int64_t *start) {
  size_t best = w->calls.count;
  for (size_t i = 0; i < w->calls.count; i++) {
    if (w->calls.at[i] == w->calls.end[i]) continue;
    int64_t next = next_start(trace, w, i);
    if (best < w->calls.count && next >= *start) continue;
    best = i;
    *start = next;
  }
  return best;
}

/* ---- calls in parts ---- */

enum {
  PART = 1 << 18,     /* calls of a part, */
  MOST_OPEN = 1 << 12 /* which begins where no more ranges are open */
};

/* Calls that follow each other, and what is open when they begin. */
typedef struct part {
  llmprof_queue calls;
  llmprof_open_range *open;
  size_t open_count, next;
  bool nested;
  int64_t min_end;
  llmprof_link *links;       /* that were made for them */
  size_t link_count, before; /* before: in parts before it */
} part;

typedef struct parts {
  const llmprof_sweep *sweep;
  part *parts;
  size_t count;
} parts;

/* ---- ranges, and where parts begin ---- */

/* Has the next range started by then? */
static inline bool is_due(const llmprof_sweep *s, int64_t time) {
  return s->next < s->range_count && s->start[s->ranges[s->next]] <= time;
}

static bool open_until(llmprof_sweep *s, int64_t time, bool place) {
  while (is_due(s, time))
    if (!open_one(s, s->ranges[s->next++], place)) return false;
  return true;
}

static bool begin_part(parts *p) {
  const llmprof_sweep *s = p->sweep;
  part *made = &p->parts[p->count];
  *made = (part){.open_count = s->open_count,
                 .next = s->next,
                 .nested = s->nested,
                 .min_end = s->min_end};
  made->open = llmprof_alloc(s->open_count, sizeof *made->open);
  if (!made->open) return false;
  if (s->open_count)
    memcpy(made->open, s->open, s->open_count * sizeof *made->open);
  p->count++;
  return true;
}

/* Walks the ranges; calls go into parts. */
static bool find_parts(llmprof_sweep *s, const llmprof_queue *calls, parts *p,
                       size_t most) {
  llmprof_queue rest = *calls;
  if (!begin_part(p)) return false;
  for (size_t k = 1; k < most; k++) {
    int64_t time = llmprof_queue_cut_time(s->trace, calls, k, most);
    if (!open_until(s, time - 1, true)) return false;
    if (s->open_count > MOST_OPEN) continue;
    p->parts[p->count - 1].calls = llmprof_queue_cut(s->trace, &rest, time);
    if (!begin_part(p)) return false;
  }
  p->parts[p->count - 1].calls = rest;
  return open_until(s, INT64_MAX, true);
}

/* ---- their chains ---- */

static bool walk_calls(llmprof_sweep *s, walk *w) {
  int64_t start = 0;
  for (size_t i; (i = first_of(s->trace, w, &start)) < w->calls.count;) {
    size_t at = w->calls.at[i]++;
    const read_ahead *a = &w->ahead[i];
    int64_t end = llmprof_end_of(start, a->duration[at - a->first]);
    if ((is_due(s, start) && !open_until(s, start, false)) ||
        !place_call(s, w->calls.rows[at], start, end))
      return false;
  }
  return true;
}

static bool sweep_calls(llmprof_sweep *s, const llmprof_queue *calls) {
  walk w = {.calls = *calls,
            .ahead = llmprof_alloc(calls->count, sizeof *w.ahead)};
  if (!w.ahead) return false;
  for (size_t i = 0; i < calls->count; i++) w.ahead[i].end = calls->at[i];
  bool ok = walk_calls(s, &w);
  llmprof_free(w.ahead);
  return ok;
}

static bool sweep_part(void *user, size_t worker, size_t number,
                       llmprof_error *err) {
  const parts *p = user;
  part *of = &p->parts[number];
  llmprof_sweep s = *p->sweep;
  (void)worker;
  s.open = of->open;
  s.open_count = s.open_cap = of->open_count;
  s.next = of->next;
  s.nested = of->nested;
  s.changed = true;
  s.min_end = of->min_end;
  s.err = err;
  bool ok = sweep_calls(&s, &of->calls);
  of->open = s.open;
  of->links = s.links;
  of->link_count = s.link_count;
  return ok;
}

/* Links are numbered behind those of the parts before. */
static bool renumber_part(void *user, size_t worker, size_t number,
                          llmprof_error *err) {
  const parts *p = user;
  const part *of = &p->parts[number];
  llmprof_link *links = p->sweep->found->links + of->before;
  uint32_t before = (uint32_t)of->before;
  (void)worker, (void)err;
  for (size_t i = 0; i < of->link_count; i++) {
    links[i] = of->links[i];
    if (links[i].outer != LLMPROF_NONE) links[i].outer += before;
  }
  uint32_t *link = p->sweep->link_of_call;
  for (size_t i = 0; before && i < of->calls.count; i++) {
    for (size_t at = of->calls.at[i]; at < of->calls.end[i]; at++) {
      uint32_t row = of->calls.rows[at];
      if (link[row] != LLMPROF_NONE) link[row] += before;
    }
  }
  return true;
}

static bool join_links(parts *p) {
  const llmprof_sweep *s = p->sweep;
  llmprof_found *a = s->found;
  size_t count = a->link_count;
  for (size_t i = 0; i < p->count; i++) {
    p->parts[i].before = count;
    count += p->parts[i].link_count;
  }
  if (count > s->most_links) return fail_links(s);
  if (count >= UINT32_MAX) return false;
  llmprof_link *links = llmprof_resize(a->links, count, sizeof *links);
  if (!links) return false;
  a->links = links;
  a->link_count = count;
  const llmprof_parallel_loop loop = {p->count, renumber_part, NULL, p, 0};
  return llmprof_parallel_for(&loop, llmprof_thread_pool_size(p->count),
                              s->err);
}

static bool sweep_parts(llmprof_sweep *s, const llmprof_queue *calls, parts *p,
                        size_t most) {
  if (!find_parts(s, calls, p, most)) return false;
  const llmprof_parallel_loop loop = {p->count, sweep_part, NULL, p, 0};
  return llmprof_parallel_for(&loop, llmprof_thread_pool_size(p->count),
                              s->err) &&
         join_links(p);
}

/* Ranges of one thread, sorted by start, and launching calls. */
bool llmprof_sweep_thread(llmprof_sweep *s, const uint32_t *ranges,
                          size_t range_count, const llmprof_queue *calls) {
  size_t most = llmprof_queue_size(calls) / PART + 1;
  parts p = {.sweep = s, .parts = llmprof_zalloc(most, sizeof *p.parts)};
  if (!p.parts) return false;
  s->ranges = ranges;
  s->range_count = range_count;
  s->next = s->open_count = 0;
  s->nested = true;
  s->changed = true;
  s->min_end = INT64_MAX;
  bool ok = sweep_parts(s, calls, &p, most);
  for (size_t i = 0; i < p.count; i++) {
    llmprof_free(p.parts[i].open);
    llmprof_free(p.parts[i].links);
  }
  llmprof_free(p.parts);
  return ok;
}

/* Ranges projected onto the GPU: when what they launched ran. */
#include "llmprof/alloc.h"
#include "trace/trace_events.h"
#include "trace/trace_internal.h"

/* What was launched within a link's ranges, links inside it included. */
typedef struct extent {
  int64_t start, end;
  uint32_t calls;
} extent;

static const extent nothing = {INT64_MAX, INT64_MIN, 0};

static void extend(extent *e, const extent *by) {
  if (by->start < e->start) e->start = by->start;
  if (by->end > e->end) e->end = by->end;
  e->calls += by->calls;
}

/* Is it the first with its call? counted: by call. */
static bool is_first(uint8_t *counted, int64_t call) {
  bool first = !counted[call];
  counted[call] = 1;
  return first;
}

/* By link, and by call. */
typedef struct measuring {
  extent *links;
  uint8_t *counted;
} measuring;

static bool measure_block(void *user, size_t first, size_t count,
                          int64_t *const *cells, llmprof_error *err) {
  const measuring *m = user;
  const int64_t *start = cells[0], *duration = cells[1], *call = cells[2],
                *link = cells[3];
  (void)first;
  (void)err;
  for (size_t i = 0; i < count; i++) {
    if (link[i] == LLMPROF_ABSENT) continue;
    extent one = {start[i], llmprof_end_of(start[i], duration[i]),
                  is_first(m->counted, call[i])};
    extend(&m->links[link[i]], &one);
  }
  return true;
}

/* Graphs traced as one operation are left out, as NVIDIA does. */
static bool measure_ops(const llmprof_trace *trace, const measuring *m,
                        llmprof_error *err) {
  return llmprof_values_each(
      (const llmprof_values *const[]){trace->ops.start, trace->ops.duration,
                                      trace->attribution.call,
                                      trace->attribution.link},
      4, NULL, trace->ops.first[LLMPROF_GRAPH], measure_block, (void *)m, err);
}

/* Outer links come before inner ones, so one pass backwards adds all up. */
static void add_up(const llmprof_attribution *a, extent *links,
                   extent *ranges) {
  for (size_t l = a->link_count; l-- > 0;) {
    if (!links[l].calls) continue;
    int64_t outer = llmprof_values_get(a->outer, l);
    extend(&ranges[llmprof_values_get(a->range, l)], &links[l]);
    if (outer != LLMPROF_ABSENT) extend(&links[outer], &links[l]);
  }
}

/* By range: how many that launched any have it as their parent. */
static void count_children(const llmprof_trace *trace, const extent *ranges,
                           uint32_t *children) {
  llmprof_cursor parent;
  llmprof_cursor_open(&parent, trace->attribution.parent);
  for (size_t r = 0; r < trace->ranges.count; r++) {
    if (!ranges[r].calls) continue;
    int64_t of = llmprof_cursor_at(&parent, r);
    if (of != LLMPROF_ABSENT) children[of]++;
  }
}

static bool put(llmprof_projections *p, size_t range, const extent *e,
                uint32_t children) {
  p->count++;
  return llmprof_values_append(p->range, (int64_t)range) &&
         llmprof_values_append(p->start, e->start) &&
         llmprof_values_append(p->end, e->end) &&
         llmprof_values_append(p->operations, e->calls) &&
         llmprof_values_append(p->children, children);
}

static bool collect(llmprof_trace *trace, const extent *ranges) {
  size_t count = trace->ranges.count;
  uint32_t *children = llmprof_zalloc(count, sizeof *children);
  bool ok = children != NULL;
  if (ok) count_children(trace, ranges, children);
  for (size_t r = 0; ok && r < count; r++)
    if (ranges[r].calls)
      ok = put(&trace->projections, r, &ranges[r], children[r]);
  llmprof_free(children);
  return ok;
}

bool llmprof_project(llmprof_trace *trace, llmprof_error *err) {
  const llmprof_attribution *a = &trace->attribution;
  const measuring m = {
      llmprof_alloc(a->link_count, sizeof *m.links),
      llmprof_zalloc(trace->calls.count, sizeof *m.counted),
  };
  extent *ranges = llmprof_alloc(trace->ranges.count, sizeof *ranges);
  bool ok = m.links && ranges && m.counted;
  if (ok) {
    for (size_t l = 0; l < a->link_count; l++) m.links[l] = nothing;
    for (size_t r = 0; r < trace->ranges.count; r++) ranges[r] = nothing;
    ok = measure_ops(trace, &m, err);
  }
  if (ok) {
    add_up(a, m.links, ranges);
    ok = collect(trace, ranges);
  }
  llmprof_free(m.links);
  llmprof_free(m.counted);
  llmprof_free(ranges);
  return ok;
}

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

static void measure_block(const llmprof_trace *trace, size_t first,
                          size_t count, extent *links, uint8_t *counted) {
  int64_t start[LLMPROF_BLOCK], duration[LLMPROF_BLOCK], call[LLMPROF_BLOCK],
      link[LLMPROF_BLOCK];
  llmprof_values_read(trace->ops.start, first, count, start);
  llmprof_values_read(trace->ops.duration, first, count, duration);
  llmprof_values_read(trace->attribution.call, first, count, call);
  llmprof_values_read(trace->attribution.link, first, count, link);
  for (size_t i = 0; i < count; i++) {
    if (link[i] == LLMPROF_ABSENT) continue;
    extent one = {start[i], llmprof_end_of(start[i], duration[i]),
                  is_first(counted, call[i])};
    extend(&links[link[i]], &one);
  }
}

/* Graphs traced as one operation are left out, as NVIDIA does. */
static void measure_ops(const llmprof_trace *trace, extent *links,
                        uint8_t *counted) {
  size_t ops = trace->ops.first[LLMPROF_GRAPH];
  for (size_t op = 0; op < ops; op += LLMPROF_BLOCK)
    measure_block(trace, op, llmprof_block(op, ops), links, counted);
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

bool llmprof_project(llmprof_trace *trace) {
  const llmprof_attribution *a = &trace->attribution;
  extent *links = llmprof_alloc(a->link_count, sizeof *links);
  extent *ranges = llmprof_alloc(trace->ranges.count, sizeof *ranges);
  uint8_t *counted = llmprof_zalloc(trace->calls.count, sizeof *counted);
  bool ok = links && ranges && counted;
  if (ok) {
    for (size_t l = 0; l < a->link_count; l++) links[l] = nothing;
    for (size_t r = 0; r < trace->ranges.count; r++) ranges[r] = nothing;
    measure_ops(trace, links, counted);
    add_up(a, links, ranges);
    ok = collect(trace, ranges);
  }
  llmprof_free(links);
  llmprof_free(ranges);
  llmprof_free(counted);
  return ok;
}

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
  int64_t start[LLMPROF_BLOCK], duration[LLMPROF_BLOCK], call[LLMPROF_BLOCK];
  const uint32_t *link = trace->attribution.link + first;
  llmprof_values_read(trace->ops.start, first, count, start);
  llmprof_values_read(trace->ops.duration, first, count, duration);
  llmprof_values_read(trace->attribution.call, first, count, call);
  for (size_t i = 0; i < count; i++) {
    if (link[i] == LLMPROF_NONE) continue;
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
    extend(&ranges[a->links[l].range], &links[l]);
    if (a->links[l].outer != LLMPROF_NONE)
      extend(&links[a->links[l].outer], &links[l]);
  }
}

/* By field: what lies between them stays 0, also where it is put away. */
static void fill(llmprof_projection *made, uint32_t range, const extent *e) {
  made->range = range;
  made->start = e->start;
  made->end = e->end;
  made->operations = e->calls;
}

static bool collect(llmprof_trace *trace, const extent *ranges) {
  size_t count = 0, range_count = trace->ranges.count;
  uint32_t *row_of = llmprof_alloc(range_count, sizeof *row_of);
  for (size_t r = 0; r < range_count; r++) count += ranges[r].calls > 0;
  llmprof_projection *made = llmprof_zalloc(count, sizeof *made);
  if (!made || !row_of) {
    llmprof_free(made);
    llmprof_free(row_of);
    return false;
  }
  size_t used = 0;
  for (size_t r = 0; r < range_count; r++) {
    row_of[r] = LLMPROF_NONE;
    if (!ranges[r].calls) continue;
    row_of[r] = (uint32_t)used;
    fill(&made[used++], (uint32_t)r, &ranges[r]);
  }
  for (size_t p = 0; p < count; p++) {
    uint32_t parent = trace->attribution.parent[made[p].range];
    if (parent != LLMPROF_NONE && row_of[parent] != LLMPROF_NONE)
      made[row_of[parent]].children++;
  }
  llmprof_free(row_of);
  trace->projections = made;
  trace->projection_count = count;
  return true;
}

static bool project(llmprof_trace *trace) {
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

const llmprof_projection *llmprof_trace_projections(llmprof_trace *trace,
                                                    size_t *count,
                                                    llmprof_error *err) {
  if (!trace->projected) {
    if (!llmprof_trace_attribution(trace, err)) return NULL;
    trace->projected =
        llmprof_snapshot_take(trace, LLMPROF_PIECE_PROJECTIONS) ||
        project(trace);
    if (!trace->projected) return llmprof_fail_nomem(err), NULL;
  }
  *count = trace->projection_count;
  return trace->projections;
}

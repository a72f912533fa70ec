/* Items of a track, in order of start and the longer first, each go to the
 * first lane that takes them: on a stream one where nothing runs any more, on a
 * thread also one where all that runs ends no earlier. */
#include "base/alloc.h"
#include "base/bounds.h"
#include "export/perfetto_internal.h"
#include "frame/sort.h"
#include "trace/trace_events.h"

/* ---- items ---- */

int64_t llmprof_perfetto_start(const perfetto_layout *l, size_t item) {
  if (item < l->first_range) return llmprof_values_get(l->ops->start, item);
  if (item < l->first_call)
    return llmprof_values_get(l->ranges->start, item - l->first_range);
  return llmprof_values_get(l->calls->start, item - l->first_call);
}

int64_t llmprof_perfetto_end(const perfetto_layout *l, size_t item) {
  int64_t start = llmprof_perfetto_start(l, item);
  int64_t end = item < l->first_range
                    ? llmprof_end_at(l->ops->start, l->ops->duration, item)
                : item < l->first_call
                    ? llmprof_values_get(l->ranges->end, item - l->first_range)
                    : llmprof_end_at(l->calls->start, l->calls->duration,
                                     item - l->first_call);
  return end < start ? start : end;
}

static uint32_t track_of(const perfetto_layout *l, size_t item) {
  if (item < l->first_range) return llmprof_id_at(l->ops->place, item);
  uint32_t thread =
      item < l->first_call
          ? llmprof_id_at(l->ranges->thread, item - l->first_range)
          : llmprof_id_at(l->calls->thread, item - l->first_call);
  return (uint32_t)(l->places + (thread == LLMPROF_NONE ? l->threads : thread));
}

/* ---- which are wanted ---- */

static bool overlaps(const llmprof_perfetto_options *options, int64_t start,
                     int64_t end) {
  size_t low = 0, high = options->window_count;
  while (low < high) { /* the first window that ends after start */
    size_t middle = low + (high - low) / 2;
    if (options->windows[middle].last > start)
      high = middle;
    else
      low = middle + 1;
  }
  if (low == options->window_count) return false;
  int64_t first = options->windows[low].first;
  return end > first || start >= first;
}

static bool item_overlaps(const perfetto_layout *l,
                          const llmprof_perfetto_options *options,
                          size_t item) {
  return overlaps(options, llmprof_perfetto_start(l, item),
                  llmprof_perfetto_end(l, item));
}

/* Times that are not recorded, or further apart than an int64_t holds, cannot
 * be drawn. */
static bool has_times(const perfetto_layout *l, size_t item) {
  int64_t start = llmprof_perfetto_start(l, item), duration;
  if (item < l->first_range)
    return llmprof_values_get(l->ops->duration, item) != LLMPROF_ABSENT;
  if (item >= l->first_call)
    return llmprof_values_get(l->calls->duration, item - l->first_call) !=
           LLMPROF_ABSENT;
  return start != LLMPROF_ABSENT &&
         !__builtin_sub_overflow(llmprof_perfetto_end(l, item), start,
                                 &duration);
}

static bool is_wanted(const perfetto_layout *l,
                      const llmprof_perfetto_options *options, size_t item) {
  if (!has_times(l, item)) return false;
  if (!options->window_count || item_overlaps(l, options, item)) return true;
  if (item >= l->first_range) return false;
  uint32_t call = llmprof_id_at(l->call_of, item);
  return call != LLMPROF_NONE &&
         item_overlaps(l, options, l->first_call + call);
}

/* ---- order ---- */

/* By start: tables are a few sorted runs, so that this is merging them. */
static bool sort_by_start(const perfetto_layout *l, uint32_t *items,
                          size_t count) {
  int64_t *starts = llmprof_alloc(l->count, sizeof *starts);
  if (!starts) return false;
  for (size_t i = 0; i < l->count; i++)
    starts[i] = llmprof_perfetto_start(l, i);
  bool ok = llmprof_sort_rows_i64(items, count, starts);
  llmprof_free(starts);
  return ok;
}

static bool sort_by_track(const perfetto_layout *l, uint32_t *items,
                          size_t count) {
  uint32_t *tracks = llmprof_alloc(l->count, sizeof *tracks);
  if (!tracks) return false;
  for (size_t i = 0; i < l->count; i++) tracks[i] = track_of(l, i);
  bool ok = llmprof_sort_rows_u32(items, count, tracks);
  llmprof_free(tracks);
  return ok;
}

enum {
  FEW = 16
};

/* Items that start at once, the longer first. */
static bool sort_by_end(const perfetto_layout *l, uint32_t *items,
                        size_t count) {
  int64_t *ends = llmprof_alloc(count, sizeof *ends);
  uint32_t *order = llmprof_alloc(count, 2 * sizeof *order);
  bool ok = ends && order;
  for (size_t i = 0; ok && i < count; i++) {
    ends[i] = ~llmprof_perfetto_end(l, items[i]); /* as -end, of any end */
    order[i] = (uint32_t)i;
  }
  ok = ok && llmprof_sort_rows_i64(order, count, ends);
  for (size_t i = 0; ok && i < count; i++) order[count + i] = items[order[i]];
  for (size_t i = 0; ok && i < count; i++) items[i] = order[count + i];
  llmprof_free(ends);
  llmprof_free(order);
  return ok;
}

static void insert_by_end(const perfetto_layout *l, uint32_t *items,
                          size_t count) {
  for (size_t i = 1; i < count; i++) {
    uint32_t item = items[i];
    int64_t end = llmprof_perfetto_end(l, item);
    size_t j = i;
    for (; j && llmprof_perfetto_end(l, items[j - 1]) < end; j--)
      items[j] = items[j - 1];
    items[j] = item;
  }
}

static bool starts_with(const perfetto_layout *l, uint32_t a, uint32_t b) {
  return llmprof_perfetto_start(l, a) == llmprof_perfetto_start(l, b) &&
         track_of(l, a) == track_of(l, b);
}

static bool sort_ties(const perfetto_layout *l, uint32_t *items, size_t count) {
  bool ok = true;
  for (size_t i = 0, run; ok && i < count; i += run) {
    for (run = 1; i + run < count; run++) {
      if (!starts_with(l, items[i], items[i + run])) break;
    }
    if (run > FEW)
      ok = sort_by_end(l, items + i, run);
    else
      insert_by_end(l, items + i, run);
  }
  return ok;
}

/* By track, start and end backwards; else as they were. */
static bool sort_items(const perfetto_layout *l, uint32_t *items,
                       size_t count) {
  return sort_by_start(l, items, count) && sort_by_track(l, items, count) &&
         sort_ties(l, items, count);
}

/* ---- lanes ---- */

/* Ends of what runs on a lane, the innermost last. */
typedef struct stack {
  int64_t *ends;
  size_t count, cap;
} stack;

/* Some lanes: whether nothing runs on one of them, something on one, and of
 * these where the innermost ends first and last. */
typedef struct node {
  int64_t first_end, last_end;
  bool is_free, is_busy;
} node;

/* The lanes of the track at hand; stacks are used again for the next. */
typedef struct lane_finder {
  const char *path;
  llmprof_watch watch;
  llmprof_error *err; /* filled when it stops for want of anything but memory */
  stack *stacks;
  size_t used, made, cap;
  node *nodes; /* 1: all lanes, 2 i and 2 i + 1: the halves of i, from `width`
                  on: a lane each; the first one is not used */
  size_t width, node_cap;
  uint32_t first_lane;
} lane_finder;

static node join(node a, node b) {
  return (node){a.first_end < b.first_end ? a.first_end : b.first_end,
                a.last_end > b.last_end ? a.last_end : b.last_end,
                a.is_free || b.is_free, a.is_busy || b.is_busy};
}

static node node_of(const lane_finder *finder, size_t lane) {
  node none = {INT64_MAX, INT64_MIN, false, false};
  if (lane >= finder->used) return none;
  const stack *s = &finder->stacks[lane];
  none.is_free = !s->count;
  if (!s->count) return none;
  int64_t end = s->ends[s->count - 1];
  return (node){end, end, false, true};
}

/* What runs on a lane has changed. */
static void note(lane_finder *finder, size_t lane) {
  node *nodes = finder->nodes;
  size_t at = finder->width + lane;
  nodes[at] = node_of(finder, lane);
  while (at /= 2) nodes[at] = join(nodes[2 * at], nodes[2 * at + 1]);
}

/* Twice as many lanes. */
static bool widen(lane_finder *finder) {
  size_t width = finder->width ? finder->width * 2 : 1;
  if (!llmprof_grow(&finder->nodes, &finder->node_cap, width * 2,
                    sizeof *finder->nodes))
    return false;
  node *nodes = finder->nodes;
  finder->width = width;
  for (size_t lane = 0; lane < width; lane++)
    nodes[width + lane] = node_of(finder, lane);
  for (size_t at = width; at-- > 1;)
    nodes[at] = join(nodes[2 * at], nodes[2 * at + 1]);
  return true;
}

static bool ends_by(const node *n, int64_t start) {
  return n->is_busy && n->first_end <= start;
}

/* Takes what ended off its lane. */
static void end_items(lane_finder *finder, int64_t start) {
  const node *nodes = finder->nodes;
  while (finder->used && ends_by(&nodes[1], start)) {
    size_t at = 1;
    while (at < finder->width) at = 2 * at + !ends_by(&nodes[2 * at], start);
    stack *s = &finder->stacks[at - finder->width];
    while (s->count && s->ends[s->count - 1] <= start) s->count--;
    note(finder, at - finder->width);
  }
}

static bool takes(const node *n, int64_t end, bool nests) {
  return n->is_free || (nests && n->is_busy && n->last_end >= end);
}

/* The first lane that takes it, or the number of lanes. */
static size_t find_lane(const lane_finder *finder, int64_t end, bool nests) {
  const node *nodes = finder->nodes;
  if (!finder->used || !takes(&nodes[1], end, nests)) return finder->used;
  size_t at = 1;
  while (at < finder->width) at = 2 * at + !takes(&nodes[2 * at], end, nests);
  return at - finder->width;
}

static bool push(lane_finder *finder, size_t lane, int64_t end) {
  stack *s = &finder->stacks[lane];
  if (!llmprof_grow(&s->ends, &s->cap, s->count + 1, sizeof end)) return false;
  s->ends[s->count++] = end;
  note(finder, lane);
  return true;
}

static bool add_lane(perfetto_layout *l, lane_finder *finder, uint32_t track) {
  if (!llmprof_grow(&l->lanes, &l->lane_cap, l->lane_count + 1,
                    sizeof *l->lanes) ||
      !llmprof_grow(&finder->stacks, &finder->cap, finder->used + 1,
                    sizeof *finder->stacks) ||
      (finder->used == finder->width && !widen(finder)))
    return false;
  if (finder->used == finder->made) finder->stacks[finder->made++] = (stack){0};
  finder->stacks[finder->used].count = 0;
  l->lanes[l->lane_count++] = (perfetto_lane){track, (uint32_t)finder->used++};
  return true;
}

static bool place_item(perfetto_layout *l, lane_finder *finder, uint32_t item) {
  uint32_t track = track_of(l, item);
  if (!finder->used || l->lanes[l->lane_count - 1].track != track) {
    finder->used = finder->width = 0;
    finder->first_lane = (uint32_t)l->lane_count;
  }
  int64_t end = llmprof_perfetto_end(l, item);
  if (!llmprof_watch_go_on(&finder->watch, 1, finder->path, finder->err))
    return false;
  end_items(finder, llmprof_perfetto_start(l, item));
  size_t lane = find_lane(finder, end, item >= l->first_range);
  if (lane == finder->used && !add_lane(l, finder, track)) return false;
  l->lane[item] = finder->first_lane + (uint32_t)lane;
  return push(finder, lane, end);
}

static bool place_items(perfetto_layout *l, const uint32_t *items, size_t count,
                        const char *path, llmprof_error *err) {
  lane_finder finder = {.path = path, .err = err};
  bool ok = true;
  for (size_t i = 0; ok && i < count; i++)
    ok = place_item(l, &finder, items[i]);
  for (size_t i = 0; i < finder.made; i++) llmprof_free(finder.stacks[i].ends);
  llmprof_free(finder.stacks);
  llmprof_free(finder.nodes);
  return ok;
}

/* ---- together ---- */

static bool open_trace(perfetto_layout *l, llmprof_trace *trace,
                       llmprof_error *err) {
  l->ops = llmprof_trace_ops(trace, err);
  l->ranges = llmprof_trace_ranges(trace, err);
  l->calls = llmprof_trace_calls(trace, err);
  if (!l->ops || !l->ranges || !l->calls) return false;
  const llmprof_attribution *attribution =
      llmprof_trace_attribution(trace, err);
  if (!attribution) return false;
  l->call_of = attribution->call;
  l->first_range = l->ops->count;
  l->first_call = l->first_range + l->ranges->count;
  l->count = l->first_call + l->calls->count;
  llmprof_trace_rows(trace, LLMPROF_PLACES, &l->places);
  llmprof_trace_threads(trace, &l->threads);
  return l->count < LLMPROF_NONE ||
         llmprof_fail(err, LLMPROF_LIMIT, "%s: more than 4294967294 events",
                      llmprof_trace_path(trace));
}

bool llmprof_perfetto_lay_out(perfetto_layout *l, llmprof_trace *trace,
                              const llmprof_perfetto_options *options,
                              llmprof_error *err) {
  if (!open_trace(l, trace, err)) return false;
  uint32_t *items = llmprof_alloc(l->count, sizeof *items);
  l->lane = llmprof_alloc(l->count, sizeof *l->lane);
  bool ok = items && l->lane;
  size_t count = 0;
  for (size_t i = 0; ok && i < l->count; i++) {
    l->lane[i] = LLMPROF_NONE;
    if (is_wanted(l, options, i)) items[count++] = (uint32_t)i;
  }
  llmprof_error why = {0};
  ok = ok && sort_items(l, items, count) &&
       place_items(l, items, count, llmprof_trace_path(trace), &why);
  llmprof_free(items);
  if (why.code && err) *err = why;
  return ok || (!why.code && llmprof_fail_nomem(err));
}

void llmprof_perfetto_layout_free(perfetto_layout *l) {
  llmprof_free(l->lane);
  llmprof_free(l->lanes);
}

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

/* ---- order ---- */

/* By track, start and end backwards, of any end; else as they were. */
static int64_t key_of_item(const void *layout, size_t item, int which) {
  const perfetto_layout *l = layout;
  if (which == 0) return ~llmprof_perfetto_end(l, item);
  return which == 1 ? llmprof_perfetto_start(l, item) : track_of(l, item);
}

/* ---- lanes ---- */

/* Ends of what runs on a lane, the innermost last. */
typedef struct stack {
  int64_t *ends;
  size_t count, cap;
} stack;

/* The lanes of the track at hand; stacks are used again for the next. */
typedef struct lane_finder {
  const char *path;
  llmprof_watch watch;
  llmprof_error *err; /* filled when it stops for want of anything but memory */
  stack *stacks;
  size_t used, made, cap;
  uint32_t first_lane;
} lane_finder;

/* Takes what ended off the lane. Does the lane take the item then? */
static bool takes(stack *s, int64_t start, int64_t end, bool nests) {
  while (s->count && s->ends[s->count - 1] <= start) s->count--;
  return !s->count || (nests && s->ends[s->count - 1] >= end);
}

/* The first lane that takes it, or the number of lanes. */
static size_t find_lane(lane_finder *finder, int64_t start, int64_t end,
                        bool nests) {
  size_t lane = 0;
  while (lane < finder->used &&
         !takes(&finder->stacks[lane], start, end, nests))
    lane++;
  return lane;
}

static bool push(lane_finder *finder, size_t lane, int64_t end) {
  stack *s = &finder->stacks[lane];
  if (!llmprof_grow(&s->ends, &s->cap, s->count + 1, sizeof end)) return false;
  s->ends[s->count++] = end;
  return true;
}

static bool add_lane(perfetto_layout *l, lane_finder *finder, uint32_t track) {
  if (!llmprof_grow(&l->lanes, &l->lane_cap, l->lane_count + 1,
                    sizeof *l->lanes) ||
      !llmprof_grow(&finder->stacks, &finder->cap, finder->used + 1,
                    sizeof *finder->stacks))
    return false;
  if (finder->used == finder->made) finder->stacks[finder->made++] = (stack){0};
  finder->stacks[finder->used].count = 0;
  l->lanes[l->lane_count++] = (perfetto_lane){track, (uint32_t)finder->used++};
  return true;
}

static bool place_item(perfetto_layout *l, lane_finder *finder, uint32_t item) {
  uint32_t track = track_of(l, item);
  if (!finder->used || l->lanes[l->lane_count - 1].track != track) {
    finder->used = 0;
    finder->first_lane = (uint32_t)l->lane_count;
  }
  int64_t end = llmprof_perfetto_end(l, item);
  if (!llmprof_watch_go_on(&finder->watch, finder->used + 1, finder->path,
                           finder->err))
    return false;
  size_t lane = find_lane(finder, llmprof_perfetto_start(l, item), end,
                          item >= l->first_range);
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
                              llmprof_error *err) {
  if (!open_trace(l, trace, err)) return false;
  uint32_t *items = llmprof_order_rows(l->count, 3, key_of_item, l);
  l->lane = llmprof_alloc(l->count, sizeof *l->lane);
  bool ok = items && l->lane;
  size_t count = 0;
  for (size_t i = 0; ok && i < l->count; i++) {
    l->lane[i] = LLMPROF_NONE;
    if (has_times(l, items[i])) items[count++] = items[i];
  }
  llmprof_error why = {0};
  ok = ok && place_items(l, items, count, llmprof_trace_path(trace), &why);
  llmprof_free(items);
  if (why.code && err) *err = why;
  return ok || (!why.code && llmprof_fail_nomem(err));
}

void llmprof_perfetto_layout_free(perfetto_layout *l) {
  llmprof_free(l->lane);
  llmprof_free(l->lanes);
}

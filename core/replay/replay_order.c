/* Points by thread and start, operations by start and end, and the lists that
 * lead from a call to its operations and from a stream to its launches. */
#include <string.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "frame/sort.h"
#include "replay/replay_internal.h"

/* By thread and start; at one time the edges of ranges come first, then the
 * longest calls. */
static int64_t point_key(const void *of, size_t i, int which) {
  const replay_point *p = ((const llmprof_replay *)of)->points + i;
  if (which == 2) return p->thread;
  if (which == 1) return p->start;
  return p->kind == REPLAY_EDGE ? INT64_MIN : -p->end;
}

static int64_t operation_key(const void *of, size_t i, int major) {
  const llmprof_replay *r = of;
  return major ? r->operations[i].start : r->operations[i].end;
}

static int64_t launch_key(const void *of, size_t i, int major) {
  const llmprof_replay *r = of;
  const replay_operation *o = r->operations + i;
  return major ? o->stream : replay_launch_time(r, o);
}

/* Put items of `size` bytes into the order, which is 0, 1, ... afterwards. */
static void reorder(void *items, size_t size, uint32_t *order, size_t count) {
  char held[sizeof(replay_operation)], *at = items;
  for (uint32_t i = 0; i < count; i++) {
    if (order[i] == i) continue;
    memcpy(held, at + i * size, size);
    uint32_t to = i;
    for (uint32_t from; (from = order[to]) != i; to = from) {
      memcpy(at + to * size, at + from * size, size);
      order[to] = to;
    }
    memcpy(at + to * size, held, size);
    order[to] = to;
  }
}

static void renumber(uint32_t *number, const uint32_t *places) {
  if (*number != REPLAY_NONE) *number = places[*number];
}

/* places[old] = new */
static uint32_t *inverse(const uint32_t *order, size_t count) {
  uint32_t *places = llmprof_alloc(count, sizeof *places);
  for (size_t i = 0; places && i < count; i++) places[order[i]] = (uint32_t)i;
  return places;
}

/* A call inside of another one is part of it: its point goes. Write where each
 * point is afterwards. */
static void fold_nested(llmprof_replay *r, uint32_t *places) {
  uint32_t outer = REPLAY_NONE, kept = 0;
  for (uint32_t i = 0; i < r->point_count; i++) {
    const replay_point *p = r->points + i;
    if (p->kind == REPLAY_CALL && outer != REPLAY_NONE &&
        p->thread == r->points[outer].thread &&
        p->start < r->points[outer].end) {
      places[i] = outer;
      continue;
    }
    if (p->kind == REPLAY_CALL) outer = kept;
    r->points[kept] = *p;
    places[i] = kept++;
  }
  r->point_count = kept;
}

static bool sort_points(llmprof_replay *r) {
  size_t count = r->point_count;
  uint32_t *order = llmprof_order_rows(count, 3, point_key, r);
  uint32_t *places = order ? inverse(order, count) : NULL;
  if (places) {
    reorder(r->points, sizeof *r->points, order, count);
    fold_nested(r, order);
    for (size_t i = 0; i < count; i++) places[i] = order[places[i]];
    for (size_t i = 0; i < r->operation_count; i++)
      renumber(&r->operations[i].call, places);
    for (size_t i = 0; i < r->range_count; i++) {
      renumber(&r->ranges[i].begin, places);
      renumber(&r->ranges[i].end, places);
    }
    for (size_t i = 0; i < r->syncs.count; i++)
      renumber(&r->syncs.items[i].point, places);
    for (size_t i = 0; i < r->records.count; i++)
      renumber(&r->records.items[i].point, places);
  }
  llmprof_free(order);
  llmprof_free(places);
  return places != NULL;
}

static bool sort_operations(llmprof_replay *r) {
  size_t count = r->operation_count;
  uint32_t *order = llmprof_order_rows(count, 2, operation_key, r);
  uint32_t *places = order ? inverse(order, count) : NULL;
  if (places) {
    reorder(r->operations, sizeof *r->operations, order, count);
    for (size_t i = 0; i < r->part_count; i++)
      for (size_t op = 0; op < r->parts[i].ops; op++)
        renumber(r->parts[i].by_op + op, places);
    for (size_t i = 0; i < r->members.count; i++)
      r->members.items[i].key = places[r->members.items[i].key];
    replay_samples_sort(&r->members);
  }
  llmprof_free(order);
  llmprof_free(places);
  return places != NULL;
}

/* Where the points of a thread begin, and the latest end before each edge. */
static void number_threads(llmprof_replay *r) {
  for (size_t i = 0; i < r->point_count; i++) {
    replay_point *p = r->points + i;
    replay_thread *thread = r->threads + p->thread;
    p->leads = !thread->count++;
    if (p->leads)
      thread->first = (uint32_t)i;
    else if (p->kind == REPLAY_EDGE && p[-1].end > p->end)
      p->end = p[-1].end;
  }
}

static bool list_by_call(llmprof_replay *r) {
  /* as large as they are, with a point at the end that tells where its list of
   * operations would begin */
  replay_point *points =
      llmprof_resize(r->points, r->point_count + 1, sizeof *points);
  if (!points) return false;
  r->points = points;
  r->point_room = r->point_count + 1;
  r->by_call = llmprof_alloc(r->operation_count, sizeof *r->by_call);
  if (!r->by_call) return false;
  for (size_t i = 0; i <= r->point_count; i++) points[i].operations = 0;
  for (size_t i = 0; i < r->operation_count; i++)
    if (r->operations[i].call != REPLAY_NONE)
      points[r->operations[i].call].operations++;
  for (size_t i = 1; i <= r->point_count; i++)
    points[i].operations += points[i - 1].operations;
  for (size_t i = r->operation_count; i--;) {
    uint32_t call = r->operations[i].call;
    if (call != REPLAY_NONE)
      r->by_call[--points[call].operations] = (uint32_t)i;
  }
  return true;
}

/* Operations of each stream by when they were launched. */
static bool list_by_launch(llmprof_replay *r) {
  r->launched = llmprof_order_rows(r->operation_count, 2, launch_key, r);
  for (size_t i = 0; r->launched && i < r->operation_count; i++) {
    replay_stream *stream = r->streams + r->operations[r->launched[i]].stream;
    if (!stream->count++) stream->first = (uint32_t)i;
  }
  return r->launched != NULL;
}

bool replay_order(llmprof_replay *r, llmprof_error *err) {
  if (!sort_points(r) || !sort_operations(r)) return llmprof_fail_nomem(err);
  number_threads(r);
  return (list_by_call(r) && list_by_launch(r)) || llmprof_fail_nomem(err);
}

uint32_t replay_count_launched(const llmprof_replay *r,
                               const replay_stream *stream, int64_t time) {
  size_t low = 0, high = stream->count;
  const uint32_t *launched = r->launched + stream->first;
  LLMPROF_BISECT(low, high, at,
                 replay_launch_time(r, r->operations + launched[at]) <= time);
  return (uint32_t)low;
}

uint32_t replay_launched_by(const llmprof_replay *r,
                            const replay_stream *stream, int64_t time) {
  uint32_t count = replay_count_launched(r, stream, time);
  return count ? r->launched[stream->first + count - 1] : REPLAY_NONE;
}

const replay_thread *replay_thread_of(const llmprof_replay *r, uint32_t point) {
  size_t low = 1, high = r->thread_count;
  LLMPROF_BISECT(low, high, at, r->threads[at].first <= point);
  return r->threads + low - 1;
}

uint32_t replay_point_from(const llmprof_replay *r, const replay_thread *thread,
                           int64_t time) {
  size_t low = thread->first, high = thread->first + thread->count;
  LLMPROF_BISECT(low, high, at, r->points[at].start < time);
  return (uint32_t)low;
}

bool replay_call_is(const llmprof_replay *r, const replay_point *p,
                    const char *rest) {
  const char *name = llmprof_strings_get(r->names, p->name, NULL);
  if (!name || strncmp(name, "cu", 2) != 0) return false;
  name += strncmp(name, "cuda", 4) == 0 ? 4 : 2;
  return strncmp(name, rest, strlen(rest)) == 0;
}

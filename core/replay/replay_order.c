/* Points by thread and start, operations by start and end, and the lists that
 * lead from a call to its operations and from a stream to its launches. */
#include <string.h>

#include "base/alloc.h"
#include "frame/sort.h"
#include "replay/replay_internal.h"

static uint32_t *identity(size_t count) {
  uint32_t *order = llmprof_alloc(count, sizeof *order);
  for (size_t i = 0; order && i < count; i++) order[i] = (uint32_t)i;
  return order;
}

/* By thread and start; at one time the edges of ranges come first. */
static uint32_t *order_of_points(const llmprof_replay *r) {
  size_t count = r->point_count;
  uint32_t *order = identity(count);
  int64_t *keys = llmprof_alloc(count, sizeof *keys);
  bool ok = order && keys;
  for (size_t i = 0; ok && i < count; i++) keys[i] = r->points[i].kind;
  ok = ok && llmprof_sort_rows_i64(order, count, keys);
  for (size_t i = 0; ok && i < count; i++) keys[i] = r->points[i].start;
  ok = ok && llmprof_sort_rows_i64(order, count, keys);
  for (size_t i = 0; ok && i < count; i++) keys[i] = r->points[i].thread;
  ok = ok && llmprof_sort_rows_i64(order, count, keys);
  llmprof_free(keys);
  if (ok) return order;
  llmprof_free(order);
  return NULL;
}

static uint32_t *order_of_operations(const llmprof_replay *r) {
  size_t count = r->operation_count;
  uint32_t *order = identity(count);
  int64_t *keys = llmprof_alloc(count, sizeof *keys);
  bool ok = order && keys;
  for (size_t i = 0; ok && i < count; i++) keys[i] = r->operations[i].end;
  ok = ok && llmprof_sort_rows_i64(order, count, keys);
  for (size_t i = 0; ok && i < count; i++) keys[i] = r->operations[i].start;
  ok = ok && llmprof_sort_rows_i64(order, count, keys);
  llmprof_free(keys);
  if (ok) return order;
  llmprof_free(order);
  return NULL;
}

/* Items of `size` bytes in the order; frees the old array. */
static void *reordered(void *items, size_t size, const uint32_t *order,
                       size_t count) {
  char *made = llmprof_alloc(count, size);
  if (!made) return NULL;
  for (size_t i = 0; i < count; i++)
    memcpy(made + i * size, (char *)items + order[i] * size, size);
  llmprof_free(items);
  return made;
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

static bool sort_points(llmprof_replay *r) {
  uint32_t *order = order_of_points(r);
  uint32_t *places = order ? inverse(order, r->point_count) : NULL;
  void *points =
      places ? reordered(r->points, sizeof *r->points, order, r->point_count)
             : NULL;
  if (points) {
    r->points = points;
    r->point_room = r->point_count;
    for (size_t i = 0; i < r->operation_count; i++)
      renumber(&r->operations[i].call, places);
    for (size_t i = 0; i < r->range_count; i++) {
      renumber(&r->ranges[i].begin, places);
      renumber(&r->ranges[i].end, places);
    }
    for (size_t i = 0; i < r->sync_count; i++)
      renumber(&r->syncs[i].point, places);
    for (size_t i = 0; i < r->record_count; i++)
      renumber(&r->records[i].point, places);
  }
  llmprof_free(order);
  llmprof_free(places);
  return points != NULL;
}

static bool sort_operations(llmprof_replay *r) {
  uint32_t *order = order_of_operations(r);
  void *operations = order ? reordered(r->operations, sizeof *r->operations,
                                       order, r->operation_count)
                           : NULL;
  llmprof_free(order);
  if (!operations) return false;
  r->operations = operations;
  r->operation_room = r->operation_count;
  return true;
}

static void number_threads(llmprof_replay *r) {
  for (size_t i = 0; i < r->point_count; i++) {
    replay_thread *thread = r->threads + r->points[i].thread;
    if (!thread->count++) thread->first = (uint32_t)i;
  }
}

/* Which operation an `op` of a part is. */
static bool number_ops(llmprof_replay *r) {
  for (size_t i = 0; i < r->part_count; i++) {
    replay_part *part = r->parts + i;
    part->by_op = llmprof_alloc(part->ops, sizeof *part->by_op);
    if (!part->by_op) return false;
    memset(part->by_op, 0xff, part->ops * sizeof *part->by_op);
  }
  for (size_t i = 0; i < r->operation_count; i++)
    r->parts[r->operations[i].part].by_op[r->operations[i].op] = (uint32_t)i;
  return true;
}

static bool list_by_call(llmprof_replay *r) {
  r->by_call = llmprof_alloc(r->operation_count, sizeof *r->by_call);
  if (!r->by_call) return false;
  for (size_t i = 0; i < r->operation_count; i++) {
    uint32_t call = r->operations[i].call;
    if (call != REPLAY_NONE) r->points[call].operation_count++;
  }
  uint32_t next = 0;
  for (size_t i = 0; i < r->point_count; i++) {
    r->points[i].operations = next;
    next += r->points[i].operation_count;
    r->points[i].operation_count = 0;
  }
  for (size_t i = 0; i < r->operation_count; i++) {
    uint32_t call = r->operations[i].call;
    if (call == REPLAY_NONE) continue;
    replay_point *p = r->points + call;
    r->by_call[p->operations + p->operation_count++] = (uint32_t)i;
  }
  return true;
}

/* Operations of each stream by when they were launched. */
static bool list_by_launch(llmprof_replay *r) {
  size_t count = r->operation_count;
  uint32_t *order = identity(count);
  int64_t *keys = llmprof_alloc(count, sizeof *keys);
  bool ok = order && keys;
  for (size_t i = 0; ok && i < count; i++)
    keys[i] = replay_launch_time(r, r->operations + i);
  ok = ok && llmprof_sort_rows_i64(order, count, keys);
  for (size_t i = 0; ok && i < count; i++) keys[i] = r->operations[i].stream;
  ok = ok && llmprof_sort_rows_i64(order, count, keys);
  llmprof_free(keys);
  r->launched = order;
  for (size_t i = 0; ok && i < count; i++) {
    replay_stream *stream = r->streams + r->operations[order[i]].stream;
    if (!stream->count++) stream->first = (uint32_t)i;
  }
  return ok;
}

bool replay_order(llmprof_replay *r, llmprof_error *err) {
  if (!sort_points(r) || !sort_operations(r)) return llmprof_fail_nomem(err);
  number_threads(r);
  return (number_ops(r) && list_by_call(r) && list_by_launch(r)) ||
         llmprof_fail_nomem(err);
}

uint32_t replay_count_launched(const llmprof_replay *r,
                               const replay_stream *stream, int64_t time) {
  uint32_t low = 0, high = stream->count;
  const uint32_t *launched = r->launched + stream->first;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (replay_launch_time(r, r->operations + launched[middle]) <= time)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

uint32_t replay_launched_by(const llmprof_replay *r,
                            const replay_stream *stream, int64_t time) {
  uint32_t count = replay_count_launched(r, stream, time);
  return count ? r->launched[stream->first + count - 1] : REPLAY_NONE;
}

uint32_t replay_point_from(const llmprof_replay *r, const replay_thread *thread,
                           int64_t time) {
  uint32_t low = thread->first, high = thread->first + thread->count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (r->points[middle].start < time)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

bool replay_call_is(const llmprof_replay *r, const replay_point *p,
                    const char *rest) {
  const char *name = llmprof_strings_get(r->names, p->name, NULL);
  if (!name || strncmp(name, "cu", 2) != 0) return false;
  name += strncmp(name, "cuda", 4) == 0 ? 4 : 2;
  return strncmp(name, rest, strlen(rest)) == 0;
}

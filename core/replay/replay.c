#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/interrupt.h"
#include "frame/cells.h"
#include "frame/sort.h"
#include "replay/replay_internal.h"

llmprof_replay *llmprof_replay_new(void) {
  llmprof_replay *r = llmprof_zalloc(1, sizeof *r);
  if (!r) return NULL;
  r->names = llmprof_strings_new();
  llmprof_intern_init_keyed(&r->known_streams, sizeof(replay_stream),
                            offsetof(replay_stream, first));
  llmprof_intern_init_keyed(&r->known_threads, sizeof(replay_thread),
                            offsetof(replay_thread, first));
  llmprof_intern_init_keyed(&r->waiting, sizeof(replay_wait), sizeof(uint32_t));
  uint32_t none; /* REPLAY_NO_NAME, as the first */
  if (r->names && llmprof_strings_add(r->names, "", 0, &none)) return r;
  llmprof_replay_free(r);
  return NULL;
}

void llmprof_replay_free(llmprof_replay *r) {
  if (!r) return;
  for (size_t i = 0; i < r->part_count; i++) llmprof_free(r->parts[i].by_op);
  llmprof_free(r->points);
  llmprof_free(r->operations);
  llmprof_intern_free(&r->known_streams);
  llmprof_intern_free(&r->known_threads);
  llmprof_free(r->ranges);
  llmprof_free(r->parts);
  llmprof_free(r->syncs.items);
  llmprof_free(r->records.items);
  llmprof_free(r->by_call);
  llmprof_free(r->launched);
  llmprof_intern_free(&r->waiting);
  llmprof_free(r->targets.items);
  llmprof_free(r->waits.items);
  llmprof_free(r->members.items);
  llmprof_free(r->released.items);
  llmprof_free(r->room);
  llmprof_free(r->latencies);
  llmprof_free(r->arrived);
  llmprof_free(r->new_start);
  llmprof_free(r->new_end);
  llmprof_free(r->new_op_start);
  llmprof_free(r->new_op_end);
  llmprof_strings_free(r->names);
  llmprof_free(r);
}

size_t llmprof_replay_parts(const llmprof_replay *r) {
  return r->part_count;
}

size_t llmprof_replay_ranges(const llmprof_replay *r, size_t part) {
  return r->parts[part].range_count;
}

llmprof_replay_basis llmprof_replay_basis_of(const llmprof_replay *r) {
  return r->basis;
}

/* ---- reading frames ---- */

bool replay_columns(llmprof_frame *frame, const char *const *names,
                    size_t count, size_t needed, const llmprof_column **found,
                    llmprof_error *err) {
  for (size_t i = 0; i < count; i++) {
    size_t number = llmprof_frame_find(frame, names[i]);
    found[i] = NULL;
    if (number == SIZE_MAX) {
      if (i >= needed) continue;
      return llmprof_fail(err, LLMPROF_NOTFOUND, "no column '%s'", names[i]);
    }
    found[i] = llmprof_frame_column(frame, number, err);
    if (!found[i]) return false;
  }
  return true;
}

/* Ids of a frame's strings as ids of the replay's: made when first met. */
typedef struct renamed {
  const llmprof_strings *from;
  uint32_t *ids;
} renamed;

static bool renamed_open(renamed *map, const llmprof_frame *frame,
                         const llmprof_column *column) {
  map->from = llmprof_column_strings(frame, column);
  size_t count = llmprof_strings_count(map->from);
  map->ids = llmprof_alloc(count, sizeof *map->ids);
  if (map->ids) memset(map->ids, 0xff, count * sizeof *map->ids);
  return map->ids != NULL;
}

/* REPLAY_NONE: out of memory. */
static uint32_t rename_id(llmprof_replay *r, renamed *map, int64_t id) {
  if (id == LLMPROF_ABSENT) return REPLAY_NO_NAME;
  if (map->ids[id] == LLMPROF_NO_STRING) {
    size_t size;
    const char *text = llmprof_strings_get(map->from, (uint32_t)id, &size);
    if (!llmprof_strings_add(r->names, text, size, &map->ids[id]))
      return REPLAY_NONE;
  }
  return map->ids[id];
}

static bool thread_number(llmprof_replay *r, int64_t pid, int64_t tid,
                          uint32_t *number) {
  const replay_thread thread = {
      .pid = pid, .tid = tid, .part = (uint32_t)r->part_count - 1};
  return llmprof_intern_add(&r->known_threads, &thread, number);
}

static bool stream_number(llmprof_replay *r, int64_t pid, uint32_t device,
                          int64_t id, uint32_t *number) {
  const replay_stream stream = {.part = (uint32_t)r->part_count - 1,
                                .device = device,
                                .pid = pid,
                                .id = id};
  return llmprof_intern_add(&r->known_streams, &stream, number);
}

static replay_point *new_point(llmprof_replay *r, llmprof_error *err) {
  if (r->point_count >= 1u << 28) {
    llmprof_fail(err, LLMPROF_LIMIT, "more than 2^28 calls and ranges");
    return NULL;
  }
  if (!llmprof_grow(&r->points, &r->point_room, r->point_count + 1,
                    sizeof *r->points)) {
    llmprof_fail_nomem(err);
    return NULL;
  }
  replay_point *p = r->points + r->point_count++;
  *p = (replay_point){.name = REPLAY_NO_NAME};
  return p;
}

static bool add_edge(llmprof_replay *r, int64_t time, uint32_t thread,
                     uint32_t *point, llmprof_error *err) {
  replay_point *p = new_point(r, err);
  if (!p) return false;
  p->start = p->end = time;
  p->thread = thread;
  p->kind = REPLAY_EDGE;
  *point = (uint32_t)(p - r->points);
  return true;
}

/* Times lie in (-MOST_TIME / 2, MOST_TIME), 73 years, and offsets in the half
 * of that, so that sums of two can be subtracted; all of them in MOST_EXTENT,
 * 104 days, so that times of threads can be added up. */
#define MOST_TIME   (INT64_C(1) << 61)
#define MOST_EXTENT (INT64_C(1) << 53)

static bool has_times(int64_t start, int64_t end) {
  return start > -MOST_TIME / 2 && start <= end && end < MOST_TIME;
}

static bool add_ranges(llmprof_replay *r, const llmprof_replay_part *part,
                       llmprof_error *err) {
  replay_part *made = r->parts + r->part_count - 1;
  static const char *const names[] = {"start", "end", "pid", "tid"};
  const llmprof_column *c[4];
  if (!replay_columns(part->ranges, names, 4, 4, c, err)) return false;
  size_t rows = llmprof_frame_rows(part->ranges);
  made->ranges = (uint32_t)r->range_count;
  made->range_count = (uint32_t)rows;
  if (!llmprof_grow(&r->ranges, &r->range_room, r->range_count + rows,
                    sizeof *r->ranges))
    return llmprof_fail_nomem(err);
  for (size_t row = 0; row < rows; row++) {
    uint32_t thread;
    replay_range *range = r->ranges + r->range_count++;
    *range = (replay_range){REPLAY_NONE, REPLAY_NONE};
    int64_t start = llmprof_cell(c[0], row), end = llmprof_cell(c[1], row);
    if (!has_times(start, end)) continue;
    if (!thread_number(r, llmprof_cell(c[2], row), llmprof_cell(c[3], row),
                       &thread))
      return llmprof_fail_nomem(err);
    if (!add_edge(r, start + part->offset, thread, &range->begin, err) ||
        !add_edge(r, end + part->offset, thread, &range->end, err))
      return false;
  }
  return true;
}

static bool is_taken(const llmprof_replay_part *part, int64_t time) {
  return part->from == part->to || (time >= part->from && time < part->to);
}

/* Calls as points. owner[row]: the point of a call, or REPLAY_NONE. */
static bool add_calls(llmprof_replay *r, const llmprof_replay_part *part,
                      uint32_t *owner, llmprof_error *err) {
  static const char *const names[] = {"start", "end", "pid", "tid", "name"};
  const llmprof_column *c[5];
  renamed map;
  if (!replay_columns(part->calls, names, 5, 5, c, err)) return false;
  if (!renamed_open(&map, part->calls, c[4])) return llmprof_fail_nomem(err);
  size_t rows = llmprof_frame_rows(part->calls);
  int64_t cells[2][LLMPROF_BLOCK];
  bool ok = true;
  for (size_t row = 0; ok && row < rows; row++) {
    size_t i = row % LLMPROF_BLOCK;
    for (int k = 0; i == 0 && k < 2; k++)
      llmprof_cells(c[k], row, llmprof_block(row, rows), cells[k]);
    int64_t start = cells[0][i], end = cells[1][i];
    owner[row] = REPLAY_NONE;
    if (llmprof_interrupted_at(row)) ok = llmprof_fail_interrupted(err);
    if (!ok || !is_taken(part, start) || !has_times(start, end)) continue;
    replay_point *p = new_point(r, err);
    ok = p != NULL;
    if (!ok) break;
    uint32_t thread = 0, name = rename_id(r, &map, llmprof_cell(c[4], row));
    if (name == REPLAY_NONE || !thread_number(r, llmprof_cell(c[2], row),
                                              llmprof_cell(c[3], row), &thread))
      ok = llmprof_fail_nomem(err);
    p->kind = REPLAY_CALL;
    p->start = start + part->offset;
    p->end = end + part->offset;
    p->thread = thread;
    p->name = name & REPLAY_NAMES;
    owner[row] = (uint32_t)(p - r->points);
  }
  llmprof_free(map.ids);
  return ok;
}

static replay_operation_kind kind_of(const char *kind) {
  if (strcmp(kind, "copy") == 0) return REPLAY_COPIED;
  if (strcmp(kind, "set") == 0) return REPLAY_SET;
  if (strcmp(kind, "graph") == 0) return REPLAY_GRAPH;
  return REPLAY_KERNEL;
}

enum {
  OP,
  START,
  END,
  CALL,
  DEVICE,
  STREAM,
  PID,
  KIND,
  NAME,
  DIRECTION,
  HOST_MEMORY,
  COLLECTIVE,
  OPERATION_COLUMNS
};

/* One number for what decides whether a copy blocks: its direction and its
 * host's kind of memory. */
static uint32_t memory_of(const llmprof_column *const *c, size_t row) {
  /* of a null cell, INT64_MIN, 0 is left */
  uint32_t direction =
      c[DIRECTION] ? (uint32_t)llmprof_cell(c[DIRECTION], row) : 0;
  uint32_t host =
      c[HOST_MEMORY] ? (uint32_t)llmprof_cell(c[HOST_MEMORY], row) : 0;
  return direction * 31 + host;
}

/* Which operation an `op` of the part is. */
static bool number_op(replay_part *part, size_t op, uint32_t operation) {
  if (!llmprof_grow(&part->by_op, &part->op_room, op + 1, sizeof *part->by_op))
    return false;
  while (part->ops <= op) part->by_op[part->ops++] = REPLAY_NONE;
  part->by_op[op] = operation;
  return true;
}

static bool add_operation(llmprof_replay *r, const llmprof_replay_part *part,
                          const llmprof_column *const *c, size_t row,
                          const uint32_t *owner, renamed *map) {
  int64_t call = llmprof_cell(c[CALL], row);
  const char *kind =
      llmprof_cell_text(part->operations, c[KIND], row, "kernel");
  uint32_t stream, number = (uint32_t)r->operation_count;
  uint32_t name = rename_id(r, map, llmprof_cell(c[NAME], row));
  if (name == REPLAY_NONE ||
      !stream_number(r, llmprof_cell(c[PID], row),
                     (uint32_t)llmprof_cell(c[DEVICE], row),
                     llmprof_cell(c[STREAM], row), &stream) ||
      !llmprof_grow(&r->operations, &r->operation_room, r->operation_count + 1,
                    sizeof *r->operations) ||
      !number_op(r->parts + r->part_count - 1, (size_t)llmprof_cell(c[OP], row),
                 number))
    return false;
  replay_operation *o = r->operations + r->operation_count++;
  *o = (replay_operation){
      .start = llmprof_cell(c[START], row) + part->offset,
      .end = llmprof_cell(c[END], row) + part->offset,
      .call = call == LLMPROF_ABSENT ? REPLAY_NONE : owner[call],
      .stream = stream,
      .memory = memory_of(c, row),
      .name = name & REPLAY_NAMES,
      .kind = kind_of(kind) & 3,
  };
  int64_t collective =
      c[COLLECTIVE] ? llmprof_cell(c[COLLECTIVE], row) : LLMPROF_ABSENT;
  if (collective < 0 || collective >= REPLAY_NONE) return true;
  if (collective >= r->collective_count)
    r->collective_count = (uint32_t)collective + 1;
  o->collective = 1;
  return replay_sample_add(&r->members, number, collective);
}

static bool add_operations(llmprof_replay *r, const llmprof_replay_part *part,
                           const uint32_t *owner, size_t calls,
                           llmprof_error *err) {
  static const char *const names[OPERATION_COLUMNS] = {
      "op",  "start", "end",  "call",      "device",      "stream",
      "pid", "kind",  "name", "direction", "host_memory", "collective"};
  const llmprof_column *c[OPERATION_COLUMNS];
  if (!replay_columns(part->operations, names, OPERATION_COLUMNS, NAME + 1, c,
                      err))
    return false;
  renamed map;
  if (!renamed_open(&map, part->operations, c[NAME]))
    return llmprof_fail_nomem(err);
  size_t rows = llmprof_frame_rows(part->operations);
  int64_t cells[CALL + 1][LLMPROF_BLOCK];
  bool ok = true;
  for (size_t row = 0; ok && row < rows; row++) {
    size_t i = row % LLMPROF_BLOCK;
    for (int k = OP; i == 0 && k <= CALL; k++)
      llmprof_cells(c[k], row, llmprof_block(row, rows), cells[k]);
    int64_t op = cells[OP][i], call = cells[CALL][i];
    int64_t start = cells[START][i], end = cells[END][i];
    if (llmprof_interrupted_at(row)) ok = llmprof_fail_interrupted(err);
    if (!ok || !has_times(start, end)) continue;
    if (op < 0 || op >= UINT32_MAX ||
        (call != LLMPROF_ABSENT && (call < 0 || (size_t)call >= calls)))
      ok = llmprof_fail(err, LLMPROF_RANGE, "operation %zu: no such call", row);
    else if (part->from != part->to &&
             (call == LLMPROF_ABSENT ? !is_taken(part, start)
                                     : owner[call] == REPLAY_NONE))
      continue;
    else if (!add_operation(r, part, c, row, owner, &map))
      ok = llmprof_fail_nomem(err);
  }
  llmprof_free(map.ids);
  return ok;
}

/* ---- rows of calls that synchronise, or that record events ---- */

/* Which call a row is of is found by process and correlation. Those of none are
 * left out, and so are further ones of a call. */
static bool add_syncs(llmprof_replay *r, replay_syncs *syncs,
                      llmprof_frame *frame, llmprof_frame *calls,
                      const uint32_t *owner, llmprof_error *err) {
  static const char *const names[] = {"pid", "correlation", "stream", "event"};
  const llmprof_column *c[4];
  if (!frame) return true;
  if (!replay_columns(frame, names, 4, 4, c, err)) return false;
  llmprof_intern rows;
  llmprof_intern_init_keyed(&rows, sizeof(replay_sync),
                            offsetof(replay_sync, stream));
  bool ok = true;
  for (size_t row = 0; ok && row < llmprof_frame_rows(frame); row++) {
    const replay_sync one = {.pid = llmprof_cell(c[0], row),
                             .correlation = llmprof_cell(c[1], row),
                             .stream = llmprof_cell(c[2], row),
                             .event = llmprof_cell(c[3], row),
                             .part = (uint32_t)r->part_count - 1,
                             .point = REPLAY_NONE};
    ok = llmprof_intern_put(&rows, &one) || llmprof_fail_nomem(err);
  }
  ok = ok && (!rows.count || replay_columns(calls, names, 2, 2, c, err));
  for (size_t row = 0; ok && rows.count && row < llmprof_frame_rows(calls);
       row++) {
    const replay_sync key = {.pid = llmprof_cell(c[0], row),
                             .correlation = llmprof_cell(c[1], row)};
    replay_sync *one =
        owner[row] == REPLAY_NONE ? NULL : llmprof_intern_seek(&rows, &key);
    if (one) one->point = owner[row];
  }
  ok = ok && (llmprof_grow(&syncs->items, &syncs->room,
                           syncs->count + rows.count, sizeof *syncs->items) ||
              llmprof_fail_nomem(err));
  for (uint32_t i = 0; ok && i < rows.count; i++) {
    const replay_sync *one = llmprof_intern_get(&rows, i);
    if (one->point != REPLAY_NONE) syncs->items[syncs->count++] = *one;
  }
  llmprof_intern_free(&rows);
  return ok;
}

bool llmprof_replay_add(llmprof_replay *r, const llmprof_replay_part *part,
                        llmprof_error *err) {
  if (part->offset < -MOST_TIME / 2 || part->offset > MOST_TIME / 2)
    return llmprof_fail(err, LLMPROF_RANGE,
                        "clocks are more than 36 years apart");
  if (!llmprof_grow(&r->parts, &r->part_room, r->part_count + 1,
                    sizeof *r->parts))
    return llmprof_fail_nomem(err);
  r->parts[r->part_count++] = (replay_part){0};
  size_t calls = llmprof_frame_rows(part->calls);
  uint32_t *owner = llmprof_alloc(calls, sizeof *owner);
  if (!owner) return llmprof_fail_nomem(err);
  bool ok = add_ranges(r, part, err) && add_calls(r, part, owner, err) &&
            add_operations(r, part, owner, calls, err) &&
            add_syncs(r, &r->syncs, part->waits, part->calls, owner, err) &&
            add_syncs(r, &r->records, part->records, part->calls, owner, err);
  llmprof_free(owner);
  if (ok && llmprof_strings_count(r->names) > REPLAY_NAMES)
    return llmprof_fail(err, LLMPROF_LIMIT, "more than 2^25 names");
  return ok;
}

static bool check_extent(const llmprof_replay *r, llmprof_error *err) {
  int64_t first = INT64_MAX, last = INT64_MIN;
  for (size_t i = 0; i < r->point_count; i++) {
    if (r->points[i].start < first) first = r->points[i].start;
    if (r->points[i].end > last) last = r->points[i].end;
  }
  for (size_t i = 0; i < r->operation_count; i++) {
    if (r->operations[i].start < first) first = r->operations[i].start;
    if (r->operations[i].end > last) last = r->operations[i].end;
  }
  return first >= last || last - first < MOST_EXTENT ||
         llmprof_fail(err, LLMPROF_RANGE,
                      "calls and operations lie more than 104 days apart");
}

/* Room for the times of a run. */
static bool make_room(llmprof_replay *r, llmprof_error *err) {
  if ((uint64_t)r->operation_count + r->point_count >= 1u << 29)
    return llmprof_fail(err, LLMPROF_LIMIT, "more than 2^30 events");
  r->new_start = llmprof_alloc(r->point_count, sizeof *r->new_start);
  r->new_end = llmprof_alloc(r->point_count, sizeof *r->new_end);
  r->new_op_start = llmprof_alloc(r->operation_count, sizeof *r->new_op_start);
  r->new_op_end = llmprof_alloc(r->operation_count, sizeof *r->new_op_end);
  return (r->new_start && r->new_end && r->new_op_start && r->new_op_end) ||
         llmprof_fail_nomem(err);
}

bool llmprof_replay_link(llmprof_replay *r, llmprof_error *err) {
  r->threads = (replay_thread *)(void *)r->known_threads.records;
  r->thread_count = r->known_threads.count;
  r->streams = (replay_stream *)(void *)r->known_streams.records;
  r->stream_count = r->known_streams.count;
  return check_extent(r, err) && replay_order(r, err) &&
         replay_link_streams(r, err) && replay_link_queues(r, err) &&
         replay_link_waits(r, err) && replay_link_collectives(r, err) &&
         replay_link_threads(r, err) && make_room(r, err);
}

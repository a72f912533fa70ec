/* One pass over what happened, in recorded order, which is an order of
 * dependencies too: nothing waits for what came later. Points of a thread and
 * operations are in that order already; what happens next is the earliest of
 * what comes next in each, and of the ends of what has begun. */
#include "base/alloc.h"
#include "base/interrupt.h"
#include "frame/interval.h"
#include "replay/replay_internal.h"

/* ---- what is given, with the change ---- */

static double work_of(const llmprof_change *c, const replay_operation *o,
                      uint32_t i) {
  double work = (double)(o->end - o->start);
  return c ? work * (double)c->work[i] : work;
}

static bool is_there(const llmprof_change *c, uint32_t i) {
  return !c || c->work[i] >= 0;
}

static unsigned flags_of(const llmprof_change *c, uint32_t i) {
  return c && c->flags ? c->flags[i] : 0;
}

/* Of a time that is given. */
static double changed(double time, float by) {
  return by < 0 ? -1 - (double)by : time * (double)by;
}

static double own_of(const llmprof_replay *r, const llmprof_change *c,
                     uint32_t i) {
  if (flags_of(c, i) & REPLAY_GONE) return 0;
  return changed((double)replay_own(r, i), c && c->own ? c->own[i] : 1);
}

static double lag_of(const llmprof_replay *r, const llmprof_change *c,
                     uint32_t i) {
  return c && c->lag && c->lag[i] >= 0
             ? (double)c->lag[i]
             : (double)replay_lag(r, r->operations + i);
}

/* ---- the pass ---- */

/* Of something whose end is not known yet. */
#define NOT_YET (-1e300)

/* What happens, as one number: the end of an operation, the return of a call,
 * the start of a point, the start of an operation. In this order at one time;
 * what takes no time ends when it starts, and has no end of its own. */
typedef struct event {
  int64_t time;
  uint32_t number;
} event;

typedef struct pass {
  llmprof_replay *r;
  const llmprof_change *change;
  double *arrivals; /* by collective: the last one so far */
  size_t missing;
  event *heap; /* what comes next */
  size_t count;
  uint32_t returns, points, operations; /* their first events */
} pass;

static bool is_earlier(const event *a, const event *b) {
  return a->time != b->time ? a->time < b->time : a->number < b->number;
}

static void push(pass *at, int64_t time, uint32_t number) {
  event pushed = {time, number};
  size_t i = at->count++;
  for (; i && is_earlier(&pushed, at->heap + (i - 1) / 2); i = (i - 1) / 2)
    at->heap[i] = at->heap[(i - 1) / 2];
  at->heap[i] = pushed;
}

static uint32_t pop(pass *at) {
  uint32_t number = at->heap[0].number;
  event moved = at->heap[--at->count];
  size_t i = 0, next;
  for (; (next = 2 * i + 1) < at->count; i = next) {
    if (next + 1 < at->count &&
        is_earlier(at->heap + next + 1, at->heap + next))
      next++;
    if (is_earlier(&moved, at->heap + next)) break;
    at->heap[i] = at->heap[next];
  }
  at->heap[i] = moved;
  return number;
}

static double later(double a, double b) {
  return a > b ? a : b;
}

/* The end of an operation that something waits for. */
static double end_of(pass *at, uint32_t operation) {
  double end = at->r->new_op_end[operation];
  if (end > NOT_YET) return end;
  at->missing++;
  return at->r->new_op_start[operation];
}

static void push_point(pass *at, uint32_t i) {
  push(at, at->r->points[i].start, at->points + i);
}

/* The call on another thread whose end a point awaits, or REPLAY_NONE. */
static uint32_t released_by(const llmprof_replay *r, uint32_t i) {
  if (replay_gap(r->points + i) <= REPLAY_LONG_GAP) return REPLAY_NONE;
  return (uint32_t)replay_quantile(&r->released, i, 0, REPLAY_NONE);
}

static void start_point(pass *at, uint32_t i) {
  llmprof_replay *r = at->r;
  const llmprof_change *c = at->change;
  const replay_point *p = r->points + i;
  double start = (double)p->start;
  if (!p->leads) {
    double before = r->new_end[i - 1];
    uint32_t released = released_by(r, i);
    if (released != REPLAY_NONE && r->new_end[released] > NOT_YET)
      start = later(before, r->new_end[released] +
                                (double)(p->start - r->points[released].end));
    else
      start =
          before + changed((double)replay_gap(p), c && c->gap ? c->gap[i] : 1);
  }
  r->new_start[i] = start;
  r->new_end[i] = start + own_of(r, c, i);
  if (p->end > p->start && (p->kind > REPLAY_CALL || r->room))
    push(at, p->end, at->returns + i);
  if (i + 1 < r->point_count && !p[1].leads) push_point(at, i + 1);
}

static void return_from(pass *at, uint32_t i) {
  llmprof_replay *r = at->r;
  const replay_point *p = r->points + i;
  unsigned flags = flags_of(at->change, i);
  if (flags & REPLAY_GONE) return;
  if (p->kind > REPLAY_CALL && !(flags & REPLAY_NO_WAIT)) {
    double latest = NOT_YET;
    size_t first, count = replay_samples_of(&r->targets, i, &first);
    for (size_t k = first; k < first + count; k++)
      latest = later(latest, end_of(at, (uint32_t)r->targets.items[k].value));
    r->new_end[i] =
        later(r->new_end[i], latest + (double)replay_wait_of(r, i)->after);
  }
  uint32_t room = r->room ? r->room[i] : REPLAY_NONE;
  if (room != REPLAY_NONE && r->new_op_start[room] > NOT_YET)
    r->new_end[i] =
        later(r->new_end[i], r->new_op_start[room] + (double)r->room_after);
}

/* The earliest that its call lets an operation start. */
static double launch_of(const pass *at, const replay_operation *o) {
  const llmprof_replay *r = at->r;
  if (o->in_graph || o->call == REPLAY_NONE)
    return o->before == REPLAY_NONE ? (double)o->start : NOT_YET;
  const replay_point *p = r->points + o->call;
  double latency = (double)replay_latency(r, o);
  if (p->kind == REPLAY_COPY) return r->new_start[o->call] + latency;
  if (o->start >= p->end) return r->new_end[o->call] + latency;
  /* it began in the call, which may have waited for something afterwards: at
   * the same part of what the call takes by itself */
  double own = own_of(r, at->change, o->call);
  double was = (double)replay_own(r, o->call);
  if (latency < 0 && own < was) latency *= own / was;
  return r->new_start[o->call] + own + latency;
}

static double predecessor_of(pass *at, const replay_operation *o, uint32_t i) {
  const llmprof_replay *r = at->r;
  if (o->before == REPLAY_NONE) return NOT_YET;
  double lag = lag_of(r, at->change, i);
  if (!o->after_start) return end_of(at, o->before) + lag;
  const replay_operation *before = r->operations + o->before;
  double was = (double)(before->end - before->start);
  double is = r->new_op_end[o->before] > NOT_YET
                  ? r->new_op_end[o->before] - r->new_op_start[o->before]
                  : work_of(at->change, before, o->before);
  if (was > 0 && is < was) lag *= is / was; /* the same part of it */
  return r->new_op_start[o->before] + lag;
}

static int64_t collective_of(const llmprof_replay *r, uint32_t i) {
  return replay_quantile(&r->members, i, 0, 0);
}

static void start_operation(pass *at, uint32_t i) {
  llmprof_replay *r = at->r;
  const replay_operation *o = r->operations + i;
  double start = later(launch_of(at, o), predecessor_of(at, o, i));
  if (i + 1 < r->operation_count) push(at, o[1].start, at->operations + i + 1);
  size_t first = 0;
  size_t waits = o->waits ? replay_samples_of(&r->waits, i, &first) : 0;
  for (size_t k = first; k < first + waits; k++)
    start = later(start, end_of(at, (uint32_t)r->waits.items[k].value) + 1000);
  if (start <= NOT_YET) start = (double)o->start;
  bool called =
      o->call != REPLAY_NONE && !(flags_of(at->change, o->call) & REPLAY_GONE);
  if (!is_there(at->change, i) || (o->call != REPLAY_NONE && !called)) {
    /* what else a graph has follows its first operation, not its launch */
    bool leads =
        called && !o->in_graph && replay_launches(r->points + o->call) > 1;
    r->new_op_start[i] = r->new_op_end[i] =
        leads || o->before == REPLAY_NONE ? start : end_of(at, o->before);
    return;
  }
  r->new_op_start[i] = start;
  if (o->collective) {
    double *arrival = at->arrivals + collective_of(r, i);
    if (!at->change || !at->change->ignored || !at->change->ignored[i])
      *arrival = later(*arrival, start);
    if (o->end > o->start) {
      push(at, o->end, i);
      return;
    }
  }
  r->new_op_end[i] = start + work_of(at->change, o, i);
}

/* Of one of a collective: it works once the last has arrived. */
static void end_operation(pass *at, uint32_t i) {
  llmprof_replay *r = at->r;
  const replay_operation *o = r->operations + i;
  int64_t collective = collective_of(r, i);
  double scale = at->change ? (double)at->change->work[i] : 1;
  double work = (double)(o->end - r->arrived[collective]);
  double whole = work_of(at->change, o, i);
  work = later(work, 500) * later(scale, 0);
  r->new_op_end[i] = later(at->arrivals[collective], r->new_op_start[i]) +
                     (work < whole ? work : whole);
}

static bool evaluate(pass *at, llmprof_error *err) {
  llmprof_replay *r = at->r;
  at->returns = (uint32_t)r->operation_count;
  at->points = at->returns + (uint32_t)r->point_count;
  at->operations = at->points + (uint32_t)r->point_count;
  for (size_t i = 0; i < r->point_count; i++) /* some begin before their call */
    r->new_start[i] = r->new_end[i] = NOT_YET;
  for (size_t i = 0; i < r->operation_count; i++)
    r->new_op_start[i] = r->new_op_end[i] = NOT_YET;
  for (size_t i = 0; i < r->thread_count; i++)
    push_point(at, r->threads[i].first);
  if (r->operation_count) push(at, r->operations[0].start, at->operations);
  for (size_t i = 0; at->count; i++) {
    uint32_t number = pop(at);
    if (llmprof_interrupted_at(i)) return llmprof_fail_interrupted(err);
    if (number < at->returns)
      end_operation(at, number);
    else if (number < at->points)
      return_from(at, number - at->returns);
    else if (number < at->operations)
      start_point(at, number - at->points);
    else
      start_operation(at, number - at->operations);
  }
  return true;
}

/* ---- what came of it ---- */

static int64_t nearest(double value) {
  return (int64_t)(value < 0 ? value - .5 : value + .5);
}

/* When a range, which has both, begins and ends. */
static llmprof_interval times_of(const llmprof_replay *r, bool replayed,
                                 const replay_range *range) {
  return replayed ? (llmprof_interval){nearest(r->new_start[range->begin]),
                                       nearest(r->new_end[range->end])}
                  : (llmprof_interval){r->points[range->begin].start,
                                       r->points[range->end].start};
}

static llmprof_interval operation_times(const llmprof_replay *r, bool replayed,
                                        size_t i) {
  return replayed
             ? (llmprof_interval){nearest(r->new_op_start[i]),
                                  nearest(r->new_op_end[i])}
             : (llmprof_interval){r->operations[i].start, r->operations[i].end};
}

/* Times of one range, as recorded or as replayed. */
static void write_range(const llmprof_replay *r, const llmprof_change *change,
                        bool replayed, const replay_range *range,
                        llmprof_replayed_ranges *out, size_t row) {
  out->start[row] = out->end[row] = LLMPROF_ABSENT;
  out->gpu_start[row] = out->gpu_end[row] = LLMPROF_ABSENT;
  if (range->begin == REPLAY_NONE) return;
  llmprof_interval cpu = times_of(r, replayed, range);
  out->start[row] = cpu.start;
  out->end[row] = cpu.end;
  for (uint32_t i = range->begin; i < range->end; i++) {
    const replay_point *p = r->points + i;
    for (uint32_t k = p->operations; k < p[1].operations; k++) {
      uint32_t o = r->by_call[k];
      if (!is_there(change, o) || flags_of(change, i) & REPLAY_GONE) continue;
      llmprof_interval ran = operation_times(r, replayed, o);
      if (out->gpu_end[row] == LLMPROF_ABSENT ||
          ran.start < out->gpu_start[row])
        out->gpu_start[row] = ran.start;
      if (ran.end > out->gpu_end[row]) out->gpu_end[row] = ran.end;
    }
  }
}

static void write_ranges(const llmprof_replay *r, const llmprof_change *change,
                         bool replayed, llmprof_replayed_ranges *ranges) {
  for (size_t i = 0; i < r->part_count; i++)
    for (size_t row = 0; row < r->parts[i].range_count; row++)
      write_range(r, change, replayed, r->ranges + r->parts[i].ranges + row,
                  ranges + i, row);
}

void llmprof_replay_recorded(const llmprof_replay *r,
                             llmprof_replayed_ranges *ranges) {
  write_ranges(r, NULL, false, ranges);
}

bool llmprof_replay_run(llmprof_replay *r, const llmprof_change *change,
                        llmprof_replayed_ranges *ranges, size_t *missing,
                        llmprof_error *err) {
  pass at = {.r = r, .change = change};
  at.arrivals = llmprof_alloc(r->collective_count, sizeof *at.arrivals);
  at.heap = llmprof_alloc(r->thread_count * 2 + 1 + r->members.count,
                          sizeof *at.heap);
  for (size_t i = 0; at.arrivals && i < r->collective_count; i++)
    at.arrivals[i] = NOT_YET;
  bool ok =
      at.arrivals && at.heap ? evaluate(&at, err) : llmprof_fail_nomem(err);
  llmprof_free(at.arrivals);
  llmprof_free(at.heap);
  if (missing) *missing = at.missing;
  if (ok) write_ranges(r, change, true, ranges);
  return ok;
}

void llmprof_replay_waits(const llmprof_replay *r, int64_t *recorded,
                          int64_t *replayed) {
  double now = 0;
  *recorded = 0;
  for (uint32_t i = 0; i < r->waiting.count; i++) {
    const replay_wait *wait = llmprof_intern_get(&r->waiting, i);
    const replay_point *p = r->points + wait->point;
    if (p->end - p->start <= wait->own + 3000) continue;
    *recorded += p->end - p->start;
    now += r->new_end[wait->point] - r->new_start[wait->point];
  }
  *replayed = nearest(now);
}

void llmprof_replay_waits_in(const llmprof_replay *r, size_t part, size_t row,
                             int64_t *waits, int64_t *unexplained) {
  const replay_range *range = r->ranges + r->parts[part].ranges + row;
  *waits = *unexplained = 0;
  if (range->begin == REPLAY_NONE) return;
  for (uint32_t i = range->begin; i < range->end; i++) {
    const replay_point *p = r->points + i;
    if (p->kind != REPLAY_WAIT) continue;
    int64_t length = p->end - p->start;
    *waits += length;
    if (length > 50000 && replay_own(r, i) == length) *unexplained += length;
  }
}

/* Extent of the ranges of a part, as recorded or as replayed. */
static llmprof_interval extent_of(const llmprof_replay *r,
                                  const replay_part *part, bool replayed) {
  llmprof_interval extent = {INT64_MAX, INT64_MIN};
  for (size_t row = 0; row < part->range_count; row++) {
    const replay_range *range = r->ranges + part->ranges + row;
    if (range->begin == REPLAY_NONE) continue;
    llmprof_interval times = times_of(r, replayed, range);
    if (times.start < extent.start) extent.start = times.start;
    if (times.end > extent.end) extent.end = times.end;
  }
  return extent;
}

bool llmprof_replay_busy_of(const llmprof_replay *r, bool replayed,
                            llmprof_replay_busy *busy, llmprof_error *err) {
  llmprof_interval *items = llmprof_alloc(r->operation_count, sizeof *items);
  if (!items) return llmprof_fail_nomem(err);
  *busy = (llmprof_replay_busy){0, 0};
  for (uint32_t part = 0; part < r->part_count; part++) {
    llmprof_interval window = extent_of(r, r->parts + part, replayed);
    if (window.end <= window.start) continue;
    llmprof_intervals ran = {.items = items};
    for (size_t i = 0; i < r->operation_count; i++)
      if (r->streams[r->operations[i].stream].part == part)
        items[ran.count++] = operation_times(r, replayed, i);
    ran.count = llmprof_intervals_merge(items, ran.count);
    busy->window += window.end - window.start;
    busy->busy += llmprof_intervals_covered(&ran, window.start, window.end);
  }
  llmprof_free(items);
  return true;
}

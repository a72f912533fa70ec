/* One pass over what happened, in recorded order, which is an order of
 * dependencies too: nothing waits for what came later. */
#include "base/alloc.h"
#include "base/interrupt.h"
#include "frame/interval.h"
#include "frame/sort.h"
#include "replay/replay_internal.h"

/* What happens, as one number: the end of an operation, the return of a call,
 * the start of a point, the start of an operation. In this order at one time;
 * what takes no time ends when it starts, and has no end of its own. */
typedef struct event_numbers {
  uint32_t call_ends, point_starts, operation_starts, all;
} event_numbers;

static event_numbers numbers_of(const llmprof_replay *r) {
  event_numbers n;
  n.call_ends = (uint32_t)r->operation_count;
  n.point_starts = n.call_ends + (uint32_t)r->point_count;
  n.operation_starts = n.point_starts + (uint32_t)r->point_count;
  n.all = n.operation_starts + (uint32_t)r->operation_count;
  return n;
}

static int64_t event_time(const llmprof_replay *r, event_numbers n,
                          uint32_t event) {
  if (event < n.call_ends) return r->operations[event].end;
  if (event < n.point_starts) return r->points[event - n.call_ends].end;
  if (event < n.operation_starts)
    return r->points[event - n.point_starts].start;
  return r->operations[event - n.operation_starts].start;
}

static bool has_own_event(const llmprof_replay *r, event_numbers n,
                          uint32_t event) {
  if (event < n.call_ends)
    return r->operations[event].end > r->operations[event].start;
  if (event >= n.point_starts) return true;
  const replay_point *p = r->points + (event - n.call_ends);
  return p->end > p->start;
}

bool replay_make_events(llmprof_replay *r, llmprof_error *err) {
  event_numbers n = numbers_of(r);
  if ((uint64_t)r->operation_count * 2 + (uint64_t)r->point_count * 2 >=
      1u << 30)
    return llmprof_fail(err, LLMPROF_LIMIT, "more than 2^30 events");
  r->events = llmprof_alloc(n.all, sizeof *r->events);
  r->new_start = llmprof_alloc(r->point_count, sizeof *r->new_start);
  r->new_end = llmprof_alloc(r->point_count, sizeof *r->new_end);
  r->new_op_start = llmprof_alloc(r->operation_count, sizeof *r->new_op_start);
  r->new_op_end = llmprof_alloc(r->operation_count, sizeof *r->new_op_end);
  int64_t *times = llmprof_alloc(n.all, sizeof *times);
  bool ok = r->events && r->new_start && r->new_end && r->new_op_start &&
            r->new_op_end && times;
  for (uint32_t event = 0; ok && event < n.all; event++) {
    times[event] = event_time(r, n, event);
    if (has_own_event(r, n, event)) r->events[r->event_count++] = event;
  }
  ok = ok && llmprof_sort_rows_i64(r->events, r->event_count, times);
  llmprof_free(times);
  return ok || llmprof_fail_nomem(err);
}

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
  return c ? c->flags[i] : 0;
}

static double own_of(const llmprof_change *c, const replay_point *p,
                     uint32_t i) {
  if (!c) return (double)p->own;
  if (c->flags[i] & REPLAY_GONE) return 0;
  if (c->set_own && c->set_own[i] != LLMPROF_ABSENT)
    return (double)c->set_own[i];
  return (double)p->own * (double)c->own[i];
}

static double gap_of(const llmprof_change *c, const replay_point *p,
                     uint32_t i) {
  if (!c) return (double)p->gap;
  if (c->set_gap && c->set_gap[i] != LLMPROF_ABSENT)
    return (double)c->set_gap[i];
  return (double)p->gap * (double)c->gap[i];
}

static double lag_of(const llmprof_change *c, const replay_operation *o,
                     uint32_t i) {
  return c && c->set_lag && c->set_lag[i] >= 0 ? (double)c->set_lag[i]
                                               : (double)o->lag;
}

/* ---- the pass ---- */

/* Of something whose end is not known yet. */
#define NOT_YET (-1e300)

typedef struct pass {
  llmprof_replay *r;
  const llmprof_change *change;
  double *arrivals; /* by collective: the last one so far */
  size_t missing;
} pass;

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

static void start_point(pass *at, uint32_t i) {
  llmprof_replay *r = at->r;
  const replay_point *p = r->points + i;
  double start = (double)p->start;
  if (i > r->threads[p->thread].first) {
    double before = r->new_end[i - 1];
    if (p->released != REPLAY_NONE && r->new_end[p->released] > NOT_YET)
      start = later(before, r->new_end[p->released] + (double)p->tail);
    else
      start = before + gap_of(at->change, p, i);
  }
  r->new_start[i] = start;
  r->new_end[i] = start + own_of(at->change, p, i);
}

static void return_from(pass *at, uint32_t i) {
  llmprof_replay *r = at->r;
  const replay_point *p = r->points + i;
  unsigned flags = flags_of(at->change, i);
  if (flags & REPLAY_GONE) return;
  if (p->target_count && !(flags & REPLAY_NO_WAIT)) {
    double latest = NOT_YET;
    for (uint32_t k = 0; k < p->target_count; k++)
      latest = later(latest, end_of(at, r->targets.items[p->targets + k]));
    r->new_end[i] = later(r->new_end[i], latest + (double)p->after);
  }
  if (p->room != REPLAY_NONE && r->new_op_start[p->room] > NOT_YET)
    r->new_end[i] =
        later(r->new_end[i], r->new_op_start[p->room] + (double)r->room_after);
}

/* The earliest that its call lets an operation start. */
static double launch_of(const pass *at, const replay_operation *o) {
  const llmprof_replay *r = at->r;
  if (o->latency == LLMPROF_ABSENT)
    return o->before == REPLAY_NONE ? (double)o->start : NOT_YET;
  const replay_point *p = r->points + o->call;
  if (p->kind == REPLAY_COPY) return r->new_start[o->call] + (double)o->latency;
  if (o->start >= p->end) return r->new_end[o->call] + (double)o->latency;
  /* it began in the call, which may have waited for something afterwards: at
   * the same part of what the call takes by itself */
  double own = own_of(at->change, p, o->call), latency = (double)o->latency;
  if (latency < 0 && own < (double)p->own) latency *= own / (double)p->own;
  return r->new_start[o->call] + own + latency;
}

static double predecessor_of(pass *at, const replay_operation *o, uint32_t i) {
  const llmprof_replay *r = at->r;
  if (o->before == REPLAY_NONE) return NOT_YET;
  double lag = lag_of(at->change, o, i);
  if (!o->after_start) return end_of(at, o->before) + lag;
  const replay_operation *before = r->operations + o->before;
  double was = (double)(before->end - before->start);
  double is = r->new_op_end[o->before] > NOT_YET
                  ? r->new_op_end[o->before] - r->new_op_start[o->before]
                  : work_of(at->change, before, o->before);
  if (was > 0 && is < was) lag *= is / was; /* the same part of it */
  return r->new_op_start[o->before] + lag;
}

static void start_operation(pass *at, uint32_t i) {
  llmprof_replay *r = at->r;
  const replay_operation *o = r->operations + i;
  double start = later(launch_of(at, o), predecessor_of(at, o, i));
  for (uint32_t k = 0; k < o->wait_count; k++)
    start = later(start, end_of(at, r->waits.items[o->waits + k]) + 1000);
  if (start <= NOT_YET) start = (double)o->start;
  bool called =
      o->call != REPLAY_NONE && !(flags_of(at->change, o->call) & REPLAY_GONE);
  if (!is_there(at->change, i) || (o->call != REPLAY_NONE && !called)) {
    /* what else a graph has follows its first operation, not its launch */
    bool leads =
        called && !o->in_graph && r->points[o->call].operation_count > 1;
    r->new_op_start[i] = r->new_op_end[i] =
        leads || o->before == REPLAY_NONE ? start : end_of(at, o->before);
    return;
  }
  r->new_op_start[i] = start;
  if (o->collective != REPLAY_NONE) {
    if (!at->change || !at->change->ignored || !at->change->ignored[i])
      at->arrivals[o->collective] = later(at->arrivals[o->collective], start);
    r->new_op_end[i] = NOT_YET;
    if (o->end > o->start) return;
  }
  r->new_op_end[i] = start + work_of(at->change, o, i);
}

static void end_operation(pass *at, uint32_t i) {
  llmprof_replay *r = at->r;
  const replay_operation *o = r->operations + i;
  if (r->new_op_end[i] > NOT_YET) return;
  double scale = at->change ? (double)at->change->work[i] : 1;
  double work = (double)o->work * (scale < 0 ? 0 : scale);
  double whole = work_of(at->change, o, i);
  r->new_op_end[i] = later(at->arrivals[o->collective], r->new_op_start[i]) +
                     (work < whole ? work : whole);
}

static bool evaluate(pass *at, llmprof_error *err) {
  llmprof_replay *r = at->r;
  event_numbers n = numbers_of(r);
  for (size_t i = 0; i < r->point_count; i++) r->new_end[i] = NOT_YET;
  for (size_t i = 0; i < r->operation_count; i++)
    r->new_op_start[i] = r->new_op_end[i] = NOT_YET;
  for (size_t i = 0; i < r->event_count; i++) {
    uint32_t event = r->events[i];
    if (llmprof_interrupted_at(i)) return llmprof_fail_interrupted(err);
    if (event < n.call_ends)
      end_operation(at, event);
    else if (event < n.point_starts)
      return_from(at, event - n.call_ends);
    else if (event < n.operation_starts)
      start_point(at, event - n.point_starts);
    else
      start_operation(at, event - n.operation_starts);
  }
  return true;
}

/* ---- what came of it ---- */

static int64_t nearest(double value) {
  return (int64_t)(value < 0 ? value - .5 : value + .5);
}

/* Times of one range, as recorded or as replayed. */
static void write_range(const llmprof_replay *r, const llmprof_change *change,
                        bool replayed, const replay_range *range,
                        llmprof_replayed_ranges *out, size_t row) {
  int64_t first = LLMPROF_ABSENT, last = LLMPROF_ABSENT;
  int64_t start = LLMPROF_ABSENT, end = LLMPROF_ABSENT;
  if (range->begin != REPLAY_NONE) {
    start = replayed ? nearest(r->new_start[range->begin])
                     : r->points[range->begin].start;
    end =
        replayed ? nearest(r->new_end[range->end]) : r->points[range->end].end;
    for (uint32_t i = range->begin; i < range->end; i++) {
      const replay_point *p = r->points + i;
      for (uint32_t k = 0; k < p->operation_count; k++) {
        uint32_t o = r->by_call[p->operations + k];
        if (!is_there(change, o) || flags_of(change, i) & REPLAY_GONE) continue;
        int64_t from = r->operations[o].start, to = r->operations[o].end;
        if (replayed) {
          from = nearest(r->new_op_start[o]);
          to = nearest(r->new_op_end[o]);
        }
        if (first == LLMPROF_ABSENT || from < first) first = from;
        if (last == LLMPROF_ABSENT || to > last) last = to;
      }
    }
  }
  out->start[row] = start;
  out->end[row] = end;
  out->gpu_start[row] = first;
  out->gpu_end[row] = last;
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
  if (!at.arrivals) return llmprof_fail_nomem(err);
  for (size_t i = 0; i < r->collective_count; i++) at.arrivals[i] = NOT_YET;
  bool ok = evaluate(&at, err);
  llmprof_free(at.arrivals);
  if (missing) *missing = at.missing;
  if (ok) write_ranges(r, change, true, ranges);
  return ok;
}

void llmprof_replay_waits(const llmprof_replay *r, int64_t *recorded,
                          int64_t *replayed) {
  double now = 0;
  *recorded = 0;
  for (size_t i = 0; i < r->point_count; i++) {
    const replay_point *p = r->points + i;
    if (p->kind == REPLAY_EDGE || p->end - p->start <= p->own + 3000) continue;
    *recorded += p->end - p->start;
    now += r->new_end[i] - r->new_start[i];
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
    if (length > 50000 && p->own == length) *unexplained += length;
  }
}

/* Extent of the ranges of a part, as recorded or as replayed. */
static llmprof_interval extent_of(const llmprof_replay *r,
                                  const replay_part *part, bool replayed) {
  llmprof_interval extent = {INT64_MAX, INT64_MIN};
  for (size_t row = 0; row < part->range_count; row++) {
    const replay_range *range = r->ranges + part->ranges + row;
    if (range->begin == REPLAY_NONE) continue;
    int64_t start = replayed ? nearest(r->new_start[range->begin])
                             : r->points[range->begin].start;
    int64_t end =
        replayed ? nearest(r->new_end[range->end]) : r->points[range->end].end;
    if (start < extent.start) extent.start = start;
    if (end > extent.end) extent.end = end;
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
    size_t count = 0;
    for (size_t i = 0; i < r->operation_count; i++) {
      const replay_operation *o = r->operations + i;
      if (o->part != part) continue;
      llmprof_interval item = {o->start, o->end};
      if (replayed)
        item = (llmprof_interval){nearest(r->new_op_start[i]),
                                  nearest(r->new_op_end[i])};
      if (item.start < window.start) item.start = window.start;
      if (item.end > window.end) item.end = window.end;
      if (item.end > item.start) items[count++] = item;
    }
    count = llmprof_intervals_merge(items, count);
    busy->window += window.end - window.start;
    for (size_t i = 0; i < count; i++)
      busy->busy += items[i].end - items[i].start;
  }
  llmprof_free(items);
  return true;
}

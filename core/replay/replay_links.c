/* What each operation and each waiting call waits for. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "replay/replay_internal.h"

enum {
  QUEUED_NS = 5000, /* what starts this soon after another waited for it */
};

/* ---- streams ---- */

/* While going over operations in order: the one of a stream that ends last,
 * the latest, and the same inside of one launch of a graph. */
typedef struct stream_state {
  uint32_t top, last, graph_top, graph_call;
} stream_state;

static bool launches_graph(const llmprof_replay *r, const replay_operation *o) {
  if (o->call == REPLAY_NONE || o->kind == REPLAY_GRAPH) return false;
  return replay_call_is(r, r->points + o->call, "GraphLaunch");
}

/* The operation follows the end of `before`, or, where they overlap, the start
 * of the latest. */
static void follow(const llmprof_replay *r, replay_operation *o, uint32_t top,
                   uint32_t last) {
  const replay_operation *before = r->operations + top;
  if (before->end <= o->start) {
    o->before = top;
    o->lag = o->start - before->end;
  } else {
    o->before = last;
    o->after_start = true;
    o->lag = o->start - r->operations[last].start;
  }
}

/* Keys of samples: a stream's operations in graphs or not; a call's name and
 * the kind of operation. */
static uint64_t queue_key(const llmprof_replay *r, const replay_operation *o) {
  return (uint64_t)o->stream * 2 + launches_graph(r, o);
}

static uint64_t launch_key(const llmprof_replay *r, const replay_operation *o) {
  return (uint64_t)r->points[o->call].name * 4 + o->kind;
}

typedef struct stream_samples {
  replay_samples queued; /* ns between an operation that waited in the queue and
                            the one before it */
  replay_samples idle;   /* by launch_key: the operation found its stream idle;
                            values are operations */
} stream_samples;

static bool place_operation(llmprof_replay *r, uint32_t i, stream_state *state,
                            stream_samples *samples) {
  replay_operation *o = r->operations + i;
  o->in_graph = launches_graph(r, o);
  const replay_point *call =
      o->call == REPLAY_NONE ? NULL : r->points + o->call;
  bool ok = true;
  if (o->in_graph && state->graph_call == o->call) {
    follow(r, o, state->graph_top, state->last);
  } else {
    o->in_graph = false; /* the first of a launch waits as others do */
    int64_t top_end = LLMPROF_ABSENT;
    if (state->top != REPLAY_NONE) {
      follow(r, o, state->top, state->last);
      top_end = r->operations[state->top].end;
    }
    if (call && o->before != REPLAY_NONE && !o->after_start &&
        call->end < top_end - 3000)
      ok = replay_sample_add(&samples->queued, queue_key(r, o), o->lag);
    else if (call && (top_end == LLMPROF_ABSENT || top_end < call->end - 1000))
      ok = replay_sample_add(&samples->idle, launch_key(r, o), i);
    if (launches_graph(r, o)) {
      state->graph_call = o->call;
      state->graph_top = i;
    }
  }
  if (o->in_graph && o->end >= r->operations[state->graph_top].end)
    state->graph_top = i;
  if (state->top == REPLAY_NONE || o->end >= r->operations[state->top].end)
    state->top = i;
  state->last = i;
  return ok;
}

/* Does a copy block? Those of its class return after they end; or its call
 * takes long, and most of that while it runs. */
static bool mark_blocking(llmprof_replay *r) {
  replay_samples classes = {0};
  bool ok = true;
  for (size_t i = 0; ok && i < r->operation_count; i++) {
    const replay_operation *o = r->operations + i;
    if (o->kind == REPLAY_COPIED && o->call != REPLAY_NONE)
      ok = replay_sample_add(&classes, o->memory,
                             r->points[o->call].end >= o->end);
  }
  replay_samples_sort(&classes);
  for (size_t i = 0; ok && i < r->operation_count; i++) {
    const replay_operation *o = r->operations + i;
    if (o->kind != REPLAY_COPIED || o->call == REPLAY_NONE) continue;
    replay_point *p = r->points + o->call;
    if (p->operation_count != 1) continue;
    int64_t late = p->end - o->end;
    bool mostly = replay_quantile(&classes, o->memory, .2, 0) == 1;
    bool within = o->start >= p->start && late > -50000 &&
                  (o->end - o->start) * 2 > p->end - p->start;
    if ((mostly && late >= 0) || (p->end - p->start > 60000 && within)) {
      p->kind = REPLAY_COPY;
      p->targets = (uint32_t)r->targets.count;
      p->target_count = 1;
      ok = replay_push(&r->targets, (uint32_t)i);
    }
  }
  replay_samples_free(&classes);
  return ok;
}

/* Had all that was before it on its stream ended when it was called? */
static bool finds_idle(const llmprof_replay *r, const replay_operation *o) {
  return o->before == REPLAY_NONE ||
         r->operations[o->before].end < r->points[o->call].start;
}

/* How long after its call an operation starts on an idle stream. That of a
 * graph is long and differs from launch to launch: each has its own, unless it
 * waited in the queue, which tells nothing. */
static bool find_latencies(llmprof_replay *r, const stream_samples *samples) {
  replay_samples after = {0}, within = {0};
  bool ok = true;
  for (size_t i = 0; ok && i < samples->idle.count; i++) {
    const replay_operation *o = r->operations + samples->idle.items[i].value;
    const replay_point *p = r->points + o->call;
    if (p->kind == REPLAY_COPY) /* a busy stream is waited for */
      ok = !finds_idle(r, o) ||
           replay_sample_add(&within, p->name, o->start - p->start);
    else
      ok = replay_sample_add(&after, launch_key(r, o), o->start - p->end) &&
           replay_sample_add(&after, UINT64_MAX, o->start - p->end);
  }
  replay_samples_sort(&after);
  replay_samples_sort(&within);
  int64_t usual = replay_quantile(&after, UINT64_MAX, .5, 1500);
  for (size_t i = 0; ok && i < r->operation_count; i++) {
    replay_operation *o = r->operations + i;
    if (o->in_graph || o->call == REPLAY_NONE) continue;
    const replay_point *p = r->points + o->call;
    if (p->kind == REPLAY_COPY)
      o->latency = finds_idle(r, o)
                       ? o->start - p->start
                       : replay_quantile(&within, p->name, .5, 10000);
    else if (launches_graph(r, o) &&
             (o->before == REPLAY_NONE ||
              (o->start - r->operations[o->before].end > QUEUED_NS &&
               r->operations[o->before].end <= p->end)))
      o->latency = o->start - p->end;
    else
      o->latency = replay_quantile(&after, launch_key(r, o), .5, usual);
  }
  replay_samples_free(&after);
  replay_samples_free(&within);
  return ok;
}

/* Between two operations that were queued lies what lies there usually. */
static void use_usual_lags(llmprof_replay *r, const stream_samples *samples) {
  for (size_t i = 0; i < r->operation_count; i++) {
    replay_operation *o = r->operations + i;
    if (!o->in_graph && o->before != REPLAY_NONE && !o->after_start)
      o->lag = replay_quantile(&samples->queued, queue_key(r, o), .5, 900);
  }
}

bool replay_link_streams(llmprof_replay *r, llmprof_error *err) {
  stream_state *states = llmprof_alloc(r->stream_count, sizeof *states);
  stream_samples samples = {0};
  bool ok = states != NULL;
  if (ok) memset(states, 0xff, r->stream_count * sizeof *states);
  for (size_t i = 0; ok && i < r->operation_count; i++)
    ok = place_operation(r, (uint32_t)i, states + r->operations[i].stream,
                         &samples);
  replay_samples_sort(&samples.queued);
  ok = ok && mark_blocking(r) && find_latencies(r, &samples);
  if (ok) use_usual_lags(r, &samples);
  replay_samples_free(&samples.queued);
  replay_samples_free(&samples.idle);
  llmprof_free(states);
  return ok || llmprof_fail_nomem(err);
}

/* ---- events and synchronising calls ---- */

static bool synchronises(const llmprof_replay *r, const replay_point *p) {
  static const char *const names[] = {"StreamSynchronize",
                                      "DeviceSynchronize",
                                      "EventSynchronize",
                                      "CtxSynchronize",
                                      "ThreadSynchronize",
                                      "FreeHost",
                                      "MemFree"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (replay_call_is(r, p, names[i])) return true;
  const char *name = llmprof_strings_get(r->names, p->name, NULL);
  return name &&
         (strcmp(name, "cudaFree") == 0 || strncmp(name, "cudaFree_", 9) == 0);
}

/* The stream of a process by its id. The device of such rows is not to be
 * trusted, so ids count alone. */
static const replay_stream *find_stream(const llmprof_replay *r, uint32_t part,
                                        int64_t pid, int64_t id) {
  for (size_t i = 0; i < r->stream_count; i++) {
    const replay_stream *s = r->streams + i;
    if (s->part == part && s->pid == pid && s->id == id) return s;
  }
  return NULL;
}

static int by_event(const void *a, const void *b) {
  const replay_sync *x = a, *y = b;
  if (x->part != y->part) return x->part < y->part ? -1 : 1;
  if (x->pid != y->pid) return x->pid < y->pid ? -1 : 1;
  if (x->event != y->event) return x->event < y->event ? -1 : 1;
  return (x->time > y->time) - (x->time < y->time);
}

/* When and where the calls of these rows were, once points are in order. */
static void place_syncs(const llmprof_replay *r, replay_sync *syncs,
                        size_t count) {
  for (size_t i = 0; i < count; i++) {
    syncs[i].part = r->points[syncs[i].point].part;
    syncs[i].time = r->points[syncs[i].point].end;
  }
  if (count) qsort(syncs, count, sizeof *syncs, by_event);
}

/* What an event stands for at a time: the operation launched last on its stream
 * when it was recorded last. */
static uint32_t event_target(const llmprof_replay *r, const replay_sync *sync,
                             int64_t time) {
  replay_sync wanted = *sync;
  wanted.time = time;
  size_t low = 0, high = r->record_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (by_event(r->records + middle, &wanted) <= 0)
      low = middle + 1;
    else
      high = middle;
  }
  if (!low) return REPLAY_NONE;
  const replay_sync *record = r->records + low - 1;
  if (record->part != sync->part || record->pid != sync->pid ||
      record->event != sync->event)
    return REPLAY_NONE;
  const replay_stream *stream =
      find_stream(r, sync->part, sync->pid, record->stream);
  return stream ? replay_launched_by(r, stream, record->time) : REPLAY_NONE;
}

/* Streams that wait for events of other streams: what is launched on them next
 * waits. The list holds pairs of an operation and what it waits for. */
static bool link_event_waits(llmprof_replay *r, replay_list *pairs) {
  for (size_t i = 0; i < r->sync_count; i++) {
    const replay_sync *sync = r->syncs + i;
    const replay_point *p = r->points + sync->point;
    if (!replay_call_is(r, p, "StreamWaitEvent")) continue;
    uint32_t source = event_target(r, sync, p->end);
    const replay_stream *stream =
        find_stream(r, sync->part, sync->pid, sync->stream);
    if (source == REPLAY_NONE || !stream ||
        r->streams + r->operations[source].stream == stream)
      continue;
    uint32_t place = replay_count_launched(r, stream, p->end);
    if (place == stream->count) continue;
    uint32_t next = r->launched[stream->first + place];
    if (r->operations[source].end > r->operations[next].start + 2000) continue;
    if (!replay_push(pairs, next) || !replay_push(pairs, source)) return false;
  }
  return true;
}

/* The pairs as lists by operation. */
static bool keep_event_waits(llmprof_replay *r, const replay_list *pairs) {
  r->waits.items = llmprof_alloc(pairs->count / 2, sizeof *r->waits.items);
  if (!r->waits.items) return false;
  for (size_t i = 0; i < pairs->count; i += 2)
    r->operations[pairs->items[i]].wait_count++;
  uint32_t next = 0;
  for (size_t i = 0; i < r->operation_count; i++) {
    replay_operation *o = r->operations + i;
    o->waits = next;
    next += o->wait_count;
    o->wait_count = 0;
  }
  for (size_t i = 0; i < pairs->count; i += 2) {
    replay_operation *o = r->operations + pairs->items[i];
    r->waits.items[o->waits + o->wait_count++] = pairs->items[i + 1];
  }
  r->waits.count = next;
  return true;
}

/* Add what a call waits for: an operation that had ended when it returned. */
static bool add_target(llmprof_replay *r, replay_point *p, uint32_t o) {
  if (o == REPLAY_NONE || r->operations[o].end >= p->end + 2000) return true;
  p->target_count++;
  return replay_push(&r->targets, o);
}

/* Everything that its process had launched. */
static bool wait_for_all(llmprof_replay *r, replay_point *p) {
  int64_t pid = r->threads[p->thread].pid;
  for (size_t i = 0; i < r->stream_count; i++) {
    const replay_stream *s = r->streams + i;
    if (s->part == p->part && s->pid == pid &&
        !add_target(r, p, replay_launched_by(r, s, p->start)))
      return false;
  }
  return true;
}

static bool find_targets(llmprof_replay *r, replay_point *p,
                         const replay_sync *sync) {
  p->targets = (uint32_t)r->targets.count;
  p->target_count = 0;
  if (sync && replay_call_is(r, p, "EventSynchronize"))
    return add_target(r, p, event_target(r, sync, p->start));
  if (sync && replay_call_is(r, p, "StreamSynchronize")) {
    const replay_stream *s =
        find_stream(r, sync->part, sync->pid, sync->stream);
    return add_target(r, p,
                      s ? replay_launched_by(r, s, p->start) : REPLAY_NONE);
  }
  if (!wait_for_all(r, p)) return false;
  if (sync || !replay_call_is(r, p, "EventSynchronize")) return true;
  /* which event is not known: one whose work ended just before the return */
  uint32_t kept = 0;
  for (uint32_t i = 0; i < p->target_count; i++) {
    uint32_t o = r->targets.items[p->targets + i];
    int64_t late = p->end - r->operations[o].end;
    if (late > 0 && late < 50000) r->targets.items[p->targets + kept++] = o;
  }
  r->targets.count = p->targets + kept;
  p->target_count = kept;
  return true;
}

static int64_t latest_target(const llmprof_replay *r, const replay_point *p) {
  int64_t latest = 0;
  for (uint32_t i = 0; i < p->target_count; i++) {
    int64_t end = r->operations[r->targets.items[p->targets + i]].end;
    if (end > latest) latest = end;
  }
  return latest;
}

/* What waiting calls take by themselves, and from the end of what they wait for
 * to their return: the median of those of one name. */
static bool find_own_times(llmprof_replay *r) {
  replay_samples own = {0}, after = {0};
  bool ok = true;
  for (size_t i = 0; ok && i < r->point_count; i++) {
    const replay_point *p = r->points + i;
    if (p->kind != REPLAY_WAIT && p->kind != REPLAY_COPY) continue;
    int64_t latest = latest_target(r, p);
    if (latest > p->start + 5000)
      ok = replay_sample_add(&after, p->name, p->end - latest);
    else if (p->kind == REPLAY_WAIT)
      ok = replay_sample_add(&own, p->name, p->end - p->start);
  }
  replay_samples_sort(&own);
  replay_samples_sort(&after);
  for (size_t i = 0; ok && i < r->point_count; i++) {
    replay_point *p = r->points + i;
    if (p->kind != REPLAY_WAIT && p->kind != REPLAY_COPY) continue;
    int64_t length = p->end - p->start, latest = latest_target(r, p);
    p->after = p->kind == REPLAY_COPY
                   ? p->end - latest
                   : replay_quantile(&after, p->name, .5, 4000);
    r->basis.waits += length;
    if (p->kind == REPLAY_WAIT && length > 50000 && latest < p->start + 2000)
      r->basis.unexplained += length;
    if (p->kind == REPLAY_WAIT && latest <= p->start + 2000) continue;
    int64_t usual = replay_quantile(&own, p->name, .5,
                                    p->kind == REPLAY_WAIT ? 4000 : 6000);
    if (usual > 20000) usual = 20000;
    if (usual < p->own) p->own = usual;
  }
  replay_samples_free(&own);
  replay_samples_free(&after);
  return ok;
}

/* By point, the sync row of its call; REPLAY_NONE without. */
static uint32_t *syncs_by_point(const llmprof_replay *r) {
  uint32_t *by_point = llmprof_alloc(r->point_count, sizeof *by_point);
  if (!by_point) return NULL;
  memset(by_point, 0xff, r->point_count * sizeof *by_point);
  for (size_t i = 0; i < r->sync_count; i++)
    by_point[r->syncs[i].point] = (uint32_t)i;
  return by_point;
}

bool replay_link_waits(llmprof_replay *r, llmprof_error *err) {
  replay_list pairs = {0};
  place_syncs(r, r->records, r->record_count);
  place_syncs(r, r->syncs, r->sync_count);
  uint32_t *by_point = syncs_by_point(r);
  bool ok =
      by_point && link_event_waits(r, &pairs) && keep_event_waits(r, &pairs);
  for (size_t i = 0; ok && i < r->point_count; i++) {
    replay_point *p = r->points + i;
    if (p->kind != REPLAY_CALL || !synchronises(r, p)) continue;
    p->kind = REPLAY_WAIT;
    ok = find_targets(
        r, p, by_point[i] == REPLAY_NONE ? NULL : r->syncs + by_point[i]);
  }
  ok = ok && find_own_times(r);
  llmprof_free(by_point);
  llmprof_free(pairs.items);
  return ok || llmprof_fail_nomem(err);
}

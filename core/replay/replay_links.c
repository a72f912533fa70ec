/* What each operation and each waiting call waits for. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "replay/replay_internal.h"

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
  o->after_start = r->operations[top].end > o->start;
  o->before = o->after_start ? last : top;
}

static uint64_t launch_key(const llmprof_replay *r, const replay_operation *o) {
  return (uint64_t)r->points[o->call].name * REPLAY_KINDS + o->kind;
}

/* Had all that was before it on its stream ended when it was called? */
static bool finds_idle(const llmprof_replay *r, const replay_operation *o) {
  return o->before == REPLAY_NONE ||
         r->operations[o->before].end < r->points[o->call].start;
}

/* What latencies are usual: by launch_key, and, by names after all of those, of
 * copies that block and find their stream idle. */
static size_t latency_count(const llmprof_replay *r, bool blocking) {
  size_t names = llmprof_strings_count(r->names);
  return names * (blocking ? REPLAY_KINDS : REPLAY_KINDS + 1);
}

/* How long after its call an operation starts on an idle stream: of copies that
 * block from the call's begin, where it was idle then. */
static bool sample_latency(const llmprof_replay *r, const replay_operation *o,
                           replay_samples *latencies) {
  const replay_point *p = r->points + o->call;
  if (p->kind == REPLAY_COPY)
    return !finds_idle(r, o) ||
           replay_sample_add(latencies, latency_count(r, true) + p->name,
                             o->start - p->start);
  return replay_sample_add(latencies, launch_key(r, o), o->start - p->end) &&
         replay_sample_add(latencies, latency_count(r, false),
                           o->start - p->end);
}

typedef struct stream_samples {
  replay_samples queued;    /* by stream, those in graphs apart: ns between an
                               operation that waited in the queue and the one
                               before it */
  replay_samples latencies; /* as r->latencies; after all keys those of all
                               operations that block nothing */
} stream_samples;

static bool place_operation(llmprof_replay *r, uint32_t i, stream_state *state,
                            stream_samples *samples) {
  replay_operation *o = r->operations + i;
  const replay_point *call =
      o->call == REPLAY_NONE ? NULL : r->points + o->call;
  bool ok = true;
  o->before = REPLAY_NONE;
  o->graph = launches_graph(r, o);
  if (o->graph && state->graph_call == o->call) {
    o->in_graph = 1; /* the first of a launch waits as others do */
    follow(r, o, state->graph_top, state->last);
  } else {
    int64_t top_end = LLMPROF_ABSENT;
    if (state->top != REPLAY_NONE) {
      follow(r, o, state->top, state->last);
      top_end = r->operations[state->top].end;
    }
    if (call && o->before != REPLAY_NONE && !o->after_start &&
        call->end < top_end - 3000)
      ok = replay_sample_add(&samples->queued, o->stream * 2u + o->graph,
                             o->start - top_end);
    else if (call && (top_end == LLMPROF_ABSENT || top_end < call->end - 1000))
      ok = sample_latency(r, o, &samples->latencies);
    if (o->graph) {
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
    if (replay_launches(p) != 1) continue;
    int64_t late = p->end - o->end;
    bool mostly = replay_quantile(&classes, o->memory, .2, 0) == 1;
    bool within = o->start >= p->start && late > -50000 &&
                  (o->end - o->start) * 2 > p->end - p->start;
    if ((mostly && late >= 0) || (p->end - p->start > 60000 && within))
      p->kind = REPLAY_COPY;
  }
  replay_samples_free(&classes);
  return ok;
}

/* From the call's end, of a copy that blocks from its begin, to the start: its
 * own of what found its stream idle, else what is usual. */
int64_t replay_latency(const llmprof_replay *r, const replay_operation *o) {
  const replay_point *p = r->points + o->call;
  if (p->kind == REPLAY_COPY)
    return finds_idle(r, o) ? o->start - p->start
                            : r->latencies[latency_count(r, true) + p->name];
  /* that of a graph differs from launch to launch: each has its own, unless it
   * waited in the queue, which tells nothing */
  if (o->graph &&
      (o->before == REPLAY_NONE ||
       (o->start - r->operations[o->before].end > REPLAY_QUEUED_NS &&
        r->operations[o->before].end <= p->end)))
    return o->start - p->end;
  if (!o->graph && !o->waits && finds_idle(r, o)) return o->start - p->end;
  return r->latencies[launch_key(r, o)];
}

/* A copy that blocks its call is begun by the driver once its stream is done.
 */
static bool is_begun_late(const llmprof_replay *r, const replay_operation *o) {
  return o->call != REPLAY_NONE && r->points[o->call].kind == REPLAY_COPY &&
         !finds_idle(r, o);
}

/* Of an operation that waited in the queue and for nothing else what lay there;
 * otherwise what lies there usually. */
int64_t replay_lag(const llmprof_replay *r, const replay_operation *o) {
  const replay_operation *before = r->operations + o->before;
  if (o->after_start) return o->start - before->start;
  int64_t lag = o->start - before->end;
  if (!o->waits && lag > 0 && is_begun_late(r, o)) return lag;
  int64_t usual = r->streams[o->stream].queued[o->graph];
  bool queued = o->call != REPLAY_NONE && !o->waits &&
                r->points[o->call].end < before->end - 3000;
  bool alone = lag <= REPLAY_QUEUED_NS && usual <= REPLAY_QUEUED_NS;
  return o->in_graph || (queued && alone) ? lag : usual;
}

static bool find_latencies(llmprof_replay *r, replay_samples *latencies) {
  size_t count = latency_count(r, false), blocking = latency_count(r, true);
  replay_samples_sort(latencies);
  r->latencies = llmprof_alloc(count, sizeof *r->latencies);
  int64_t usual = replay_quantile(latencies, count, .5, 1500);
  for (size_t key = 0; r->latencies && key < count; key++)
    r->latencies[key] =
        replay_quantile(latencies, key, .5, key < blocking ? usual : 10000);
  return r->latencies != NULL;
}

static void find_usual_lags(llmprof_replay *r, replay_samples *queued) {
  replay_samples_sort(queued);
  for (size_t i = 0; i < r->stream_count * 2; i++)
    r->streams[i / 2].queued[i % 2] = replay_quantile(queued, i, .5, 900);
}

bool replay_link_streams(llmprof_replay *r, llmprof_error *err) {
  stream_state *states = llmprof_alloc(r->stream_count, sizeof *states);
  stream_samples samples = {0};
  bool ok = states && mark_blocking(r);
  if (ok) memset(states, 0xff, r->stream_count * sizeof *states);
  for (size_t i = 0; ok && i < r->operation_count; i++)
    ok = place_operation(r, (uint32_t)i, states + r->operations[i].stream,
                         &samples);
  find_usual_lags(r, &samples.queued);
  ok = ok && find_latencies(r, &samples.latencies);
  replay_samples_free(&samples.queued);
  replay_samples_free(&samples.latencies);
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

static int by_call(const void *a, const void *b) {
  const replay_sync *x = a, *y = b;
  return (x->point > y->point) - (x->point < y->point);
}

/* Find out when their calls ended, and sort them. */
static void place_syncs(const llmprof_replay *r, replay_syncs *syncs,
                        int (*order)(const void *, const void *)) {
  for (size_t i = 0; i < syncs->count; i++)
    syncs->items[i].time = r->points[syncs->items[i].point].end;
  if (syncs->count)
    qsort(syncs->items, syncs->count, sizeof *syncs->items, order);
}

/* What an event stands for at a time: the operation launched last on its stream
 * when it was recorded last. */
static uint32_t event_target(const llmprof_replay *r, const replay_sync *sync,
                             int64_t time) {
  replay_sync wanted = *sync;
  wanted.time = time;
  size_t low = 0, high = r->records.count;
  LLMPROF_BISECT(low, high, at, by_event(r->records.items + at, &wanted) <= 0);
  if (!low) return REPLAY_NONE;
  const replay_sync *record = r->records.items + low - 1;
  if (record->part != sync->part || record->pid != sync->pid ||
      record->event != sync->event)
    return REPLAY_NONE;
  const replay_stream *stream =
      find_stream(r, sync->part, sync->pid, record->stream);
  return stream ? replay_launched_by(r, stream, record->time) : REPLAY_NONE;
}

/* Streams that wait for events of other streams: what is launched on them next
 * waits. */
static bool link_event_waits(llmprof_replay *r) {
  for (size_t i = 0; i < r->syncs.count; i++) {
    const replay_sync *sync = r->syncs.items + i;
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
    r->operations[next].waits = 1;
    if (!replay_sample_add(&r->waits, next, source)) return false;
  }
  replay_samples_sort(&r->waits);
  return true;
}

/* Add what a call waits for: an operation that had ended when it returned. */
static bool add_target(llmprof_replay *r, uint32_t point, uint32_t o) {
  if (o == REPLAY_NONE || r->operations[o].end >= r->points[point].end + 2000)
    return true;
  return replay_sample_add(&r->targets, point, o);
}

/* Everything that its process had launched. */
static bool wait_for_all(llmprof_replay *r, uint32_t point) {
  const replay_thread *thread = replay_thread_of(r, point);
  for (size_t i = 0; i < r->stream_count; i++) {
    const replay_stream *s = r->streams + i;
    if (s->part == thread->part && s->pid == thread->pid &&
        !add_target(r, point, replay_launched_by(r, s, r->points[point].start)))
      return false;
  }
  return true;
}

static bool find_targets(llmprof_replay *r, uint32_t point,
                         const replay_sync *sync) {
  const replay_point *p = r->points + point;
  size_t first = r->targets.count, kept = first;
  if (p->kind == REPLAY_COPY)
    return replay_sample_add(&r->targets, point, r->by_call[p->operations]);
  if (sync && replay_call_is(r, p, "EventSynchronize"))
    return add_target(r, point, event_target(r, sync, p->start));
  if (sync && replay_call_is(r, p, "StreamSynchronize")) {
    const replay_stream *s =
        find_stream(r, sync->part, sync->pid, sync->stream);
    return add_target(r, point,
                      s ? replay_launched_by(r, s, p->start) : REPLAY_NONE);
  }
  if (!wait_for_all(r, point)) return false;
  if (sync || !replay_call_is(r, p, "EventSynchronize")) return true;
  /* which event is not known: one whose work ended just before the return */
  for (size_t i = first; i < r->targets.count; i++) {
    int64_t late = p->end - r->operations[r->targets.items[i].value].end;
    if (late > 0 && late < 50000)
      r->targets.items[kept++] = r->targets.items[i];
  }
  r->targets.count = kept;
  return true;
}

/* When the last of what a point waits for had ended; 0: nothing is known. */
static int64_t latest_target(const llmprof_replay *r, uint32_t point) {
  size_t first, count = replay_samples_of(&r->targets, point, &first);
  int64_t latest = 0;
  for (size_t i = first; i < first + count; i++) {
    int64_t end = r->operations[r->targets.items[i].value].end;
    if (end > latest) latest = end;
  }
  return latest;
}

/* What waiting calls take by themselves, and from the end of what they wait for
 * to their return: the median of those of one name. */
static bool find_own_times(llmprof_replay *r) {
  replay_samples own = {0}, after = {0};
  bool ok = true;
  replay_wait *waits = (replay_wait *)(void *)r->waiting.records;
  for (size_t i = 0; ok && i < r->waiting.count; i++) {
    uint32_t point = waits[i].point;
    const replay_point *p = r->points + point;
    if (p->kind == REPLAY_BLOCKED) continue;
    int64_t latest = latest_target(r, point);
    if (latest > p->start + 5000)
      ok = replay_sample_add(&after, p->name, p->end - latest);
    else if (p->kind == REPLAY_WAIT)
      ok = replay_sample_add(&own, p->name, p->end - p->start);
  }
  replay_samples_sort(&own);
  replay_samples_sort(&after);
  for (size_t i = 0; ok && i < r->waiting.count; i++) {
    replay_wait *wait = waits + i;
    const replay_point *p = r->points + wait->point;
    if (p->kind == REPLAY_BLOCKED) continue;
    bool copies = p->kind == REPLAY_COPY;
    int64_t length = p->end - p->start, latest = latest_target(r, wait->point);
    wait->after =
        copies ? p->end - latest : replay_quantile(&after, p->name, .5, 4000);
    r->basis.waits += length;
    if (!copies && length > 50000 && latest < p->start + 2000)
      r->basis.unexplained += length;
    if (!copies && latest <= p->start + 2000) continue;
    int64_t usual = replay_quantile(&own, p->name, .5, copies ? 6000 : 4000);
    if (usual > 20000) usual = 20000;
    if (usual < wait->own) wait->own = usual;
  }
  replay_samples_free(&own);
  replay_samples_free(&after);
  return ok;
}

bool replay_wait_add(llmprof_replay *r, uint32_t point, int64_t own) {
  const replay_wait wait = {.own = own, .point = point};
  return llmprof_intern_put(&r->waiting, &wait) != NULL;
}

int64_t replay_own(const llmprof_replay *r, uint32_t point) {
  const replay_point *p = r->points + point;
  if (p->kind == REPLAY_EDGE) return 0;
  return p->kind == REPLAY_CALL ? p->end - p->start
                                : replay_wait_of(r, point)->own;
}

bool replay_link_waits(llmprof_replay *r, llmprof_error *err) {
  place_syncs(r, &r->records, by_event);
  place_syncs(r, &r->syncs, by_call);
  const replay_sync *sync = r->syncs.items, *end = sync + r->syncs.count;
  bool ok = link_event_waits(r);
  for (uint32_t i = 0; ok && i < r->point_count; i++) {
    replay_point *p = r->points + i;
    if (p->kind == REPLAY_CALL && synchronises(r, p)) p->kind = REPLAY_WAIT;
    if (p->kind != REPLAY_WAIT && p->kind != REPLAY_COPY) continue;
    while (sync < end && sync->point < i) sync++;
    ok = replay_wait_add(r, i, p->end - p->start) &&
         find_targets(r, i, sync < end && sync->point == i ? sync : NULL);
  }
  replay_samples_sort(&r->targets);
  return (ok && find_own_times(r)) || llmprof_fail_nomem(err);
}

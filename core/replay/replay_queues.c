/* Launches that wait for room in a stream's queue, and collectives. */
#include <string.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "replay/replay_internal.h"

/* ---- the queue of launches ---- */

/* Launches of one name with as many operations are alike. */
static uint64_t alike(const replay_point *p) {
  return (uint64_t)p->name << 32 | replay_launches(p);
}

/* How many operations of the stream, up to the one at `place`, had not started
 * at `time`. `started` goes forward over the operations by start. */
static size_t waiting_at(const llmprof_replay *r, const replay_stream *s,
                         size_t place, int64_t time) {
  size_t low = 0, high = place + 1;
  const uint32_t *launched = r->launched + s->first;
  /* operations of a stream start in order of launch */
  LLMPROF_BISECT(low, high, at, r->operations[launched[at]].start <= time);
  return place + 1 - low;
}

static bool collect_usual(const llmprof_replay *r, replay_samples *usual) {
  for (size_t i = 0; i < r->point_count; i++) {
    const replay_point *p = r->points + i;
    if (p->kind == REPLAY_CALL && replay_launches(p) &&
        !replay_sample_add(usual, alike(p), p->end - p->start))
      return false;
  }
  replay_samples_sort(usual);
  return true;
}

/* What a launch takes that waits for nothing. */
static int64_t usual_of(const replay_samples *usual, const replay_point *p) {
  return replay_quantile(usual, alike(p), .3, p->end - p->start);
}

/* Launches that took longer than others that are alike, and found many
 * operations waiting: by how many. `usual` is filled for the first of all. */
static bool find_slow(const llmprof_replay *r, const replay_stream *s,
                      replay_samples *usual, replay_samples *slow) {
  for (size_t i = 0; i < s->count; i++) {
    const replay_operation *o = r->operations + r->launched[s->first + i];
    if (o->call == REPLAY_NONE) continue;
    const replay_point *p = r->points + o->call;
    bool last = i + 1 == s->count ||
                r->operations[r->launched[s->first + i + 1]].call != o->call;
    if (p->kind != REPLAY_CALL || !last || p->end - p->start <= 10000) continue;
    size_t waiting = waiting_at(r, s, i, p->end);
    if (waiting <= 500) continue;
    if (!usual->count && !collect_usual(r, usual)) return false;
    if (p->end - p->start > 2 * usual_of(usual, p) + 10000 &&
        !replay_sample_add(slow, waiting, o->call))
      return false;
  }
  replay_samples_sort(slow);
  return true;
}

static bool near(uint64_t waiting, uint64_t depth) {
  double off = (double)waiting - (double)depth;
  return (off < 0 ? -off : off) < .06 * (double)depth;
}

/* Slow launches that all found about as many operations waiting show how many
 * fit; these launches then wait for the one that leaves room. */
static bool find_depth(llmprof_replay *r, const replay_stream *s,
                       const replay_samples *slow, const replay_samples *usual,
                       replay_samples *after) {
  uint64_t middle = slow->items[(slow->count - 1) / 2].key;
  size_t agreeing = 0, depth = 0; /* depth: operations that fit */
  for (size_t i = 0; i < slow->count; i++) {
    if (!near(slow->items[i].key, middle)) continue;
    agreeing++;
    depth = (size_t)slow->items[i].key + 1;
  }
  if (agreeing < 5 || agreeing * 10 <= slow->count * 6) return true;
  if (!r->room) {
    r->room = llmprof_alloc(r->point_count, sizeof *r->room);
    if (!r->room) return false;
    memset(r->room, 0xff, r->point_count * sizeof *r->room);
  }
  const uint32_t *launched = r->launched + s->first;
  for (size_t i = depth; i < s->count; i++) {
    uint32_t call = r->operations[launched[i]].call;
    if (call != REPLAY_NONE && r->points[call].kind == REPLAY_CALL)
      r->room[call] = launched[i - depth];
  }
  bool ok = true;
  for (size_t i = 0; ok && i < slow->count; i++) {
    uint32_t point = (uint32_t)slow->items[i].value, room = r->room[point];
    replay_point *p = r->points + point;
    if (!near(slow->items[i].key, middle) || p->kind == REPLAY_BLOCKED)
      continue;
    p->kind = REPLAY_BLOCKED;
    ok = replay_wait_add(r, point, usual_of(usual, p)) &&
         (room == REPLAY_NONE ||
          replay_sample_add(after, 0, p->end - r->operations[room].start));
  }
  return ok;
}

bool replay_link_queues(llmprof_replay *r, llmprof_error *err) {
  replay_samples usual = {0}, after = {0};
  bool ok = true;
  for (size_t i = 0; ok && i < r->stream_count; i++) {
    replay_samples slow = {0};
    const replay_stream *s = r->streams + i;
    ok = find_slow(r, s, &usual, &slow);
    if (ok && slow.count >= 5) ok = find_depth(r, s, &slow, &usual, &after);
    replay_samples_free(&slow);
  }
  replay_samples_sort(&after);
  r->room_after = replay_quantile(&after, 0, .5, 0);
  replay_samples_free(&usual);
  replay_samples_free(&after);
  return ok || llmprof_fail_nomem(err);
}

/* ---- collectives ---- */

/* Rows of one collective overlap at the last arrival; what follows is work. One
 * whose rows do not is none. */
bool replay_link_collectives(llmprof_replay *r, llmprof_error *err) {
  typedef struct arrival {
    int64_t first_end;
    size_t members;
  } arrival;
  arrival *seen = llmprof_zalloc(r->collective_count, sizeof *seen);
  r->arrived = llmprof_alloc(r->collective_count, sizeof *r->arrived);
  if (!seen || !r->arrived) {
    llmprof_free(seen);
    return llmprof_fail_nomem(err);
  }
  for (size_t i = 0; i < r->members.count; i++) {
    const replay_operation *o = r->operations + r->members.items[i].key;
    int64_t collective = r->members.items[i].value;
    arrival *a = seen + collective;
    if (!a->members || o->start > r->arrived[collective])
      r->arrived[collective] = o->start;
    if (!a->members || o->end < a->first_end) a->first_end = o->end;
    a->members++;
  }
  for (size_t i = 0; i < r->collective_count; i++) {
    if (seen[i].members < 2 || seen[i].first_end <= r->arrived[i] - 20000)
      seen[i].members = 0;
    else
      r->basis.collectives++;
  }
  for (size_t i = 0; i < r->members.count; i++)
    if (!seen[r->members.items[i].value].members)
      r->operations[r->members.items[i].key].collective = 0;
  llmprof_free(seen);
  return true;
}

/* Gaps between the points of a thread, and those that end with a wait of
 * another thread. */
#include "base/alloc.h"
#include "replay/replay_internal.h"

static bool waited(const llmprof_replay *r, const replay_point *p) {
  if (p->kind != REPLAY_WAIT) return false;
  for (uint32_t i = 0; i < p->target_count; i++)
    if (r->operations[r->targets.items[p->targets + i]].end > p->start + 2000)
      return true;
  return false;
}

/* Calls that waited, by when they returned. */
static bool list_waits(const llmprof_replay *r, replay_samples *ends) {
  for (size_t i = 0; i < r->point_count; i++)
    if (waited(r, r->points + i) &&
        !replay_sample_add(ends, (uint64_t)r->points[i].end, (int64_t)i))
      return false;
  replay_samples_sort(ends);
  return true;
}

/* The last wait of another thread that returned in [from, to). */
static uint32_t last_wait(const llmprof_replay *r, const replay_samples *ends,
                          uint32_t thread, int64_t from, int64_t to) {
  size_t low = 0, high = ends->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if ((int64_t)ends->items[middle].key < to)
      low = middle + 1;
    else
      high = middle;
  }
  while (low && (int64_t)ends->items[low - 1].key > from) {
    uint32_t point = (uint32_t)ends->items[--low].value;
    if (r->points[point].thread != thread) return point;
  }
  return REPLAY_NONE;
}

static bool find_gaps(llmprof_replay *r, const replay_samples *ends) {
  for (size_t t = 0; t < r->thread_count; t++) {
    const replay_thread *thread = r->threads + t;
    int64_t end = 0;
    for (uint32_t i = thread->first; i < thread->first + thread->count; i++) {
      replay_point *p = r->points + i;
      if (i > thread->first && p->start > end) p->gap = p->start - end;
      if (p->gap > 100000) {
        p->released = last_wait(r, ends, p->thread, end, p->start - 5000);
        if (p->released != REPLAY_NONE)
          p->tail = p->start - r->points[p->released].end;
      }
      if (i == thread->first || p->end > end) end = p->end;
    }
    if (!thread->count) continue;
    r->basis.cpu += end - r->points[thread->first].start;
  }
  return true;
}

/* Links of one thread between calls of the same two names. */
static uint64_t link_class(const llmprof_replay *r, uint32_t i) {
  const replay_point *p = r->points + i;
  uint64_t before = i > r->threads[p->thread].first ? r->points[i - 1].name : 0;
  return ((uint64_t)p->thread * 2654435761u + before) * 2654435761u + p->name;
}

static int64_t spread(const replay_samples *samples, uint64_t key) {
  return replay_quantile(samples, key, .75, 0) -
         replay_quantile(samples, key, .25, 0);
}

/* A link is taken for real if what remains after the wait varies less than the
 * gap; of those seen fewer than 8 times nobody knows. */
static bool keep_real_links(llmprof_replay *r) {
  replay_samples gaps = {0}, tails = {0};
  bool ok = true;
  for (uint32_t i = 0; ok && i < r->point_count; i++) {
    const replay_point *p = r->points + i;
    if (p->released == REPLAY_NONE) continue;
    uint64_t key = link_class(r, i);
    ok = replay_sample_add(&gaps, key, p->gap) &&
         replay_sample_add(&tails, key, p->tail);
  }
  replay_samples_sort(&gaps);
  replay_samples_sort(&tails);
  for (uint32_t i = 0; ok && i < r->point_count; i++) {
    replay_point *p = r->points + i;
    if (p->released == REPLAY_NONE) continue;
    uint64_t key = link_class(r, i);
    size_t first;
    if (replay_samples_of(&gaps, key, &first) < 8 ||
        (double)spread(&tails, key) > .6 * (double)spread(&gaps, key))
      p->released = REPLAY_NONE;
    else
      r->basis.links++;
  }
  replay_samples_free(&gaps);
  replay_samples_free(&tails);
  return ok;
}

bool replay_link_threads(llmprof_replay *r, llmprof_error *err) {
  replay_samples ends = {0};
  bool ok = list_waits(r, &ends) && find_gaps(r, &ends) && keep_real_links(r);
  replay_samples_free(&ends);
  if (!ok) return llmprof_fail_nomem(err);
  for (size_t i = 0; i < r->point_count; i++) {
    const replay_point *p = r->points + i;
    if (p->end - p->start > p->own)
      r->basis.derived += p->end - p->start - p->own;
    r->basis.calls += p->kind != REPLAY_EDGE;
  }
  r->basis.operations = r->operation_count;
  for (size_t i = 0; i < r->operation_count; i++)
    r->basis.orphans += r->operations[i].call == REPLAY_NONE;
  return true;
}

/* Gaps between the points of a thread, and those that end with a wait of
 * another thread. */
#include "base/alloc.h"
#include "replay/replay_internal.h"

/* Calls that waited, by when they returned. */
static bool list_waits(const llmprof_replay *r, replay_samples *ends) {
  for (size_t i = 0; i < r->targets.count; i++) {
    uint32_t point = (uint32_t)r->targets.items[i].key;
    const replay_point *p = r->points + point;
    if (p->kind == REPLAY_WAIT &&
        r->operations[r->targets.items[i].value].end > p->start + 2000 &&
        !replay_sample_add(ends, (uint64_t)p->end, point))
      return false;
  }
  replay_samples_sort(ends);
  return true;
}

/* The last wait of another thread that returned in [from, to). */
static uint32_t last_wait(const replay_samples *ends,
                          const replay_thread *thread, int64_t from,
                          int64_t to) {
  size_t low;
  replay_samples_of(ends, (uint64_t)to, &low);
  while (low && (int64_t)ends->items[low - 1].key > from) {
    uint32_t point = (uint32_t)ends->items[--low].value;
    if (point - thread->first >= thread->count) return point;
  }
  return REPLAY_NONE;
}

static bool find_released(llmprof_replay *r, const replay_samples *ends) {
  for (uint32_t i = 0; i < r->point_count; i++) {
    const replay_point *p = r->points + i;
    int64_t gap = replay_gap(p);
    if (gap <= REPLAY_LONG_GAP) continue;
    uint32_t point = last_wait(ends, replay_thread_of(r, i), p->start - gap,
                               p->start - 5000);
    if (point != REPLAY_NONE && !replay_sample_add(&r->released, i, point))
      return false;
  }
  return true;
}

/* Links of one thread between calls of the same two names. */
static uint64_t link_class(const llmprof_replay *r, uint32_t i) {
  uint64_t thread = (uint64_t)(replay_thread_of(r, i) - r->threads);
  return (thread * 2654435761u + r->points[i - 1].name) * 2654435761u +
         r->points[i].name;
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
  size_t kept = 0;
  for (size_t i = 0; ok && i < r->released.count; i++) {
    replay_sample link = r->released.items[i];
    uint64_t key = link_class(r, (uint32_t)link.key);
    const replay_point *p = r->points + link.key;
    ok = replay_sample_add(&gaps, key, replay_gap(p)) &&
         replay_sample_add(&tails, key, p->start - r->points[link.value].end);
  }
  replay_samples_sort(&gaps);
  replay_samples_sort(&tails);
  for (size_t i = 0; ok && i < r->released.count; i++) {
    uint64_t key = link_class(r, (uint32_t)r->released.items[i].key);
    size_t first;
    if (replay_samples_of(&gaps, key, &first) >= 8 &&
        (double)spread(&tails, key) <= .6 * (double)spread(&gaps, key))
      r->released.items[kept++] = r->released.items[i];
  }
  r->basis.links = r->released.count = kept;
  replay_samples_free(&gaps);
  replay_samples_free(&tails);
  return ok;
}

bool replay_link_threads(llmprof_replay *r, llmprof_error *err) {
  replay_samples ends = {0};
  bool ok =
      list_waits(r, &ends) && find_released(r, &ends) && keep_real_links(r);
  replay_samples_free(&ends);
  if (!ok) return llmprof_fail_nomem(err);
  for (size_t i = 0; i < r->thread_count; i++) {
    const replay_point *first = r->points + r->threads[i].first;
    r->basis.cpu += first[r->threads[i].count - 1].end - first->start;
  }
  for (uint32_t i = 0; i < r->waiting.count; i++) {
    const replay_wait *wait = llmprof_intern_get(&r->waiting, i);
    const replay_point *p = r->points + wait->point;
    r->basis.derived += p->end - p->start - wait->own;
  }
  for (size_t i = 0; i < r->point_count; i++)
    r->basis.calls += r->points[i].kind != REPLAY_EDGE;
  r->basis.operations = r->operation_count;
  for (size_t i = 0; i < r->operation_count; i++)
    r->basis.orphans += r->operations[i].call == REPLAY_NONE;
  return true;
}

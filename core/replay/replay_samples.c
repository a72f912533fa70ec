/* Values by key and their quantiles. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "replay/replay_internal.h"

bool replay_sample_add(replay_samples *samples, uint64_t key, int64_t value) {
  if (!llmprof_grow(&samples->items, &samples->room, samples->count + 1,
                    sizeof *samples->items))
    return false;
  samples->items[samples->count++] = (replay_sample){key, value};
  return true;
}

static int by_key_and_value(const void *a, const void *b) {
  const replay_sample *x = a, *y = b;
  if (x->key != y->key) return x->key < y->key ? -1 : 1;
  return (x->value > y->value) - (x->value < y->value);
}

void replay_samples_sort(replay_samples *samples) {
  if (samples->count)
    qsort(samples->items, samples->count, sizeof *samples->items,
          by_key_and_value);
}

void replay_samples_free(replay_samples *samples) {
  llmprof_free(samples->items);
  *samples = (replay_samples){0};
}

/* The first sample of a key or a later one. */
static size_t first_of(const replay_samples *samples, uint64_t key) {
  size_t low = 0, high = samples->count;
  LLMPROF_BISECT(low, high, at, samples->items[at].key < key);
  return low;
}

size_t replay_samples_of(const replay_samples *samples, uint64_t key,
                         size_t *first) {
  *first = first_of(samples, key);
  size_t end = key == UINT64_MAX ? samples->count : first_of(samples, key + 1);
  return end - *first;
}

int64_t replay_quantile(const replay_samples *samples, uint64_t key, double q,
                        int64_t otherwise) {
  size_t first, count = replay_samples_of(samples, key, &first);
  if (!count) return otherwise;
  return samples->items[first + (size_t)(q * (double)(count - 1))].value;
}

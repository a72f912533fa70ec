/* Looking for ids that come nearly in order. Private to the trace module. */
#ifndef LLMPROF_TRACE_GALLOP_H
#define LLMPROF_TRACE_GALLOP_H

#include <stddef.h>
#include <stdint.h>

static inline uint32_t llmprof_id_at(const uint32_t *rows, const uint32_t *ids,
                                     size_t at) {
  return ids[rows ? rows[at] : at];
}

/* The first of sorted rows [low, high) (NULL: ids are sorted as they lie) with
 * an id >= wanted, looking from `from` outwards. */
static inline size_t llmprof_gallop(const uint32_t *rows, const uint32_t *ids,
                                    size_t low, size_t high, size_t from,
                                    uint32_t wanted) {
  size_t step = 1;
  if (from < high && llmprof_id_at(rows, ids, from) < wanted) {
    low = from + 1;
    while (low < high && from + step < high &&
           llmprof_id_at(rows, ids, from + step) < wanted) {
      low = from + step + 1;
      step *= 2;
    }
    if (from + step < high) high = from + step;
  } else {
    high = from;
    while (from - low >= step &&
           llmprof_id_at(rows, ids, from - step) >= wanted) {
      high = from - step;
      step *= 2;
    }
    if (from - low >= step) low = from - step;
  }
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (llmprof_id_at(rows, ids, middle) < wanted)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

#endif

/* Items put into numbered places, those of a place in the order they had: the
 * step of a sort that counts. By several threads where there are many, each of
 * which has a stretch of the items. Private to the core. */
#ifndef LLMPROF_COUNTING_SORT_H
#define LLMPROF_COUNTING_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of the items from `first` up to `end`, by place: how many these are, added to
 * what is there; then where the next one goes, which moves on. Neither fails.
 */
typedef void (*llmprof_counting_sort_step)(void *user, size_t first, size_t end,
                                           uint32_t *by_place);

typedef struct llmprof_counting_sort {
  size_t items, places;
  llmprof_counting_sort_step count, put;
  void *user;
} llmprof_counting_sort;

/* ends: of each place, behind its last item. False when out of memory, and
 * nothing was put. */
bool llmprof_sort_by_place(const llmprof_counting_sort *sort, uint32_t *ends);

#endif

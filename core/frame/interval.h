/* Intervals of time: unions, holes, overlap. An interval is [start, end) in
 * nanoseconds; one that does not end after it starts covers nothing. Times that
 * do not fit in an int64_t (292 years) are INT64_MAX. */
#ifndef LLMPROF_INTERVAL_H
#define LLMPROF_INTERVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame/group_by.h"
#include "llmprof/error.h"
#include "llmprof/frame.h"

typedef struct llmprof_interval {
  int64_t start, end;
} llmprof_interval;

/* Sorted, disjoint, not touching. */
typedef struct llmprof_intervals {
  llmprof_interval *items;
  size_t count;
} llmprof_intervals;

/* Free the items; the set, which is the caller's, is empty afterwards. */
void llmprof_intervals_free(llmprof_intervals *set);

/* Sort and merge in place; returns how many are left. */
size_t llmprof_intervals_merge(llmprof_interval *items, size_t count);

/* The union over a frame's rows, from a column of starts and one of ends;
 * rows that lack either are left out. The caller frees *set; on failure (a
 * column cannot be loaded, NOMEM) there is nothing to free. */
bool llmprof_intervals_of_frame(llmprof_intervals *set, llmprof_frame *frame,
                                size_t start_column, size_t end_column,
                                llmprof_error *err);

/* By group of a frame's rows: the time that the union of its rows' intervals
 * covers, from when and until when. A group without an interval has busy 0
 * and first LLMPROF_ABSENT. */
typedef struct llmprof_extent {
  int64_t busy, first, last;
} llmprof_extent;
bool llmprof_intervals_by_group(llmprof_frame *frame, size_t start_column,
                                size_t end_column, const llmprof_groups *groups,
                                llmprof_extent *extents, llmprof_error *err);

/* The same of each of some windows, which ascend in starts and in ends:
 * covered[ group * count + window] is the time of the window that the union
 * covers. */
bool llmprof_intervals_in_windows(llmprof_frame *frame, size_t start_column,
                                  size_t end_column,
                                  const llmprof_groups *groups,
                                  const llmprof_interval *items, size_t count,
                                  int64_t *covered, llmprof_error *err);

/* The place of the first interval that ends after a time; set->count when none
 * does. */
size_t llmprof_intervals_after(const llmprof_intervals *set, int64_t time);

/* ns covered within [from, to). */
int64_t llmprof_intervals_covered(const llmprof_intervals *set, int64_t from,
                                  int64_t to);

/* The holes of at least `shortest` ns within [from, to). The caller frees
 * *gaps; on failure (NOMEM) there is nothing to free. */
bool llmprof_intervals_gaps(llmprof_intervals *gaps,
                            const llmprof_intervals *set, int64_t from,
                            int64_t to, int64_t shortest, llmprof_error *err);

/* What either covers. The caller frees *set; on failure (NOMEM) there is
 * nothing to free. */
bool llmprof_intervals_join(llmprof_intervals *set, const llmprof_intervals *a,
                            const llmprof_intervals *b, llmprof_error *err);

/* ns covered by both. */
int64_t llmprof_intervals_overlap(const llmprof_intervals *a,
                                  const llmprof_intervals *b);

#endif

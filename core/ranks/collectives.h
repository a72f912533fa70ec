/* Collectives: operations that run once on each of several ranks and end
 * together. A kernel of one is work plus waiting for the rank that comes last;
 * only the same collective seen on all of its ranks tells them apart.
 *
 * A frame has one row for each such kernel: rank, start and end (ns, on one
 * clock), and a key of those that are matched with each other, such as a
 * communicator and an operation. On each rank the kernels of a key come in the
 * same order, so that the n-th of one rank belongs to the n-th of another. */
#ifndef LLMPROF_COLLECTIVES_H
#define LLMPROF_COLLECTIVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llmprof/error.h"
#include "llmprof/frame.h"

typedef struct llmprof_collective_columns {
  size_t rank, start, end;
  size_t key;     /* an absent one: the row is matched with nothing; SIZE_MAX:
                     all rows have one key */
  size_t ordinal; /* SIZE_MAX until numbered */
  size_t lag;     /* taken from the ordinal, where a rank was seen from earlier
                     on than others; SIZE_MAX: from none */
} llmprof_collective_columns;

/* Add a column `name`: the place of each row among those of its rank and key,
 * by start, from 0. */
bool llmprof_collectives_number(llmprof_frame *rows,
                                const llmprof_collective_columns *columns,
                                const char *name, llmprof_error *err);

/* Add columns that say how each row met the rows of the same key and ordinal
 * on other ranks. All are absent where there is no other one.
 *
 *   instance   which collective, counted by when the last rank arrived
 *   members    on how many ranks it was seen
 *   waiting    ns until the last rank arrived, no longer than the row itself
 *   transfer   ns from when the last one arrived until the last one left
 *   skew       ns from the first arrival to the last
 *   late       for the rank that came last: by how many ns after the one before
 *              it; else absent. Of several that came together it is the lowest
 *              rank.
 *   caused     for the same rank: the waiting of all others, in ns
 *
 * Of two rows of one rank with the same key and ordinal the later one is
 * matched with nothing. */
bool llmprof_collectives_match(llmprof_frame *rows,
                               const llmprof_collective_columns *columns,
                               llmprof_error *err);

/* Add a column `name`: for the rank that came last to a collective how much
 * more `value` is than on the others, as their mean, rounded; else absent,
 * as where any of them lacks it. After llmprof_collectives_match(), which names
 * the columns that this reads. */
bool llmprof_collectives_excess(llmprof_frame *rows, size_t value,
                                const char *name, llmprof_error *err);

/* What each rank did before a collective, from the end of the collective
 * before it on that rank, of the same lane: 0 or another in the column `lane`,
 * SIZE_MAX: all on one. Adds to rows, which are among the operations:
 *
 *   previous   when the collective before it ended; absent for the first
 *   before     how many other kernels began since
 *   signature  of their names in order: equal for equal work, else by all
 *              chance different; never absent
 *   follows    of the last one's name, likewise; absent where there is none
 *
 * Operations: rank, start and name of every kernel that is no collective. */
typedef struct llmprof_before_columns {
  size_t rank, start, name;
} llmprof_before_columns;
bool llmprof_collectives_before(llmprof_frame *rows,
                                const llmprof_collective_columns *columns,
                                size_t lane, llmprof_frame *kernels,
                                const llmprof_before_columns *of_kernels,
                                llmprof_error *err);

#endif

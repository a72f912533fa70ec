/* How a row stands to the others of its frame: what lies between them in time,
 * what ran beside it, what came before; and columns of another frame's rows.
 *
 * Each function adds columns to the frame, whose names must be new, within
 * groups of its rows (llmprof_groups_make). Rows whose start or end is absent
 * have no value and count for nobody else. All are copies: nothing is kept of
 * the arguments. What loops over rows ends with INTERRUPTED when
 * llmprof_interrupted(). */
#ifndef LLMPROF_RELATE_H
#define LLMPROF_RELATE_H

#include <stdbool.h>
#include <stddef.h>

#include "frame/group_by.h"
#include "llmprof/error.h"
#include "llmprof/frame.h"

/* Names of the columns that llmprof_frame_gaps() adds; NULL: not that one. */
typedef struct llmprof_gap_names {
  /* ns in which no row of the group ran until this one started, 0 where one
   * did; absent for the first. */
  const char *before;
  /* The same from its end until the next one started. Of several that end
   * together it is the last to start that has it; absent for the last. */
  const char *after;
  /* The row that ended last of those that had started before; absent for the
   * first. */
  const char *previous;
} llmprof_gap_names;

bool llmprof_frame_gaps(llmprof_frame *frame, size_t start, size_t end,
                        const llmprof_groups *groups,
                        const llmprof_gap_names *names, llmprof_error *err);

/* ns of each row in which another row of its group ran, too. */
bool llmprof_frame_overlap(llmprof_frame *frame, size_t start, size_t end,
                           const llmprof_groups *groups, const char *name,
                           llmprof_error *err);

/* The cell of a column `offset` rows before in the group, as rows lie in the
 * frame (below 0: after); absent where there is no such row. */
bool llmprof_frame_lag(llmprof_frame *frame, size_t column, long offset,
                       const llmprof_groups *groups, const char *name,
                       llmprof_error *err);

/* A statistic of a column of numbers over this row and the `window` - 1 before
 * it in its group: LLMPROF_SUM, MEAN, MEDIAN, MIN or MAX, as reals. Absent
 * where there are fewer rows, or one of them has no value. */
bool llmprof_frame_rolling(llmprof_frame *frame, size_t column, size_t window,
                           llmprof_statistic statistic,
                           const llmprof_groups *groups, const char *name,
                           llmprof_error *err);

/* A column of integers less another one, in the unit of the first; absent where
 * either is. */
bool llmprof_frame_less(llmprof_frame *frame, size_t column, size_t by,
                        const char *name, llmprof_error *err);

/* The row of `other` that is next to a row's cell by its column `there`: the
 * last whose cell is less or, without `before`, the first whose cell is not;
 * absent where there is none or the cell is absent. Both hold integers. */
bool llmprof_frame_beside(llmprof_frame *frame, size_t column,
                          llmprof_frame *other, size_t there, bool before,
                          const char *name, llmprof_error *err);

/* The row of `other` whose key cells are the same; absent where there is none
 * or a key is absent. Keys come in pairs, both of strings or both of numbers,
 * which are compared by their bytes and by value; UNSUPPORTED: one of each.
 * RANGE: two rows of `other` have the same keys. */
bool llmprof_frame_match(llmprof_frame *frame, const size_t *keys,
                         llmprof_frame *other, const size_t *other_keys,
                         size_t key_count, const char *name,
                         llmprof_error *err);

/* The row of `other` that a row pairs off with, where both frames tell of the
 * same things in the same order, as two runs of a program: cells of the columns
 * of integers are equal, and what stands around them as far as it goes. Rows
 * that only one of the frames has are passed over (absent), a few at a time or
 * many; what comes once in `other` and often in the frame is paired each time.
 * Where the cell of column `turn` (SIZE_MAX: nowhere) is not that of the row
 * before, `other` begins anew. Near n log n; LIMIT: `other` is too long. */
bool llmprof_frame_pair(llmprof_frame *frame, size_t column, size_t turn,
                        llmprof_frame *other, size_t other_column,
                        const char *name, llmprof_error *err);

#endif

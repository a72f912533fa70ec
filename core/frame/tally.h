/* Groups by one key of few values close together, or by several that share an
 * index, told by value, not by row, so that millions of rows take no memory.
 * Private to the frame room. */
#ifndef LLMPROF_TALLY_H
#define LLMPROF_TALLY_H

#include "frame/cells.h"
#include "frame/joint.h"

typedef struct llmprof_tally {
  const llmprof_column *key;
  llmprof_joint joint; /* that is the key where there are several, or one with
                          an index */
  size_t rows;
  int64_t low;       /* the least value that there may be, */
  size_t values;     /* of so many from it on */
  uint32_t *groups;  /* by value from `low` on, after that of absent ones: group
                        + 1, or 0; NULL: there is no such tally */
  uint32_t *of_item; /* of a joint: by item + 1 its group, if it has rows */
} llmprof_tally;

/* Count the groups, all but their of_row; where the values are not close, or
 * keys share no index, there is no tally, which is no failure. The caller frees
 * both; the tally stays where it is. */
bool llmprof_tally_make(llmprof_tally *tally, llmprof_groups *groups,
                        llmprof_frame *frame, const size_t *keys,
                        size_t key_count, llmprof_error *err);
void llmprof_tally_free(llmprof_tally *tally);

/* May groups of such keys be told by an index that rows have? */
bool llmprof_tally_has_rows(llmprof_frame *frame, const size_t *keys,
                            size_t key_count, bool *may, llmprof_error *err);

/* The groups of a tally so, which the caller frees; false where there is no
 * such index, or no memory. */
bool llmprof_tally_rows(const llmprof_tally *tally, llmprof_row_groups *rows);

/* The groups of `count` rows from `row` on, LLMPROF_BLOCK at most. */
void llmprof_tally_groups(const llmprof_tally *tally, size_t row, size_t count,
                          uint32_t *of_row);

#endif

/* Groups of a frame's rows. */
#ifndef LLMPROF_GROUP_BY_H
#define LLMPROF_GROUP_BY_H

#include "llmprof/frame.h"

/* Rows with equal cells in the key columns; absent equals absent. Groups are
 * numbered by first appearance. */
typedef struct llmprof_groups {
  size_t count;
  uint32_t *of_row;    /* by row: its group */
  uint32_t *first_row; /* by group */
  uint32_t *rows;      /* by group: how many */
  uint32_t *part_rows; /* by part (llmprof_part_begin) and group: how many */
  size_t parts;        /* each worth a thread */
} llmprof_groups;

/* Without keys all rows are one group. The caller frees; on failure (a column
 * cannot be loaded, NOMEM, INTERRUPTED) there is nothing to free. */
bool llmprof_groups_make(llmprof_groups *groups, llmprof_frame *frame,
                         const size_t *keys, size_t key_count,
                         llmprof_error *err);
void llmprof_groups_free(llmprof_groups *groups);

/* Add columns to `frame` that say something about its groups: item g of their
 * data is that of group g, as llmprof_groups_make() numbers them. RANGE: there
 * are not `groups` of them. Data and pools as in llmprof_frame_add(). */
bool llmprof_frame_extend(llmprof_frame *frame, const size_t *keys,
                          size_t key_count, size_t groups,
                          const llmprof_column *columns, size_t count,
                          llmprof_error *err);

#endif

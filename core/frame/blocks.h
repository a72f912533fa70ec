/* The present values of a column, scattered into one block for each group: as
 * 32-bit distances from the lowest where they span no more, as times nearly
 * always do, else as cells. Private to the core. */
#ifndef LLMPROF_BLOCKS_H
#define LLMPROF_BLOCKS_H

#include "llmprof/frame.h"

typedef struct llmprof_blocks {
  const llmprof_column *column;
  size_t groups, count; /* of values */
  uint32_t *start;      /* by group; start[groups] is the end */
  uint32_t *near;       /* value - low, or NULL */
  int64_t *cells;       /* where near is NULL */
  int64_t low, high;
} llmprof_blocks;

/* llmprof_blocks_free, on failure too. */
bool llmprof_blocks_load(llmprof_blocks *blocks, llmprof_frame *frame,
                         size_t column, const llmprof_groups *groups,
                         llmprof_error *err);
void llmprof_blocks_free(llmprof_blocks *blocks);

/* Values of a group. */
static inline size_t llmprof_blocks_size(const llmprof_blocks *blocks,
                                         size_t group) {
  return blocks->start[group + 1] - blocks->start[group];
}

/* Values of the largest group. */
size_t llmprof_blocks_largest(const llmprof_blocks *blocks);

#endif

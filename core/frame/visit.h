/* The rows of a frame in the order of their starts, a block at a time.
 * Private to the core. */
#ifndef LLMPROF_VISIT_H
#define LLMPROF_VISIT_H

#include "frame/cells.h"

typedef struct llmprof_visit {
  const llmprof_column *start, *end;
  const uint32_t *order; /* NULL: rows are in order */
  size_t rows;
} llmprof_visit;

/* Starts and ends of some rows that follow each other. */
typedef struct llmprof_visit_block {
  int64_t starts[LLMPROF_BLOCK], ends[LLMPROF_BLOCK];
  size_t count;
} llmprof_visit_block;

/* Rows without a start come first. Borrows from the frame. */
bool llmprof_visit_make(llmprof_visit *v, llmprof_frame *frame,
                        size_t start_column, size_t end_column,
                        llmprof_error *err);

/* Those from a place of the order on, LLMPROF_BLOCK at most. */
void llmprof_visit_read(const llmprof_visit *v, size_t place,
                        llmprof_visit_block *block);

/* The cells of another column of the frame, of the same rows. */
void llmprof_visit_cells(const llmprof_visit *v, const llmprof_column *column,
                         size_t place, int64_t *cells);

/* The row at a place of the order. */
static inline size_t llmprof_visit_row(const llmprof_visit *v, size_t place) {
  return v->order ? v->order[place] : place;
}

#endif

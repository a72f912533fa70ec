/* Cells of a column by the block, and what is found out about them. Private to
 * the core. */
#ifndef LLMPROF_CELLS_H
#define LLMPROF_CELLS_H

#include <math.h>

#include "column/values.h"
#include "llmprof/frame.h"

/* llmprof_cell() of `count` rows from `first` on, LLMPROF_BLOCK at most. */
static inline void llmprof_cells(const llmprof_column *column, size_t first,
                                 size_t count, int64_t *cells) {
  llmprof_values_read(column->values, first, count, cells);
}

/* The frame keeps values, of its own or of views, until it is freed; NULL when
 * out of memory, as NULL for them is. */
const llmprof_values *llmprof_frame_keep(llmprof_frame *frame,
                                         llmprof_values *values);

/* Those of an array of the type's, which outlives the frame. */
const llmprof_values *llmprof_frame_array(llmprof_frame *frame,
                                          llmprof_column_type type,
                                          const void *data);

/* What values say of the rows that a key names; NULL when out of memory, as
 * NULL for either is. They outlive the frame. */
const llmprof_values *llmprof_frame_lookup(llmprof_frame *frame,
                                           const llmprof_values *key,
                                           const llmprof_values *of);

/* By row, the value of another row; UINT32_MAX: none. Rows outlive the frame.
 */
const llmprof_values *llmprof_frame_pick(llmprof_frame *frame,
                                         const uint32_t *rows,
                                         const llmprof_values *of);

/* A cell of a column of numbers as a real; NaN where it is absent. */
static inline double llmprof_real_at(const llmprof_column *column, size_t row) {
  int64_t cell = llmprof_cell(column, row);
  if (cell == LLMPROF_ABSENT) return NAN;
  return column->type == LLMPROF_F64 ? llmprof_cell_real(cell) : (double)cell;
}

/* The caller frees; NULL when out of memory. */
int64_t *llmprof_absent_cells(size_t count);

/* Where a part of `parts` of the rows begins: at a block. */
static inline size_t llmprof_part_begin(size_t rows, size_t parts,
                                        size_t part) {
  size_t blocks = (rows + LLMPROF_BLOCK - 1) / LLMPROF_BLOCK;
  size_t row = blocks * part / parts * LLMPROF_BLOCK;
  return row < rows ? row : rows;
}

/* The lowest and highest present cell of a column, and how many are absent;
 * without a present one low > high. */
typedef struct llmprof_cell_span {
  int64_t low, high;
  size_t absent;
} llmprof_cell_span;
llmprof_cell_span llmprof_span_cells(const llmprof_column *column, size_t rows);

enum {
  LLMPROF_MANY_RUNS = 16 /* ascending runs; more are not counted */
};

/* What is found out about the cells of a column, zero at first. */
typedef struct llmprof_cell_facts {
  llmprof_cell_span span;
  bool spanned;  /* span is known */
  unsigned runs; /* ascending runs, 0: not counted yet; MANY_RUNS where
                    there are more or a cell is absent */
  uint32_t run[LLMPROF_MANY_RUNS]; /* the first row of each */
} llmprof_cell_facts;

/* What follows is found out once for a frame, and once for all views of all of
 * its rows. */

/* The same of a frame's column; false on failure. */
bool llmprof_frame_span(llmprof_frame *frame, size_t column,
                        llmprof_cell_span *span, llmprof_error *err);

/* Bounds of its cells, which may be wider, and no fewer absent ones than there
 * are; without looking at the rows of views. */
bool llmprof_frame_bounds(llmprof_frame *frame, size_t column,
                          llmprof_cell_span *bounds, llmprof_error *err);

/* Is every cell of a column there, and none less than the one before? False
 * also when its data cannot be had. */
bool llmprof_frame_ascends(llmprof_frame *frame, size_t column);

/* Where every cell is there and they ascend in a few runs, as those of a
 * few tables one behind the other: how many, and the first row of each. 0
 * elsewhere, and when the data cannot be had. */
unsigned llmprof_frame_runs(llmprof_frame *frame, size_t column,
                            const uint32_t **first);

/* All rows by the cells of a column, absent ones first, stable; NULL where they
 * are in that order as they are. Owned by the frame. False on failure. */
bool llmprof_frame_order(llmprof_frame *frame, size_t column,
                         const uint32_t **rows, llmprof_error *err);

/* The first of rows [low, high) of an ascending column whose cell is not less
 * than `wanted` or, with `after`, greater; `high` when none is. */
size_t llmprof_first_at(const llmprof_column *column, size_t low, size_t high,
                        int64_t wanted, bool after);

#endif

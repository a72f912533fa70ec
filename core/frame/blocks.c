#include "frame/blocks.h"

#include <string.h>

#include "frame/cells.h"
#include "llmprof/alloc.h"
#include "llmprof/interrupt.h"

void llmprof_blocks_free(llmprof_blocks *blocks) {
  llmprof_free(blocks->start);
  llmprof_free(blocks->near);
  llmprof_free(blocks->cells);
}

size_t llmprof_blocks_largest(const llmprof_blocks *blocks) {
  size_t largest = 0;
  for (size_t g = 0; g < blocks->groups; g++) {
    size_t size = llmprof_blocks_size(blocks, g);
    if (size > largest) largest = size;
  }
  return largest;
}

/* ---- where each group's values go ---- */

/* Present values by group, into counts. */
static void count_present(const llmprof_column *column, size_t rows,
                          const uint32_t *of_row, uint32_t *counts) {
  int64_t cells[LLMPROF_BLOCK];
  for (size_t row = 0; row < rows; row += LLMPROF_BLOCK) {
    size_t count = llmprof_block(row, rows);
    llmprof_cells(column, row, count, cells);
    for (size_t i = 0; i < count; i++)
      counts[of_row[row + i]] += cells[i] != LLMPROF_ABSENT;
  }
}

/* start[g + 1] becomes where group g's values begin: scattering moves it to
 * their end, where those of the next begin. */
static void begin_blocks(llmprof_blocks *blocks, const llmprof_groups *groups,
                         size_t rows) {
  uint32_t *begin = blocks->start + 1, sum = 0;
  const uint32_t *counts = groups->rows;
  if (blocks->count < rows) {
    memset(begin, 0, groups->count * sizeof *begin);
    count_present(blocks->column, rows, groups->of_row, begin);
    counts = begin;
  }
  for (size_t g = 0; g < groups->count; g++) {
    uint32_t here = counts[g];
    begin[g] = sum;
    sum += here;
  }
  blocks->start[0] = 0;
}

/* ---- scattering ---- */

static void scatter_near(llmprof_blocks *blocks, const int64_t *cells,
                         size_t count, const uint32_t *of_row) {
  uint32_t *near = blocks->near, *begin = blocks->start + 1;
  uint64_t low = (uint64_t)blocks->low;
  for (size_t i = 0; i < count; i++) {
    if (cells[i] != LLMPROF_ABSENT)
      near[begin[of_row[i]]++] = (uint32_t)((uint64_t)cells[i] - low);
  }
}

static void scatter_cells(llmprof_blocks *blocks, const int64_t *cells,
                          size_t count, const uint32_t *of_row) {
  uint32_t *begin = blocks->start + 1;
  for (size_t i = 0; i < count; i++) {
    if (cells[i] != LLMPROF_ABSENT)
      blocks->cells[begin[of_row[i]]++] = cells[i];
  }
}

static bool scatter(llmprof_blocks *blocks, size_t rows,
                    const llmprof_groups *groups, llmprof_error *err) {
  int64_t cells[LLMPROF_BLOCK];
  for (size_t row = 0; row < rows; row += LLMPROF_BLOCK) {
    size_t count = llmprof_block(row, rows);
    llmprof_cells(blocks->column, row, count, cells);
    if (blocks->near)
      scatter_near(blocks, cells, count, groups->of_row + row);
    else
      scatter_cells(blocks, cells, count, groups->of_row + row);
    if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
  }
  return true;
}

static bool allocate(llmprof_blocks *blocks) {
  uint64_t width = (uint64_t)blocks->high - (uint64_t)blocks->low;
  bool is_near = blocks->column->type != LLMPROF_F64 &&
                 (!blocks->count || width < UINT32_MAX);
  blocks->start = llmprof_alloc(blocks->groups + 1, sizeof *blocks->start);
  if (is_near)
    blocks->near = llmprof_alloc(blocks->count, sizeof *blocks->near);
  else
    blocks->cells = llmprof_alloc(blocks->count, sizeof *blocks->cells);
  return blocks->start && (blocks->near || blocks->cells);
}

/* Bounds will do for the span where no cell is absent: those below 0 might make
 * sums too large that are not. */
static bool find_span(llmprof_frame *frame, size_t number,
                      llmprof_cell_span *span, llmprof_error *err) {
  return llmprof_frame_bounds(frame, number, span, err) &&
         ((!span->absent && span->low >= 0) ||
          llmprof_frame_span(frame, number, span, err));
}

bool llmprof_blocks_load(llmprof_blocks *blocks, llmprof_frame *frame,
                         size_t number, const llmprof_groups *groups,
                         llmprof_error *err) {
  *blocks = (llmprof_blocks){.groups = groups->count};
  blocks->column = llmprof_frame_column(frame, number, err);
  if (!blocks->column) return false;
  size_t rows = llmprof_frame_rows(frame);
  llmprof_cell_span span;
  if (!find_span(frame, number, &span, err)) return false;
  blocks->count = rows - span.absent;
  blocks->low = span.low;
  blocks->high = span.high;
  if (!allocate(blocks)) return llmprof_fail_nomem(err);
  begin_blocks(blocks, groups, rows);
  return scatter(blocks, rows, groups, err);
}

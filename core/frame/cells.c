#include "frame/cells.h"

#include "base/bisect.h"
#include "llmprof/alloc.h"

int64_t llmprof_cell(const llmprof_column *column, size_t row) {
  return llmprof_values_get(column->values, row);
}

int64_t *llmprof_absent_cells(size_t count) {
  int64_t *cells = llmprof_alloc(count, sizeof *cells);
  for (size_t i = 0; cells && i < count; i++) cells[i] = LLMPROF_ABSENT;
  return cells;
}

llmprof_cell_span llmprof_span_cells(const llmprof_column *column,
                                     size_t rows) {
  int64_t cells[LLMPROF_BLOCK];
  llmprof_cell_span span = {INT64_MAX, INT64_MIN, 0};
  for (size_t row = 0; row < rows; row += LLMPROF_BLOCK) {
    size_t count = llmprof_block(row, rows);
    llmprof_cells(column, row, count, cells);
    for (size_t i = 0; i < count; i++) {
      int64_t least = cells[i] == LLMPROF_ABSENT ? INT64_MAX : cells[i];
      span.absent += cells[i] == LLMPROF_ABSENT;
      span.low = least < span.low ? least : span.low;
      span.high = cells[i] > span.high ? cells[i] : span.high;
    }
  }
  return span;
}

size_t llmprof_first_at(const llmprof_column *column, size_t low, size_t high,
                        int64_t wanted, bool after) {
  LLMPROF_BISECT(low, high, at,
                 after ? llmprof_cell(column, at) <= wanted
                       : llmprof_cell(column, at) < wanted);
  return low;
}

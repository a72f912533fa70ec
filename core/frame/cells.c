#include "frame/cells.h"

#include "base/alloc.h"
#include "base/thread_pool.h"

int64_t llmprof_cell(const llmprof_column *column, size_t row) {
  return llmprof_values_get(column->values, row);
}

static const llmprof_cell_span nothing = {INT64_MAX, INT64_MIN, 0};

/* By part of the rows, in its place. */
typedef struct spanning {
  const llmprof_column *column;
  llmprof_cell_span *spans;
} spanning;

static void span_rows(void *user, size_t first, size_t end) {
  const spanning *s = user;
  int64_t cells[LLMPROF_BLOCK];
  llmprof_cell_span span = nothing;
  for (size_t row = first; row < end; row += LLMPROF_BLOCK) {
    size_t count = llmprof_block(row, end);
    llmprof_cells(s->column, row, count, cells);
    for (size_t i = 0; i < count; i++) {
      int64_t least = cells[i] == LLMPROF_ABSENT ? INT64_MAX : cells[i];
      span.absent += cells[i] == LLMPROF_ABSENT;
      span.low = least < span.low ? least : span.low;
      span.high = cells[i] > span.high ? cells[i] : span.high;
    }
  }
  s->spans[first / LLMPROF_PARALLEL_ROWS] = span;
}

bool llmprof_span_cells(const llmprof_column *column, size_t rows,
                        llmprof_cell_span *span) {
  size_t parts = rows / LLMPROF_PARALLEL_ROWS + 1;
  spanning s = {column, llmprof_alloc(parts, sizeof *s.spans)};
  if (!s.spans) return false;
  for (size_t i = 0; i < parts; i++) s.spans[i] = nothing;
  llmprof_parallel_rows(rows, span_rows, &s);
  *span = nothing;
  for (size_t i = 0; i < parts; i++) {
    const llmprof_cell_span *part = &s.spans[i];
    span->absent += part->absent;
    span->low = part->low < span->low ? part->low : span->low;
    span->high = part->high > span->high ? part->high : span->high;
  }
  llmprof_free(s.spans);
  return true;
}

size_t llmprof_first_at(const llmprof_column *column, size_t low, size_t high,
                        int64_t wanted, bool after) {
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    int64_t value = llmprof_cell(column, middle);
    if (value < wanted || (after && value == wanted))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

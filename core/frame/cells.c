#include "frame/cells.h"

#include "base/thread_pool.h"
#include "llmprof/alloc.h"

int64_t llmprof_cell(const llmprof_column *column, size_t row) {
  return llmprof_values_get(column->values, row);
}

static llmprof_cell_span join_spans(llmprof_cell_span a, llmprof_cell_span b) {
  return (llmprof_cell_span){.low = a.low < b.low ? a.low : b.low,
                             .high = a.high > b.high ? a.high : b.high,
                             .absent = a.absent + b.absent};
}

static llmprof_cell_span span_block(const int64_t *cells, size_t count) {
  llmprof_cell_span span = {INT64_MAX, INT64_MIN, 0};
  for (size_t i = 0; i < count; i++) {
    int64_t least = cells[i] == LLMPROF_ABSENT ? INT64_MAX : cells[i];
    span.absent += cells[i] == LLMPROF_ABSENT;
    span.low = least < span.low ? least : span.low;
    span.high = cells[i] > span.high ? cells[i] : span.high;
  }
  return span;
}

/* Of rows [first, end). */
static llmprof_cell_span span_rows(const llmprof_column *column, size_t first,
                                   size_t end) {
  int64_t cells[LLMPROF_BLOCK];
  llmprof_cell_span span = {INT64_MAX, INT64_MIN, 0};
  for (size_t row = first; row < end; row += LLMPROF_BLOCK) {
    size_t count = llmprof_block(row, end);
    llmprof_cells(column, row, count, cells);
    span = join_spans(span, span_block(cells, count));
  }
  return span;
}

enum {
  PART = 1 << 18 /* rows that are worth a thread */
};

typedef struct spanning {
  const llmprof_column *column;
  size_t rows, parts;
  llmprof_cell_span *spans; /* by part */
} spanning;

static bool span_part(void *user, size_t worker, size_t part,
                      llmprof_error *err) {
  (void)worker;
  (void)err;
  const spanning *s = user;
  s->spans[part] = span_rows(s->column, s->rows * part / s->parts,
                             s->rows * (part + 1) / s->parts);
  return true;
}

llmprof_cell_span llmprof_span_cells(const llmprof_column *column,
                                     size_t rows) {
  spanning s = {.column = column,
                .rows = rows,
                .parts = llmprof_thread_pool_size(rows / PART)};
  llmprof_parallel_loop loop = {
      .parts = s.parts, .work = span_part, .user = &s};
  s.spans = s.parts > 1 ? llmprof_alloc(s.parts, sizeof *s.spans) : NULL;
  if (!s.spans) return span_rows(column, 0, rows);
  (void)llmprof_parallel_for(&loop, s.parts, NULL);
  llmprof_cell_span span = s.spans[0];
  for (size_t part = 1; part < s.parts; part++)
    span = join_spans(span, s.spans[part]);
  llmprof_free(s.spans);
  return span;
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

#include "ranks/timeline.h"

#include "base/alloc.h"
#include "base/bisect.h"
#include "base/interrupt.h"
#include "frame/sort.h"

bool timeline_columns(llmprof_frame *frame, const size_t *numbers, size_t count,
                      const llmprof_column **columns, llmprof_error *err) {
  for (size_t i = 0; i < count; i++) {
    columns[i] = NULL;
    if (numbers[i] == SIZE_MAX) continue;
    columns[i] = llmprof_frame_column(frame, numbers[i], err);
    if (!columns[i]) return false;
  }
  return true;
}

/* The rows that take part, with their keys and starts. */
static bool read_rows(timeline *line, size_t rows, const llmprof_column *start,
                      const llmprof_column *key, llmprof_error *err) {
  for (size_t row = 0; row < rows; row++) {
    if (llmprof_interrupted_at(row)) return llmprof_fail_interrupted(err);
    line->starts[row] = llmprof_cell(start, row);
    line->keys[row] = key ? llmprof_cell(key, row) : 0;
    if (line->starts[row] != LLMPROF_ABSENT &&
        line->keys[row] != LLMPROF_ABSENT)
      line->rows[line->count++] = (uint32_t)row;
  }
  return true;
}

bool timeline_make(timeline *line, llmprof_frame *frame, size_t start,
                   size_t key, llmprof_error *err) {
  size_t rows = llmprof_frame_rows(frame);
  const llmprof_column *columns[2];
  *line = (timeline){.rows = llmprof_alloc(rows, sizeof *line->rows),
                     .keys = llmprof_alloc(rows, sizeof *line->keys),
                     .starts = llmprof_alloc(rows, sizeof *line->starts)};
  if (!line->rows || !line->keys || !line->starts)
    return llmprof_fail_nomem(err);
  if (!timeline_columns(frame, (size_t[]){start, key}, 2, columns, err) ||
      !read_rows(line, rows, columns[0], columns[1], err))
    return false;
  return (llmprof_sort_rows_i64(line->rows, line->count, line->starts) &&
          llmprof_sort_rows_i64(line->rows, line->count, line->keys)) ||
         llmprof_fail_nomem(err);
}

void timeline_free(timeline *line) {
  llmprof_free(line->rows);
  llmprof_free(line->keys);
  llmprof_free(line->starts);
  *line = (timeline){0};
}

static bool is_after(const timeline *line, uint32_t row, int64_t key,
                     int64_t time) {
  return line->keys[row] != key ? line->keys[row] > key
                                : line->starts[row] > time;
}

size_t timeline_after(const timeline *line, int64_t key, int64_t time) {
  size_t low = 0, high = line->count;
  LLMPROF_BISECT(low, high, at, !is_after(line, line->rows[at], key, time));
  return low;
}

/* Cells as a column of their type keeps them. */
static void *typed_copy(bool strings, const int64_t *cells, size_t rows) {
  if (!strings) return llmprof_memdup(cells, rows * sizeof *cells);
  uint32_t *ids = llmprof_alloc(rows, sizeof *ids);
  for (size_t row = 0; ids && row < rows; row++)
    ids[row] =
        cells[row] == LLMPROF_ABSENT ? LLMPROF_NO_STRING : (uint32_t)cells[row];
  return ids;
}

bool timeline_keep(llmprof_frame *frame, const char *name, const char *unit,
                   bool strings, const int64_t *cells, llmprof_error *err) {
  char *kept = NULL;
  if (unit && *unit) {
    kept = llmprof_strdup(unit);
    if (!kept || !llmprof_frame_own(frame, kept))
      return llmprof_fail_nomem(err);
  }
  void *data = typed_copy(strings, cells, llmprof_frame_rows(frame));
  return llmprof_frame_give(
      frame, name, kept, strings ? LLMPROF_STRING_ID : LLMPROF_I64, data, err);
}

bool timeline_cells(const llmprof_frame *frame, const llmprof_column *column,
                    int64_t *cells, llmprof_error *err) {
  if (column->type == LLMPROF_F64)
    return llmprof_fail(err, LLMPROF_UNSUPPORTED, "column '%s' holds reals",
                        column->name);
  for (size_t row = 0; row < llmprof_frame_rows(frame); row++) {
    if (llmprof_interrupted_at(row)) return llmprof_fail_interrupted(err);
    cells[row] = llmprof_cell(column, row);
  }
  return true;
}

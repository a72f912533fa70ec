#include "frame/row_table.h"

#include <math.h>

#include "base/alloc.h"

void llmprof_row_table_free(llmprof_row_table *table) {
  llmprof_free(table->cells);
  llmprof_free(table->reals);
}

double *llmprof_row_table_add(llmprof_row_table *table, const int64_t *cells) {
  size_t before = table->rows * table->column_count;
  size_t reals = table->rows * table->real_count;
  if (!llmprof_grow(&table->cells, &table->cell_cap,
                    before + table->column_count, sizeof *table->cells) ||
      !llmprof_grow(&table->reals, &table->real_cap,
                    reals + table->real_count + 1, sizeof *table->reals))
    return NULL;
  memcpy(table->cells + before, cells, table->column_count * sizeof *cells);
  for (size_t i = 0; i < table->real_count; i++) table->reals[reals + i] = NAN;
  table->rows++;
  return table->reals + reals;
}

static bool give_cells(llmprof_frame *frame, const llmprof_row_table *table,
                       size_t number, llmprof_error *err) {
  const llmprof_row_column *column = &table->columns[number];
  const int64_t *cells = table->cells; /* NULL without a row */
  size_t step = table->column_count;
  if (!column->is_text) {
    int64_t *data = llmprof_alloc(table->rows, sizeof *data);
    for (size_t row = 0; data && row < table->rows; row++)
      data[row] = cells[row * step + number];
    return llmprof_frame_give(frame, column->name, column->unit, LLMPROF_I64,
                              data, err);
  }
  uint32_t *ids = llmprof_alloc(table->rows, sizeof *ids);
  for (size_t row = 0; ids && row < table->rows; row++) {
    int64_t cell = cells[row * step + number];
    ids[row] = cell == LLMPROF_ABSENT ? LLMPROF_NO_STRING : (uint32_t)cell;
  }
  return llmprof_frame_give(frame, column->name, column->unit,
                            LLMPROF_STRING_ID, ids, err);
}

static bool give_reals(llmprof_frame *frame, const llmprof_row_table *table,
                       size_t number, const llmprof_row_column *column,
                       llmprof_error *err) {
  if (llmprof_frame_find(frame, column->name) != SIZE_MAX) return true;
  double *data = llmprof_alloc(table->rows, sizeof *data);
  for (size_t row = 0; data && row < table->rows; row++)
    data[row] = table->reals[row * table->real_count + number];
  return llmprof_frame_give(frame, column->name, column->unit, LLMPROF_F64,
                            data, err);
}

llmprof_frame *llmprof_row_table_frame(const llmprof_row_table *table,
                                       const llmprof_row_column *reals,
                                       const llmprof_strings *strings,
                                       llmprof_error *err) {
  llmprof_frame *frame = llmprof_frame_new(table->rows, strings);
  bool ok = frame || llmprof_fail_nomem(err);
  for (size_t i = 0; ok && i < table->column_count; i++)
    ok = give_cells(frame, table, i, err);
  for (size_t i = 0; ok && i < table->real_count; i++)
    ok = give_reals(frame, table, i, &reals[i], err);
  if (ok) return frame;
  llmprof_frame_free(frame);
  return NULL;
}

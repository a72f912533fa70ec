#include "frame/cells.h"

/* ---- integers ---- */

static void read_longs(const int64_t *data, size_t count, int64_t *cells) {
  memcpy(cells, data, count * sizeof *cells);
}

static void pick_longs(const int64_t *data, const uint32_t *index, size_t count,
                       int64_t *cells) {
  for (size_t i = 0; i < count; i++)
    cells[i] = index[i] == UINT32_MAX ? LLMPROF_ABSENT : data[index[i]];
}

/* ---- small integers and string ids ---- */

static inline int64_t widen(uint32_t value) {
  return value == UINT32_MAX ? LLMPROF_ABSENT : (int64_t)value;
}

static void read_shorts(const uint32_t *data, size_t count, int64_t *cells) {
  for (size_t i = 0; i < count; i++) cells[i] = widen(data[i]);
}

static void pick_shorts(const uint32_t *data, const uint32_t *index,
                        size_t count, int64_t *cells) {
  for (size_t i = 0; i < count; i++)
    cells[i] = index[i] == UINT32_MAX ? LLMPROF_ABSENT : widen(data[index[i]]);
}

/* ---- any ---- */

void llmprof_cells(const llmprof_column *column, size_t first, size_t count,
                   int64_t *cells) {
  const uint32_t *index = column->index ? column->index + first : NULL;
  if (column->type == LLMPROF_F64) {
    for (size_t i = 0; i < count; i++)
      cells[i] = llmprof_cell(column, first + i);
  } else if (column->type == LLMPROF_I64) {
    const int64_t *data = column->data;
    if (index)
      pick_longs(data, index, count, cells);
    else
      read_longs(data + first, count, cells);
  } else {
    const uint32_t *data = column->data;
    if (index)
      pick_shorts(data, index, count, cells);
    else
      read_shorts(data + first, count, cells);
  }
}

/* Absent is the greatest number, and the least of those one higher. */
static llmprof_cell_span span_shorts(const uint32_t *data, size_t rows) {
  uint32_t low = UINT32_MAX, above = 0;
  size_t absent = 0;
  for (size_t row = 0; row < rows; row++) {
    uint32_t after = data[row] + 1;
    low = data[row] < low ? data[row] : low;
    above = after > above ? after : above;
    absent += after == 0;
  }
  if (!above) return (llmprof_cell_span){INT64_MAX, INT64_MIN, absent};
  return (llmprof_cell_span){low, (int64_t)above - 1, absent};
}

llmprof_cell_span llmprof_span_cells(const llmprof_column *column,
                                     size_t rows) {
  if (!column->index &&
      (column->type == LLMPROF_U32 || column->type == LLMPROF_STRING_ID))
    return span_shorts(column->data, rows);
  int64_t cells[LLMPROF_BLOCK];
  llmprof_cell_span span = {INT64_MAX, INT64_MIN, 0};
  for (size_t row = 0; row < rows; row += LLMPROF_BLOCK) {
    size_t count = llmprof_block(row, rows);
    int64_t low = INT64_MAX, high = INT64_MIN;
    size_t absent = 0;
    llmprof_cells(column, row, count, cells);
    for (size_t i = 0; i < count; i++) {
      int64_t least = cells[i] == LLMPROF_ABSENT ? INT64_MAX : cells[i];
      absent += cells[i] == LLMPROF_ABSENT;
      low = least < low ? least : low;
      high = cells[i] > high ? cells[i] : high;
    }
    span.absent += absent;
    span.low = low < span.low ? low : span.low;
    span.high = high > span.high ? high : span.high;
  }
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

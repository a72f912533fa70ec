#include "frame/cells.h"

#include "base/thread_pool.h"
#include "llmprof/alloc.h"

/* ---- integers ---- */

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

/* ---- reals ---- */

static void read_reals(const double *data, size_t count, int64_t *cells) {
  for (size_t i = 0; i < count; i++) cells[i] = llmprof_real_cell(data[i]);
}

static void pick_reals(const double *data, const uint32_t *index, size_t count,
                       int64_t *cells) {
  for (size_t i = 0; i < count; i++)
    cells[i] = index[i] == UINT32_MAX ? LLMPROF_ABSENT
                                      : llmprof_real_cell(data[index[i]]);
}

/* ---- any ---- */

static void read(const llmprof_column *column, size_t first, size_t count,
                 int64_t *cells) {
  if (column->values)
    llmprof_values_read(column->values, first, count, cells);
  else if (column->type == LLMPROF_F64)
    read_reals((const double *)column->data + first, count, cells);
  else if (column->type == LLMPROF_I64)
    memcpy(cells, (const int64_t *)column->data + first, count * sizeof *cells);
  else
    read_shorts((const uint32_t *)column->data + first, count, cells);
}

static void pick(const llmprof_column *column, const uint32_t *index,
                 size_t count, int64_t *cells) {
  if (column->values)
    llmprof_values_gather(column->values, index, count, cells);
  else if (column->type == LLMPROF_F64)
    pick_reals(column->data, index, count, cells);
  else if (column->type == LLMPROF_I64)
    pick_longs(column->data, index, count, cells);
  else
    pick_shorts(column->data, index, count, cells);
}

void llmprof_cells(const llmprof_column *column, size_t first, size_t count,
                   int64_t *cells) {
  if (column->index)
    pick(column, column->index + first, count, cells);
  else
    read(column, first, count, cells);
}

void llmprof_cells_at(const llmprof_column *column, const uint32_t *rows,
                      size_t count, int64_t *cells) {
  uint32_t items[LLMPROF_BLOCK];
  for (size_t i = 0; column->index && i < count; i++)
    items[i] = column->index[rows[i]];
  pick(column, column->index ? items : rows, count, cells);
}

/* Absent is the greatest number, and the least of those one higher. Compared as
 * signed numbers, which processors do many at a time. */
static llmprof_cell_span span_shorts(const uint32_t *data, size_t rows) {
  const uint32_t turn = 1u << 31;
  int32_t low = INT32_MAX, above = INT32_MIN;
  uint32_t absent = 0;
  for (size_t row = 0; row < rows; row++) {
    int32_t cell = (int32_t)(data[row] ^ turn);
    int32_t after = (int32_t)((data[row] + 1) ^ turn);
    low = cell < low ? cell : low;
    above = after > above ? after : above;
    absent += after == INT32_MIN;
  }
  if (above == INT32_MIN)
    return (llmprof_cell_span){INT64_MAX, INT64_MIN, absent};
  return (llmprof_cell_span){(uint32_t)low ^ turn,
                             (int64_t)((uint32_t)above ^ turn) - 1, absent};
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

/* Of rows [first, end). A column without rows may be without an address. */
static llmprof_cell_span span_rows(const llmprof_column *column, size_t first,
                                   size_t end) {
  if (first == end) return (llmprof_cell_span){INT64_MAX, INT64_MIN, 0};
  if (!column->index && !column->values &&
      (column->type == LLMPROF_U32 || column->type == LLMPROF_STRING_ID))
    return span_shorts((const uint32_t *)column->data + first, end - first);
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

/* Rows of columns, read in parts on all threads and taken in order. */
#include "base/alloc.h"
#include "base/interrupt.h"
#include "base/thread_pool.h"
#include "column/values.h"

enum {
  PART = 16 * LLMPROF_BLOCK /* rows that are worth to be handed over */
};

typedef struct each {
  const llmprof_values *const *of;
  size_t columns, rows, part; /* part: its rows */
  const uint32_t *order;
  llmprof_values_taker take;
  void *user;
  int64_t *cells; /* by worker and column, those of a part */
} each;

static int64_t *cells_at(const each *e, size_t worker, size_t column,
                         size_t row) {
  return e->cells + (worker * e->columns + column) * e->part + row % e->part;
}

static size_t end_of(const each *e, size_t part) {
  size_t end = (part + 1) * e->part;
  return end < e->rows ? end : e->rows;
}

static bool read_part(void *user, size_t worker, size_t part,
                      llmprof_error *err) {
  const each *e = user;
  size_t end = end_of(e, part);
  if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
  for (size_t row = part * e->part; row < end; row += LLMPROF_BLOCK) {
    size_t count = llmprof_block(row, end);
    for (size_t c = 0; c < e->columns; c++) {
      int64_t *cells = cells_at(e, worker, c, row);
      if (e->order)
        llmprof_values_gather(e->of[c], e->order + row, count, cells);
      else
        llmprof_values_read(e->of[c], row, count, cells);
    }
  }
  return true;
}

static bool take_part(void *user, size_t worker, size_t part,
                      llmprof_error *err) {
  const each *e = user;
  size_t end = end_of(e, part);
  bool ok = true;
  for (size_t row = part * e->part; ok && row < end; row += LLMPROF_BLOCK) {
    int64_t *cells[LLMPROF_VALUES_IN];
    for (size_t c = 0; c < e->columns; c++)
      cells[c] = cells_at(e, worker, c, row);
    ok = e->take(e->user, row, llmprof_block(row, end), cells, err);
  }
  return ok;
}

bool llmprof_values_each(const llmprof_values *const *of, size_t columns,
                         const uint32_t *order, size_t rows,
                         llmprof_values_taker take, void *user,
                         llmprof_error *err) {
  size_t workers = llmprof_thread_pool_size(rows / PART);
  each e = {of,    columns, rows, workers > 1 ? PART : LLMPROF_BLOCK,
            order, take,    user, NULL};
  e.cells = llmprof_alloc(workers * columns * e.part, sizeof *e.cells);
  const llmprof_parallel_loop loop = {(rows + e.part - 1) / e.part, read_part,
                                      take_part, &e};
  bool ok = e.cells ? llmprof_parallel_for(&loop, workers, err)
                    : llmprof_fail_nomem(err);
  llmprof_free(e.cells);
  return ok;
}

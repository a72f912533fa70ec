#include "frame/blocks.h"

#include "base/crew.h"
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

enum {
  PART = 1 << 18, /* rows that are worth a thread */
  FEW = 1 << 16   /* groups that each part may count on its own */
};

/* Rows are counted and scattered in parts, each on a thread. */
typedef struct filling {
  llmprof_blocks *blocks;
  const llmprof_groups *groups;
  size_t rows, parts;
  uint32_t *fill; /* by part and group: its values, then where the next goes */
} filling;

static uint32_t *fill_of(const filling *f, size_t part) {
  return f->fill + part * f->groups->count;
}

/* Rows of a part by group. */
static void count_rows(const uint32_t *of_row, size_t row, size_t end,
                       uint32_t *counts) {
  for (; row < end; row++) counts[of_row[row]]++;
}

/* Those with a value. */
static void count_present(const llmprof_column *column, const uint32_t *of_row,
                          size_t row, size_t end, uint32_t *counts) {
  int64_t cells[LLMPROF_BLOCK];
  for (; row < end; row += LLMPROF_BLOCK) {
    size_t count = llmprof_block(row, end);
    llmprof_cells(column, row, count, cells);
    for (size_t i = 0; i < count; i++)
      counts[of_row[row + i]] += cells[i] != LLMPROF_ABSENT;
  }
}

static bool count_part(void *user, size_t worker, size_t part,
                       llmprof_error *err) {
  (void)worker;
  const filling *f = user;
  const uint32_t *of_row = f->groups->of_row;
  size_t row = llmprof_part_begin(f->rows, f->parts, part);
  size_t end = llmprof_part_begin(f->rows, f->parts, part + 1);
  if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
  if (f->blocks->count < f->rows)
    count_present(f->blocks->column, of_row, row, end, fill_of(f, part));
  else
    count_rows(of_row, row, end, fill_of(f, part));
  return true;
}

/* Counts become places: of a group the values of the first part come first. */
static void begin_blocks(const filling *f) {
  uint32_t sum = 0;
  for (size_t g = 0; g < f->groups->count; g++) {
    f->blocks->start[g] = sum;
    for (size_t part = 0; part < f->parts; part++) {
      uint32_t *fill = &fill_of(f, part)[g];
      uint32_t here = *fill;
      *fill = sum;
      sum += here;
    }
  }
  f->blocks->start[f->groups->count] = sum;
}

/* ---- scattering ---- */

static void scatter_near(llmprof_blocks *blocks, const int64_t *cells,
                         size_t count, const uint32_t *of_row, uint32_t *fill) {
  uint32_t *near = blocks->near;
  uint64_t low = (uint64_t)blocks->low;
  for (size_t i = 0; i < count; i++) {
    if (cells[i] != LLMPROF_ABSENT)
      near[fill[of_row[i]]++] = (uint32_t)((uint64_t)cells[i] - low);
  }
}

static void scatter_cells(llmprof_blocks *blocks, const int64_t *cells,
                          size_t count, const uint32_t *of_row,
                          uint32_t *fill) {
  for (size_t i = 0; i < count; i++) {
    if (cells[i] != LLMPROF_ABSENT) blocks->cells[fill[of_row[i]]++] = cells[i];
  }
}

static bool scatter_part(void *user, size_t worker, size_t part,
                         llmprof_error *err) {
  (void)worker;
  const filling *f = user;
  int64_t cells[LLMPROF_BLOCK];
  uint32_t *fill = fill_of(f, part);
  size_t end = llmprof_part_begin(f->rows, f->parts, part + 1);
  for (size_t row = llmprof_part_begin(f->rows, f->parts, part); row < end;
       row += LLMPROF_BLOCK) {
    size_t count = llmprof_block(row, end);
    llmprof_cells(f->blocks->column, row, count, cells);
    if (f->blocks->near)
      scatter_near(f->blocks, cells, count, f->groups->of_row + row, fill);
    else
      scatter_cells(f->blocks, cells, count, f->groups->of_row + row, fill);
    if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
  }
  return true;
}

/* Of all rows on one thread it is known how many each group has. */
static bool count_values(filling *f, llmprof_error *err) {
  llmprof_crew crew = {.parts = f->parts, .work = count_part, .user = f};
  if (f->parts > 1 || f->blocks->count < f->rows)
    return llmprof_crew_run(&crew, f->parts, err);
  for (size_t g = 0; g < f->groups->count; g++) f->fill[g] = f->groups->rows[g];
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

static bool fill_blocks(llmprof_blocks *blocks, size_t rows,
                        const llmprof_groups *groups, llmprof_error *err) {
  size_t parts = groups->count <= FEW ? llmprof_crew_size(rows / PART) : 1;
  filling f = {
      .blocks = blocks, .groups = groups, .rows = rows, .parts = parts};
  f.fill = llmprof_zalloc(parts * groups->count, sizeof *f.fill);
  if (!f.fill) return llmprof_fail_nomem(err);
  llmprof_crew crew = {.parts = parts, .work = scatter_part, .user = &f};
  bool ok = count_values(&f, err);
  if (ok) {
    begin_blocks(&f);
    ok = llmprof_crew_run(&crew, parts, err);
  }
  llmprof_free(f.fill);
  return ok;
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
  return allocate(blocks) ? fill_blocks(blocks, rows, groups, err)
                          : llmprof_fail_nomem(err);
}

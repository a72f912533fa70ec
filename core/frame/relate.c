/* Rows before and after in their group, as they lie in the frame. */
#include <math.h>
#include <string.h>

#include "base/bisect.h"
#include "base/interrupt.h"
#include "frame/cells.h"
#include "frame/group_by.h"
#include "frame/relate.h"
#include "llmprof/alloc.h"

/* Rows by group, each group's in order: those of group g are rows[start[g]]
 * up to rows[start[g + 1]]. */
typedef struct listing {
  size_t *start;
  uint32_t *rows;
} listing;

static void listing_free(listing *l) {
  llmprof_free(l->start);
  llmprof_free(l->rows);
  *l = (listing){0};
}

static bool list_groups(listing *l, const llmprof_groups *groups, size_t rows,
                        llmprof_error *err) {
  *l = (listing){llmprof_zalloc(groups->count + 1, sizeof *l->start),
                 llmprof_alloc(rows, sizeof *l->rows)};
  if (!l->start || !l->rows) {
    listing_free(l);
    return llmprof_fail_nomem(err);
  }
  for (size_t g = 0; g < groups->count; g++)
    l->start[g + 1] = l->start[g] + groups->rows[g];
  for (size_t row = 0; row < rows; row++) {
    if (llmprof_interrupted_at(row)) {
      listing_free(l);
      return llmprof_fail_interrupted(err);
    }
    l->rows[l->start[groups->of_row[row]]++] = (uint32_t)row;
  }
  for (size_t g = groups->count; g > 0; g--) l->start[g] = l->start[g - 1];
  l->start[0] = 0;
  return true;
}

/* ---- other rows' cells ---- */

static void shift_group(const uint32_t *rows, size_t count, long offset,
                        uint32_t *index) {
  size_t by = offset >= 0 ? (size_t)offset : (size_t) - (offset + 1) + 1;
  for (size_t i = 0; i < count; i++) {
    bool there = offset >= 0 ? i >= by : count - i > by;
    uint32_t row = UINT32_MAX;
    if (there) row = rows[offset >= 0 ? i - by : i + by];
    index[rows[i]] = row;
  }
}

bool llmprof_frame_lag(llmprof_frame *frame, size_t number, long offset,
                       const llmprof_groups *groups, const char *name,
                       llmprof_error *err) {
  const llmprof_column *from = llmprof_frame_column(frame, number, err);
  listing l;
  size_t rows = llmprof_frame_rows(frame);
  if (!from || !list_groups(&l, groups, rows, err)) return false;
  uint32_t *index = llmprof_alloc(rows, sizeof *index);
  for (size_t g = 0; index && g < groups->count; g++)
    shift_group(l.rows + l.start[g], l.start[g + 1] - l.start[g], offset,
                index);
  listing_free(&l);
  llmprof_column column = *from;
  column.name = name;
  return (index && llmprof_frame_own(frame, index) &&
          (column.values = llmprof_frame_pick(frame, index, from->values)) &&
          llmprof_frame_add(frame, &column, NULL, NULL)) ||
         llmprof_fail_nomem(err);
}

/* ---- one column less another ---- */

bool llmprof_frame_less(llmprof_frame *frame, size_t column, size_t by,
                        const char *name, llmprof_error *err) {
  const llmprof_column *from = llmprof_frame_column(frame, column, err);
  const llmprof_column *taken =
      from ? llmprof_frame_column(frame, by, err) : NULL;
  if (!taken) return false;
  size_t rows = llmprof_frame_rows(frame);
  int64_t *out = llmprof_alloc(rows, sizeof *out);
  for (size_t row = 0; out && row < rows; row++) {
    if (llmprof_interrupted_at(row)) {
      llmprof_free(out);
      return llmprof_fail_interrupted(err);
    }
    int64_t a = llmprof_cell(from, row), b = llmprof_cell(taken, row);
    bool known = a != LLMPROF_ABSENT && b != LLMPROF_ABSENT;
    if (!known || __builtin_sub_overflow(a, b, &out[row]))
      out[row] = LLMPROF_ABSENT;
  }
  return llmprof_frame_give(frame, name, from->unit, LLMPROF_I64, out, err);
}

/* ---- rows of another frame, by a rising column ---- */

/* Its rows in that order; absent cells come first. */
typedef struct rising {
  const llmprof_column *column;
  const uint32_t *order; /* NULL: as they lie */
  size_t first, rows;    /* first: that has a cell */
} rising;

static size_t rising_row(const rising *r, size_t place) {
  return r->order ? r->order[place] : place;
}

/* The first place whose cell is not less than a value. */
static size_t rising_place(const rising *r, int64_t value) {
  size_t low = r->first, high = r->rows;
  LLMPROF_BISECT(low, high, at,
                 llmprof_cell(r->column, rising_row(r, at)) < value);
  return low;
}

static bool rising_make(rising *r, llmprof_frame *frame, size_t column,
                        llmprof_error *err) {
  *r = (rising){.rows = llmprof_frame_rows(frame),
                .column = llmprof_frame_column(frame, column, err)};
  if (!r->column || !llmprof_frame_order(frame, column, &r->order, err))
    return false;
  r->first = rising_place(r, LLMPROF_ABSENT + 1);
  return true;
}

static uint32_t row_beside(const rising *r, int64_t cell, bool before) {
  if (cell == LLMPROF_ABSENT) return UINT32_MAX;
  size_t place = rising_place(r, cell);
  if (place == (before ? r->first : r->rows)) return UINT32_MAX;
  return (uint32_t)rising_row(r, before ? place - 1 : place);
}

bool llmprof_frame_beside(llmprof_frame *frame, size_t column,
                          llmprof_frame *other, size_t there, bool before,
                          const char *name, llmprof_error *err) {
  const llmprof_column *from = llmprof_frame_column(frame, column, err);
  rising r;
  if (!from || !rising_make(&r, other, there, err)) return false;
  size_t rows = llmprof_frame_rows(frame);
  uint32_t *found = llmprof_alloc(rows, sizeof *found);
  if (!found) return llmprof_fail_nomem(err);
  for (size_t row = 0; row < rows; row++) {
    if (llmprof_interrupted_at(row)) {
      llmprof_free(found);
      return llmprof_fail_interrupted(err);
    }
    found[row] = row_beside(&r, llmprof_cell(from, row), before);
  }
  return llmprof_frame_give(frame, name, NULL, LLMPROF_U32, found, err);
}

/* ---- a window that moves ---- */

typedef struct window {
  llmprof_statistic statistic;
  size_t size;
  int64_t *sorted; /* those of its cells that are there */
  size_t count;    /* of them */
  double *out;     /* by row */
} window;

/* The first that is not less. */
static size_t place_of(const window *w, int64_t cell) {
  size_t low = 0, high = w->count;
  LLMPROF_BISECT(low, high, at, w->sorted[at] < cell);
  return low;
}

static void come(window *w, double value) {
  if (isnan(value)) return;
  int64_t cell = llmprof_real_cell(value);
  size_t at = place_of(w, cell);
  memmove(w->sorted + at + 1, w->sorted + at,
          (w->count++ - at) * sizeof *w->sorted);
  w->sorted[at] = cell;
}

static void go(window *w, double value) {
  if (isnan(value)) return;
  size_t at = place_of(w, llmprof_real_cell(value));
  memmove(w->sorted + at, w->sorted + at + 1,
          (--w->count - at) * sizeof *w->sorted);
}

static double sum_of(const window *w) {
  double sum = 0;
  for (size_t i = 0; i < w->size; i++) sum += llmprof_cell_real(w->sorted[i]);
  return sum;
}

/* NaN where one is absent. */
static double statistic_of(const window *w) {
  if (w->count < w->size) return NAN;
  double high = llmprof_cell_real(w->sorted[w->size / 2]);
  switch (w->statistic) {
  case LLMPROF_MEDIAN:
    return w->size % 2
               ? high
               : (llmprof_cell_real(w->sorted[w->size / 2 - 1]) + high) / 2;
  case LLMPROF_MIN:
    return llmprof_cell_real(w->sorted[0]);
  case LLMPROF_MAX:
    return llmprof_cell_real(w->sorted[w->size - 1]);
  case LLMPROF_MEAN:
    return sum_of(w) / (double)w->size;
  default:
    return sum_of(w);
  }
}

static bool roll(window *w, const llmprof_column *from, const uint32_t *rows,
                 size_t count) {
  w->count = 0;
  for (size_t i = 0; i < count; i++) {
    if (llmprof_interrupted_at(i)) return false;
    if (i >= w->size) go(w, llmprof_real_at(from, rows[i - w->size]));
    come(w, llmprof_real_at(from, rows[i]));
    w->out[rows[i]] = statistic_of(w);
  }
  return true;
}

bool llmprof_frame_rolling(llmprof_frame *frame, size_t number, size_t size,
                           llmprof_statistic statistic,
                           const llmprof_groups *groups, const char *name,
                           llmprof_error *err) {
  const llmprof_column *from = llmprof_frame_column(frame, number, err);
  listing l;
  size_t rows = llmprof_frame_rows(frame);
  if (!from || !list_groups(&l, groups, rows, err)) return false;
  window w = {.statistic = statistic, .size = size ? size : 1};
  if (w.size > rows) w.size = rows + 1; /* nothing has as many before it */
  w.sorted = llmprof_alloc(w.size, sizeof *w.sorted);
  w.out = llmprof_alloc(rows, sizeof *w.out);
  bool ok = (w.sorted && w.out) || llmprof_fail_nomem(err);
  for (size_t g = 0; ok && g < groups->count; g++)
    ok = roll(&w, from, l.rows + l.start[g], l.start[g + 1] - l.start[g]) ||
         llmprof_fail_interrupted(err);
  listing_free(&l);
  llmprof_free(w.sorted);
  if (ok)
    return llmprof_frame_give(frame, name, from->unit, LLMPROF_F64, w.out, err);
  llmprof_free(w.out);
  return false;
}

/* Rows before and after in their group, as they lie in the frame. */
#include <math.h>

#include "base/interrupt.h"
#include "frame/cells.h"
#include "frame/group_by.h"
#include "frame/median.h"
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
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (llmprof_cell(r->column, rising_row(r, middle)) < value)
      low = middle + 1;
    else
      high = middle;
  }
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
  const llmprof_column *from;
  const uint32_t *rows; /* of a group */
  size_t count, size;
  double *values; /* of the group: cells as reals, NaN where absent */
  size_t *places; /* of candidates for the least value, a queue */
  double *out;    /* by row */
} window;

static double sum_of(const double *values, size_t count, size_t *absent) {
  double sum = 0;
  *absent = 0;
  for (size_t i = 0; i < count; i++) {
    bool is_nan = isnan(values[i]);
    *absent += is_nan;
    if (!is_nan) sum += values[i];
  }
  return sum;
}

/* A sum goes on from the one before, and is made anew once a window, so that
 * no rounding is carried further. */
static void roll_sums(const window *w, double divisor) {
  double sum = 0;
  size_t absent = 0;
  for (size_t i = 0; i < w->count; i++) {
    if (i + 1 < w->size) {
      w->out[w->rows[i]] = NAN;
      continue;
    }
    const double *first = w->values + (i + 1 - w->size);
    if ((i + 1) % w->size == 0) {
      sum = sum_of(first, w->size, &absent);
    } else {
      size_t gone, come;
      sum -= sum_of(first - 1, 1, &gone);
      sum += sum_of(w->values + i, 1, &come);
      absent += come - gone;
    }
    w->out[w->rows[i]] = absent == 0 ? sum / divisor : NAN;
  }
}

/* sign 1: the least, -1: the largest. */
static void roll_least(const window *w, double sign) {
  size_t first = 0, last = 0, absent_until = 0;
  for (size_t i = 0; i < w->count; i++) {
    double value = sign * w->values[i];
    if (isnan(value)) {
      absent_until = i + w->size;
      first = last = 0;
    } else {
      while (last > first && sign * w->values[w->places[last - 1]] >= value)
        last--;
      w->places[last++] = i;
    }
    if (last > first && w->places[first] + w->size <= i) first++;
    bool whole = i + 1 >= w->size && i >= absent_until && last > first;
    w->out[w->rows[i]] = whole ? w->values[w->places[first]] : NAN;
  }
}

static bool roll_medians(const window *w, llmprof_error *err) {
  double *medians = llmprof_alloc(w->count, sizeof *medians);
  bool ok = medians || llmprof_fail_nomem(err);
  ok = ok && llmprof_roll_median(w->values, w->count, w->size, medians, err);
  for (size_t i = 0; ok && i < w->count; i++) w->out[w->rows[i]] = medians[i];
  llmprof_free(medians);
  return ok;
}

static bool roll(window *w, llmprof_statistic statistic, llmprof_error *err) {
  for (size_t i = 0; i < w->count; i++)
    w->values[i] = llmprof_real_at(w->from, w->rows[i]);
  if (statistic == LLMPROF_MEDIAN) return roll_medians(w, err);
  if (statistic == LLMPROF_MIN || statistic == LLMPROF_MAX)
    roll_least(w, statistic == LLMPROF_MIN ? 1 : -1);
  else
    roll_sums(w, statistic == LLMPROF_MEAN ? (double)w->size : 1);
  return true;
}

static bool window_init(window *w, size_t rows, llmprof_error *err) {
  w->values = llmprof_alloc(rows, sizeof *w->values);
  w->places = llmprof_alloc(rows, sizeof *w->places);
  w->out = llmprof_alloc(rows, sizeof *w->out);
  return (w->values && w->places && w->out) || llmprof_fail_nomem(err);
}

bool llmprof_frame_rolling(llmprof_frame *frame, size_t number, size_t size,
                           llmprof_statistic statistic,
                           const llmprof_groups *groups, const char *name,
                           llmprof_error *err) {
  window w = {.from = llmprof_frame_column(frame, number, err),
              .size = size ? size : 1};
  listing l = {0};
  size_t rows = llmprof_frame_rows(frame);
  bool ok = w.from && list_groups(&l, groups, rows, err) &&
            window_init(&w, rows, err);
  for (size_t g = 0; ok && g < groups->count; g++) {
    if (llmprof_interrupted_at(g)) ok = llmprof_fail_interrupted(err);
    w.rows = l.rows + l.start[g];
    w.count = l.start[g + 1] - l.start[g];
    ok = ok && roll(&w, statistic, err);
  }
  listing_free(&l);
  llmprof_free(w.values);
  llmprof_free(w.places);
  if (ok)
    return llmprof_frame_give(frame, name, w.from->unit, LLMPROF_F64, w.out,
                              err);
  llmprof_free(w.out);
  return false;
}

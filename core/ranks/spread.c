#include "ranks/spread.h"

#include <math.h>

#include "base/interrupt.h"
#include "frame/group_by.h"
#include "frame/sort.h"
#include "llmprof/alloc.h"
#include "ranks/timeline.h"

__extension__ typedef __int128 wide;

/* Rows that count, ordered by group and value. */
typedef struct weighted {
  size_t count;
  uint32_t *rows;
  int64_t *values, *weights, *groups; /* by row of the frame */
} weighted;

static void weighted_free(weighted *w) {
  llmprof_free(w->rows);
  llmprof_free(w->values);
  llmprof_free(w->weights);
  llmprof_free(w->groups);
}

static bool weighted_make(weighted *w, llmprof_frame *frame,
                          const llmprof_column *const *columns,
                          const llmprof_groups *groups, llmprof_error *err) {
  size_t rows = llmprof_frame_rows(frame);
  *w = (weighted){.rows = llmprof_alloc(rows, sizeof *w->rows),
                  .values = llmprof_alloc(rows, sizeof *w->values),
                  .weights = llmprof_alloc(rows, sizeof *w->weights),
                  .groups = llmprof_alloc(rows, sizeof *w->groups)};
  if (!w->rows || !w->values || !w->weights || !w->groups)
    return llmprof_fail_nomem(err);
  if (!timeline_cells(frame, columns[0], w->values, err) ||
      !timeline_cells(frame, columns[1], w->weights, err))
    return false;
  for (size_t row = 0; row < rows; row++) {
    w->groups[row] = groups->of_row[row];
    if (w->values[row] != LLMPROF_ABSENT && w->weights[row] >= 1)
      w->rows[w->count++] = (uint32_t)row;
  }
  return (llmprof_sort_rows_i64(w->rows, w->count, w->values) &&
          llmprof_sort_rows_i64(w->rows, w->count, w->groups)) ||
         llmprof_fail_nomem(err);
}

/* The value at a place among all, which counts from 0. */
static int64_t value_at(const weighted *w, size_t from, int64_t place) {
  while (place >= w->weights[w->rows[from]])
    place -= w->weights[w->rows[from++]];
  return w->values[w->rows[from]];
}

static double percentile_of(const weighted *w, size_t from, int64_t count,
                            double wanted) {
  double rank = wanted / 100 * (double)(count - 1);
  int64_t below = (int64_t)rank;
  if (below + 1 >= count) return (double)value_at(w, from, count - 1);
  double low = (double)value_at(w, from, below);
  double high = (double)value_at(w, from, below + 1);
  return low + (rank - (double)below) * (high - low);
}

static double stddev_of(const weighted *w, size_t from, size_t to,
                        int64_t count, double mean) {
  if (count < 2) return 0;
  double squares = 0;
  for (size_t i = from; i < to; i++) {
    double off = (double)w->values[w->rows[i]] - mean;
    squares += off * off * (double)w->weights[w->rows[i]];
  }
  return sqrt(squares / (double)(count - 1));
}

static bool fits(wide value) {
  return value >= LLMPROF_ABSENT && value <= INT64_MAX;
}

static bool spread_block(const weighted *w, size_t from, size_t to,
                         const double *wanted, size_t wanted_count,
                         llmprof_spread *spread) {
  wide count = 0, total = 0;
  for (size_t i = from; i < to; i++) {
    uint32_t row = w->rows[i];
    count += w->weights[row];
    total += (wide)w->values[row] * w->weights[row];
  }
  if (!fits(count) || !fits(total)) return false;
  *spread = (llmprof_spread){.count = (int64_t)count, .total = (int64_t)total};
  spread->min = w->values[w->rows[from]];
  spread->max = w->values[w->rows[to - 1]];
  spread->mean = (double)spread->total / (double)spread->count;
  spread->median = percentile_of(w, from, spread->count, 50);
  spread->stddev = stddev_of(w, from, to, spread->count, spread->mean);
  for (size_t i = 0; i < wanted_count; i++)
    spread->percentiles[i] = percentile_of(w, from, spread->count, wanted[i]);
  return true;
}

static bool spread_all(const weighted *w, const double *wanted,
                       size_t wanted_count, llmprof_spread *spreads,
                       llmprof_error *err) {
  for (size_t from = 0, to; from < w->count; from = to) {
    int64_t group = w->groups[w->rows[from]];
    for (to = from; to < w->count && w->groups[w->rows[to]] == group;) to++;
    if (!spread_block(w, from, to, wanted, wanted_count, &spreads[group]))
      return llmprof_fail(err, LLMPROF_RANGE, "a total is too large");
    if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
  }
  return true;
}

bool llmprof_spread_of(llmprof_frame *frame, size_t value, size_t weight,
                       const llmprof_groups *groups, const double *wanted,
                       size_t wanted_count, llmprof_spread *spreads,
                       llmprof_error *err) {
  const llmprof_column *columns[2];
  weighted w = {0};
  for (size_t g = 0; g < groups->count; g++)
    spreads[g] = (llmprof_spread){.count = 0};
  bool ok =
      timeline_columns(frame, (size_t[]){value, weight}, 2, columns, err) &&
      weighted_make(&w, frame, columns, groups, err) &&
      spread_all(&w, wanted, wanted_count, spreads, err);
  weighted_free(&w);
  return ok;
}

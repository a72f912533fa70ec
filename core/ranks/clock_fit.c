/* A line through points with outliers: a slope from the medians of the first
 * and the last third, then least squares over the points near the line, a few
 * times over. */
#include "ranks/clock_fit.h"

#include <math.h>
#include <string.h>

#include "frame/sort.h"
#include "llmprof/alloc.h"
#include "ranks/timeline.h"

enum {
  ROUNDS = 5, /* of least squares; the points kept no longer change by then */
};

/* Points of a line that is looked for, times from the middle one on. */
typedef struct points {
  size_t count;
  int64_t at;
  double *time, *difference;
  int64_t *scratch[2]; /* for medians */
} points;

typedef struct line {
  double offset, slope;
} line;

static double distance(const points *p, line l, size_t i) {
  return p->difference[i] - l.offset - l.slope * p->time[i];
}

/* The median distance from a line, signed or not, of points from..to. */
static double median_distance(const points *p, line l, size_t from, size_t to,
                              bool absolute) {
  size_t count = to - from;
  for (size_t i = 0; i < count; i++) {
    double d = distance(p, l, from + i);
    p->scratch[0][i] = llmprof_real_cell(absolute ? fabs(d) : d);
  }
  llmprof_sort_i64(p->scratch[0], count, p->scratch[1]);
  return llmprof_cell_real(p->scratch[0][count / 2]);
}

static double mean_time(const points *p, size_t from, size_t to) {
  double sum = 0;
  for (size_t i = from; i < to; i++) sum += p->time[i];
  return sum / (double)(to - from);
}

static line first_guess(const points *p) {
  line flat = {0, 0};
  size_t third = p->count / 3;
  if (third) {
    size_t last = p->count - third;
    double run = mean_time(p, last, p->count) - mean_time(p, 0, third);
    double rise = median_distance(p, flat, last, p->count, false) -
                  median_distance(p, flat, 0, third, false);
    if (run > 0) flat.slope = rise / run;
  }
  flat.offset = median_distance(p, flat, 0, p->count, false);
  return flat;
}

/* Least squares over the points within `reach` of a line. */
static line refine(const points *p, line l, double reach, size_t *used) {
  double n = 0, t = 0, d = 0, tt = 0, td = 0;
  for (size_t i = 0; i < p->count; i++) {
    double off = distance(p, l, i);
    if (fabs(off) > reach) continue;
    n++, t += p->time[i], d += off;
    tt += p->time[i] * p->time[i], td += p->time[i] * off;
  }
  *used = (size_t)n;
  double spread = n * tt - t * t;
  double slope = n > 2 && spread > 0 ? (n * td - t * d) / spread : 0;
  if (n > 0) l.offset += (d - slope * t) / n;
  l.slope += slope;
  return l;
}

static void fit_points(const points *p, llmprof_clock_fit *fit) {
  *fit = (llmprof_clock_fit){.count = p->count, .at = p->at};
  if (!p->count) return;
  line l = first_guess(p);
  for (int i = 0; i < ROUNDS; i++) {
    double near = median_distance(p, l, 0, p->count, true);
    l = refine(p, l, 4 * near + 1, &fit->used);
  }
  fit->offset = l.offset;
  fit->drift = l.slope;
  fit->raw = median_distance(p, (line){0, 0}, 0, p->count, true);
  fit->residual = median_distance(p, l, 0, p->count, true);
}

/* ---- the points ---- */

/* The rows of one rank, ordered by key and ordinal. */
typedef struct series {
  size_t count;
  uint32_t *rows;
} series;

static bool series_make(series *s, size_t rows, const int64_t *ranks,
                        int64_t rank, const int64_t *keys,
                        const int64_t *ordinals, llmprof_error *err) {
  *s = (series){.rows = llmprof_alloc(rows, sizeof *s->rows)};
  if (!s->rows) return llmprof_fail_nomem(err);
  for (size_t row = 0; row < rows; row++) {
    if (ranks[row] == rank && keys[row] != LLMPROF_ABSENT &&
        ordinals[row] != LLMPROF_ABSENT)
      s->rows[s->count++] = (uint32_t)row;
  }
  return (llmprof_sort_rows_i64(s->rows, s->count, ordinals) &&
          llmprof_sort_rows_i64(s->rows, s->count, keys)) ||
         llmprof_fail_nomem(err);
}

static bool points_make(points *p, size_t most) {
  p->time = llmprof_alloc(most, sizeof *p->time);
  p->difference = llmprof_alloc(most, sizeof *p->difference);
  p->scratch[0] = llmprof_alloc(most, sizeof **p->scratch);
  p->scratch[1] = llmprof_alloc(most, sizeof **p->scratch);
  return p->time && p->difference && p->scratch[0] && p->scratch[1];
}

static void points_free(points *p) {
  llmprof_free(p->time);
  llmprof_free(p->difference);
  llmprof_free(p->scratch[0]);
  llmprof_free(p->scratch[1]);
}

enum {
  RANK,
  END,
  KEY,
  ORDINAL,
  COLUMNS
};

/* Pairs of rows of both series, as far as they are in both. Times are those of
 * the second, from the first of its pairs on. */
static void pair_up(points *p, const series *a, const series *b,
                    int64_t *const *in, int64_t lag) {
  for (size_t i = 0, j = 0; i < a->count && j < b->count;) {
    uint32_t x = a->rows[i], y = b->rows[j];
    int64_t order = (in[KEY][x] > in[KEY][y]) - (in[KEY][x] < in[KEY][y]);
    int64_t wanted = in[ORDINAL][x] + lag;
    if (!order) order = (wanted > in[ORDINAL][y]) - (wanted < in[ORDINAL][y]);
    if (!order) {
      if (!p->count) p->at = in[END][y];
      p->time[p->count] = (double)llmprof_time_between(p->at, in[END][y]);
      p->difference[p->count++] =
          (double)llmprof_time_between(in[END][x], in[END][y]);
    }
    i += order <= 0;
    j += order >= 0;
  }
}

static int64_t time_of(const void *times, size_t i, int which) {
  (void)which;
  return (int64_t)((const double *)times)[i];
}

/* Pairs come by key: a guess from the first and the last third wants them by
 * time. */
static bool sort_points(points *p) {
  uint32_t *order = llmprof_order_rows(p->count, 1, time_of, p->time);
  double *moved = llmprof_alloc(p->count, sizeof *moved);
  bool ok = order && moved;
  double *const lists[] = {p->difference, p->time};
  for (size_t k = 0; ok && k < 2; k++) {
    for (size_t i = 0; i < p->count; i++) moved[i] = lists[k][order[i]];
    memcpy(lists[k], moved, p->count * sizeof *moved);
  }
  llmprof_free(order);
  llmprof_free(moved);
  return ok;
}

static bool read_columns(llmprof_frame *frame,
                         const llmprof_collective_columns *columns,
                         int64_t **in, llmprof_error *err) {
  const llmprof_column *loaded[COLUMNS];
  size_t rows = llmprof_frame_rows(frame);
  size_t numbers[COLUMNS] = {columns->rank, columns->end, columns->key,
                             columns->ordinal};
  if (!timeline_columns(frame, numbers, COLUMNS, loaded, err)) return false;
  for (int c = 0; c < COLUMNS; c++) {
    in[c] = llmprof_alloc(rows, sizeof **in);
    if (!in[c]) return llmprof_fail_nomem(err);
    if (!timeline_cells(frame, loaded[c], in[c], err)) return false;
  }
  return true;
}

bool llmprof_clock_fit_ranks(llmprof_frame *rows,
                             const llmprof_collective_columns *columns,
                             int64_t first, int64_t second, int64_t lag,
                             llmprof_clock_fit *fit, llmprof_error *err) {
  int64_t *in[COLUMNS] = {0};
  points p = {0};
  series a = {0}, b = {0};
  size_t count = llmprof_frame_rows(rows);
  bool ok =
      read_columns(rows, columns, in, err) &&
      series_make(&a, count, in[RANK], first, in[KEY], in[ORDINAL], err) &&
      series_make(&b, count, in[RANK], second, in[KEY], in[ORDINAL], err) &&
      (points_make(&p, a.count < b.count ? a.count : b.count) ||
       llmprof_fail_nomem(err));
  if (ok) pair_up(&p, &a, &b, in, lag);
  ok = ok && (sort_points(&p) || llmprof_fail_nomem(err));
  if (ok) fit_points(&p, fit);
  for (int c = 0; c < COLUMNS; c++) llmprof_free(in[c]);
  llmprof_free(a.rows);
  llmprof_free(b.rows);
  points_free(&p);
  return ok;
}

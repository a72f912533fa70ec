/* Rows selected, joined and summed up in bulk, beside the plainest loop that
 * says the same. */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "frame/cells.h"
#include "frame/group_by.h"
#include "frame/select.h"
#include "frame/sort.h"
#include "frame/statistics.h"
#include "frame/within.h"
#include "support.h"

enum {
  ROWS = 5000
};

/* Columns of every kind, and what a condition of them may compare with. */
enum {
  ASCENDING,
  DESCENDING,
  HOLES,
  SHORTS,
  PICKED,
  REALS,
  RUNS, /* ascending runs */
  OTHER_RUNS,
  COLUMNS
};

static int64_t ascending[ROWS], descending[ROWS], holes[ROWS];
static int64_t runs[ROWS], other_runs[ROWS];
static uint32_t shorts[ROWS], picks[ROWS];
static double reals[ROWS];

static uint32_t dice(void) {
  static uint32_t next = 1;
  next = next * 1664525 + 1013904223;
  return next >> 8;
}

__attribute__((constructor)) static void fill_columns(void) {
  for (uint32_t i = 0; i < ROWS; i++) {
    ascending[i] = (int64_t)(i / 3) * 10 - 4000;
    descending[i] = -ascending[i];
    holes[i] = dice() % 7 ? (int64_t)(dice() % 50) - 25 : INT64_MIN;
    shorts[i] = dice() % 9 ? dice() % 300 : UINT32_MAX;
    picks[i] = dice() % 11 ? dice() % ROWS : UINT32_MAX;
    runs[i] = (int64_t)(i % (ROWS / 3 + 1)) / 2;
    other_runs[i] = (int64_t)(i % (ROWS / 14 + 1)) * 2;
    reals[i] = dice() % 5 ? (double)(dice() % 100) / 4 - 10 : NAN;
  }
}

static llmprof_frame *make(void) {
  const test_column columns[COLUMNS] = {
      {"ascending", "ns", LLMPROF_I64, ascending, NULL, NULL, NULL},
      {"descending", "ns", LLMPROF_I64, descending, NULL, NULL, NULL},
      {"holes", NULL, LLMPROF_I64, holes, NULL, NULL, NULL},
      {"shorts", NULL, LLMPROF_U32, shorts, NULL, NULL, NULL},
      {"picked", NULL, LLMPROF_I64, holes, picks, NULL, NULL},
      {"reals", NULL, LLMPROF_F64, reals, NULL, NULL, NULL},
      {"runs", NULL, LLMPROF_I64, runs, NULL, NULL, NULL},
      {"other_runs", NULL, LLMPROF_I64, other_runs, NULL, NULL, NULL},
  };
  return test_frame(ROWS, NULL, columns, COLUMNS);
}

/* ---- what a condition means ---- */

static bool any_of(const llmprof_condition *c, int64_t cell) {
  for (size_t i = 0; i < c->count; i++) {
    if (c->values[i] == cell) return true;
  }
  return false;
}

static bool means(const llmprof_condition *c, int64_t cell) {
  int64_t to = c->count ? c->values[0] : INT64_MIN;
  bool present = cell != INT64_MIN;
  switch (c->compare) {
  case LLMPROF_EQ:
    return any_of(c, cell);
  case LLMPROF_NE:
    return !any_of(c, cell) && (present || !c->count);
  case LLMPROF_LT:
    return present && cell < to;
  case LLMPROF_LE:
    return present && cell <= to;
  case LLMPROF_GT:
    return present && cell > to;
  default:
    return present && cell >= to;
  }
}

static bool all_mean(llmprof_frame *frame, const llmprof_condition *c,
                     size_t count, size_t row) {
  for (size_t i = 0; i < count; i++) {
    const llmprof_column *column =
        llmprof_frame_column(frame, c[i].column, NULL);
    if (!means(&c[i], llmprof_cell(column, row))) return false;
  }
  return true;
}

static void check_where(llmprof_frame *frame, const llmprof_condition *c,
                        size_t count) {
  llmprof_error err = {0};
  llmprof_frame *view = llmprof_frame_where(frame, c, count, &err);
  assert_non_null(view);
  size_t at = 0;
  for (size_t row = 0; row < llmprof_frame_rows(frame); row++) {
    if (!all_mean(frame, c, count, row)) continue;
    assert_true(at < llmprof_frame_rows(view));
    for (size_t n = 0; n < COLUMNS; n++)
      assert_true(llmprof_cell(llmprof_frame_column(view, n, &err), at) ==
                  llmprof_cell(llmprof_frame_column(frame, n, &err), row));
    at++;
  }
  assert_int_equal(at, llmprof_frame_rows(view));
  llmprof_frame_free(view);
}

/* A value that the column may hold, is next to one, or that nothing holds. */
static int64_t operand(size_t column) {
  static const int64_t ends[] = {INT64_MIN, INT64_MIN + 1, INT64_MAX, 0};
  if (dice() % 8 == 0) return ends[dice() % 4];
  switch (column) {
  case ASCENDING:
    return ascending[dice() % ROWS] + (int64_t)(dice() % 3) - 1;
  case DESCENDING:
    return descending[dice() % ROWS];
  case SHORTS:
    return dice() % 310;
  case RUNS:
    return runs[dice() % ROWS] + (int64_t)(dice() % 3) - 1;
  case OTHER_RUNS:
    return other_runs[dice() % ROWS] + (int64_t)(dice() % 3) - 1;
  case REALS:
    return llmprof_real_cell((double)(dice() % 100) / 4 - 10);
  default:
    return (int64_t)(dice() % 60) - 30;
  }
}

static void throw_condition(llmprof_condition *c, int64_t *values) {
  c->column = dice() % COLUMNS;
  c->compare = (llmprof_compare)(dice() % 6);
  c->count = c->compare > LLMPROF_NE ? 1 : dice() % 4;
  c->values = values;
  for (size_t i = 0; i < c->count; i++) values[i] = operand(c->column);
}

TEST(where_by_dice) {
  llmprof_frame *frame = make();
  assert_non_null(frame);
  for (int i = 0; i < 300; i++) {
    llmprof_condition conditions[3];
    int64_t values[3][4];
    size_t count = 1 + dice() % 3;
    for (size_t c = 0; c < count; c++)
      throw_condition(&conditions[c], values[c]);
    check_where(frame, conditions, count);
  }
  check_where(frame, NULL, 0);
  llmprof_frame_free(frame);
}

/* Every comparison with what no cell of a column can be told from: its ends,
 * those of integers, and absence. */
TEST(where_at_ends) {
  llmprof_frame *frame = make();
  for (size_t column = 0; column < COLUMNS; column++) {
    llmprof_cell_span span;
    assert_true(llmprof_frame_span(frame, column, &span, NULL));
    const int64_t ends[] = {
        INT64_MIN,    INT64_MIN + 1, INT64_MAX,     span.low - 1, span.low,
        span.low + 1, span.high - 1, span.high + 1, span.high,
    };
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
      for (llmprof_compare c = LLMPROF_EQ; c <= LLMPROF_GE; c++)
        check_where(frame, &(llmprof_condition){column, c, &ends[i], 1}, 1);
      for (llmprof_compare c = LLMPROF_EQ; c <= LLMPROF_NE; c++)
        check_where(frame, &(llmprof_condition){column, c, ends, i}, 1);
    }
  }
  llmprof_frame_free(frame);
}

/* Views of consecutive rows, also of views that are none. */
TEST(slices) {
  llmprof_error err = {0};
  llmprof_frame *frame = make();
  const int64_t from = 0, odd = 1;
  const llmprof_condition late = {ASCENDING, LLMPROF_GE, &from, 1};
  const llmprof_condition some = {HOLES, LLMPROF_NE, &odd, 1};
  llmprof_frame *slice = llmprof_frame_where(frame, &late, 1, &err);
  llmprof_frame *picked = llmprof_frame_where(slice, &some, 1, &err);
  llmprof_frame *again = llmprof_frame_slice(picked, 5, 100, &err);
  for (size_t c = 0; c < COLUMNS; c++) {
    for (size_t row = 0; row < 100; row++)
      assert_true(llmprof_cell(llmprof_frame_column(again, c, &err), row) ==
                  llmprof_cell(llmprof_frame_column(picked, c, &err), row + 5));
  }
  check_where(slice, &some, 1);
  check_where(again, &some, 1);
  llmprof_frame_free(again);
  llmprof_frame_free(picked);
  llmprof_frame_free(slice);
  llmprof_frame_free(frame);
}

TEST(order_is_known) {
  llmprof_frame *frame = make();
  assert_true(llmprof_frame_ascends(frame, ASCENDING));
  assert_true(llmprof_frame_ascends(frame, ASCENDING));
  assert_false(llmprof_frame_ascends(frame, DESCENDING));
  assert_false(llmprof_frame_ascends(frame, HOLES));
  const uint32_t *first;
  assert_int_equal(llmprof_frame_runs(frame, ASCENDING, &first), 1);
  assert_int_equal(llmprof_frame_runs(frame, DESCENDING, &first), 0);
  assert_int_equal(llmprof_frame_runs(frame, RUNS, &first), 3);
  for (uint32_t i = 0; i < 3; i++)
    assert_int_equal(first[i], i * (ROWS / 3 + 1));
  assert_int_equal(llmprof_frame_runs(frame, OTHER_RUNS, &first), 14);
  llmprof_frame_free(frame);
  const int64_t with_hole[] = {1, 2, INT64_MIN, 3};
  const test_column column = {"x",  NULL, LLMPROF_I64, with_hole,
                              NULL, NULL, NULL};
  frame = test_frame(4, NULL, &column, 1);
  assert_false(llmprof_frame_ascends(frame, 0));
  llmprof_frame_free(frame);
}

/* ---- intervals ---- */

enum {
  EVENTS = 400,
  INTERVALS = 40
};

static int64_t starts[EVENTS], ends[EVENTS];
static uint32_t threads[EVENTS];

static llmprof_frame *make_events(bool in_order) {
  int64_t at = 0;
  for (size_t i = 0; i < EVENTS; i++) {
    at = in_order ? at + dice() % 20 : (int64_t)(dice() % 4000);
    starts[i] = dice() % 40 || in_order ? at : INT64_MIN;
    ends[i] = dice() % 30 ? at + dice() % 100 : INT64_MIN;
    threads[i] = dice() % 3;
  }
  const test_column columns[] = {
      {"start", "ns", LLMPROF_I64, starts, NULL, NULL, NULL},
      {"end", "ns", LLMPROF_I64, ends, NULL, NULL, NULL},
      {"tid", NULL, LLMPROF_U32, threads, NULL, NULL, NULL},
  };
  return test_frame(EVENTS, NULL, columns, 3);
}

static bool lies_within(const llmprof_keyed_interval *s, size_t row,
                        bool keyed) {
  return starts[row] != INT64_MIN && ends[row] != INT64_MIN &&
         starts[row] >= s->start && starts[row] <= s->end &&
         ends[row] <= s->end && (!keyed || threads[row] == s->key);
}

static void check_within(bool in_order, bool keyed) {
  llmprof_error err = {0};
  llmprof_frame *frame = make_events(in_order);
  llmprof_keyed_interval intervals[INTERVALS] = {{INT64_MIN, INT64_MAX, 1}};
  size_t expected = 0, sums = 0;
  for (size_t i = 1; i < INTERVALS; i++) {
    int64_t from = dice() % 4000;
    intervals[i] =
        (llmprof_keyed_interval){from, from + dice() % 900 - 50, dice() % 3};
  }
  for (size_t i = 0; i < INTERVALS; i++) {
    for (size_t row = 0; row < EVENTS; row++) {
      if (!lies_within(&intervals[i], row, keyed)) continue;
      expected++;
      sums += (size_t)starts[row] * (i + 1);
    }
  }
  llmprof_frame *view = llmprof_frame_within(frame, 0, 1, keyed ? 2 : SIZE_MAX,
                                             intervals, INTERVALS, &err);
  assert_non_null(view);
  assert_int_equal(llmprof_frame_rows(view), expected);
  const llmprof_column *start = llmprof_frame_column(view, 0, &err);
  size_t at = 0;
  for (size_t i = 0; i < INTERVALS; i++) { /* by interval, by start */
    int64_t before = INT64_MIN;
    size_t here = 0;
    for (size_t row = 0; row < EVENTS; row++)
      here += lies_within(&intervals[i], row, keyed);
    for (; here; here--, at++) {
      int64_t value = llmprof_cell(start, at);
      assert_true(value >= before);
      before = value;
      sums -= (size_t)value * (i + 1);
    }
  }
  assert_int_equal(sums, 0);
  llmprof_frame_free(view);
  llmprof_frame_free(frame);
}

TEST(within) {
  for (int i = 0; i < 20; i++) check_within(i & 1, i & 2);
  llmprof_error err = {0};
  llmprof_frame *frame = make_events(true);
  llmprof_frame *none =
      llmprof_frame_within(frame, 0, 1, SIZE_MAX, NULL, 0, &err);
  assert_int_equal(llmprof_frame_rows(none), 0);
  llmprof_frame_free(none);
  llmprof_frame_free(frame);
}

static bool join_and_select(void *arg, llmprof_error *err) {
  llmprof_frame *frame = make_events(false);
  if (!frame) return llmprof_fail_nomem(err);
  const llmprof_keyed_interval s[] = {{0, 2000, 0}, {500, 4000, 0}};
  const int64_t far[] = {5, 10, 100};
  const llmprof_condition c[] = {{0, LLMPROF_EQ, far, 3},
                                 {2, LLMPROF_NE, far, 1}};
  llmprof_frame *view = llmprof_frame_within(frame, 0, 1, SIZE_MAX, s, 2, err);
  llmprof_frame *some = view ? llmprof_frame_where(view, c, 2, err) : NULL;
  bool ok = some != NULL;
  llmprof_frame_free(some);
  llmprof_frame_free(view);
  llmprof_frame_free(frame);
  return ok;
}

TEST(allocations) {
  test_every_allocation(join_and_select, NULL);
}

/* ---- select ---- */

static void check_select(const uint32_t *values, size_t count, size_t k,
                         uint32_t low, uint32_t high) {
  uint32_t *sorted = llmprof_memdup(values, count * sizeof *values);
  uint32_t *moved = llmprof_memdup(values, count * sizeof *values);
  uint32_t *scratch = llmprof_alloc(count, sizeof *scratch);
  uint32_t two[2];
  llmprof_sort_u32(sorted, count, scratch);
  for (size_t i = 1; i < count; i++) assert_true(sorted[i - 1] <= sorted[i]);
  llmprof_select_u32(moved, count, k, low, high, two);
  assert_int_equal(two[0], sorted[k]);
  assert_int_equal(two[1], sorted[k + 1 < count ? k + 1 : k]);
  llmprof_free(sorted);
  llmprof_free(moved);
  llmprof_free(scratch);
}

/* Shapes that durations have: few values, close ones, two heaps, anything. */
static uint32_t shaped(int shape, uint32_t i) {
  switch (shape) {
  case 0:
    return dice() % 3;
  case 1:
    return 1000 + dice() % 5000;
  case 2:
    return i % 2 ? dice() % 100 : UINT32_MAX - dice() % 100;
  case 3:
    return i;
  default:
    return dice() << 8 | dice() % 256;
  }
}

TEST(select) {
  static uint32_t values[9000];
  static const size_t sizes[] = {1, 2, 3, 31, 33, 200, 4095, 9000};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    for (int shape = 0; shape < 5; shape++) {
      size_t count = sizes[s];
      uint32_t low = UINT32_MAX, high = 0;
      for (uint32_t i = 0; i < count; i++) {
        values[i] = shaped(shape, i);
        if (values[i] < low) low = values[i];
        if (values[i] > high) high = values[i];
      }
      check_select(values, count, (count - 1) / 2, low, high);
      check_select(values, count, 0, 0, UINT32_MAX);
      check_select(values, count, count - 1, low, high);
      for (int i = 0; i < 5; i++)
        check_select(values, count, dice() % count, low, high);
    }
  }
}

/* ---- statistics ---- */

/* By the definition, in long doubles. */
static void check_summary(const int64_t *values, size_t count) {
  const test_column column = {"v", "ns", LLMPROF_I64, values, NULL, NULL, NULL};
  llmprof_error err = {0};
  llmprof_frame *frame = test_frame(count, NULL, &column, 1);
  llmprof_groups groups;
  llmprof_summary plain, with;
  const double wanted[] = {25};
  assert_true(llmprof_groups_make(&groups, frame, NULL, 0, &err));
  assert_true(test_summarize(frame, 0, &groups, NULL, 0, &plain, &err));
  assert_true(test_summarize(frame, 0, &groups, wanted, 1, &with, &err));
  long double mean = 0, squares = 0;
  for (size_t i = 0; i < count; i++) mean += values[i];
  mean /= (long double)count;
  for (size_t i = 0; i < count; i++)
    squares += (values[i] - mean) * (values[i] - mean);
  double stddev =
      count < 2 ? 0 : (double)sqrtl(squares / (long double)(count - 1));
  assert_true(fabs(plain.stddev - stddev) <= 1e-12 * (1 + stddev));
  assert_true(fabs(plain.mean - (double)mean) <= 1e-15 * fabs((double)mean));
  assert_true(plain.median == with.median && plain.total == with.total &&
              plain.min == with.min && plain.max == with.max);
  llmprof_groups_free(&groups);
  llmprof_frame_free(frame);
}

TEST(exact_summaries) {
  static int64_t values[70000];
  static const int64_t bases[] = {0, -5000000000, 4000000000000000};
  static const uint32_t widths[] = {10, 1 << 20, UINT32_MAX - 1};
  for (int b = 0; b < 3; b++) {
    for (int w = 0; w < 3; w++) {
      for (size_t i = 0; i < 70000; i++)
        values[i] = bases[b] / 1000 + (dice() << 8 | dice() % 256) % widths[w];
      check_summary(values, 70000);
      check_summary(values, 2);
      check_summary(values, 1);
    }
  }
}

/* Formulas over columns, and sums that are weighted. */
#include "frame/compute.h"

#include <math.h>

#include "base/interrupt.h"
#include "frame/cells.h"
#include "llmprof/alloc.h"
#include "support.h"

enum {
  ROWS = 600, /* more than a block */
  A = 0,      /* columns */
  B,
  WHOLE
};

/* A: the row, absent in every third; B: 0 in every other, else 2; WHOLE: 10
 * times the row. */
static bool fill(llmprof_frame *frame, llmprof_error *err) {
  double *a = llmprof_alloc(ROWS, sizeof *a);
  double *b = llmprof_alloc(ROWS, sizeof *b);
  int64_t *whole = llmprof_alloc(ROWS, sizeof *whole);
  for (int i = 0; a && b && whole && i < ROWS; i++) {
    a[i] = i % 3 ? (double)i : NAN;
    b[i] = i % 2 ? 2 : 0;
    whole[i] = 10 * (int64_t)i;
  }
  bool ok = llmprof_frame_give(frame, "a", NULL, LLMPROF_F64, a, err);
  if (!llmprof_frame_give(frame, "b", NULL, LLMPROF_F64, b, err)) ok = false;
  return llmprof_frame_give(frame, "whole", "ns", LLMPROF_I64, whole, err) &&
         ok;
}

static llmprof_frame *make(llmprof_strings **pool, llmprof_error *err) {
  *pool = llmprof_strings_new();
  llmprof_frame *frame = *pool ? llmprof_frame_new(ROWS, *pool) : NULL;
  if (!frame) return llmprof_fail_nomem(err), NULL;
  if (fill(frame, err)) return frame;
  llmprof_frame_free(frame);
  return NULL;
}

static int setup(void **state) {
  static llmprof_strings *pool;
  llmprof_frame *frame = make(&pool, NULL);
  void **both = llmprof_alloc(2, sizeof *both);
  both[0] = frame;
  both[1] = pool;
  *state = both;
  return frame ? 0 : -1;
}

static int teardown(void **state) {
  void **both = *state;
  llmprof_frame_free(both[0]);
  llmprof_strings_free(both[1]);
  llmprof_free(both);
  return 0;
}

static llmprof_frame *frame_of(void **state) {
  return ((void **)*state)[0];
}

static llmprof_step column(size_t number) {
  return (llmprof_step){LLMPROF_STEP_COLUMN, 0, number};
}

static llmprof_step number(double value) {
  return (llmprof_step){LLMPROF_STEP_NUMBER, value, 0};
}

static llmprof_step step(llmprof_step_kind kind) {
  return (llmprof_step){kind, 0, 0};
}

/* What `x kind y` is in a row. */
static double value(llmprof_frame *frame, llmprof_step x, llmprof_step y,
                    llmprof_step_kind kind, size_t row) {
  llmprof_step steps[] = {x, y, step(kind)};
  assert_true(
      llmprof_frame_compute(frame, "made", NULL, LLMPROF_F64, steps, 3, NULL));
  const llmprof_column *made =
      llmprof_frame_column(frame, llmprof_frame_columns(frame) - 1, NULL);
  return llmprof_real_at(made, row);
}

#define IS(expected, x, y, kind, row) \
  assert_float_equal(value(f, x, y, kind, row), expected, 0)
#define ABSENT(x, y, kind, row) assert_true(isnan(value(f, x, y, kind, row)))

TEST_WITH(arithmetic, setup, teardown) {
  llmprof_frame *f = frame_of(state);
  IS(599.0 * 2, column(A), column(B), LLMPROF_STEP_TIMES, 599);
  IS(3, column(A), column(B), LLMPROF_STEP_PLUS, 1);
  IS(2.5, column(A), column(B), LLMPROF_STEP_OVER, 5);
  IS(5980, column(WHOLE), number(1), LLMPROF_STEP_TIMES, 598);
  ABSENT(column(A), column(B), LLMPROF_STEP_OVER, 4); /* by 0 */
  ABSENT(column(A), column(B), LLMPROF_STEP_TIMES, 3);
  ABSENT(number(1e300), number(1e300), LLMPROF_STEP_TIMES, 0);
}

TEST_WITH(choices, setup, teardown) {
  llmprof_frame *f = frame_of(state);
  IS(2, column(A), column(B), LLMPROF_STEP_LEAST, 5);
  IS(5, column(A), column(B), LLMPROF_STEP_MOST, 5);
  IS(2, column(A), column(B), LLMPROF_STEP_LEAST, 3);
  IS(2, column(B), column(A), LLMPROF_STEP_MOST, 3);
  IS(2, column(B), column(A), LLMPROF_STEP_TOGETHER, 3);
  IS(7, column(A), column(B), LLMPROF_STEP_TOGETHER, 5);
  IS(5, column(A), column(B), LLMPROF_STEP_OR, 5);
  IS(2, column(A), column(B), LLMPROF_STEP_OR, 3);
  IS(2, column(B), column(A), LLMPROF_STEP_WHERE, 5);
  ABSENT(column(B), column(A), LLMPROF_STEP_WHERE, 3);
  IS(2, column(B), column(A), LLMPROF_STEP_UNLESS, 3);
  ABSENT(column(B), column(A), LLMPROF_STEP_UNLESS, 5);
  ABSENT(column(A), number(5), LLMPROF_STEP_ABOVE, 5);
  IS(7, column(A), number(5), LLMPROF_STEP_ABOVE, 7);
}

TEST_WITH(integers_are_the_nearest, setup, teardown) {
  llmprof_frame *frame = frame_of(state);
  llmprof_step steps[] = {column(A), number(0.5), step(LLMPROF_STEP_TIMES)};
  assert_true(
      llmprof_frame_compute(frame, "half", "ns", LLMPROF_I64, steps, 3, NULL));
  const llmprof_column *made =
      llmprof_frame_column(frame, llmprof_frame_find(frame, "half"), NULL);
  assert_string_equal(made->unit, "ns");
  assert_int_equal(llmprof_cell(made, 1), 1); /* of a half */
  assert_int_equal(llmprof_cell(made, 2), 1);
  assert_int_equal(llmprof_cell(made, 3), LLMPROF_ABSENT);
  llmprof_step huge[] = {number(1e19)};
  assert_true(
      llmprof_frame_compute(frame, "huge", NULL, LLMPROF_I64, huge, 1, NULL));
  made = llmprof_frame_column(frame, llmprof_frame_find(frame, "huge"), NULL);
  assert_int_equal(llmprof_cell(made, 0), LLMPROF_ABSENT);
}

static void assert_refused(llmprof_frame *frame, const llmprof_step *steps,
                           size_t count) {
  llmprof_error err;
  size_t columns = llmprof_frame_columns(frame);
  assert_false(llmprof_frame_compute(frame, "no", NULL, LLMPROF_F64, steps,
                                     count, &err));
  assert_int_equal(err.code, LLMPROF_UNSUPPORTED);
  assert_int_equal(llmprof_frame_columns(frame), columns);
}

TEST_WITH(formulas_that_are_none, setup, teardown) {
  llmprof_step deep[LLMPROF_STEPS_DEEP + 1];
  for (size_t i = 0; i <= LLMPROF_STEPS_DEEP; i++) deep[i] = number(1);
  assert_refused(frame_of(state), deep, LLMPROF_STEPS_DEEP + 1);
  assert_refused(frame_of(state), deep, 2);
  assert_refused(frame_of(state), deep, 0);
  deep[1] = step(LLMPROF_STEP_PLUS);
  assert_refused(frame_of(state), deep, 2);
}

TEST_WITH(weighed, setup, teardown) {
  static const size_t columns[] = {A, B, WHOLE};
  llmprof_weighed w[3];
  assert_true(
      llmprof_frame_weigh(frame_of(state), columns, 3, SIZE_MAX, w, NULL));
  assert_float_equal(w[A].weight, 400, 0);
  assert_float_equal(w[A].sum, 599 * 300 - 3 * 199 * 100, 0);
  assert_float_equal(w[WHOLE].sum, 10 * 599 * 300, 0);
  assert_true(llmprof_frame_weigh(frame_of(state), columns, 3, A, w, NULL));
  assert_float_equal(w[B].weight, w[A].weight + 200, 0); /* absent: 1 */
}

/* 2^53 + 1 is no double, but twice it is. */
TEST(sums_of_integers_are_exact) {
  double values[] = {9007199254740992, 1, 1};
  static const size_t first[] = {0};
  llmprof_strings *pool = llmprof_strings_new();
  llmprof_frame *frame = llmprof_frame_new(3, pool);
  test_column made = {.name = "x", .type = LLMPROF_F64, .data = values};
  llmprof_weighed w;
  assert_true(test_add(frame, &made));
  assert_true(llmprof_frame_weigh(frame, first, 1, SIZE_MAX, &w, NULL));
  assert_true(w.sum > 9007199254740992.0);
  values[2] = 0.5; /* now each step is rounded */
  assert_true(llmprof_frame_weigh(frame, first, 1, SIZE_MAX, &w, NULL));
  assert_float_equal(w.sum, 9007199254740992, 0);
  llmprof_frame_free(frame);
  llmprof_strings_free(pool);
}

/* Many integers, against sums of one after the other: of which some are absent,
 * or so large that a double rounds them, or that they sum up to no integer. */
static void assert_sum(llmprof_frame *frame, const int64_t *cells,
                       size_t count) {
  static const size_t first[] = {0};
  llmprof_weighed w;
  long double sum = 0;
  size_t there = 0;
  for (size_t i = 0; i < count; i++) {
    if (cells[i] == LLMPROF_ABSENT) continue;
    sum += (long double)cells[i]; /* which is exact here */
    there++;
  }
  assert_true(llmprof_frame_weigh(frame, first, 1, SIZE_MAX, &w, NULL));
  assert_float_equal(w.weight, (double)there, 0);
  assert_float_equal(w.sum, (double)sum, 0);
}

TEST(sums_of_many_integers) {
  enum {
    MANY = 3000
  };
  static int64_t cells[MANY];
  const int64_t steps[] = {1, -1, INT64_C(1) << 40, INT64_C(1) << 51};
  llmprof_strings *pool = llmprof_strings_new();
  const test_column column = {.name = "x", .type = LLMPROF_I64, .data = cells};
  for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) {
    for (size_t i = 0; i < MANY; i++) cells[i] = steps[s] * (int64_t)(i % 8);
    llmprof_frame *frame = test_frame(MANY, pool, &column, 1);
    assert_sum(frame, cells, MANY);
    cells[1500] = LLMPROF_ABSENT;
    assert_sum(frame, cells, MANY);
    cells[2900] = INT64_C(1) << 62;
    assert_sum(frame, cells, MANY);
    llmprof_frame_free(frame);
  }
  llmprof_strings_free(pool);
}

TEST_WITH(interrupt, setup, teardown) {
  llmprof_error err;
  llmprof_weighed w;
  static const size_t first[] = {A};
  llmprof_step one = number(1);
  llmprof_interrupt(true);
  bool computed = llmprof_frame_compute(frame_of(state), "x", NULL, LLMPROF_F64,
                                        &one, 1, &err);
  bool weighed =
      llmprof_frame_weigh(frame_of(state), first, 1, SIZE_MAX, &w, &err);
  llmprof_interrupt(false);
  assert_false(computed || weighed);
  assert_int_equal(err.code, LLMPROF_INTERRUPTED);
}

static bool compute_something(void *arg, llmprof_error *err) {
  static const size_t first[] = {A};
  llmprof_step steps[] = {column(A), column(B), step(LLMPROF_STEP_PLUS)};
  llmprof_weighed w;
  llmprof_strings *pool;
  llmprof_frame *frame = make(&pool, err);
  bool ok =
      frame &&
      llmprof_frame_compute(frame, "sum", NULL, LLMPROF_F64, steps, 3, err) &&
      llmprof_frame_weigh(frame, first, 1, B, &w, err);
  llmprof_frame_free(frame);
  llmprof_strings_free(pool);
  return ok;
}

TEST(allocations) {
  test_every_allocation(compute_something, NULL);
}

/* Rows beside their neighbours: gaps, overlap, shifted and rolling cells,
 * shares, differences, and rows of another frame. */
#include <math.h>
#include <string.h>

#include "base/interrupt.h"
#include "frame/group_by.h"
#include "frame/relate.h"
#include "support.h"

enum {
  ROWS = 7
};

/* Columns of the frame, by number. */
enum {
  START,
  END,
  STREAM,
  NAME,
  RATE
};

#define NONE INT64_MIN

/* Stream 1: 0-10, 20-30, 30-35; stream 2: 5-25, 50-60; one without an end, one
 * without time. */
static const int64_t starts[ROWS] = {20, 0, 5, 30, 50, 7, 8};
static const int64_t ends[ROWS] = {30, 10, 25, 35, 60, NONE, 8};
static const uint32_t streams[ROWS] = {1, 1, 2, 1, 2, 3, 3};
static const double rates[ROWS] = {1, 2, NAN, 4, 8, 16, 32};
static const char *const names[ROWS] = {"a", "b", "a", "c", NULL, "d", "b"};

typedef struct little {
  llmprof_strings *pool;
  llmprof_frame *frame;
  llmprof_groups streams, all;
  uint32_t ids[ROWS];
} little;

static bool little_make(little *l, llmprof_error *err) {
  const size_t key = STREAM;
  l->pool = llmprof_strings_new();
  if (!l->pool) return llmprof_fail_nomem(err);
  for (size_t i = 0; i < ROWS; i++) {
    l->ids[i] = LLMPROF_NO_STRING;
    if (names[i] &&
        !llmprof_strings_add(l->pool, names[i], strlen(names[i]), &l->ids[i]))
      return llmprof_fail_nomem(err);
  }
  const test_column columns[] = {
      {.name = "start", .unit = "ns", .type = LLMPROF_I64, .data = starts},
      {.name = "end", .unit = "ns", .type = LLMPROF_I64, .data = ends},
      {.name = "stream", .type = LLMPROF_U32, .data = streams},
      {.name = "name", .type = LLMPROF_STRING_ID, .data = l->ids},
      {.name = "rate", .type = LLMPROF_F64, .data = rates},
  };
  l->frame = test_frame(ROWS, l->pool, columns, 5);
  if (!l->frame) return llmprof_fail_nomem(err);
  return llmprof_groups_make(&l->streams, l->frame, &key, 1, err) &&
         llmprof_groups_make(&l->all, l->frame, NULL, 0, err);
}

static void little_free(little *l) {
  llmprof_groups_free(&l->streams);
  llmprof_groups_free(&l->all);
  llmprof_frame_free(l->frame);
  llmprof_strings_free(l->pool);
  *l = (little){0};
}

static int setup(void **state) {
  static little l;
  *state = &l;
  return little_make(&l, NULL) ? 0 : -1;
}

static int teardown(void **state) {
  little_free(*state);
  return 0;
}

static void check_reals(llmprof_frame *frame, const char *name,
                        const double *wanted) {
  size_t number = llmprof_frame_find(frame, name);
  assert_int_not_equal(number, SIZE_MAX);
  const llmprof_column *column = llmprof_frame_column(frame, number, NULL);
  for (size_t row = 0; row < ROWS; row++) {
    int64_t cell = llmprof_cell(column, row);
    if (isnan(wanted[row]))
      assert_int_equal(cell, NONE);
    else
      assert_true(fabs(llmprof_cell_real(cell) - wanted[row]) < 1e-12);
  }
}

/* ---- time ---- */

static const llmprof_gap_names all_names = {"before", "after", "previous"};

TEST_WITH(gaps_of_groups, setup, teardown) {
  little *l = *state;
  assert_true(
      llmprof_frame_gaps(l->frame, START, END, &l->streams, &all_names, NULL));
  TEST_CELLS(l->frame, "before", 10, NONE, NONE, 0, 25, NONE, NONE);
  TEST_CELLS(l->frame, "after", 0, 10, 25, NONE, NONE, NONE, NONE);
  TEST_CELLS(l->frame, "previous", 1, NONE, NONE, 0, 2, NONE, NONE);
}

TEST_WITH(gaps_of_all, setup, teardown) {
  little *l = *state;
  const llmprof_gap_names only = {"before", NULL, NULL};
  size_t columns = llmprof_frame_columns(l->frame);
  assert_true(llmprof_frame_gaps(l->frame, START, END, &l->all, &only, NULL));
  assert_int_equal(llmprof_frame_columns(l->frame), columns + 1);
  TEST_CELLS(l->frame, "before", 0, NONE, 0, 0, 15, NONE, 0);
}

TEST_WITH(overlap, setup, teardown) {
  little *l = *state;
  assert_true(
      llmprof_frame_overlap(l->frame, START, END, &l->all, "beside", NULL));
  TEST_CELLS(l->frame, "beside", 5, 5, 10, 0, 0, NONE, 0);
  assert_true(
      llmprof_frame_overlap(l->frame, START, END, &l->streams, "own", NULL));
  TEST_CELLS(l->frame, "own", 0, 0, 0, 0, 0, NONE, 0);
}

/* ---- other rows ---- */

TEST_WITH(lag, setup, teardown) {
  little *l = *state;
  assert_true(llmprof_frame_lag(l->frame, START, 1, &l->streams, "last", NULL));
  TEST_CELLS(l->frame, "last", NONE, 20, NONE, 0, 5, NONE, 7);
  assert_true(
      llmprof_frame_lag(l->frame, START, -2, &l->streams, "next", NULL));
  TEST_CELLS(l->frame, "next", 30, NONE, NONE, NONE, NONE, NONE, NONE);
  assert_true(llmprof_frame_lag(l->frame, START, 0, &l->all, "same", NULL));
  test_expect_cells(l->frame, "same", starts, ROWS);
  assert_true(
      llmprof_frame_lag(l->frame, START, INT32_MIN, &l->all, "far", NULL));
  TEST_CELLS(l->frame, "far", NONE, NONE, NONE, NONE, NONE, NONE, NONE);
}

TEST_WITH(lag_of_a_view, setup, teardown) {
  little *l = *state;
  const llmprof_order by_start = {START, false};
  llmprof_frame *view =
      llmprof_frame_sort(l->frame, &by_start, 1, SIZE_MAX, NULL);
  assert_non_null(view);
  assert_true(llmprof_frame_lag(view, START, 1, &l->all, "last", NULL));
  TEST_CELLS(view, "last", NONE, 0, 5, 7, 8, 20, 30);
  llmprof_frame_free(view);
}

static bool roll(little *l, llmprof_statistic statistic, const char *name) {
  return llmprof_frame_rolling(l->frame, RATE, 2, statistic, &l->all, name,
                               NULL);
}

TEST_WITH(rolling, setup, teardown) {
  little *l = *state;
  assert_true(roll(l, LLMPROF_SUM, "sum") && roll(l, LLMPROF_MEAN, "mean") &&
              roll(l, LLMPROF_MIN, "min") && roll(l, LLMPROF_MAX, "max"));
  check_reals(l->frame, "sum", (double[]){NAN, 3, NAN, NAN, 12, 24, 48});
  check_reals(l->frame, "mean", (double[]){NAN, 1.5, NAN, NAN, 6, 12, 24});
  check_reals(l->frame, "min", (double[]){NAN, 1, NAN, NAN, 4, 8, 16});
  check_reals(l->frame, "max", (double[]){NAN, 2, NAN, NAN, 8, 16, 32});
  assert_true(llmprof_frame_rolling(l->frame, START, 3, LLMPROF_SUM, &l->all,
                                    "long", NULL));
  check_reals(l->frame, "long", (double[]){NAN, NAN, 25, 35, 85, 87, 65});
  assert_true(roll(l, LLMPROF_MEDIAN, "even") &&
              llmprof_frame_rolling(l->frame, START, 3, LLMPROF_MEDIAN, &l->all,
                                    "odd", NULL));
  check_reals(l->frame, "even", (double[]){NAN, 1.5, NAN, NAN, 6, 12, 24});
  check_reals(l->frame, "odd", (double[]){NAN, NAN, 5, 5, 30, 30, 8});
}

TEST_WITH(difference, setup, teardown) {
  little *l = *state;
  assert_true(llmprof_frame_less(l->frame, END, START, "length", NULL));
  TEST_CELLS(l->frame, "length", 10, 10, 20, 5, 10, NONE, 0);
}

/* ---- another frame ---- */

static const double wanted_streams[] = {2, 1, 7};

typedef struct other {
  llmprof_strings *pool;
  llmprof_frame *frame;
  uint32_t ids[3];
} other;

/* Names b, z, a with streams as reals. */
static bool other_make(other *o, llmprof_error *err) {
  static const char *const texts[] = {"b", "z", "a"};
  o->pool = llmprof_strings_new();
  for (size_t i = 0; o->pool && i < 3; i++) {
    if (!llmprof_strings_add(o->pool, texts[i], 1, &o->ids[i]))
      return llmprof_fail_nomem(err);
  }
  const test_column columns[] = {
      {.name = "name", .type = LLMPROF_STRING_ID, .data = o->ids},
      {.name = "stream", .type = LLMPROF_F64, .data = wanted_streams},
  };
  o->frame = o->pool ? test_frame(3, o->pool, columns, 2) : NULL;
  return o->frame || llmprof_fail_nomem(err);
}

static void other_free(other *o) {
  llmprof_frame_free(o->frame);
  llmprof_strings_free(o->pool);
}

static bool match(little *l, other *o, size_t here, size_t there,
                  const char *name, llmprof_error *err) {
  return llmprof_frame_match(l->frame, &here, o->frame, &there, 1, name, err);
}

TEST_WITH(match, setup, teardown) {
  little *l = *state;
  other o = {0};
  llmprof_error err;
  assert_true(other_make(&o, NULL));
  assert_true(match(l, &o, NAME, 0, "by_name", NULL));
  TEST_CELLS(l->frame, "by_name", 2, 0, 2, NONE, NONE, NONE, 0);
  assert_true(match(l, &o, STREAM, 1, "by_stream", NULL));
  TEST_CELLS(l->frame, "by_stream", 1, 1, 0, 1, 0, NONE, NONE);
  assert_false(match(l, &o, NAME, 1, "wrong", &err));
  assert_int_equal(err.code, LLMPROF_UNSUPPORTED);
  const size_t stream = STREAM;
  assert_false(llmprof_frame_match(o.frame, (size_t[]){1}, l->frame, &stream, 1,
                                   "twice", &err));
  assert_int_equal(err.code, LLMPROF_RANGE);
  other_free(&o);
}

/* ---- failures ---- */

/* Integers near each other are matched without interning. */
static bool match_near(little *l, const int64_t *cells, size_t rows,
                       llmprof_error *err) {
  const test_column column = {.name = "at", .type = LLMPROF_I64, .data = cells};
  llmprof_frame *there = test_frame(rows, l->pool, &column, 1);
  bool ok = there ? llmprof_frame_match(l->frame, (size_t[]){START}, there,
                                        (size_t[]){0}, 1, "near", err)
                  : llmprof_fail_nomem(err);
  llmprof_frame_free(there);
  return ok;
}

TEST_WITH(match_near, setup, teardown) {
  llmprof_error err = {0};
  assert_true(match_near(*state, (int64_t[]){8, 5, NONE, 7, 20}, 5, &err));
  TEST_CELLS(((little *)*state)->frame, "near", 4, NONE, 1, NONE, NONE, 3, 0);
  assert_false(match_near(*state, (int64_t[]){8, 5, 8}, 3, &err));
  assert_int_equal(err.code, LLMPROF_RANGE);
}

static bool make_and_match_near(void *unused, llmprof_error *err) {
  little l = {0};
  bool ok = little_make(&l, err) && match_near(&l, (int64_t[]){5, 7}, 2, err);
  little_free(&l);
  return ok;
}

TEST_WITH(beside, setup, teardown) {
  little *l = *state;
  llmprof_frame *f = l->frame;
  assert_true(llmprof_frame_beside(f, START, f, END, true, "ended", NULL));
  TEST_CELLS(f, "ended", 1, NONE, NONE, 2, 3, NONE, NONE);
  assert_true(llmprof_frame_beside(f, START, f, END, false, "ending", NULL));
  TEST_CELLS(f, "ending", 2, 6, 6, 0, 4, 6, 6);
  assert_true(llmprof_frame_beside(f, END, f, START, false, "next", NULL));
  TEST_CELLS(f, "next", 3, 0, 3, 4, NONE, NONE, 6);
}

static bool relate_all(little *l, other *o, llmprof_error *err) {
  return llmprof_frame_gaps(l->frame, START, END, &l->streams, &all_names,
                            err) &&
         llmprof_frame_overlap(l->frame, START, END, &l->all, "beside", err) &&
         llmprof_frame_lag(l->frame, NAME, 1, &l->streams, "last", err) &&
         llmprof_frame_rolling(l->frame, RATE, 2, LLMPROF_MAX, &l->all, "max",
                               err) &&
         llmprof_frame_rolling(l->frame, RATE, 2, LLMPROF_MEDIAN, &l->streams,
                               "median", err) &&
         llmprof_frame_less(l->frame, END, START, "length", err) &&
         llmprof_frame_beside(l->frame, START, l->frame, END, true, "ended",
                              err) &&
         match(l, o, NAME, 0, "row", err);
}

static bool make_and_relate(void *unused, llmprof_error *err) {
  little l = {0};
  other o = {0};
  bool ok =
      little_make(&l, err) && other_make(&o, err) && relate_all(&l, &o, err);
  little_free(&l);
  other_free(&o);
  return ok;
}

TEST(allocations) {
  test_every_allocation(make_and_relate, NULL);
  test_every_allocation(make_and_match_near, NULL);
}

TEST_WITH(interrupt, setup, teardown) {
  little *l = *state;
  other o = {0};
  llmprof_error err = {0};
  assert_true(other_make(&o, NULL));
  llmprof_interrupt(true);
  assert_false(
      llmprof_frame_gaps(l->frame, START, END, &l->all, &all_names, &err));
  assert_int_equal(err.code, LLMPROF_INTERRUPTED);
  assert_false(
      llmprof_frame_overlap(l->frame, START, END, &l->all, "beside", &err));
  assert_int_equal(err.code, LLMPROF_INTERRUPTED);
  assert_false(match(l, &o, NAME, 0, "row", &err));
  assert_int_equal(err.code, LLMPROF_INTERRUPTED);
  assert_false(llmprof_frame_lag(l->frame, NAME, 1, &l->all, "last", &err));
  assert_int_equal(err.code, LLMPROF_INTERRUPTED);
  assert_false(llmprof_frame_less(l->frame, END, START, "length", &err));
  assert_int_equal(err.code, LLMPROF_INTERRUPTED);
  assert_false(llmprof_frame_beside(l->frame, START, l->frame, START, true,
                                    "ended", &err));
  assert_int_equal(err.code, LLMPROF_INTERRUPTED);
  llmprof_interrupt(false);
  assert_true(relate_all(l, &o, NULL));
  other_free(&o);
}

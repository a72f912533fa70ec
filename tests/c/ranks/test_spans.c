#include "ranks/spans.h"

#include <math.h>

#include "column/values.h"
#include "frame/cells.h"
#include "support.h"

enum {
  SPANS = 6,
  ROWS = 9
};

/* Two keys; one span that lacks its start, and one its key. */
static const int64_t starts[SPANS] = {30, 10, 20, 5, INT64_MIN, 7};
static const int64_t ends[SPANS] = {40, 18, 25, 100, 9, 8};
static const uint32_t span_keys[SPANS] = {1, 1, 1, 2, 1, UINT32_MAX};

static const int64_t times[ROWS] = {10, 17, 18, 24, 39, 40, 50, INT64_MIN, 9};
static const uint32_t row_keys[ROWS] = {1, 1, 1, 1, 1, 1, 2, 1, 1};

static llmprof_frame *spans_frame(void) {
  const test_column columns[] = {
      {"start", "ns", LLMPROF_I64, starts, NULL, NULL, NULL},
      {"end", "ns", LLMPROF_I64, ends, NULL, NULL, NULL},
      {"key", NULL, LLMPROF_U32, span_keys, NULL, NULL, NULL},
  };
  return test_frame(SPANS, NULL, columns, 3);
}

static llmprof_frame *rows_frame(void) {
  const test_column columns[] = {
      {"time", "ns", LLMPROF_I64, times, NULL, NULL, NULL},
      {"key", NULL, LLMPROF_U32, row_keys, NULL, NULL, NULL},
  };
  return test_frame(ROWS, NULL, columns, 2);
}

static const llmprof_span_columns keyed = {0, 1, 2};

TEST(until) {
  llmprof_error err;
  llmprof_frame *spans = spans_frame();
  assert_true(llmprof_spans_until(spans, 0, 2, "until", &err));
  TEST_CELLS(spans, "until", INT64_MAX, 20, 30, INT64_MAX, INT64_MIN,
             INT64_MIN);
  assert_true(llmprof_spans_until(spans, 0, SIZE_MAX, "any", &err));
  TEST_CELLS(spans, "any", INT64_MAX, 20, 30, 7, INT64_MIN, 10);
  llmprof_frame_free(spans);
}

TEST(assign) {
  llmprof_error err;
  llmprof_frame *spans = spans_frame(), *rows = rows_frame();
  assert_true(llmprof_spans_assign(rows, 0, 1, spans, &keyed, "span", &err));
  TEST_CELLS(rows, "span", 1, 1, INT64_MIN, 2, 0, INT64_MIN, 3, INT64_MIN,
             INT64_MIN);
  llmprof_span_columns all = {0, 1, SIZE_MAX};
  assert_true(
      llmprof_spans_assign(rows, 0, SIZE_MAX, spans, &all, "any", &err));
  /* 17 is in the one that began last by then; 9 too late for 7..8, and the
   * long one before it is not asked */
  TEST_CELLS(rows, "any", 1, 1, INT64_MIN, 2, 0, INT64_MIN, INT64_MIN,
             INT64_MIN, INT64_MIN);
  llmprof_frame_free(rows);
  llmprof_frame_free(spans);
}

TEST(cover) {
  llmprof_error err;
  llmprof_interval of_one[] = {{0, 12}, {15, 35}};
  llmprof_intervals none = {NULL, 0}, one = {of_one, 2};
  const llmprof_intervals *sets[] = {&none, &one};
  llmprof_frame *spans = spans_frame();
  assert_true(llmprof_spans_cover(spans, &keyed, sets, 2, "covered", &err));
  TEST_CELLS(spans, "covered", 5, 5, 5, 0, INT64_MIN, 0);
  assert_true(llmprof_spans_rest(spans, 0, 1, 3, "rest", &err));
  TEST_CELLS(spans, "rest", 5, 3, 0, 95, INT64_MIN, 1);
  llmprof_frame_free(spans);
}

TEST(look_up_and_gather) {
  llmprof_error err;
  llmprof_frame *spans = spans_frame(), *rows = rows_frame();
  assert_true(llmprof_spans_assign(rows, 0, 1, spans, &keyed, "span", &err));
  size_t span = llmprof_frame_find(rows, "span");
  assert_true(llmprof_spans_look_up(rows, span, spans, 1, "end", &err));
  TEST_CELLS(rows, "end", 18, 18, INT64_MIN, 25, 40, INT64_MIN, 100, INT64_MIN,
             INT64_MIN);
  assert_true(llmprof_spans_gather(spans, rows, span, 0, LLMPROF_SPAN_LEAST,
                                   "least", &err));
  TEST_CELLS(spans, "least", 39, 10, 24, 50, INT64_MIN, INT64_MIN);
  llmprof_frame_free(rows);
  llmprof_frame_free(spans);
}

/* Of many rows that name few spans, each its own way: what is looked up is the
 * span's cell, whatever type it has and however it is reached. */
enum {
  MANY = 400,
  NAMED = 30
};

static void expect_looked_up(const test_column *span,
                             const test_column *about) {
  llmprof_frame *rows = test_frame(MANY, NULL, span, 1);
  llmprof_frame *spans = test_frame(NAMED, NULL, about, 1);
  const llmprof_column *from = llmprof_frame_column(spans, 0, NULL);
  assert_true(llmprof_spans_look_up(rows, 0, spans, 0, "found", NULL));
  const llmprof_column *of = llmprof_frame_column(rows, 0, NULL);
  const llmprof_column *found = llmprof_frame_column(rows, 1, NULL);
  for (size_t row = 0; row < MANY; row++) {
    int64_t at = llmprof_cell(of, row);
    bool there = at >= 0 && at < NAMED;
    assert_int_equal(llmprof_cell(found, row),
                     there ? llmprof_cell(from, (size_t)at) : INT64_MIN);
  }
  llmprof_frame_free(rows);
  llmprof_frame_free(spans);
}

TEST(many_look_up) {
  static uint32_t bare[MANY], index[MANY], of_item[NAMED], shorts[NAMED],
      back[NAMED];
  static int64_t longs[NAMED];
  static double reals[NAMED];
  for (uint32_t i = 0; i < NAMED; i++) {
    of_item[i] = i % 5 == 2 ? UINT32_MAX : i * 7 % (NAMED + 4);
    shorts[i] = i % 6 == 1 ? UINT32_MAX : 100 + i;
    back[i] = i % 8 == 3 ? UINT32_MAX : NAMED - 1 - i;
    longs[i] = -5 * (int64_t)i;
    reals[i] = i % 7 == 4 ? NAN : i / 4.0;
  }
  llmprof_values *stored = llmprof_values_new();
  for (int64_t i = 0; i < NAMED; i++)
    assert_true(llmprof_values_append(stored, i % 4 ? i * i : LLMPROF_ABSENT));
  assert_true(llmprof_values_end(stored));
  const test_column abouts[] = {
      {"short", NULL, LLMPROF_U32, shorts, NULL, NULL, NULL},
      {"long", NULL, LLMPROF_I64, longs, NULL, NULL, NULL},
      {"stored", NULL, LLMPROF_I64, NULL, NULL, NULL, stored},
      {"real", NULL, LLMPROF_F64, reals, NULL, NULL, NULL},
      {"back", NULL, LLMPROF_U32, shorts, back, NULL, NULL},
      {"back stored", NULL, LLMPROF_I64, NULL, back, NULL, stored}};
  for (uint32_t outside = 0; outside < 2; outside++) {
    for (uint32_t row = 0; row < MANY; row++) {
      bare[row] = row % 13 == 5 ? UINT32_MAX : row * 11 % (NAMED + outside);
      index[row] = row % 17 == 6 ? UINT32_MAX : row % NAMED;
    }
    for (size_t i = 0; i < sizeof abouts / sizeof *abouts; i++) {
      expect_looked_up(
          &(test_column){"span", NULL, LLMPROF_U32, bare, NULL, NULL, NULL},
          &abouts[i]);
      expect_looked_up(
          &(test_column){"span", NULL, LLMPROF_U32, of_item, index, NULL, NULL},
          &abouts[i]);
    }
  }
  llmprof_values_free(stored);
}

/* ---- failures ---- */

static bool all_of_it(void *arg, llmprof_error *err) {
  llmprof_interval item[] = {{0, 12}};
  llmprof_intervals one = {item, 1};
  const llmprof_intervals *sets[] = {&one};
  llmprof_frame *spans = spans_frame(), *rows = rows_frame();
  bool ok = (spans && rows) || llmprof_fail_nomem(err);
  ok =
      ok && llmprof_spans_until(spans, 0, 2, "until", err) &&
      llmprof_spans_assign(rows, 0, 1, spans, &keyed, "span", err) &&
      llmprof_spans_cover(spans, &keyed, sets, 1, "covered", err) &&
      llmprof_spans_look_up(rows, 2, spans, 1, "end", err) &&
      llmprof_spans_gather(spans, rows, 2, 0, LLMPROF_SPAN_LEAST, "least", err);
  llmprof_frame_free(rows);
  llmprof_frame_free(spans);
  return ok;
}

TEST(out_of_memory) {
  test_every_allocation(all_of_it, NULL);
}

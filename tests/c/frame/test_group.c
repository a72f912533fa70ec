#include <math.h>
#include <stdlib.h>

#include "base/bounds.h"
#include "frame/cells.h"
#include "frame/group_by.h"
#include "frame/statistics.h"
#include "llmprof/frame.h"
#include "support.h"

/* ---- frames of a few columns ---- */

typedef struct given {
  size_t rows;
  const int64_t *longs;
  const uint32_t *shorts, *index; /* of a third column, over longs */
} given;

static llmprof_frame *frame_of(const given *g) {
  const test_column columns[] = {
      {"long", "ns", LLMPROF_I64, g->longs, NULL, NULL, NULL},
      {"short", NULL, LLMPROF_U32, g->shorts, NULL, NULL, NULL},
      {"picked", NULL, LLMPROF_I64, g->longs, g->index, NULL, NULL},
  };
  return test_frame(g->rows, NULL, columns, 3);
}

/* A frame and the groups of its rows. */
typedef struct grouped {
  llmprof_frame *frame;
  llmprof_groups groups;
} grouped;

static grouped group_by(const given *g, const size_t *keys, size_t key_count) {
  llmprof_error err = {0};
  grouped made = {.frame = frame_of(g)};
  assert_non_null(made.frame);
  if (!llmprof_groups_make(&made.groups, made.frame, keys, key_count, &err))
    fail_msg("%s", err.message);
  return made;
}

static void ungroup(grouped *made) {
  llmprof_groups_free(&made->groups);
  llmprof_frame_free(made->frame);
}

enum {
  LONG,
  SHORT,
  PICKED,
  ROWS = 6
};

static const int64_t longs[ROWS] = {5, 5, INT64_MIN, -7, 5, INT64_MIN};
static const uint32_t shorts[ROWS] = {1, 2, 1, UINT32_MAX, 1, 1};
static const uint32_t indices[ROWS] = {0, 3, 3, UINT32_MAX, 2, 5};
static const given six = {ROWS, longs, shorts, indices};

static void expect_groups(const given *g, const size_t *keys, size_t key_count,
                          const uint32_t *of_row, size_t count) {
  grouped made = group_by(g, keys, key_count);
  assert_int_equal(made.groups.count, count);
  if (of_row)
    assert_memory_equal(made.groups.of_row, of_row, g->rows * sizeof *of_row);
  uint32_t rows[ROWS] = {0};
  for (size_t row = 0; row < g->rows; row++) rows[made.groups.of_row[row]]++;
  for (uint32_t group = 0; group < count; group++) {
    assert_int_equal(made.groups.rows[group], rows[group]);
    assert_int_equal(made.groups.of_row[made.groups.first_row[group]], group);
    for (uint32_t row = 0; row < made.groups.first_row[group]; row++)
      assert_int_not_equal(made.groups.of_row[row], group);
  }
  ungroup(&made);
}

/* Numbered by first appearance; absent equals absent. */
TEST(groups) {
  expect_groups(&six, (size_t[]){LONG}, 1, (uint32_t[]){0, 0, 1, 2, 0, 1}, 3);
  expect_groups(&six, (size_t[]){SHORT}, 1, (uint32_t[]){0, 1, 0, 2, 0, 0}, 3);
  expect_groups(&six, (size_t[]){PICKED}, 1, (uint32_t[]){0, 1, 1, 2, 2, 2}, 3);
  expect_groups(&six, (size_t[]){LONG, SHORT}, 2,
                (uint32_t[]){0, 1, 2, 3, 0, 2}, 4);
  expect_groups(&six, (size_t[]){SHORT, PICKED, LONG}, 3,
                (uint32_t[]){0, 1, 2, 3, 4, 5}, 6);
  expect_groups(&six, (size_t[]){LONG, LONG}, 2, (uint32_t[]){0, 0, 1, 2, 0, 1},
                3);
}

TEST(no_keys) {
  expect_groups(&six, NULL, 0, (uint32_t[]){0, 0, 0, 0, 0, 0}, 1);
}

TEST(no_rows) {
  const given empty = {0, longs, shorts, indices};
  expect_groups(&empty, NULL, 0, NULL, 0);
  expect_groups(&empty, (size_t[]){LONG, SHORT}, 2, NULL, 0);
}

/* ---- many rows ---- */

enum {
  MANY = 20000
};

/* Equal groups mean equal keys and the other way round. */
TEST(many_groups) {
  static int64_t keys[MANY];
  static uint32_t small[MANY], index[MANY];
  uint32_t next = 1;
  for (uint32_t i = 0; i < MANY; i++) {
    next = next * 1664525 + 1013904223;
    keys[i] = (int64_t)(next % 700) << (next >> 28);
    small[i] = next >> 9 & 15;
    index[i] = i;
  }
  const given many = {MANY, keys, small, index};
  grouped made = group_by(&many, (size_t[]){0, 1}, 2);
  uint32_t seen = 0;
  for (uint32_t row = 0; row < MANY; row++) {
    uint32_t group = made.groups.of_row[row],
             first = made.groups.first_row[group];
    assert_true(keys[row] == keys[first] && small[row] == small[first]);
    assert_true(first == row ? group == seen++ : group < seen);
  }
  assert_int_equal(made.groups.count, seen);
  for (uint32_t a = 0; a < 300; a++) {
    for (uint32_t b = 0; b < a; b++)
      assert_int_equal(made.groups.of_row[a] == made.groups.of_row[b],
                       keys[a] == keys[b] && small[a] == small[b]);
  }
  ungroup(&made);
}

/* Wide keys in ascending runs that share some of them: one for as many
 * rows as there are, then shorter ones; equal neighbours, too. */
TEST(runs) {
  static int64_t keys[MANY];
  static uint32_t seconds[MANY], index[MANY];
  for (uint32_t length = MANY; length > MANY / 40; length = length * 2 / 3) {
    for (uint32_t i = 0; i < MANY; i++) {
      keys[i] = (int64_t)(i % length / 2) * 1000003 - 12345;
      seconds[i] = i / 3;
      index[i] = i;
    }
    const given many = {MANY, keys, seconds, index};
    grouped made = group_by(&many, (size_t[]){0}, 1);
    assert_int_equal(made.groups.count, (length + 1) / 2);
    for (uint32_t row = 0; row < MANY; row++)
      assert_int_equal(made.groups.of_row[row], row % length / 2);
    ungroup(&made);
    made = group_by(&many, (size_t[]){0, 1}, 2);
    for (uint32_t row = 0; row < MANY; row++) {
      uint32_t first = made.groups.first_row[made.groups.of_row[row]];
      assert_true(keys[row] == keys[first] && seconds[row] == seconds[first]);
    }
    ungroup(&made);
  }
}

/* ---- statistics ---- */

static llmprof_summary summary_of(const int64_t *values, size_t count,
                                  const double *wanted, size_t wanted_count) {
  llmprof_error err = {0};
  llmprof_summary summary;
  grouped made = group_by(&(given){count, values, shorts, NULL}, NULL, 0);
  if (!test_summarize(made.frame, LONG, &made.groups, wanted, wanted_count,
                      &summary, &err))
    fail_msg("%s", err.message);
  ungroup(&made);
  return summary;
}

#define SUMMARY(...)                                                         \
  summary_of((const int64_t[]){__VA_ARGS__},                                 \
             sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), NULL, \
             0)

TEST(summary) {
  llmprof_summary s = SUMMARY(4, 1, INT64_MIN, 3, 2);
  assert_int_equal(s.count, 4);
  assert_int_equal(s.total, 10);
  assert_int_equal(s.min, 1);
  assert_int_equal(s.max, 4);
  assert_true(s.mean == 2.5);
  assert_true(s.median == 2.5);
  assert_true(s.stddev == sqrt(5.0 / 3)); /* n - 1 */
  s = SUMMARY(7);
  assert_true(s.mean == 7 && s.median == 7 && s.stddev == 0);
  s = SUMMARY(9, -5, 2);
  assert_true(s.total == 6 && s.min == -5 && s.max == 9 && s.median == 2);
  s = SUMMARY(INT64_MIN, INT64_MIN);
  assert_int_equal(s.count, 0);
  s = SUMMARY(INT64_MAX, INT64_MAX - 1, -INT64_MAX);
  assert_true(s.total == INT64_MAX - 1);
  assert_true(s.median == (double)(INT64_MAX - 1));
}

TEST(percentiles) {
  static const int64_t values[] = {40, 10, 30, 20, 50};
  static const double wanted[] = {0, 25, 50, 90, 99, 100};
  llmprof_summary s = summary_of(values, 5, wanted, 6);
  static const double expected[] = {10, 20, 30, 46, 49.6, 50};
  for (size_t i = 0; i < 6; i++)
    assert_true(fabs(s.percentiles[i] - expected[i]) < 1e-12);
  static const double ninety[] = {90};
  s = summary_of(values, 1, ninety, 1);
  assert_true(s.percentiles[0] == 40);
}

TEST(summary_by_group) {
  llmprof_error err = {0};
  llmprof_summary s[3];
  grouped made = group_by(&six, (size_t[]){SHORT}, 1);
  assert_true(test_summarize(made.frame, LONG, &made.groups, NULL, 0, s, &err));
  assert_true(s[0].count == 2 && s[0].total == 10);
  assert_true(s[1].count == 1 && s[1].total == 5);
  assert_true(s[2].count == 1 && s[2].total == -7);
  assert_true(
      test_summarize(made.frame, PICKED, &made.groups, NULL, 0, s, &err));
  assert_true(s[0].count == 2 && s[0].total == -2);
  assert_true(s[1].count == 1 && s[1].total == -7);
  assert_int_equal(s[2].count, 0);
  ungroup(&made);
}

TEST(total_too_large) {
  static const int64_t huge[] = {INT64_MAX, 1};
  llmprof_error err = {0};
  llmprof_summary summary;
  grouped made = group_by(&(given){2, huge, shorts, NULL}, NULL, 0);
  assert_false(
      test_summarize(made.frame, LONG, &made.groups, NULL, 0, &summary, &err));
  assert_int_equal(err.code, LLMPROF_RANGE);
  assert_string_equal(err.message, "total of column 'long' is too large");
  err = (llmprof_error){0};
  assert_false(llmprof_totals(made.frame, LONG, &made.groups, &summary, &err));
  assert_int_equal(err.code, LLMPROF_RANGE);
  ungroup(&made);
}

static void expect_distinct(const given *g, size_t column,
                            const int64_t *expected, size_t count) {
  const llmprof_aggregate wanted = {"distinct", LLMPROF_DISTINCT, column, 0};
  llmprof_error err = {0};
  llmprof_frame *frame = frame_of(g);
  llmprof_frame *made =
      llmprof_frame_aggregate(frame, (size_t[]){SHORT}, 1, &wanted, 1, &err);
  assert_non_null(made);
  test_expect_cells(made, "distinct", expected, count);
  llmprof_frame_free(made);
  llmprof_frame_free(frame);
}

TEST(distinct) {
  expect_distinct(&six, PICKED, (int64_t[]){2, 1, 0}, 3);
}

/* Groups that share values, of which each counts its own. */
TEST(distinct_by_group) {
  static const int64_t values[] = {100, 163, 164, 100,  163, 100,
                                   227, 164, 9,   1000, 9}; /* far apart */
  static const uint32_t groups[] = {0, 0, 1, 1, 0, 2, 1, 2, 3, 3, 3};
  const given g = {11, values, groups, groups};
  expect_distinct(&g, LONG, (int64_t[]){2, 3, 2, 2}, 4);
}

/* ---- several threads ---- */

enum {
  LOTS = 1 << 20,
  LOTS_OF_KEYS = 50
};

typedef struct lots {
  int64_t longs[LOTS];
  uint32_t shorts[LOTS], index[LOTS];
} lots;

/* Keys that not every part has, and that come first in other orders. */
static given fill_lots(lots *l) {
  srand(11);
  for (size_t i = 0; i < LOTS; i++) {
    size_t run = i / 100000;
    l->longs[i] = 1000 - (int64_t)run + rand() % 7;
    l->shorts[i] = rand() % 9 ? (uint32_t)(rand() % LOTS_OF_KEYS) : UINT32_MAX;
    if (run < 5 && l->shorts[i] == 3) l->shorts[i] = 4;
    l->index[i] = rand() % 9 ? (uint32_t)(rand() % LOTS) : UINT32_MAX;
  }
  return (given){LOTS, l->longs, l->shorts, l->index};
}

static void expect_same(const grouped *got, const grouped *expected) {
  const llmprof_groups *a = &got->groups, *b = &expected->groups;
  assert_int_equal(a->count, b->count);
  assert_memory_equal(a->of_row, b->of_row, LOTS * sizeof *a->of_row);
  assert_memory_equal(a->rows, b->rows, a->count * sizeof *a->rows);
  assert_memory_equal(a->first_row, b->first_row,
                      a->count * sizeof *a->first_row);
}

static void expect_same_summaries(grouped *got, grouped *expected,
                                  uint64_t threads) {
  const double wanted[] = {90};
  llmprof_error err;
  size_t bytes = got->groups.count * sizeof(llmprof_summary);
  llmprof_summary *a = calloc(1, bytes), *b = calloc(1, bytes);
  for (size_t percentiles = 0; percentiles < 2; percentiles++) {
    llmprof_bound_set(LLMPROF_BOUND_THREADS, threads);
    assert_true(test_summarize(got->frame, PICKED, &got->groups, wanted,
                               percentiles, a, &err));
    llmprof_bound_set(LLMPROF_BOUND_THREADS, 1);
    assert_true(test_summarize(expected->frame, PICKED, &expected->groups,
                               wanted, percentiles, b, &err));
    assert_memory_equal(a, b, bytes);
  }
  free(a);
  free(b);
}

TEST(threads) {
  static lots l;
  static const size_t keys[][2] = {
      {SHORT, LONG}, {LONG, SHORT}, {PICKED, SHORT}};
  given g = fill_lots(&l);
  for (size_t k = 0; k < 3; k++) {
    llmprof_bound_set(LLMPROF_BOUND_THREADS, 1);
    grouped alone = group_by(&g, keys[k], 2);
    for (uint64_t threads = 2; threads < 6; threads++) {
      llmprof_bound_set(LLMPROF_BOUND_THREADS, threads);
      grouped several = group_by(&g, keys[k], 2);
      expect_same(&several, &alone);
      expect_same_summaries(&several, &alone, threads);
      ungroup(&several);
    }
    ungroup(&alone);
  }
  llmprof_bound_set(LLMPROF_BOUND_THREADS, 0);
}

/* ---- the two operators ---- */

/* The same keys close together (perfect hash) and far apart (hash), alone and
 * with another, are the same groups. */
TEST(perfect_hash_and_hash) {
  static int64_t close[MANY], far[MANY];
  static uint32_t other[MANY], index[MANY];
  srand(3);
  for (size_t i = 0; i < MANY; i++) {
    close[i] = rand() % 20 ? rand() % 300 - 150 : LLMPROF_ABSENT;
    far[i] = close[i] == LLMPROF_ABSENT ? LLMPROF_ABSENT
                                        : close[i] * (INT64_C(1) << 50);
    other[i] = rand() % 20 ? (uint32_t)(rand() % 30) : UINT32_MAX;
    index[i] = rand() % 20 ? (uint32_t)(rand() % MANY) : UINT32_MAX;
  }
  const given a = {MANY, close, other, index}, b = {MANY, far, other, index};
  static const size_t keys[][3] = {
      {LONG, SHORT, PICKED}, {SHORT, PICKED, LONG}, {PICKED, LONG, SHORT}};
  for (size_t i = 0; i < 9; i++) {
    grouped perfect = group_by(&a, keys[i / 3], i % 3 + 1);
    grouped hashed = group_by(&b, keys[i / 3], i % 3 + 1);
    size_t bytes = perfect.groups.count * sizeof(uint32_t);
    assert_int_equal(perfect.groups.count, hashed.groups.count);
    assert_memory_equal(perfect.groups.of_row, hashed.groups.of_row,
                        MANY * sizeof(uint32_t));
    assert_memory_equal(perfect.groups.rows, hashed.groups.rows, bytes);
    assert_memory_equal(perfect.groups.first_row, hashed.groups.first_row,
                        bytes);
    ungroup(&perfect);
    ungroup(&hashed);
  }
}

/* ---- statistics against their definitions ---- */

static int by_value(const void *left, const void *right) {
  const uint32_t *a = left, *b = right;
  return (*a > *b) - (*a < *b);
}

/* Of the values of one group, which it sorts. */
static llmprof_summary define(uint32_t *values, size_t count) {
  llmprof_summary s = {.count = count};
  long double squares = 0;
  if (!count) return s;
  qsort(values, count, sizeof *values, by_value);
  for (size_t i = 0; i < count; i++) s.total += values[i];
  s.mean = (double)s.total / (double)count;
  for (size_t i = 0; i < count; i++)
    squares += ((long double)values[i] - s.mean) * (values[i] - s.mean);
  s.stddev = count > 1 ? sqrt((double)(squares / (count - 1))) : 0;
  s.min = values[0];
  s.max = values[count - 1];
  s.median = ((double)values[(count - 1) / 2] + values[count / 2]) / 2;
  return s;
}

/* Few values of any length, many alike, some absent: each of them counts. */
TEST(small_groups) {
  enum {
    MOST = 9,
    GROUPS = 2
  };
  static const uint32_t lengths[] = {0,   63,  64,      127,
                                     128, 129, 1 << 20, UINT32_MAX - 1};
  srand(17);
  for (size_t round = 0; round < 2000; round++) {
    uint32_t some[MOST], own[GROUPS][MOST];
    int64_t keys[MOST];
    size_t rows = (size_t)rand() % MOST + 1, counts[GROUPS] = {0};
    for (size_t row = 0; row < rows; row++) {
      some[row] = rand() % 9 ? lengths[rand() % 8] : UINT32_MAX;
      keys[row] = row ? rand() % GROUPS : 0; /* which is group 0 */
      if (some[row] != UINT32_MAX)
        own[keys[row]][counts[keys[row]]++] = some[row];
    }
    llmprof_error err = {0};
    llmprof_summary got[GROUPS];
    grouped made =
        group_by(&(given){rows, keys, some, some}, (size_t[]){LONG}, 1);
    assert_true(
        test_summarize(made.frame, SHORT, &made.groups, NULL, 0, got, &err));
    for (size_t g = 0; g < made.groups.count; g++) {
      llmprof_summary wanted = define(own[g], counts[g]);
      assert_int_equal(got[g].count, wanted.count);
      if (!wanted.count) continue;
      assert_int_equal(got[g].total, wanted.total);
      assert_int_equal(got[g].min, wanted.min);
      assert_int_equal(got[g].max, wanted.max);
      assert_true(got[g].mean == wanted.mean);
      assert_true(got[g].median == wanted.median);
      assert_true(fabs(got[g].stddev - wanted.stddev) <= 1e-9 * wanted.stddev);
    }
    ungroup(&made);
  }
}

/* ---- failures ---- */

static bool fail_to_load(llmprof_frame *frame, llmprof_column *column,
                         void *user, llmprof_error *err) {
  return llmprof_fail(err, LLMPROF_IO, "no data");
}

TEST(column_that_fails) {
  llmprof_error err = {0};
  llmprof_groups groups;
  llmprof_summary summary;
  const llmprof_column lazy = {.name = "lazy", .type = LLMPROF_I64};
  llmprof_frame *frame = frame_of(&six);
  assert_true(llmprof_frame_add(frame, &lazy, fail_to_load, NULL));
  assert_false(llmprof_groups_make(&groups, frame, (size_t[]){3}, 1, &err));
  assert_string_equal(err.message, "no data");
  assert_null(groups.of_row);
  assert_true(llmprof_groups_make(&groups, frame, NULL, 0, &err));
  assert_false(test_summarize(frame, 3, &groups, NULL, 0, &summary, &err));
  llmprof_groups_free(&groups);
  llmprof_frame_free(frame);
  /* keys are there afterwards, also where a row is a group of its own */
  given one = six;
  one.rows = 1;
  frame = frame_of(&one);
  assert_true(llmprof_frame_add(frame, &lazy, fail_to_load, NULL));
  assert_false(
      llmprof_groups_make(&groups, frame, (size_t[]){LONG, 3}, 2, &err));
  llmprof_frame_free(frame);
}

static bool group_and_sum(void *arg, llmprof_error *err) {
  llmprof_groups groups = {0};
  llmprof_summary summaries[4];
  llmprof_frame *frame = frame_of(&six);
  bool ok =
      frame ? llmprof_groups_make(&groups, frame, (size_t[]){LONG, SHORT}, 2,
                                  err) &&
                  test_summarize(frame, SHORT, &groups, NULL, 0, summaries, err)
            : llmprof_fail_nomem(err);
  llmprof_groups_free(&groups);
  llmprof_frame_free(frame);
  return ok;
}

TEST(allocations) {
  test_every_allocation(group_and_sum, NULL);
}

/* ---- spans ---- */

static void expect_span(const test_column *of, int64_t low, int64_t high,
                        size_t absent) {
  llmprof_frame *frame = test_frame(LOTS, NULL, of, 1);
  const llmprof_column *column = llmprof_frame_column(frame, 0, NULL);
  for (uint64_t threads = 1; threads < 6; threads++) {
    llmprof_bound_set(LLMPROF_BOUND_THREADS, threads);
    llmprof_cell_span span = llmprof_span_cells(column, LOTS);
    assert_int_equal(span.low, low);
    assert_int_equal(span.high, high);
    assert_int_equal(span.absent, absent);
  }
  llmprof_bound_set(LLMPROF_BOUND_THREADS, 0);
  llmprof_frame_free(frame);
}

/* What is lowest, highest and absent lies in different parts of the rows. */
TEST(span_of_many) {
  static int64_t wides[LOTS];
  static uint32_t narrows[LOTS], index[LOTS];
  for (size_t i = 0; i < LOTS; i++) {
    wides[i] = narrows[i] = (uint32_t)(100 + i % 1000);
    index[i] = (uint32_t)(LOTS - 1 - i);
  }
  wides[LOTS - 1] = -5;
  narrows[LOTS - 1] = 5;
  wides[3] = narrows[3] = 5000;
  wides[LOTS / 2] = INT64_MIN;
  narrows[LOTS / 2] = UINT32_MAX;
  test_column wide = {.name = "wide", .type = LLMPROF_I64, .data = wides};
  test_column narrow = {.name = "narrow", .type = LLMPROF_U32, .data = narrows};
  expect_span(&wide, -5, 5000, 1);
  expect_span(&narrow, 5, 5000, 1);
  wide.index = narrow.index = index;
  expect_span(&wide, -5, 5000, 1);
  expect_span(&narrow, 5, 5000, 1);
}

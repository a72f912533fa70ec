#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "frame/cells.h"
#include "frame/piles.h"
#include "frame/survey.h"
#include "llmprof/bounds.h"
#include "llmprof/frame.h"
#include "support.h"

/* ---- frames of a few columns ---- */

typedef struct given {
  size_t rows;
  const int64_t *longs;
  const uint32_t *shorts, *index; /* of a third column, over longs */
} given;

static llmprof_frame *frame_of(const given *g) {
  const llmprof_column columns[] = {
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
static void test_groups(void **state) {
  (void)state;
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

/* Keys as far apart as they can be. */
static void test_wide_keys(void **state) {
  (void)state;
  static const int64_t wide[] = {INT64_MAX, -INT64_MAX, INT64_MIN,
                                 INT64_MAX, 0,          INT64_MIN};
  const given g = {ROWS, wide, shorts, indices};
  expect_groups(&g, (size_t[]){LONG}, 1, (uint32_t[]){0, 1, 2, 0, 3, 2}, 4);
  expect_groups(&g, (size_t[]){LONG, SHORT}, 2, (uint32_t[]){0, 1, 2, 3, 4, 2},
                5);
}

static void test_no_keys(void **state) {
  (void)state;
  expect_groups(&six, NULL, 0, (uint32_t[]){0, 0, 0, 0, 0, 0}, 1);
}

static void test_no_rows(void **state) {
  (void)state;
  const given empty = {0, longs, shorts, indices};
  expect_groups(&empty, NULL, 0, NULL, 0);
  expect_groups(&empty, (size_t[]){LONG, SHORT}, 2, NULL, 0);
}

/* ---- many rows ---- */

enum {
  MANY = 20000
};

/* Equal groups mean equal keys and the other way round. */
static void test_many_groups(void **state) {
  (void)state;
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

/* Wide keys in ascending stretches that share some of them: one for as many
 * rows as there are, then shorter ones; equal neighbours, too. */
static void test_stretches(void **state) {
  (void)state;
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
  if (!llmprof_summarize(made.frame, LONG, &made.groups, wanted, wanted_count,
                         &summary, &err))
    fail_msg("%s", err.message);
  ungroup(&made);
  return summary;
}

#define SUMMARY(...)                                                         \
  summary_of((const int64_t[]){__VA_ARGS__},                                 \
             sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), NULL, \
             0)

static void test_summary(void **state) {
  (void)state;
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

static void test_percentiles(void **state) {
  (void)state;
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

static void test_summary_by_group(void **state) {
  (void)state;
  llmprof_error err = {0};
  llmprof_summary s[3];
  grouped made = group_by(&six, (size_t[]){SHORT}, 1);
  assert_true(
      llmprof_summarize(made.frame, LONG, &made.groups, NULL, 0, s, &err));
  assert_true(s[0].count == 2 && s[0].total == 10);
  assert_true(s[1].count == 1 && s[1].total == 5);
  assert_true(s[2].count == 1 && s[2].total == -7);
  assert_true(
      llmprof_summarize(made.frame, PICKED, &made.groups, NULL, 0, s, &err));
  assert_true(s[0].count == 2 && s[0].total == -2);
  assert_true(s[1].count == 1 && s[1].total == -7);
  assert_int_equal(s[2].count, 0);
  ungroup(&made);
}

/* Totals are those of summaries, column by column. */
static void test_totals(void **state) {
  (void)state;
  static const size_t columns[] = {LONG, SHORT, PICKED};
  llmprof_error err = {0};
  grouped made = group_by(&six, (size_t[]){SHORT}, 1);
  for (size_t c = 0; c < 3; c++) {
    llmprof_summary s[3], t[3];
    assert_true(llmprof_summarize(made.frame, columns[c], &made.groups, NULL, 0,
                                  s, &err));
    assert_true(llmprof_totals(made.frame, columns[c], &made.groups, t, &err));
    for (size_t g = 0; g < 3; g++) {
      assert_int_equal(t[g].count, s[g].count);
      if (!s[g].count) continue;
      assert_true(t[g].total == s[g].total && t[g].min == s[g].min &&
                  t[g].max == s[g].max);
    }
  }
  ungroup(&made);
}

static void test_total_too_large(void **state) {
  (void)state;
  static const int64_t huge[] = {INT64_MAX, 1};
  llmprof_error err = {0};
  llmprof_summary summary;
  grouped made = group_by(&(given){2, huge, shorts, NULL}, NULL, 0);
  assert_false(llmprof_summarize(made.frame, LONG, &made.groups, NULL, 0,
                                 &summary, &err));
  assert_int_equal(err.code, LLMPROF_RANGE);
  assert_string_equal(err.message, "total of column 'long' is too large");
  err = (llmprof_error){0};
  assert_false(llmprof_totals(made.frame, LONG, &made.groups, &summary, &err));
  assert_int_equal(err.code, LLMPROF_RANGE);
  ungroup(&made);
}

static void test_distinct(void **state) {
  (void)state;
  llmprof_error err = {0};
  size_t distinct[3];
  grouped made = group_by(&six, (size_t[]){SHORT}, 1);
  assert_true(
      llmprof_distinct(made.frame, PICKED, &made.groups, distinct, &err));
  static const size_t expected[] = {2, 1, 0};
  assert_memory_equal(distinct, expected, sizeof expected);
  ungroup(&made);
}

/* Groups that share values, of which each counts its own. */
static void test_distinct_by_group(void **state) {
  (void)state;
  static const int64_t values[] = {100, 163, 164, 100, 163, 100, 227, 164};
  static const uint32_t groups[] = {0, 0, 1, 1, 0, 2, 1, 2};
  const given g = {8, values, groups, groups};
  llmprof_error err = {0};
  size_t distinct[3];
  grouped made = group_by(&g, (size_t[]){SHORT}, 1);
  assert_true(llmprof_distinct(made.frame, LONG, &made.groups, distinct, &err));
  static const size_t expected[] = {2, 3, 2};
  assert_memory_equal(distinct, expected, sizeof expected);
  ungroup(&made);
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
    size_t stretch = i / 100000;
    l->longs[i] = 1000 - (int64_t)stretch + rand() % 7;
    l->shorts[i] = rand() % 9 ? (uint32_t)(rand() % LOTS_OF_KEYS) : UINT32_MAX;
    if (stretch < 5 && l->shorts[i] == 3) l->shorts[i] = 4;
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
    assert_true(llmprof_summarize(got->frame, PICKED, &got->groups, wanted,
                                  percentiles, a, &err));
    llmprof_bound_set(LLMPROF_BOUND_THREADS, 1);
    assert_true(llmprof_summarize(expected->frame, PICKED, &expected->groups,
                                  wanted, percentiles, b, &err));
    assert_memory_equal(a, b, bytes);
  }
  free(a);
  free(b);
}

static void test_threads(void **state) {
  (void)state;
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

/* ---- few groups, surveyed ---- */

/* Values of any length, many alike, some absent, and one group of each kind:
 * with one value, two, all alike, none. */
static given fill_for_survey(lots *l) {
  srand(13);
  for (size_t i = 0; i < LOTS; i++) {
    uint32_t any = (uint32_t)rand() << 1 ^ (uint32_t)rand();
    l->longs[i] = 20 + rand() % 10;
    l->shorts[i] = rand() % 50 ? any >> any % 32 : UINT32_MAX;
    l->index[i] = rand() % 50 ? (uint32_t)(LOTS - 1 - i) : UINT32_MAX;
    if (l->longs[i] == 25) l->shorts[i] = UINT32_MAX;
    if (l->longs[i] == 26) l->shorts[i] = 12345678;
    if (i == 5 || i == 900000) l->longs[i] = INT64_MIN;
    if (i == 77) l->longs[i] = 40;
  }
  l->shorts[5] = 7;
  l->shorts[900000] = UINT32_MAX - 1;
  return (given){LOTS, l->longs, l->shorts, l->index};
}

static void expect_alike(const llmprof_summary *a, const llmprof_summary *b) {
  assert_int_equal(a->count, b->count);
  assert_int_equal(a->total, b->total);
  assert_int_equal(a->min, b->min);
  assert_int_equal(a->max, b->max);
  assert_true(a->mean == b->mean && a->median == b->median &&
              a->stddev == b->stddev);
}

/* By the groups of rows and by a tally, the same as where values are put
 * together. */
static void expect_survey(llmprof_frame *frame, size_t column) {
  enum {
    GROUPS = 12
  };
  llmprof_error err = {0};
  llmprof_groups groups, counted;
  llmprof_tally tally;
  llmprof_summary expected[GROUPS], by_row[GROUPS], by_value[GROUPS];
  assert_true(llmprof_groups_make(&groups, frame, (size_t[]){LONG}, 1, &err));
  assert_true(
      llmprof_tally_make(&tally, &counted, frame, (size_t[]){LONG}, 1, &err));
  assert_int_equal(groups.count, GROUPS);
  assert_int_equal(counted.count, GROUPS);
  size_t bytes = GROUPS * sizeof(uint32_t);
  assert_memory_equal(groups.rows, counted.rows, bytes);
  assert_memory_equal(groups.first_row, counted.first_row, bytes);
  assert_true(
      llmprof_summarize(frame, column, &groups, NULL, 0, expected, &err));
  assert_true(llmprof_survey(frame, column,
                             &(llmprof_surveyed){&groups, NULL, NULL}, true,
                             by_row, &err));
  assert_true(llmprof_survey(frame, column,
                             &(llmprof_surveyed){&counted, &tally, NULL}, true,
                             by_value, &err));
  for (size_t g = 0; g < GROUPS; g++) {
    expect_alike(&by_row[g], &expected[g]);
    expect_alike(&by_value[g], &expected[g]);
  }
  llmprof_groups_free(&groups);
  llmprof_groups_free(&counted);
  llmprof_tally_free(&tally);
}

static void test_survey(void **state) {
  (void)state;
  static lots l;
  given g = fill_for_survey(&l);
  const llmprof_column picked = {
      "through an index", NULL, LLMPROF_U32, l.shorts, l.index, NULL, NULL};
  llmprof_frame *frame = frame_of(&g);
  assert_true(llmprof_frame_add(frame, &picked, NULL, NULL));
  for (uint64_t threads = 1; threads < 6; threads += 3) {
    llmprof_bound_set(LLMPROF_BOUND_THREADS, threads);
    expect_survey(frame, SHORT);
    expect_survey(frame, PICKED + 1);
  }
  llmprof_bound_set(LLMPROF_BOUND_THREADS, 0);
  llmprof_frame_free(frame);
}

/* ---- keys that share an index ---- */

enum {
  ITEMS = 300,
  JOINT_KEYS = 4
};

typedef struct things {
  uint32_t small[ITEMS], index[LOTS], other[LOTS];
  int64_t large[ITEMS];
  double real[ITEMS];
  uint32_t of_row[LOTS]; /* its small number as it is */
} things;

static void fill_things(things *t) {
  srand(29);
  for (size_t i = 0; i < ITEMS; i++) {
    t->small[i] = i % 9 ? (uint32_t)(rand() % 5) : UINT32_MAX;
    t->large[i] = i % 11 ? (int64_t)1 << rand() % 60 : LLMPROF_ABSENT;
    t->real[i] = (double)(rand() % 3) - 1;
  }
  for (size_t row = 0; row < LOTS; row++) {
    t->index[row] = rand() % 99 ? (uint32_t)(rand() % ITEMS) : UINT32_MAX;
    t->other[row] = (uint32_t)(rand() % ITEMS);
    t->of_row[row] = t->small[t->other[row]];
  }
}

/* Where `known`, it is said how many items there are: else keys are taken one
 * after the other. */
static llmprof_frame *frame_of_things(const things *t, bool known) {
  const llmprof_column columns[] = {
      {"small", NULL, LLMPROF_U32, t->small, t->index, NULL, NULL},
      {"large", NULL, LLMPROF_I64, t->large, t->index, NULL, NULL},
      {"real", NULL, LLMPROF_F64, t->real, t->index, NULL, NULL},
      {"other", NULL, LLMPROF_U32, t->small, t->other, NULL, NULL},
      {"plain", NULL, LLMPROF_U32, t->of_row, NULL, NULL, NULL}};
  llmprof_frame *frame = llmprof_frame_new(LOTS, NULL);
  assert_non_null(frame);
  for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
    assert_true(llmprof_frame_add(frame, &columns[i], NULL, NULL));
    if (known && columns[i].index) llmprof_frame_set_items(frame, i, ITEMS);
  }
  return frame;
}

static void expect_same_groups(const llmprof_groups *a,
                               const llmprof_groups *b) {
  assert_int_equal(a->count, b->count);
  assert_memory_equal(a->rows, b->rows, a->count * sizeof *a->rows);
  assert_memory_equal(a->first_row, b->first_row,
                      a->count * sizeof *a->first_row);
}

static void expect_joint(llmprof_frame *known, llmprof_frame *frame,
                         const size_t *keys, size_t key_count, bool tallied) {
  llmprof_groups one_by_one, together, counted;
  llmprof_tally tally;
  assert_true(llmprof_groups_make(&one_by_one, frame, keys, key_count, NULL));
  assert_true(llmprof_groups_make(&together, known, keys, key_count, NULL));
  expect_same_groups(&one_by_one, &together);
  assert_memory_equal(one_by_one.of_row, together.of_row,
                      LOTS * sizeof(uint32_t));
  assert_true(
      llmprof_tally_make(&tally, &counted, known, keys, key_count, NULL));
  assert_int_equal(tally.groups != NULL, tallied);
  if (tallied) expect_same_groups(&one_by_one, &counted);
  for (size_t row = 0; tallied && row < LOTS; row += LLMPROF_BLOCK) {
    uint32_t of_row[LLMPROF_BLOCK];
    llmprof_tally_groups(&tally, row, LLMPROF_BLOCK, of_row);
    assert_memory_equal(of_row, one_by_one.of_row + row, sizeof of_row);
  }
  llmprof_tally_free(&tally);
  llmprof_groups_free(&one_by_one);
  llmprof_groups_free(&together);
  llmprof_groups_free(&counted);
}

/* Whichever way, they make the same groups, for any number of threads. */
static void test_joint_keys(void **state) {
  (void)state;
  static things t;
  static const struct {
    size_t keys[JOINT_KEYS], count;
    bool tallied;
  } cases[] = {{{0}, 1, true},           {{1, 0}, 2, true},
               {{0, 1, 2}, 3, true},     {{3}, 1, true},
               {{0, 3}, 2, false},       {{3, 1, 2}, 3, false},
               {{0, 3, 1, 4}, 4, false}, {{4, 2, 0}, 3, false}};
  fill_things(&t);
  llmprof_frame *known = frame_of_things(&t, true);
  for (uint64_t threads = 1; threads < 4; threads++) {
    llmprof_frame *frame = frame_of_things(&t, false);
    llmprof_bound_set(LLMPROF_BOUND_THREADS, threads);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
      expect_joint(known, frame, cases[i].keys, cases[i].count,
                   cases[i].tallied);
    llmprof_frame_free(frame);
  }
  llmprof_bound_set(LLMPROF_BOUND_THREADS, 0);
  llmprof_frame_free(known);
}

/* ---- piles ---- */

/* A frame of piles, and one with the same rows as they were added. */
static llmprof_frame *piles_of(const lots *l, size_t rows,
                               const llmprof_strings *strings) {
  llmprof_error err = {0};
  llmprof_piles *piles = llmprof_piles_new();
  assert_non_null(piles);
  for (size_t i = 0; i < rows; i++)
    assert_true(llmprof_piles_add(piles, l->index[i], l->shorts[i]));
  llmprof_frame *frame =
      llmprof_piles_frame(piles, strings, "key", "number", "ns", &err);
  assert_non_null(frame);
  return frame;
}

static llmprof_frame *statistics_of(llmprof_frame *frame) {
  const llmprof_aggregate wanted[] = {{"rows", LLMPROF_COUNT, SIZE_MAX, 0},
                                      {"count", LLMPROF_COUNT, 1, 0},
                                      {"sum", LLMPROF_SUM, 1, 0},
                                      {"median", LLMPROF_MEDIAN, 1, 0},
                                      {"std", LLMPROF_STDDEV, 1, 0},
                                      {"min", LLMPROF_MIN, 1, 0},
                                      {"max", LLMPROF_MAX, 1, 0}};
  llmprof_error err = {0};
  llmprof_frame *made = llmprof_frame_aggregate(
      frame, (size_t[]){0}, 1, wanted, sizeof wanted / sizeof *wanted, &err);
  assert_non_null(made);
  return made;
}

static void expect_same_cells(llmprof_frame *a, llmprof_frame *b) {
  assert_int_equal(llmprof_frame_rows(a), llmprof_frame_rows(b));
  for (size_t c = 0; c < llmprof_frame_columns(a); c++) {
    const llmprof_column *of_a = llmprof_frame_column(a, c, NULL);
    const llmprof_column *of_b = llmprof_frame_column(b, c, NULL);
    for (size_t row = 0; row < llmprof_frame_rows(a); row++)
      assert_true(llmprof_cell(of_a, row) == llmprof_cell(of_b, row));
  }
}

/* Rows as they are, and statistics of them, of a view as well. */
static void expect_piles(const lots *l, size_t rows) {
  llmprof_strings *strings = llmprof_strings_new();
  llmprof_frame *piles = piles_of(l, rows, strings);
  const llmprof_column columns[] = {
      {"key", NULL, LLMPROF_STRING_ID, l->index, NULL, NULL, NULL},
      {"number", "ns", LLMPROF_U32, l->shorts, NULL, NULL, NULL}};
  llmprof_frame *plain = test_frame(rows, strings, columns, 2);
  llmprof_frame *view = llmprof_frame_slice(piles, 0, rows, NULL);
  llmprof_frame *expected = statistics_of(plain);
  llmprof_frame *got = statistics_of(piles), *of_view = statistics_of(view);
  expect_same_cells(got, expected);
  expect_same_cells(of_view, expected);
  assert_int_equal(llmprof_frame_rows(piles), rows);
  llmprof_frame *loaded[] = {piles, view};
  for (size_t i = 0; i < 2; i++) { /* their columns are there from now on */
    llmprof_frame *half = llmprof_frame_slice(loaded[i], 1, rows - 1, NULL);
    llmprof_frame *some = statistics_of(half);
    assert_true(llmprof_frame_rows(some) <= llmprof_frame_rows(expected));
    llmprof_frame_free(some);
    llmprof_frame_free(half);
  }
  llmprof_frame *all[] = {of_view, got, expected, view, plain, piles};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    llmprof_frame_free(all[i]);
  llmprof_strings_free(strings);
}

static void test_piles(void **state) {
  (void)state;
  static lots l;
  fill_for_survey(&l);
  for (size_t i = 0; i < LOTS; i++)
    l.index[i] = i % 1000 ? (uint32_t)(i * 7 % 13) : UINT32_MAX;
  for (uint64_t threads = 1; threads < 6; threads += 3) {
    llmprof_bound_set(LLMPROF_BOUND_THREADS, threads);
    expect_piles(&l, LOTS);
    expect_piles(&l, 5000);
    expect_piles(&l, 7);
  }
  llmprof_bound_set(LLMPROF_BOUND_THREADS, 0);
}

static bool pile_up(void *arg, llmprof_error *err) {
  (void)arg;
  bool ok = true;
  llmprof_piles *piles = llmprof_piles_new();
  for (uint32_t i = 0; piles && ok && i < 100; i++)
    ok = llmprof_piles_add(piles, i % 3, i);
  if (piles && ok) {
    llmprof_frame *frame =
        llmprof_piles_frame(piles, NULL, "key", "number", NULL, err);
    ok = frame && llmprof_frame_column(frame, 0, err) &&
         llmprof_frame_column(frame, 1, err);
    llmprof_frame_free(frame);
    return ok;
  }
  llmprof_piles_free(piles);
  return llmprof_fail_nomem(err);
}

static void test_pile_allocations(void **state) {
  (void)state;
  test_every_allocation(pile_up, NULL);
}

/* Few rows, so that each value counts. */
static void test_small_survey(void **state) {
  (void)state;
  enum {
    MOST = 9
  };
  static const uint32_t values[] = {0,   63,  64,      127,
                                    128, 129, 1 << 20, UINT32_MAX - 1};
  static const int64_t keys[MOST];
  srand(17);
  for (size_t i = 0; i < 4000; i++) {
    uint32_t some[MOST];
    size_t rows = (size_t)rand() % MOST + 1;
    for (size_t row = 0; row < rows; row++) some[row] = values[rand() % 8];
    llmprof_error err = {0};
    llmprof_summary got, expected;
    grouped made = group_by(&(given){rows, keys, some, some}, NULL, 0);
    assert_true(llmprof_summarize(made.frame, SHORT, &made.groups, NULL, 0,
                                  &expected, &err));
    assert_true(llmprof_survey(made.frame, SHORT,
                               &(llmprof_surveyed){&made.groups, NULL, NULL},
                               true, &got, &err));
    expect_alike(&got, &expected);
    ungroup(&made);
  }
}

static bool survey(void *arg, llmprof_error *err) {
  (void)arg;
  llmprof_groups groups;
  llmprof_tally tally;
  llmprof_summary summaries[4];
  llmprof_frame *frame = frame_of(&six);
  if (!frame) return llmprof_fail_nomem(err);
  bool ok =
      llmprof_tally_make(&tally, &groups, frame, (size_t[]){SHORT}, 1, err) &&
      llmprof_survey(frame, SHORT, &(llmprof_surveyed){&groups, &tally, NULL},
                     true, summaries, err);
  llmprof_groups_free(&groups);
  llmprof_tally_free(&tally);
  llmprof_frame_free(frame);
  return ok;
}

/* By keys that share an index. */
static bool group_things(void *arg, llmprof_error *err) {
  static const size_t keys[] = {0, 1, 3};
  static const llmprof_aggregate wanted[] = {{"rows", LLMPROF_COUNT, 4, 0},
                                             {"sum", LLMPROF_SUM, 4, 0}};
  const things *t = arg;
  size_t key_count = *(const size_t *)(const void *)t->large;
  llmprof_frame *frame = llmprof_frame_new(ITEMS * 4, NULL);
  if (!frame) return llmprof_fail_nomem(err);
  const llmprof_column columns[] = {
      {"small", NULL, LLMPROF_U32, t->small, t->index, NULL, NULL},
      {"large", NULL, LLMPROF_I64, t->large, t->index, NULL, NULL},
      {"real", NULL, LLMPROF_F64, t->real, t->index, NULL, NULL},
      {"other", NULL, LLMPROF_U32, t->small, t->other, NULL, NULL},
      {"plain", NULL, LLMPROF_U32, t->of_row, NULL, NULL, NULL}};
  bool ok = true;
  for (size_t i = 0; ok && i < sizeof columns / sizeof *columns; i++) {
    ok = llmprof_frame_add(frame, &columns[i], NULL, NULL) ||
         llmprof_fail_nomem(err);
    if (ok && columns[i].index) llmprof_frame_set_items(frame, i, ITEMS);
  }
  llmprof_frame *made =
      ok ? llmprof_frame_aggregate(frame, keys, key_count, wanted, 2, err)
         : NULL;
  llmprof_frame_free(made);
  llmprof_frame_free(frame);
  return made != NULL;
}

static void test_survey_allocations(void **state) {
  (void)state;
  static things t;
  test_every_allocation(survey, NULL);
  fill_things(&t);
  for (t.large[0] = 2; t.large[0] <= 3; t.large[0]++)
    test_every_allocation(group_things, &t);
}

/* ---- failures ---- */

static bool fail_to_load(llmprof_frame *frame, llmprof_column *column,
                         void *user, llmprof_error *err) {
  (void)frame, (void)column, (void)user;
  return llmprof_fail(err, LLMPROF_IO, "no data");
}

static void test_column_that_fails(void **state) {
  (void)state;
  llmprof_error err = {0};
  llmprof_groups groups;
  llmprof_summary summary;
  size_t distinct;
  const llmprof_column lazy = {"lazy", NULL, LLMPROF_I64, NULL,
                               NULL,   NULL, NULL};
  llmprof_frame *frame = frame_of(&six);
  assert_true(llmprof_frame_add(frame, &lazy, fail_to_load, NULL));
  assert_false(llmprof_groups_make(&groups, frame, (size_t[]){3}, 1, &err));
  assert_string_equal(err.message, "no data");
  assert_null(groups.of_row);
  assert_true(llmprof_groups_make(&groups, frame, NULL, 0, &err));
  assert_false(llmprof_summarize(frame, 3, &groups, NULL, 0, &summary, &err));
  assert_false(llmprof_distinct(frame, 3, &groups, &distinct, &err));
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
  (void)arg;
  llmprof_groups groups = {0};
  llmprof_summary summaries[4];
  size_t distinct[4];
  llmprof_frame *frame = frame_of(&six);
  bool ok = frame ? llmprof_groups_make(&groups, frame, (size_t[]){LONG, SHORT},
                                        2, err) &&
                        llmprof_summarize(frame, SHORT, &groups, NULL, 0,
                                          summaries, err) &&
                        llmprof_distinct(frame, PICKED, &groups, distinct, err)
                  : llmprof_fail_nomem(err);
  llmprof_groups_free(&groups);
  llmprof_frame_free(frame);
  return ok;
}

static void test_allocations(void **state) {
  (void)state;
  test_every_allocation(group_and_sum, NULL);
}

/* ---- spans ---- */

/* Cells that lie there as they are, and the same reached through an index. */
static void test_spans(void **state) {
  (void)state;
  static const uint32_t cells[][3] = {
      {7, 5, 9},
      {UINT32_MAX, 5, 5},
      {UINT32_MAX, UINT32_MAX, UINT32_MAX},
      {0, UINT32_MAX - 1, UINT32_MAX},
  };
  static const uint32_t index[] = {0, 1, 2};
  for (size_t i = 0; i < 4; i++) {
    llmprof_column bare = {.type = LLMPROF_U32, .data = cells[i]};
    llmprof_column indexed = bare;
    indexed.index = index;
    for (size_t rows = 0; rows <= 3; rows++) {
      llmprof_cell_span a = llmprof_span_cells(&bare, rows);
      llmprof_cell_span b = llmprof_span_cells(&indexed, rows);
      assert_memory_equal(&a, &b, sizeof a);
    }
  }
}

/* Where nothing was allocated there is no address to count from. */
static void test_span_of_none(void **state) {
  (void)state;
  llmprof_column none = {.type = LLMPROF_U32};
  llmprof_cell_span span = llmprof_span_cells(&none, 0);
  assert_int_equal(span.low, INT64_MAX);
  assert_int_equal(span.high, INT64_MIN);
  assert_int_equal(span.absent, 0);
}

static void expect_span(const llmprof_column *column, int64_t low, int64_t high,
                        size_t absent) {
  for (uint64_t threads = 1; threads < 6; threads++) {
    llmprof_bound_set(LLMPROF_BOUND_THREADS, threads);
    llmprof_cell_span span = llmprof_span_cells(column, LOTS);
    assert_int_equal(span.low, low);
    assert_int_equal(span.high, high);
    assert_int_equal(span.absent, absent);
  }
  llmprof_bound_set(LLMPROF_BOUND_THREADS, 0);
}

/* What is lowest, highest and absent lies in different parts of the rows. */
static void test_span_of_many(void **state) {
  (void)state;
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
  llmprof_column wide = {.type = LLMPROF_I64, .data = wides};
  llmprof_column narrow = {.type = LLMPROF_U32, .data = narrows};
  expect_span(&wide, -5, 5000, 1);
  expect_span(&narrow, 5, 5000, 1);
  wide.index = narrow.index = index;
  expect_span(&wide, -5, 5000, 1);
  expect_span(&narrow, 5, 5000, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_groups),
      cmocka_unit_test(test_wide_keys),
      cmocka_unit_test(test_no_keys),
      cmocka_unit_test(test_no_rows),
      cmocka_unit_test(test_many_groups),
      cmocka_unit_test(test_stretches),
      cmocka_unit_test(test_summary),
      cmocka_unit_test(test_percentiles),
      cmocka_unit_test(test_summary_by_group),
      cmocka_unit_test(test_totals),
      cmocka_unit_test(test_total_too_large),
      cmocka_unit_test(test_spans),
      cmocka_unit_test(test_span_of_none),
      cmocka_unit_test(test_span_of_many),
      cmocka_unit_test(test_distinct),
      cmocka_unit_test(test_distinct_by_group),
      cmocka_unit_test(test_threads),
      cmocka_unit_test(test_survey),
      cmocka_unit_test(test_small_survey),
      cmocka_unit_test(test_survey_allocations),
      cmocka_unit_test(test_joint_keys),
      cmocka_unit_test(test_piles),
      cmocka_unit_test(test_pile_allocations),
      cmocka_unit_test(test_column_that_fails),
      cmocka_unit_test(test_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

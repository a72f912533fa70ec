/* Sorting, grouping and selecting over a little frame of every type. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "frame/cells.h"
#include "frame/group_by.h"
#include "llmprof/frame.h"

#include "support.h"

enum {
  ROWS = 6
};

/* Columns of the frame, by number. */
enum {
  NAME,
  SIZE,
  RATE,
  STREAM,
  ROW
};

static const char *const names[ROWS] = {"b", "a", "b", NULL, "ab", "a"};
static const int64_t sizes[ROWS] = {30, -10, 20, 20, INT64_MIN, 50};
static const double rates[ROWS] = {0.5, -1.5, NAN, 0.5, -0.0, INFINITY};
static const uint32_t streams[ROWS] = {1, 1, UINT32_MAX, 2, 2, 1};
static const uint32_t row_numbers[ROWS] = {0, 1, 2, 3, 4, 5};

typedef struct little {
  llmprof_strings *pool;
  llmprof_frame *frame;
  uint32_t ids[ROWS];
} little;

static bool add(little *l, const char *name, llmprof_column_type type,
                const void *data) {
  test_column column = {.name = name, .type = type, .data = data};
  return test_add(l->frame, &column);
}

static bool little_make(little *l, llmprof_error *err) {
  l->pool = llmprof_strings_new();
  l->frame = l->pool ? llmprof_frame_new(ROWS, l->pool) : NULL;
  bool ok = l->frame != NULL;
  for (size_t i = 0; ok && i < ROWS; i++) {
    l->ids[i] = LLMPROF_NO_STRING;
    if (names[i])
      ok = llmprof_strings_add(l->pool, names[i], strlen(names[i]), &l->ids[i]);
  }
  ok = ok && add(l, "name", LLMPROF_STRING_ID, l->ids) &&
       add(l, "size", LLMPROF_I64, sizes) &&
       add(l, "rate", LLMPROF_F64, rates) &&
       add(l, "stream", LLMPROF_U32, streams) &&
       add(l, "row", LLMPROF_U32, row_numbers);
  return ok || llmprof_fail_nomem(err);
}

static void little_free(little *l) {
  llmprof_frame_free(l->frame);
  llmprof_strings_free(l->pool);
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

/* The rows of a view as digits, by the frame's `row` cells: 0..5. */
static const char *rows_of(llmprof_frame *view) {
  static char text[2 * ROWS];
  const llmprof_column *column = llmprof_frame_column(view, ROW, NULL);
  assert_non_null(column);
  size_t rows = llmprof_frame_rows(view);
  for (size_t i = 0; i < rows; i++)
    text[i] = (char)('0' + llmprof_cell(column, i));
  text[rows] = '\0';
  llmprof_frame_free(view);
  return text;
}

static const char *sorted(little *l, llmprof_order first, llmprof_order second,
                          size_t limit) {
  llmprof_order keys[] = {first, second};
  llmprof_frame *view = llmprof_frame_sort(l->frame, keys, 2, limit, NULL);
  assert_non_null(view);
  return rows_of(view);
}

TEST_WITH(sort, setup, teardown) {
  llmprof_order none = {STREAM, false}; /* as good as any second key */
  const struct {
    llmprof_order first, second;
    const char *rows;
  } cases[] = {
      {{SIZE, false}, {NAME, false}, "123054"},
      {{SIZE, true}, {NAME, true}, "502314"},
      {{RATE, false}, none, "140352"},
      {{RATE, true}, none, "503412"},
      {{NAME, false}, {SIZE, false}, "154203"},
      {{NAME, true}, {SIZE, true}, "024513"},
      {{STREAM, false}, {SIZE, true}, "501342"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_string_equal(sorted(*state, cases[i].first, cases[i].second, ROWS),
                        cases[i].rows);
    for (size_t limit = 0; limit <= ROWS; limit++) {
      const char *rows = sorted(*state, cases[i].first, cases[i].second, limit);
      assert_int_equal(strlen(rows), limit);
      assert_memory_equal(rows, cases[i].rows, limit);
    }
  }
}

static double real(llmprof_frame *frame, const char *name, size_t row) {
  return llmprof_cell_real(test_cell(frame, name, row));
}

static const llmprof_aggregate every_statistic[] = {
    {"rows", LLMPROF_COUNT, SIZE_MAX, 0},
    {"count", LLMPROF_COUNT, SIZE, 0},
    {"distinct", LLMPROF_DISTINCT, STREAM, 0},
    {"sum", LLMPROF_SUM, SIZE, 0},
    {"mean", LLMPROF_MEAN, SIZE, 0},
    {"median", LLMPROF_MEDIAN, SIZE, 0},
    {"least", LLMPROF_MIN, SIZE, 0},
    {"std", LLMPROF_STDDEV, SIZE, 0},
    {"p25", LLMPROF_PERCENTILE, SIZE, 25},
    {"p75", LLMPROF_PERCENTILE, SIZE, 75},
    {"rate", LLMPROF_SUM, RATE, 0},
    {"largest", LLMPROF_MAX, RATE, 0},
};

static llmprof_frame *aggregated(little *l, llmprof_error *err) {
  const size_t keys[] = {NAME};
  return llmprof_frame_aggregate(
      l->frame, keys, 1, every_statistic,
      sizeof every_statistic / sizeof *every_statistic, err);
}

/* Rows that are groups of their own: the same numbers as of any groups, which
 * they are with one row more. */
TEST(rows_alone) {
  enum {
    ALL = 6
  };
  static const uint32_t keys[] = {4, 2, 9, UINT32_MAX, 1, 3, 3};
  static const int64_t wide[] = {7, INT64_MIN, 0, -5, INT64_MAX, 6, 6};
  static const double reals[] = {0.5, -1, NAN, 3, -0.0, 2, 2};
  static const uint32_t narrow[] = {1, 2, UINT32_MAX, 4, 5, 6, 6};
  const test_column columns[] = {
      {"key", NULL, LLMPROF_U32, keys, NULL, NULL, NULL},
      {"wide", "ns", LLMPROF_I64, wide, NULL, NULL, NULL},
      {"real", NULL, LLMPROF_F64, reals, NULL, NULL, NULL},
      {"narrow", NULL, LLMPROF_U32, narrow, NULL, NULL, NULL},
  };
  enum {
    STATISTICS = LLMPROF_PERCENTILE - LLMPROF_COUNT + 1,
    COLUMNS = 3 * STATISTICS
  };
  llmprof_aggregate wanted[COLUMNS + 1] = {
      {"rows", LLMPROF_COUNT, SIZE_MAX, 0}};
  for (size_t i = 0; i < COLUMNS; i++)
    wanted[i + 1] = (llmprof_aggregate){
        "made", (llmprof_statistic)(i % STATISTICS), 1 + i / STATISTICS, 30};
  const size_t key = 0;
  llmprof_frame *few = test_frame(ALL, NULL, columns, 4);
  llmprof_frame *more = test_frame(ALL + 1, NULL, columns, 4);
  llmprof_frame *alone =
      llmprof_frame_aggregate(few, &key, 1, wanted, COLUMNS + 1, NULL);
  llmprof_frame *groups =
      llmprof_frame_aggregate(more, &key, 1, wanted, COLUMNS + 1, NULL);
  assert_int_equal(llmprof_frame_rows(alone), ALL);
  assert_int_equal(llmprof_frame_rows(groups), ALL);
  for (size_t c = 0; c < COLUMNS + 2; c++) {
    const llmprof_column *a = llmprof_frame_peek(alone, c);
    const llmprof_column *b = llmprof_frame_peek(groups, c);
    assert_string_equal(a->name, b->name);
    assert_string_equal(a->unit ? a->unit : "", b->unit ? b->unit : "");
    assert_int_equal(a->type == LLMPROF_F64, b->type == LLMPROF_F64);
    for (size_t row = 0; row + 1 < ALL; row++)
      assert_int_equal(llmprof_cell(a, row), llmprof_cell(b, row));
  }
  llmprof_frame_free(alone);
  llmprof_frame_free(groups);
  llmprof_frame_free(few);
  llmprof_frame_free(more);
}

enum {
  MIXED = 3000
};

/* Keys of every kind against a comparison of the cells. */
static llmprof_frame *mixed_frame(llmprof_strings *pool) {
  static uint32_t texts[MIXED], index[MIXED], rows[MIXED];
  static uint32_t shorts[MIXED];
  static int64_t near[MIXED], far[MIXED];
  static double reals[MIXED];
  srand(7);
  for (size_t i = 0; i < MIXED; i++) {
    char text[64];
    int size = snprintf(text, sizeof text, "%s%*d", i % 3 ? "kernel_" : "",
                        rand() % 30, rand() % 500);
    assert_true(llmprof_strings_add(pool, text, (size_t)size, &texts[i]));
    if (rand() % 20 == 0) texts[i] = LLMPROF_NO_STRING;
    index[i] = rand() % 20 ? (uint32_t)(rand() % MIXED) : UINT32_MAX;
    near[i] = rand() % 20 ? rand() % 100 - 50 : LLMPROF_ABSENT;
    far[i] =
        rand() % 20 ? (rand() % 100 - 50) * (INT64_MAX / 60) : LLMPROF_ABSENT;
    reals[i] = rand() % 20 ? (rand() % 100 - 50) / 4.0 : NAN;
    shorts[i] = rand() % 9 ? (uint32_t)(rand() % 300) : UINT32_MAX;
    rows[i] = (uint32_t)i;
  }
  const test_column columns[] = {
      {"text", NULL, LLMPROF_STRING_ID, texts, NULL, NULL, NULL},
      {"near", NULL, LLMPROF_I64, near, NULL, NULL, NULL},
      {"far", NULL, LLMPROF_I64, far, NULL, NULL, NULL},
      {"real", NULL, LLMPROF_F64, reals, NULL, NULL, NULL},
      {"picked", NULL, LLMPROF_I64, near, index, NULL, NULL},
      {"short", NULL, LLMPROF_U32, shorts, NULL, NULL, NULL},
      {"row", NULL, LLMPROF_U32, rows, NULL, NULL, NULL},
  };
  return test_frame(MIXED, pool, columns, 7);
}

/* Below 0: the first row comes first by this key. */
static int in_order(const llmprof_frame *frame, llmprof_order by, size_t a,
                    size_t b) {
  const llmprof_column *column = llmprof_frame_peek(frame, by.column);
  int64_t left = llmprof_cell(column, a), right = llmprof_cell(column, b);
  if (left == LLMPROF_ABSENT || right == LLMPROF_ABSENT)
    return (left == LLMPROF_ABSENT) - (right == LLMPROF_ABSENT);
  int order = (left > right) - (left < right);
  if (column->type == LLMPROF_STRING_ID)
    order = strcmp(llmprof_cell_text(frame, column, a, NULL),
                   llmprof_cell_text(frame, column, b, NULL));
  return by.descending ? -order : order;
}

static void assert_ordered(const llmprof_frame *frame, llmprof_frame *view,
                           const llmprof_order *by) {
  const llmprof_column *rows = llmprof_frame_column(view, 6, NULL);
  for (size_t i = 1; i < llmprof_frame_rows(view); i++) {
    size_t before = (size_t)llmprof_cell(rows, i - 1);
    size_t row = (size_t)llmprof_cell(rows, i);
    int order = in_order(frame, by[0], before, row);
    if (!order) order = in_order(frame, by[1], before, row);
    assert_true(order < 0 || (order == 0 && before < row));
  }
}

TEST(every_order) {
  llmprof_strings *pool = llmprof_strings_new();
  llmprof_frame *frame = mixed_frame(pool);
  for (size_t key = 0; key < 6 * 6 * 4; key++) {
    llmprof_order by[] = {{key % 6, key / 36 % 2}, {key / 6 % 6, key / 72}};
    llmprof_frame *all = llmprof_frame_sort(frame, by, 2, SIZE_MAX, NULL);
    llmprof_frame *some = llmprof_frame_sort(frame, by, 2, 100, NULL);
    assert_int_equal(llmprof_frame_rows(all), MIXED);
    assert_ordered(frame, all, by);
    assert_ordered(frame, some, by);
    for (size_t row = 0; row < 100; row++)
      assert_int_equal(llmprof_cell(llmprof_frame_peek(all, 6), row),
                       llmprof_cell(llmprof_frame_peek(some, 6), row));
    llmprof_frame_free(all);
    llmprof_frame_free(some);
  }
  llmprof_frame_free(frame);
  llmprof_strings_free(pool);
}

enum {
  TOTALLED = 5000,
  TOTAL_COLUMNS = 6
};

/* Keys: small numbers as they are, through an index, wide ones close together
 * and far apart. Values: small numbers as they are, and through an index. */
static llmprof_frame *totals_frame(void) {
  static uint32_t shorts[TOTALLED], index[TOTALLED], values[TOTALLED];
  static int64_t near[TOTALLED], far[TOTALLED];
  srand(5);
  for (size_t i = 0; i < TOTALLED; i++) {
    shorts[i] = rand() % 7 ? (uint32_t)(rand() % 40) : UINT32_MAX;
    index[i] = rand() % 7 ? (uint32_t)(rand() % TOTALLED) : UINT32_MAX;
    values[i] = rand() % 7 ? UINT32_MAX - 1 - (uint32_t)rand() % 9 : UINT32_MAX;
    near[i] = rand() % 7 ? rand() % 30 - 15 : INT64_MIN;
    far[i] = near[i] == INT64_MIN ? INT64_MIN : near[i] * INT32_MAX;
  }
  const test_column columns[TOTAL_COLUMNS] = {
      {"short", NULL, LLMPROF_U32, shorts, NULL, NULL, NULL},
      {"picked", NULL, LLMPROF_U32, shorts, index, NULL, NULL},
      {"near", NULL, LLMPROF_I64, near, NULL, NULL, NULL},
      {"far", NULL, LLMPROF_I64, far, NULL, NULL, NULL},
      {"value", NULL, LLMPROF_U32, values, NULL, NULL, NULL},
      {"other", NULL, LLMPROF_U32, values, index, NULL, NULL},
  };
  return test_frame(TOTALLED, NULL, columns, TOTAL_COLUMNS);
}

static const llmprof_aggregate totalled[] = {
    {"rows", LLMPROF_COUNT, SIZE_MAX, 0}, {"sum", LLMPROF_SUM, 4, 0},
    {"mean", LLMPROF_MEAN, 4, 0},         {"least", LLMPROF_MIN, 4, 0},
    {"other", LLMPROF_SUM, 5, 0},         {"most", LLMPROF_MAX, 5, 0},
    {"median", LLMPROF_MEDIAN, 4, 0},
};

/* Counts and totals are the same where nothing else is asked for. */
TEST(totals) {
  llmprof_frame *frame = totals_frame();
  for (size_t key = 0; key < TOTAL_COLUMNS; key++) {
    llmprof_frame *all =
        llmprof_frame_aggregate(frame, &key, 1, totalled, 7, NULL);
    llmprof_frame *few =
        llmprof_frame_aggregate(frame, &key, 1, totalled, 6, NULL);
    size_t rows = llmprof_frame_rows(all);
    assert_int_equal(llmprof_frame_rows(few), rows);
    assert_true(rows >= 9);
    for (size_t c = 0; c < 7; c++) { /* the key, and six of the seven */
      for (size_t row = 0; row < rows; row++)
        assert_int_equal(llmprof_cell(llmprof_frame_peek(all, c), row),
                         llmprof_cell(llmprof_frame_peek(few, c), row));
    }
    llmprof_frame_free(all);
    llmprof_frame_free(few);
  }
  llmprof_frame_free(frame);
}

static bool make_totals(void *unused, llmprof_error *err) {
  const size_t key = 0;
  llmprof_frame *frame = totals_frame();
  llmprof_frame *made =
      frame ? llmprof_frame_aggregate(frame, &key, 1, totalled, 6, err)
            : (llmprof_fail_nomem(err), NULL);
  bool ok = made != NULL;
  llmprof_frame_free(made);
  llmprof_frame_free(frame);
  return ok;
}

TEST_WITH(aggregate, setup, teardown) {
  llmprof_frame *made = aggregated(*state, NULL);
  assert_non_null(made);
  assert_int_equal(llmprof_frame_rows(made), 4); /* b, a, none, ab */
  assert_int_equal(test_cell(made, "name", 2), INT64_MIN);
  assert_int_equal(test_cell(made, "rows", 0), 2);
  assert_int_equal(test_cell(made, "count", 3), 0);
  assert_int_equal(test_cell(made, "distinct", 0), 1);
  assert_int_equal(test_cell(made, "sum", 0), 50);
  assert_int_equal(test_cell(made, "sum", 1), 40);
  assert_int_equal(test_cell(made, "sum", 3), INT64_MIN);
  assert_int_equal(test_cell(made, "mean", 3), INT64_MIN);
  assert_true(real(made, "mean", 0) == 25);
  assert_true(real(made, "median", 1) == 20);
  assert_int_equal(test_cell(made, "least", 1), -10);
  assert_true(fabs(real(made, "std", 0) - 7.0710678) < 1e-6);
  assert_int_equal(test_cell(made, "std", 2), INT64_MIN); /* of one value */
  assert_true(real(made, "p25", 1) == 5);
  assert_true(real(made, "p75", 1) == 35);
  assert_true(real(made, "rate", 0) == 0.5);
  assert_true(real(made, "largest", 1) == INFINITY);
  llmprof_frame_free(made);
}

TEST_WITH(too_many_percentiles, setup, teardown) {
  little *l = *state;
  llmprof_aggregate wanted[LLMPROF_PERCENTILES + 1];
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
    wanted[i] = (llmprof_aggregate){"p", LLMPROF_PERCENTILE, SIZE, 50};
  llmprof_error err;
  assert_null(llmprof_frame_aggregate(l->frame, NULL, 0, wanted,
                                      LLMPROF_PERCENTILES + 1, &err));
  assert_int_equal(err.code, LLMPROF_LIMIT);
  assert_string_equal(err.message, "at most 8 percentiles");
}

TEST_WITH(extend, setup, teardown) {
  little *l = *state;
  static const int64_t about[] = {100, 200, 300};
  const size_t keys[] = {STREAM};
  const llmprof_column column = {
      .name = "about",
      .type = LLMPROF_I64,
      .values = llmprof_frame_array(l->frame, LLMPROF_I64, about)};
  llmprof_error err;
  assert_false(llmprof_frame_extend(l->frame, keys, 1, 2, &column, 1, &err));
  assert_int_equal(err.code, LLMPROF_RANGE);
  assert_string_equal(err.message, "3 groups, not 2");
  assert_true(llmprof_frame_extend(l->frame, keys, 1, 3, &column, 1, NULL));
  static const int64_t wanted[ROWS] = {100, 100, 200, 300, 300, 100};
  for (size_t row = 0; row < ROWS; row++)
    assert_int_equal(test_cell(l->frame, "about", row), wanted[row]);
}

/* Every query, one after the other; false at the first failure. */
static bool all_queries(little *l, llmprof_error *err) {
  const llmprof_order keys[] = {{NAME, true}, {RATE, false}};
  const int64_t value = 0;
  const llmprof_condition condition = {SIZE, LLMPROF_GT, &value, 1};
  llmprof_frame *sorted_view =
      llmprof_frame_sort(l->frame, keys, 2, SIZE_MAX, err);
  llmprof_frame *first =
      sorted_view ? llmprof_frame_sort(l->frame, keys, 2, 2, err) : NULL;
  llmprof_frame *matching =
      first ? llmprof_frame_where(sorted_view, &condition, 1, err) : NULL;
  llmprof_frame *groups = matching ? aggregated(l, err) : NULL;
  bool ok = groups && llmprof_frame_column(matching, SIZE, err);
  llmprof_frame_free(groups);
  llmprof_frame_free(matching);
  llmprof_frame_free(first);
  llmprof_frame_free(sorted_view);
  return ok;
}

static bool make_and_ask(void *unused, llmprof_error *err) {
  little l = {0};
  bool ok = little_make(&l, err) && all_queries(&l, err);
  little_free(&l);
  return ok;
}

TEST(allocations) {
  test_every_allocation(make_and_ask, NULL);
  test_every_allocation(make_totals, NULL);
}

TEST_WITH(interrupt, setup, teardown) {
  little *l = *state;
  const size_t keys[] = {NAME};
  llmprof_error err = {0};
  llmprof_interrupt(true);
  assert_false(all_queries(l, &err));
  assert_int_equal(err.code, LLMPROF_INTERRUPTED);
  assert_null(llmprof_frame_where(l->frame, NULL, 0, &err));
  assert_int_equal(err.code, LLMPROF_INTERRUPTED);
  assert_null(llmprof_frame_aggregate(l->frame, keys, 1, NULL, 0, &err));
  assert_int_equal(err.code, LLMPROF_INTERRUPTED);
  assert_string_equal(err.message, "interrupted");
  llmprof_interrupt(false);
  assert_true(all_queries(l, &err));
}

TEST(real_cells) {
  static const double ascending[] = {-INFINITY, -1e300, -1.5,  -1e-300, 0,
                                     1e-300,    1.5,    1e300, INFINITY};
  for (size_t i = 0; i < sizeof ascending / sizeof *ascending; i++) {
    int64_t here = llmprof_real_cell(ascending[i]);
    assert_true(llmprof_cell_real(here) == ascending[i]);
    assert_true(here > INT64_MIN);
    if (i) assert_true(here > llmprof_real_cell(ascending[i - 1]));
  }
  assert_int_equal(llmprof_real_cell(-0.0), llmprof_real_cell(0.0));
  assert_int_equal(llmprof_real_cell(NAN), INT64_MIN);
  assert_int_equal(llmprof_real_cell(-NAN), INT64_MIN);
}

/* In order also when strings have come since the pool's were put in order. */
TEST_WITH(names_since, setup, teardown) {
  little *l = *state;
  const llmprof_order by = {.column = NAME};
  const size_t rows = ROWS;
  llmprof_frame_free(llmprof_frame_sort(l->frame, &by, 1, rows, NULL));
  assert_true(llmprof_strings_add(l->pool, "aa", 2, &l->ids[0]));
  const test_column columns[] = {
      {"name", NULL, LLMPROF_STRING_ID, l->ids, NULL, l->pool, NULL},
      {"row", NULL, LLMPROF_U32, row_numbers, NULL, NULL, NULL}};
  llmprof_frame *frame = test_frame(ROWS, l->pool, columns, 2);
  llmprof_frame *view = llmprof_frame_sort(frame, &by, 1, rows, NULL);
  static const int64_t expected[ROWS] = {1, 5, 0, 4, 2, 3};
  for (size_t i = 0; i < ROWS; i++)
    assert_int_equal(llmprof_cell(llmprof_frame_column(view, 1, NULL), i),
                     expected[i]);
  llmprof_frame_free(view);
  llmprof_frame_free(frame);
}

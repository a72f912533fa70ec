#include "frame/group_by.h"
#include "frame/interval.h"

#include <stdlib.h>
#include <string.h>

#include "support.h"

#define SET(...)                                                   \
  ((llmprof_intervals){(llmprof_interval[]){__VA_ARGS__},          \
                       sizeof((llmprof_interval[]){__VA_ARGS__}) / \
                           sizeof(llmprof_interval)})

static void expect_set(const llmprof_intervals *got,
                       const llmprof_intervals *expected) {
  assert_int_equal(got->count, expected->count);
  for (size_t i = 0; i < got->count; i++) {
    assert_true(got->items[i].start == expected->items[i].start);
    assert_true(got->items[i].end == expected->items[i].end);
  }
}

static const llmprof_intervals none = {NULL, 0};

/* ---- unions ---- */

static void expect_merged(llmprof_intervals given, llmprof_intervals expected) {
  given.count = llmprof_intervals_merge(given.items, given.count);
  expect_set(&given, &expected);
}

TEST(merge) {
  expect_merged(none, none);
  expect_merged(SET({1, 2}), SET({1, 2}));
  expect_merged(SET({1, 2}, {2, 3}), SET({1, 3})); /* touching */
  expect_merged(SET({1, 2}, {3, 4}), SET({1, 2}, {3, 4}));
  expect_merged(SET({5, 9}, {1, 6}), SET({1, 9}));
  expect_merged(SET({1, 9}, {2, 3}, {4, 12}), SET({1, 12})); /* within */
  expect_merged(SET({3, 3}, {9, 5}, {1, 2}), SET({1, 2}));   /* nothing */
  expect_merged(SET({-5, -1}, {INT64_MIN, -3}, {1, INT64_MAX}),
                SET({INT64_MIN, -1}, {1, INT64_MAX}));
}

/* Frame with start and end columns; absent cells leave a row out. */
static llmprof_frame *frame_of(const int64_t *starts, const int64_t *ends,
                               const uint32_t *keys, size_t rows) {
  const test_column columns[] = {
      {"start", "ns", LLMPROF_I64, starts, NULL, NULL, NULL},
      {"end", "ns", LLMPROF_I64, ends, NULL, NULL, NULL},
      {"key", NULL, LLMPROF_U32, keys, NULL, NULL, NULL},
  };
  return test_frame(rows, NULL, columns, 3);
}

enum {
  ROWS = 8
};

static const int64_t starts[ROWS] = {50, 10, 12, INT64_MIN, 80, 5, 60, 7};
static const int64_t ends[ROWS] = {60, 20, 15, 99, INT64_MIN, 4, 70, 8};
static const uint32_t keys[ROWS] = {0, 0, 0, 0, 1, 1, 2, 2};

TEST(union_of_a_frame) {
  llmprof_error err;
  llmprof_intervals set;
  llmprof_frame *frame = frame_of(starts, ends, keys, ROWS);
  assert_true(llmprof_intervals_of_frame(&set, frame, 0, 1, &err));
  expect_set(&set, &SET({7, 8}, {10, 20}, {50, 70}));
  llmprof_intervals_free(&set);
  assert_null(set.items);
  llmprof_intervals_free(&set);
  llmprof_frame_free(frame);
}

TEST(by_group) {
  llmprof_error err;
  llmprof_groups groups;
  llmprof_extent extents[3];
  llmprof_frame *frame = frame_of(starts, ends, keys, ROWS);
  assert_true(llmprof_groups_make(&groups, frame, (size_t[]){2}, 1, &err));
  assert_int_equal(groups.count, 3);
  assert_true(llmprof_intervals_by_group(frame, 0, 1, &groups, extents, &err));
  static const llmprof_extent expected[] = {
      {20, 10, 60}, {0, INT64_MIN, INT64_MIN}, {11, 7, 70}};
  assert_memory_equal(extents, expected, sizeof expected);
  llmprof_groups_free(&groups);
  llmprof_frame_free(frame);
}

/* By group what all of a window's ticks say; windows may overlap. */
TEST(windows_by_group) {
  enum {
    MANY = 2500,
    GROUPS = 3,
    TICKS = 4000,
    WINDOWS = 40
  };
  static int64_t from[MANY], to[MANY], covered[GROUPS * WINDOWS];
  static uint32_t of[MANY];
  static bool lit[GROUPS][TICKS];
  llmprof_interval windows[WINDOWS];
  llmprof_groups groups;
  llmprof_error err;
  srand(3);
  for (size_t i = 0; i < MANY; i++) {
    of[i] = i < GROUPS ? (uint32_t)i : (uint32_t)(rand() % GROUPS);
    from[i] = rand() % (TICKS - 30);
    to[i] = rand() % 50 ? from[i] + rand() % 4 - 1 : LLMPROF_ABSENT;
    if (rand() % 50 == 0) from[i] = LLMPROF_ABSENT;
    if (from[i] == LLMPROF_ABSENT) continue;
    for (int64_t t = from[i]; t < to[i]; t++) lit[of[i]][t] = true;
  }
  for (int i = 0; i < WINDOWS; i++)
    windows[i] = (llmprof_interval){i * 90, i * 90 + (i % 3 + 1) * 60};
  for (int i = 1; i < WINDOWS; i++)
    if (windows[i].end < windows[i - 1].end)
      windows[i].end = windows[i - 1].end;
  llmprof_frame *frame = frame_of(from, to, of, MANY);
  assert_true(llmprof_groups_make(&groups, frame, (size_t[]){2}, 1, &err));
  assert_true(llmprof_intervals_in_windows(frame, 0, 1, &groups, windows,
                                           WINDOWS, covered, &err));
  for (int i = 0; i < GROUPS * WINDOWS; i++) {
    int64_t expected = 0;
    llmprof_interval w = windows[i % WINDOWS];
    for (int64_t t = w.start; t < w.end && t < TICKS; t++)
      expected += lit[i / WINDOWS][t];
    assert_int_equal(covered[i], expected);
  }
  llmprof_groups_free(&groups);
  llmprof_frame_free(frame);
}

/* ---- measuring ---- */

TEST(covered) {
  llmprof_intervals set = SET({10, 20}, {30, 40}, {50, 60});
  assert_int_equal(llmprof_intervals_covered(&set, INT64_MIN, INT64_MAX), 30);
  assert_int_equal(llmprof_intervals_covered(&set, 15, 35), 10);
  assert_int_equal(llmprof_intervals_covered(&set, 20, 30), 0);
  assert_int_equal(llmprof_intervals_covered(&set, 12, 13), 1);
  assert_int_equal(llmprof_intervals_covered(&set, 60, 99), 0);
  assert_int_equal(llmprof_intervals_covered(&set, 15, 12), 0);
  assert_int_equal(llmprof_intervals_covered(&none, 0, 100), 0);
}

static void expect_gaps(int64_t from, int64_t to, int64_t shortest,
                        llmprof_intervals expected) {
  llmprof_intervals set = SET({10, 20}, {25, 40}, {50, 60}), gaps;
  llmprof_error err;
  assert_true(llmprof_intervals_gaps(&gaps, &set, from, to, shortest, &err));
  expect_set(&gaps, &expected);
  llmprof_intervals_free(&gaps);
}

TEST(gaps) {
  expect_gaps(0, 70, 1, SET({0, 10}, {20, 25}, {40, 50}, {60, 70}));
  expect_gaps(0, 70, 6, SET({0, 10}, {40, 50}, {60, 70}));
  expect_gaps(15, 55, 1, SET({20, 25}, {40, 50}));
  expect_gaps(21, 24, 1, SET({21, 24}));
  expect_gaps(12, 18, 1, none);
  expect_gaps(60, 60, 1, none);
  expect_gaps(70, 60, 1, none);
  expect_gaps(0, 70, -5, SET({0, 10}, {20, 25}, {40, 50}, {60, 70}));
  llmprof_intervals gaps;
  assert_true(llmprof_intervals_gaps(&gaps, &none, 3, 9, 1, NULL));
  expect_set(&gaps, &SET({3, 9}));
  llmprof_intervals_free(&gaps);
}

static void expect_overlap(llmprof_intervals a, llmprof_intervals b,
                           int64_t expected) {
  assert_true(llmprof_intervals_overlap(&a, &b) == expected);
  assert_true(llmprof_intervals_overlap(&b, &a) == expected);
}

TEST(overlap) {
  expect_overlap(SET({0, 10}, {20, 30}), SET({5, 25}), 10);
  expect_overlap(SET({0, 10}), SET({10, 20}), 0);
  expect_overlap(SET({0, 100}), SET({1, 2}, {3, 4}, {99, 200}), 3);
  expect_overlap(SET({0, 10}), none, 0);
}

TEST(join) {
  const struct {
    llmprof_intervals a, b, expected;
  } cases[] = {
      {none, none, none},
      {SET({1, 2}), none, SET({1, 2})},
      {SET({1, 2}, {8, 9}), SET({2, 3}, {4, 5}), SET({1, 3}, {4, 5}, {8, 9})},
      {SET({1, 20}), SET({2, 3}, {4, 30}), SET({1, 30})},
      {SET({5, 6}), SET({1, 9}), SET({1, 9})},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    llmprof_intervals one, other;
    assert_true(llmprof_intervals_join(&one, &cases[i].a, &cases[i].b, NULL));
    assert_true(llmprof_intervals_join(&other, &cases[i].b, &cases[i].a, NULL));
    expect_set(&one, &cases[i].expected);
    expect_set(&other, &cases[i].expected);
    llmprof_intervals_free(&one);
    llmprof_intervals_free(&other);
  }
}

/* Times of a broken file: no wrap-around. */
TEST(longer_than_64_bits) {
  llmprof_intervals all = SET({INT64_MIN, INT64_MAX});
  llmprof_intervals halves = SET({INT64_MIN, -1}, {1, INT64_MAX});
  assert_true(llmprof_intervals_covered(&all, INT64_MIN, INT64_MAX) ==
              INT64_MAX);
  assert_true(llmprof_intervals_covered(&halves, INT64_MIN, INT64_MAX) ==
              INT64_MAX);
  expect_overlap(all, halves, INT64_MAX);
  llmprof_intervals gaps;
  assert_true(
      llmprof_intervals_gaps(&gaps, &none, INT64_MIN, INT64_MAX, 1, NULL));
  expect_set(&gaps, &all);
  llmprof_intervals_free(&gaps);
}

/* ---- against counting each nanosecond ---- */

TEST(random_sets) {
  enum {
    TIMES = 64
  };
  uint32_t next = 1;
  for (int round = 0; round < 500; round++) {
    bool covered[TIMES] = {false};
    llmprof_interval items[12];
    for (size_t i = 0; i < 12; i++) {
      next = next * 1664525 + 1013904223;
      items[i].start = next >> 8 & 63;
      items[i].end = items[i].start + (next >> 16 & 7);
      for (int64_t t = items[i].start; t < items[i].end && t < TIMES; t++)
        covered[t] = true;
    }
    llmprof_intervals set = {items, llmprof_intervals_merge(items, 12)}, gaps;
    int64_t from = next >> 20 & 31, to = from + (next >> 25 & 31), expected = 0;
    for (int64_t t = from; t < to; t++) expected += covered[t];
    assert_int_equal(llmprof_intervals_covered(&set, from, to), expected);
    assert_true(llmprof_intervals_gaps(&gaps, &set, from, to, 1, NULL));
    assert_int_equal(llmprof_intervals_covered(&gaps, from, to),
                     to - from - expected);
    assert_int_equal(llmprof_intervals_overlap(&set, &gaps), 0);
    llmprof_intervals both, here = SET({from, to});
    assert_int_equal(llmprof_intervals_overlap(&set, &here), expected);
    assert_true(llmprof_intervals_join(&both, &set, &gaps, NULL));
    assert_int_equal(llmprof_intervals_covered(&both, from, to), to - from);
    llmprof_intervals_free(&both);
    llmprof_intervals_free(&gaps);
  }
}

/* ---- out of memory ---- */

static bool use_all(llmprof_frame *frame, llmprof_error *err) {
  llmprof_intervals set, gaps;
  llmprof_groups groups = {0};
  llmprof_extent extents[3];
  const llmprof_interval window[] = {{0, 100}};
  int64_t covered[3];
  if (!llmprof_intervals_of_frame(&set, frame, 0, 1, err)) return false;
  bool ok = llmprof_intervals_gaps(&gaps, &set, 0, 100, 1, err);
  if (ok) {
    llmprof_intervals both = {0};
    ok = llmprof_intervals_join(&both, &set, &gaps, err);
    llmprof_intervals_free(&both);
    llmprof_intervals_free(&gaps);
  }
  llmprof_intervals_free(&set);
  ok = ok && llmprof_groups_make(&groups, frame, (size_t[]){2}, 1, err) &&
       llmprof_intervals_by_group(frame, 0, 1, &groups, extents, err) &&
       llmprof_intervals_in_windows(frame, 0, 1, &groups, window, 1, covered,
                                    err);
  llmprof_groups_free(&groups);
  return ok;
}

static bool make_and_use(void *arg, llmprof_error *err) {
  llmprof_frame *frame = frame_of(starts, ends, keys, ROWS);
  bool ok = frame ? use_all(frame, err) : llmprof_fail_nomem(err);
  llmprof_frame_free(frame);
  return ok;
}

TEST(allocations) {
  test_every_allocation(make_and_use, NULL);
}

/* Against qsort, on what traces have: sorted, nearly sorted, few values. */
#include "frame/sort.h"

#include <stdlib.h>
#include <string.h>

#include "support.h"

enum {
  MOST = 5000,
  PLENTY = 200003 /* a prime */
};

static const size_t counts[] = {0, 1, 2, 3, 47, 48, 49, 300, MOST};

static uint32_t next_random(uint32_t *seed) {
  *seed = *seed * 1664525 + 1013904223;
  return *seed >> 4;
}

static int64_t limits(uint32_t random) {
  static const int64_t values[] = {INT64_MIN, INT64_MIN + 1, -1,       0,
                                   1,         INT64_MAX - 1, INT64_MAX};
  return values[random % 7];
}

/* Value i of a kind of input. */
static int64_t value_of(int kind, size_t i, uint32_t random) {
  switch (kind) {
  case 0:
    return (int64_t)i;
  case 1:
    return -(int64_t)i;
  case 2:
    return 7;
  case 3:
    return random % 5;
  case 4:
    return (int64_t)i * 1000 + random % 3000; /* nearly sorted */
  case 5:
    return (int64_t)((uint64_t)random << 36 ^ random);
  case 6:
    return (int64_t)(i ^ 0x155) + 40; /* close, and all differ */
  case 7:
    return i % 1000 == 999 ? 3 : (int64_t)(i ^ 0x155); /* but for a few */
  default:
    return limits(random);
  }
}

enum {
  KINDS = 9
};

static void fill(int64_t *values, size_t count, int kind) {
  uint32_t seed = (uint32_t)count + 1;
  for (size_t i = 0; i < count; i++)
    values[i] = value_of(kind, i, next_random(&seed));
}

static int by_value(const void *left, const void *right) {
  int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
  return (a > b) - (a < b);
}

typedef void (*checker)(const int64_t *values, size_t count);

static void check_all(checker check) {
  static int64_t values[MOST];
  for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
    for (int kind = 0; kind < KINDS; kind++) {
      fill(values, counts[c], kind);
      check(values, counts[c]);
    }
  }
}

static void check_values(const int64_t *values, size_t count) {
  static int64_t got[MOST], wanted[MOST], scratch[MOST];
  memcpy(got, values, count * sizeof *got);
  memcpy(wanted, values, count * sizeof *wanted);
  qsort(wanted, count, sizeof *wanted, by_value);
  llmprof_sort_i64(got, count, scratch);
  assert_memory_equal(got, wanted, count * sizeof *got);
}

TEST(values) {
  check_all(check_values);
}

/* Ascending by key, and rows with equal keys in the order they had. */
static void assert_sorted(const uint32_t *rows, size_t count,
                          const int64_t *keys) {
  for (size_t i = 1; i < count; i++) {
    int64_t before = keys[rows[i - 1]], now = keys[rows[i]];
    assert_true(before < now || (before == now && rows[i - 1] < rows[i]));
  }
}

static void check_rows(const int64_t *values, size_t count) {
  static uint32_t rows[MOST], narrow[MOST];
  static int64_t wide[MOST];
  for (uint32_t i = 0; i < count; i++) rows[i] = i;
  assert_true(llmprof_sort_rows_i64(rows, count, values));
  assert_sorted(rows, count, values);
  for (uint32_t i = 0; i < count; i++) {
    rows[i] = i;
    narrow[i] = (uint32_t)values[i];
    wide[i] = narrow[i];
  }
  assert_true(llmprof_sort_rows_u32(rows, count, narrow));
  assert_sorted(rows, count, wide);
}

TEST(rows) {
  check_all(check_rows);
}

/* Some of the rows of a longer list of keys. */
TEST(rows_of_a_part) {
  static const uint32_t keys[] = {9, 1, 8, 2, 7, 3};
  uint32_t rows[] = {5, 0, 4, 1};
  assert_true(llmprof_sort_rows_u32(rows, 4, keys));
  static const uint32_t sorted[] = {1, 5, 4, 0};
  assert_memory_equal(rows, sorted, sizeof rows);
}

/* Many keys that differ, in a few runs and in many, and such of which two are
 * the same, wherever these are. */
static void check_many(uint32_t *keys, size_t count) {
  static uint32_t rows[PLENTY];
  static int64_t wide[PLENTY];
  for (uint32_t i = 0; i < count; i++) {
    rows[i] = i;
    wide[i] = keys[i];
  }
  assert_true(llmprof_sort_rows_u32(rows, count, keys));
  assert_sorted(rows, count, wide);
}

TEST(many_rows) {
  static uint32_t keys[PLENTY];
  static const uint32_t steps[] = {5, 99991};
  for (size_t s = 0; s < 2; s++) {
    for (size_t i = 0; i < PLENTY; i++)
      keys[i] = 1000 + (uint32_t)(i * steps[s] % PLENTY) * 3 / 2;
    check_many(keys, PLENTY);
    keys[PLENTY - 1] = keys[0];
    check_many(keys, PLENTY);
    keys[1] = keys[2];
    check_many(keys, PLENTY);
  }
}

static bool sort_rows(void *arg, llmprof_error *err) {
  static const int64_t keys[] = {3, 2, 1, 0};
  uint32_t rows[] = {0, 1, 2, 3}, kept[] = {0, 1, 2, 3};
  bool ok = llmprof_sort_rows_i64(rows, 4, keys);
  if (!ok) assert_memory_equal(rows, kept, sizeof rows);
  return ok || llmprof_fail_nomem(err);
}

TEST(allocations) {
  test_every_allocation(sort_rows, NULL);
}

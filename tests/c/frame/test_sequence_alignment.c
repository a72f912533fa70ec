/* Rows paired by order: a program is run twice, and what either run shows is
 * damaged. */
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "frame/relate.h"
#include "support.h"

#define NONE INT64_MIN

enum {
  MOST = 1 << 18
};

typedef struct run {
  int64_t *word, *place, *turn; /* place: of the step in the program */
  size_t count;
} run;

static run run_new(void) {
  run r = {test_malloc(MOST * sizeof(int64_t)),
           test_malloc(MOST * sizeof(int64_t)),
           test_malloc(MOST * sizeof(int64_t)), 0};
  return r;
}

static void run_free(run *r) {
  test_free(r->word);
  test_free(r->place);
  test_free(r->turn);
}

static void put(run *r, int64_t word, int64_t place, int64_t turn) {
  assert_true(r->count < MOST);
  r->word[r->count] = word;
  r->place[r->count] = place;
  r->turn[r->count++] = turn;
}

/* A step of a model: something before, layers that are alike, something
 * behind. The word says which kernel, the place which operation it is of. */
static void put_step(run *r, size_t layers, int64_t turn) {
  int64_t place = 0;
  put(r, 100, place++, turn);
  put(r, 101, place++, turn);
  for (size_t layer = 0; layer < layers; layer++) {
    for (int64_t i = 0; i < 11; i++) put(r, i % 7, place++, turn);
  }
  put(r, 102, place++, turn);
}

static llmprof_frame *frame_of(const run *r, llmprof_strings *pool) {
  const test_column columns[] = {
      {.name = "word", .type = LLMPROF_I64, .data = r->word},
      {.name = "turn", .type = LLMPROF_I64, .data = r->turn},
  };
  return test_frame(r->count, pool, columns, 2);
}

static void pair(const run *left, const run *right, bool turns, int64_t *rows) {
  llmprof_strings *pool = llmprof_strings_new();
  llmprof_frame *here = frame_of(left, pool), *there = frame_of(right, pool);
  llmprof_error err = {0};
  if (!llmprof_frame_pair(here, 0, turns ? 1 : SIZE_MAX, there, 0, "row", &err))
    fail_msg("%s", err.message);
  const llmprof_column *made =
      llmprof_frame_column(here, llmprof_frame_find(here, "row"), NULL);
  for (size_t i = 0; i < left->count; i++) {
    rows[i] = llmprof_cell(made, i);
    if (rows[i] != NONE) assert_int_equal(left->word[i], right->word[rows[i]]);
  }
  llmprof_frame_free(here);
  llmprof_frame_free(there);
  llmprof_strings_free(pool);
}

typedef struct score {
  size_t paired, right;
} score;

/* How many pairs there are, and how many of the same place in the program. */
static score judge(const run *left, const run *right, bool turns) {
  int64_t *rows = test_malloc(MOST * sizeof *rows);
  pair(left, right, turns, rows);
  score s = {0, 0};
  for (size_t i = 0; i < left->count; i++) {
    s.paired += rows[i] != NONE;
    s.right += rows[i] != NONE && left->place[i] == right->place[rows[i]];
  }
  test_free(rows);
  return s;
}

static void check(const int64_t *left, size_t left_count, const int64_t *right,
                  size_t right_count, const int64_t *wanted) {
  run a = run_new(), b = run_new();
  int64_t *rows = test_malloc(MOST * sizeof *rows);
  for (size_t i = 0; i < left_count; i++) put(&a, left[i], 0, 0);
  for (size_t i = 0; i < right_count; i++) put(&b, right[i], 0, 0);
  pair(&a, &b, false, rows);
  for (size_t i = 0; i < left_count; i++) assert_int_equal(rows[i], wanted[i]);
  test_free(rows);
  run_free(&a);
  run_free(&b);
}

#define CHECK(left, right, ...)                                       \
  check((int64_t[])left, sizeof((int64_t[])left) / sizeof(int64_t),   \
        (int64_t[])right, sizeof((int64_t[])right) / sizeof(int64_t), \
        (int64_t[])__VA_ARGS__)
#define LIST(...) \
  { __VA_ARGS__ }

TEST(a_few_rows) {
  CHECK(LIST(1, 2, 3), LIST(1, 2, 3), {0, 1, 2});
  CHECK(LIST(1, 3), LIST(1, 2, 3), {0, 2});
  CHECK(LIST(1, 9, 2, 3), LIST(1, 2, 3), {0, NONE, 1, 2});
  CHECK(LIST(9, 1, 2, 3, 8), LIST(1, 2, 3), {NONE, 0, 1, 2, NONE});
  CHECK(LIST(2, 1, 3, 4, 5, 6), LIST(1, 2, 3, 4, 5, 6), {NONE, 0, 2, 3, 4, 5});
  CHECK(LIST(7, 8), LIST(1, 2, 3), {NONE, NONE});
  CHECK(LIST(NONE, 2), LIST(NONE, 2), {NONE, 1});
}

TEST(nothing) {
  run empty = run_new(), one = run_new();
  put(&one, 1, 0, 0);
  assert_int_equal(judge(&empty, &one, false).paired, 0);
  assert_int_equal(judge(&one, &empty, true).paired, 0);
  assert_int_equal(judge(&empty, &empty, false).paired, 0);
  run_free(&empty);
  run_free(&one);
}

/* More steps and more repeats than the other run has. */
TEST(repeats) {
  run left = run_new(), right = run_new();
  for (size_t step = 0; step < 15; step++) put_step(&right, 24, 0);
  for (int64_t repeat = 0; repeat < 3; repeat++) {
    for (size_t step = 0; step < 63; step++) put_step(&left, 24, repeat);
  }
  score s = judge(&left, &right, true);
  assert_int_equal(s.paired, left.count);
  assert_int_equal(s.right, left.count);
  run_free(&left);
  run_free(&right);
}

static unsigned dice(unsigned *seed, unsigned sides) {
  *seed = *seed * 1664525u + 1013904223u;
  return (*seed >> 8) % sides;
}

/* One in `rarity` rows is dropped, doubled by a stranger, or swapped. */
static void damage(const run *whole, run *broken, unsigned rarity,
                   unsigned seed) {
  for (size_t i = 0; i < whole->count; i++) {
    unsigned what = dice(&seed, 3 * rarity);
    if (what == 0) continue;
    if (what == 1) put(broken, 900 + dice(&seed, 5), -1, whole->turn[i]);
    if (what == 2 && i + 1 < whole->count &&
        whole->turn[i] == whole->turn[i + 1]) {
      put(broken, whole->word[i + 1], whole->place[i + 1], whole->turn[i + 1]);
      put(broken, whole->word[i], whole->place[i], whole->turn[i]);
      i++;
    } else {
      put(broken, whole->word[i], whole->place[i], whole->turn[i]);
    }
  }
}

TEST(damages) {
  static const struct {
    unsigned rarity;
    double paired, right; /* of all rows; of the pairs; at least */
  } cases[] = {{1000, 0.999, 0.999}, {100, 0.98, 0.98}, {20, 0.9, 0}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    run whole = run_new(), left = run_new(), right = run_new(),
        other = run_new();
    for (size_t step = 0; step < 15; step++) put_step(&other, 24, 0);
    for (int64_t repeat = 0; repeat < 3; repeat++) {
      for (size_t step = 0; step < 63; step++) put_step(&whole, 24, repeat);
    }
    damage(&whole, &left, cases[c].rarity, 7);
    damage(&other, &right, cases[c].rarity, 11);
    score s = judge(&left, &right, true);
    assert_true((double)s.paired >= cases[c].paired * (double)left.count);
    assert_true((double)s.right >= cases[c].right * (double)s.paired);
    run_free(&whole);
    run_free(&left);
    run_free(&right);
    run_free(&other);
  }
}

/* A run that nobody knows, longer than what is looked at near by. */
TEST(a_long_stranger) {
  run left = run_new(), right = run_new();
  for (size_t step = 0; step < 4; step++) put_step(&right, 10, 0);
  put_step(&left, 10, 0);
  for (int64_t i = 0; i < 500; i++) put(&left, 1000 + i, -1, 0);
  put_step(&left, 10, 0);
  put_step(&left, 10, 0);
  score s = judge(&left, &right, false);
  assert_int_equal(s.paired, left.count - 500);
  assert_int_equal(s.right, left.count - 500);
  run_free(&left);
  run_free(&right);
}

/* All alike, and nothing alike: neither takes the square of the rows. */
TEST(the_worst) {
  run left = run_new(), right = run_new(), strange = run_new();
  unsigned seed = 3;
  for (size_t i = 0; i < 100000; i++) {
    put(&left, 1, 0, 0);
    put(&right, 1, 0, 0);
    put(&strange, dice(&seed, 3), 0, 0);
  }
  assert_int_equal(judge(&left, &right, false).paired, 100000);
  judge(&left, &strange, false);
  judge(&strange, &right, false);
  run_free(&left);
  run_free(&right);
  run_free(&strange);
}

static bool make_and_pair(void *unused, llmprof_error *err) {
  static const int64_t left[] = {1, 2, 3, 1, 2}, right[] = {1, 3, 1, 2};
  llmprof_strings *pool = llmprof_strings_new();
  const test_column of_left = {
      .name = "word", .type = LLMPROF_I64, .data = left};
  const test_column of_right = {
      .name = "word", .type = LLMPROF_I64, .data = right};
  llmprof_frame *here = pool ? test_frame(5, pool, &of_left, 1) : NULL;
  llmprof_frame *there = here ? test_frame(4, pool, &of_right, 1) : NULL;
  bool ok = there || llmprof_fail_nomem(err);
  ok = ok && llmprof_frame_pair(here, 0, 0, there, 0, "row", err);
  llmprof_frame_free(here);
  llmprof_frame_free(there);
  llmprof_strings_free(pool);
  return ok;
}

TEST(allocations) {
  test_every_allocation(make_and_pair, NULL);
}

TEST(interrupt) {
  llmprof_error err = {0};
  llmprof_interrupt(true);
  assert_false(make_and_pair(NULL, &err));
  assert_int_equal(err.code, LLMPROF_INTERRUPTED);
  llmprof_interrupt(false);
  assert_true(make_and_pair(NULL, &err));
}

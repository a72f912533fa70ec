#include "ranks/collectives.h"

#include "support.h"

#define ABSENT INT64_MIN

/* Three ranks. Key 1 runs twice on all of them (rank 2 lacks the second), key 2
 * once, and only on rank 0. Rows are in no order. */
enum {
  ROWS = 8
};

static const uint32_t ranks[ROWS] = {1, 0, 2, 0, 1, 0, 1, 2};
static const int64_t starts[ROWS] = {120, 10, 40, 100, 30, 60, 5, 41};
static const int64_t ends[ROWS] = {150, 50, 52, 148, 51, 70, ABSENT, 41};
static const uint32_t keys[ROWS] = {1, 1, 1, 1, 1, 2, 1, UINT32_MAX};

enum {
  RANK,
  START,
  END,
  KEY,
  ORDINAL
};

static const llmprof_collective_columns columns = {RANK, START,   END,
                                                   KEY,  ORDINAL, SIZE_MAX};

static llmprof_frame *rows_frame(void) {
  const test_column made[] = {
      {"rank", NULL, LLMPROF_U32, ranks, NULL, NULL, NULL},
      {"start", "ns", LLMPROF_I64, starts, NULL, NULL, NULL},
      {"end", "ns", LLMPROF_I64, ends, NULL, NULL, NULL},
      {"key", NULL, LLMPROF_U32, keys, NULL, NULL, NULL},
  };
  return test_frame(ROWS, NULL, made, 4);
}

TEST(number) {
  llmprof_error err;
  llmprof_frame *rows = rows_frame();
  assert_true(llmprof_collectives_number(rows, &columns, "ordinal", &err));
  TEST_CELLS(rows, "ordinal", 2, 0, 0, 1, 1, 0, 0, ABSENT);
  llmprof_frame_free(rows);
}

/* Row 6 has no end: rank 1's first is not known, its later ones are numbered
 * as if it were. */
TEST(match) {
  static const int64_t ordinals[ROWS] = {1, 0, 0, 1, 0, 0, ABSENT, 0};
  const test_column ordinal = {"ordinal", NULL, LLMPROF_I64, ordinals,
                               NULL,      NULL, NULL};
  llmprof_error err;
  llmprof_frame *rows = rows_frame();
  assert_true(test_add(rows, &ordinal));
  assert_true(llmprof_collectives_match(rows, &columns, &err));
  TEST_CELLS(rows, "instance", 1, 0, 0, 1, 0, ABSENT, ABSENT, ABSENT);
  TEST_CELLS(rows, "members", 2, 3, 3, 2, 3, ABSENT, ABSENT, ABSENT);
  TEST_CELLS(rows, "waiting", 0, 30, 0, 20, 10, ABSENT, ABSENT, ABSENT);
  TEST_CELLS(rows, "transfer", 30, 12, 12, 30, 12, ABSENT, ABSENT, ABSENT);
  TEST_CELLS(rows, "skew", 20, 30, 30, 20, 30, ABSENT, ABSENT, ABSENT);
  TEST_CELLS(rows, "late", 20, ABSENT, 10, ABSENT, ABSENT, ABSENT, ABSENT,
             ABSENT);
  TEST_CELLS(rows, "caused", 20, ABSENT, 40, ABSENT, ABSENT, ABSENT, ABSENT,
             ABSENT);
  /* 120 is 20 more than 100; 40 is 20 more than the mean of 10 and 30 */
  assert_true(llmprof_collectives_excess(rows, START, "excess", &err));
  TEST_CELLS(rows, "excess", 20, ABSENT, 20, ABSENT, ABSENT, ABSENT, ABSENT,
             ABSENT);
  llmprof_frame_free(rows);
}

/* Rank 1 was seen from one collective earlier on. */
TEST(lag) {
  static const uint32_t of[] = {1, 0, 1}, ordinal[] = {0, 0, 1};
  static const uint32_t lag[] = {1, 0, 1};
  static const int64_t from[] = {1, 10, 12}, to[] = {2, 20, 21};
  const test_column made[] = {
      {"rank", NULL, LLMPROF_U32, of, NULL, NULL, NULL},
      {"start", "ns", LLMPROF_I64, from, NULL, NULL, NULL},
      {"end", "ns", LLMPROF_I64, to, NULL, NULL, NULL},
      {"ordinal", NULL, LLMPROF_U32, ordinal, NULL, NULL, NULL},
      {"lag", NULL, LLMPROF_U32, lag, NULL, NULL, NULL},
  };
  static const llmprof_collective_columns lagging = {0, 1, 2, SIZE_MAX, 3, 4};
  llmprof_error err;
  llmprof_frame *rows = test_frame(3, NULL, made, 5);
  assert_false(llmprof_collectives_excess(rows, 1, "excess", &err));
  assert_int_equal(err.code, LLMPROF_NOTFOUND);
  assert_true(llmprof_collectives_match(rows, &lagging, &err));
  TEST_CELLS(rows, "instance", ABSENT, 0, 0);
  TEST_CELLS(rows, "waiting", ABSENT, 2, 0);
  assert_true(llmprof_collectives_number(rows, &lagging, "number", &err));
  TEST_CELLS(rows, "number", 0, 0, 1);
  llmprof_frame_free(rows);
}

/* One rank that has the same collective twice; two ranks that come together;
 * one that left before the last arrived. */
TEST(odd_matches) {
  static const uint32_t of[] = {0, 0, 1, 2, 0, 1};
  static const int64_t from[] = {10, 12, 20, 20, 0, 50};
  static const int64_t to[] = {30, 31, 32, 29, 5, 60};
  static const uint32_t key[] = {0, 0, 0, 0, 3, 3};
  static const uint32_t ordinal[] = {4, 4, 4, 4, 0, 0};
  const test_column made[] = {
      {"rank", NULL, LLMPROF_U32, of, NULL, NULL, NULL},
      {"start", "ns", LLMPROF_I64, from, NULL, NULL, NULL},
      {"end", "ns", LLMPROF_I64, to, NULL, NULL, NULL},
      {"key", NULL, LLMPROF_U32, key, NULL, NULL, NULL},
      {"ordinal", NULL, LLMPROF_U32, ordinal, NULL, NULL, NULL},
  };
  llmprof_error err;
  llmprof_frame *rows = test_frame(6, NULL, made, 5);
  assert_true(llmprof_collectives_match(rows, &columns, &err));
  TEST_CELLS(rows, "members", 3, ABSENT, 3, 3, 2, 2);
  TEST_CELLS(rows, "waiting", 10, ABSENT, 0, 0, 5, 0);
  TEST_CELLS(rows, "late", ABSENT, ABSENT, 0, ABSENT, ABSENT, 50);
  TEST_CELLS(rows, "transfer", 12, ABSENT, 12, 12, 10, 10);
  llmprof_frame_free(rows);
}

/* ---- what came before ---- */

enum {
  KERNELS = 6
};

static const uint32_t kernel_ranks[KERNELS] = {0, 0, 0, 1, 0, 1};
static const int64_t kernel_starts[KERNELS] = {55, 4, 90, 60, 2, 55};
static uint32_t kernel_names[KERNELS]; /* b b a b a a */

static llmprof_strings *pool_of_names(void) {
  llmprof_strings *pool = llmprof_strings_new();
  uint32_t ids[2];
  if (!pool || !llmprof_strings_add(pool, "a", 1, &ids[0]) ||
      !llmprof_strings_add(pool, "b", 1, &ids[1])) {
    llmprof_strings_free(pool);
    return NULL;
  }
  static const char wanted[] = "bbabaa";
  for (int i = 0; i < KERNELS; i++) kernel_names[i] = ids[wanted[i] == 'b'];
  return pool;
}

static llmprof_frame *kernels_frame(const llmprof_strings *pool) {
  const test_column made[] = {
      {"rank", NULL, LLMPROF_U32, kernel_ranks, NULL, NULL, NULL},
      {"start", "ns", LLMPROF_I64, kernel_starts, NULL, NULL, NULL},
      {"name", NULL, LLMPROF_STRING_ID, kernel_names, NULL, NULL, NULL},
  };
  return test_frame(KERNELS, pool, made, 3);
}

static const llmprof_before_columns of_kernels = {0, 1, 2};

TEST(before) {
  llmprof_error err;
  llmprof_strings *pool = pool_of_names();
  llmprof_frame *rows = rows_frame(), *kernels = kernels_frame(pool);
  assert_true(llmprof_collectives_before(rows, &columns, SIZE_MAX, kernels,
                                         &of_kernels, &err));
  TEST_CELLS(rows, "previous", 51, ABSENT, ABSENT, 70, ABSENT, 50, ABSENT, 52);
  TEST_CELLS(rows, "before", 2, 2, 0, 1, 0, 1, 0, 0);
  size_t number = llmprof_frame_find(rows, "signature");
  const llmprof_column *signature = llmprof_frame_column(rows, number, &err);
  /* rank 1 ran a, b before row 0 as rank 0 did before row 1 */
  assert_true(llmprof_cell(signature, 0) == llmprof_cell(signature, 1));
  assert_true(llmprof_cell(signature, 3) != llmprof_cell(signature, 5));
  assert_true(llmprof_cell(signature, 2) == llmprof_cell(signature, 7));
  number = llmprof_frame_find(rows, "follows");
  const llmprof_column *follows = llmprof_frame_column(rows, number, &err);
  assert_true(llmprof_cell(follows, 0) == llmprof_cell(follows, 1));
  assert_true(llmprof_cell(follows, 0) != ABSENT);
  assert_true(llmprof_cell(follows, 2) == ABSENT);
  llmprof_frame_free(rows);
  llmprof_frame_free(kernels);
  llmprof_strings_free(pool);
}

static bool all_of_it(void *arg, llmprof_error *err) {
  llmprof_strings *pool = pool_of_names();
  llmprof_frame *rows = rows_frame();
  llmprof_frame *kernels = pool ? kernels_frame(pool) : NULL;
  bool ok = (rows && kernels) || llmprof_fail_nomem(err);
  ok = ok && llmprof_collectives_number(rows, &columns, "ordinal", err) &&
       llmprof_collectives_match(rows, &columns, err) &&
       llmprof_collectives_excess(rows, START, "excess", err) &&
       llmprof_collectives_before(rows, &columns, SIZE_MAX, kernels,
                                  &of_kernels, err);
  llmprof_frame_free(rows);
  llmprof_frame_free(kernels);
  llmprof_strings_free(pool);
  return ok;
}

TEST(out_of_memory) {
  test_every_allocation(all_of_it, NULL);
}

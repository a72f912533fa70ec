#include "ranks/spread.h"

#include <math.h>

#include "frame/group_by.h"
#include "support.h"

/* Group 0: 2 2 2 9 (a row without weight); group 1: nothing; group 2: -5 */
enum {
  ROWS = 6
};

static const int64_t values[ROWS] = {9, 2, 2, INT64_MIN, -5, 100};
static const int64_t weights[ROWS] = {1, 2, 1, 4, 1, 0};
static const uint32_t keys[ROWS] = {0, 0, 0, 1, 2, 0};

static llmprof_frame *weighted(const int64_t *given, const int64_t *how_often) {
  const test_column columns[] = {
      {"value", NULL, LLMPROF_I64, given, NULL, NULL, NULL},
      {"weight", NULL, LLMPROF_I64, how_often, NULL, NULL, NULL},
      {"key", NULL, LLMPROF_U32, keys, NULL, NULL, NULL},
  };
  return test_frame(ROWS, NULL, columns, 3);
}

static bool spread(llmprof_frame *frame, llmprof_spread *spreads,
                   llmprof_error *err) {
  static const size_t by[] = {2};
  static const double wanted[] = {0, 90};
  llmprof_groups groups;
  if (!llmprof_groups_make(&groups, frame, by, 1, err)) return false;
  bool ok = llmprof_spread_of(frame, 0, 1, &groups, wanted, 2, spreads, err);
  llmprof_groups_free(&groups);
  return ok;
}

static bool near(double a, double b) {
  return fabs(a - b) < 1e-9;
}

TEST(groups) {
  llmprof_error err;
  llmprof_spread s[3];
  llmprof_frame *frame = weighted(values, weights);
  assert_true(spread(frame, s, &err));
  assert_true(s[0].count == 4 && s[0].total == 15);
  assert_true(s[0].min == 2 && s[0].max == 9);
  assert_true(near(s[0].mean, 3.75) && near(s[0].median, 2));
  assert_true(near(s[0].stddev, 3.5));
  assert_true(near(s[0].percentiles[0], 2) && near(s[0].percentiles[1], 6.9));
  assert_true(s[1].count == 0);
  assert_true(s[2].count == 1 && s[2].total == -5 && s[2].stddev == 0);
  llmprof_frame_free(frame);
}

/* Sums that overflow 64 bits on the way, and one that does at the end. */
TEST(wide) {
  static const int64_t far[ROWS] = {INT64_MAX, INT64_MIN + 1, 1, 1, 1, 1};
  static const int64_t twice[ROWS] = {2, 2, 1, 1, 1, 1};
  static const int64_t once[ROWS] = {2, 1, 1, 1, 1, 1};
  llmprof_error err;
  llmprof_spread s[3];
  llmprof_frame *frame = weighted(far, twice);
  assert_true(spread(frame, s, &err));
  assert_true(s[0].total == 2);
  llmprof_frame_free(frame);
  frame = weighted(far, once);
  assert_false(spread(frame, s, &err));
  assert_int_equal(err.code, LLMPROF_RANGE);
  llmprof_frame_free(frame);
}

static bool body(void *arg, llmprof_error *err) {
  llmprof_spread s[3];
  llmprof_frame *frame = weighted(values, weights);
  if (!frame) return llmprof_fail_nomem(err);
  bool ok = spread(frame, s, err);
  llmprof_frame_free(frame);
  return ok;
}

TEST(out_of_memory) {
  test_every_allocation(body, NULL);
}

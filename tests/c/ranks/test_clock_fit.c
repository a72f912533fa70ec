#include "ranks/clock_fit.h"

#include <math.h>

#include "support.h"

/* Two ranks that leave EACH collectives together, a millisecond apart; the
 * clock of the second is ahead and too fast. */
enum {
  EACH = 900,
  ROWS = 2 * EACH
};

static uint32_t ranks[ROWS], ordinals[ROWS], keys[ROWS];
static int64_t ends[ROWS];

static const llmprof_collective_columns columns = {0, 1, 1, 2, 3, SIZE_MAX};

/* A few tenths of a microsecond either way, the same every time. */
static int64_t noise(int i) {
  return (int64_t)(i * 7919 % 601) - 300;
}

static int64_t seen_by_second(int64_t time, double offset, double drift) {
  return time + (int64_t)llround(offset + drift * (double)time);
}

/* Every fifth end on the second rank is `late` ns off. */
static llmprof_frame *clocks(double offset, double drift, int64_t late) {
  for (int i = 0; i < EACH; i++) {
    int64_t time = 1000000 * (int64_t)i;
    ranks[i] = 0, ranks[EACH + i] = 1;
    ordinals[i] = ordinals[EACH + i] = (uint32_t)i;
    keys[i] = keys[EACH + i] = (uint32_t)i % 3;
    ends[i] = time;
    ends[EACH + i] = seen_by_second(time, offset, drift) + noise(i) +
                     (i % 5 == 4 ? late : 0);
  }
  const test_column made[] = {
      {"rank", NULL, LLMPROF_U32, ranks, NULL, NULL, NULL},
      {"end", "ns", LLMPROF_I64, ends, NULL, NULL, NULL},
      {"key", NULL, LLMPROF_U32, keys, NULL, NULL, NULL},
      {"ordinal", NULL, LLMPROF_U32, ordinals, NULL, NULL, NULL},
  };
  return test_frame(ROWS, NULL, made, 4);
}

/* The largest error of the correction over the first rank's times, ns. */
static double worst_error(const llmprof_clock_fit *fit, double offset,
                          double drift) {
  double worst = 0;
  for (int i = 0; i < EACH; i++) {
    int64_t time = 1000000 * (int64_t)i;
    double seen = (double)seen_by_second(time, offset, drift);
    double undone = seen - fit->offset - fit->drift * (seen - (double)fit->at);
    worst = fmax(worst, fabs(undone - (double)time));
  }
  return worst;
}

static llmprof_clock_fit fit_of(double offset, double drift, int64_t late) {
  llmprof_error err;
  llmprof_clock_fit fit;
  llmprof_frame *rows = clocks(offset, drift, late);
  assert_true(llmprof_clock_fit_ranks(rows, &columns, 0, 1, 0, &fit, &err));
  llmprof_frame_free(rows);
  return fit;
}

TEST(offset_and_drift) {
  llmprof_clock_fit fit = fit_of(5e6, 20e-6, 0);
  assert_int_equal(fit.count, EACH);
  assert_true(worst_error(&fit, 5e6, 20e-6) < 100);
  assert_true(fabs(fit.drift - 20e-6) < 1e-7);
  assert_true(fit.raw > 5e6 && fit.residual < 300);
}

TEST(same_clock) {
  llmprof_clock_fit fit = fit_of(0, 0, 0);
  assert_true(worst_error(&fit, 0, 0) < 100);
  assert_true(fit.raw < 300);
}

TEST(outliers) {
  llmprof_clock_fit fit = fit_of(-2e6, -35e-6, 3000000);
  assert_int_equal(fit.used, EACH - EACH / 5);
  assert_true(worst_error(&fit, -2e6, -35e-6) < 100);
}

TEST(few) {
  llmprof_error err;
  llmprof_clock_fit fit;
  llmprof_frame *rows = clocks(7000, 0, 0);
  assert_true(llmprof_clock_fit_ranks(rows, &columns, 0, 5, 0, &fit, &err));
  assert_int_equal(fit.count, 0);
  llmprof_frame_free(rows);
  const test_column two[] = {
      {"rank", NULL, LLMPROF_U32, (uint32_t[]){0, 1}, NULL, NULL, NULL},
      {"end", "ns", LLMPROF_I64, (int64_t[]){100, 7100}, NULL, NULL, NULL},
      {"key", NULL, LLMPROF_U32, (uint32_t[]){0, 0}, NULL, NULL, NULL},
      {"ordinal", NULL, LLMPROF_U32, (uint32_t[]){3, 4}, NULL, NULL, NULL},
  };
  rows = test_frame(2, NULL, two, 4);
  assert_true(llmprof_clock_fit_ranks(rows, &columns, 0, 1, 0, &fit, &err));
  assert_int_equal(fit.count, 0);
  assert_true(llmprof_clock_fit_ranks(rows, &columns, 0, 1, 1, &fit, &err));
  assert_int_equal(fit.count, 1);
  assert_true(fit.offset == 7000 && fit.drift == 0);
  llmprof_frame_free(rows);
}

static bool fit_it(void *arg, llmprof_error *err) {
  llmprof_clock_fit fit;
  llmprof_frame *rows = clocks(5e6, 0, 0);
  if (!rows) return llmprof_fail_nomem(err);
  bool ok = llmprof_clock_fit_ranks(rows, &columns, 0, 1, 0, &fit, err);
  llmprof_frame_free(rows);
  return ok;
}

TEST(out_of_memory) {
  test_every_allocation(fit_it, NULL);
}

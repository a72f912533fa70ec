/* Values get their ranks once; a tree of counts (Fenwick's) over these holds
 * the window and finds the k-th of it. */
#include "frame/median.h"

#include <math.h>

#include "base/interrupt.h"
#include "frame/sort.h"
#include "llmprof/alloc.h"
#include "llmprof/frame.h"

typedef struct counts {
  uint32_t *order; /* values, by rank */
  uint32_t *rank;  /* by value, from 0 */
  uint32_t *tree;  /* from 1 */
  size_t size;
} counts;

static bool rank_values(counts *c, const double *values) {
  int64_t *keys = llmprof_alloc(c->size, sizeof *keys);
  if (!keys) return false;
  for (size_t i = 0; i < c->size; i++) {
    keys[i] = llmprof_real_cell(values[i]);
    c->order[i] = (uint32_t)i;
  }
  bool ok = llmprof_sort_rows_i64(c->order, c->size, keys);
  llmprof_free(keys);
  for (size_t i = 0; ok && i < c->size; i++) c->rank[c->order[i]] = (uint32_t)i;
  return ok;
}

static void count_value(counts *c, size_t value, uint32_t by) {
  for (size_t at = c->rank[value] + (size_t)1; at <= c->size; at += at & -at)
    c->tree[at] += by;
}

/* The value of the window with `before` others before it. */
static uint32_t find_value(const counts *c, size_t before) {
  size_t at = 0, step = 1;
  while (step <= c->size / 2) step *= 2;
  for (; step; step /= 2) {
    if (at + step > c->size || c->tree[at + step] > before) continue;
    at += step;
    before -= c->tree[at];
  }
  return c->order[at];
}

static double median_of(const counts *c, const double *values, size_t size) {
  double high = values[find_value(c, size / 2)];
  if (size % 2) return high;
  return (values[find_value(c, size / 2 - 1)] + high) / 2;
}

static bool roll(counts *c, const double *values, size_t size,
                 double *medians) {
  size_t absent = 0;
  for (size_t i = 0; i < c->size; i++) {
    if (llmprof_interrupted_at(i)) return false;
    absent += isnan(values[i]) != 0;
    count_value(c, i, 1);
    if (i >= size) {
      absent -= isnan(values[i - size]) != 0;
      count_value(c, i - size, (uint32_t)-1);
    }
    medians[i] = i + 1 >= size && !absent ? median_of(c, values, size) : NAN;
  }
  return true;
}

bool llmprof_roll_median(const double *values, size_t count, size_t size,
                         double *medians, llmprof_error *err) {
  counts c = {.size = count};
  c.order = llmprof_alloc(count, sizeof *c.order);
  c.rank = llmprof_alloc(count, sizeof *c.rank);
  c.tree = llmprof_zalloc(count + 1, sizeof *c.tree);
  bool there = c.order && c.rank && c.tree;
  bool ok = there && rank_values(&c, values);
  if (ok && !roll(&c, values, size, medians))
    ok = llmprof_fail_interrupted(err);
  else if (!ok)
    llmprof_fail_nomem(err);
  llmprof_free(c.order);
  llmprof_free(c.rank);
  llmprof_free(c.tree);
  return ok;
}

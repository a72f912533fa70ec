/* Grouping combines the key columns one at a time: the group so far and the
 * next key make the next group. Statistics scatter a column's values into one
 * block per group and sort each. */
#include <math.h>
#include <string.h>

#include "intern.h"
#include "llmprof/alloc.h"
#include "llmprof/frame.h"
#include "sort.h"

/* ---- groups ---- */

void llmprof_groups_free(llmprof_groups *groups) {
  llmprof_free(groups->of_row);
  llmprof_free(groups->first_row);
  llmprof_free(groups->rows);
  *groups = (llmprof_groups){0};
}

/* {group so far, next key} -> next group. */
static bool refine(llmprof_groups *groups, const llmprof_column *column,
                   size_t rows, llmprof_intern *pairs) {
  int64_t last[2] = {-1, 0};
  uint32_t last_group = 0;
  for (size_t row = 0; row < rows; row++) {
    int64_t pair[2] = {groups->of_row[row], llmprof_cell(column, row)};
    if (pair[0] != last[0] || pair[1] != last[1]) {
      if (!llmprof_intern_add(pairs, pair, &last_group)) return false;
      memcpy(last, pair, sizeof last);
    }
    groups->of_row[row] = last_group;
  }
  groups->count = pairs->count;
  return true;
}

static bool count_groups(llmprof_groups *groups, size_t rows) {
  groups->first_row = llmprof_alloc(groups->count, sizeof *groups->first_row);
  groups->rows = llmprof_zalloc(groups->count, sizeof *groups->rows);
  if (!groups->first_row || !groups->rows) return false;
  for (size_t row = 0; row < rows; row++) {
    uint32_t group = groups->of_row[row];
    if (!groups->rows[group]++) groups->first_row[group] = (uint32_t)row;
  }
  return true;
}

bool llmprof_groups_make(llmprof_groups *groups, llmprof_frame *frame,
                         const size_t *keys, size_t key_count,
                         llmprof_error *err) {
  size_t rows = llmprof_frame_rows(frame);
  *groups = (llmprof_groups){.count = rows > 0};
  groups->of_row = llmprof_zalloc(rows, sizeof *groups->of_row);
  bool ok = groups->of_row || llmprof_fail_nomem(err);
  for (size_t k = 0; ok && k < key_count; k++) {
    const llmprof_column *key = llmprof_frame_column(frame, keys[k], err);
    llmprof_intern pairs;
    llmprof_intern_init(&pairs, 2 * sizeof(int64_t));
    ok = key && (refine(groups, key, rows, &pairs) || llmprof_fail_nomem(err));
    llmprof_intern_free(&pairs);
  }
  ok = ok && (count_groups(groups, rows) || llmprof_fail_nomem(err));
  if (!ok) llmprof_groups_free(groups);
  return ok;
}

/* ---- statistics ---- */

/* The present values of a column, one block per group. */
typedef struct blocks {
  int64_t *values, *scratch;
  size_t *start; /* by group; start[count] is the end */
} blocks;

static void blocks_free(blocks *b) {
  llmprof_free(b->values);
  llmprof_free(b->scratch);
  llmprof_free(b->start);
}

static bool blocks_fill(blocks *b, const llmprof_column *column, size_t rows,
                        const llmprof_groups *groups) {
  size_t largest = 0;
  size_t *fill = llmprof_zalloc(groups->count + 2, sizeof *fill);
  b->start = fill;
  if (!fill) return false;
  fill++; /* one ahead: ends up as the starts */
  for (size_t row = 0; row < rows; row++) {
    if (llmprof_cell(column, row) != INT64_MIN) fill[groups->of_row[row] + 1]++;
  }
  for (size_t g = 1; g <= groups->count; g++) {
    if (fill[g] > largest) largest = fill[g];
    fill[g] += fill[g - 1];
  }
  b->values = llmprof_alloc(fill[groups->count], sizeof *b->values);
  b->scratch = llmprof_alloc(largest, sizeof *b->scratch);
  if (!b->values || !b->scratch) return false;
  for (size_t row = 0; row < rows; row++) {
    int64_t value = llmprof_cell(column, row);
    if (value != INT64_MIN) b->values[fill[groups->of_row[row]]++] = value;
  }
  return true;
}

static double percentile(const int64_t *sorted, size_t count, double wanted) {
  double rank = wanted / 100 * (double)(count - 1);
  size_t below = (size_t)rank;
  if (below + 1 >= count) return (double)sorted[count - 1];
  double low = (double)sorted[below], high = (double)sorted[below + 1];
  return low + (rank - (double)below) * (high - low);
}

static double median_of(const int64_t *sorted, size_t count) {
  double upper = (double)sorted[count / 2];
  if (count % 2) return upper;
  return ((double)sorted[count / 2 - 1] + upper) / 2;
}

static bool total_of(const int64_t *values, size_t count, int64_t *total) {
  *total = 0;
  for (size_t i = 0; i < count; i++) {
    if (__builtin_add_overflow(*total, values[i], total)) return false;
  }
  return true;
}

static double stddev_of(const int64_t *values, size_t count, double mean) {
  if (count < 2) return 0;
  double squares = 0;
  for (size_t i = 0; i < count; i++) {
    double off = (double)values[i] - mean;
    squares += off * off;
  }
  return sqrt(squares / (double)(count - 1));
}

/* values are sorted. */
static bool summarize(const int64_t *values, size_t count, const double *wanted,
                      size_t wanted_count, llmprof_summary *summary) {
  *summary = (llmprof_summary){.count = count};
  if (!count) return true;
  if (!total_of(values, count, &summary->total)) return false;
  summary->min = values[0];
  summary->max = values[count - 1];
  summary->mean = (double)summary->total / (double)count;
  summary->median = median_of(values, count);
  summary->stddev = stddev_of(values, count, summary->mean);
  for (size_t i = 0; i < wanted_count; i++)
    summary->percentiles[i] = percentile(values, count, wanted[i]);
  return true;
}

bool llmprof_summarize(llmprof_frame *frame, size_t column,
                       const llmprof_groups *groups, const double *wanted,
                       size_t wanted_count, llmprof_summary *summaries,
                       llmprof_error *err) {
  const llmprof_column *values = llmprof_frame_column(frame, column, err);
  if (!values) return false;
  blocks b = {0};
  bool ok = blocks_fill(&b, values, llmprof_frame_rows(frame), groups) ||
            llmprof_fail_nomem(err);
  for (size_t g = 0; ok && g < groups->count; g++) {
    int64_t *block = b.values + b.start[g];
    size_t count = b.start[g + 1] - b.start[g];
    llmprof_sort_i64(block, count, b.scratch);
    ok = summarize(block, count, wanted, wanted_count, &summaries[g]) ||
         llmprof_fail(err, LLMPROF_RANGE, "total of column '%s' is too large",
                      values->name);
  }
  blocks_free(&b);
  return ok;
}

bool llmprof_distinct(llmprof_frame *frame, size_t number,
                      const llmprof_groups *groups, size_t *distinct,
                      llmprof_error *err) {
  const llmprof_column *column = llmprof_frame_column(frame, number, err);
  if (!column) return false;
  llmprof_intern pairs;
  llmprof_intern_init(&pairs, 2 * sizeof(int64_t));
  memset(distinct, 0, groups->count * sizeof *distinct);
  bool ok = true;
  for (size_t row = 0; ok && row < llmprof_frame_rows(frame); row++) {
    int64_t pair[2] = {groups->of_row[row], llmprof_cell(column, row)};
    if (pair[1] == INT64_MIN) continue;
    size_t before = pairs.count;
    uint32_t id;
    ok = llmprof_intern_add(&pairs, pair, &id) || llmprof_fail_nomem(err);
    if (pairs.count > before) distinct[pair[0]]++;
  }
  llmprof_intern_free(&pairs);
  return ok;
}

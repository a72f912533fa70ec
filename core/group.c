/* Grouping combines the key columns one at a time: the group so far and the
 * next key make the next group. Statistics scatter a column's values into one
 * block per group and sort each. */
#include <math.h>
#include <string.h>

#include "intern.h"
#include "llmprof/alloc.h"
#include "llmprof/frame.h"
#include "llmprof/interrupt.h"
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
                   size_t rows, llmprof_intern *pairs, llmprof_error *err) {
  int64_t last[2] = {-1, 0};
  uint32_t last_group = 0;
  for (size_t row = 0; row < rows; row++) {
    if (llmprof_interrupted_at(row)) return llmprof_fail_interrupted(err);
    int64_t pair[2] = {groups->of_row[row], llmprof_cell(column, row)};
    if (pair[0] != last[0] || pair[1] != last[1]) {
      if (!llmprof_intern_add(pairs, pair, &last_group))
        return llmprof_fail_nomem(err);
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
    ok = key && refine(groups, key, rows, &pairs, err);
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

/* Sorted values of one group, as cells. */
typedef struct values {
  const int64_t *cells;
  size_t count;
  llmprof_type type;
} values;

static double value_at(const values *v, size_t i) {
  return v->type == LLMPROF_F64 ? llmprof_cell_real(v->cells[i])
                                : (double)v->cells[i];
}

static double percentile(const values *v, double wanted) {
  double rank = wanted / 100 * (double)(v->count - 1);
  size_t below = (size_t)rank;
  if (below + 1 >= v->count) return value_at(v, v->count - 1);
  double low = value_at(v, below), high = value_at(v, below + 1);
  return low + (rank - (double)below) * (high - low);
}

static double median_of(const values *v) {
  double upper = value_at(v, v->count / 2);
  if (v->count % 2) return upper;
  return (value_at(v, v->count / 2 - 1) + upper) / 2;
}

static bool total_of(const values *v, int64_t *total) {
  *total = 0;
  for (size_t i = 0; i < v->count; i++) {
    if (__builtin_add_overflow(*total, v->cells[i], total)) return false;
  }
  return true;
}

static double real_total_of(const values *v) {
  double total = 0;
  for (size_t i = 0; i < v->count; i++) total += value_at(v, i);
  return total;
}

static double stddev_of(const values *v, double mean) {
  if (v->count < 2) return 0;
  double squares = 0;
  for (size_t i = 0; i < v->count; i++) {
    double off = value_at(v, i) - mean;
    squares += off * off;
  }
  return sqrt(squares / (double)(v->count - 1));
}

/* Total and extremes, in the column's own type; the total as a double. */
static bool add_up(const values *v, llmprof_summary *summary, double *total) {
  if (v->type == LLMPROF_F64) {
    summary->real_min = value_at(v, 0);
    summary->real_max = value_at(v, v->count - 1);
    *total = summary->real_total = real_total_of(v);
    return true;
  }
  summary->min = v->cells[0];
  summary->max = v->cells[v->count - 1];
  if (!total_of(v, &summary->total)) return false;
  *total = (double)summary->total;
  return true;
}

static bool summarize(const values *v, const double *wanted,
                      size_t wanted_count, llmprof_summary *summary) {
  *summary = (llmprof_summary){.count = v->count};
  if (!v->count) return true;
  double total;
  if (!add_up(v, summary, &total)) return false;
  summary->mean = total / (double)v->count;
  summary->median = median_of(v);
  summary->stddev = stddev_of(v, summary->mean);
  for (size_t i = 0; i < wanted_count; i++)
    summary->percentiles[i] = percentile(v, wanted[i]);
  return true;
}

/* Sort and sum up the block of group g. */
static bool summarize_block(blocks *b, size_t g, const llmprof_column *column,
                            const double *wanted, size_t wanted_count,
                            llmprof_summary *summary, llmprof_error *err) {
  if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
  values v = {b->values + b->start[g], b->start[g + 1] - b->start[g],
              column->type};
  llmprof_sort_i64(b->values + b->start[g], v.count, b->scratch);
  return summarize(&v, wanted, wanted_count, summary) ||
         llmprof_fail(err, LLMPROF_RANGE, "total of column '%s' is too large",
                      column->name);
}

bool llmprof_summarize(llmprof_frame *frame, size_t number,
                       const llmprof_groups *groups, const double *wanted,
                       size_t wanted_count, llmprof_summary *summaries,
                       llmprof_error *err) {
  const llmprof_column *column = llmprof_frame_column(frame, number, err);
  if (!column) return false;
  blocks b = {0};
  bool ok = blocks_fill(&b, column, llmprof_frame_rows(frame), groups) ||
            llmprof_fail_nomem(err);
  for (size_t g = 0; ok && g < groups->count; g++)
    ok = summarize_block(&b, g, column, wanted, wanted_count, &summaries[g],
                         err);
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

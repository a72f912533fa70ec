/* Grouping combines the key columns one at a time: the group so far and the
 * next key make the next group, through a table of all pairs where that is
 * small, else by hashing. Statistics scatter a column's values into one block
 * per group and sort each. */
#include <math.h>
#include <string.h>

#include "frame/intern.h"
#include "frame/sort.h"
#include "llmprof/alloc.h"
#include "llmprof/frame.h"
#include "llmprof/interrupt.h"

enum {
  DENSE = 1 << 16 /* slots that are always worth their memory */
};

/* ---- groups ---- */

void llmprof_groups_free(llmprof_groups *groups) {
  llmprof_free(groups->of_row);
  llmprof_free(groups->first_row);
  llmprof_free(groups->rows);
  *groups = (llmprof_groups){0};
}

/* The lowest and highest present value of a key; none: low > high. */
typedef struct span {
  int64_t low, high;
} span;

static span span_of(llmprof_column key, size_t rows) {
  span s = {INT64_MAX, INT64_MIN};
  for (size_t row = 0; row < rows; row++) {
    int64_t value = llmprof_cell(&key, row);
    if (value == INT64_MIN) continue;
    if (value < s.low) s.low = value;
    if (value > s.high) s.high = value;
  }
  return s;
}

/* Slots for each pair of a group so far and a key's value or absence, 0 when
 * that is more than pays. */
static size_t dense_slots(size_t groups, span s, size_t rows, size_t *width) {
  uint64_t most = DENSE + rows / 4;
  uint64_t values = s.low > s.high ? 0 : (uint64_t)s.high - (uint64_t)s.low + 1;
  *width = (size_t)values + 1;
  if (values >= most || groups > most / *width) return 0;
  return groups * *width;
}

/* Few values close together, as ids and names are: a slot for each pair. */
static bool refine_dense(llmprof_groups *groups, llmprof_column key,
                         size_t rows, span s, size_t slots, size_t width,
                         llmprof_error *err) {
  uint32_t *next = llmprof_zalloc(slots, sizeof *next); /* group + 1, or 0 */
  if (!next) return llmprof_fail_nomem(err);
  uint32_t count = 0;
  size_t row = 0;
  for (; row < rows && !llmprof_interrupted_at(row); row++) {
    int64_t value = llmprof_cell(&key, row);
    size_t place = value == INT64_MIN ? 0 : (size_t)(value - s.low) + 1;
    uint32_t *slot = &next[groups->of_row[row] * width + place];
    if (!*slot) *slot = ++count;
    groups->of_row[row] = *slot - 1;
  }
  llmprof_free(next);
  groups->count = count;
  return row == rows || llmprof_fail_interrupted(err);
}

/* Any values: {group so far, value} -> next group. */
static bool refine_sparse(llmprof_groups *groups, llmprof_column key,
                          size_t rows, llmprof_error *err) {
  llmprof_intern pairs;
  llmprof_intern_init(&pairs, 2 * sizeof(int64_t));
  bool ok = true;
  for (size_t row = 0; ok && row < rows; row++) {
    int64_t pair[2] = {groups->of_row[row], llmprof_cell(&key, row)};
    if (llmprof_interrupted_at(row))
      ok = llmprof_fail_interrupted(err);
    else
      ok = llmprof_intern_add(&pairs, pair, &groups->of_row[row]) ||
           llmprof_fail_nomem(err);
  }
  groups->count = pairs.count;
  llmprof_intern_free(&pairs);
  return ok;
}

static bool refine(llmprof_groups *groups, const llmprof_column *key,
                   size_t rows, llmprof_error *err) {
  span s = span_of(*key, rows);
  size_t width, slots = dense_slots(groups->count, s, rows, &width);
  return slots ? refine_dense(groups, *key, rows, s, slots, width, err)
               : refine_sparse(groups, *key, rows, err);
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
    ok = key && (!rows || refine(groups, key, rows, err));
  }
  ok = ok && (count_groups(groups, rows) || llmprof_fail_nomem(err));
  if (!ok) llmprof_groups_free(groups);
  return ok;
}

/* ---- statistics ---- */

/* The present values of a column, one block per group. */
typedef struct blocks {
  const llmprof_column *column;
  int64_t *values, *scratch;
  size_t *start; /* by group; start[count] is the end */
} blocks;

static void blocks_free(blocks *b) {
  llmprof_free(b->values);
  llmprof_free(b->scratch);
  llmprof_free(b->start);
}

static bool blocks_fill(blocks *b, size_t rows, const llmprof_groups *groups) {
  const llmprof_column *column = b->column;
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

/* blocks_free, on failure too. */
static bool blocks_load(blocks *b, llmprof_frame *frame, size_t number,
                        const llmprof_groups *groups, llmprof_error *err) {
  *b = (blocks){.column = llmprof_frame_column(frame, number, err)};
  return b->column && (blocks_fill(b, llmprof_frame_rows(frame), groups) ||
                       llmprof_fail_nomem(err));
}

/* Sorted values of one group, as cells. */
typedef struct values {
  const int64_t *cells;
  size_t count;
  llmprof_column_type type;
} values;

static values sorted_block(blocks *b, size_t group) {
  int64_t *block = b->values + b->start[group];
  size_t count = b->start[group + 1] - b->start[group];
  llmprof_sort_i64(block, count, b->scratch);
  return (values){block, count, b->column->type};
}

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

bool llmprof_summarize(llmprof_frame *frame, size_t number,
                       const llmprof_groups *groups, const double *wanted,
                       size_t wanted_count, llmprof_summary *summaries,
                       llmprof_error *err) {
  blocks b;
  bool ok = blocks_load(&b, frame, number, groups, err);
  for (size_t g = 0; ok && g < groups->count; g++) {
    values v = sorted_block(&b, g);
    ok = summarize(&v, wanted, wanted_count, &summaries[g]) ||
         llmprof_fail(err, LLMPROF_RANGE, "total of column '%s' is too large",
                      b.column->name);
    if (llmprof_interrupted()) ok = llmprof_fail_interrupted(err);
  }
  blocks_free(&b);
  return ok;
}

static size_t count_distinct(const values *v) {
  size_t distinct = v->count > 0;
  for (size_t i = 1; i < v->count; i++)
    distinct += v->cells[i] != v->cells[i - 1];
  return distinct;
}

bool llmprof_distinct(llmprof_frame *frame, size_t number,
                      const llmprof_groups *groups, size_t *distinct,
                      llmprof_error *err) {
  blocks b;
  bool ok = blocks_load(&b, frame, number, groups, err);
  for (size_t g = 0; ok && g < groups->count; g++) {
    values v = sorted_block(&b, g);
    distinct[g] = count_distinct(&v);
  }
  blocks_free(&b);
  return ok;
}

/* Grouping combines the key columns one at a time: the group so far and the
 * next key make the next group, through a table of all pairs where that is
 * small, else by hashing. Statistics scatter a column's values into one block
 * per group and sort each. */
#include <math.h>
#include <string.h>

#include "intern.h"
#include "llmprof/alloc.h"
#include "llmprof/frame.h"
#include "sort.h"

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
                         size_t rows, span s, size_t slots, size_t width) {
  uint32_t *next = llmprof_zalloc(slots, sizeof *next); /* group + 1, or 0 */
  if (!next) return false;
  uint32_t count = 0;
  for (size_t row = 0; row < rows; row++) {
    int64_t value = llmprof_cell(&key, row);
    size_t place = value == INT64_MIN ? 0 : (size_t)(value - s.low) + 1;
    uint32_t *slot = &next[groups->of_row[row] * width + place];
    if (!*slot) *slot = ++count;
    groups->of_row[row] = *slot - 1;
  }
  llmprof_free(next);
  groups->count = count;
  return true;
}

/* Any values: {group so far, value} -> next group. */
static bool refine_sparse(llmprof_groups *groups, llmprof_column key,
                          size_t rows) {
  llmprof_intern pairs;
  llmprof_intern_init(&pairs, 2 * sizeof(int64_t));
  bool ok = true;
  for (size_t row = 0; ok && row < rows; row++) {
    int64_t pair[2] = {groups->of_row[row], llmprof_cell(&key, row)};
    ok = llmprof_intern_add(&pairs, pair, &groups->of_row[row]);
  }
  groups->count = pairs.count;
  llmprof_intern_free(&pairs);
  return ok;
}

static bool refine(llmprof_groups *groups, const llmprof_column *key,
                   size_t rows) {
  span s = span_of(*key, rows);
  size_t width, slots = dense_slots(groups->count, s, rows, &width);
  return slots ? refine_dense(groups, *key, rows, s, slots, width)
               : refine_sparse(groups, *key, rows);
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
    ok = key && (!rows || refine(groups, key, rows) || llmprof_fail_nomem(err));
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

/* A group's values, sorted. */
static const int64_t *sorted_block(blocks *b, size_t group, size_t *count) {
  int64_t *block = b->values + b->start[group];
  *count = b->start[group + 1] - b->start[group];
  llmprof_sort_i64(block, *count, b->scratch);
  return block;
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
    size_t count;
    const int64_t *block = sorted_block(&b, g, &count);
    ok = summarize(block, count, wanted, wanted_count, &summaries[g]) ||
         llmprof_fail(err, LLMPROF_RANGE, "total of column '%s' is too large",
                      values->name);
  }
  blocks_free(&b);
  return ok;
}

static size_t count_distinct(const int64_t *sorted, size_t count) {
  size_t distinct = count > 0;
  for (size_t i = 1; i < count; i++) distinct += sorted[i] != sorted[i - 1];
  return distinct;
}

bool llmprof_distinct(llmprof_frame *frame, size_t number,
                      const llmprof_groups *groups, size_t *distinct,
                      llmprof_error *err) {
  const llmprof_column *column = llmprof_frame_column(frame, number, err);
  if (!column) return false;
  blocks b = {0};
  bool ok = blocks_fill(&b, column, llmprof_frame_rows(frame), groups) ||
            llmprof_fail_nomem(err);
  for (size_t g = 0; ok && g < groups->count; g++) {
    size_t count;
    const int64_t *block = sorted_block(&b, g, &count);
    distinct[g] = count_distinct(block, count);
  }
  blocks_free(&b);
  return ok;
}

/* A frame: named columns of equal length, the form in which events are
 * filtered, grouped, sorted and summed up. Columns are integers (int64_t),
 * small integers (uint32_t), string ids or reals (double); data is borrowed
 * where it can be, and reached through an index where rows were selected or
 * joined, so that a view of millions of rows costs four bytes a row.
 *
 * What loops over rows ends with INTERRUPTED when llmprof_interrupted(). */
#ifndef LLMPROF_FRAME_H
#define LLMPROF_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "llmprof/absent.h"
#include "llmprof/error.h"
#include "llmprof/strings.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum llmprof_column_type {
  LLMPROF_I64,       /* LLMPROF_ABSENT: absent */
  LLMPROF_U32,       /* UINT32_MAX: absent */
  LLMPROF_STRING_ID, /* uint32_t; LLMPROF_NO_STRING: absent */
  LLMPROF_F64,       /* NaN: absent */
} llmprof_column_type;

typedef struct llmprof_column {
  const char *name; /* lives as long as the frame */
  const char *unit; /* "ns", "bytes", ... or NULL; lives as long */
  llmprof_column_type type;
  const void *data;      /* int64_t, uint32_t or double */
  const uint32_t *index; /* NULL: row r is data[r]; else data[index[r]], and
                            index[r] UINT32_MAX: absent */
  const llmprof_strings *strings; /* of its ids; NULL: the frame's pool */
  const uint32_t *plus; /* NULL; else, of LLMPROF_I64, item i is data[i] +
                           plus[i], and none is absent */
} llmprof_column;

typedef struct llmprof_frame llmprof_frame;

/* An empty frame over a pool that outlives it; NULL when out of memory. */
llmprof_frame *llmprof_frame_new(size_t rows, const llmprof_strings *strings);
void llmprof_frame_free(llmprof_frame *frame);

size_t llmprof_frame_rows(const llmprof_frame *frame);
const llmprof_strings *llmprof_frame_strings(const llmprof_frame *frame);

/* Columns: how many, which number has a name (SIZE_MAX: none), and what one
 * is like; its data may not be there yet. */
size_t llmprof_frame_columns(const llmprof_frame *frame);
size_t llmprof_frame_find(const llmprof_frame *frame, const char *name);
const llmprof_column *llmprof_frame_peek(const llmprof_frame *frame,
                                         size_t column);

/* The same with its data, loaded on first use; NULL on failure. */
const llmprof_column *llmprof_frame_column(llmprof_frame *frame, size_t column,
                                           llmprof_error *err);

/* The pool that a column's string ids are of. */
static inline const llmprof_strings *
llmprof_column_strings(const llmprof_frame *frame,
                       const llmprof_column *column) {
  return column->strings ? column->strings : llmprof_frame_strings(frame);
}

/* Fills in data and index of a column. */
typedef bool (*llmprof_column_loader)(llmprof_frame *frame,
                                      llmprof_column *column, void *user,
                                      llmprof_error *err);

/* Add a column. Without a loader its data is there already. Data and index
 * outlive the frame or were handed to it; the name is copied. */
bool llmprof_frame_add(llmprof_frame *frame, const llmprof_column *column,
                       llmprof_column_loader load, void *user);

/* The same over `data` of llmprof_alloc, which becomes the frame's, also on
 * failure; NULL is such a failure. The unit is borrowed. */
bool llmprof_frame_give(llmprof_frame *frame, const char *name,
                        const char *unit, llmprof_column_type type, void *data,
                        llmprof_error *err);

/* Add column `number` once more, by another name. */
bool llmprof_frame_alias(llmprof_frame *frame, size_t number, const char *name,
                         llmprof_error *err);

/* Hand memory from llmprof_alloc to the frame, which frees it; on failure it
 * is freed at once. */
bool llmprof_frame_own(llmprof_frame *frame, void *memory);

/* A real as a cell: an integer that orders as the reals do, so that reals are
 * compared, grouped and sorted by the same code; and back. -0 is 0, NaN is
 * LLMPROF_ABSENT. */
static inline int64_t llmprof_real_cell(double value) {
  if (value != value) return LLMPROF_ABSENT;
  value += 0.0;
  int64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits < 0 ? bits ^ INT64_MAX : bits;
}

static inline double llmprof_cell_real(int64_t cell) {
  int64_t bits = cell < 0 ? cell ^ INT64_MAX : cell;
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* A cell of a loaded column: the integer, the string's id, or a real as
 * above. Absent ones are LLMPROF_ABSENT. */
static inline int64_t llmprof_cell(const llmprof_column *column, size_t row) {
  if (column->index) {
    row = column->index[row];
    if (row == UINT32_MAX) return LLMPROF_ABSENT;
  }
  if (column->type == LLMPROF_I64) {
    int64_t value = ((const int64_t *)column->data)[row];
    return column->plus ? value + column->plus[row] : value;
  }
  if (column->type == LLMPROF_F64)
    return llmprof_real_cell(((const double *)column->data)[row]);
  uint32_t value = ((const uint32_t *)column->data)[row];
  return value == UINT32_MAX ? LLMPROF_ABSENT : (int64_t)value;
}

/* The text of a cell of a loaded column of strings, borrowed from its pool, or
 * `absent`, which may be NULL. */
static inline const char *llmprof_cell_text(const llmprof_frame *frame,
                                            const llmprof_column *column,
                                            size_t row, const char *absent) {
  int64_t id = llmprof_cell(column, row);
  if (id == LLMPROF_ABSENT) return absent;
  return llmprof_strings_get(llmprof_column_strings(frame, column),
                             (uint32_t)id, NULL);
}

/* ---- selecting rows ---- */

typedef enum llmprof_compare {
  LLMPROF_EQ,
  LLMPROF_NE,
  LLMPROF_LT,
  LLMPROF_LE,
  LLMPROF_GT,
  LLMPROF_GE,
} llmprof_compare;

/* A condition on one column. Strings compare equal or not, by id. Absent
 * cells satisfy no condition but LLMPROF_EQ with LLMPROF_ABSENT ("is absent")
 * and LLMPROF_NE with LLMPROF_ABSENT ("is there"). With more than one value, EQ
 * means any of them, NE none of them; the order comparisons take one. */
typedef struct llmprof_condition {
  size_t column;
  llmprof_compare compare;
  const int64_t *values;
  size_t count;
} llmprof_condition;

/* Views borrow from `frame`, which must outlive them. NULL on failure. */

/* The rows that satisfy all conditions, in order. */
llmprof_frame *llmprof_frame_where(llmprof_frame *frame,
                                   const llmprof_condition *conditions,
                                   size_t count, llmprof_error *err);

/* A stretch of time, both ends included, in ns. */
typedef struct llmprof_stretch {
  int64_t start, end;
  int64_t key; /* what a key column must hold, where there is one */
} llmprof_stretch;

/* The rows that lie within a stretch, by their columns of starts and ends: by
 * stretch, and by start within one. A row within several comes once for each.
 * With a key column (SIZE_MAX: none) its cell equals the stretch's key. Rows
 * may be in any order; LIMIT: more of them than a frame can have. */
llmprof_frame *llmprof_frame_within(llmprof_frame *frame, size_t start_column,
                                    size_t end_column, size_t key_column,
                                    const llmprof_stretch *stretches,
                                    size_t count, llmprof_error *err);

/* The rows listed, in that order; each is less than llmprof_frame_rows().
 * `rows` is from llmprof_alloc and becomes the view's, also on failure. */
llmprof_frame *llmprof_frame_take(llmprof_frame *frame, uint32_t *rows,
                                  size_t count, llmprof_error *err);

/* `count` rows from `first` on; they are there. */
llmprof_frame *llmprof_frame_slice(llmprof_frame *frame, size_t first,
                                   size_t count, llmprof_error *err);

/* All rows, these columns only, in that order. */
llmprof_frame *llmprof_frame_select(llmprof_frame *frame, const size_t *columns,
                                    size_t count, llmprof_error *err);

/* ---- order ---- */

/* Strings order by their bytes. Absent cells come last either way. */
typedef struct llmprof_order {
  size_t column;
  bool descending;
} llmprof_order;

/* A view sorted by the first key, among equals by the second and so on, then
 * as before. At most `limit` rows, found without sorting the others. */
llmprof_frame *llmprof_frame_sort(llmprof_frame *frame,
                                  const llmprof_order *keys, size_t count,
                                  size_t limit, llmprof_error *err);

/* Add for each of these columns one whose name has "next_" before it: its cell
 * in the row that follows, absent in the last. UNSUPPORTED: there is such a
 * column; LIMIT: its name would be longer than 255 bytes. */
bool llmprof_frame_follow(llmprof_frame *frame, const size_t *columns,
                          size_t count, llmprof_error *err);

/* ---- groups and their statistics ---- */

/* Rows with equal cells in the key columns; absent equals absent. Groups are
 * numbered by first appearance. */
typedef struct llmprof_groups {
  size_t count;
  uint32_t *of_row;    /* by row: its group */
  uint32_t *first_row; /* by group */
  uint32_t *rows;      /* by group: how many */
} llmprof_groups;

/* Without keys all rows are one group. The caller frees; on failure (a column
 * cannot be loaded, NOMEM, INTERRUPTED) there is nothing to free. */
bool llmprof_groups_make(llmprof_groups *groups, llmprof_frame *frame,
                         const size_t *keys, size_t key_count,
                         llmprof_error *err);
void llmprof_groups_free(llmprof_groups *groups);

/* How many groups there are, without making them. */
bool llmprof_groups_count(llmprof_frame *frame, const size_t *keys,
                          size_t key_count, size_t *count, llmprof_error *err);

enum {
  LLMPROF_PERCENTILES = 8
};

/* Of one column's present values in one group. With count 0 nothing else is
 * set; total, min and max are of integers, the real_ ones of reals. Definitions
 * are those of NVIDIA's reports: the median of an even count is the mean of the
 * middle two; stddev is the sample's (n - 1), 0 for one value. Percentiles
 * interpolate linearly between closest ranks. */
typedef struct llmprof_summary {
  size_t count;
  int64_t total, min, max;
  double real_total, real_min, real_max;
  double mean, median, stddev;
  double percentiles[LLMPROF_PERCENTILES]; /* as asked for */
} llmprof_summary;

/* Sum up column `column` by group into summaries[groups->count], with
 * `wanted_count` percentiles in 0..100. Fails with RANGE when a total does
 * not fit in an int64_t. */
bool llmprof_summarize(llmprof_frame *frame, size_t column,
                       const llmprof_groups *groups, const double *wanted,
                       size_t wanted_count, llmprof_summary *summaries,
                       llmprof_error *err);

/* The same without mean, median, stddev and percentiles, at the cost of one
 * look at each cell. */
bool llmprof_totals(llmprof_frame *frame, size_t column,
                    const llmprof_groups *groups, llmprof_summary *summaries,
                    llmprof_error *err);

/* By group, the number of distinct present values of a column. */
bool llmprof_distinct(llmprof_frame *frame, size_t column,
                      const llmprof_groups *groups, size_t *distinct,
                      llmprof_error *err);

typedef enum llmprof_statistic {
  LLMPROF_COUNT,    /* present values; without a column, rows */
  LLMPROF_DISTINCT, /* different present values */
  LLMPROF_SUM,
  LLMPROF_MEAN,
  LLMPROF_MEDIAN,
  LLMPROF_MIN,
  LLMPROF_MAX,
  LLMPROF_STDDEV,
  LLMPROF_PERCENTILE,
} llmprof_statistic;

/* A column to make: `name`, in the unit of the one it is made from. */
typedef struct llmprof_aggregate {
  const char *name;
  llmprof_statistic statistic;
  size_t column; /* SIZE_MAX: none, for COUNT */
  double percentile;
} llmprof_aggregate;

/* A frame with one row per group, by first appearance: the key columns, which
 * borrow from `frame`, and the aggregates. Statistics of no value are absent.
 * LIMIT: more than LLMPROF_PERCENTILES percentiles of one column. */
llmprof_frame *llmprof_frame_aggregate(llmprof_frame *frame, const size_t *keys,
                                       size_t key_count,
                                       const llmprof_aggregate *aggregates,
                                       size_t count, llmprof_error *err);

/* Add columns to `frame` that say something about its groups: item g of their
 * data is that of group g, as llmprof_groups_make() numbers them. RANGE: there
 * are not `groups` of them. Data and pools as in llmprof_frame_add(). */
bool llmprof_frame_extend(llmprof_frame *frame, const size_t *keys,
                          size_t key_count, size_t groups,
                          const llmprof_column *columns, size_t count,
                          llmprof_error *err);

/* How many present values of a column of numbers fall between neighbours of
 * edges[bins + 1], which ascend: counts[i] of edges[i] <= v < edges[i + 1],
 * the last bin with its upper edge. */
bool llmprof_histogram(llmprof_frame *frame, size_t column, const double *edges,
                       size_t bins, size_t *counts, llmprof_error *err);

/* Of the rows that fall into a bin: how many, and their least and largest
 * value. */
typedef struct llmprof_bin {
  size_t count; /* 0: the rest is not set */
  double least, most;
} llmprof_bin;

/* What column `y` of numbers looks like over column `x` (SIZE_MAX: over the
 * numbers of rows, from 0), from `low` up to and with `high` in `count` bins of
 * equal width: bins[count]. Rows that lack either value are left out. */
bool llmprof_frame_outline(llmprof_frame *frame, size_t x, size_t y, double low,
                           double high, llmprof_bin *bins, size_t count,
                           llmprof_error *err);

#ifdef __cplusplus
}
#endif

#endif

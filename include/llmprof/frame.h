/* A frame: named columns of equal length, the form in which events are
 * filtered, grouped and summed up. Columns are integers (int64_t), small
 * integers (uint32_t) or string ids; data is borrowed where it can be, and
 * reached through an index where rows were selected or joined, so that a view
 * of millions of rows costs four bytes a row. */
#ifndef LLMPROF_FRAME_H
#define LLMPROF_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llmprof/error.h"
#include "llmprof/strings.h"

typedef enum llmprof_column_type {
  LLMPROF_I64,       /* INT64_MIN: absent */
  LLMPROF_U32,       /* UINT32_MAX: absent */
  LLMPROF_STRING_ID, /* uint32_t; LLMPROF_NO_STRING: absent */
} llmprof_column_type;

typedef struct llmprof_column {
  const char *name; /* lives as long as the frame */
  const char *unit; /* "ns", "bytes" or NULL; static */
  llmprof_column_type type;
  const void *data;      /* int64_t or uint32_t */
  const uint32_t *index; /* NULL: row r is data[r]; else data[index[r]], and
                            index[r] UINT32_MAX: absent */
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

/* Fills in data and index of a column. */
typedef bool (*llmprof_column_loader)(llmprof_frame *frame,
                                      llmprof_column *column, void *user,
                                      llmprof_error *err);

/* Add a column. Without a loader its data is there already. Data and index
 * outlive the frame or were handed to it; the name is copied. */
bool llmprof_frame_add(llmprof_frame *frame, const llmprof_column *column,
                       llmprof_column_loader load, void *user);

/* Hand memory from llmprof_alloc to the frame, which frees it; on failure it
 * is freed at once. */
bool llmprof_frame_own(llmprof_frame *frame, void *memory);

/* A cell of a loaded column: the integer, or the string's id. Absent ones are
 * INT64_MIN. */
static inline int64_t llmprof_cell(const llmprof_column *column, size_t row) {
  if (column->index) {
    row = column->index[row];
    if (row == UINT32_MAX) return INT64_MIN;
  }
  if (column->type == LLMPROF_I64) return ((const int64_t *)column->data)[row];
  uint32_t value = ((const uint32_t *)column->data)[row];
  return value == UINT32_MAX ? INT64_MIN : (int64_t)value;
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
 * cells satisfy no condition but LLMPROF_EQ with INT64_MIN ("is absent") and
 * LLMPROF_NE with INT64_MIN ("is there"). With more than one value, EQ means
 * any of them, NE none of them; the order comparisons take one. */
typedef struct llmprof_condition {
  size_t column;
  llmprof_compare compare;
  const int64_t *values;
  size_t count;
} llmprof_condition;

/* A view of the rows that satisfy all conditions, in order. It borrows from
 * `frame`, which must outlive it. */
llmprof_frame *llmprof_frame_where(llmprof_frame *frame,
                                   const llmprof_condition *conditions,
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

bool llmprof_groups_make(llmprof_groups *groups, llmprof_frame *frame,
                         const size_t *keys, size_t key_count,
                         llmprof_error *err);
void llmprof_groups_free(llmprof_groups *groups);

enum {
  LLMPROF_PERCENTILES = 8
};

/* Of one column's present values in one group. With count 0 nothing else is
 * set. Definitions are those of NVIDIA's reports: the median of an even count
 * is the mean of the middle two; stddev is the sample's (n - 1), 0 for one
 * value. Percentiles interpolate linearly between closest ranks. */
typedef struct llmprof_summary {
  size_t count;
  int64_t total, min, max;
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

/* By group, the number of distinct present values of a column. */
bool llmprof_distinct(llmprof_frame *frame, size_t column,
                      const llmprof_groups *groups, size_t *distinct,
                      llmprof_error *err);

#endif

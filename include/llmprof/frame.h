/* A frame: named columns of equal length, the form in which events are
 * filtered, grouped, sorted and summed up. Columns are numbered from 0. They
 * are integers, small integers, string ids or reals. How their cells are stored
 * is nobody's concern: rows that were selected or joined are a view, which
 * costs four bytes a row however many columns it has.
 *
 * A function that returns a frame gives it to the caller, who frees it with
 * llmprof_frame_free; NULL is a failure: NOMEM, or what its column's loader
 * says. What loops over rows ends with INTERRUPTED when llmprof_interrupted().
 */
#ifndef LLMPROF_FRAME_H
#define LLMPROF_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "llmprof/error.h"
#include "llmprof/strings.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum llmprof_column_type {
  LLMPROF_I64,       /* in an array int64_t; LLMPROF_ABSENT: absent */
  LLMPROF_U32,       /* uint32_t; UINT32_MAX: absent */
  LLMPROF_STRING_ID, /* uint32_t; LLMPROF_NO_STRING: absent */
  LLMPROF_F64,       /* double; NaN: absent */
} llmprof_column_type;

/* Cells that are stored in some encoding, or made while they are read. */
typedef struct llmprof_values llmprof_values;

typedef struct llmprof_column {
  const char *name; /* lives as long as the frame */
  const char *unit; /* "ns", "bytes", ... or NULL; lives as long */
  llmprof_column_type type;
  const llmprof_values *values;   /* its cells; NULL until they are loaded */
  const llmprof_strings *strings; /* of its ids; NULL: the frame's pool */
} llmprof_column;

typedef struct llmprof_frame llmprof_frame;

/* A frame of `rows` rows, without columns, over a pool that outlives it; NULL
 * when out of memory. */
llmprof_frame *llmprof_frame_new(size_t rows, const llmprof_strings *strings);
void llmprof_frame_free(llmprof_frame *frame); /* NULL is fine */

/* The pool is borrowed. */
size_t llmprof_frame_rows(const llmprof_frame *frame);
const llmprof_strings *llmprof_frame_strings(const llmprof_frame *frame);

/* Columns: how many, which number has a name (SIZE_MAX: none), and what one
 * is like; its values may not be there yet. What is given lives until a column
 * is added or the frame is freed. */
size_t llmprof_frame_columns(const llmprof_frame *frame);
size_t llmprof_frame_find(const llmprof_frame *frame, const char *name);
const llmprof_column *llmprof_frame_peek(const llmprof_frame *frame,
                                         size_t column);

/* The same with its values, loaded on first use; NULL on failure. `column` is
 * less than llmprof_frame_columns(). */
const llmprof_column *llmprof_frame_column(llmprof_frame *frame, size_t column,
                                           llmprof_error *err);

/* The pool that a column's string ids are of. */
static inline const llmprof_strings *
llmprof_column_strings(const llmprof_frame *frame,
                       const llmprof_column *column) {
  return column->strings ? column->strings : llmprof_frame_strings(frame);
}

/* Fills in the values of a column; called once, when it is first asked for.
 * On false err says why, and it is called again the next time. */
typedef bool (*llmprof_column_loader)(llmprof_frame *frame,
                                      llmprof_column *column, void *user,
                                      llmprof_error *err);

/* Add a column. Without a loader its values are there already. Values, unit and
 * strings outlive the frame, or were handed to it; the name is copied.
 * False when out of memory. */
bool llmprof_frame_add(llmprof_frame *frame, const llmprof_column *column,
                       llmprof_column_loader load, void *user);

/* The same over an array of llmprof_alloc, which becomes the frame's, also on
 * failure. NULL, for an allocation that failed, is NOMEM. The unit, which may
 * be NULL, is borrowed. */
bool llmprof_frame_give(llmprof_frame *frame, const char *name,
                        const char *unit, llmprof_column_type type, void *data,
                        llmprof_error *err);

/* Add column `number` once more, by another name; its values are shared. */
bool llmprof_frame_alias(llmprof_frame *frame, size_t number, const char *name,
                         llmprof_error *err);

/* Hand memory from llmprof_alloc to the frame, which frees it; when out of
 * memory it is freed at once, and false returned. */
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
int64_t llmprof_cell(const llmprof_column *column, size_t row);

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

/* Views borrow from `frame`, which must outlive them. */

/* The rows that satisfy all conditions, in order. */
llmprof_frame *llmprof_frame_where(llmprof_frame *frame,
                                   const llmprof_condition *conditions,
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

/* ---- groups and their statistics ---- */

enum {
  LLMPROF_PERCENTILES = 8
};

/* Definitions are those of NVIDIA's reports: the median of an even count is the
 * mean of the middle two; the standard deviation is the sample's (n - 1),
 * absent for one value. Percentiles interpolate linearly between closest ranks.
 */
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

/* A column to make: `name`, in the unit of the one it is made from. Counts are
 * integers, sums, minima and maxima of integers too; what else is made is real.
 */
typedef struct llmprof_aggregate {
  const char *name;
  llmprof_statistic statistic;
  size_t column;     /* SIZE_MAX: none, for COUNT */
  double percentile; /* 0 to 100, of LLMPROF_PERCENTILE */
} llmprof_aggregate;

/* A frame with one row per group of rows whose cells in the key columns are
 * equal, by first appearance (without keys, all rows are one group; absent
 * equals absent): the key columns, which borrow from `frame`, and the
 * aggregates. Statistics of no value are absent. LIMIT: more than
 * LLMPROF_PERCENTILES percentiles of one column; RANGE: a sum does not fit in
 * an int64_t. */
llmprof_frame *llmprof_frame_aggregate(llmprof_frame *frame, const size_t *keys,
                                       size_t key_count,
                                       const llmprof_aggregate *aggregates,
                                       size_t count, llmprof_error *err);

#ifdef __cplusplus
}
#endif

#endif

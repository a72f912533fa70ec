/* Sorting the rows of a frame. Every key becomes one integer per row that
 * ascends in the order wanted, so that sorting need not know of types,
 * directions or absent cells: none where all cells are the same. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/interrupt.h"
#include "frame/cells.h"
#include "frame/sort.h"
#include "llmprof/frame.h"

/* ---- texts ---- */

/* Rows to be put in order. same: by place, is the row the same as the one
 * before, so far? Only such rows and those before them are told apart. */
typedef struct unsorted {
  uint32_t *rows;
  size_t count;
  bool *same;
} unsorted;

static bool is_open(const unsorted *u, size_t i) {
  return (i && u->same[i]) || (i + 1 < u->count && u->same[i + 1]);
}

/* The ids that those rows use, each once; *count of them. marks: by id, zero at
 * first. NULL when out of memory. */
static uint32_t *list_ids(const llmprof_column *column, const unsorted *u,
                          uint32_t *marks, size_t *count) {
  uint32_t *ids = NULL;
  size_t cap = 0;
  *count = 0;
  for (size_t i = 0; i < u->count; i++) {
    int64_t id =
        is_open(u, i) ? llmprof_cell(column, u->rows[i]) : LLMPROF_ABSENT;
    if (id == LLMPROF_ABSENT || marks[id]) continue;
    if (!llmprof_grow(&ids, &cap, *count + 1, sizeof *ids)) {
      llmprof_free(ids);
      return NULL;
    }
    marks[id] = 1;
    ids[(*count)++] = (uint32_t)id;
  }
  return ids ? ids : llmprof_alloc(0, sizeof *ids);
}

static int compare_texts(const void *a, const void *b, void *user) {
  const llmprof_strings *strings = user;
  size_t one, other;
  const char *left = llmprof_strings_get(strings, *(const uint32_t *)a, &one);
  const char *right =
      llmprof_strings_get(strings, *(const uint32_t *)b, &other);
  int order = memcmp(left, right, one < other ? one : other);
  return order ? order : (one > other) - (one < other);
}

/* By id, the places of the strings that those rows use in their order. NULL
 * when out of memory. */
static uint32_t *rank_strings(const llmprof_column *column, const unsorted *u,
                              const llmprof_strings *strings) {
  size_t count;
  uint32_t *ranks =
      llmprof_zalloc(llmprof_strings_count(strings), sizeof *ranks);
  uint32_t *ids = ranks ? list_ids(column, u, ranks, &count) : NULL;
  if (!ids) {
    llmprof_free(ranks);
    return NULL;
  }
  qsort_r(ids, count, sizeof *ids, compare_texts, (void *)strings);
  for (size_t i = 0; i < count; i++) ranks[ids[i]] = (uint32_t)i;
  llmprof_free(ids);
  return ranks;
}

/* ---- keys ---- */

/* ranks: of strings by id, or NULL for numbers. */
static void fill_key(int64_t *key, const llmprof_column *column, size_t rows,
                     const uint32_t *ranks, bool descending) {
  for (size_t row = 0; row < rows; row += LLMPROF_BLOCK) {
    int64_t *cells = key + row;
    size_t count = llmprof_block(row, rows);
    llmprof_cells(column, row, count, cells);
    for (size_t i = 0; i < count; i++) {
      bool present = cells[i] != LLMPROF_ABSENT;
      if (ranks && present) cells[i] = ranks[cells[i]];
      if (descending) cells[i] = ~cells[i];
      if (!present) cells[i] = INT64_MAX;
    }
  }
}

/* NULL where all cells are the same. */
static bool make_key(int64_t **key, llmprof_frame *frame, const unsorted *u,
                     const llmprof_order *by, llmprof_error *err) {
  *key = NULL;
  llmprof_cell_span span;
  size_t rows = llmprof_frame_rows(frame);
  const llmprof_column *column = llmprof_frame_column(frame, by->column, err);
  if (!column || !llmprof_frame_span(frame, by->column, &span, err))
    return false;
  if (span.low > span.high || (span.low == span.high && !span.absent))
    return true;
  bool texts = column->type == LLMPROF_STRING_ID;
  uint32_t *ranks =
      texts ? rank_strings(column, u, llmprof_column_strings(frame, column))
            : NULL;
  if (ranks || !texts) *key = llmprof_alloc(rows, sizeof **key);
  if (*key) fill_key(*key, column, rows, ranks, by->descending);
  llmprof_free(ranks);
  return *key || llmprof_fail_nomem(err);
}

static int compare_keys(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* A bound of the `limit` least keys, from the least of those seen so far, which
 * are sorted whenever there are twice as many. */
static bool bound_least(const int64_t *key, size_t rows, size_t limit,
                        int64_t *bound) {
  int64_t *least = llmprof_alloc(2 * limit, sizeof *least);
  size_t count = 0;
  *bound = INT64_MAX;
  for (size_t row = 0; least && row < rows; row++) {
    if (key[row] >= *bound) continue;
    least[count++] = key[row];
    if (count < 2 * limit) continue;
    qsort(least, count, sizeof *least, compare_keys);
    *bound = least[limit - 1];
    count = limit;
  }
  llmprof_free(least);
  return least != NULL;
}

/* Only rows that are among the first `limit` by the first key. */
static bool keep_first(unsorted *u, llmprof_frame *frame,
                       const llmprof_order *by, size_t limit,
                       llmprof_error *err) {
  int64_t *key, bound;
  if (!make_key(&key, frame, u, by, err)) return false;
  bool ok = !key || bound_least(key, u->count, limit, &bound) ||
            llmprof_fail_nomem(err);
  size_t all = ok && key ? u->count : 0;
  if (all) u->count = 0;
  for (size_t row = 0; row < all; row++)
    if (key[row] <= bound) u->rows[u->count++] = (uint32_t)row;
  llmprof_free(key);
  return ok;
}

/* Sorts each stretch of rows that are the same so far by one more key, which
 * tells some of them apart. *left: are there rows that it does not? */
static bool sort_same(const unsorted *u, const int64_t *key, bool *left) {
  *left = false;
  for (size_t from = 0, to; from < u->count; from = to) {
    for (to = from + 1; to < u->count && u->same[to]; to++) continue;
    if (!llmprof_sort_rows_i64(u->rows + from, to - from, key)) return false;
    for (size_t i = from + 1; i < to; i++) {
      u->same[i] = key[u->rows[i]] == key[u->rows[i - 1]];
      if (u->same[i]) *left = true;
    }
  }
  return true;
}

/* By one key after the other, as long as rows are the same by those before. */
static bool sort_by(const unsorted *u, llmprof_frame *frame,
                    const llmprof_order *by, size_t count, llmprof_error *err) {
  bool left = u->count > 1, ok = true;
  for (size_t k = 0; ok && left && k < count; k++) {
    int64_t *key = NULL;
    if (llmprof_interrupted())
      ok = llmprof_fail_interrupted(err);
    else if ((ok = make_key(&key, frame, u, &by[k], err)) && key)
      ok = sort_same(u, key, &left) || llmprof_fail_nomem(err);
    llmprof_free(key);
  }
  return ok;
}

/* The first `limit` at least. */
static uint32_t *sort_rows(llmprof_frame *frame, const llmprof_order *by,
                           size_t count, size_t limit, llmprof_error *err) {
  enum {
    FEW = 64 /* rows for each that is wanted; of more, most are not sorted */
  };
  size_t all = llmprof_frame_rows(frame);
  unsorted u = {llmprof_alloc(all, sizeof *u.rows), all,
                llmprof_alloc(all, sizeof *u.same)};
  bool ok = (u.rows && u.same) || llmprof_fail_nomem(err);
  for (size_t row = 0; ok && row < all; row++) {
    u.rows[row] = (uint32_t)row;
    u.same[row] = true;
  }
  if (ok && count && limit && limit < all / FEW)
    ok = keep_first(&u, frame, by, limit, err);
  ok = ok && sort_by(&u, frame, by, count, err);
  llmprof_free(u.same);
  if (ok) return u.rows;
  llmprof_free(u.rows);
  return NULL;
}

llmprof_frame *llmprof_frame_sort(llmprof_frame *frame, const llmprof_order *by,
                                  size_t count, size_t limit,
                                  llmprof_error *err) {
  size_t all = llmprof_frame_rows(frame);
  uint32_t *rows = sort_rows(frame, by, count, limit, err);
  return rows ? llmprof_frame_take(frame, rows, limit < all ? limit : all, err)
              : NULL;
}

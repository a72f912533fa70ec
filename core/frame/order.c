/* Sorting the rows of a frame. Every key becomes one integer per row that
 * ascends in the order wanted, so that sorting need not know of types,
 * directions or absent cells: none where all cells are the same. */
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "frame/cells.h"
#include "frame/sort.h"
#include "frame/strings_laid.h"
#include "llmprof/alloc.h"
#include "llmprof/frame.h"

/* ---- texts ---- */

/* Which strings rows use, by id; how many. */
static size_t note_used(const llmprof_column *column, size_t rows,
                        uint32_t *uses) {
  int64_t cells[LLMPROF_BLOCK];
  size_t used = 0;
  for (size_t row = 0; row < rows; row += LLMPROF_BLOCK) {
    size_t count = llmprof_block(row, rows);
    llmprof_cells(column, row, count, cells);
    for (size_t i = 0; i < count; i++) {
      if (cells[i] == LLMPROF_ABSENT || uses[cells[i]]) continue;
      uses[cells[i]] = 1;
      used++;
    }
  }
  return used;
}

/* The ids of those, or of all strings, ascending. */
static uint32_t *list_ids(const uint32_t *uses, size_t count, bool all,
                          size_t used) {
  uint32_t *ids = llmprof_alloc(all ? count : used, sizeof *ids);
  for (uint32_t id = 0, at = 0; ids && id < count; id++)
    if (all || uses[id]) ids[at++] = id;
  return ids;
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

/* Places of strings in their order: of all where rows use most of them, since
 * others are asked for the same soon, else of those that rows use. *kept: the
 * pool has them. */
static llmprof_string_ranks *rank_strings(const llmprof_column *column,
                                          size_t rows,
                                          const llmprof_strings *strings,
                                          bool *kept) {
  enum {
    FEW = 8 /* strings, of which one is not used */
  };
  size_t count = llmprof_strings_count(strings);
  llmprof_string_ranks *ranks =
      llmprof_zalloc(1, sizeof *ranks + count * sizeof *ranks->of);
  if (!ranks) return NULL;
  ranks->count = count;
  size_t used = note_used(column, rows, ranks->of);
  bool most = count - used <= count / FEW;
  uint32_t *ids = list_ids(ranks->of, count, most, used);
  if (most) used = count;
  if (!ids) {
    llmprof_free(ranks);
    return NULL;
  }
  qsort_r(ids, used, sizeof *ids, compare_texts, (void *)strings);
  for (size_t i = 0; i < used; i++) ranks->of[ids[i]] = (uint32_t)i;
  llmprof_free(ids);
  *kept = most && llmprof_strings_keep_ranks(strings, ranks);
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

/* highest: of the ids. */
static bool fill_ranks(int64_t *key, llmprof_frame *frame,
                       const llmprof_column *column, int64_t highest,
                       bool descending) {
  const llmprof_strings *strings = llmprof_column_strings(frame, column);
  const llmprof_string_ranks *known = llmprof_strings_ranks(strings);
  size_t rows = llmprof_frame_rows(frame);
  if (known && highest < (int64_t)known->count) {
    fill_key(key, column, rows, known->of, descending);
    return true;
  }
  bool kept;
  llmprof_string_ranks *made = rank_strings(column, rows, strings, &kept);
  if (!made) return false;
  fill_key(key, column, rows, made->of, descending);
  if (!kept) llmprof_free(made);
  return true;
}

/* NULL where all cells are the same. */
static bool make_key(int64_t **key, llmprof_frame *frame,
                     const llmprof_order *by, llmprof_error *err) {
  *key = NULL;
  llmprof_cell_span span;
  size_t rows = llmprof_frame_rows(frame);
  const llmprof_column *column = llmprof_frame_column(frame, by->column, err);
  if (!column || !llmprof_frame_span(frame, by->column, &span, err))
    return false;
  if (span.low > span.high || (span.low == span.high && !span.absent))
    return true;
  *key = llmprof_alloc(rows, sizeof **key);
  if (!*key) return llmprof_fail_nomem(err);
  if (column->type == LLMPROF_STRING_ID)
    return fill_ranks(*key, frame, column, span.high, by->descending) ||
           llmprof_fail_nomem(err);
  fill_key(*key, column, rows, NULL, by->descending);
  return true;
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
static bool keep_first(uint32_t *rows, size_t *count, llmprof_frame *frame,
                       const llmprof_order *by, size_t limit,
                       llmprof_error *err) {
  int64_t *key, bound;
  if (!make_key(&key, frame, by, err)) return false;
  bool ok = !key || bound_least(key, *count, limit, &bound) ||
            llmprof_fail_nomem(err);
  size_t all = ok && key ? *count : 0;
  if (all) *count = 0;
  for (size_t row = 0; row < all; row++)
    if (key[row] <= bound) rows[(*count)++] = (uint32_t)row;
  llmprof_free(key);
  return ok;
}

/* Sorts each stretch of rows that are the same so far by one more key, which
 * tells some of them apart. *left: are there rows that it does not? */
static bool sort_same(uint32_t *rows, size_t count, bool *same,
                      const int64_t *key, bool *left) {
  *left = false;
  for (size_t from = 0, to; from < count; from = to) {
    for (to = from + 1; to < count && same[to]; to++) continue;
    if (!llmprof_sort_rows_i64(rows + from, to - from, key)) return false;
    for (size_t i = from + 1; i < to; i++)
      if ((same[i] = key[rows[i]] == key[rows[i - 1]])) *left = true;
  }
  return true;
}

/* By one key after the other, as long as rows are the same by those before. */
static bool sort_by(uint32_t *rows, size_t row_count, llmprof_frame *frame,
                    const llmprof_order *by, size_t count, llmprof_error *err) {
  bool left = row_count > 1, ok = true;
  bool *same = llmprof_alloc(row_count, sizeof *same);
  if (!same) return llmprof_fail_nomem(err);
  memset(same, true, row_count);
  for (size_t k = 0; ok && left && k < count; k++) {
    int64_t *key = NULL;
    if (llmprof_interrupted())
      ok = llmprof_fail_interrupted(err);
    else if ((ok = make_key(&key, frame, &by[k], err)) && key)
      ok = sort_same(rows, row_count, same, key, &left) ||
           llmprof_fail_nomem(err);
    llmprof_free(key);
  }
  llmprof_free(same);
  return ok;
}

/* The first `limit` at least. */
static uint32_t *sort_rows(llmprof_frame *frame, const llmprof_order *by,
                           size_t count, size_t limit, llmprof_error *err) {
  enum {
    FEW = 64 /* rows for each that is wanted; of more, most are not sorted */
  };
  size_t row_count = llmprof_frame_rows(frame);
  uint32_t *rows = llmprof_alloc(row_count, sizeof *rows);
  if (!rows) return llmprof_fail_nomem(err), NULL;
  for (size_t row = 0; row < row_count; row++) rows[row] = (uint32_t)row;
  bool ok = !count || !limit || limit >= row_count / FEW ||
            keep_first(rows, &row_count, frame, by, limit, err);
  if (ok && sort_by(rows, row_count, frame, by, count, err)) return rows;
  llmprof_free(rows);
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

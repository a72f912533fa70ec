/* Sorting the rows of a frame. Every key becomes one integer per row that
 * ascends in the order wanted, so that sorting need not know of types,
 * directions or absent cells: of 32 bits where the cells span no more, and none
 * at all where they are all the same. */
#include <string.h>

#include "base/interrupt.h"
#include "base/thread_pool.h"
#include "frame/cells.h"
#include "frame/sort.h"
#include "frame/strings_laid.h"
#include "frame/text_order.h"
#include "llmprof/alloc.h"
#include "llmprof/frame.h"

/* By row; one of the two is set. */
typedef struct row_key {
  uint32_t *near;
  int64_t *wide;
} row_key;

static void key_free(row_key *key) {
  llmprof_free(key->near);
  llmprof_free(key->wide);
  *key = (row_key){0};
}

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

/* Ids in the order of their strings, and the places of these by id. */
typedef struct seating {
  const uint32_t *ids;
  uint32_t *of;
} seating;

static void seat(void *user, size_t first, size_t end) {
  const seating *s = user;
  for (size_t i = first; i < end; i++) s->of[s->ids[i]] = (uint32_t)i;
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
  bool ok = ids && llmprof_order_texts(strings, ids, used);
  seating seats = {ids, ranks->of};
  if (ok) llmprof_parallel_rows(used, seat, &seats);
  llmprof_free(ids);
  *kept = ok && most && llmprof_strings_keep_ranks(strings, ranks);
  if (ok) return ranks;
  llmprof_free(ranks);
  return NULL;
}

/* ---- keys ---- */

/* Distances from the lowest cell or, descending, from the highest. */
typedef struct measuring {
  uint32_t *near;
  const llmprof_column *column;
  llmprof_cell_span span;
  bool descending;
} measuring;

static void fill_some_near(void *user, size_t first, size_t end) {
  const measuring *m = user;
  uint64_t low = (uint64_t)m->span.low, high = (uint64_t)m->span.high;
  int64_t cells[LLMPROF_BLOCK];
  for (size_t row = first; row < end; row += LLMPROF_BLOCK) {
    size_t count = llmprof_block(row, end);
    llmprof_cells(m->column, row, count, cells);
    for (size_t i = 0; i < count; i++) {
      uint64_t cell = (uint64_t)cells[i];
      uint64_t far = m->descending ? high - cell : cell - low;
      m->near[row + i] =
          cells[i] == LLMPROF_ABSENT ? UINT32_MAX : (uint32_t)far;
    }
  }
}

static void fill_near(uint32_t *near, const llmprof_column *column, size_t rows,
                      llmprof_cell_span span, bool descending) {
  measuring m = {near, column, span, descending};
  llmprof_parallel_rows(rows, fill_some_near, &m);
}

static void fill_wide(int64_t *wide, const llmprof_column *column, size_t rows,
                      bool descending) {
  for (size_t row = 0; row < rows; row++) {
    int64_t value = llmprof_cell(column, row);
    bool present = value != LLMPROF_ABSENT;
    if (descending) value = ~value;
    wide[row] = present ? value : INT64_MAX;
  }
}

typedef struct ranking {
  uint32_t *near;
  const llmprof_column *column;
  const uint32_t *ranks;
  bool descending;
} ranking;

static void put_some_ranks(void *user, size_t first, size_t end) {
  const ranking *r = user;
  int64_t cells[LLMPROF_BLOCK];
  for (size_t row = first; row < end; row += LLMPROF_BLOCK) {
    size_t count = llmprof_block(row, end);
    llmprof_cells(r->column, row, count, cells);
    for (size_t i = 0; i < count; i++) {
      uint32_t rank = UINT32_MAX;
      if (cells[i] != LLMPROF_ABSENT)
        rank = r->descending ? UINT32_MAX - 1 - r->ranks[cells[i]]
                             : r->ranks[cells[i]];
      r->near[row + i] = rank;
    }
  }
}

static void put_ranks(uint32_t *near, const llmprof_column *column, size_t rows,
                      const uint32_t *ranks, bool descending) {
  ranking r = {near, column, ranks, descending};
  llmprof_parallel_rows(rows, put_some_ranks, &r);
}

/* highest: of the ids. */
static bool fill_ranks(uint32_t *near, llmprof_frame *frame,
                       const llmprof_column *column, int64_t highest,
                       bool descending) {
  const llmprof_strings *strings = llmprof_column_strings(frame, column);
  const llmprof_string_ranks *known = llmprof_strings_ranks(strings);
  size_t rows = llmprof_frame_rows(frame);
  if (known && highest < (int64_t)known->count) {
    put_ranks(near, column, rows, known->of, descending);
    return true;
  }
  bool kept;
  llmprof_string_ranks *made = rank_strings(column, rows, strings, &kept);
  if (!made) return false;
  put_ranks(near, column, rows, made->of, descending);
  if (!kept) llmprof_free(made);
  return true;
}

/* Neither is set where all cells are the same. */
static bool make_key(row_key *key, llmprof_frame *frame,
                     const llmprof_order *by, llmprof_error *err) {
  *key = (row_key){0};
  llmprof_cell_span span;
  size_t rows = llmprof_frame_rows(frame);
  const llmprof_column *column = llmprof_frame_column(frame, by->column, err);
  if (!column || !llmprof_frame_span(frame, by->column, &span, err))
    return false;
  bool none = span.low > span.high, is_text = column->type == LLMPROF_STRING_ID;
  if (none || (span.low == span.high && !span.absent)) return true;
  bool near = is_text || (uint64_t)span.high - (uint64_t)span.low < UINT32_MAX;
  if (near)
    key->near = llmprof_alloc(rows, sizeof *key->near);
  else
    key->wide = llmprof_alloc(rows, sizeof *key->wide);
  if (!key->near && !key->wide) return llmprof_fail_nomem(err);
  if (is_text)
    return fill_ranks(key->near, frame, column, span.high, by->descending) ||
           llmprof_fail_nomem(err);
  if (near)
    fill_near(key->near, column, rows, span, by->descending);
  else
    fill_wide(key->wide, column, rows, by->descending);
  return true;
}

/* ---- all rows ---- */

static bool sort_by(uint32_t *rows, size_t count, const row_key *key) {
  if (key->near) return llmprof_sort_rows_u32(rows, count, key->near);
  return !key->wide || llmprof_sort_rows_i64(rows, count, key->wide);
}

/* By the last key first: each sort keeps the order of those before. */
static uint32_t *sort_all(llmprof_frame *frame, const llmprof_order *by,
                          size_t count, llmprof_error *err) {
  size_t row_count = llmprof_frame_rows(frame);
  uint32_t *rows = llmprof_alloc(row_count, sizeof *rows);
  if (!rows) return llmprof_fail_nomem(err), NULL;
  for (size_t row = 0; row < row_count; row++) rows[row] = (uint32_t)row;
  bool ok = true;
  for (size_t k = count; ok && k-- > 0;) {
    row_key key = {0};
    if (llmprof_interrupted())
      ok = llmprof_fail_interrupted(err);
    else if ((ok = make_key(&key, frame, &by[k], err)))
      ok = sort_by(rows, row_count, &key) || llmprof_fail_nomem(err);
    key_free(&key);
  }
  if (ok) return rows;
  llmprof_free(rows);
  return NULL;
}

/* ---- the first few ---- */

typedef struct sorting {
  row_key *keys; /* by key */
  size_t key_count;
  size_t rows;
} sorting;

static void sorting_free(sorting *s) {
  for (size_t k = 0; s->keys && k < s->key_count; k++) key_free(&s->keys[k]);
  llmprof_free(s->keys);
}

static bool sorting_init(sorting *s, llmprof_frame *frame,
                         const llmprof_order *by, size_t count,
                         llmprof_error *err) {
  *s = (sorting){.key_count = count, .rows = llmprof_frame_rows(frame)};
  s->keys = llmprof_zalloc(count, sizeof *s->keys);
  if (!s->keys) return llmprof_fail_nomem(err);
  for (size_t k = 0; k < count; k++) {
    if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
    if (!make_key(&s->keys[k], frame, &by[k], err)) return false;
  }
  return true;
}

static bool before(const sorting *s, uint32_t a, uint32_t b) {
  for (size_t k = 0; k < s->key_count; k++) {
    const uint32_t *near = s->keys[k].near;
    const int64_t *wide = s->keys[k].wide;
    if (near && near[a] != near[b]) return near[a] < near[b];
    if (wide && wide[a] != wide[b]) return wide[a] < wide[b];
  }
  return a < b;
}

/* Put the row at `at` where it belongs in a heap with the last row on top. */
static void sink(const sorting *s, uint32_t *heap, size_t count, size_t at) {
  uint32_t row = heap[at];
  for (size_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
    if (child + 1 < count && before(s, heap[child], heap[child + 1])) child++;
    if (!before(s, row, heap[child])) break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = row;
}

static void sort_heap(const sorting *s, uint32_t *heap, size_t count) {
  while (count > 1) {
    uint32_t last = heap[0];
    heap[0] = heap[--count];
    sink(s, heap, count, 0);
    heap[count] = last;
  }
}

/* limit is less than the number of rows. */
static uint32_t *first_of(const sorting *s, size_t limit, llmprof_error *err) {
  uint32_t *heap = llmprof_alloc(limit, sizeof *heap);
  if (!heap) return llmprof_fail_nomem(err), NULL;
  for (size_t i = 0; i < limit; i++) heap[i] = (uint32_t)i;
  for (size_t at = limit / 2; at-- > 0;) sink(s, heap, limit, at);
  for (size_t row = limit; limit && row < s->rows; row++) {
    if (llmprof_interrupted_at(row)) {
      llmprof_free(heap);
      return llmprof_fail_interrupted(err), NULL;
    }
    if (!before(s, (uint32_t)row, heap[0])) continue;
    heap[0] = (uint32_t)row;
    sink(s, heap, limit, 0);
  }
  sort_heap(s, heap, limit);
  return heap;
}

static uint32_t *sort_first(llmprof_frame *frame, const llmprof_order *by,
                            size_t count, size_t limit, llmprof_error *err) {
  sorting s;
  uint32_t *rows = NULL;
  if (sorting_init(&s, frame, by, count, err)) rows = first_of(&s, limit, err);
  sorting_free(&s);
  return rows;
}

llmprof_frame *llmprof_frame_sort(llmprof_frame *frame, const llmprof_order *by,
                                  size_t count, size_t limit,
                                  llmprof_error *err) {
  size_t all = llmprof_frame_rows(frame);
  if (limit > all) limit = all;
  uint32_t *rows = limit < all ? sort_first(frame, by, count, limit, err)
                               : sort_all(frame, by, count, err);
  return rows ? llmprof_frame_take(frame, rows, limit, err) : NULL;
}

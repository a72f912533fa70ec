/* Sorting the rows of a frame. Every key becomes one int64_t per row that
 * ascends in the order wanted, so that sorting need not know of types,
 * directions or absent cells. */
#include <stdlib.h>
#include <string.h>

#include "frame/sort.h"
#include "llmprof/alloc.h"
#include "llmprof/frame.h"
#include "llmprof/interrupt.h"

typedef struct sorting {
  int64_t **keys; /* by key, by row */
  size_t key_count;
  size_t rows;
} sorting;

static void sorting_free(sorting *s) {
  for (size_t k = 0; s->keys && k < s->key_count; k++) llmprof_free(s->keys[k]);
  llmprof_free(s->keys);
}

/* ---- keys ---- */

typedef struct ranked {
  const char *text;
  size_t size;
  uint32_t id;
} ranked;

static int compare_text(const void *left, const void *right) {
  const ranked *a = left, *b = right;
  int order = memcmp(a->text, b->text, a->size < b->size ? a->size : b->size);
  if (order) return order;
  return (a->size > b->size) - (a->size < b->size);
}

/* Bytes that all of the texts, which are equal up to `from`, have in common. */
static size_t common(const ranked *list, size_t count, size_t from) {
  size_t size = list[0].size;
  for (size_t i = 1; i < count && size > from; i++) {
    size_t at = from, most = list[i].size < size ? list[i].size : size;
    while (at < most && list[i].text[at] == list[0].text[at]) at++;
    size = at;
  }
  return size;
}

/* Eight bytes of a text as an integer that orders as they do; 0 behind its end.
 */
static int64_t key_of(const ranked *entry, size_t from) {
  uint64_t key = 0;
  for (size_t i = 0; i < sizeof key; i++) {
    unsigned char byte =
        from + i < entry->size ? (unsigned char)entry->text[from + i] : 0;
    key = key << 8 | byte;
  }
  return (int64_t)(key ^ (uint64_t)INT64_MIN);
}

/* By their keys, with `keys` and `order` as room; false when out of memory or
 * interrupted, with the list as it was. */
static bool sort_by_key(ranked *list, size_t count, int64_t *keys) {
  uint32_t *order = llmprof_alloc(count, sizeof *order);
  ranked *copy = llmprof_memdup(list, count * sizeof *list);
  int64_t *copies = llmprof_memdup(keys, count * sizeof *keys);
  bool ok = order && copy && copies;
  for (size_t i = 0; ok && i < count; i++) order[i] = (uint32_t)i;
  ok = ok && llmprof_sort_rows_i64(order, count, keys);
  for (size_t i = 0; ok && i < count; i++) {
    list[i] = copy[order[i]];
    keys[i] = copies[order[i]];
  }
  llmprof_free(order);
  llmprof_free(copy);
  llmprof_free(copies);
  return ok;
}

/* Names of kernels begin alike: texts are sorted by the eight bytes behind what
 * all have in common, and those that are equal there by what follows. */
static void sort_texts(ranked *list, size_t count, unsigned depth) {
  enum {
    FEW = 64,
    DEEP = 16
  };
  size_t from = count > FEW && depth < DEEP ? common(list, count, 0) : 0;
  int64_t *keys =
      count > FEW && depth < DEEP ? llmprof_alloc(count, sizeof *keys) : NULL;
  for (size_t i = 0; keys && i < count; i++) keys[i] = key_of(&list[i], from);
  if (!keys || !sort_by_key(list, count, keys)) {
    qsort(list, count, sizeof *list, compare_text);
    llmprof_free(keys);
    return;
  }
  for (size_t i = 0, next; i < count; i = next) {
    for (next = i + 1; next < count && keys[next] == keys[i]; next++) continue;
    if (next - i > 1) sort_texts(list + i, next - i, depth + 1);
  }
  llmprof_free(keys);
}

/* By string id, its place among all strings of the pool that rows use. */
static uint32_t *rank_strings(const llmprof_column *column, size_t rows,
                              const llmprof_strings *strings) {
  size_t count = llmprof_strings_count(strings), used = 0;
  uint32_t *ranks = llmprof_zalloc(count, sizeof *ranks);
  for (size_t row = 0; ranks && row < rows; row++) {
    int64_t id = llmprof_cell(column, row);
    if (id != LLMPROF_ABSENT && !ranks[id]) ranks[id] = (uint32_t)++used;
  }
  ranked *list = ranks ? llmprof_alloc(used, sizeof *list) : NULL;
  if (!list) {
    llmprof_free(ranks);
    return NULL;
  }
  for (uint32_t id = 0; id < count; id++) {
    if (!ranks[id]) continue;
    ranked *entry = &list[ranks[id] - 1];
    entry->id = id;
    entry->text = llmprof_strings_get(strings, id, &entry->size);
  }
  sort_texts(list, used, 0);
  for (size_t i = 0; i < used; i++) ranks[list[i].id] = (uint32_t)i;
  llmprof_free(list);
  return ranks;
}

static int64_t *make_keys(llmprof_frame *frame, const llmprof_order *by,
                          llmprof_error *err) {
  const llmprof_column *column = llmprof_frame_column(frame, by->column, err);
  if (!column) return NULL;
  size_t rows = llmprof_frame_rows(frame);
  bool is_text = column->type == LLMPROF_STRING_ID;
  uint32_t *ranks =
      is_text
          ? rank_strings(column, rows, llmprof_column_strings(frame, column))
          : NULL;
  int64_t *keys = llmprof_alloc(rows, sizeof *keys);
  if (!keys || (is_text && !ranks)) {
    llmprof_free(ranks);
    llmprof_free(keys);
    return llmprof_fail_nomem(err), NULL;
  }
  for (size_t row = 0; row < rows; row++) {
    int64_t value = llmprof_cell(column, row);
    bool present = value != LLMPROF_ABSENT;
    if (present && ranks) value = ranks[value];
    if (by->descending) value = ~value;
    keys[row] = present ? value : INT64_MAX;
  }
  llmprof_free(ranks);
  return keys;
}

static bool sorting_init(sorting *s, llmprof_frame *frame,
                         const llmprof_order *by, size_t count,
                         llmprof_error *err) {
  *s = (sorting){.key_count = count, .rows = llmprof_frame_rows(frame)};
  s->keys = llmprof_zalloc(count, sizeof *s->keys);
  if (!s->keys) return llmprof_fail_nomem(err);
  for (size_t k = 0; k < count; k++) {
    if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
    s->keys[k] = make_keys(frame, &by[k], err);
    if (!s->keys[k]) return false;
  }
  return true;
}

/* ---- all rows ---- */

/* By the last key first: each sort keeps the order of those before. */
static uint32_t *sort_all(const sorting *s, llmprof_error *err) {
  uint32_t *rows = llmprof_alloc(s->rows, sizeof *rows);
  if (!rows) return llmprof_fail_nomem(err), NULL;
  for (size_t row = 0; row < s->rows; row++) rows[row] = (uint32_t)row;
  for (size_t k = s->key_count; k-- > 0;) {
    bool stop = llmprof_interrupted();
    if (!stop && llmprof_sort_rows_i64(rows, s->rows, s->keys[k])) continue;
    llmprof_free(rows);
    (void)(stop ? llmprof_fail_interrupted(err) : llmprof_fail_nomem(err));
    return NULL;
  }
  return rows;
}

/* ---- the first few ---- */

static bool before(const sorting *s, uint32_t a, uint32_t b) {
  for (size_t k = 0; k < s->key_count; k++) {
    if (s->keys[k][a] != s->keys[k][b]) return s->keys[k][a] < s->keys[k][b];
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
static uint32_t *sort_first(const sorting *s, size_t limit,
                            llmprof_error *err) {
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

llmprof_frame *llmprof_frame_sort(llmprof_frame *frame, const llmprof_order *by,
                                  size_t count, size_t limit,
                                  llmprof_error *err) {
  sorting s;
  uint32_t *rows = NULL;
  if (limit > llmprof_frame_rows(frame)) limit = llmprof_frame_rows(frame);
  if (sorting_init(&s, frame, by, count, err))
    rows = limit < s.rows ? sort_first(&s, limit, err) : sort_all(&s, err);
  sorting_free(&s);
  return rows ? llmprof_frame_take(frame, rows, limit, err) : NULL;
}

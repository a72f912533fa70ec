/* Texts go by seven bytes at a time, which are a number with how many there
 * are: runs of texts that have the same are sorted by the next seven, or, when
 * they are few, by comparing all that is left. */
#include "frame/text_order.h"

#include <string.h>

#include "base/alloc.h"
#include "base/interrupt.h"
#include "frame/sort.h"

enum {
  FEW = 24,      /* are sorted by insertion */
  BYTES = 7,     /* of a key; */
  LEFT_BITS = 4, /* behind them how many there are, */
  MORE = 8       /* or that there are more */
};

/* Texts that are equal up to `from`. */
typedef struct run {
  size_t first, count, from;
} run;

typedef struct ordering {
  const llmprof_strings *strings;
  uint32_t *ids, *rows, *sorted; /* sorted: ids of a run in their order */
  int64_t *keys;
  run *runs; /* still to be sorted */
  size_t run_count, run_cap;
} ordering;

static int64_t key_at(const llmprof_strings *strings, uint32_t id,
                      size_t from) {
  size_t size;
  const char *text = llmprof_strings_get(strings, id, &size);
  size_t left = size - from;
  uint64_t key = 0;
  for (size_t i = 0; i < BYTES; i++)
    key = key << 8 | (i < left ? (unsigned char)text[from + i] : 0);
  return (int64_t)(key << LEFT_BITS | (left > BYTES ? MORE : left));
}

static bool is_before(const llmprof_strings *strings, uint32_t a, uint32_t b,
                      size_t from) {
  size_t one, other;
  const char *left = llmprof_strings_get(strings, a, &one);
  const char *right = llmprof_strings_get(strings, b, &other);
  int order =
      memcmp(left + from, right + from, (one < other ? one : other) - from);
  return order ? order < 0 : one < other;
}

static void insert_all(const ordering *o, const run *r) {
  uint32_t *ids = o->ids + r->first;
  for (size_t i = 1; i < r->count; i++) {
    uint32_t id = ids[i];
    size_t at = i;
    for (; at && is_before(o->strings, id, ids[at - 1], r->from); at--)
      ids[at] = ids[at - 1];
    ids[at] = id;
  }
}

static bool add_run(ordering *o, size_t first, size_t count, size_t from) {
  if (count < 2) return true;
  if (!llmprof_grow(&o->runs, &o->run_cap, o->run_count + 1, sizeof *o->runs))
    return false;
  o->runs[o->run_count++] = (run){first, count, from};
  return true;
}

/* Texts with the same key that have more are runs; others differ. */
static bool add_runs(ordering *o, const run *r) {
  size_t begin = 0;
  for (size_t i = 1; i <= r->count; i++) {
    int64_t key = o->keys[o->rows[begin]];
    if (i < r->count && o->keys[o->rows[i]] == key) continue;
    if (!add_run(o, r->first + begin, i - begin, r->from + BYTES)) return false;
    begin = i;
  }
  return true;
}

static bool sort_run(ordering *o, const run *r) {
  uint32_t *ids = o->ids + r->first;
  for (size_t i = 0; i < r->count; i++) {
    o->rows[i] = (uint32_t)i;
    o->keys[i] = key_at(o->strings, ids[i], r->from);
  }
  if (!llmprof_sort_rows_i64(o->rows, r->count, o->keys)) return false;
  for (size_t i = 0; i < r->count; i++) o->sorted[i] = ids[o->rows[i]];
  memcpy(ids, o->sorted, r->count * sizeof *ids);
  return add_runs(o, r);
}

static bool sort_all(ordering *o, size_t count) {
  bool ok = add_run(o, 0, count, 0);
  while (ok && o->run_count) {
    run r = o->runs[--o->run_count];
    if (llmprof_interrupted()) return false;
    if (r.count <= FEW)
      insert_all(o, &r);
    else
      ok = sort_run(o, &r);
  }
  return ok;
}

bool llmprof_order_texts(const llmprof_strings *strings, uint32_t *ids,
                         size_t count) {
  ordering o = {.strings = strings, .ids = ids};
  o.rows = llmprof_alloc(count, sizeof *o.rows);
  o.sorted = llmprof_alloc(count, sizeof *o.sorted);
  o.keys = llmprof_alloc(count, sizeof *o.keys);
  bool ok = o.rows && o.sorted && o.keys && sort_all(&o, count);
  llmprof_free(o.rows);
  llmprof_free(o.sorted);
  llmprof_free(o.keys);
  llmprof_free(o.runs);
  return ok;
}

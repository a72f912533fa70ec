/* A table decoded by several threads: each takes some leaves, and what it made
 * of them is handed on in their order. Where a row is not plain, the leaves
 * that it is among are read again, one row after the other, when it is their
 * turn. */
#include "base/alloc.h"
#include "base/thread_pool.h"
#include "sqlite/scan_internal.h"

enum {
  PART_SIZE = 256 * 1024, /* bytes of leaves: stays in the second-level cache */
  PARTS_EACH = 2,         /* fewer are not worth a thread */
};

/* A worker's own, with the rows of its part until they are taken. */
typedef struct reader {
  uint8_t *pages;
  llmprof_scan_shapes *shapes;
  int64_t *values;
  size_t values_cap, rows;
  bool plain;
} reader;

typedef struct table {
  llmprof_scan_pages *scan;
  llmprof_btree *tree;
  const llmprof_scan_taker *taker;
  uint32_t *leaves;
  size_t count;
  size_t part;    /* leaves of a part */
  size_t columns; /* values of a row */
  reader *readers;
} table;

/* Leaves first to the one before end. */
static size_t bounds_of(const table *t, size_t part, size_t *end) {
  size_t first = part * t->part;
  *end = t->count - first < t->part ? t->count : first + t->part;
  return first;
}

static bool read_leaves(const table *t, const reader *to, size_t first,
                        size_t end, llmprof_error *err) {
  size_t size = llmprof_btree_page_size(t->tree);
  for (size_t i = first, run; i < end; i += run) {
    for (run = 1; i + run < end; run++) {
      if (t->leaves[i + run] != t->leaves[i] + run) break;
    }
    if (!llmprof_btree_read(t->tree, t->leaves[i], (uint32_t)run,
                            to->pages + (i - first) * size, err))
      return false;
  }
  return true;
}

static bool decode_leaf(const table *t, reader *r, uint32_t number,
                        const uint8_t *page) {
  if (!llmprof_btree_is_leaf(t->tree, page)) return false;
  const llmprof_leaf leaf = {page, number, llmprof_get2(page + 3)};
  if (leaf.cells == 0) return true; /* there may be no buffer yet to point to */
  if (!llmprof_grow(&r->values, &r->values_cap,
                    (r->rows + leaf.cells) * t->columns, sizeof *r->values) ||
      !llmprof_scan_pages_plain(t->scan, r->shapes, &leaf,
                                r->values + r->rows * t->columns))
    return false;
  r->rows += leaf.cells;
  return true;
}

/* ---- a part ---- */

static bool decode_part(void *user, size_t worker, size_t part,
                        llmprof_error *err) {
  const table *t = user;
  reader *r = &t->readers[worker];
  size_t end, first = bounds_of(t, part, &end);
  size_t size = llmprof_btree_page_size(t->tree);
  r->rows = 0;
  r->plain = true;
  if (!read_leaves(t, r, first, end, err)) return false;
  for (size_t i = first; r->plain && i < end; i++)
    r->plain = decode_leaf(t, r, t->leaves[i], r->pages + (i - first) * size);
  return true;
}

/* ---- taking ---- */

static bool hand_on(const table *t, const int64_t *values, size_t rows,
                    llmprof_error *err) {
  const llmprof_scan_taker *taker = t->taker;
  return !rows || (taker->may(taker->scan, rows, err) &&
                   taker->take(taker->user, values, rows, err));
}

static bool take_leaf(const table *t, uint32_t number, llmprof_error *err) {
  int64_t values[LLMPROF_SCAN_INTS];
  int got;
  if (!llmprof_scan_pages_go_to(t->scan, number, err)) return false;
  while ((got = llmprof_scan_pages_next_here(t->scan, values, err)) == 1) {
    if (!hand_on(t, values, 1, err)) return false;
  }
  return got == 0;
}

static bool take_part(void *user, size_t worker, size_t part,
                      llmprof_error *err) {
  const table *t = user;
  const reader *r = &t->readers[worker];
  if (r->plain) return hand_on(t, r->values, r->rows, err);
  size_t end, first = bounds_of(t, part, &end);
  bool ok = true;
  for (size_t i = first; ok && i < end; i++)
    ok = take_leaf(t, t->leaves[i], err);
  return ok;
}

/* ---- all ---- */

static void reader_free(reader *r) {
  llmprof_free(r->pages);
  llmprof_free(r->shapes);
  llmprof_free(r->values);
}

static bool reader_init(reader *r, size_t size) {
  r->pages = llmprof_zalloc(size + LLMPROF_BTREE_PAGE_SLACK, 1);
  r->shapes = llmprof_scan_shapes_new();
  if (r->pages && r->shapes) return true;
  reader_free(r);
  return false;
}

/* As many readers as there is memory for. */
static size_t make_readers(table *t, size_t wanted) {
  size_t size = t->part * llmprof_btree_page_size(t->tree), made = 0;
  t->readers = llmprof_zalloc(wanted, sizeof *t->readers);
  while (t->readers && made < wanted && reader_init(&t->readers[made], size))
    made++;
  return made;
}

/* *begun says whether there is memory for any reader. */
static bool run(table *t, bool *begun, llmprof_error *err) {
  size_t parts = (t->count + t->part - 1) / t->part;
  size_t size = make_readers(t, llmprof_thread_pool_size(parts / PARTS_EACH));
  const llmprof_parallel_loop loop = {parts, decode_part, take_part, t};
  *begun = size > 0;
  bool ok = *begun && llmprof_parallel_for(&loop, size, err);
  for (size_t i = 0; i < size; i++) reader_free(&t->readers[i]);
  llmprof_free(t->readers);
  return ok;
}

bool llmprof_scan_parts(llmprof_scan_pages *pages,
                        const llmprof_scan_taker *taker, bool *begun,
                        llmprof_error *err) {
  table t = {.scan = pages,
             .tree = llmprof_scan_pages_tree(pages),
             .taker = taker,
             .columns = (size_t)llmprof_scan_pages_ints(pages)};
  *begun = false;
  size_t size = llmprof_btree_page_size(t.tree);
  t.part = size < PART_SIZE ? PART_SIZE / size : 1;
  if (!llmprof_btree_leaves(t.tree, &t.leaves, &t.count)) return false;
  if (t.part > t.count) t.part = t.count;
  bool ok = run(&t, begun, err);
  if (!*begun) llmprof_btree_rewind(t.tree);
  llmprof_free(t.leaves);
  return ok;
}

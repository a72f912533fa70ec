#include "sqlite/btree.h"

#include "base/alloc.h"
#include "sqlite/sqlite_file.h"

enum {
  PAGE_INTERIOR = 0x05,
  PAGE_LEAF = 0x0d,
  LEAF_HEADER = 8,
  INTERIOR_HEADER = 12,
  FILE_HEADER = 100,
  MAX_DEPTH = 20, /* SQLite's own limit */
};

bool llmprof_btree_read(const llmprof_btree *tree, uint32_t first,
                        uint32_t count, uint8_t *into, llmprof_error *err) {
  return llmprof_sqlite_file_read(tree->db,
                                  (int64_t)(first - 1) * tree->page_size, into,
                                  (size_t)count * tree->page_size, err);
}

int32_t llmprof_btree_cells(const llmprof_btree *tree, const uint8_t *page) {
  uint32_t cells = llmprof_get2(page + 3);
  return page[0] == PAGE_LEAF && LEAF_HEADER + 2 * cells <= tree->usable
             ? (int32_t)cells
             : -1;
}

/* ---- leaves ---- */

typedef struct numbers {
  uint32_t *items;
  size_t count, cap;
} numbers;

typedef struct walk {
  const llmprof_btree *tree;
  uint8_t *page;   /* the one at hand */
  uint32_t unread; /* pages that there may still be: a tree has no more */
  numbers pages;   /* of one depth, from the left */
} walk;

/* Page 1 holds the schema: nothing may point there. */
static bool add_page(walk *w, numbers *pages, uint32_t number) {
  if (number < 2 || number > w->tree->page_count || !w->unread ||
      !llmprof_grow(&pages->items, &pages->cap, pages->count + 1,
                    sizeof number))
    return false;
  w->unread--;
  pages->items[pages->count++] = number;
  return true;
}

/* Of the interior page at hand. */
static bool add_children(walk *w, numbers *children) {
  uint32_t cells = llmprof_get2(w->page + 3), usable = w->tree->usable;
  if (w->page[0] != PAGE_INTERIOR || INTERIOR_HEADER + 2 * cells > usable)
    return false;
  for (uint32_t i = 0; i < cells; i++) {
    uint32_t at = llmprof_get2(w->page + INTERIOR_HEADER + 2 * i);
    if (at < INTERIOR_HEADER + 2 * cells || at > usable - 5 ||
        !add_page(w, children, llmprof_get4(w->page + at)))
      return false;
  }
  return add_page(w, children, llmprof_get4(w->page + 8)); /* the right-most */
}

/* To the pages below those at hand. */
static bool descend(walk *w) {
  numbers children = {0};
  bool ok = true;
  for (size_t i = 0; ok && i < w->pages.count; i++)
    ok = llmprof_btree_read(w->tree, w->pages.items[i], 1, w->page, NULL) &&
         add_children(w, &children);
  llmprof_free(w->pages.items);
  w->pages = children;
  return ok;
}

/* All leaves are at one depth, or it is no tree of SQLite's. */
static bool find_leaves(walk *w) {
  if (!add_page(w, &w->pages, w->tree->root)) return false;
  for (int depth = 0; depth < MAX_DEPTH; depth++) {
    if (!llmprof_btree_read(w->tree, w->pages.items[0], 1, w->page, NULL))
      return false;
    if (w->page[0] == PAGE_LEAF) return true;
    if (!descend(w)) return false;
  }
  return false;
}

bool llmprof_btree_leaves(const llmprof_btree *tree, uint32_t **items,
                          size_t *count) {
  walk w = {.tree = tree,
            .page = llmprof_alloc(tree->page_size, 1),
            .unread = tree->page_count};
  bool ok = w.page && find_leaves(&w);
  llmprof_free(w.page);
  if (!ok) llmprof_free(w.pages.items);
  *items = ok ? w.pages.items : NULL;
  *count = w.pages.count;
  return ok;
}

/* ---- opening ---- */

bool llmprof_btree_open(llmprof_btree *tree, llmprof_sqlite *db,
                        uint32_t root) {
  uint8_t header[FILE_HEADER], type;
  int64_t bytes = llmprof_sqlite_file_size(db, NULL);
  if (bytes < 0 ||
      !llmprof_sqlite_file_read(db, 0, header, sizeof header, NULL))
    return false;
  uint32_t size = llmprof_get2(header + 16);
  if (size == 1) size = 65536;
  if (size < 512 || (size & (size - 1)) || size - header[20] < 480)
    return false;
  int64_t count = bytes / size;
  *tree = (llmprof_btree){.db = db,
                          .root = root,
                          .page_size = size,
                          .usable = size - header[20],
                          .page_count = count < UINT32_MAX ? (uint32_t)count
                                                           : UINT32_MAX};
  return root >= 2 && root <= tree->page_count &&
         llmprof_sqlite_file_read(db, (int64_t)(root - 1) * size, &type, 1,
                                  NULL) &&
         (type == PAGE_LEAF || type == PAGE_INTERIOR);
}

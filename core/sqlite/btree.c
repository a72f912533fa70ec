#include "sqlite/btree.h"

#include <string.h>

#include "base/alloc.h"
#include "sqlite/sqlite_file.h"

enum {
  PAGE_INTERIOR = 0x05,
  PAGE_LEAF = 0x0d,
  LEAF_HEADER = 8,
  INTERIOR_HEADER = 12,
  FILE_HEADER = 100,
  UTF8 = 1,
  MAX_DEPTH = 20,         /* SQLite's own limit */
  WINDOW = 128 * 1024,    /* stays in the second-level cache */
  LONG_PAYLOAD = 1 << 20, /* bytes that are not kept for the next one */
  SKIP = 16 * 1024,       /* reading that much in vain is as cheap as a call */
};

/* An interior page on the way down. */
typedef struct level {
  uint8_t *page;
  uint32_t number;
  uint32_t cells;
  uint32_t next; /* child to visit; child number `cells` is the right-most */
} level;

struct llmprof_btree {
  llmprof_sqlite *db;
  uint32_t root;
  uint32_t page_size, usable;
  uint32_t page_count;
  uint32_t unread; /* pages that may still be visited: a tree has no more */
  bool started;

  uint8_t *window; /* pages window_first ... of the file */
  uint32_t window_first, window_count;
  uint32_t window_cap;

  level levels[MAX_DEPTH];
  uint32_t depth;

  uint8_t *scratch; /* an overflow page */
  uint8_t *payload;
  size_t payload_cap;
};

bool llmprof_btree_corrupt(const llmprof_btree *tree, uint32_t number,
                           const char *what, llmprof_error *err) {
  return llmprof_fail(err, LLMPROF_SYNTAX, "%s: corrupt (page %u: %s)",
                      llmprof_sqlite_path(tree->db), number, what);
}

uint32_t llmprof_btree_usable(const llmprof_btree *tree) {
  return tree->usable;
}

/* ---- reading pages ---- */

bool llmprof_btree_read(const llmprof_btree *tree, uint32_t first,
                        uint32_t count, uint8_t *into, llmprof_error *err) {
  return llmprof_sqlite_file_read(tree->db,
                                  (int64_t)(first - 1) * tree->page_size, into,
                                  (size_t)count * tree->page_size, err);
}

/* Page 1 holds the schema: nothing may point there. */
static bool check_number(llmprof_btree *tree, uint32_t number, uint32_t from,
                         llmprof_error *err) {
  if (number < 2 || number > tree->page_count)
    return llmprof_btree_corrupt(tree, from, "points outside of the file", err);
  if (!tree->unread)
    return llmprof_btree_corrupt(tree, from, "points to a page in use", err);
  tree->unread--;
  return true;
}

/* Page number of a child, 0 when the page is broken there. */
static uint32_t child_at(const llmprof_btree *tree, const level *l,
                         uint32_t i) {
  if (i == l->cells) return llmprof_get4(l->page + 8);
  uint32_t at = llmprof_get2(l->page + INTERIOR_HEADER + 2 * i);
  if (at < INTERIOR_HEADER + 2 * l->cells || at > tree->usable - 5) return 0;
  return llmprof_get4(l->page + at);
}

/* How many pages to read at once, from `number` on: as far as its parent's
 * next children follow closely. */
static uint32_t run_length(const llmprof_btree *tree, uint32_t number) {
  if (!tree->depth) return 1;
  const level *l = &tree->levels[tree->depth - 1];
  uint32_t last = number, gap = SKIP / tree->page_size + 1;
  for (uint32_t i = l->next; i <= l->cells; i++) {
    uint32_t child = child_at(tree, l, i);
    if (child <= last || child - last > gap || child > tree->page_count ||
        child - number >= tree->window_cap)
      break;
    last = child;
  }
  return last - number + 1;
}

static const uint8_t *page_at(llmprof_btree *tree, uint32_t number,
                              llmprof_error *err) {
  if (number - tree->window_first >= tree->window_count) {
    uint32_t count = run_length(tree, number);
    tree->window_count = 0;
    if (!llmprof_btree_read(tree, number, count, tree->window, err))
      return NULL;
    tree->window_first = number;
    tree->window_count = count;
  }
  return tree->window + (size_t)(number - tree->window_first) * tree->page_size;
}

/* ---- walking ---- */

static bool descend(llmprof_btree *tree, const uint8_t *page, uint32_t number,
                    llmprof_error *err) {
  if (tree->depth == MAX_DEPTH)
    return llmprof_btree_corrupt(tree, number, "too deep in its tree", err);
  level *l = &tree->levels[tree->depth];
  l->number = number;
  l->cells = llmprof_get2(page + 3);
  l->next = 0;
  if (INTERIOR_HEADER + 2 * l->cells > tree->usable)
    return llmprof_btree_corrupt(tree, number, "too many cells", err);
  if (!l->page) l->page = llmprof_alloc(tree->page_size, 1);
  if (!l->page) return llmprof_fail_nomem(err);
  memcpy(l->page, page, tree->page_size);
  tree->depth++;
  return true;
}

/* The next page from the left, or NULL with *end set at the end. */
static const uint8_t *next_page(llmprof_btree *tree, uint32_t *number,
                                bool *end, llmprof_error *err) {
  *end = false;
  if (!tree->started) {
    tree->started = true;
    *number = tree->root;
    return check_number(tree, tree->root, 1, err)
               ? page_at(tree, tree->root, err)
               : NULL;
  }
  while (tree->depth) {
    level *l = &tree->levels[tree->depth - 1];
    if (l->next > l->cells) {
      tree->depth--;
      continue;
    }
    *number = child_at(tree, l, l->next++);
    return check_number(tree, *number, l->number, err)
               ? page_at(tree, *number, err)
               : NULL;
  }
  *end = true;
  return NULL;
}

int llmprof_btree_next(llmprof_btree *tree, llmprof_leaf *leaf,
                       llmprof_error *err) {
  for (;;) {
    bool end;
    uint32_t number;
    const uint8_t *page = next_page(tree, &number, &end, err);
    if (end) return 0;
    if (!page) break;
    if (page[0] == PAGE_LEAF) {
      uint32_t cells = llmprof_get2(page + 3);
      *leaf = (llmprof_leaf){page, number, cells};
      if (LEAF_HEADER + 2 * cells <= tree->usable) return 1;
      llmprof_btree_corrupt(tree, number, "too many cells", err);
      break;
    }
    if (page[0] != PAGE_INTERIOR) {
      llmprof_btree_corrupt(tree, number, "no page of a table", err);
      break;
    }
    if (!descend(tree, page, number, err)) break;
  }
  return -1;
}

/* ---- leaves by number ---- */

typedef struct numbers {
  uint32_t *items;
  size_t count, cap;
} numbers;

/* Children of the interior page, behind the others. */
static bool add_children(llmprof_btree *tree, const uint8_t *page,
                         numbers *children) {
  level l = {.page = (uint8_t *)page, .cells = llmprof_get2(page + 3)};
  if (page[0] != PAGE_INTERIOR || INTERIOR_HEADER + 2 * l.cells > tree->usable)
    return false;
  for (uint32_t i = 0; i <= l.cells; i++) {
    uint32_t child = child_at(tree, &l, i);
    if (!check_number(tree, child, 1, NULL) ||
        !llmprof_grow(&children->items, &children->cap, children->count + 1,
                      sizeof child))
      return false;
    children->items[children->count++] = child;
  }
  return true;
}

/* The pages below those of one depth. */
static bool descend_all(llmprof_btree *tree, numbers *pages) {
  numbers children = {0};
  bool ok = true;
  for (size_t i = 0; ok && i < pages->count; i++)
    ok = llmprof_btree_read(tree, pages->items[i], 1, tree->window, NULL) &&
         add_children(tree, tree->window, &children);
  llmprof_free(pages->items);
  *pages = children;
  return ok;
}

/* All leaves are at one depth, or it is no tree of SQLite's. */
static bool find_leaves(llmprof_btree *tree, numbers *pages) {
  if (!check_number(tree, tree->root, 1, NULL) ||
      !llmprof_grow(&pages->items, &pages->cap, 1, sizeof *pages->items))
    return false;
  pages->items[pages->count++] = tree->root;
  for (int depth = 0; depth < MAX_DEPTH; depth++) {
    if (!llmprof_btree_read(tree, pages->items[0], 1, tree->window, NULL))
      return false;
    if (tree->window[0] == PAGE_LEAF) return true;
    if (!descend_all(tree, pages)) return false;
  }
  return false;
}

void llmprof_btree_rewind(llmprof_btree *tree) {
  tree->unread = tree->page_count;
}

bool llmprof_btree_leaves(llmprof_btree *tree, uint32_t **items,
                          size_t *count) {
  numbers pages = {0};
  tree->window_count = 0;
  if (!find_leaves(tree, &pages)) {
    llmprof_btree_rewind(tree);
    llmprof_free(pages.items);
    return false;
  }
  *items = pages.items;
  *count = pages.count;
  return true;
}

bool llmprof_btree_is_leaf(const llmprof_btree *tree, const uint8_t *page) {
  return page[0] == PAGE_LEAF &&
         LEAF_HEADER + 2 * llmprof_get2(page + 3) <= tree->usable;
}

bool llmprof_btree_leaf(llmprof_btree *tree, uint32_t number,
                        llmprof_leaf *leaf, llmprof_error *err) {
  tree->window_count = 0;
  if (!llmprof_btree_read(tree, number, 1, tree->window, err)) return false;
  *leaf = (llmprof_leaf){tree->window, number, llmprof_get2(tree->window + 3)};
  if (tree->window[0] != PAGE_LEAF)
    return llmprof_btree_corrupt(tree, number, "no page of a table", err);
  return llmprof_btree_is_leaf(tree, tree->window) ||
         llmprof_btree_corrupt(tree, number, "too many cells", err);
}

uint32_t llmprof_btree_page_size(const llmprof_btree *tree) {
  return tree->page_size;
}

/* ---- long payloads ---- */

static bool make_room(llmprof_btree *tree, size_t total, llmprof_error *err) {
  if (!tree->scratch) tree->scratch = llmprof_alloc(tree->page_size, 1);
  return (tree->scratch &&
          llmprof_grow(&tree->payload, &tree->payload_cap,
                       total + LLMPROF_BTREE_PAYLOAD_SLACK, 1)) ||
         llmprof_fail_nomem(err);
}

const uint8_t *llmprof_btree_payload(llmprof_btree *tree,
                                     const llmprof_leaf *leaf,
                                     const llmprof_payload *payload,
                                     llmprof_error *err) {
  size_t have = payload->have, total = payload->total;
  size_t per_page = tree->usable - 4;
  if ((total - have) / per_page > tree->unread) {
    llmprof_btree_corrupt(tree, leaf->number, "a row longer than the file",
                          err);
    return NULL;
  }
  if (!make_room(tree, total, err)) return NULL;
  memcpy(tree->payload, payload->bytes, have);
  uint32_t from = leaf->number, number = payload->overflow;
  while (have < total) {
    if (!check_number(tree, number, from, err) ||
        !llmprof_btree_read(tree, number, 1, tree->scratch, err))
      return NULL;
    size_t part = total - have < per_page ? total - have : per_page;
    memcpy(tree->payload + have, tree->scratch + 4, part);
    have += part;
    from = number;
    number = llmprof_get4(tree->scratch);
  }
  memset(tree->payload + total, 0, LLMPROF_BTREE_PAYLOAD_SLACK);
  return tree->payload;
}

void llmprof_btree_forget(llmprof_btree *tree) {
  if (tree->payload_cap < LONG_PAYLOAD) return;
  llmprof_free(tree->payload);
  tree->payload = NULL;
  tree->payload_cap = 0;
}

/* ---- opening ---- */

/* False when the header says something that is left to SQLite. */
static bool understand(llmprof_btree *tree, const uint8_t *header,
                       int64_t file_size) {
  uint32_t size = llmprof_get2(header + 16);
  if (size == 1) size = 65536;
  if (size < 512 || (size & (size - 1)) || size - header[20] < 480 ||
      llmprof_get4(header + 56) != UTF8)
    return false;
  int64_t count = file_size / size;
  tree->page_size = size;
  tree->usable = size - header[20];
  tree->page_count = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
  tree->unread = tree->page_count;
  tree->window_cap = WINDOW / size;
  if (tree->window_cap > tree->page_count) tree->window_cap = tree->page_count;
  return tree->root >= 2 && tree->root <= tree->page_count;
}

/* 1: a table is there, 0: something else, -1. */
static int look(llmprof_btree *tree, llmprof_error *err) {
  uint8_t header[FILE_HEADER], type;
  int64_t size = llmprof_sqlite_file_size(tree->db, err);
  if (size < 0 ||
      !llmprof_sqlite_file_read(tree->db, 0, header, sizeof header, err))
    return -1;
  if (!understand(tree, header, size)) return 0;
  if (!llmprof_sqlite_file_read(
          tree->db, (int64_t)(tree->root - 1) * tree->page_size, &type, 1, err))
    return -1;
  return type == PAGE_LEAF || type == PAGE_INTERIOR;
}

bool llmprof_btree_open(llmprof_sqlite *db, uint32_t root, llmprof_btree **tree,
                        llmprof_error *err) {
  *tree = NULL;
  llmprof_btree *made = llmprof_zalloc(1, sizeof *made);
  if (!made) return llmprof_fail_nomem(err);
  made->db = db;
  made->root = root;
  int fits = look(made, err);
  if (fits == 1) {
    size_t window = (size_t)made->window_cap * made->page_size;
    made->window = llmprof_zalloc(window + LLMPROF_BTREE_PAGE_SLACK, 1);
    if (made->window) {
      *tree = made;
      return true;
    }
    llmprof_fail_nomem(err);
  }
  llmprof_btree_close(made);
  return fits == 0;
}

void llmprof_btree_close(llmprof_btree *tree) {
  if (!tree) return;
  for (int i = 0; i < MAX_DEPTH; i++) llmprof_free(tree->levels[i].page);
  llmprof_free(tree->window);
  llmprof_free(tree->scratch);
  llmprof_free(tree->payload);
  llmprof_free(tree);
}

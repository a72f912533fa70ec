/* The leaf pages of a table in an SQLite file, read without SQLite. The file
 * may be hostile: what is no tree of its pages is left to SQLite. Private to
 * the module.
 *
 * Format: https://www.sqlite.org/fileformat2.html */
#ifndef LLMPROF_BTREE_H
#define LLMPROF_BTREE_H

#include <endian.h>
#include <string.h>

#include "sqlite/sqlite.h"

/* Bytes that may be read beyond the end of a page, so that a reader can check
 * last. */
enum {
  LLMPROF_BTREE_SLACK = 8192,
};

typedef struct llmprof_btree {
  llmprof_sqlite *db;
  uint32_t root; /* page */
  uint32_t page_size;
  uint32_t usable; /* bytes of a page that hold anything, at least 480 */
  uint32_t page_count;
} llmprof_btree;

/* False when the file or its root page is of a kind not handled here (a table
 * WITHOUT ROWID), or cannot be read. The database must outlive the tree. */
bool llmprof_btree_open(llmprof_btree *tree, llmprof_sqlite *db, uint32_t root);

/* Numbers of all leaves, in their order; the caller frees them. False when
 * there is no sound tree, or no memory. */
bool llmprof_btree_leaves(const llmprof_btree *tree, uint32_t **numbers,
                          size_t *count);

/* Pages that follow each other in the file, into room of the caller with
 * LLMPROF_BTREE_SLACK bytes behind it; on any thread. */
bool llmprof_btree_read(const llmprof_btree *tree, uint32_t first,
                        uint32_t count, uint8_t *into, llmprof_error *err);

/* The cells of a leaf; -1 when the page is no sound leaf. */
int32_t llmprof_btree_cells(const llmprof_btree *tree, const uint8_t *page);

/* ---- numbers in the file ---- */

/* Reads up to 9 bytes; returns where it ends. */
static inline const uint8_t *llmprof_varint(const uint8_t *at,
                                            uint64_t *value) {
  uint64_t sum = 0;
  for (int i = 0; i < 8; i++) {
    sum = sum << 7 | (*at & 0x7f);
    if (*at++ < 0x80) {
      *value = sum;
      return at;
    }
  }
  *value = sum << 8 | *at;
  return at + 1;
}

static inline uint32_t llmprof_get2(const uint8_t *at) {
  return (uint32_t)at[0] << 8 | at[1];
}

static inline uint32_t llmprof_get4(const uint8_t *at) {
  return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 |
         at[3];
}

static inline uint64_t llmprof_get8(const uint8_t *at) {
  uint64_t word;
  memcpy(&word, at, sizeof word);
  return be64toh(word);
}

#endif

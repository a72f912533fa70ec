/* The leaf pages of a table in an SQLite file, in rowid order, read without
 * SQLite. The file may be hostile: what is no tree of its pages is an error
 * (SYNTAX), and a walk visits no more pages than the file has. Private to the
 * core.
 *
 * Format: https://www.sqlite.org/fileformat2.html */
#ifndef LLMPROF_BTREE_H
#define LLMPROF_BTREE_H

#include <endian.h>
#include <string.h>

#include "sqlite/sqlite.h"

typedef struct llmprof_btree llmprof_btree;

/* Bytes that may be read beyond the end, so that a reader can check last. */
enum {
  LLMPROF_BTREE_PAGE_SLACK = 8192,
  LLMPROF_BTREE_PAYLOAD_SLACK = 32,
};

/* A leaf page, valid until the next one. */
typedef struct llmprof_leaf {
  const uint8_t *page;
  uint32_t number;
  uint32_t cells; /* the array of their offsets is in the page */
} llmprof_leaf;

/* What a cell of a leaf holds. */
typedef struct llmprof_payload {
  const uint8_t *bytes;
  size_t have, total; /* on the leaf, and with the overflow pages */
  uint32_t overflow;  /* the first of them, when have < total */
} llmprof_payload;

/* On true, *tree is NULL when the file or its root page is of a kind not
 * handled here (text in UTF-16, a table WITHOUT ROWID). The database must
 * outlive the tree. */
bool llmprof_btree_open(llmprof_sqlite *db, uint32_t root, llmprof_btree **tree,
                        llmprof_error *err);
void llmprof_btree_close(llmprof_btree *tree);

/* Bytes of a page that hold anything, at least 480. */
uint32_t llmprof_btree_usable(const llmprof_btree *tree);

/* The next leaf: 1, after the last 0, on failure -1; do not go on after that.
 */
int llmprof_btree_next(llmprof_btree *tree, llmprof_leaf *leaf,
                       llmprof_error *err);

/* ---- by number, instead of one after the other ---- */

/* Numbers of all leaves, in their order; the caller frees them. False when that
 * could not be found out: then llmprof_btree_next says why. Only before the
 * first leaf. */
bool llmprof_btree_leaves(llmprof_btree *tree, uint32_t **numbers,
                          size_t *count);

/* As if their numbers had not been asked for. */
void llmprof_btree_rewind(llmprof_btree *tree);

/* One of them, valid until the next. */
bool llmprof_btree_leaf(llmprof_btree *tree, uint32_t number,
                        llmprof_leaf *leaf, llmprof_error *err);

/* Several that follow each other in the file, into room of the caller with
 * LLMPROF_BTREE_PAGE_SLACK bytes behind it; on any thread. */
bool llmprof_btree_read(const llmprof_btree *tree, uint32_t first,
                        uint32_t count, uint8_t *into, llmprof_error *err);
uint32_t llmprof_btree_page_size(const llmprof_btree *tree);

/* False when the page is no sound leaf. */
bool llmprof_btree_is_leaf(const llmprof_btree *tree, const uint8_t *page);

/* ---- payloads ---- */

/* A payload of a leaf with the rest of its bytes; valid until the next call. */
const uint8_t *llmprof_btree_payload(llmprof_btree *tree,
                                     const llmprof_leaf *leaf,
                                     const llmprof_payload *payload,
                                     llmprof_error *err);

/* The payload is not wanted any more: room for a long one is given back. */
void llmprof_btree_forget(llmprof_btree *tree);

/* "PATH: corrupt (page NUMBER: what)"; returns false. */
bool llmprof_btree_corrupt(const llmprof_btree *tree, uint32_t number,
                           const char *what, llmprof_error *err);

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

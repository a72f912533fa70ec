/* Values of one column, however they are stored: integers of 64 bits, of which
 * LLMPROF_ABSENT is none. Reals are the integers that order as they do
 * (llmprof_real_cell). Who reads them sees blocks of such integers; encodings
 * are known to values.c alone. Private to the core.
 *
 * Values that were stored stay as they are, and are for any number of threads
 * at once. */
#ifndef LLMPROF_VALUES_H
#define LLMPROF_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llmprof/error.h"

typedef struct llmprof_values llmprof_values;

enum {
  LLMPROF_BLOCK = 1024, /* values: 8 KiB, which stay in the first cache */
  LLMPROF_VALUES_IN = 4 /* columns that are read together, at most */
};

/* What all kinds of values begin with. */
struct llmprof_values {
  const struct llmprof_values_way *way; /* how they are read */
  int64_t *open; /* while values are added: room for those of the last block, */
  size_t opened; /* and how many of them there are; before the first one there
                    is no room, and this is LLMPROF_BLOCK */
};

/* Of the block that begins at `row` of `rows`: how many. */
static inline size_t llmprof_block(size_t row, size_t rows) {
  return rows - row < LLMPROF_BLOCK ? rows - row : LLMPROF_BLOCK;
}

/* ---- reading ---- */

int64_t llmprof_values_get(const llmprof_values *values, size_t row);

/* Of `count` rows from `first` on, LLMPROF_BLOCK at most. */
void llmprof_values_read(const llmprof_values *values, size_t first,
                         size_t count, int64_t *out);

/* Of these rows, LLMPROF_BLOCK at most; UINT32_MAX: absent. */
void llmprof_values_gather(const llmprof_values *values, const uint32_t *rows,
                           size_t count, int64_t *out);

/* What all values lie between; absent ones are none of these. */
typedef struct llmprof_values_bounds {
  int64_t low, high; /* low > high: none is there */
  bool nulls;        /* some may be absent */
  bool ascend;       /* all are there, and none is less than the one before;
                        false: it may be so all the same */
} llmprof_values_bounds;

/* Bounds, which may be wider than need be, and are found without looking at
 * many values; false: they cannot be. */
bool llmprof_values_find_bounds(const llmprof_values *values,
                                llmprof_values_bounds *bounds);

/* Rows that were stored. */
size_t llmprof_values_count(const llmprof_values *values);

/* All of them in an array, which the caller frees; NULL when out of memory. */
int64_t *llmprof_values_all(const llmprof_values *values);

/* For who takes the rows of some columns one after the other, which are read
 * ahead on all threads: of `count` rows from the place `first` on,
 * LLMPROF_BLOCK at most, the cells by column. One thread at a time takes, in
 * order. False with err filled ends it. */
typedef bool (*llmprof_values_taker)(void *user, size_t first, size_t count,
                                     int64_t *const *cells, llmprof_error *err);

/* order: the rows, by place; NULL: as they lie. LLMPROF_VALUES_IN columns at
 * most. */
bool llmprof_values_each(const llmprof_values *const *of, size_t columns,
                         const uint32_t *order, size_t rows,
                         llmprof_values_taker take, void *user,
                         llmprof_error *err);

/* For who asks row after row: a block is read at once. All but `of` is zero at
 * first. */
typedef struct llmprof_cursor {
  const llmprof_values *of;
  size_t first, end; /* rows that are at hand */
  int64_t block[LLMPROF_BLOCK];
} llmprof_cursor;

void llmprof_cursor_load(llmprof_cursor *cursor, size_t row);

static inline int64_t llmprof_cursor_at(llmprof_cursor *cursor, size_t row) {
  if (row < cursor->first || row >= cursor->end)
    llmprof_cursor_load(cursor, row);
  return cursor->block[row - cursor->first];
}

static inline void llmprof_cursor_open(llmprof_cursor *cursor,
                                       const llmprof_values *of) {
  cursor->of = of;
  cursor->first = cursor->end = 0;
}

/* ---- storing ---- */

/* Values that are added one after the other; NULL when out of memory. */
llmprof_values *llmprof_values_new(void);
void llmprof_values_free(llmprof_values *values); /* of views, too; or NULL */

/* The open block is encoded, or the first one opened. False when out of memory:
 * it is as it was. */
bool llmprof_values_seal(llmprof_values *values);

/* A value more; false when out of memory. Nothing is read before the end. */
static inline bool llmprof_values_append(llmprof_values *values,
                                         int64_t value) {
  if (values->opened == LLMPROF_BLOCK && !llmprof_values_seal(values))
    return false;
  values->open[values->opened++] = value;
  return true;
}

/* Room for more values, of which *count are left in the block; who fills some
 * counts them in `opened`. NULL when out of memory. */
static inline int64_t *llmprof_values_room(llmprof_values *values,
                                           size_t *count) {
  if (values->opened == LLMPROF_BLOCK && !llmprof_values_seal(values))
    return NULL;
  *count = LLMPROF_BLOCK - values->opened;
  return values->open + values->opened;
}

/* Add a value `count` times. False when out of memory. */
bool llmprof_values_repeat(llmprof_values *values, int64_t value, size_t count);

/* All were added. False when out of memory. */
bool llmprof_values_end(llmprof_values *values);

/* ---- as bytes, which are of one build on one machine ---- */

typedef struct llmprof_values_snapshot {
  const void *blocks, *codes; /* aligned for any number */
  size_t blocks_size, codes_size;
} llmprof_values_snapshot;

/* Of values that were stored; the caller frees the codes. False when out of
 * memory. */
bool llmprof_values_put(const llmprof_values *values,
                        llmprof_values_snapshot *snapshot);

/* Bytes of its blocks and codes. */
size_t llmprof_values_size(const llmprof_values *values);

/* Values that a snapshot holds, which has to outlive them. NULL: it does not
 * hold `count` values, or memory is out. What the blocks say of their values,
 * bounds among them, is believed. */
llmprof_values *llmprof_values_take(const llmprof_values_snapshot *snapshot,
                                    size_t count);

/* ---- views, which store nothing ----
 *
 * What they are made of outlives them. NULL when out of memory. */

/* Those from row `first` on. */
llmprof_values *llmprof_values_from(const llmprof_values *of, size_t first);

/* of[key[row]] */
llmprof_values *llmprof_values_lookup(const llmprof_values *key,
                                      const llmprof_values *of);

/* Blocks of `count` values of each of the columns it is made of, into one. */
typedef void (*llmprof_values_function)(const int64_t *const *in, size_t count,
                                        int64_t *out);

llmprof_values *llmprof_values_computed(llmprof_values_function function,
                                        const llmprof_values *const *in,
                                        size_t count);

/* Those of an array: of small numbers, UINT32_MAX for an absent one; of
 * numbers.
 */
llmprof_values *llmprof_values_ids(const uint32_t *of);
llmprof_values *llmprof_values_numbers(const int64_t *of);

/* Each row's own number. */
llmprof_values *llmprof_values_rows(void);

#endif

/* Small numbers put on piles as they come, one pile for each key: a frame of
 * two columns, key and number, that takes the memory of one or, where they are
 * as small as most, half of one, and of which statistics by key need no further
 * look at the key. Private to the core. */
#ifndef LLMPROF_PILES_H
#define LLMPROF_PILES_H

#include "llmprof/frame.h"

/* Some of the numbers of a pile: of those below UINT16_MAX, or of the rest. */
typedef struct llmprof_pile_part {
  uint16_t *narrow; /* one of the two */
  uint32_t *wide;   /* UINT32_MAX: absent */
  uint32_t pile, count, cap;
} llmprof_pile_part;

typedef struct llmprof_pile {
  uint32_t key;     /* UINT32_MAX: absent */
  uint32_t part[2]; /* the last one that is narrow or wide, + 1, or 0 */
  uint16_t *narrow, *narrow_end; /* room that is left in these */
  uint32_t *wide, *wide_end;
} llmprof_pile;

typedef struct llmprof_piles {
  llmprof_pile_part *parts; /* by their beginnings */
  size_t part_count, part_cap;
  llmprof_pile *piles; /* by first appearance */
  size_t count, cap;
  uint32_t *of_key; /* by key + 1, the pile + 1, or 0 */
  size_t keys, key_cap;
  uint16_t **blocks; /* that the parts lie in; of the last, what is left */
  size_t block_count, block_cap, block_size, left;
  size_t rows; /* as counted last */
} llmprof_piles;

llmprof_piles *llmprof_piles_new(void); /* NULL when out of memory */
void llmprof_piles_free(llmprof_piles *piles);

/* Room for more numbers on the pile of `key`, which it returns, wide or narrow
 * ones; NULL when out of memory. */
llmprof_pile *llmprof_piles_make_room(llmprof_piles *piles, uint32_t key,
                                      bool wide);

static inline bool llmprof_piles_add(llmprof_piles *piles, uint32_t key,
                                     uint32_t number) {
  size_t slot = (uint32_t)(key + 1);
  uint32_t there = slot < piles->keys ? piles->of_key[slot] : 0;
  llmprof_pile *pile = there ? &piles->piles[there - 1] : NULL;
  bool wide = number >= UINT16_MAX;
  bool full = !pile || (wide ? pile->wide == pile->wide_end
                             : pile->narrow == pile->narrow_end);
  if (full && !(pile = llmprof_piles_make_room(piles, key, wide))) return false;
  if (wide)
    *pile->wide++ = number;
  else
    *pile->narrow++ = (uint16_t)number;
  return true;
}

/* Count what was added, before anything below and before `rows` and the counts
 * of parts are looked at. More may be added later. */
void llmprof_piles_count(llmprof_piles *piles);

/* Keys and numbers by row: part behind part. */
void llmprof_piles_keys(const llmprof_piles *piles, uint32_t *keys);
void llmprof_piles_numbers(const llmprof_piles *piles, uint32_t *numbers);

/* `count` numbers of a part from its `first` on. */
void llmprof_pile_numbers(const llmprof_pile_part *part, size_t first,
                          size_t count, uint32_t *numbers);

/* A frame of the columns `key`, of strings, and `number`, in `unit`. The piles
 * become the frame's, also on failure. */
llmprof_frame *llmprof_piles_frame(llmprof_piles *piles,
                                   const llmprof_strings *strings,
                                   const char *key, const char *number,
                                   const char *unit, llmprof_error *err);

#endif

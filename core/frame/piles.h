/* Small numbers put on piles as they come, one pile for each key: a frame of
 * two columns, key and number, that takes the memory of one, and of which
 * statistics by key need no further look at the key. Private to the core. */
#ifndef LLMPROF_PILES_H
#define LLMPROF_PILES_H

#include "llmprof/frame.h"

/* Some of the numbers of a pile. */
typedef struct llmprof_pile_part {
  uint32_t *numbers; /* UINT32_MAX: absent */
  uint32_t pile, count, cap;
} llmprof_pile_part;

typedef struct llmprof_pile {
  uint32_t key;  /* UINT32_MAX: absent */
  uint32_t part; /* the last one */
} llmprof_pile;

typedef struct llmprof_piles {
  llmprof_pile_part *parts; /* by their beginnings */
  size_t part_count, part_cap;
  llmprof_pile *piles; /* by first appearance */
  size_t count, cap;
  uint32_t *of_key; /* by key + 1, the pile + 1, or 0 */
  size_t keys, key_cap;
  uint32_t **blocks; /* that the parts lie in; of the last, what is left */
  size_t block_count, block_cap, block_size, left;
  size_t rows;
} llmprof_piles;

llmprof_piles *llmprof_piles_new(void); /* NULL when out of memory */
void llmprof_piles_free(llmprof_piles *piles);

/* Room for one more number in a part of the pile of `key`, whose number it
 * returns; false when out of memory. */
bool llmprof_piles_make_room(llmprof_piles *piles, uint32_t key,
                             uint32_t *part);

static inline bool llmprof_piles_add(llmprof_piles *piles, uint32_t key,
                                     uint32_t number) {
  size_t slot = (uint32_t)(key + 1);
  uint32_t pile = slot < piles->keys ? piles->of_key[slot] : 0;
  uint32_t part = pile ? piles->piles[pile - 1].part : 0;
  if ((!pile || piles->parts[part].count == piles->parts[part].cap) &&
      !llmprof_piles_make_room(piles, key, &part))
    return false;
  llmprof_pile_part *p = &piles->parts[part];
  p->numbers[p->count++] = number;
  piles->rows++;
  return true;
}

/* Keys and numbers by row: part behind part. */
void llmprof_piles_keys(const llmprof_piles *piles, uint32_t *keys);
void llmprof_piles_numbers(const llmprof_piles *piles, uint32_t *numbers);

/* A frame of the columns `key`, of strings, and `number`, in `unit`. The piles
 * become the frame's, also on failure. */
llmprof_frame *llmprof_piles_frame(llmprof_piles *piles,
                                   const llmprof_strings *strings,
                                   const char *key, const char *number,
                                   const char *unit, llmprof_error *err);

#endif

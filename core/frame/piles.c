#include "frame/piles.h"

#include "llmprof/alloc.h"

enum {
  FIRST = 4,         /* numbers in the first part of a pile; later ones grow */
  LARGEST = 1 << 14, /* up to this */
  BLOCK = 1 << 20    /* numbers that are asked for together, at most: so many
                        that their pages are used again when they are freed */
};

llmprof_piles *llmprof_piles_new(void) {
  return llmprof_zalloc(1, sizeof(llmprof_piles));
}

void llmprof_piles_free(llmprof_piles *p) {
  if (!p) return;
  for (size_t i = 0; i < p->block_count; i++) llmprof_free(p->blocks[i]);
  llmprof_free(p->blocks);
  llmprof_free(p->parts);
  llmprof_free(p->piles);
  llmprof_free(p->of_key);
  llmprof_free(p);
}

/* ---- adding ---- */

static bool know_key(llmprof_piles *p, size_t slot) {
  if (!llmprof_grow(&p->of_key, &p->key_cap, slot + 1, sizeof *p->of_key))
    return false;
  while (p->keys <= slot) p->of_key[p->keys++] = 0;
  return true;
}

static bool begin_pile(llmprof_piles *p, uint32_t key, uint32_t *pile) {
  size_t slot = (uint32_t)(key + 1);
  if (!know_key(p, slot) ||
      !llmprof_grow(&p->piles, &p->cap, p->count + 1, sizeof *p->piles))
    return false;
  *pile = (uint32_t)p->count;
  p->piles[p->count++] = (llmprof_pile){key, 0};
  p->of_key[slot] = *pile + 1;
  return true;
}

static bool begin_block(llmprof_piles *p, size_t least) {
  size_t size = p->block_size <= BLOCK / 2 ? p->block_size * 2 : BLOCK;
  if (size < least) size = least;
  if (!llmprof_grow(&p->blocks, &p->block_cap, p->block_count + 1,
                    sizeof *p->blocks))
    return false;
  uint32_t *block = llmprof_alloc(size, sizeof *block);
  if (!block) return false;
  p->blocks[p->block_count++] = block;
  p->block_size = p->left = size;
  return true;
}

static uint32_t *find_room(llmprof_piles *p, size_t cap) {
  if (p->left < cap && !begin_block(p, cap)) return NULL;
  uint32_t *room = p->blocks[p->block_count - 1] + p->block_size - p->left;
  p->left -= cap;
  return room;
}

static bool begin_part(llmprof_piles *p, uint32_t pile, uint32_t cap,
                       uint32_t *part) {
  uint32_t *numbers = find_room(p, cap);
  if (!numbers || !llmprof_grow(&p->parts, &p->part_cap, p->part_count + 1,
                                sizeof *p->parts))
    return false;
  *part = (uint32_t)p->part_count;
  p->parts[p->part_count++] = (llmprof_pile_part){numbers, pile, 0, cap};
  p->piles[pile].part = *part;
  return true;
}

bool llmprof_piles_make_room(llmprof_piles *p, uint32_t key, uint32_t *part) {
  size_t slot = (uint32_t)(key + 1);
  uint32_t pile = slot < p->keys ? p->of_key[slot] : 0, cap = FIRST;
  if (pile--) {
    uint32_t before = p->parts[p->piles[pile].part].cap;
    cap = before < LARGEST ? before * 2 : LARGEST;
  } else if (!begin_pile(p, key, &pile)) {
    return false;
  }
  return begin_part(p, pile, cap, part);
}

/* ---- as rows ---- */

void llmprof_piles_keys(const llmprof_piles *p, uint32_t *keys) {
  for (size_t i = 0; i < p->part_count; i++) {
    const llmprof_pile_part *part = &p->parts[i];
    for (uint32_t j = 0; j < part->count; j++)
      *keys++ = p->piles[part->pile].key;
  }
}

void llmprof_piles_numbers(const llmprof_piles *p, uint32_t *numbers) {
  for (size_t i = 0; i < p->part_count; i++) {
    const llmprof_pile_part *part = &p->parts[i];
    memcpy(numbers, part->numbers, part->count * sizeof *numbers);
    numbers += part->count;
  }
}

#include "frame/piles.h"

#include "llmprof/alloc.h"

enum {
  FIRST = 4,         /* numbers in the first part of a pile; later ones grow */
  LARGEST = 1 << 14, /* up to this */
  BLOCK = 1 << 21    /* narrow ones that are asked for together, at most: so
                        many that their pages are used again when they are freed
                      */
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
  p->piles[p->count++] = (llmprof_pile){.key = key};
  p->of_key[slot] = *pile + 1;
  return true;
}

static bool begin_block(llmprof_piles *p, size_t least) {
  size_t size = p->block_size <= BLOCK / 2 ? p->block_size * 2 : BLOCK;
  if (size < least) size = least;
  if (!llmprof_grow(&p->blocks, &p->block_cap, p->block_count + 1,
                    sizeof *p->blocks))
    return false;
  uint16_t *block = llmprof_alloc(size, sizeof *block);
  if (!block) return false;
  p->blocks[p->block_count++] = block;
  p->block_size = p->left = size;
  return true;
}

/* For so many narrow numbers, an even number of them. */
static uint16_t *find_room(llmprof_piles *p, size_t cap) {
  if (p->left < cap && !begin_block(p, cap)) return NULL;
  uint16_t *room = p->blocks[p->block_count - 1] + p->block_size - p->left;
  p->left -= cap;
  return room;
}

static bool begin_part(llmprof_piles *p, uint32_t pile, bool wide,
                       uint32_t cap) {
  uint16_t *room = find_room(p, wide ? 2 * (size_t)cap : cap);
  if (!room || !llmprof_grow(&p->parts, &p->part_cap, p->part_count + 1,
                             sizeof *p->parts))
    return false;
  llmprof_pile_part *made = &p->parts[p->part_count++];
  llmprof_pile *of = &p->piles[pile];
  *made = (llmprof_pile_part){.pile = pile, .count = cap, .cap = cap};
  of->part[wide] = (uint32_t)p->part_count;
  if (wide) {
    of->wide = made->wide = (uint32_t *)(void *)room;
    of->wide_end = of->wide + cap;
  } else {
    of->narrow = made->narrow = room;
    of->narrow_end = of->narrow + cap;
  }
  return true;
}

llmprof_pile *llmprof_piles_make_room(llmprof_piles *p, uint32_t key,
                                      bool wide) {
  size_t slot = (uint32_t)(key + 1);
  uint32_t pile = slot < p->keys ? p->of_key[slot] : 0, cap = FIRST;
  if (!pile-- && !begin_pile(p, key, &pile)) return NULL;
  uint32_t last = p->piles[pile].part[wide];
  if (last) {
    uint32_t before = p->parts[last - 1].cap;
    cap = before < LARGEST ? before * 2 : LARGEST;
  }
  return begin_part(p, pile, wide, cap) ? &p->piles[pile] : NULL;
}

/* All but the last parts of a pile are full. */
void llmprof_piles_count(llmprof_piles *p) {
  for (size_t i = 0; i < p->count; i++) {
    llmprof_pile *pile = &p->piles[i];
    llmprof_pile_part *narrow = &p->parts[pile->part[0] - 1];
    llmprof_pile_part *wide = &p->parts[pile->part[1] - 1];
    if (pile->part[0])
      narrow->count = (uint32_t)(pile->narrow - narrow->narrow);
    if (pile->part[1]) wide->count = (uint32_t)(pile->wide - wide->wide);
  }
  p->rows = 0;
  for (size_t i = 0; i < p->part_count; i++) p->rows += p->parts[i].count;
}

/* ---- as rows ---- */

void llmprof_piles_keys(const llmprof_piles *p, uint32_t *keys) {
  for (size_t i = 0; i < p->part_count; i++) {
    const llmprof_pile_part *part = &p->parts[i];
    for (uint32_t j = 0; j < part->count; j++)
      *keys++ = p->piles[part->pile].key;
  }
}

void llmprof_pile_numbers(const llmprof_pile_part *part, size_t first,
                          size_t count, uint32_t *numbers) {
  if (part->wide)
    memcpy(numbers, part->wide + first, count * sizeof *numbers);
  else
    for (size_t i = 0; i < count; i++) numbers[i] = part->narrow[first + i];
}

void llmprof_piles_numbers(const llmprof_piles *p, uint32_t *numbers) {
  for (size_t i = 0; i < p->part_count; i++) {
    const llmprof_pile_part *part = &p->parts[i];
    llmprof_pile_numbers(part, 0, part->count, numbers);
    numbers += part->count;
  }
}

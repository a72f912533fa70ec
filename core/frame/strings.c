#include "llmprof/strings.h"

#include <string.h>

#include "base/alloc.h"
#include "frame/intern.h"
#include "frame/strings_laid.h"

typedef struct entry {
  const char *bytes; /* in a slab */
  size_t size;
} entry;

/* Where a string is looked for. */
typedef struct slot {
  uint32_t next; /* id + 1, or 0: free */
  uint32_t hash;
} slot;

struct llmprof_strings {
  const char *laid; /* the first `laid_count` strings, one behind the other */
  const uint64_t *laid_ends;
  size_t laid_count;
  entry *entries; /* the others */
  size_t count, cap;
  char *rest; /* of the last slab */
  size_t left;
  char **slabs; /* owned: bytes of strings, one behind the other */
  size_t slab_count, slab_cap;
  slot *slots;       /* NULL: nothing was added */
  size_t slot_count; /* a power of two */
};

enum {
  SLAB = 1 << 10, /* bytes of the first slab; each is twice as large, */
  GROWS = 5       /* times as large */
};

llmprof_strings *llmprof_strings_new(void) {
  return llmprof_zalloc(1, sizeof(llmprof_strings));
}

void llmprof_strings_free(llmprof_strings *pool) {
  if (!pool) return;
  for (size_t i = 0; i < pool->slab_count; i++) llmprof_free(pool->slabs[i]);
  llmprof_free(pool->slabs);
  llmprof_free(pool->entries);
  llmprof_free(pool->slots);
  llmprof_free(pool);
}

size_t llmprof_strings_count(const llmprof_strings *pool) {
  return pool->count;
}

static bool equals(const llmprof_strings *pool, uint32_t id, const char *bytes,
                   size_t size) {
  size_t there_size;
  const char *there = llmprof_strings_get(pool, id, &there_size);
  return there_size == size && memcmp(there, bytes, size) == 0;
}

/* The slot that holds the string, or the free one where it belongs. */
static slot *probe(const llmprof_strings *pool, const char *bytes, size_t size,
                   uint32_t hash) {
  slot *slots = pool->slots;
  size_t mask = pool->slot_count - 1;
  size_t at = hash & mask;
  while (slots[at].next && (slots[at].hash != hash ||
                            !equals(pool, slots[at].next - 1, bytes, size)))
    at = (at + 1) & mask;
  return &slots[at];
}

/* All strings differ: each goes to the first slot that is free. */
static void put_slot(slot *slots, size_t slot_count, slot put) {
  size_t at = put.hash & (slot_count - 1);
  while (slots[at].next) at = (at + 1) & (slot_count - 1);
  slots[at] = put;
}

/* Slots for all strings; NULL when out of memory. */
static slot *hash_all(const llmprof_strings *pool, size_t slot_count) {
  slot *slots = llmprof_zalloc(slot_count, sizeof *slots);
  for (uint32_t id = 0; slots && id < pool->count; id++) {
    size_t size;
    const char *bytes = llmprof_strings_get(pool, id, &size);
    put_slot(slots, slot_count,
             (slot){id + 1, (uint32_t)llmprof_hash(bytes, size)});
  }
  return slots;
}

static bool rehash(llmprof_strings *pool, size_t slot_count) {
  slot *slots = hash_all(pool, slot_count);
  if (!slots) return false;
  llmprof_free(pool->slots);
  pool->slots = slots;
  pool->slot_count = slot_count;
  return true;
}

/* A quarter of the slots stays free. */
static bool is_full(const llmprof_strings *pool, size_t slot_count) {
  return pool->count >= slot_count / 4 * 3;
}

/* This number of slots has room for one string more. */
static size_t slots_wanted(const llmprof_strings *pool) {
  size_t wanted = pool->slots ? pool->slot_count : 256;
  while (is_full(pool, wanted)) wanted *= 2;
  return wanted;
}

static bool make_slots(llmprof_strings *pool) {
  size_t wanted = slots_wanted(pool);
  bool there = pool->slots && wanted == pool->slot_count;
  return there || rehash(pool, wanted);
}

static bool add_slab(llmprof_strings *pool, size_t size) {
  size_t wanted = (size_t)SLAB
                  << (pool->slab_count < GROWS ? pool->slab_count : GROWS);
  if (wanted < size) wanted = size;
  char *slab = llmprof_grow(&pool->slabs, &pool->slab_cap, pool->slab_count + 1,
                            sizeof *pool->slabs)
                   ? llmprof_alloc(wanted, 1)
                   : NULL;
  if (!slab) return false;
  pool->slabs[pool->slab_count++] = slab;
  pool->rest = slab;
  pool->left = wanted;
  return true;
}

/* A copy with a NUL behind it. */
static const char *copy_of(llmprof_strings *pool, const char *bytes,
                           size_t size) {
  if (pool->left <= size && (size == SIZE_MAX || !add_slab(pool, size + 1)))
    return NULL;
  char *copy = pool->rest;
  if (size) memcpy(copy, bytes, size);
  copy[size] = '\0';
  pool->rest += size + 1;
  pool->left -= size + 1;
  return copy;
}

bool llmprof_strings_lay(llmprof_strings *pool, const char *bytes,
                         const uint64_t *ends, size_t count) {
  pool->laid = bytes;
  pool->laid_ends = ends;
  pool->laid_count = pool->count = count;
  return make_slots(pool);
}

uint32_t llmprof_strings_find(const llmprof_strings *pool, const char *bytes,
                              size_t size) {
  if (!pool->slots) return LLMPROF_NO_STRING;
  uint32_t hash = (uint32_t)llmprof_hash(bytes, size);
  return probe(pool, bytes, size, hash)->next - 1; /* a free slot holds 0 */
}

bool llmprof_strings_add(llmprof_strings *pool, const char *bytes, size_t size,
                         uint32_t *id) {
  bool there = pool->slots && !is_full(pool, pool->slot_count);
  if (!there && !make_slots(pool)) return false;
  uint32_t hash = (uint32_t)llmprof_hash(bytes, size);
  slot *at = probe(pool, bytes, size, hash);
  if (!at->next) {
    size_t own = pool->count - pool->laid_count;
    if (pool->count >= UINT32_MAX - 1 ||
        !llmprof_grow(&pool->entries, &pool->cap, own + 1,
                      sizeof *pool->entries))
      return false;
    const char *copy = copy_of(pool, bytes, size);
    if (!copy) return false;
    pool->entries[own] = (entry){copy, size};
    *at = (slot){(uint32_t)++pool->count, hash};
  }
  *id = at->next - 1;
  return true;
}

static const char *get_laid(const llmprof_strings *pool, uint32_t id,
                            size_t *size) {
  uint64_t start = id ? pool->laid_ends[id - 1] : 0;
  if (size) *size = (size_t)(pool->laid_ends[id] - start - 1);
  return pool->laid + start;
}

const char *llmprof_strings_get(const llmprof_strings *pool, uint32_t id,
                                size_t *size) {
  if (id < pool->laid_count) return get_laid(pool, id, size);
  const entry *own =
      id < pool->count ? &pool->entries[id - pool->laid_count] : NULL;
  if (size) *size = own ? own->size : 0;
  return own ? own->bytes : NULL;
}

#include "llmprof/strings.h"

#include <string.h>

#include "frame/intern.h"
#include "frame/strings_laid.h"
#include "llmprof/alloc.h"

typedef struct entry {
  char *bytes; /* owned */
  size_t size;
  uint64_t hash;
} entry;

struct llmprof_strings {
  const char *laid; /* the first `laid_count` strings, one behind the other */
  const uint64_t *laid_ends;
  size_t laid_count;
  entry *entries; /* the others */
  size_t count, cap;
  uint32_t
      *slots; /* id + 1, or 0; a power of two of them. NULL: none is made */
  size_t slot_count;
};

enum {
  FEW_LAID = 1 << 16 /* so many are hashed at once */
};

llmprof_strings *llmprof_strings_new(void) {
  return llmprof_zalloc(1, sizeof(llmprof_strings));
}

void llmprof_strings_free(llmprof_strings *pool) {
  if (!pool) return;
  for (size_t i = pool->laid_count; i < pool->count; i++)
    llmprof_free(pool->entries[i - pool->laid_count].bytes);
  llmprof_free(pool->entries);
  llmprof_free(pool->slots);
  llmprof_free(pool);
}

size_t llmprof_strings_count(const llmprof_strings *pool) {
  return pool->count;
}

static bool equals(const llmprof_strings *pool, uint32_t id, const char *bytes,
                   size_t size, uint64_t hash) {
  if (id >= pool->laid_count &&
      pool->entries[id - pool->laid_count].hash != hash)
    return false;
  size_t there_size;
  const char *there = llmprof_strings_get(pool, id, &there_size);
  return there_size == size && memcmp(there, bytes, size) == 0;
}

static size_t probe(const llmprof_strings *pool, const char *bytes, size_t size,
                    uint64_t hash) {
  size_t mask = pool->slot_count - 1;
  size_t at = (size_t)hash & mask;
  while (pool->slots[at] &&
         !equals(pool, pool->slots[at] - 1, bytes, size, hash))
    at = (at + 1) & mask;
  return at;
}

static uint64_t hash_of(const llmprof_strings *pool, uint32_t id) {
  if (id >= pool->laid_count) return pool->entries[id - pool->laid_count].hash;
  size_t size;
  const char *bytes = llmprof_strings_get(pool, id, &size);
  return llmprof_hash(bytes, size);
}

/* All strings differ: each goes to the first slot that is free. */
static bool rehash(llmprof_strings *pool, size_t slot_count) {
  uint32_t *slots = llmprof_zalloc(slot_count, sizeof *slots);
  if (!slots) return false;
  llmprof_free(pool->slots);
  pool->slots = slots;
  pool->slot_count = slot_count;
  for (uint32_t id = 0; id < pool->count; id++) {
    size_t at = (size_t)hash_of(pool, id) & (slot_count - 1);
    while (slots[at]) at = (at + 1) & (slot_count - 1);
    slots[at] = id + 1;
  }
  return true;
}

/* Slots for one string more. */
static bool make_slots(llmprof_strings *pool) {
  size_t wanted = pool->slot_count ? pool->slot_count : 256;
  while (pool->count * 2 >= wanted) wanted *= 2;
  return wanted == pool->slot_count || rehash(pool, wanted);
}

bool llmprof_strings_lay(llmprof_strings *pool, const char *bytes,
                         const uint64_t *ends, size_t count) {
  pool->laid = bytes;
  pool->laid_ends = ends;
  pool->laid_count = pool->count = count;
  return count > FEW_LAID || make_slots(pool);
}

static uint32_t find_laid(const llmprof_strings *pool, const char *bytes,
                          size_t size) {
  for (uint32_t id = 0; id < pool->count; id++)
    if (equals(pool, id, bytes, size, 0)) return id;
  return LLMPROF_NO_STRING;
}

uint32_t llmprof_strings_find(const llmprof_strings *pool, const char *bytes,
                              size_t size) {
  if (!pool->slot_count) return find_laid(pool, bytes, size);
  uint64_t hash = llmprof_hash(bytes, size);
  return pool->slots[probe(pool, bytes, size, hash)] - 1;
}

bool llmprof_strings_add(llmprof_strings *pool, const char *bytes, size_t size,
                         uint32_t *id) {
  if (pool->count * 2 >= pool->slot_count && !make_slots(pool)) return false;
  uint64_t hash = llmprof_hash(bytes, size);
  size_t at = probe(pool, bytes, size, hash);
  if (!pool->slots[at]) {
    size_t own = pool->count - pool->laid_count;
    if (pool->count >= UINT32_MAX - 1 ||
        !llmprof_grow(&pool->entries, &pool->cap, own + 1,
                      sizeof *pool->entries))
      return false;
    char *copy = llmprof_memdup(bytes, size);
    if (!copy) return false;
    pool->entries[own] = (entry){copy, size, hash};
    pool->slots[at] = (uint32_t)++pool->count;
  }
  *id = pool->slots[at] - 1;
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

#include "llmprof/strings.h"

#include <string.h>

#include "frame/intern.h"
#include "llmprof/alloc.h"

typedef struct entry {
  char *bytes; /* owned */
  size_t size;
  uint64_t hash;
} entry;

struct llmprof_strings {
  entry *entries;
  size_t count, cap;
  uint32_t *slots; /* id + 1, or 0; a power of two of them */
  size_t slot_count;
};

llmprof_strings *llmprof_strings_new(void) {
  return llmprof_zalloc(1, sizeof(llmprof_strings));
}

void llmprof_strings_free(llmprof_strings *pool) {
  if (!pool) return;
  for (size_t i = 0; i < pool->count; i++) llmprof_free(pool->entries[i].bytes);
  llmprof_free(pool->entries);
  llmprof_free(pool->slots);
  llmprof_free(pool);
}

size_t llmprof_strings_count(const llmprof_strings *pool) {
  return pool->count;
}

static size_t probe(const llmprof_strings *pool, const char *bytes, size_t size,
                    uint64_t hash) {
  size_t mask = pool->slot_count - 1;
  size_t at = (size_t)hash & mask;
  while (pool->slots[at]) {
    const entry *there = &pool->entries[pool->slots[at] - 1];
    if (there->hash == hash && there->size == size &&
        memcmp(there->bytes, bytes, size) == 0)
      break;
    at = (at + 1) & mask;
  }
  return at;
}

static bool rehash(llmprof_strings *pool, size_t slot_count) {
  uint32_t *slots = llmprof_zalloc(slot_count, sizeof *slots);
  if (!slots) return false;
  llmprof_free(pool->slots);
  pool->slots = slots;
  pool->slot_count = slot_count;
  for (uint32_t id = 0; id < pool->count; id++) {
    const entry *e = &pool->entries[id];
    slots[probe(pool, e->bytes, e->size, e->hash)] = id + 1;
  }
  return true;
}

uint32_t llmprof_strings_find(const llmprof_strings *pool, const char *bytes,
                              size_t size) {
  if (!pool->slot_count) return LLMPROF_NO_STRING;
  uint64_t hash = llmprof_hash(bytes, size);
  return pool->slots[probe(pool, bytes, size, hash)] - 1;
}

bool llmprof_strings_add(llmprof_strings *pool, const char *bytes, size_t size,
                         uint32_t *id) {
  if (pool->count * 2 >= pool->slot_count &&
      !rehash(pool, pool->slot_count ? pool->slot_count * 2 : 256))
    return false;
  uint64_t hash = llmprof_hash(bytes, size);
  size_t at = probe(pool, bytes, size, hash);
  if (!pool->slots[at]) {
    if (pool->count >= UINT32_MAX - 1 ||
        !llmprof_grow(&pool->entries, &pool->cap, pool->count + 1,
                      sizeof *pool->entries))
      return false;
    char *copy = llmprof_memdup(bytes, size);
    if (!copy) return false;
    pool->entries[pool->count] = (entry){copy, size, hash};
    pool->slots[at] = (uint32_t)++pool->count;
  }
  *id = pool->slots[at] - 1;
  return true;
}

const char *llmprof_strings_get(const llmprof_strings *pool, uint32_t id,
                                size_t *size) {
  bool known = id < pool->count;
  if (size) *size = known ? pool->entries[id].size : 0;
  return known ? pool->entries[id].bytes : NULL;
}

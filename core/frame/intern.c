#include "frame/intern.h"

#include <pthread.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/alloc.h"

/* Two numbers that only this process knows: nobody can make up records that
 * collide. What comes out depends on them nowhere, since rows keep the order in
 * which they were added. */
static uint64_t keys[2];

static void make_keys(void) {
  if (getrandom(keys, sizeof keys, GRND_NONBLOCK) != (ssize_t)sizeof keys) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    keys[0] ^= (uint64_t)now.tv_nsec * 0x9e3779b97f4a7c15u;
    keys[1] ^= (uint64_t)(uintptr_t)&now ^ (uint64_t)now.tv_sec;
  }
  keys[1] |= 1;
}

/* Both halves of the product, which depend on all bits of both. */
static uint64_t fold(uint64_t a, uint64_t b) {
  __uint128_t product = (__uint128_t)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static pthread_once_t keys_once = PTHREAD_ONCE_INIT;

uint64_t llmprof_hash(const void *bytes, size_t size) {
  pthread_once(&keys_once, make_keys);
  const unsigned char *at = bytes;
  uint64_t h = size * 0x9e3779b97f4a7c15u ^ keys[0], word = 0;
  for (; size >= 8; at += 8, size -= 8) {
    memcpy(&word, at, 8);
    h = fold(h ^ word, keys[1]) ^ (word + keys[0]);
  }
  word = 0;
  if (size) memcpy(&word, at, size);
  return fold(h ^ word, keys[1] ^ 0xd6e8feb86659fd93u);
}

void llmprof_intern_init_keyed(llmprof_intern *table, size_t record_size,
                               size_t key_size) {
  *table = (llmprof_intern){.record_size = record_size, .key_size = key_size};
}

void llmprof_intern_init(llmprof_intern *table, size_t record_size) {
  llmprof_intern_init_keyed(table, record_size, record_size);
}

void llmprof_intern_free(llmprof_intern *table) {
  llmprof_free(table->records);
  llmprof_free(table->slots);
  llmprof_intern_init_keyed(table, table->record_size, table->key_size);
}

const void *llmprof_intern_get(const llmprof_intern *table, uint32_t id) {
  return table->records + id * table->record_size;
}

/* The slot that holds the record, or the free one where it belongs. */
static size_t probe(const llmprof_intern *table, const void *record) {
  size_t mask = table->slot_count - 1;
  size_t at = (size_t)llmprof_hash(record, table->key_size) & mask;
  while (table->slots[at]) {
    const void *there = llmprof_intern_get(table, table->slots[at] - 1);
    if (memcmp(there, record, table->key_size) == 0) break;
    at = (at + 1) & mask;
  }
  return at;
}

static bool rehash(llmprof_intern *table, size_t slot_count) {
  uint32_t *slots = llmprof_zalloc(slot_count, sizeof *slots);
  if (!slots) return false;
  llmprof_free(table->slots);
  table->slots = slots;
  table->slot_count = slot_count;
  for (uint32_t id = 0; id < table->count; id++)
    slots[probe(table, llmprof_intern_get(table, id))] = id + 1;
  return true;
}

uint32_t llmprof_intern_find(const llmprof_intern *table, const void *record) {
  if (!table->slot_count) return UINT32_MAX;
  return table->slots[probe(table, record)] - 1; /* a free slot holds 0 */
}

bool llmprof_intern_add(llmprof_intern *table, const void *record,
                        uint32_t *id) {
  if (table->count * 2 >= table->slot_count &&
      !rehash(table, table->slot_count ? table->slot_count * 2 : 64))
    return false;
  size_t at = probe(table, record);
  if (!table->slots[at]) {
    if (table->count >= UINT32_MAX - 1 ||
        !llmprof_grow(&table->records, &table->cap, table->count + 1,
                      table->record_size))
      return false;
    memcpy(table->records + table->count * table->record_size, record,
           table->record_size);
    table->slots[at] = (uint32_t)++table->count;
  }
  *id = table->slots[at] - 1;
  return true;
}

void *llmprof_intern_put(llmprof_intern *table, const void *record) {
  uint32_t id;
  return llmprof_intern_add(table, record, &id)
             ? table->records + id * table->record_size
             : NULL;
}

void *llmprof_intern_seek(const llmprof_intern *table, const void *key) {
  uint32_t id = llmprof_intern_find(table, key);
  return id == UINT32_MAX ? NULL : table->records + id * table->record_size;
}

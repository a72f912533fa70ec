#include "llmprof/strings.h"

#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/thread_pool.h"
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

/* What any thread may find out about strings. Slots are made when these were
 * looked for often enough: the number of them is there before they are. */
typedef struct table {
  _Atomic(slot *) slots;                 /* NULL: none are made */
  _Atomic size_t count;                  /* a power of two */
  _Atomic size_t missed;                 /* searches without */
  _Atomic(llmprof_string_ranks *) ranks; /* NULL: none are kept */
} table;

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
  uint32_t *hashes; /* of the first strings, until they are told apart */
  size_t hash_count, hash_cap;
  table *table; /* of the same block */
};

enum {
  FEW_LAID = 1 << 16, /* hashed at once */
  FEW_SEARCHES = 4,   /* so often what was laid is searched through */
  SLAB = 1 << 10,     /* bytes of the first slab; each is twice as large, */
  GROWS = 5           /* times as large */
};

llmprof_strings *llmprof_strings_new(void) {
  struct {
    llmprof_strings pool;
    table table;
  } *made = llmprof_zalloc(1, sizeof *made);
  if (!made) return NULL;
  made->pool.table = &made->table;
  return &made->pool;
}

void llmprof_strings_free(llmprof_strings *pool) {
  if (!pool) return;
  for (size_t i = 0; i < pool->slab_count; i++) llmprof_free(pool->slabs[i]);
  llmprof_free(pool->slabs);
  llmprof_free(pool->entries);
  llmprof_free(pool->hashes);
  llmprof_free(pool->table->slots);
  llmprof_free(pool->table->ranks);
  llmprof_free(pool);
}

const llmprof_string_ranks *llmprof_strings_ranks(const llmprof_strings *pool) {
  return pool->table->ranks;
}

bool llmprof_strings_keep_ranks(const llmprof_strings *pool,
                                llmprof_string_ranks *ranks) {
  llmprof_string_ranks *none = NULL;
  return atomic_compare_exchange_strong(&pool->table->ranks, &none, ranks);
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
  slot *slots = pool->table->slots;
  size_t mask = pool->table->count - 1;
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

/* The same slots, among more. */
static slot *spread(const table *of, size_t slot_count) {
  slot *slots = llmprof_zalloc(slot_count, sizeof *slots), *old = of->slots;
  size_t count = of->count;
  for (size_t i = 0; slots && i < count; i++)
    if (old[i].next) put_slot(slots, slot_count, old[i]);
  return slots;
}

static bool rehash(llmprof_strings *pool, size_t slot_count) {
  table *of = pool->table;
  slot *slots = of->slots ? spread(of, slot_count) : hash_all(pool, slot_count);
  if (!slots) return false;
  llmprof_free(of->slots);
  of->slots = slots;
  of->count = slot_count;
  return true;
}

/* A quarter of the slots stays free. */
static bool is_full(const llmprof_strings *pool, size_t slot_count) {
  return pool->count >= slot_count / 4 * 3;
}

/* This number of slots has room for one string more. */
static size_t slots_wanted(const llmprof_strings *pool) {
  size_t wanted = pool->table->slots ? pool->table->count : 256;
  while (is_full(pool, wanted)) wanted *= 2;
  return wanted;
}

static bool make_slots(llmprof_strings *pool) {
  size_t wanted = slots_wanted(pool);
  bool there = pool->table->slots && wanted == pool->table->count;
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
  return count > FEW_LAID || make_slots(pool);
}

/* Threads that come here at once make the same; one of them puts it in place.
 */
static bool make_slots_late(const llmprof_strings *pool) {
  size_t count = slots_wanted(pool);
  slot *none = NULL, *slots = hash_all(pool, count);
  if (!slots) return false;
  pool->table->count = count;
  if (!atomic_compare_exchange_strong(&pool->table->slots, &none, slots))
    llmprof_free(slots);
  return true;
}

/* Is there a table to look in? Without memory for one it is done without. */
static bool is_hashed(const llmprof_strings *pool) {
  table *of = pool->table;
  if (of->slots || !pool->laid_count) return of->slots;
  size_t missed =
      atomic_fetch_add_explicit(&of->missed, 1, memory_order_relaxed);
  return missed >= FEW_SEARCHES && make_slots_late(pool);
}

static uint32_t find_laid(const llmprof_strings *pool, const char *bytes,
                          size_t size) {
  for (uint32_t id = 0; id < pool->count; id++)
    if (equals(pool, id, bytes, size)) return id;
  return LLMPROF_NO_STRING;
}

uint32_t llmprof_strings_find(const llmprof_strings *pool, const char *bytes,
                              size_t size) {
  if (!is_hashed(pool)) return find_laid(pool, bytes, size);
  uint32_t hash = (uint32_t)llmprof_hash(bytes, size);
  return probe(pool, bytes, size, hash)->next - 1; /* a free slot holds 0 */
}

bool llmprof_strings_add(llmprof_strings *pool, const char *bytes, size_t size,
                         uint32_t *id) {
  bool there = pool->table->slots && !is_full(pool, pool->table->count);
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

/* ---- strings that are told apart when all are there ---- */

uint32_t llmprof_strings_hash(const char *bytes, size_t size) {
  return (uint32_t)llmprof_hash(bytes, size);
}

/* Of those that were there before. */
static void hash_others(llmprof_strings *pool) {
  for (; pool->hash_count < pool->count; pool->hash_count++) {
    size_t size;
    const char *bytes =
        llmprof_strings_get(pool, (uint32_t)pool->hash_count, &size);
    pool->hashes[pool->hash_count] = llmprof_strings_hash(bytes, size);
  }
}

static bool make_room(llmprof_strings *pool, size_t more) {
  size_t own = pool->count - pool->laid_count;
  return llmprof_grow(&pool->entries, &pool->cap, own + more,
                      sizeof *pool->entries) &&
         llmprof_grow(&pool->hashes, &pool->hash_cap, pool->count + more,
                      sizeof *pool->hashes);
}

bool llmprof_strings_expect(llmprof_strings *pool, size_t more) {
  return !more || more >= UINT32_MAX - pool->count || make_room(pool, more);
}

static bool grow_appended(llmprof_strings *pool, size_t more) {
  if (more >= UINT32_MAX - pool->count || !make_room(pool, more)) return false;
  hash_others(pool);
  return true;
}

static void append_one(llmprof_strings *pool, const char *bytes, size_t size,
                       uint32_t hash) {
  pool->entries[pool->count++ - pool->laid_count] = (entry){bytes, size};
  pool->hashes[pool->hash_count++] = hash;
}

bool llmprof_strings_append(llmprof_strings *pool, char *bytes,
                            const uint32_t *sizes, const uint32_t *hashes,
                            size_t count) {
  if (!grow_appended(pool, count) ||
      !llmprof_grow(&pool->slabs, &pool->slab_cap, pool->slab_count + 1,
                    sizeof *pool->slabs))
    return false;
  pool->slabs[pool->slab_count++] = bytes;
  for (size_t i = 0; i < count; i++) {
    append_one(pool, bytes, sizes[i], hashes[i]);
    bytes += sizes[i] + (size_t)1;
  }
  return true;
}

bool llmprof_strings_append_copy(llmprof_strings *pool, const char *bytes,
                                 size_t size) {
  const char *copy = grow_appended(pool, 1) ? copy_of(pool, bytes, size) : NULL;
  if (copy) append_one(pool, copy, size, llmprof_strings_hash(bytes, size));
  return copy;
}

/* The first string with these bytes, which gets a slot unless it has one. */
static uint32_t put_first(const llmprof_strings *pool, slot *slots,
                          size_t slot_count, slot put) {
  size_t at = put.hash & (slot_count - 1);
  for (; slots[at].next; at = (at + 1) & (slot_count - 1)) {
    size_t size;
    if (slots[at].hash != put.hash) continue;
    const char *bytes = llmprof_strings_get(pool, put.next - 1, &size);
    if (equals(pool, slots[at].next - 1, bytes, size))
      return slots[at].next - 1;
  }
  slots[at] = put;
  return put.next - 1;
}

/* Notes that the string `id` is the one of `first`, which is less. */
static bool note_same(const llmprof_strings *pool, uint32_t id, uint32_t first,
                      uint32_t **ids) {
  if (!*ids) {
    *ids = llmprof_alloc(pool->count, sizeof **ids);
    for (uint32_t i = 0; *ids && i < pool->count; i++) (*ids)[i] = i;
  }
  if (*ids) (*ids)[id] = first;
  return *ids;
}

/* Each in its turn. */
static bool find_same(const llmprof_strings *pool, slot *slots,
                      size_t slot_count, uint32_t **ids) {
  for (uint32_t id = 0; id < pool->count; id++) {
    slot put = {id + 1, pool->hashes[id]};
    uint32_t first = put_first(pool, slots, slot_count, put);
    if (first != id && !note_same(pool, id, first, ids)) return false;
  }
  return true;
}

/* Strings that are one of those before them go; ids: of all, what they become.
 */
static void drop_same(llmprof_strings *pool, slot *slots, size_t slot_count,
                      uint32_t *ids) {
  uint32_t kept = 0;
  for (uint32_t id = 0; id < pool->count; id++) {
    if (ids[id] != id) {
      ids[id] = ids[ids[id]];
      continue;
    }
    if (id >= pool->laid_count)
      pool->entries[kept - pool->laid_count] =
          pool->entries[id - pool->laid_count];
    ids[id] = kept++;
  }
  pool->count = kept;
  for (size_t i = 0; i < slot_count; i++)
    if (slots[i].next) slots[i].next = ids[slots[i].next - 1] + 1;
}

static void keep_slots(llmprof_strings *pool, slot *slots, size_t slot_count) {
  llmprof_free(pool->table->slots);
  pool->table->slots = slots;
  pool->table->count = slot_count;
  llmprof_free(pool->hashes);
  pool->hashes = NULL;
  pool->hash_count = pool->hash_cap = 0;
}

bool llmprof_strings_settle(llmprof_strings *pool, uint32_t **ids) {
  *ids = NULL;
  if (!pool->hash_count) return true;
  size_t slot_count = slots_wanted(pool);
  slot *slots = llmprof_zalloc(slot_count, sizeof *slots);
  bool ok = slots && find_same(pool, slots, slot_count, ids);
  if (ok && *ids) drop_same(pool, slots, slot_count, *ids);
  if (ok) {
    keep_slots(pool, slots, slot_count);
    return true;
  }
  llmprof_free(*ids);
  *ids = NULL;
  llmprof_free(slots);
  return false;
}

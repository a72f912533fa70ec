#include "pool.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "fuzz.h"

#if defined(__SANITIZE_ADDRESS__)
#define POISONED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define POISONED 1
#endif
#endif
#ifdef POISONED
#include <sanitizer/asan_interface.h>
#define UNCHECKED __attribute__((no_sanitize("address")))
#else
#define ASAN_POISON_MEMORY_REGION(start, size)   ((void)(start), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(start, size) ((void)(start), (void)(size))
#define UNCHECKED
#endif

enum {
  CHUNK = 4 << 20,
  MOST_CHUNKS = 256,
  SMALLEST = 6, /* sizes with their head are powers of two: 64 bytes */
  LARGEST = 20, /* larger ones malloc makes, as they are */
  OWN = LARGEST + 1,
};

/* Before each block, poisoned. */
typedef struct head {
  struct head *next; /* of those that are free */
  uint32_t size;     /* that was asked for */
  uint32_t power;    /* or OWN */
} head;

static struct { head *first, *last; } unused[LARGEST + 1];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *chunks[MOST_CHUNKS]; /* so that none seems lost */
static char *fresh;               /* what is left of the newest */
static size_t count, left, blocks;

static bool more_room(void) {
  if (count == MOST_CHUNKS || !(fresh = malloc(CHUNK))) return false;
  ASAN_POISON_MEMORY_REGION(fresh, CHUNK);
  chunks[count++] = fresh;
  left = CHUNK;
  return true;
}

UNCHECKED static head *cut(uint32_t power) {
  size_t size = (size_t)1 << power;
  if (size > left && !more_room()) return NULL;
  head *h = (head *)fresh;
  fresh += size;
  left -= size;
  h->power = power;
  return h;
}

static head *make_own(size_t size) {
  head *h = malloc(size);
  if (h) h->power = OWN;
  return h;
}

UNCHECKED static head *take(size_t size) {
  uint32_t power = SMALLEST;
  while (power < OWN && (size_t)1 << power < size) power++;
  if (power == OWN) return make_own(size);
  head *h = unused[power].first;
  if (!h) return cut(power);
  unused[power].first = h->next;
  return h;
}

UNCHECKED static void *get(int size) {
  pthread_mutex_lock(&lock);
  head *h = take((size_t)size + sizeof *h);
  blocks += h != NULL;
  pthread_mutex_unlock(&lock);
  if (!h) return NULL;
  h->size = (uint32_t)size;
  ASAN_UNPOISON_MEMORY_REGION(h + 1, h->size);
  return h + 1;
}

UNCHECKED static void put_back(head *h) {
  h->next = NULL;
  if (unused[h->power].first)
    unused[h->power].last->next = h;
  else
    unused[h->power].first = h;
  unused[h->power].last = h;
}

UNCHECKED static void give(void *block) {
  if (!block) return;
  head *h = (head *)block - 1;
  bool own = h->power == OWN;
  if (!own) ASAN_POISON_MEMORY_REGION(block, h->size);
  pthread_mutex_lock(&lock);
  if (!own) put_back(h);
  blocks--;
  pthread_mutex_unlock(&lock);
  if (own) free(h);
}

size_t fuzz_pool_blocks(void) {
  pthread_mutex_lock(&lock);
  size_t all = blocks;
  pthread_mutex_unlock(&lock);
  return all;
}

/* ---- for SQLite ---- */

UNCHECKED static int size_of(void *block) {
  return block ? (int)((head *)block - 1)->size : 0;
}

static void *resize(void *block, int size) {
  void *more = get(size);
  int had = size_of(block);
  if (!more) return NULL;
  memcpy(more, block, (size_t)(had < size ? had : size));
  give(block);
  return more;
}

static int round_up(int size) {
  return (size + 7) & ~7;
}

static int begin(void *nothing) {
  (void)nothing;
  return SQLITE_OK;
}

static void end(void *nothing) {
  (void)nothing;
}

/* Nobody asks how much SQLite has: counting bytes would be a lock for each
 * block. Its own pool for small blocks has no poison in it. */
void fuzz_pool_use(void) {
  static sqlite3_mem_methods methods = {get,      give,  resize, size_of,
                                        round_up, begin, end,    NULL};
  FUZZ_CHECK(sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) == SQLITE_OK);
  FUZZ_CHECK(sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0) == SQLITE_OK);
  FUZZ_CHECK(sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0) == SQLITE_OK);
}

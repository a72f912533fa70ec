#include "base/pages.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum {
  LEAST = 4096,      /* bytes of a page, on any machine, */
  PAGES = 64 * 1024, /* of them whole ones */
  MOST = 1024        /* runs; more blocks there cannot be */
};

/* Pages that lie behind each other: a block, or spare. */
typedef struct run {
  char *at;
  size_t size;
  bool spare;
} run;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static run runs[MOST]; /* by address; all under the lock */
static size_t count, spare;

static size_t round_up(size_t size) {
  return (size + PAGES - 1) / PAGES * PAGES;
}

/* The first run that lies at `at` or behind. */
static size_t find(const char *at) {
  size_t low = 0, high = count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (runs[middle].at < at)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static bool is_block(size_t i, const void *block) {
  return i < count && runs[i].at == (const char *)block && !runs[i].spare;
}

/* ---- the list ---- */

static bool insert(char *at, size_t size, bool is_spare) {
  size_t i = find(at);
  if (count == MOST) return false;
  memmove(&runs[i + 1], &runs[i], (count - i) * sizeof *runs);
  runs[i] = (run){at, size, is_spare};
  count++;
  if (is_spare) spare += size;
  return true;
}

static void drop(size_t i) {
  if (runs[i].spare) spare -= runs[i].size;
  count--;
  memmove(&runs[i], &runs[i + 1], (count - i) * sizeof *runs);
}

static bool are_spare_together(size_t i) {
  return i + 1 < count && runs[i].spare && runs[i + 1].spare &&
         runs[i].at + runs[i].size == runs[i + 1].at;
}

static void join(size_t i) {
  if (!are_spare_together(i)) return;
  size_t size = runs[i + 1].size;
  drop(i + 1);
  runs[i].size += size;
  spare += size;
}

static void make_spare(size_t i) {
  runs[i].spare = true;
  spare += runs[i].size;
  join(i);
  if (i) join(i - 1);
}

/* What of a block is behind `size` becomes spare, where there is a place for it
 * in the list. */
static void split(size_t i, size_t size) {
  run *r = &runs[i];
  if (r->size == size || !insert(r->at + size, r->size - size, true)) return;
  r->size = size;
  join(i + 1);
}

/* ---- the system ---- */

static size_t largest_spare(void) {
  size_t largest = count;
  for (size_t i = 0; i < count; i++) {
    if (runs[i].spare &&
        (largest == count || runs[i].size > runs[largest].size))
      largest = i;
  }
  return largest;
}

/* Before as many bytes are asked for. */
static void give_back(size_t bytes) {
  while (spare && bytes) {
    size_t i = largest_spare(), size = runs[i].size;
    size_t part = size < bytes ? size : bytes;
    munmap(runs[i].at + size - part, part);
    bytes -= part;
    spare -= part;
    runs[i].size -= part;
    if (!runs[i].size) drop(i);
  }
}

static void *ask(size_t size) {
  void *at = mmap(NULL, size, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return NULL;
  if (insert(at, size, false)) return at;
  munmap(at, size);
  return NULL;
}

/* ---- blocks ---- */

/* The smallest spare run that is large enough, or `count`. */
static size_t fitting(size_t size) {
  size_t best = count;
  for (size_t i = 0; i < count; i++) {
    if (runs[i].spare && runs[i].size >= size &&
        (best == count || runs[i].size < runs[best].size))
      best = i;
  }
  return best;
}

static void *make(size_t size) {
  size_t i = fitting(size);
  if (i == count) {
    give_back(size);
    return ask(size);
  }
  runs[i].spare = false;
  spare -= runs[i].size;
  split(i, size);
  return runs[i].at;
}

/* In place, where what follows is spare. */
static bool extend(size_t i, size_t size) {
  if (i + 1 == count || !runs[i + 1].spare ||
      runs[i].at + runs[i].size != runs[i + 1].at ||
      runs[i].size + runs[i + 1].size < size)
    return false;
  size_t more = runs[i + 1].size;
  drop(i + 1);
  runs[i].size += more;
  split(i, size);
  return true;
}

/* Elsewhere, without a copy. */
static void *move(size_t i, size_t size) {
  size_t before = runs[i].size;
  char *from = runs[i].at;
  give_back(size - before);
  void *to = mremap(from, before, size, MREMAP_MAYMOVE);
  if (to == MAP_FAILED) return NULL;
  drop(find(from));
  (void)insert(to, size, false); /* where there was one more before */
  return to;
}

static void *copy(size_t i, size_t size) {
  char *from = runs[i].at;
  size_t before = runs[i].size;
  void *to = make(size);
  if (to) {
    memcpy(to, from, before);
    make_spare(find(from));
  }
  return to;
}

static void *resize(size_t i, size_t size) {
  char *at = runs[i].at;
  if (size <= runs[i].size) split(i, size);
  if (size <= runs[i].size || extend(i, size)) return at;
  void *moved = move(i, size);
  return moved ? moved : copy(find(at), size);
}

void *llmprof_pages_resize(void *block, size_t size) {
  if (size > SIZE_MAX / 2) return NULL;
  pthread_mutex_lock(&lock);
  size_t i = block ? find(block) : count;
  void *made = is_block(i, block) ? resize(i, round_up(size))
               : block            ? NULL
                                  : make(round_up(size));
  pthread_mutex_unlock(&lock);
  return made;
}

void llmprof_pages_free(void *block) {
  if (!block) return;
  pthread_mutex_lock(&lock);
  size_t i = find(block);
  if (is_block(i, block)) make_spare(i);
  pthread_mutex_unlock(&lock);
}

size_t llmprof_pages_size(const void *block) {
  if ((uintptr_t)block % LEAST) return 0;
  pthread_mutex_lock(&lock);
  size_t i = find(block), size = is_block(i, block) ? runs[i].size : 0;
  pthread_mutex_unlock(&lock);
  return size;
}

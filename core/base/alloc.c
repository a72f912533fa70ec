#include "base/alloc.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/accounts.h"
#include "base/bounds.h"

/* ---- memory of the C library, counted ---- */

static bool fits(size_t before, size_t size) {
  uint64_t most = llmprof_bound_get(LLMPROF_BOUND_BYTES);
  if (!most) return true;
  size_t all = llmprof_account_in_use(),
         others = all > before ? all - before : 0;
  bool ok = size <= before || others + size <= most;
  if (!ok) llmprof_bound_note_refused(true);
  return ok;
}

static void *counted_realloc(void *ptr, size_t size) {
  size_t before = malloc_usable_size(ptr);
  if (!fits(before, size)) return NULL;
  void *block = realloc(ptr, size);
  if (block)
    llmprof_account_count(malloc_usable_size(block) - before);
  else
    llmprof_bound_note_refused(false);
  return block;
}

static void counted_free(void *ptr) {
  llmprof_account_count(-malloc_usable_size(ptr));
  free(ptr);
}

/* ---- the allocator ---- */

static llmprof_allocator current = {counted_realloc, counted_free};

void llmprof_set_allocator(const llmprof_allocator *allocator) {
  current = allocator ? *allocator
                      : (llmprof_allocator){counted_realloc, counted_free};
}

enum {
  LARGE = 1 << 20 /* blocks that count as memory asked for */
};

static _Atomic size_t asked;

bool llmprof_alloc_asked(size_t bytes) {
  if (atomic_load_explicit(&asked, memory_order_relaxed) < bytes) return false;
  atomic_store_explicit(&asked, 0, memory_order_relaxed);
  return true;
}

void *llmprof_resize(void *ptr, size_t count, size_t size) {
  if (size && count > SIZE_MAX / size) return NULL;
  size_t bytes = count * size;
  void *block = current.reallocate(ptr, bytes ? bytes : 1);
  if (bytes < LARGE || !block) return block;
  atomic_fetch_add_explicit(&asked, bytes, memory_order_relaxed);
  return block;
}

void *llmprof_alloc(size_t count, size_t size) {
  return llmprof_resize(NULL, count, size);
}

void *llmprof_zalloc(size_t count, size_t size) {
  void *ptr = llmprof_alloc(count, size);
  if (ptr) memset(ptr, 0, count * size);
  return ptr;
}

void llmprof_free(void *ptr) {
  if (ptr) current.release(ptr);
}

void *llmprof_memdup(const void *bytes, size_t size) {
  if (size == SIZE_MAX) return NULL;
  char *copy = llmprof_alloc(size + 1, 1);
  if (!copy) return NULL;
  if (size) memcpy(copy, bytes, size);
  copy[size] = '\0';
  return copy;
}

char *llmprof_strdup(const char *text) {
  return llmprof_memdup(text, strlen(text));
}

bool llmprof_grow(void *items, size_t *cap, size_t need, size_t size) {
  if (need <= *cap) return true;
  size_t wanted = *cap + *cap / 2;
  if (wanted < need) wanted = need;
  if (wanted < 16) wanted = 16;
  void *old;
  memcpy(&old, items, sizeof old);
  void *grown = llmprof_resize(old, wanted, size);
  if (!grown) return false;
  memcpy(items, &grown, sizeof grown);
  *cap = wanted;
  return true;
}

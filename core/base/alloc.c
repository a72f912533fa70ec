#include "llmprof/alloc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static llmprof_allocator current = {realloc, free};

void llmprof_set_allocator(const llmprof_allocator *allocator) {
  current = allocator ? *allocator : (llmprof_allocator){realloc, free};
}

void *llmprof_resize(void *ptr, size_t count, size_t size) {
  if (size && count > SIZE_MAX / size) return NULL;
  size_t bytes = count * size;
  return current.reallocate(ptr, bytes ? bytes : 1);
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

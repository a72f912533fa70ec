#include "collector/memory.h"

#include <stdatomic.h>
#include <sys/mman.h>

static atomic_size_t limit = (size_t)256 << 20;
static atomic_size_t taken;

void memory_limit(size_t bytes) {
  atomic_store(&limit, bytes);
}

void *memory_take(size_t size) {
  if (atomic_fetch_add(&taken, size) + size > atomic_load(&limit)) {
    atomic_fetch_sub(&taken, size);
    return NULL;
  }
  void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) return memory;
  atomic_fetch_sub(&taken, size);
  return NULL;
}

void memory_give(void *memory, size_t size) {
  if (!memory) return;
  munmap(memory, size);
  atomic_fetch_sub(&taken, size);
}

void memory_forget(void) {
  atomic_store(&taken, 0);
}

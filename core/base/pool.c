#include "base/pool.h"

#include <string.h>

#include "llmprof/alloc.h"

enum {
  SLAB = 64 * 1024,
  HEAD = 16 /* of a slab: the link, and as blocks are to be aligned */
};

static size_t class_of(size_t size) {
  return (size - 1) / LLMPROF_POOL_STEP;
}

/* A block begins with the link while nobody has it. */
static void keep(void **list, void *block) {
  memcpy(block, list, sizeof *list);
  *list = block;
}

static void *take(void **list) {
  void *block = *list;
  if (block) memcpy(list, block, sizeof *list);
  return block;
}

/* What is left of the slab before goes into the lists. */
static void keep_rest(llmprof_pool *pool) {
  if (pool->left) keep(&pool->free[class_of(pool->left)], pool->rest);
}

static bool add_slab(llmprof_pool *pool) {
  char *slab = llmprof_alloc(SLAB, 1);
  if (!slab) return false;
  keep_rest(pool);
  keep(&pool->slabs, slab);
  pool->rest = slab + HEAD;
  pool->left = SLAB - HEAD;
  return true;
}

static void *take_small(llmprof_pool *pool, size_t size) {
  size_t number = class_of(size);
  void *block = take(&pool->free[number]);
  if (block) return block;
  size_t bytes = (number + 1) * LLMPROF_POOL_STEP;
  if (pool->left < bytes && !add_slab(pool)) return NULL;
  block = pool->rest;
  pool->rest += bytes;
  pool->left -= bytes;
  return block;
}

static void *make(llmprof_pool *pool, size_t size) {
  return size <= LLMPROF_POOL_MOST ? take_small(pool, size)
                                   : llmprof_alloc(size, 1);
}

static void release(llmprof_pool *pool, void *block, size_t size) {
  if (size > LLMPROF_POOL_MOST)
    llmprof_free(block);
  else if (!pool->ends)
    keep(&pool->free[class_of(size)], block);
}

void *llmprof_pool_resize(llmprof_pool *pool, void *block, size_t old,
                          size_t size) {
  bool was_small = old <= LLMPROF_POOL_MOST, small = size <= LLMPROF_POOL_MOST;
  if (!old) return size ? make(pool, size) : NULL;
  if (!size) {
    release(pool, block, old);
    return NULL;
  }
  if (was_small && small && class_of(old) == class_of(size)) return block;
  if (!was_small && !small) return llmprof_resize(block, size, 1);
  void *made = make(pool, size);
  if (!made) return size < old ? block : NULL;
  memcpy(made, block, old < size ? old : size);
  release(pool, block, old);
  return made;
}

void llmprof_pool_free(llmprof_pool *pool) {
  void *slab;
  while ((slab = take(&pool->slabs))) llmprof_free(slab);
  *pool = (llmprof_pool){0};
}

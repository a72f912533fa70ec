/* Small blocks that come and go by the million, as those of an interpreter:
 * cut off large ones, and kept by size when they are given back. Private to the
 * core; for one thread at a time. */
#ifndef LLMPROF_POOL_H
#define LLMPROF_POOL_H

#include <stdbool.h>
#include <stddef.h>

enum {
  LLMPROF_POOL_STEP = 16,  /* sizes are rounded up to a multiple of it */
  LLMPROF_POOL_MOST = 512, /* larger blocks are llmprof_alloc's own */
  LLMPROF_POOL_SIZES = LLMPROF_POOL_MOST / LLMPROF_POOL_STEP
};

/* Zero at first. */
typedef struct llmprof_pool {
  void *free[LLMPROF_POOL_SIZES]; /* by size, blocks that link to the next */
  char *rest;                     /* what is not cut off yet, */
  size_t left;                    /* and bytes of it */
  void *slabs;                    /* all of them, each links to the next */
  bool ends; /* the owner's: small blocks that are given back are not touched,
                since llmprof_pool_free is next */
} llmprof_pool;

/* As realloc, of a block whose size is known: 0 for none, and 0 gives it back.
 * NULL when out of memory, never where a small block is wanted for a larger
 * one: that may stay what it is, until the end. */
void *llmprof_pool_resize(llmprof_pool *pool, void *block, size_t old,
                          size_t size);

/* Give back all small blocks; larger ones are the caller's to free. */
void llmprof_pool_free(llmprof_pool *pool);

#endif

/* Emptying the L2 cache of the current context's GPU before a measurement. */
#ifndef LLMPROF_COLLECTOR_CACHE_FLUSH_H
#define LLMPROF_COLLECTOR_CACHE_FLUSH_H

#include <stdbool.h>

#include "collector/cupti_api.h"

typedef struct cache_flush {
  CUdeviceptr scratch; /* 0: there is none, and nothing is emptied */
  size_t size;
  CUmodule module;   /* NULL: it cannot be read */
  CUfunction reader; /* of it */
} cache_flush;

/* What a flush takes; it may fail, and then cache_flush_run does. */
void cache_flush_open(cache_flush *e);
void cache_flush_close(cache_flush *e);

/* Waits until nothing is left in the cache of what was there. */
bool cache_flush_run(const cache_flush *e);

#endif

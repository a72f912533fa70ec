/* Emptying the L2 cache of the current context's GPU before a measurement. */
#ifndef LLMPROF_COLLECTOR_EMPTYING_H
#define LLMPROF_COLLECTOR_EMPTYING_H

#include <stdbool.h>

#include "collector/cupti_api.h"

typedef struct emptying {
  CUdeviceptr scratch; /* 0: there is none, and nothing is emptied */
  size_t size;
  CUmodule module;   /* NULL: it cannot be read */
  CUfunction reader; /* of it */
} emptying;

/* What emptying takes; it may fail, and then emptying_do does. */
void emptying_open(emptying *e);
void emptying_close(emptying *e);

/* Waits until nothing is left in the cache of what was there. */
bool emptying_do(const emptying *e);

#endif

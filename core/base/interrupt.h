/* For loops that llmprof_interrupt() ends. */
#ifndef LLMPROF_INTERRUPT_H
#define LLMPROF_INTERRUPT_H

#include <stdbool.h>
#include <stddef.h>

#include "llmprof/error.h"

/* Fail with INTERRUPTED. */
bool llmprof_fail_interrupted(llmprof_error *err);

/* For loops: asked every 65536 rows, so that asking costs nothing. */
static inline bool llmprof_interrupted_at(size_t row) {
  return (row & 0xffff) == 0 && llmprof_interrupted();
}

#endif

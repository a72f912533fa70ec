/* Asking what loops over millions of rows to give up: it then fails with
 * INTERRUPTED. One request for the whole process, which stands until it is
 * taken back. */
#ifndef LLMPROF_INTERRUPT_H
#define LLMPROF_INTERRUPT_H

#include <stdbool.h>
#include <stddef.h>

#include "llmprof/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Make the request or take it back; may be called from a signal handler. */
void llmprof_interrupt(bool wanted);
bool llmprof_interrupted(void);

/* How often the second was asked, by anybody: tests see by it that a loop asks
 * often enough. */
size_t llmprof_interrupt_looks(void);

/* Fail with INTERRUPTED. */
bool llmprof_fail_interrupted(llmprof_error *err);

/* For loops: asked every 65536 rows, so that asking costs nothing. */
static inline bool llmprof_interrupted_at(size_t row) {
  return (row & 0xffff) == 0 && llmprof_interrupted();
}

#ifdef __cplusplus
}
#endif

#endif

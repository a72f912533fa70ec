#include "base/interrupt.h"

#include <stdatomic.h>

static atomic_bool requested; /* lock-free: safe in a signal handler */

void llmprof_interrupt(bool wanted) {
  atomic_store(&requested, wanted);
}

bool llmprof_interrupted(void) {
  return atomic_load_explicit(&requested, memory_order_relaxed);
}

bool llmprof_fail_interrupted(llmprof_error *err) {
  return llmprof_fail(err, LLMPROF_INTERRUPTED, "interrupted");
}

#include "base/interrupt.h"

#include <stdatomic.h>

static atomic_bool requested; /* lock-free: safe in a signal handler */

void llmprof_interrupt(bool wanted) {
  atomic_store(&requested, wanted);
}

static atomic_size_t looks;

size_t llmprof_interrupt_looks(void) {
  return atomic_load_explicit(&looks, memory_order_relaxed);
}

bool llmprof_interrupted(void) {
  atomic_fetch_add_explicit(&looks, 1, memory_order_relaxed);
  return atomic_load_explicit(&requested, memory_order_relaxed);
}

bool llmprof_fail_interrupted(llmprof_error *err) {
  return llmprof_fail(err, LLMPROF_INTERRUPTED, "interrupted");
}

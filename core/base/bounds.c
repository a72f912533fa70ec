#include "base/bounds.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <time.h>

#include "base/interrupt.h"

enum {
  UNITS = 1 << 16 /* between two looks at the clock */
};

static const struct {
  const char *key, *what;
} names[] = {
    [LLMPROF_BOUND_ROWS] = {"limits.rows", "rows"},
    [LLMPROF_BOUND_BYTES] = {"limits.bytes", "bytes of memory"},
    [LLMPROF_BOUND_RATIO] = {"limits.ratio", "times as much as was read"},
    [LLMPROF_BOUND_SECONDS] = {"limits.seconds", "seconds"},
    [LLMPROF_BOUND_THREADS] = {"limits.threads", "threads"},
};

static _Atomic uint64_t bounds[LLMPROF_BOUNDS] = {
    [LLMPROF_BOUND_ROWS] = 1000000000,
    [LLMPROF_BOUND_RATIO] = 200,
    [LLMPROF_BOUND_SECONDS] = 600,
};

const char *llmprof_bound_key(llmprof_bound bound) {
  return bound < LLMPROF_BOUNDS ? names[bound].key : NULL;
}

uint64_t llmprof_bound_get(llmprof_bound bound) {
  return atomic_load_explicit(&bounds[bound], memory_order_relaxed);
}

void llmprof_bound_set(llmprof_bound bound, uint64_t value) {
  atomic_store_explicit(&bounds[bound], value, memory_order_relaxed);
}

bool llmprof_fail_bound(llmprof_error *err, const char *name,
                        llmprof_bound bound) {
  return llmprof_fail(err, LLMPROF_LIMIT, "%s: more than %" PRIu64 " %s (%s)",
                      name, llmprof_bound_get(bound), names[bound].what,
                      names[bound].key);
}

static _Atomic bool refused; /* by us was the last allocation that failed */

void llmprof_bound_note_refused(bool by_us) {
  atomic_store_explicit(&refused, by_us, memory_order_relaxed);
}

/* Some give up for want of memory when an interrupt has been asked for. */
bool llmprof_fail_nomem(llmprof_error *err) {
  if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
  if (!atomic_load_explicit(&refused, memory_order_relaxed))
    return llmprof_fail(err, LLMPROF_NOMEM, "out of memory");
  return llmprof_fail(err, LLMPROF_NOMEM,
                      "out of memory: more than %" PRIu64 " bytes (%s)",
                      llmprof_bound_get(LLMPROF_BOUND_BYTES),
                      llmprof_bound_key(LLMPROF_BOUND_BYTES));
}

/* ---- while something loops ---- */

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

bool llmprof_watch_look(llmprof_watch *watch, const char *name,
                        llmprof_error *err) {
  uint64_t seconds = llmprof_bound_get(LLMPROF_BOUND_SECONDS);
  watch->work = 0;
  if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
  if (!watch->started) watch->started = now();
  if (seconds && (uint64_t)(now() - watch->started) / 1000000000 >= seconds)
    return llmprof_fail_bound(err, name, LLMPROF_BOUND_SECONDS);
  return true;
}

bool llmprof_watch_go_on(llmprof_watch *watch, size_t units, const char *name,
                         llmprof_error *err) {
  watch->work += units;
  return watch->started && watch->work < UNITS
             ? true
             : llmprof_watch_look(watch, name, err);
}

#include "collector/graphs.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "collector/chosen.h"

enum {
  GRAPHS = 4096, /* powers of two */
  NAMES = 512,
  TRIES = 16,
  WAITS = 1, /* in a slot, beside the graph's number */
};

/* number * 2 + WAITS; 0: empty. Graphs beyond the slots are as if never seen.
 */
static atomic_uint_fast64_t graphs[GRAPHS];
static atomic_bool any_waits;

/* The writer's: names that it has looked at. */
static struct {
  const char *name;
  bool waits;
} names[NAMES];

static bool waits(const char *kernel) {
  size_t at = (uintptr_t)kernel >> 4 & (NAMES - 1);
  if (names[at].name != kernel) {
    names[at].name = kernel;
    names[at].waits = chosen_is_communication(kernel);
  }
  return names[at].waits;
}

/* Its slot, or an empty one; NULL: there is none. */
static atomic_uint_fast64_t *slot_of(uint32_t graph) {
  for (size_t i = 0; i < TRIES; i++) {
    atomic_uint_fast64_t *slot = &graphs[(graph + i) & (GRAPHS - 1)];
    uint64_t there = atomic_load_explicit(slot, memory_order_relaxed);
    if (there == 0 || there >> 1 == graph) return slot;
  }
  return NULL;
}

void graphs_saw(uint32_t graph, const char *kernel) {
  atomic_uint_fast64_t *slot = graph ? slot_of(graph) : NULL;
  uint64_t value = (uint64_t)graph << 1 | (waits(kernel) ? WAITS : 0);
  if (value & WAITS) atomic_store(&any_waits, true);
  if (slot) atomic_fetch_or_explicit(slot, value, memory_order_relaxed);
}

bool graphs_may_wait(uint32_t graph) {
  atomic_uint_fast64_t *slot = slot_of(graph);
  uint64_t there = slot ? atomic_load(slot) : 0;
  return there ? there & WAITS : atomic_load(&any_waits);
}

void graphs_forget(void) {
  for (size_t i = 0; i < GRAPHS; i++) atomic_store(&graphs[i], 0);
  atomic_store(&any_waits, false);
  memset(names, 0, sizeof names);
}

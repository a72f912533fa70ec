#include "collector/native.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <stdatomic.h>
#include <stdio.h>

enum {
  DEPTH = 64, /* frames that are recorded, the innermost */
  SLOTS = 1 << 14,
  STACK_BITS = 18, /* of a number of a stack */
};

/* In place of a frame's file; its function is an address. */
static const char is_native[] = "";

/* Stacks that were met, by a hash of their addresses: its upper bits above
 * their numbers. */
static _Atomic uint64_t met[SLOTS];
static atomic_bool ready;

bool native_begin(void) {
  void *at[1];
  if (atomic_load(&ready)) return true;
  if (!stacks_begin()) return false;
  (void)backtrace(at, 1); /* the first one loads libgcc_s */
  atomic_store(&ready, true);
  return true;
}

static uint64_t hash_of(void *const *at, int count) {
  uint64_t hash = (uint64_t)count;
  for (int i = 0; i < count; i++) {
    hash = (hash ^ (uintptr_t)at[i]) * UINT64_C(0x9e3779b97f4a7c15);
    hash ^= hash >> 29;
  }
  return hash;
}

/* Return addresses lie behind the calls: the byte before one is in the call. */
static uint32_t number_of(void *const *at, int count) {
  uint32_t stack = 0;
  stacks_lock();
  for (int i = count; i-- > 0;) {
    const stacks_frame frame = {.file = is_native,
                                .function = (const char *)at[i] - 1};
    uint32_t number = stacks_of_frame(&frame);
    stack = number ? stacks_of_node(stack, number) : 0;
    if (!stack) break;
  }
  stacks_unlock();
  return stack;
}

uint32_t native_walk(void) {
  const uint64_t low = (UINT64_C(1) << STACK_BITS) - 1;
  void *at[DEPTH];
  if (!atomic_load_explicit(&ready, memory_order_acquire)) return 0;
  int count = backtrace(at, DEPTH);
  uint64_t hash = hash_of(at, count);
  _Atomic uint64_t *slot = &met[hash >> STACK_BITS & (SLOTS - 1)];
  uint64_t there = atomic_load_explicit(slot, memory_order_relaxed);
  if (there && (there & ~low) == (hash & ~low)) return (uint32_t)(there & low);
  uint32_t stack = number_of(at, count);
  if (stack)
    atomic_store_explicit(slot, (hash & ~low) | stack, memory_order_relaxed);
  return stack;
}

bool native_is(const stacks_frame *frame) {
  return frame->file == is_native;
}

bool native_names(const stacks_frame *frame, char *text, size_t size,
                  const char **file, const char **function) {
  Dl_info info;
  if (!dladdr(frame->function, &info) || !info.dli_fname) return false;
  *file = info.dli_fname;
  *function = info.dli_sname;
  if (info.dli_sname) return true;
  snprintf(text, size, "+0x%zx",
           (size_t)((uintptr_t)frame->function - (uintptr_t)info.dli_fbase));
  *function = text;
  return true;
}

void native_forget(void) {
  atomic_store(&ready, false);
  for (size_t i = 0; i < SLOTS; i++) atomic_store(&met[i], 0);
}

/* The walk over Python's frames as a library that Python loads with ctypes:
 * test_python.py compares it with what the interpreter tells. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "collector/python.h"
#include "collector/stacks.h"

#define EXPORT __attribute__((visibility("default")))

int EXPORT walk_begin(void);
const char EXPORT *walk_why(void);
uint32_t EXPORT walk(void);
uint32_t EXPORT walk_inner(uint32_t stack, char *out, size_t size);
double EXPORT walk_ns(unsigned times);

int walk_begin(void) {
  return (int)python_begin();
}

const char *walk_why(void) {
  return python_why();
}

uint32_t walk(void) {
  return python_walk();
}

/* "FILE\nLINE\nFUNCTION\nROOT\nPATH" of the innermost frame; the stack around
 * it, 0: none. */
uint32_t walk_inner(uint32_t stack, char *out, size_t size) {
  stacks_lock();
  const stacks_node *node = stacks_get_node(stack);
  const stacks_frame *frame = node ? stacks_get_frame(node->frame) : NULL;
  const stacks_module *module =
      frame && frame->module ? stacks_get_module(frame->module) : NULL;
  uint32_t parent = node ? node->parent : 0;
  out[0] = 0;
  if (frame)
    snprintf(out, size, "%s\n%u\n%s\n%s\n%s", frame->file, frame->line,
             frame->function, module && module->root ? module->root : "",
             module && module->path ? module->path : "");
  stacks_unlock();
  return parent;
}

/* Of one walk, on the average. */
double walk_ns(unsigned times) {
  struct timespec from, to;
  clock_gettime(CLOCK_MONOTONIC, &from);
  for (unsigned i = 0; i < times; i++) (void)python_walk();
  clock_gettime(CLOCK_MONOTONIC, &to);
  return ((double)(to.tv_sec - from.tv_sec) * 1e9 +
          (double)(to.tv_nsec - from.tv_nsec)) /
         times;
}

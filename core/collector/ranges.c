#include "collector/ranges.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum {
  DEPTH = 64 /* deeper ranges are counted, not named */
};

typedef struct open_range {
  uint32_t domain;
  plan_range range;
} open_range;

/* Ranges of all domains in the order in which they began. */
static _Thread_local open_range stack[DEPTH];
static _Thread_local int depth;
static _Thread_local unsigned mine;
static atomic_uint generation;

/* What is open of before the last ranges_reset is not. */
static void look(void) {
  unsigned now = atomic_load_explicit(&generation, memory_order_relaxed);
  if (mine == now) return;
  mine = now;
  depth = 0;
}

void ranges_reset(void) {
  atomic_fetch_add(&generation, 1);
}

static void copy_cut(char *to, const char *from, size_t size) {
  if (size >= PLAN_NAME) size = PLAN_NAME - 1;
  memcpy(to, from, size);
  to[size] = 0;
}

static int stored(void) {
  return depth < DEPTH ? depth : DEPTH;
}

/* Of those that are stored. */
static int level_of(uint32_t domain) {
  int level = 0;
  for (int i = 0; i < stored(); i++) level += stack[i].domain == domain;
  return level;
}

int ranges_push(uint32_t domain, const char *domain_name, const char *text,
                size_t size) {
  look();
  int level = level_of(domain);
  if (depth < DEPTH) {
    open_range *open = &stack[depth];
    open->domain = domain;
    copy_cut(open->range.domain, domain_name, strlen(domain_name));
    copy_cut(open->range.name, text, size);
  }
  depth++;
  return level;
}

int ranges_pop(uint32_t domain, plan_range *what) {
  look();
  if (depth > DEPTH) {
    depth--;
    if (what) *what = (plan_range){"", ""};
    return DEPTH;
  }
  int at = depth - 1;
  while (at >= 0 && stack[at].domain != domain) at--;
  if (at < 0) return -1;
  if (what) *what = stack[at].range;
  memmove(&stack[at], &stack[at + 1], (size_t)(depth - at - 1) * sizeof *stack);
  depth--;
  return level_of(domain);
}

bool ranges_inside(const plan_range *range) {
  look();
  for (int i = stored() - 1; i >= 0; i--)
    if (strcmp(stack[i].range.name, range->name) == 0 &&
        strcmp(stack[i].range.domain, range->domain) == 0)
      return true;
  return false;
}

char *ranges_path(char *buffer, size_t size) {
  look();
  size_t used = 0;
  buffer[0] = 0;
  for (int i = 0; i < stored() && used < size; i++) {
    int n = snprintf(buffer + used, size - used, "%s%s", i ? "/" : "",
                     stack[i].range.name);
    if (n > 0) used += (size_t)n;
  }
  return buffer;
}

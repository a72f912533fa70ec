#include "collector/stacks.h"

#include <pthread.h>
#include <string.h>

#include "collector/memory.h"

enum {
  TEXTS = 1 << 16, /* all of these are powers of two */
  TEXT_BYTES = 8 << 20,
  FRAMES = 1 << 16,
  NODES = 1 << 17,
  MODULES = STACKS_MODULES,
};

/* Each has twice as many slots as things: numbers, 0 is empty. */
typedef struct tables {
  struct {
    uint32_t at, size;
  } texts[TEXTS];
  char bytes[TEXT_BYTES];
  stacks_frame frames[FRAMES];
  stacks_node nodes[NODES];
  stacks_module modules[MODULES];
  uint32_t text_slots[2 * TEXTS], frame_slots[2 * FRAMES],
      node_slots[2 * NODES], module_slots[2 * MODULES];
  uint32_t text_count, byte_count, frame_count, node_count, module_count;
  uint32_t namings; /* of modules */
  bool full;
} tables;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static tables *all;

bool stacks_begin(void) {
  pthread_mutex_lock(&lock);
  if (!all) all = memory_take(sizeof *all); /* pages come when touched */
  bool there = all != NULL;
  pthread_mutex_unlock(&lock);
  return there;
}

void stacks_lock(void) {
  pthread_mutex_lock(&lock);
}

void stacks_unlock(void) {
  pthread_mutex_unlock(&lock);
}

bool stacks_full(void) {
  return all && all->full;
}

static uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
  return hash ^ hash >> 32;
}

/* A new number, or 0. */
static uint32_t next_number(uint32_t *count, uint32_t most) {
  if (*count < most) return ++*count;
  all->full = true;
  return 0;
}

const char *stacks_text(const char *bytes, size_t size) {
  uint64_t hash = size;
  for (size_t i = 0; i < size; i++) hash = mix(hash, (unsigned char)bytes[i]);
  size_t slot = hash & (2 * TEXTS - 1);
  for (uint32_t n; (n = all->text_slots[slot]) != 0;
       slot = (slot + 1) & (2 * TEXTS - 1))
    if (all->texts[n - 1].size == size &&
        memcmp(all->bytes + all->texts[n - 1].at, bytes, size) == 0)
      return all->bytes + all->texts[n - 1].at;
  if (size >= TEXT_BYTES - all->byte_count) {
    all->full = true;
    return NULL;
  }
  uint32_t n = next_number(&all->text_count, TEXTS);
  if (!n) return NULL;
  char *to = all->bytes + all->byte_count; /* its NUL is there */
  memcpy(to, bytes, size);
  all->texts[n - 1].at = all->byte_count;
  all->texts[n - 1].size = (uint32_t)size;
  all->byte_count += (uint32_t)size + 1;
  all->text_slots[slot] = n;
  return to;
}

uint32_t stacks_of_frame(const stacks_frame *f) {
  uint64_t hash = mix(
      mix(mix(f->module, (uintptr_t)f->file), (uintptr_t)f->function), f->line);
  size_t slot = hash & (2 * FRAMES - 1);
  for (uint32_t n; (n = all->frame_slots[slot]) != 0;
       slot = (slot + 1) & (2 * FRAMES - 1)) {
    const stacks_frame *there = &all->frames[n - 1];
    if (there->file == f->file && there->function == f->function &&
        there->line == f->line && there->module == f->module)
      return n;
  }
  uint32_t n = next_number(&all->frame_count, FRAMES);
  if (!n) return 0;
  all->frames[n - 1] = *f;
  all->frame_slots[slot] = n;
  return n;
}

uint32_t stacks_of_node(uint32_t parent, uint32_t frame) {
  size_t slot = mix(mix(1, parent), frame) & (2 * NODES - 1);
  for (uint32_t n; (n = all->node_slots[slot]) != 0;
       slot = (slot + 1) & (2 * NODES - 1))
    if (all->nodes[n - 1].parent == parent && all->nodes[n - 1].frame == frame)
      return n;
  uint32_t n = next_number(&all->node_count, NODES);
  if (!n) return 0;
  all->nodes[n - 1] = (stacks_node){parent, frame};
  all->node_slots[slot] = n;
  return n;
}

/* Its slot, or an empty one. A slot of one that has died stays taken. */
static uint32_t *slot_of(uintptr_t self) {
  size_t slot = mix(1, self >> 4) & (2 * MODULES - 1);
  for (uint32_t n; (n = all->module_slots[slot]) != 0;
       slot = (slot + 1) & (2 * MODULES - 1))
    if (all->modules[n - 1].self == self) break;
  return &all->module_slots[slot];
}

uint32_t stacks_of_module(uintptr_t self, bool *fresh) {
  uint32_t *slot = slot_of(self);
  *fresh = !*slot;
  if (*slot) return *slot;
  uint32_t n = next_number(&all->module_count, MODULES);
  if (!n) return 0;
  all->modules[n - 1] = (stacks_module){.self = self};
  *slot = n;
  return n;
}

uint32_t stacks_find_module(uintptr_t self) {
  return *slot_of(self);
}

const stacks_frame *stacks_get_frame(uint32_t number) {
  return all && number - 1 < all->frame_count ? &all->frames[number - 1] : NULL;
}

const stacks_node *stacks_get_node(uint32_t number) {
  return all && number - 1 < all->node_count ? &all->nodes[number - 1] : NULL;
}

stacks_module *stacks_get_module(uint32_t number) {
  return all && number - 1 < all->module_count ? &all->modules[number - 1]
                                               : NULL;
}

void stacks_name_module(uint32_t number, const char *path, const char *root) {
  stacks_module *m = stacks_get_module(number);
  m->path = path;
  m->root = root;
  all->namings++;
}

uint32_t stacks_namings(void) {
  return all ? all->namings : 0;
}

/* The parent's memory stays with the child, unused. */
void stacks_forget(void) {
  pthread_mutex_init(&lock, NULL);
  all = NULL;
}

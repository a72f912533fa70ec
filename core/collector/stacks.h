/* Lines of source, stacks of them and torch modules, numbered from 1 as threads
 * of the program meet them. Bounded; nothing is taken out, so that a recording
 * may refer to it until its end. */
#ifndef LLMPROF_COLLECTOR_STACKS_H
#define LLMPROF_COLLECTOR_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  STACKS_MODULES = 1 << 14 /* the most */
};

typedef struct stacks_frame {
  const char *file, *function; /* of stacks_text */
  uint32_t line;
  uint32_t module; /* number, 0: none */
} stacks_frame;

typedef struct stacks_node {
  uint32_t parent, frame; /* numbers; parent 0: outermost */
} stacks_node;

typedef struct stacks_module {
  uintptr_t self;          /* 0: it has died */
  void *watch;             /* who tells when it does */
  const char *path, *root; /* as in the spool; root NULL: not known */
} stacks_module;

/* False: no memory. */
bool stacks_begin(void);

/* All that follows is with this lock, which any thread may take, in callbacks
 * too: nothing that waits may be called under it. */
void stacks_lock(void);
void stacks_unlock(void);

/* Text that stays; NULL: there is no room. */
const char *stacks_text(const char *bytes, size_t size);

/* Numbers, new ones for what is new; 0: there is no room. */
uint32_t stacks_of_frame(const stacks_frame *frame);
uint32_t stacks_of_node(uint32_t parent, uint32_t frame);
uint32_t stacks_of_module(uintptr_t self, bool *fresh);

/* That of a module that was met; 0: it was not. */
uint32_t stacks_find_module(uintptr_t self);

/* NULL: there is none of that number. */
const stacks_frame *stacks_get_frame(uint32_t number);
const stacks_node *stacks_get_node(uint32_t number);
stacks_module *stacks_get_module(uint32_t number);

/* Another number than before: some have been named since. */
void stacks_name_module(uint32_t number, const char *path, const char *root);
uint32_t stacks_namings(void);

/* Was there once no room? */
bool stacks_full(void);

/* In the child of a fork. */
void stacks_forget(void);

#endif

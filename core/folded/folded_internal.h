/* How a frame of a collapsed stack is spelled. */
#ifndef LLMPROF_FOLDED_INTERNAL_H
#define LLMPROF_FOLDED_INTERNAL_H

#include <stddef.h>

/* A function and its module within a frame's text; the module may be empty. */
typedef struct folded_name {
  const char *function, *module;
  size_t function_size, module_size;
  int nameless; /* only an address: the module stands for it */
} folded_name;

/* "spin (work.py:12)" is spin of work.py, wherever in it; "0x7f50 (libc.so.6)"
 * has no name; of "process 12:\"python train.py\"" the command is left out, and
 * of absolute paths what comes before the file's name. */
folded_name folded_name_read(const char *text, size_t size);

#endif

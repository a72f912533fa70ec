/* The functions of C and C++ that the calling thread is in, by the C library's
 * unwinder (.eh_frame), for `sources = native`. */
#ifndef LLMPROF_COLLECTOR_NATIVE_H
#define LLMPROF_COLLECTOR_NATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/stacks.h"

/* Makes the unwinder ready, which may load a library. False: no memory. Any
 * thread, again and again. */
bool native_begin(void);

/* The number in `stacks` of the calling thread's stack; 0: there is no room. */
uint32_t native_walk(void);

/* In the child of a fork. */
void native_forget(void);

/* ---- for the writer ---- */

/* Is it a frame of native_walk, which has an address in place of texts? */
bool native_is(const stacks_frame *frame);

/* The file, and the function by its symbol; without one as "+0x123", bytes from
 * where the file is mapped, written to `text`. False: the file has been
 * unloaded. Names are borrowed: from the loaded file and from `text`. */
bool native_names(const stacks_frame *frame, char *text, size_t size,
                  const char **file, const char **function);

#endif

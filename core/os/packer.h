/* Packing to gzip on several threads: the input is cut into blocks of one size,
 * each packed on its own with the end of the one before as its dictionary, so
 * that the bytes are the same for any number of threads. Private to the core.
 */
#ifndef LLMPROF_PACKER_H
#define LLMPROF_PACKER_H

#include <stdbool.h>
#include <stddef.h>

#include "llmprof/error.h"

typedef struct llmprof_packer llmprof_packer;

/* Takes packed bytes, in order, on the thread that writes; false with err
 * filled stops the packing. */
typedef bool (*llmprof_packer_take)(void *user, const void *bytes, size_t size,
                                    llmprof_error *err);

/* NULL when out of memory. level: 1 (fast) to 9. threads: beside the caller's;
 * 0 packs there. Those that cannot be started are done without. */
llmprof_packer *llmprof_packer_new(int level, size_t threads,
                                   llmprof_packer_take take, void *user);

/* Pack more, or, at the end, what is held back. */
bool llmprof_packer_write(llmprof_packer *packer, const void *bytes,
                          size_t size, llmprof_error *err);
bool llmprof_packer_finish(llmprof_packer *packer, llmprof_error *err);

/* Ends the threads. NULL is fine. */
void llmprof_packer_free(llmprof_packer *packer);

#endif

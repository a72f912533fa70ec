/* A fast packer into the format of RFC 1951, for text made of repeats: events
 * that look like the ones before. Private to the core. */
#ifndef LLMPROF_DEFLATE_H
#define LLMPROF_DEFLATE_H

#include <stddef.h>

typedef struct llmprof_deflate llmprof_deflate;

/* NULL when out of memory. For one thread at a time. */
llmprof_deflate *llmprof_deflate_new(void);
void llmprof_deflate_free(llmprof_deflate *deflate);

/* Room that `size` bytes need, packed. */
size_t llmprof_deflate_bound(size_t size);

/* Packs bytes and returns how many there are then; the same on every machine.
 * They end at a full byte without ending the stream: pieces go one after the
 * other, and behind the last one the two bytes 3 and 0. */
size_t llmprof_deflate_pack(llmprof_deflate *deflate, const void *bytes,
                            size_t size, void *packed);

#endif

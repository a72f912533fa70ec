/* What reading and writing gzip share. Private to the core. */
#ifndef LLMPROF_PACKING_H
#define LLMPROF_PACKING_H

#include <zlib.h>

#include "base/buffer.h"
#include "llmprof/alloc.h"

/* zlib's windowBits for the largest window and the gzip format. */
enum {
  LLMPROF_GZIP_WINDOW = 15 + 16
};

static inline void *llmprof_packing_alloc(void *user, unsigned count,
                                          unsigned size) {
  (void)user;
  return llmprof_alloc(count, size);
}

static inline void llmprof_packing_free(void *user, void *memory) {
  (void)user;
  llmprof_free(memory);
}

/* Let zlib take its memory from llmprof's allocator. */
static inline void llmprof_packing_hooks(z_stream *stream) {
  stream->zalloc = llmprof_packing_alloc;
  stream->zfree = llmprof_packing_free;
}

/* Appends what `z` makes of the bytes, up to the given flush; out->failed says
 * whether there was memory. */
void llmprof_pack(z_stream *z, llmprof_buffer *out, const void *bytes,
                  size_t size, int flush);

#endif

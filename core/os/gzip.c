#include "os/gzip.h"

#include <limits.h>

#include "os/packing.h"

enum {
  LEVEL = 9, /* of what is packed once, in memory, and carried along */
  MEMORY_LEVEL = 8,
  ROOM = 64 * 1024,
};

/* zlib takes no more than an unsigned at once. */
static void give(z_stream *z, const unsigned char **bytes, size_t *left) {
  if (z->avail_in) return;
  size_t part = *left < UINT_MAX ? *left : UINT_MAX;
  z->next_in = (unsigned char *)*bytes;
  z->avail_in = (uInt)part;
  *bytes += part;
  *left -= part;
}

void llmprof_pack(z_stream *z, llmprof_buffer *out, const void *bytes,
                  size_t size, int flush) {
  const unsigned char *at = bytes;
  unsigned char room[ROOM];
  do {
    give(z, &at, &size);
    z->next_out = room;
    z->avail_out = sizeof room;
    deflate(z, size ? Z_NO_FLUSH : flush);
    llmprof_buffer_add(out, room, sizeof room - z->avail_out);
  } while ((size || !z->avail_out) && !out->failed);
}

bool llmprof_gzip(llmprof_buffer *out, const void *bytes, size_t size,
                  llmprof_error *err) {
  z_stream z = {0};
  llmprof_packing_hooks(&z);
  if (deflateInit2(&z, LEVEL, Z_DEFLATED, LLMPROF_GZIP_WINDOW, MEMORY_LEVEL,
                   Z_DEFAULT_STRATEGY) != Z_OK)
    return llmprof_fail_nomem(err);
  llmprof_pack(&z, out, bytes, size, Z_FINISH);
  deflateEnd(&z);
  return !out->failed || llmprof_fail_nomem(err);
}

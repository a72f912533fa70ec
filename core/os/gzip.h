/* Bytes packed in memory, for what is put into another document. Files are
 * packed as they are written. */
#ifndef LLMPROF_GZIP_H
#define LLMPROF_GZIP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "llmprof/error.h"

/* Append `size` bytes as one gzip member, the same on every machine; `bytes`
 * may be NULL when size is 0. False with err filled when out of memory; what
 * was appended until then stays. */
bool llmprof_gzip(llmprof_buffer *out, const void *bytes, size_t size,
                  llmprof_error *err);

#endif

/* SHA-256 (FIPS 180-4) and Base64 (RFC 4648): what a Content-Security-Policy
 * names an inline script by. */
#ifndef LLMPROF_DIGEST_H
#define LLMPROF_DIGEST_H

#include <stddef.h>

#include "base/buffer.h"

enum {
  LLMPROF_SHA256_SIZE = 32, /* bytes */
};

/* The digest of `size` bytes; `bytes` may be NULL when size is 0. */
void llmprof_sha256(const void *bytes, size_t size,
                    unsigned char digest[LLMPROF_SHA256_SIZE]);

/* Append the bytes in Base64 with padding, on one line. Lost when memory runs
 * out: see the buffer's `failed`. */
void llmprof_base64(llmprof_buffer *out, const void *bytes, size_t size);

#endif

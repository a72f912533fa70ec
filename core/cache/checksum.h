/* A checksum that is as fast as memory: it finds damage, it keeps nobody out.
 * The same on every machine of this byte order. Private to the cache module. */
#ifndef LLMPROF_CHECKSUM_H
#define LLMPROF_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

uint64_t llmprof_checksum(const void *bytes, size_t size);

#endif

/* More of the allocator than other programs need. */
#ifndef LLMPROF_BASE_ALLOC_H
#define LLMPROF_BASE_ALLOC_H

#include "llmprof/alloc.h"

/* Were `bytes` or more asked for, in blocks of a mebibyte or more, since this
 * was last true? For owners of what may be garbage by now. */
bool llmprof_alloc_asked(size_t bytes);

/* Copies, NULL when out of memory. Free with llmprof_free. */
char *llmprof_strdup(const char *text);
void *llmprof_memdup(const void *bytes, size_t size); /* NUL-terminated */

/* Make room for at least `need` items in a growing array: *items holds *cap
 * items of `size` bytes. Grows by half again. On false nothing has changed. */
bool llmprof_grow(void *items, size_t *cap, size_t need, size_t size);

#endif

/* Memory: one replaceable allocator under every llmprof module.
 *
 * Nothing in the core calls malloc directly, so that an embedder can count or
 * limit memory and the tests can make the n-th allocation fail. A replacement
 * must be set before the first allocation and stay set.
 *
 * What is made by a function named new, open or load is given back by the free
 * or close beside it, which does nothing for NULL. */
#ifndef LLMPROF_ALLOC_H
#define LLMPROF_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Both functions follow realloc and free; reallocate(NULL, n) allocates. */
typedef struct llmprof_allocator {
  void *(*reallocate)(void *ptr, size_t size);
  void (*release)(void *ptr);
} llmprof_allocator;

/* NULL restores realloc and free. */
void llmprof_set_allocator(const llmprof_allocator *allocator);

/* NULL when out of memory, or when count * size overflows. Zero bytes are
 * rounded up to one, so NULL always means failure. Free with llmprof_free. */
void *llmprof_alloc(size_t count, size_t size);
void *llmprof_zalloc(size_t count, size_t size); /* zero-filled */
void *llmprof_resize(void *ptr, size_t count, size_t size);
void llmprof_free(void *ptr); /* NULL is fine */

/* Were `bytes` or more asked for, in blocks of a mebibyte or more, since this
 * was last true? For whoever keeps what is garbage by now. */
bool llmprof_alloc_asked(size_t bytes);

char *llmprof_strdup(const char *text);
void *llmprof_memdup(const void *bytes, size_t size); /* NUL-terminated */

/* Make room for at least `need` items in a growing array: *items holds *cap
 * items of `size` bytes. Grows by half again. On false nothing has changed. */
bool llmprof_grow(void *items, size_t *cap, size_t need, size_t size);

#ifdef __cplusplus
}
#endif

#endif

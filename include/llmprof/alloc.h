/* Memory: one replaceable allocator under every llmprof module.
 *
 * Nothing in the core calls malloc directly, so that an embedder can count or
 * limit memory. A replacement must be set before the first allocation and stay
 * set; it is called from several threads at once.
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

/* Memory for `count` items of `size` bytes. NULL when out of memory, or when
 * count * size overflows. Zero bytes are rounded up to one, so NULL always
 * means failure. Free with llmprof_free; after a failed resize `ptr` is as
 * before. */
void *llmprof_alloc(size_t count, size_t size);
void *llmprof_zalloc(size_t count, size_t size); /* zero-filled */
void *llmprof_resize(void *ptr, size_t count, size_t size);
void llmprof_free(void *ptr); /* NULL is fine */

#ifdef __cplusplus
}
#endif

#endif

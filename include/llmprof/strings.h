/* A pool of strings: equal bytes get the same id, ids count up from 0. */
#ifndef LLMPROF_STRINGS_H
#define LLMPROF_STRINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct llmprof_strings llmprof_strings;

/* The id that stands for "no string". */
#define LLMPROF_NO_STRING UINT32_MAX

llmprof_strings *llmprof_strings_new(void);       /* NULL when out of memory */
void llmprof_strings_free(llmprof_strings *pool); /* NULL is fine */

/* How many there are: ids are less. */
size_t llmprof_strings_count(const llmprof_strings *pool);

/* Copies the bytes on first sight. False when out of memory, or when there are
 * 2^32 - 2 strings. */
bool llmprof_strings_add(llmprof_strings *pool, const char *bytes, size_t size,
                         uint32_t *id);

/* LLMPROF_NO_STRING when the string is not in the pool. */
uint32_t llmprof_strings_find(const llmprof_strings *pool, const char *bytes,
                              size_t size);

/* NUL-terminated, of *size bytes, lives as long as the pool; NULL for
 * LLMPROF_NO_STRING and other ids that the pool does not have. size may be
 * NULL.
 */
const char *llmprof_strings_get(const llmprof_strings *pool, uint32_t id,
                                size_t *size);

#ifdef __cplusplus
}
#endif

#endif

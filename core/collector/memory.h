/* The collector's memory: taken from the system in large pieces, never from
 * the program's heap, and bounded. Any thread. */
#ifndef LLMPROF_COLLECTOR_MEMORY_H
#define LLMPROF_COLLECTOR_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* The most bytes from now on. */
void memory_limit(size_t bytes);

/* Zeroed, aligned to pages; NULL at the limit or when the system has none. */
void *memory_take(size_t size);
void memory_give(void *memory, size_t size); /* NULL is fine */

/* In the child of a fork: what the parent took does not count. */
void memory_forget(void);

#endif

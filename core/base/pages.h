/* Large blocks in pages of their own. What is freed is kept for the next, and
 * given back to the system as soon as that takes new pages. No more are in use
 * than blocks were at once, wherever these lay. Private to the core. */
#ifndef LLMPROF_PAGES_H
#define LLMPROF_PAGES_H

#include <stddef.h>

/* realloc for such blocks, of a size that is not 0: with NULL a new one. */
void *llmprof_pages_resize(void *block, size_t size);
void llmprof_pages_free(void *block);

/* The size that a block has; 0: it is not one of these. */
size_t llmprof_pages_size(const void *block);

#endif

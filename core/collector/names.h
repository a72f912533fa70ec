/* Strings of the spool: each is written once and then known by its number.
 * Only for the writer. */
#ifndef LLMPROF_COLLECTOR_NAMES_H
#define LLMPROF_COLLECTOR_NAMES_H

#include <stddef.h>
#include <stdint.h>

/* The string's number, after its record; 0 for none. When there is no memory
 * to remember strings, each gets a new number. */
uint32_t names_id(const char *text);
uint32_t names_id_of(const char *bytes, size_t size);

/* Another file begins, which has none of them. */
void names_reset(void);

void names_forget(void);

#endif

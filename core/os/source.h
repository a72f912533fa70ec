/* Bytes as they come: a file or memory, unpacked on the way when they are
 * gzip (one member or several). Private to the core. */
#ifndef LLMPROF_SOURCE_H
#define LLMPROF_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

#include "llmprof/error.h"

typedef struct llmprof_source llmprof_source;

/* NULL on failure. Bytes are borrowed; `name` stands for the path. */
llmprof_source *llmprof_source_open(const char *path, llmprof_error *err);
llmprof_source *llmprof_source_bytes(const char *name, const void *bytes,
                                     size_t size, llmprof_error *err);
void llmprof_source_close(llmprof_source *source); /* NULL is fine */

/* The next piece, borrowed until the next call; *size is 0 at the end. False
 * on failure: IO, or SYNTAX for gzip that is damaged or cut short. */
bool llmprof_source_next(llmprof_source *source, const char **bytes,
                         size_t *size, llmprof_error *err);

#endif

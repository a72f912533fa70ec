/* The way to a value from the root of a document, for messages. */
#ifndef LLMPROF_PATH_H
#define LLMPROF_PATH_H

#include <stdbool.h>
#include <stddef.h>

#include "llmprof/error.h"

/* Links live on the stack of the function that descends. */
typedef struct llmprof_path {
  const struct llmprof_path *up; /* NULL: directly below the root */
  const char *key;               /* NULL: an item of a list */
  size_t size;                   /* of key */
  size_t index;                  /* of an item, counted from 1 as in Lua */
} llmprof_path;

/* Write the path as `stages[2].ms`, keys that are no identifiers as
 * `["a b"]`, cut to room, which is not 0. NULL, the root itself, is
 * "top level". Returns out. */
const char *llmprof_path_text(const llmprof_path *path, char *out, size_t room);

/* "what at path": a value that cannot be written. Returns false. */
bool llmprof_path_fail(llmprof_error *err, llmprof_code code, const char *what,
                       const llmprof_path *path);

#endif

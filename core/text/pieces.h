/* Pieces of names, which have a length and no NUL. Private to the room. */
#ifndef LLMPROF_CORE_PIECES_H
#define LLMPROF_CORE_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static inline bool llmprof_begins(const char *text, size_t size,
                                  const char *with) {
  size_t length = strlen(with);
  return size >= length && memcmp(text, with, length) == 0;
}

/* Takes any `what` out, in place; returns the bytes that are left. */
static inline size_t llmprof_without(char *text, size_t size,
                                     const char *what) {
  size_t kept = 0, length = strlen(what);
  if (!size || !memchr(text, *what, size)) return size;
  for (size_t i = 0; i < size;) {
    if (text[i] == *what && llmprof_begins(text + i, size - i, what))
      i += length;
    else
      text[kept++] = text[i++];
  }
  return kept;
}

#endif

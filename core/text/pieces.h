/* Pieces of names, which have a length and no NUL. Private to the module. */
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

/* Where the first `what` is, or the size. */
static inline size_t llmprof_piece_at(const char *text, size_t size,
                                      const char *what) {
  const char *at = size ? memchr(text, *what, size) : NULL;
  while (at && !llmprof_begins(at, size - (size_t)(at - text), what))
    at = memchr(at + 1, *what, size - (size_t)(at - text) - 1);
  return at ? (size_t)(at - text) : size;
}

/* Takes any `what` out, in place; returns the bytes that are left. */
static inline size_t llmprof_without(char *text, size_t size,
                                     const char *what) {
  size_t kept = llmprof_piece_at(text, size, what), length = strlen(what);
  for (size_t i = kept; i < size;) {
    if (text[i] == *what && llmprof_begins(text + i, size - i, what))
      i += length;
    else
      text[kept++] = text[i++];
  }
  return kept;
}

#endif

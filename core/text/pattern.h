/* Patterns as Lua's string.find has them, compiled: whether a text has a match
 * anywhere. Private to the core. */
#ifndef LLMPROF_PATTERN_H
#define LLMPROF_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llmprof/error.h"

/* A set of bytes, a bit for each. */
typedef struct llmprof_byte_set {
  uint64_t bits[4];
} llmprof_byte_set;

enum {
  LLMPROF_ITEM_BYTE,
  LLMPROF_ITEM_SET,
  LLMPROF_ITEM_BALANCED, /* %b */
  LLMPROF_ITEM_FRONTIER, /* %f, of the set */
};

typedef struct llmprof_item {
  unsigned char kind;
  unsigned char repeat; /* '*', '+', '-', '?', or 0: once */
  unsigned char byte, close;
  uint32_t set; /* its place in the pattern's */
} llmprof_item;

typedef struct llmprof_pattern {
  llmprof_item *items;
  size_t count;
  llmprof_byte_set *sets;
  uint32_t set_count;
  bool from_start, to_end; /* "^", "$" */
} llmprof_pattern;

/* SYNTAX: no pattern, or one that refers to a capture (%1), which is of no
 * use here. On failure there is nothing to free. */
bool llmprof_pattern_compile(llmprof_pattern *pattern, const char *source,
                             size_t size, llmprof_error *err);
void llmprof_pattern_free(llmprof_pattern *pattern);

/* Add the bytes of which a text with a match begins with one; false where it
 * may be any, or there need be none. */
bool llmprof_pattern_begins(const llmprof_pattern *pattern,
                            llmprof_byte_set *with);

static inline bool llmprof_byte_set_has(const llmprof_byte_set *set,
                                        unsigned char byte) {
  return set->bits[byte >> 6] >> (byte & 63) & 1;
}

bool llmprof_pattern_is_in(const llmprof_pattern *pattern, const char *text,
                           size_t size);

#endif

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

typedef enum llmprof_item_kind {
  LLMPROF_ITEM_BYTE,
  LLMPROF_ITEM_SET,
  LLMPROF_ITEM_BALANCED, /* %b */
  LLMPROF_ITEM_FRONTIER, /* %f, of the set */
} llmprof_item_kind;

typedef struct llmprof_item {
  llmprof_item_kind kind;
  unsigned char repeat; /* '*', '+', '-', '?', or 0: once */
  unsigned char byte, close;
  llmprof_byte_set set;
} llmprof_item;

typedef struct llmprof_pattern {
  llmprof_item *items;
  size_t count;
  bool from_start, to_end; /* "^", "$" */
} llmprof_pattern;

/* INVALID: no pattern, or one that refers to a capture (%1), which is of no
 * use here. On failure there is nothing to free. */
bool llmprof_pattern_compile(llmprof_pattern *pattern, const char *source,
                             size_t size, llmprof_error *err);
void llmprof_pattern_free(llmprof_pattern *pattern);

bool llmprof_pattern_is_in(const llmprof_pattern *pattern, const char *text,
                           size_t size);

#endif

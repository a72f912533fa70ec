/* What lies on a shelf besides the arrays of rows, as both sides see it:
 * putting there and taking from there. Private to the trace room. */
#ifndef LLMPROF_TRACE_SHELF_H
#define LLMPROF_TRACE_SHELF_H

#include "trace/trace_internal.h"

/* One, under "facts"; nothing lies between its fields. */
typedef struct llmprof_facts {
  int64_t epoch;
  uint64_t ops, first[LLMPROF_OP_KINDS + 1];
  uint64_t calls, ranges, samples, diagnostics, links, projections;
  llmprof_words words;         /* an even number of ids */
  uint64_t has, knows, pieces; /* a bit for each */
} llmprof_facts;

/* A list of them, under "threads". */
typedef struct llmprof_thread_record {
  int64_t id;
  uint32_t tid, process, name, unused;
} llmprof_thread_record;

/* Types that cells of shared columns may have, and what their names end in. */
typedef struct llmprof_kept_type {
  const char *suffix;
  llmprof_column_type type;
  size_t width;
} llmprof_kept_type;

enum {
  LLMPROF_KEPT_TYPES = 3,
  LLMPROF_KEPT_NAME = 64 /* bytes, its NUL included */
};

extern const llmprof_kept_type llmprof_kept_types[LLMPROF_KEPT_TYPES];

/* "kept.TABLE.COLUMN.SUFFIX" */
void llmprof_kept_name(char name[LLMPROF_KEPT_NAME], const char *table,
                       const char *column, const llmprof_kept_type *type);

#endif

/* The records of a snapshot besides the arrays of rows, for its writer and its
 * reader. Private to the trace module. */
#ifndef LLMPROF_SNAPSHOT_RECORDS_H
#define LLMPROF_SNAPSHOT_RECORDS_H

#include "trace/trace_internal.h"

/* One, under "facts"; nothing lies between its fields. */
typedef struct llmprof_facts {
  int64_t epoch;
  uint64_t ops, first[LLMPROF_OP_KINDS + 1];
  uint64_t calls, ranges, samples, diagnostics, links, projections;
  uint64_t timeless[LLMPROF_TABLES];
  llmprof_words words;         /* an even number of ids */
  uint64_t has, knows, pieces; /* a bit for each */
} llmprof_facts;

/* A list of them, under "threads". */
typedef struct llmprof_thread_record {
  int64_t id;
  uint32_t tid, process, name, unused;
} llmprof_thread_record;

#endif

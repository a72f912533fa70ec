/* What threads of the program leave for the writer: one log per thread, of
 * chunks that one side fills and the other empties, without a lock between
 * them. An entry is copied in, and that is all that the program's thread does.
 */
#ifndef LLMPROF_COLLECTOR_LOG_H
#define LLMPROF_COLLECTOR_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  LOG_CHUNK_SIZE = 128 << 10,
  LOG_ENTRY_MAX = 64 << 10, /* bytes of an entry */
};

typedef enum log_type {
  LOG_NVTX_EVENT = 1,
  LOG_NVTX_DOMAIN,
  LOG_NVTX_CATEGORY,
  LOG_NVTX_SCHEMA,
  LOG_THREAD_NAME,
  LOG_UNIT,
  LOG_METRIC,
  LOG_COUNTERS,
  LOG_SAMPLE,
  LOG_DIAGNOSTIC,
  LOG_CONTEXT,
  LOG_GRAPH_NODE,
  LOG_LINE, /* for the socket */
  LOG_CALL,
} log_type;

typedef struct log_entry {
  uint32_t size; /* of all of it, a multiple of 8 */
  uint32_t type; /* log_type */
  int64_t time;
  uint32_t tid;
  uint32_t value; /* as the type has it */
} log_entry;

/* Space for an entry of this size in bytes, its log_entry filled in but for
 * `value`; NULL when there is none, which is counted. Visible to the writer
 * after log_commit; nothing else may be reserved before that. */
void *log_reserve(log_type type, size_t size);
void log_commit(void);

/* ---- for the writer ---- */

typedef void (*log_visitor)(const log_entry *entry);

/* Calls visit for each new entry, those of one thread in their order. */
void log_drain(log_visitor visit);

/* Entries that found no space since the last call. */
uint64_t log_dropped(void);

/* In the child of a fork: begin with nothing. */
void log_forget(void);

#endif

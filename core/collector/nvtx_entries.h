/* What the NVTX functions put into a log, and its way into the spool. */
#ifndef LLMPROF_COLLECTOR_NVTX_ENTRIES_H
#define LLMPROF_COLLECTOR_NVTX_ENTRIES_H

#include "collector/log.h"
#include "collector/spool.h"

enum {
  NVTX_FIELDS = 256 /* of a schema, at most */
};

/* A registered string, for the rest of the process. */
typedef struct nvtx_text {
  struct nvtx_text *next; /* in the list of all */
  uint32_t size; /* bytes that follow, with a NUL that does not count */
  char bytes[];
} nvtx_text;

/* The event has no message yet: `text_size` bytes of text follow where
 * `registered` is NULL, padded to 8; then the event's blobs. */
typedef struct nvtx_event_entry {
  log_entry entry; /* value: is there a text? */
  spool_nvtx_event event;
  const nvtx_text *registered;
  uint32_t text_size;
  uint32_t reserved;
} nvtx_event_entry;

static inline size_t nvtx_padded(size_t size) {
  return (size + 7) & ~(size_t)7;
}

/* Domain (value: its number), category (of domain; value: its number), name of
 * a thread (value: its tid); the name follows, with its NUL. */
typedef struct nvtx_name_entry {
  log_entry entry;
  uint32_t domain;
  uint32_t size; /* bytes of the name, without the NUL */
} nvtx_name_entry;

/* `entries` of spool_nvtx_entry follow, then the names, each with its NUL. */
typedef struct nvtx_schema_entry {
  log_entry entry;
  spool_nvtx_schema schema;
} nvtx_schema_entry;

/* Writes an entry of these types; false: it is of another. */
bool nvtx_write(const log_entry *entry);

#endif

/* What the NVTX functions put into a log, and its way into the spool. */
#ifndef LLMPROF_COLLECTOR_NVTX_ENTRIES_H
#define LLMPROF_COLLECTOR_NVTX_ENTRIES_H

#include "collector/log.h"

/* A registered string, for the rest of the process. */
typedef struct nvtx_text {
  struct nvtx_text *next; /* in the list of all */
  uint32_t size; /* bytes that follow, with a NUL that does not count */
  char bytes[];
} nvtx_text;

/* `text_size` bytes of text follow where `registered` is NULL, padded to 8;
 * then `blobs` of spool_nvtx_blob with their bytes, each padded to 8. */
typedef struct nvtx_event_entry {
  log_entry entry;
  uint64_t range_id;
  uint64_t payload;
  const nvtx_text *registered;
  uint32_t text_size;
  uint32_t domain;
  uint32_t category;
  uint32_t color;
  uint16_t type;
  uint16_t blobs;
  uint8_t payload_type;
  uint8_t has_color;
  uint16_t reserved;
} nvtx_event_entry;

/* Domain (value: its number), category (of domain; value: its number), name of
 * a thread (value: its tid); the name follows, with its NUL. */
typedef struct nvtx_name_entry {
  log_entry entry;
  uint32_t domain;
  uint32_t size; /* bytes of the name, without the NUL */
} nvtx_name_entry;

/* `entries` of nvtx_field follow, then the names, each with its NUL. */
typedef struct nvtx_schema_entry {
  log_entry entry; /* value: the domain */
  uint64_t schema;
  uint64_t static_size;
  uint32_t type, flags, pack_align;
  uint32_t entries;
} nvtx_schema_entry;

typedef struct nvtx_field {
  uint64_t flags, type, array, offset;
} nvtx_field;

/* Writes an entry of these types; false: it is of another. */
bool nvtx_write(const log_entry *entry);

#endif

#include "collector/nvtx_entries.h"

#include <string.h>

#include "collector/names.h"
#include "collector/output.h"

static void write_event(const log_entry *entry) {
  const nvtx_event_entry *e = (const void *)entry;
  const char *text = (const char *)(e + 1);
  const char *blobs = text + nvtx_padded(e->text_size);
  spool_nvtx_event record = e->event;
  if (e->registered)
    record.message = names_id_of(e->registered->bytes, e->registered->size);
  else if (entry->value)
    record.message = names_id_of(text, e->text_size);
  size_t more = (size_t)((const char *)entry + entry->size - blobs);
  output_record(SPOOL_NVTX_EVENT, &record, sizeof record, blobs, more);
}

static void write_domain(const log_entry *entry) {
  const nvtx_name_entry *e = (const void *)entry;
  spool_nvtx_domain record = {.domain = entry->value,
                              .name = names_id((const char *)(e + 1))};
  output_record(SPOOL_NVTX_DOMAIN, &record, sizeof record, NULL, 0);
}

static void write_category(const log_entry *entry) {
  const nvtx_name_entry *e = (const void *)entry;
  spool_nvtx_category record = {.domain = e->domain,
                                .category = entry->value,
                                .name = names_id((const char *)(e + 1))};
  output_record(SPOOL_NVTX_CATEGORY, &record, sizeof record, NULL, 0);
}

static void write_thread(const log_entry *entry) {
  const nvtx_name_entry *e = (const void *)entry;
  spool_thread record = {.tid = entry->value,
                         .name = names_id((const char *)(e + 1))};
  output_record(SPOOL_THREAD, &record, sizeof record, NULL, 0);
}

/* A name and what comes after it; an empty one is none. */
static uint32_t next_name(const char **at) {
  uint32_t id = **at ? names_id(*at) : 0;
  *at += strlen(*at) + 1;
  return id;
}

static void write_schema(const log_entry *entry) {
  const nvtx_schema_entry *e = (const void *)entry;
  const spool_nvtx_entry *fields = (const void *)(e + 1);
  spool_nvtx_schema record = e->schema;
  const char *names = (const char *)(fields + record.entries);
  spool_nvtx_entry out[NVTX_FIELDS];
  record.name = next_name(&names);
  for (uint32_t i = 0; i < record.entries; i++) {
    out[i] = fields[i];
    out[i].name = next_name(&names);
    out[i].description = next_name(&names);
  }
  output_record(SPOOL_NVTX_SCHEMA, &record, sizeof record, out,
                record.entries * sizeof *out);
}

bool nvtx_write(const log_entry *entry) {
  switch ((log_type)entry->type) {
  case LOG_NVTX_EVENT:
    write_event(entry);
    return true;
  case LOG_NVTX_DOMAIN:
    write_domain(entry);
    return true;
  case LOG_NVTX_CATEGORY:
    write_category(entry);
    return true;
  case LOG_NVTX_SCHEMA:
    write_schema(entry);
    return true;
  case LOG_THREAD_NAME:
    write_thread(entry);
    return true;
  default:
    return false;
  }
}

#include "collector/nvtx_entries.h"

#include <string.h>

#include "collector/names.h"
#include "collector/output.h"

static size_t padded(size_t size) {
  return (size + 7) & ~(size_t)7;
}

static void write_event(const log_entry *entry) {
  const nvtx_event_entry *e = (const void *)entry;
  const char *text = (const char *)(e + 1);
  const char *blobs = text + padded(e->text_size);
  spool_nvtx_event record = {
      .time = entry->time,
      .range_id = e->range_id,
      .payload = e->payload,
      .tid = entry->tid,
      .domain = e->domain,
      .category = e->category,
      .message = e->registered
                     ? names_id_of(e->registered->bytes, e->registered->size)
                 : entry->value ? names_id_of(text, e->text_size)
                                : 0,
      .color = e->color,
      .type = e->type,
      .payload_type = e->payload_type,
      .has_color = e->has_color,
      .registered = e->registered != NULL,
      .blobs = e->blobs,
  };
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

enum {
  FIELDS = 256 /* of a schema; log_reserve bounds them further */
};

static void write_schema(const log_entry *entry) {
  const nvtx_schema_entry *e = (const void *)entry;
  const nvtx_field *fields = (const void *)(e + 1);
  const char *names = (const char *)(fields + e->entries);
  spool_nvtx_entry out[FIELDS];
  spool_nvtx_schema record = {
      .schema = e->schema,
      .domain = entry->value,
      .name = next_name(&names),
      .type = e->type,
      .flags = e->flags,
      .static_size = e->static_size,
      .pack_align = e->pack_align,
      .entries = e->entries < FIELDS ? e->entries : FIELDS,
  };
  for (uint32_t i = 0; i < record.entries; i++) {
    uint32_t name = next_name(&names);
    out[i] = (spool_nvtx_entry){.flags = fields[i].flags,
                                .type = fields[i].type,
                                .array = fields[i].array,
                                .offset = fields[i].offset,
                                .name = name,
                                .description = next_name(&names)};
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

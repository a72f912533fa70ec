/* NVTX ranges of a spool: pushes and pops of a thread, starts and ends
 * wherever they are. A range begins where its row is; rows are sorted by start
 * when all are there. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "frame/sort.h"
#include "spool/spool_internal.h"

enum {
  NO_ROW = UINT32_MAX
};

/* A stack of open pushes. */
typedef struct stack_key {
  uint32_t section, tid, domain, unused;
} stack_key;

typedef struct pair_key {
  uint64_t range, section;
} pair_key;

/* A start/end range, of which either end may come first. */
typedef struct pair {
  uint32_t row; /* NO_ROW: its start was not seen */
  uint32_t end_thread;
  int64_t end;
} pair;

/* Where a schema has what NCCL says of its calls; SIZE_MAX: it does not. */
typedef struct schema_key {
  uint64_t schema;
  uint32_t section, domain;
} schema_key;

typedef struct schema {
  size_t communicator, bytes, ranks;
} schema;

typedef struct range_loader {
  spool_trace *trace;
  llmprof_builder *builder;
  llmprof_range_row *rows;
  uint32_t *below; /* by row: the push that was open before it */
  size_t count, cap, below_cap;
  llmprof_intern stacks; /* of stack_key */
  uint32_t *tops;        /* by stack: its innermost open row */
  size_t top_cap;
  llmprof_intern pair_ids; /* of pair_key */
  pair *pairs;
  size_t pair_cap;
  llmprof_intern schema_ids; /* of schema_key */
  schema *schemas;
  size_t schema_cap;
} range_loader;

/* ---- what NCCL says ---- */

/* Bytes of a payload's field; 0: not one of those with 8. */
static size_t type_size(uint64_t type) {
  enum {
    LONG = 7,
    ULONGLONG = 10,
    INT64 = 17,
    UINT64 = 18,
    SIZE = 22,
    ADDRESS = 23
  };
  return (type >= LONG && type <= ULONGLONG) || type == INT64 ||
                 type == UINT64 || type == SIZE || type == ADDRESS
             ? 8
             : 0;
}

static bool is_text(const range_loader *l, uint32_t section, uint32_t string,
                    const char *wanted) {
  const char *text = llmprof_strings_get(
      llmprof_builder_strings(l->builder),
      spool_file_string(&l->trace->sections.file, section, string), NULL);
  return text && strcmp(text, wanted) == 0;
}

/* Fields that say no offset lie one after another. */
static schema read_entries(const range_loader *l, uint32_t section,
                           const unsigned char *bytes, size_t size) {
  schema found = {SIZE_MAX, SIZE_MAX, SIZE_MAX};
  size_t next = 0;
  spool_nvtx_entry entry;
  for (size_t at = 0; size - at >= sizeof entry; at += sizeof entry) {
    memcpy(&entry, bytes + at, sizeof entry);
    size_t offset = at && !entry.offset ? next : (size_t)entry.offset;
    if (is_text(l, section, entry.name, "NCCL communicator ID"))
      found.communicator = offset;
    if (is_text(l, section, entry.name, "Message size [bytes]"))
      found.bytes = offset;
    if (is_text(l, section, entry.name, "No. of ranks")) found.ranks = offset;
    size_t length = type_size(entry.type);
    if (!length || offset > SIZE_MAX / 2) break;
    next = offset + length;
  }
  return found;
}

static bool take_schema(void *user, const spool_item *item,
                        llmprof_error *err) {
  range_loader *l = user;
  spool_nvtx_schema record;
  spool_item_get(item, &record, sizeof record);
  const schema_key key = {record.schema, item->section, record.domain};
  uint32_t id;
  size_t size;
  const unsigned char *entries = spool_item_rest(item, &size);
  if (!llmprof_intern_add(&l->schema_ids, &key, &id) ||
      !llmprof_grow(&l->schemas, &l->schema_cap, id + (size_t)1,
                    sizeof *l->schemas))
    return llmprof_fail_nomem(err);
  l->schemas[id] = read_entries(l, item->section, entries, size);
  return true;
}

static int64_t field(const unsigned char *bytes, size_t size, size_t offset) {
  uint64_t word;
  if (offset > size || size - offset < sizeof word) return LLMPROF_ABSENT;
  memcpy(&word, bytes + offset, sizeof word);
  return (int64_t)word;
}

static int64_t int_field(const unsigned char *bytes, size_t size,
                         size_t offset) {
  uint32_t word;
  if (offset > size || size - offset < sizeof word) return LLMPROF_ABSENT;
  memcpy(&word, bytes + offset, sizeof word);
  return word;
}

/* A call that makes a communicator has the number of its ranks as payload. */
static void read_blobs(const range_loader *l, const spool_item *item,
                       const spool_nvtx_event *event, llmprof_range_row *row) {
  size_t size;
  const unsigned char *at = spool_item_rest(item, &size);
  spool_nvtx_blob blob;
  for (uint32_t i = 0; i < event->blobs && size >= sizeof blob; i++) {
    memcpy(&blob, at, sizeof blob);
    at += sizeof blob;
    size -= sizeof blob;
    if (blob.size > size) return;
    const schema_key key = {blob.schema, item->section, event->domain};
    uint32_t id = llmprof_intern_find(&l->schema_ids, &key);
    if (id != UINT32_MAX) {
      row->communicator = field(at, blob.size, l->schemas[id].communicator);
      row->message = field(at, blob.size, l->schemas[id].bytes);
      if (row->payload == LLMPROF_ABSENT)
        row->payload = int_field(at, blob.size, l->schemas[id].ranks);
    }
    size_t padded = (blob.size + (size_t)7) & ~(size_t)7;
    if (padded > size) return;
    at += padded;
    size -= padded;
  }
}

/* ---- payloads ---- */

static int64_t integer_payload(const spool_nvtx_event *event) {
  switch (event->payload_type) {
  case SPOOL_PAYLOAD_U64:
  case SPOOL_PAYLOAD_I64:
    return (int64_t)event->payload;
  case SPOOL_PAYLOAD_U32:
    return (int64_t)(uint32_t)event->payload;
  case SPOOL_PAYLOAD_I32:
    return (int64_t)(int32_t)(uint32_t)event->payload;
  default:
    return LLMPROF_ABSENT;
  }
}

static double float_payload(const spool_nvtx_event *event) {
  double value = NAN;
  float small;
  if (event->payload_type == SPOOL_PAYLOAD_DOUBLE)
    memcpy(&value, &event->payload, sizeof value);
  if (event->payload_type == SPOOL_PAYLOAD_FLOAT) {
    uint32_t bits = (uint32_t)event->payload;
    memcpy(&small, &bits, sizeof small);
    value = (double)small;
  }
  return value;
}

/* ---- ranges ---- */

static const spool_section *section_of(const range_loader *l,
                                       const spool_item *item) {
  return &l->trace->sections.all[item->section];
}

static bool add_row(range_loader *l, const spool_item *item,
                    const spool_nvtx_event *event, llmprof_range_style style,
                    uint32_t below) {
  const spool_sections *s = &l->trace->sections;
  const spool_section *section = section_of(l, item);
  llmprof_range_row row = {
      .start = spool_time(section, event->time),
      .end = LLMPROF_ABSENT,
      .end_thread = LLMPROF_NONE,
      .text = spool_file_string(&s->file, item->section, event->message),
      .domain = spool_scope_name(s, item->section, event->domain, 0),
      .category = event->category
                      ? spool_scope_name(s, item->section, event->domain,
                                         event->category)
                      : LLMPROF_NO_STRING,
      .payload = integer_payload(event),
      .payload_float = float_payload(event),
      .communicator = LLMPROF_ABSENT,
      .message = LLMPROF_ABSENT,
      .style = style,
  };
  if (event->payload_type == SPOOL_PAYLOAD_BINARY)
    read_blobs(l, item, event, &row);
  /* A range of another unit is kept for its end, and then left. */
  if (spool_excludes(section, event->time)) row.start = LLMPROF_ABSENT;
  if (!spool_thread_row(l->builder, section, event->tid, &row.thread) ||
      !llmprof_grow(&l->rows, &l->cap, l->count + 1, sizeof *l->rows) ||
      !llmprof_grow(&l->below, &l->below_cap, l->count + 1, sizeof *l->below))
    return false;
  l->rows[l->count] = row;
  l->below[l->count++] = below;
  return true;
}

static bool find_stack(range_loader *l, const spool_item *item,
                       const spool_nvtx_event *event, uint32_t *stack) {
  const stack_key key = {item->section, event->tid, event->domain, 0};
  size_t before = l->stacks.count;
  if (!llmprof_intern_add(&l->stacks, &key, stack) ||
      !llmprof_grow(&l->tops, &l->top_cap, *stack + (size_t)1, sizeof *l->tops))
    return false;
  if (l->stacks.count > before) l->tops[*stack] = NO_ROW;
  return true;
}

static bool take_push(range_loader *l, const spool_item *item,
                      const spool_nvtx_event *event) {
  uint32_t stack;
  if (!find_stack(l, item, event, &stack) ||
      !add_row(l, item, event, LLMPROF_PUSH_POP, l->tops[stack]))
    return false;
  l->tops[stack] = (uint32_t)(l->count - 1);
  return true;
}

/* A pop without a push ends what began before the collector was there. */
static bool take_pop(range_loader *l, const spool_item *item,
                     const spool_nvtx_event *event) {
  uint32_t stack;
  if (!find_stack(l, item, event, &stack)) return false;
  uint32_t row = l->tops[stack];
  if (row == NO_ROW) return true;
  l->rows[row].end = spool_time(section_of(l, item), event->time);
  l->tops[stack] = l->below[row];
  return true;
}

static bool find_pair(range_loader *l, const spool_item *item,
                      const spool_nvtx_event *event, pair **found) {
  const pair_key key = {event->range_id, item->section};
  uint32_t id;
  size_t before = l->pair_ids.count;
  if (!llmprof_intern_add(&l->pair_ids, &key, &id) ||
      !llmprof_grow(&l->pairs, &l->pair_cap, id + (size_t)1, sizeof *l->pairs))
    return false;
  if (l->pair_ids.count > before)
    l->pairs[id] = (pair){NO_ROW, LLMPROF_NONE, LLMPROF_ABSENT};
  *found = &l->pairs[id];
  return true;
}

static bool take_start(range_loader *l, const spool_item *item,
                       const spool_nvtx_event *event) {
  pair *it;
  if (!find_pair(l, item, event, &it)) return false;
  if (it->row != NO_ROW) return true; /* the same number again */
  it->row = (uint32_t)l->count;
  return add_row(l, item, event, LLMPROF_START_END, NO_ROW);
}

static bool take_end(range_loader *l, const spool_item *item,
                     const spool_nvtx_event *event) {
  const spool_section *section = section_of(l, item);
  pair *it;
  if (!find_pair(l, item, event, &it)) return false;
  it->end = spool_time(section, event->time);
  return spool_thread_row(l->builder, section, event->tid, &it->end_thread);
}

static bool take_event(void *user, const spool_item *item, llmprof_error *err) {
  range_loader *l = user;
  spool_nvtx_event event;
  bool ok = true;
  spool_item_get(item, &event, sizeof event);
  switch (event.type) {
  case SPOOL_NVTX_PUSH:
    ok = take_push(l, item, &event);
    break;
  case SPOOL_NVTX_POP:
    ok = take_pop(l, item, &event);
    break;
  case SPOOL_NVTX_START:
    ok = take_start(l, item, &event);
    break;
  case SPOOL_NVTX_END:
    ok = take_end(l, item, &event);
    break;
  default:
    break;
  }
  const spool_section *section = section_of(l, item);
  if (!spool_excludes(section, event.time))
    llmprof_builder_range_time(l->builder, spool_time(section, event.time));
  return ok || llmprof_fail_nomem(err);
}

/* ---- together ---- */

static void end_pairs(range_loader *l) {
  for (size_t i = 0; i < l->pair_ids.count; i++) {
    const pair *it = &l->pairs[i];
    if (it->row == NO_ROW) continue;
    l->rows[it->row].end = it->end;
    l->rows[it->row].end_thread = it->end_thread;
  }
}

/* A range without a start, or that ends before it, is left out. */
static bool is_sound(const llmprof_range_row *row) {
  return row->start != LLMPROF_ABSENT &&
         (row->end == LLMPROF_ABSENT || row->end >= row->start);
}

static int64_t start_of(const void *rows, size_t row, int which) {
  (void)which;
  return ((const llmprof_range_row *)rows)[row].start;
}

static bool add_sorted(const range_loader *l, llmprof_error *err) {
  uint32_t *order = llmprof_order_rows(l->count, 1, start_of, l->rows);
  bool ok = order || llmprof_fail_nomem(err);
  for (size_t i = 0; ok && i < l->count; i++) {
    const llmprof_range_row *row = &l->rows[order[i]];
    ok = !is_sound(row) || llmprof_builder_add_range(l->builder, row, err);
  }
  llmprof_free(order);
  return ok;
}

static void loader_free(range_loader *l) {
  llmprof_free(l->rows);
  llmprof_free(l->below);
  llmprof_intern_free(&l->stacks);
  llmprof_free(l->tops);
  llmprof_intern_free(&l->pair_ids);
  llmprof_free(l->pairs);
  llmprof_intern_free(&l->schema_ids);
  llmprof_free(l->schemas);
}

bool spool_load_ranges(spool_trace *trace, llmprof_builder *builder,
                       llmprof_error *err) {
  spool_file *file = &trace->sections.file;
  range_loader l = {.trace = trace, .builder = builder};
  llmprof_intern_init(&l.stacks, sizeof(stack_key));
  llmprof_intern_init(&l.pair_ids, sizeof(pair_key));
  llmprof_intern_init(&l.schema_ids, sizeof(schema_key));
  bool ok =
      spool_file_each(file, SPOOL_BIT(SPOOL_NVTX_SCHEMA), take_schema, &l,
                      err) &&
      spool_file_each(file, SPOOL_BIT(SPOOL_NVTX_EVENT), take_event, &l, err);
  if (ok) end_pairs(&l);
  ok = ok && add_sorted(&l, err);
  loader_free(&l);
  return ok;
}

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
typedef struct stack {
  uint32_t section, tid, domain;
  uint32_t top; /* its innermost open row, or NO_ROW */
} stack;

/* A start/end range, of which either end may come first. */
typedef struct pair {
  uint64_t range, section;
  uint32_t row; /* NO_ROW: its start was not seen */
  uint32_t end_thread;
  int64_t end;
} pair;

/* Where a schema has what NCCL says of its calls; SIZE_MAX: it does not. */
typedef struct schema {
  uint64_t schema;
  uint32_t section, domain;
  size_t communicator, bytes, ranks;
} schema;

typedef struct range_loader {
  spool_trace *trace;
  llmprof_range_row *rows;
  uint32_t *below; /* by row: the push that was open before it */
  size_t count, cap, below_cap;
  llmprof_intern stacks, pairs, schemas;
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
      llmprof_builder_strings(l->trace->builder),
      spool_file_string(&l->trace->sections.file, section, string), NULL);
  return text && strcmp(text, wanted) == 0;
}

/* Fields that say no offset lie one after another. */
static void read_entries(const range_loader *l, const unsigned char *bytes,
                         size_t size, schema *into) {
  size_t next = 0;
  spool_nvtx_entry entry;
  for (size_t at = 0; size - at >= sizeof entry; at += sizeof entry) {
    memcpy(&entry, bytes + at, sizeof entry);
    size_t offset = at && !entry.offset ? next : (size_t)entry.offset;
    if (is_text(l, into->section, entry.name, "NCCL communicator ID"))
      into->communicator = offset;
    if (is_text(l, into->section, entry.name, "Message size [bytes]"))
      into->bytes = offset;
    if (is_text(l, into->section, entry.name, "No. of ranks"))
      into->ranks = offset;
    size_t length = type_size(entry.type);
    if (!length || offset > SIZE_MAX / 2) break;
    next = offset + length;
  }
}

static bool take_schema(void *user, const spool_item *item,
                        llmprof_error *err) {
  range_loader *l = user;
  spool_nvtx_schema record;
  spool_item_get(item, &record, sizeof record);
  const schema unread = {record.schema, item->section, record.domain,
                         SIZE_MAX,      SIZE_MAX,      SIZE_MAX};
  size_t size;
  const unsigned char *entries = spool_item_rest(item, &size);
  schema *kept = llmprof_intern_put(&l->schemas, &unread);
  if (!kept) return llmprof_fail_nomem(err);
  *kept = unread;
  read_entries(l, entries, size, kept);
  return true;
}

/* Of `width` bytes; absent where it is not in the payload. */
static int64_t field(const unsigned char *bytes, size_t size, size_t offset,
                     size_t width) {
  uint64_t word = 0;
  if (offset > size || size - offset < width) return LLMPROF_ABSENT;
  memcpy(&word, bytes + offset, width);
  return (int64_t)word;
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
    const schema key = {.schema = blob.schema,
                        .section = item->section,
                        .domain = event->domain};
    const schema *of = llmprof_intern_seek(&l->schemas, &key);
    if (of) {
      row->communicator = field(at, blob.size, of->communicator, 8);
      row->message = field(at, blob.size, of->bytes, 8);
      if (row->payload == LLMPROF_ABSENT)
        row->payload = field(at, blob.size, of->ranks, 4);
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
  if (!spool_thread_row(l->trace->builder, section, event->tid, &row.thread) ||
      !llmprof_grow(&l->rows, &l->cap, l->count + 1, sizeof *l->rows) ||
      !llmprof_grow(&l->below, &l->below_cap, l->count + 1, sizeof *l->below))
    return false;
  l->rows[l->count] = row;
  l->below[l->count++] = below;
  return true;
}

static stack *find_stack(range_loader *l, const spool_item *item,
                         const spool_nvtx_event *event) {
  const stack none = {item->section, event->tid, event->domain, NO_ROW};
  return llmprof_intern_put(&l->stacks, &none);
}

static bool take_push(range_loader *l, const spool_item *item,
                      const spool_nvtx_event *event) {
  stack *on = find_stack(l, item, event);
  if (!on || !add_row(l, item, event, LLMPROF_PUSH_POP, on->top)) return false;
  on->top = (uint32_t)(l->count - 1);
  return true;
}

/* A pop without a push ends what began before the collector was there. */
static bool take_pop(range_loader *l, const spool_item *item,
                     const spool_nvtx_event *event) {
  stack *on = find_stack(l, item, event);
  if (!on) return false;
  uint32_t row = on->top;
  if (row == NO_ROW) return true;
  l->rows[row].end = spool_time(section_of(l, item), event->time);
  on->top = l->below[row];
  return true;
}

static pair *find_pair(range_loader *l, const spool_item *item,
                       const spool_nvtx_event *event) {
  const pair none = {event->range_id, item->section, NO_ROW, LLMPROF_NONE,
                     LLMPROF_ABSENT};
  return llmprof_intern_put(&l->pairs, &none);
}

static bool take_start(range_loader *l, const spool_item *item,
                       const spool_nvtx_event *event) {
  pair *it = find_pair(l, item, event);
  if (!it) return false;
  if (it->row != NO_ROW) return true; /* the same number again */
  it->row = (uint32_t)l->count;
  return add_row(l, item, event, LLMPROF_START_END, NO_ROW);
}

static bool take_end(range_loader *l, const spool_item *item,
                     const spool_nvtx_event *event) {
  const spool_section *section = section_of(l, item);
  pair *it = find_pair(l, item, event);
  if (!it) return false;
  it->end = spool_time(section, event->time);
  return spool_thread_row(l->trace->builder, section, event->tid,
                          &it->end_thread);
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
    llmprof_builder_range_time(l->trace->builder,
                               spool_time(section, event.time));
  return ok || llmprof_fail_nomem(err);
}

/* ---- together ---- */

static void end_pairs(range_loader *l) {
  for (uint32_t i = 0; i < l->pairs.count; i++) {
    const pair *it = llmprof_intern_get(&l->pairs, i);
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
    ok = !is_sound(row) ||
         llmprof_builder_add_range(l->trace->builder, row, err);
  }
  llmprof_free(order);
  return ok;
}

static void loader_free(range_loader *l) {
  llmprof_free(l->rows);
  llmprof_free(l->below);
  llmprof_intern_free(&l->stacks);
  llmprof_intern_free(&l->pairs);
  llmprof_intern_free(&l->schemas);
}

bool spool_load_ranges(spool_trace *trace, llmprof_error *err) {
  spool_file *file = &trace->sections.file;
  range_loader l = {.trace = trace};
  llmprof_intern_init_keyed(&l.stacks, sizeof(stack), offsetof(stack, top));
  llmprof_intern_init_keyed(&l.pairs, sizeof(pair), offsetof(pair, row));
  llmprof_intern_init_keyed(&l.schemas, sizeof(schema),
                            offsetof(schema, communicator));
  bool ok =
      spool_file_each(file, SPOOL_BIT(SPOOL_NVTX_SCHEMA), take_schema, &l,
                      err) &&
      spool_file_each(file, SPOOL_BIT(SPOOL_NVTX_EVENT), take_event, &l, err);
  if (ok) end_pairs(&l);
  ok = ok && add_sorted(&l, err);
  loader_free(&l);
  return ok;
}

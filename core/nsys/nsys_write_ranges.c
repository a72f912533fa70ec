/* NVTX ranges as nsys has them: domains and categories are rows of their own,
 * numbered per process. */

#include "frame/intern.h"
#include "llmprof/alloc.h"
#include "nsys/nsys_writer.h"
#include "trace/trace_events.h"

/* eventType */
enum {
  EVENT_CATEGORY = 33,
  EVENT_PUSH_POP = 59,
  EVENT_START_END = 60,
  EVENT_DOMAIN = 75,
};

static const char *const columns[] = {
    "start",       "end",           "eventType INTEGER NOT NULL",
    "rangeId",     "category",      "color",
    "text TEXT",   "globalTid",     "endGlobalTid",
    "textId",      "domainId",      "doubleValue REAL",
    "uint32Value", "int32Value",    "floatValue REAL",
    "jsonTextId",  "jsonText TEXT", "binaryData BLOB",
    "uint64Value", "int64Value", /* where payloads are known */
};

enum {
  PAYLOAD_COLUMNS = 2
};

/* A named domain (category NO_STRING) or a category in a process; its number
 * is that of its record. */
typedef struct scope {
  uint32_t process, domain, category;
} scope;

typedef struct range_source {
  const llmprof_ranges *ranges;
  const llmprof_thread *threads;
  llmprof_intern scopes;
  int64_t last; /* of the times of ranges that have an end */
  bool payloads, blobs;
} range_source;

static uint32_t process_of(const range_source *from, size_t row) {
  uint32_t thread = llmprof_id_at(from->ranges->thread, row);
  return thread == LLMPROF_NONE ? LLMPROF_NONE : from->threads[thread].process;
}

static scope category_of(const range_source *from, size_t row) {
  return (scope){process_of(from, row),
                 llmprof_id_at(from->ranges->domain, row),
                 llmprof_id_at(from->ranges->category, row)};
}

/* 0: the default domain; absent: no category. */
static int64_t domain_number(const range_source *from, const scope *of) {
  scope domain = {of->process, of->domain, LLMPROF_NO_STRING};
  if (of->domain == LLMPROF_NO_STRING) return 0;
  return (int64_t)llmprof_intern_find(&from->scopes, &domain) + 1;
}

static int64_t category_number(const range_source *from, const scope *of) {
  if (of->category == LLMPROF_NO_STRING) return LLMPROF_ABSENT;
  return (int64_t)llmprof_intern_find(&from->scopes, of) + 1;
}

/* ---- what comes first ---- */

static bool find_scopes(range_source *from, llmprof_error *err) {
  for (size_t row = 0; row < from->ranges->count; row++) {
    scope category = category_of(from, row);
    scope domain = {category.process, category.domain, LLMPROF_NO_STRING};
    uint32_t id;
    if ((domain.domain != LLMPROF_NO_STRING &&
         !llmprof_intern_add(&from->scopes, &domain, &id)) ||
        (category.category != LLMPROF_NO_STRING &&
         !llmprof_intern_add(&from->scopes, &category, &id)))
      return llmprof_fail_nomem(err);
  }
  return true;
}

static int64_t last_of(const llmprof_ranges *r, size_t row) {
  int64_t start = llmprof_values_get(r->start, row);
  int64_t end = llmprof_values_get(r->end, row);
  return llmprof_values_get(r->open, row) || end < start ? start : end;
}

static void look_through(range_source *from) {
  const llmprof_ranges *r = from->ranges;
  from->last = LLMPROF_ABSENT;
  for (size_t row = 0; row < r->count; row++) {
    int64_t last = last_of(r, row);
    if (last > from->last) from->last = last;
    from->blobs |= llmprof_values_get(r->communicator, row) != LLMPROF_ABSENT ||
                   llmprof_values_get(r->message, row) != LLMPROF_ABSENT;
  }
}

/* The row that names a domain or category. */
static void put_scope(nsys_sheet *sheet, const range_source *from,
                      const scope *of) {
  bool is_domain = of->category == LLMPROF_NO_STRING;
  nsys_put_nulls(sheet, 2); /* when it was named is not kept */
  nsys_put_integer(sheet, is_domain ? EVENT_DOMAIN : EVENT_CATEGORY);
  nsys_put_null(sheet);
  nsys_put_integer(sheet, category_number(from, of));
  nsys_put_null(sheet);
  nsys_put_text(sheet, is_domain ? of->domain : of->category);
  nsys_put_process(sheet, of->process);
  nsys_put_nulls(sheet, 2);
  nsys_put_integer(sheet, domain_number(from, of));
  nsys_put_nulls(sheet, 7 + (from->payloads ? PAYLOAD_COLUMNS : 0));
  nsys_end_row(sheet);
}

/* ---- what NCCL says of its calls ---- */

enum {
  WORD = 8,
  BLOB_WORDS = 6, /* parts; schema, size, where; communicator, bytes */
  HEAD_BYTES = 4 * WORD,
};

/* Schemas: which of the two words there are. */
enum {
  BOTH = 1,
  COMMUNICATOR,
  MESSAGE,
};

static void put_word(unsigned char *at, uint64_t word) {
  for (int i = 0; i < WORD; i++) at[i] = (unsigned char)(word >> 8 * i);
}

static void put_blob(nsys_sheet *sheet, int64_t communicator, int64_t message) {
  unsigned char bytes[BLOB_WORDS * WORD];
  bool who = communicator != LLMPROF_ABSENT, much = message != LLMPROF_ABSENT;
  if (!who && !much) {
    nsys_put_null(sheet);
    return;
  }
  uint64_t size = (who && much ? 2 : 1) * WORD;
  put_word(bytes, 1);
  put_word(bytes + WORD, who && much ? BOTH : who ? COMMUNICATOR : MESSAGE);
  put_word(bytes + 2 * WORD, size);
  put_word(bytes + 3 * WORD, HEAD_BYTES);
  put_word(bytes + HEAD_BYTES, (uint64_t)(who ? communicator : message));
  put_word(bytes + HEAD_BYTES + WORD, (uint64_t)message);
  nsys_put_bytes(sheet, bytes, HEAD_BYTES + (size_t)size);
}

static const struct entry {
  int64_t schema, index;
  const char *name;
  int64_t offset;
} entries[] = {
    {BOTH, 0, "NCCL communicator ID", 0},
    {BOTH, 1, "Message size [bytes]", WORD},
    {COMMUNICATOR, 0, "NCCL communicator ID", 0},
    {MESSAGE, 0, "Message size [bytes]", 0},
};

static void put_entry(nsys_sheet *sheet, const void *from, size_t i) {
  const struct entry *entry = (const struct entry *)from + i;
  nsys_put_null(sheet); /* of any domain */
  nsys_put_integer(sheet, entry->schema);
  nsys_put_integer(sheet, entry->index);
  nsys_put_chars(sheet, entry->name);
  nsys_put_integer(sheet, entry->offset);
  nsys_end_row(sheet);
}

static bool write_schemas(nsys_writer *w) {
  static const char *const entry_columns[] = {
      "domainId", "schemaId", "idx", "name TEXT", "offset",
  };
  return nsys_write_table(w, "NVTX_PAYLOAD_SCHEMA_ENTRIES", entry_columns,
                          COUNT(entry_columns), put_entry, entries,
                          COUNT(entries));
}

/* ---- ranges ---- */

/* A range left open has no end, as long as a reader gives it the same. */
static int64_t end_of(const range_source *from, size_t row) {
  const llmprof_ranges *r = from->ranges;
  int64_t end = llmprof_values_get(r->end, row);
  return llmprof_values_get(r->open, row) && end == from->last ? LLMPROF_ABSENT
                                                               : end;
}

static void put_range(nsys_sheet *sheet, const range_source *from, size_t row) {
  const llmprof_ranges *r = from->ranges;
  scope category = category_of(from, row);
  nsys_put_integer(sheet, llmprof_values_get(r->start, row));
  nsys_put_integer(sheet, end_of(from, row));
  nsys_put_integer(sheet, llmprof_values_get(r->style, row) == LLMPROF_START_END
                              ? EVENT_START_END
                              : EVENT_PUSH_POP);
  nsys_put_null(sheet);
  nsys_put_integer(sheet, category_number(from, &category));
  nsys_put_null(sheet);
  nsys_put_text(sheet, llmprof_id_at(r->text, row));
  nsys_put_thread(sheet, llmprof_id_at(r->thread, row));
  nsys_put_thread(sheet, llmprof_id_at(r->end_thread, row));
  nsys_put_null(sheet);
  nsys_put_integer(sheet, domain_number(from, &category));
  nsys_put_real(sheet, llmprof_real_of(r->payload_float, row));
  nsys_put_nulls(sheet, 5);
  put_blob(sheet, llmprof_values_get(r->communicator, row),
           llmprof_values_get(r->message, row));
  if (from->payloads) {
    nsys_put_null(sheet);
    nsys_put_integer(sheet, llmprof_values_get(r->payload, row));
  }
  nsys_end_row(sheet);
}

/* Scopes, then ranges. */
static void put_event(nsys_sheet *sheet, const void *source, size_t i) {
  const range_source *from = source;
  if (i < from->scopes.count)
    put_scope(sheet, from, llmprof_intern_get(&from->scopes, (uint32_t)i));
  else
    put_range(sheet, from, i - from->scopes.count);
}

static bool write_events(nsys_writer *w, const range_source *from) {
  w->counts.ranges = from->ranges->count;
  return nsys_write_table(
             w, "NVTX_EVENTS", columns,
             COUNT(columns) - (from->payloads ? 0 : PAYLOAD_COLUMNS), put_event,
             from, from->scopes.count + from->ranges->count) &&
         (!from->blobs || write_schemas(w));
}

bool nsys_write_ranges(nsys_writer *w) {
  llmprof_error *err = w->edit->err;
  size_t count;
  range_source from = {.ranges = llmprof_trace_ranges(w->trace, err),
                       .threads = llmprof_trace_threads(w->trace, &count)};
  int payloads = llmprof_trace_knows(w->trace, LLMPROF_KNOWS_PAYLOADS, err);
  if (payloads < 0) return false;
  from.payloads = payloads > 0;
  if (!llmprof_trace_has(w->trace, LLMPROF_TABLE_RANGES)) return true;
  llmprof_intern_init(&from.scopes, sizeof(scope));
  look_through(&from);
  bool ok = find_scopes(&from, err) && write_events(w, &from);
  llmprof_intern_free(&from.scopes);
  return ok;
}

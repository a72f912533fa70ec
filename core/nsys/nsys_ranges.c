/* NVTX ranges of an export. Domain and category names are events themselves
 * and may come after the ranges that use them: ranges first keep nsys's
 * numbers, and get their names when the table is through. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "nsys/nsys_internal.h"
#include "nsys/nsys_payload.h"

/* eventType, as nsys numbers it */
enum {
  EVENT_CATEGORY = 33,
  EVENT_PUSH_POP = 59,
  EVENT_START_END = 60,
  EVENT_IMPORTED_PUSH_POP = 70,
  EVENT_IMPORTED_START_END = 71,
  EVENT_DOMAIN = 75,
};

enum {
  NVTX_START,
  NVTX_END,
  NVTX_TYPE,
  NVTX_CATEGORY,
  NVTX_THREAD,
  NVTX_END_THREAD,
  NVTX_TEXT_ID,
  NVTX_DOMAIN,
  NVTX_INT64,
  NVTX_UINT64,
  NVTX_INT32,
  NVTX_UINT32,
  NVTX_INTS,
  NVTX_TEXT = 0, /* text columns count on their own */
  NVTX_DOUBLE,
  NVTX_FLOAT,
  NVTX_BLOB,
  NVTX_TEXTS,
};

static const char *const columns[] = {
    [NVTX_START] = "start",
    [NVTX_END] = "end",
    [NVTX_TYPE] = "eventType",
    [NVTX_CATEGORY] = "category",
    [NVTX_THREAD] = "globalTid",
    [NVTX_END_THREAD] = "endGlobalTid",
    [NVTX_TEXT_ID] = "textId",
    [NVTX_DOMAIN] = "domainId",
    [NVTX_INT64] = "int64Value",
    [NVTX_UINT64] = "uint64Value",
    [NVTX_INT32] = "int32Value",
    [NVTX_UINT32] = "uint32Value",
    [NVTX_INTS + NVTX_TEXT] = "text",
    [NVTX_INTS + NVTX_DOUBLE] = "doubleValue",
    [NVTX_INTS + NVTX_FLOAT] = "floatValue",
    [NVTX_INTS + NVTX_BLOB] = "binaryData",
};

/* A domain, or a category of one, in a process. */
typedef struct scope {
  uint32_t process, domain, category; /* category LLMPROF_NONE: the domain */
  uint32_t name;                      /* string */
} scope;

typedef struct range_loader {
  nsys_export *export;
  llmprof_builder *builder;
  llmprof_intern payloads; /* of nsys_payload_schema */
  llmprof_intern scopes;   /* those that have names; the first of each counts */
  llmprof_intern used;     /* domains of ranges */
  bool left_open;          /* a range has no end */
} range_loader;

/* ---- events ---- */

static bool event_text(const range_loader *l, const llmprof_scan *scan,
                       const int64_t *values, uint32_t *text) {
  *text = llmprof_nsys_string(l->export, values[NVTX_TEXT_ID]);
  return *text != LLMPROF_NO_STRING ||
         llmprof_nsys_text(l->builder, scan, NVTX_TEXT, text);
}

static bool name_scope(range_loader *l, const llmprof_scan *scan,
                       const int64_t *values) {
  scope named = {.domain = llmprof_u32(values[NVTX_DOMAIN]),
                 .category = values[NVTX_TYPE] == EVENT_CATEGORY
                                 ? llmprof_u32(values[NVTX_CATEGORY])
                                 : LLMPROF_NONE};
  return llmprof_nsys_process(l->builder, values[NVTX_THREAD],
                              &named.process) &&
         event_text(l, scan, values, &named.name) &&
         llmprof_intern_put(&l->scopes, &named);
}

/* Remember the domain of a range, but the default one. */
static bool use_domain(range_loader *l, const int64_t *values) {
  scope used = {.domain = llmprof_u32(values[NVTX_DOMAIN]),
                .category = LLMPROF_NONE};
  return !used.domain || used.domain == LLMPROF_NONE ||
         (llmprof_nsys_process(l->builder, values[NVTX_THREAD],
                               &used.process) &&
          llmprof_intern_put(&l->used, &used));
}

static int64_t integer_payload(const int64_t *values) {
  for (int i = NVTX_INT64; i <= NVTX_UINT32; i++) {
    if (values[i] != LLMPROF_ABSENT) return values[i];
  }
  return LLMPROF_ABSENT;
}

static double float_payload(const llmprof_scan *scan) {
  double value = llmprof_scan_double(scan, NVTX_DOUBLE);
  return isnan(value) ? llmprof_scan_double(scan, NVTX_FLOAT) : value;
}

/* A call that makes a communicator has the number of its ranks as payload. */
static void read_payload(const range_loader *l, const llmprof_scan *scan,
                         llmprof_range_row *row) {
  row->communicator = row->message = LLMPROF_ABSENT;
  if (!l->payloads.count) return;
  size_t size;
  const char *bytes = llmprof_scan_text(scan, NVTX_BLOB, &size);
  nsys_payload read = nsys_payload_read(&l->payloads, bytes, size);
  row->communicator = read.communicator;
  row->message = read.message;
  if (row->payload == LLMPROF_ABSENT) row->payload = read.ranks;
}

static bool add_range(range_loader *l, const llmprof_scan *scan,
                      const int64_t *values, llmprof_error *err) {
  int64_t start = values[NVTX_START], end = values[NVTX_END];
  if (!llmprof_nsys_has_time(l->export, start,
                             end == LLMPROF_ABSENT ? start : end)) {
    llmprof_builder_timeless(l->builder, LLMPROF_TABLE_RANGES);
    return true;
  }
  bool is_pair = values[NVTX_TYPE] == EVENT_START_END ||
                 values[NVTX_TYPE] == EVENT_IMPORTED_START_END;
  llmprof_range_row row = {
      .start = llmprof_nsys_time(l->export, start),
      .end = end == LLMPROF_ABSENT ? end : llmprof_nsys_time(l->export, end),
      .domain = llmprof_u32(values[NVTX_DOMAIN]),
      .category = llmprof_u32(values[NVTX_CATEGORY]),
      .payload = integer_payload(values),
      .payload_float = float_payload(scan),
      .style = is_pair ? LLMPROF_START_END : LLMPROF_PUSH_POP,
  };
  if (!llmprof_nsys_thread(l->export, l->builder, values[NVTX_THREAD],
                           &row.thread) ||
      !llmprof_nsys_thread(l->export, l->builder, values[NVTX_END_THREAD],
                           &row.end_thread) ||
      !event_text(l, scan, values, &row.text) || !use_domain(l, values))
    return llmprof_fail_nomem(err);
  read_payload(l, scan, &row);
  if (row.end == LLMPROF_ABSENT) l->left_open = true;
  return llmprof_builder_add_range(l->builder, &row, err);
}

static bool take_event(range_loader *l, const llmprof_scan *scan,
                       const int64_t *values, llmprof_error *err) {
  switch (values[NVTX_TYPE]) {
  case EVENT_PUSH_POP:
  case EVENT_START_END:
  case EVENT_IMPORTED_PUSH_POP:
  case EVENT_IMPORTED_START_END:
    return add_range(l, scan, values, err);
  case EVENT_DOMAIN:
  case EVENT_CATEGORY:
    if (!name_scope(l, scan, values)) return llmprof_fail_nomem(err);
    break;
  default:
    break;
  }
  for (int i = NVTX_START; i <= NVTX_END; i++) {
    int64_t time = llmprof_nsys_time(l->export, values[i]);
    if (llmprof_nsys_is_time(time))
      llmprof_builder_range_time(l->builder, time);
  }
  return true;
}

static bool scan_events(range_loader *l, llmprof_scan *scan,
                        llmprof_error *err) {
  int64_t values[NVTX_INTS];
  int got;
  while ((got = llmprof_scan_next(scan, values, err)) == 1) {
    if (!take_event(l, scan, values, err)) return false;
  }
  return got == 0;
}

/* Ranges that are left open last as long as the program calls CUDA. */
static bool last_call(range_loader *l, llmprof_error *err) {
  int has = l->left_open
                ? llmprof_sqlite_has(l->export->db,
                                     "CUPTI_ACTIVITY_KIND_RUNTIME", NULL, err)
                : 0;
  if (has != 1) return has == 0;
  char sql[160];
  snprintf(sql, sizeof sql,
           "SELECT max(\"end\" - %" PRId64 ") FROM CUPTI_ACTIVITY_KIND_RUNTIME "
           "WHERE \"end\" - %" PRId64 " <= 1 << 60",
           l->export->origin, l->export->origin);
  llmprof_query *query = llmprof_sqlite_query(l->export->db, sql, err);
  int got = query ? llmprof_query_step(query, err) : -1;
  int64_t last = LLMPROF_ABSENT;
  if (got == 1) llmprof_query_ints(query, &last, 1);
  llmprof_query_free(query);
  if (last != LLMPROF_ABSENT) llmprof_builder_range_time(l->builder, last);
  return got >= 0;
}

/* ---- names ---- */

static uint32_t scope_name(const range_loader *l, uint32_t process,
                           uint32_t domain, uint32_t category) {
  const scope wanted = {process, domain, category, LLMPROF_NO_STRING};
  const scope *found = llmprof_intern_seek(&l->scopes, &wanted);
  return found ? found->name : LLMPROF_NO_STRING;
}

/* Domains but the default one that nobody named are called by their numbers:
 * without a name their ranges would be of the default one. */
static bool name_unnamed(range_loader *l) {
  char name[32];
  for (uint32_t i = 0; i < l->used.count; i++) {
    scope used = *(const scope *)llmprof_intern_get(&l->used, i);
    int size = snprintf(name, sizeof name, "domain %" PRIu32, used.domain);
    if (!llmprof_builder_text(l->builder, name, (size_t)size, &used.name) ||
        !llmprof_intern_put(&l->scopes, &used))
      return false;
  }
  return true;
}

static void name_range(void *user, uint32_t process, uint32_t *domain,
                       uint32_t *category) {
  const range_loader *l = user;
  if (*category == LLMPROF_NONE)
    *category = LLMPROF_NO_STRING;
  else
    *category = scope_name(l, process, *domain, *category);
  *domain = scope_name(l, process, *domain, LLMPROF_NONE);
}

static bool load(range_loader *l, llmprof_error *err) {
  static const nsys_table table = {
      .spec = {"NVTX_EVENTS", columns, NVTX_INTS, NVTX_TEXTS},
      .recorded_as = LLMPROF_TABLE_RANGES,
      .fact = LLMPROF_KNOWS_PAYLOADS,
      .known_by = NVTX_INT64,
  };
  llmprof_scan *scan;
  if (!nsys_payloads_load(&l->payloads, l->export, err)) return false;
  if (!llmprof_nsys_open_table(l->export, l->builder, &table, &scan, err))
    return false;
  bool ok = !scan || scan_events(l, scan, err);
  llmprof_scan_close(scan);
  if (!ok || !last_call(l, err)) return false;
  if (!name_unnamed(l)) return llmprof_fail_nomem(err);
  llmprof_builder_name_scopes(l->builder, name_range, l);
  return true;
}

bool llmprof_nsys_load_ranges(nsys_export *export, llmprof_builder *builder,
                              llmprof_error *err) {
  range_loader l = {.export = export, .builder = builder};
  llmprof_intern_init_keyed(&l.payloads, sizeof(nsys_payload_schema),
                            sizeof(int64_t));
  llmprof_intern_init_keyed(&l.scopes, sizeof(scope), offsetof(scope, name));
  llmprof_intern_init_keyed(&l.used, sizeof(scope), offsetof(scope, name));
  bool ok = load(&l, err);
  llmprof_intern_free(&l.payloads);
  llmprof_intern_free(&l.scopes);
  llmprof_intern_free(&l.used);
  return ok;
}

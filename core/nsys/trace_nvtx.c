/* NVTX ranges into columns. Domain and category names are events themselves
 * and may come after the ranges that use them, so ranges first keep raw ids
 * and get their names when the table is through. */
#include <math.h>
#include <string.h>

#include "llmprof/alloc.h"
#include "llmprof/buffer.h"
#include "trace/trace_model.h"

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
  NVTX_TEXTS,
};

static const char *const columns[] = {
    "start",        "end",         "eventType", "category",    "globalTid",
    "endGlobalTid", "textId",      "domainId",  "int64Value",  "uint64Value",
    "int32Value",   "uint32Value", "text",      "doubleValue", "floatValue",
};

/* A domain, or a category of one, in a process. */
typedef struct scope {
  uint32_t process, domain, category; /* category LLMPROF_NONE: the domain */
} scope;

typedef struct loader {
  llmprof_trace *trace;
  size_t cap;
  int64_t last_time;     /* of any NVTX event */
  llmprof_intern scopes; /* of scope */
  uint32_t *scope_names; /* by scope id */
  size_t scope_names_cap;
  llmprof_intern tags; /* of {domain, text} strings */
  uint32_t *plain_tags, *colon_tags;
  size_t plain_cap, colon_cap;
} loader;

void llmprof_ranges_free(llmprof_ranges *r) {
  llmprof_free(r->start);
  llmprof_free(r->end);
  llmprof_free(r->thread);
  llmprof_free(r->end_thread);
  llmprof_free(r->text);
  llmprof_free(r->tag);
  llmprof_free(r->colon_tag);
  llmprof_free(r->domain);
  llmprof_free(r->category);
  llmprof_free(r->payload);
  llmprof_free(r->payload_float);
  llmprof_free(r->style);
  llmprof_free(r->open);
  *r = (llmprof_ranges){0};
}

static bool resize(llmprof_ranges *r, size_t cap) {
  return GROW(r->start, cap) && GROW(r->end, cap) && GROW(r->thread, cap) &&
         GROW(r->end_thread, cap) && GROW(r->text, cap) && GROW(r->tag, cap) &&
         GROW(r->colon_tag, cap) && GROW(r->domain, cap) &&
         GROW(r->category, cap) && GROW(r->payload, cap) &&
         GROW(r->payload_float, cap) && GROW(r->style, cap) &&
         GROW(r->open, cap);
}

/* ---- reading events ---- */

static bool event_text(loader *l, const llmprof_scan *scan,
                       const int64_t *values, uint32_t *text) {
  *text = llmprof_trace_string(l->trace, values[NVTX_TEXT_ID]);
  return *text != LLMPROF_NO_STRING ||
         llmprof_trace_text(l->trace, scan, NVTX_TEXT, text);
}

/* A domain or category was named; the first name counts. */
static bool name_scope(loader *l, const llmprof_scan *scan,
                       const int64_t *values) {
  scope named = {.domain = llmprof_u32(values[NVTX_DOMAIN]),
                 .category = values[NVTX_TYPE] == EVENT_CATEGORY
                                 ? llmprof_u32(values[NVTX_CATEGORY])
                                 : LLMPROF_NONE};
  uint32_t id, text;
  size_t before = l->scopes.count;
  if (!llmprof_trace_process_row(l->trace, values[NVTX_THREAD],
                                 &named.process) ||
      !event_text(l, scan, values, &text) ||
      !llmprof_intern_add(&l->scopes, &named, &id) ||
      !llmprof_grow(&l->scope_names, &l->scope_names_cap, id + (size_t)1,
                    sizeof *l->scope_names))
    return false;
  if (l->scopes.count > before) l->scope_names[id] = text;
  return true;
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

static bool append(loader *l, const llmprof_scan *scan, const int64_t *values) {
  llmprof_ranges *r = &l->trace->ranges;
  size_t row = r->count;
  if (!llmprof_trace_thread_row(l->trace, values[NVTX_THREAD],
                                &r->thread[row]) ||
      !llmprof_trace_thread_row(l->trace, values[NVTX_END_THREAD],
                                &r->end_thread[row]) ||
      !event_text(l, scan, values, &r->text[row]))
    return false;
  r->start[row] = values[NVTX_START];
  r->end[row] = values[NVTX_END];
  r->open[row] = values[NVTX_END] == LLMPROF_ABSENT;
  r->domain[row] = llmprof_u32(values[NVTX_DOMAIN]);     /* named later */
  r->category[row] = llmprof_u32(values[NVTX_CATEGORY]); /* named later */
  r->payload[row] = integer_payload(values);
  r->payload_float[row] = float_payload(scan);
  r->style[row] = values[NVTX_TYPE] == EVENT_START_END ||
                          values[NVTX_TYPE] == EVENT_IMPORTED_START_END
                      ? LLMPROF_START_END
                      : LLMPROF_PUSH_POP;
  r->count++;
  return true;
}

static bool take_event(loader *l, const llmprof_scan *scan,
                       const int64_t *values) {
  if (values[NVTX_START] > l->last_time) l->last_time = values[NVTX_START];
  if (values[NVTX_END] > l->last_time) l->last_time = values[NVTX_END];
  switch (values[NVTX_TYPE]) {
  case EVENT_PUSH_POP:
  case EVENT_START_END:
  case EVENT_IMPORTED_PUSH_POP:
  case EVENT_IMPORTED_START_END:
    return append(l, scan, values);
  case EVENT_DOMAIN:
  case EVENT_CATEGORY:
    return name_scope(l, scan, values);
  default:
    return true;
  }
}

static bool scan_events(loader *l, llmprof_scan *scan, llmprof_error *err) {
  llmprof_ranges *r = &l->trace->ranges;
  size_t hint = llmprof_scan_hint(scan);
  int64_t values[NVTX_INTS];
  int got;
  while ((got = llmprof_scan_next(scan, values, err)) == 1) {
    if (r->count == l->cap) {
      l->cap = l->cap < hint ? hint : l->cap + l->cap / 2 + 64;
      if (l->cap > UINT32_MAX - 1) l->cap = UINT32_MAX - 1;
      if (l->cap == r->count)
        return llmprof_fail(err, LLMPROF_LIMIT,
                            "%s: NVTX_EVENTS has more than 4294967294 rows",
                            l->trace->path);
      if (!resize(r, l->cap)) return llmprof_fail_nomem(err);
    }
    if (!take_event(l, scan, values)) return llmprof_fail_nomem(err);
  }
  return got == 0;
}

/* ---- names ---- */

static uint32_t scope_name(const loader *l, uint32_t process, uint32_t domain,
                           uint32_t category) {
  scope wanted = {process, domain, category};
  uint32_t id = llmprof_intern_find(&l->scopes, &wanted);
  return id == UINT32_MAX ? LLMPROF_NO_STRING : l->scope_names[id];
}

static bool make_tag(loader *l, uint32_t domain, uint32_t text, bool colon,
                     uint32_t *tag) {
  llmprof_strings *pool = l->trace->strings;
  *tag = text;
  if (text == LLMPROF_NO_STRING || (domain == LLMPROF_NO_STRING && !colon))
    return true;
  llmprof_buffer name = {0};
  size_t size;
  const char *bytes = llmprof_strings_get(pool, domain, &size);
  if (bytes) llmprof_buffer_add(&name, bytes, size);
  llmprof_buffer_putc(&name, ':');
  bytes = llmprof_strings_get(pool, text, &size);
  llmprof_buffer_add(&name, bytes, size);
  bool ok =
      !name.failed && llmprof_strings_add(pool, name.bytes, name.size, tag);
  llmprof_buffer_free(&name);
  return ok;
}

/* Each pair of domain and text is spelled out once. */
static bool find_tags(loader *l, uint32_t domain, uint32_t text, uint32_t *id) {
  const uint32_t pair[2] = {domain, text};
  size_t before = l->tags.count;
  if (!llmprof_intern_add(&l->tags, pair, id) ||
      !llmprof_grow(&l->plain_tags, &l->plain_cap, *id + (size_t)1,
                    sizeof *l->plain_tags) ||
      !llmprof_grow(&l->colon_tags, &l->colon_cap, *id + (size_t)1,
                    sizeof *l->colon_tags))
    return false;
  return l->tags.count == before ||
         (make_tag(l, domain, text, false, &l->plain_tags[*id]) &&
          make_tag(l, domain, text, true, &l->colon_tags[*id]));
}

static bool finish_row(loader *l, size_t row) {
  llmprof_ranges *r = &l->trace->ranges;
  uint32_t process = LLMPROF_NONE, tags;
  if (r->thread[row] != LLMPROF_NONE)
    process = l->trace->threads[r->thread[row]].process;
  uint32_t domain = r->domain[row];
  r->domain[row] = scope_name(l, process, domain, LLMPROF_NONE);
  if (r->category[row] == LLMPROF_NONE)
    r->category[row] = LLMPROF_NO_STRING;
  else
    r->category[row] = scope_name(l, process, domain, r->category[row]);
  if (!find_tags(l, r->domain[row], r->text[row], &tags)) return false;
  r->tag[row] = l->plain_tags[tags];
  r->colon_tag[row] = l->colon_tags[tags];
  if (r->open[row]) r->end[row] = l->last_time;
  if (r->end_thread[row] == r->thread[row]) r->end_thread[row] = LLMPROF_NONE;
  return true;
}

static bool load(loader *l, llmprof_error *err) {
  static const llmprof_scan_spec spec = {"NVTX_EVENTS", columns, NVTX_INTS,
                                         NVTX_TEXTS};
  llmprof_scan *scan;
  if (!llmprof_scan_open(l->trace->db, &spec, &scan, err)) return false;
  l->trace->has[LLMPROF_TABLE_RANGES] = scan != NULL;
  bool ok = !scan || scan_events(l, scan, err);
  llmprof_scan_close(scan);
  for (size_t row = 0; ok && row < l->trace->ranges.count; row++)
    ok = finish_row(l, row) || llmprof_fail_nomem(err);
  return ok;
}

const llmprof_ranges *llmprof_trace_ranges(llmprof_trace *trace,
                                           llmprof_error *err) {
  if (trace->ranges_loaded) return &trace->ranges;
  loader l = {.trace = trace, .last_time = INT64_MIN};
  llmprof_intern_init(&l.scopes, sizeof(scope));
  llmprof_intern_init(&l.tags, 2 * sizeof(uint32_t));
  trace->ranges_loaded = load(&l, err);
  if (!trace->ranges_loaded) llmprof_ranges_free(&trace->ranges);
  llmprof_intern_free(&l.scopes);
  llmprof_intern_free(&l.tags);
  llmprof_free(l.scope_names);
  llmprof_free(l.plain_tags);
  llmprof_free(l.colon_tags);
  return trace->ranges_loaded ? &trace->ranges : NULL;
}

/* The builder's ranges: rows as they come; tags, and ends of those left open,
 * when all are there. */
#include "base/alloc.h"
#include "base/buffer.h"
#include "trace/trace_events.h"
#include "trace/trace_internal.h"

static bool grow(llmprof_builder *b, llmprof_error *err) {
  llmprof_ranges *ranges = &b->trace->ranges;
  size_t cap;
  if (!llmprof_builder_grow(b, ranges->count, b->range_cap, "ranges", &cap,
                            err))
    return false;
  if (!llmprof_ranges_resize(ranges, cap)) return llmprof_fail_nomem(err);
  b->range_cap = cap;
  return true;
}

void llmprof_builder_range_time(llmprof_builder *b, int64_t ns) {
  if (ns > b->last_time) b->last_time = ns;
}

bool llmprof_builder_add_range(llmprof_builder *b,
                               const llmprof_range_row *range,
                               llmprof_error *err) {
  llmprof_ranges *r = &b->trace->ranges;
  size_t row = r->count;
  if (row == b->range_cap && !grow(b, err)) return false;
  llmprof_builder_range_time(b, range->start);
  llmprof_builder_range_time(b, range->end);
  r->start[row] = range->start;
  r->end[row] = range->end;
  r->thread[row] = range->thread;
  r->end_thread[row] = range->end_thread;
  r->text[row] = range->text;
  r->domain[row] = range->domain;
  r->category[row] = range->category;
  r->payload[row] = range->payload;
  r->payload_float[row] = range->payload_float;
  r->communicator[row] = range->communicator;
  r->message[row] = range->message;
  r->style[row] = (uint8_t)range->style;
  r->open[row] = range->end == LLMPROF_ABSENT;
  r->count = row + 1;
  return true;
}

void llmprof_builder_name_scopes(llmprof_builder *b, llmprof_scope_namer name,
                                 void *user) {
  llmprof_ranges *r = &b->trace->ranges;
  for (size_t row = 0; row < r->count; row++) {
    uint32_t thread = r->thread[row];
    uint32_t process = thread == LLMPROF_NONE
                           ? LLMPROF_NONE
                           : b->trace->threads[thread].process;
    name(user, process, &r->domain[row], &r->category[row]);
  }
}

/* ---- tags ---- */

/* The two tags of each pair of domain and text, spelled out once. */
typedef struct tag_table {
  llmprof_strings *pool;
  llmprof_intern pairs; /* of {domain, text} strings */
  uint32_t *plain, *colon;
  size_t plain_cap, colon_cap;
} tag_table;

static bool make_tag(tag_table *t, uint32_t domain, uint32_t text, bool colon,
                     uint32_t *tag) {
  *tag = text;
  if (text == LLMPROF_NO_STRING || (domain == LLMPROF_NO_STRING && !colon))
    return true;
  llmprof_buffer name = {0};
  size_t size;
  const char *bytes = llmprof_strings_get(t->pool, domain, &size);
  if (bytes) llmprof_buffer_add(&name, bytes, size);
  llmprof_buffer_putc(&name, ':');
  bytes = llmprof_strings_get(t->pool, text, &size);
  llmprof_buffer_add(&name, bytes, size);
  bool ok =
      !name.failed && llmprof_strings_add(t->pool, name.bytes, name.size, tag);
  llmprof_buffer_free(&name);
  return ok;
}

static bool find_tags(tag_table *t, uint32_t domain, uint32_t text,
                      uint32_t *id) {
  const uint32_t pair[2] = {domain, text};
  size_t before = t->pairs.count;
  if (!llmprof_intern_add(&t->pairs, pair, id) ||
      !llmprof_grow(&t->plain, &t->plain_cap, *id + (size_t)1,
                    sizeof *t->plain) ||
      !llmprof_grow(&t->colon, &t->colon_cap, *id + (size_t)1,
                    sizeof *t->colon))
    return false;
  return t->pairs.count == before ||
         (make_tag(t, domain, text, false, &t->plain[*id]) &&
          make_tag(t, domain, text, true, &t->colon[*id]));
}

static bool end_range(const llmprof_builder *b, tag_table *t, size_t row) {
  llmprof_ranges *r = &b->trace->ranges;
  uint32_t tags;
  if (!find_tags(t, r->domain[row], r->text[row], &tags)) return false;
  r->tag[row] = t->plain[tags];
  r->colon_tag[row] = t->colon[tags];
  if (r->open[row]) r->end[row] = b->last_time;
  if (r->end_thread[row] == r->thread[row]) r->end_thread[row] = LLMPROF_NONE;
  return true;
}

bool llmprof_builder_end_ranges(llmprof_builder *b, llmprof_error *err) {
  tag_table tags = {.pool = b->trace->strings};
  llmprof_intern_init(&tags.pairs, 2 * sizeof(uint32_t));
  bool ok = true;
  for (size_t row = 0; ok && row < b->trace->ranges.count; row++)
    ok = end_range(b, &tags, row);
  llmprof_intern_free(&tags.pairs);
  llmprof_free(tags.plain);
  llmprof_free(tags.colon);
  return ok || llmprof_fail_nomem(err);
}

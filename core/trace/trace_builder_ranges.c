/* The builder's ranges: columns as rows come; tags, and ends of those left
 * open, when all are there. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "trace/trace_events.h"
#include "trace/trace_internal.h"

void llmprof_builder_range_time(llmprof_builder *b, int64_t ns) {
  if (ns > b->last_time) b->last_time = ns;
}

static bool put(llmprof_ranges *r, const llmprof_range_row *range) {
  uint32_t end_thread = range->end_thread;
  if (end_thread == range->thread) end_thread = LLMPROF_NONE;
  return llmprof_values_append(r->start, range->start) &&
         llmprof_values_append(r->thread, llmprof_widen(range->thread)) &&
         llmprof_values_append(r->end_thread, llmprof_widen(end_thread)) &&
         llmprof_values_append(r->text, llmprof_widen(range->text)) &&
         llmprof_values_append(r->payload, range->payload) &&
         llmprof_values_append(r->payload_float,
                               llmprof_real_cell(range->payload_float)) &&
         llmprof_values_append(r->communicator, range->communicator) &&
         llmprof_values_append(r->message, range->message) &&
         llmprof_values_append(r->style, range->style) &&
         llmprof_values_append(r->open, range->end == LLMPROF_ABSENT);
}

bool llmprof_builder_add_range(llmprof_builder *b,
                               const llmprof_range_row *range,
                               llmprof_error *err) {
  llmprof_ranges *r = &b->trace->ranges;
  if (!llmprof_builder_may_add(b, r->count, "ranges", err)) return false;
  if (!llmprof_grow(&b->late, &b->late_cap, r->count + 1, sizeof *b->late))
    return llmprof_fail_nomem(err);
  llmprof_builder_range_time(b, range->start);
  llmprof_builder_range_time(b, range->end);
  b->late[r->count++] = (llmprof_late_range){
      range->start,  range->end,      range->thread, range->text,
      range->domain, range->category, range->style};
  return put(r, range) || llmprof_fail_nomem(err);
}

void llmprof_builder_name_scopes(llmprof_builder *b, llmprof_scope_namer name,
                                 void *user) {
  for (size_t row = 0; row < b->trace->ranges.count; row++) {
    llmprof_late_range *late = &b->late[row];
    uint32_t process = late->thread == LLMPROF_NONE
                           ? LLMPROF_NONE
                           : llmprof_thread_at(b->trace, late->thread)->process;
    name(user, process, &late->domain, &late->category);
  }
}

/* ---- tags ---- */

/* The two tags of a pair of domain and text, all of them strings. */
typedef struct tags {
  uint32_t domain, text;
  uint32_t plain, colon;
} tags;

static bool make_tag(llmprof_strings *pool, uint32_t domain, uint32_t text,
                     bool colon, uint32_t *tag) {
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

/* Each pair is spelled out once; NULL when out of memory. */
static const tags *find_tags(llmprof_strings *pool, llmprof_intern *known,
                             uint32_t domain, uint32_t text) {
  tags made = {.domain = domain, .text = text};
  const tags *found = llmprof_intern_seek(known, &made);
  if (found) return found;
  return make_tag(pool, domain, text, false, &made.plain) &&
                 make_tag(pool, domain, text, true, &made.colon)
             ? llmprof_intern_put(known, &made)
             : NULL;
}

static bool end_range(const llmprof_builder *b, llmprof_intern *known,
                      const llmprof_late_range *late) {
  llmprof_ranges *r = &b->trace->ranges;
  int64_t end = late->end == LLMPROF_ABSENT ? b->last_time : late->end;
  const tags *of =
      find_tags(b->trace->strings, known, late->domain, late->text);
  return of && llmprof_values_append(r->end, end) &&
         llmprof_values_append(r->tag, llmprof_widen(of->plain)) &&
         llmprof_values_append(r->colon_tag, llmprof_widen(of->colon)) &&
         llmprof_values_append(r->domain, llmprof_widen(late->domain)) &&
         llmprof_values_append(r->category, llmprof_widen(late->category));
}

/* ---- ranges left open ---- */

typedef struct push {
  int64_t start;
  uint32_t thread, row;
} push;

static int in_order(const void *a, const void *b) {
  const push *x = a, *y = b;
  if (x->thread != y->thread) return x->thread < y->thread ? -1 : 1;
  if (x->start != y->start) return x->start < y->start ? -1 : 1;
  return (x->row > y->row) - (x->row < y->row);
}

static bool any_open(const llmprof_builder *b) {
  for (size_t row = 0; b->late && row < b->trace->ranges.count; row++) {
    if (b->late[row].end == LLMPROF_ABSENT) return true;
  }
  return false;
}

/* Rows of pushed ranges by thread and start; how many. */
static size_t list_pushes(const llmprof_builder *b, push *list) {
  size_t count = 0;
  for (size_t row = 0; row < b->trace->ranges.count; row++) {
    const llmprof_late_range *late = &b->late[row];
    if (late->style == LLMPROF_PUSH_POP)
      list[count++] = (push){late->start, late->thread, (uint32_t)row};
  }
  qsort(list, count, sizeof *list, in_order);
  return count;
}

/* What is around a push, and the last one of each name that is open. */
typedef struct nesting {
  int64_t *ends; /* of what is around, the innermost last */
  size_t depth;
  llmprof_intern pending; /* by name */
} nesting;

typedef struct pending {
  uint32_t thread, domain, text;
  uint32_t last; /* row + 1; 0: none is open */
} pending;

/* The end of one that is open, of a name: where the next of that name begins.
 */
static bool end_pending(llmprof_builder *b, nesting *n, const push *at) {
  llmprof_late_range *late = &b->late[at->row];
  const pending none = {at->thread, late->domain, late->text, 0};
  pending *named = llmprof_intern_put(&n->pending, &none);
  if (!named) return false;
  uint32_t last = named->last;
  if (last && b->late[last - 1].start < at->start &&
      b->late[last - 1].end > at->start)
    b->late[last - 1].end = at->start;
  named->last = late->end == LLMPROF_ABSENT ? at->row + 1 : 0;
  return true;
}

/* What was pushed is popped before what is around it, and a loop pops a step
 * before it pushes the next: ranges without an end have that of what is around
 * them, or end where the next of their name begins; else with the trace. */
static bool end_open(llmprof_builder *b, nesting *n, const push *list,
                     size_t count) {
  for (size_t i = 0; i < count; i++) {
    const push *at = &list[i];
    if (i && at->thread != list[i - 1].thread) n->depth = 0;
    while (n->depth && n->ends[n->depth - 1] < at->start) n->depth--;
    if (!end_pending(b, n, at)) return false;
    int64_t *end = &b->late[at->row].end;
    if (*end == LLMPROF_ABSENT)
      *end = n->depth ? n->ends[n->depth - 1] : b->last_time;
    n->ends[n->depth++] = *end;
  }
  return true;
}

static bool end_pushes(llmprof_builder *b) {
  if (!any_open(b)) return true;
  size_t rows = b->trace->ranges.count;
  push *list = llmprof_alloc(rows, sizeof *list);
  nesting n = {.ends = llmprof_alloc(rows, sizeof *n.ends)};
  llmprof_intern_init_keyed(&n.pending, sizeof(pending), 3 * sizeof(uint32_t));
  bool ok = list && n.ends && end_open(b, &n, list, list_pushes(b, list));
  llmprof_intern_free(&n.pending);
  llmprof_free(n.ends);
  llmprof_free(list);
  return ok;
}

/* Ranges that were taken as they are kept have nothing that is late. */
bool llmprof_builder_end_ranges(llmprof_builder *b, llmprof_error *err) {
  llmprof_intern known;
  llmprof_intern_init_keyed(&known, sizeof(tags), 2 * sizeof(uint32_t));
  bool ok = end_pushes(b);
  for (size_t row = 0; ok && b->late && row < b->trace->ranges.count; row++)
    ok = end_range(b, &known, &b->late[row]);
  llmprof_intern_free(&known);
  llmprof_builder_forget_ranges(b);
  return ok || llmprof_fail_nomem(err);
}

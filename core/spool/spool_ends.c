/* Copies and sets with a wrong end. CUPTI tells one that it runs until the
 * recording ends: the last before the first launch of a graph, where CUPTI
 * subscribed late. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "spool/spool_internal.h"

#define OP_OF(type, node, again)                             \
  {                                                          \
    type op;                                                 \
    spool_item_get(item, &op, sizeof op);                    \
    return (spool_op){op.start,   op.end,    op.device,      \
                      op.context, op.stream, op.correlation, \
                      op.stack,   node,      again};         \
  }

spool_op spool_op_of(const spool_item *item) {
  switch (item->kind) {
  case SPOOL_KERNEL:
    OP_OF(spool_kernel, op.graph_node, op.replayed)
  case SPOOL_MEMCPY:
    OP_OF(spool_memcpy, op.graph_node, false)
  case SPOOL_MEMSET:
    OP_OF(spool_memset, op.graph_node, false)
  default:
    OP_OF(spool_graph, 0, false)
  }
}

/* An operation of a stream; sorted in this order, without padding. */
typedef struct timed {
  uint32_t section, device, context, stream;
  int64_t start, end;
} timed;

/* Those that may be wrong, by stream and start. */
typedef struct candidates {
  spool_trace *trace;
  timed *list;
  size_t count, cap;
} candidates;

static timed timed_of(const spool_item *item, const spool_op *op) {
  return (timed){item->section, op->device, op->context,
                 op->stream,    op->start,  op->end};
}

static bool has_time(const spool_op *op) {
  return !op->replayed && op->start != 0 && op->end >= op->start;
}

static int compare_streams(const timed *a, const timed *b) {
  return memcmp(a, b, offsetof(timed, start));
}

static int compare(const void *a, const void *b) {
  const timed *x = a, *y = b;
  int streams = compare_streams(x, y);
  if (streams) return streams;
  return x->start < y->start ? -1 : x->start > y->start;
}

/* Nodes of a graph may run beside others. */
static bool take_candidate(void *user, const spool_item *item,
                           llmprof_error *err) {
  candidates *c = user;
  spool_op op = spool_op_of(item);
  if (op.graph_node || op.stream == SPOOL_NO_ID || !has_time(&op)) return true;
  if (!llmprof_grow(&c->list, &c->cap, c->count + 1, sizeof *c->list))
    return llmprof_fail_nomem(err);
  c->list[c->count++] = timed_of(item, &op);
  return true;
}

/* The last one of its stream that began before it; NULL: none. */
static const timed *before(const candidates *c, const timed *op) {
  size_t low = 0, high = c->count;
  LLMPROF_BISECT(low, high, at, compare(&c->list[at], op) < 0);
  return low && compare_streams(&c->list[low - 1], op) == 0 ? &c->list[low - 1]
                                                            : NULL;
}

/* A stream begins no operation before a copy or set in front has ended, so one
 * that ends no earlier than what came after it has a wrong end. */
static bool take_after(void *user, const spool_item *item, llmprof_error *err) {
  const candidates *c = user;
  spool_op op = spool_op_of(item);
  timed later = timed_of(item, &op);
  uint32_t id;
  const timed *first = has_time(&op) ? before(c, &later) : NULL;
  return !first || first->end < op.end ||
         llmprof_intern_add(&c->trace->wrong_ends, first, &id) ||
         llmprof_fail_nomem(err);
}

bool spool_find_wrong_ends(spool_trace *trace, llmprof_error *err) {
  static const uint64_t transfers =
      SPOOL_BIT(SPOOL_MEMCPY) | SPOOL_BIT(SPOOL_MEMSET);
  candidates c = {.trace = trace};
  if (trace->has_wrong_ends) return true;
  llmprof_intern_free(&trace->wrong_ends);
  llmprof_intern_init(&trace->wrong_ends, sizeof(timed));
  bool ok = spool_file_each(&trace->sections.file, transfers, take_candidate,
                            &c, err);
  if (ok && c.count) {
    qsort(c.list, c.count, sizeof *c.list, compare);
    ok = spool_file_each(&trace->sections.file,
                         transfers | SPOOL_BIT(SPOOL_KERNEL) |
                             SPOOL_BIT(SPOOL_GRAPH),
                         take_after, &c, err);
  }
  llmprof_free(c.list);
  trace->has_wrong_ends = ok;
  return ok;
}

bool spool_has_wrong_end(const spool_trace *trace, const spool_item *item) {
  if (item->kind != SPOOL_MEMCPY && item->kind != SPOOL_MEMSET) return false;
  spool_op op = spool_op_of(item);
  timed key = timed_of(item, &op);
  return !op.graph_node &&
         llmprof_intern_find(&trace->wrong_ends, &key) != UINT32_MAX;
}

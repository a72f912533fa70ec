/* Ranges and the calls of a thread are walked in order of time. Private to the
 * trace module. */
#ifndef LLMPROF_ATTRIBUTE_SWEEP_H
#define LLMPROF_ATTRIBUTE_SWEEP_H

#include "base/bounds.h"
#include "trace/trace_internal.h"

/* A range that may enclose calls still to come, and its link in the chain of
 * the call before (LLMPROF_NONE if it was not in it). */
typedef struct llmprof_open_range {
  uint32_t range;
  uint32_t link, outer; /* links[link].outer == outer, for reuse */
} llmprof_open_range;

/* A range around calls, and the next one around these: a link before it, or
 * LLMPROF_NONE. */
typedef struct llmprof_link {
  uint32_t range, outer;
} llmprof_link;

/* What is found. */
typedef struct llmprof_found {
  llmprof_link *links;
  size_t link_count, link_cap;
  uint32_t *parent, *level; /* by range, or LLMPROF_NONE */
  uint64_t *inner; /* by range: ns of it in ranges whose parent it is */
} llmprof_found;

/* What threads have in common, and then what is so of one of them. */
typedef struct llmprof_sweep {
  const llmprof_trace *trace;
  const int64_t *start, *end; /* of ranges */
  llmprof_found *found;
  uint8_t *launched;        /* by call: 1 if it launched an operation */
  uint32_t *link_of_call;   /* for those, the chain or LLMPROF_NONE */
  const uint32_t *ranges;   /* of a thread, by start */
  size_t range_count, next; /* next: the first that was not opened yet */
  llmprof_open_range *open; /* by start */
  size_t open_count, open_cap;
  bool nested;     /* every open range lies within the one before it */
  bool changed;    /* since the last chain was made */
  int64_t min_end; /* of the open ranges */
  uint32_t last;   /* the last chain */
  int64_t *filled; /* by range: until when ranges in it reach */
  size_t most_links;
  llmprof_watch watch;
  llmprof_error *err; /* filled when it stops for want of anything but memory */
} llmprof_sweep;

/* Finds what is around each of some ranges, and the chains of calls of the same
 * thread, both sorted by start: false when out of memory, or with s->err
 * filled. */
bool llmprof_sweep_thread(llmprof_sweep *s, const uint32_t *ranges,
                          size_t range_count, const uint32_t *calls,
                          size_t call_count);

#endif

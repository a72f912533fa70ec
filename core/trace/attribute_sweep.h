/* Ranges and calls are walked in order of time. Private to the trace module. */
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

/* What threads have in common, and what is found. */
typedef struct llmprof_sweep {
  const llmprof_trace *trace;
  struct llmprof_sweep_thread *threads; /* by row */
  uint32_t *order;      /* all calls by start; NULL: as they lie */
  int64_t *start, *end; /* of ranges */
  uint8_t *launched;    /* by call: 1 if it launched an operation */
  llmprof_link *links;
  size_t link_count, link_cap, most_links;
  uint32_t *link_of_call;   /* of those that launched: chain or LLMPROF_NONE */
  uint32_t *parent, *level; /* by range, or LLMPROF_NONE */
  uint64_t *inner; /* by range: ns of it in ranges whose parent it is */
  int64_t *filled; /* by range: until when ranges in it reach */
  llmprof_watch watch;
  llmprof_error *err; /* filled when it stops for want of anything but memory */
} llmprof_sweep;

/* What is so of one thread. */
typedef struct llmprof_sweep_thread {
  llmprof_sweep *all;
  uint32_t thread, caller; /* rows; the caller LLMPROF_NONE: there is none */
  uint32_t *ranges;        /* by start; some are the caller's */
  size_t range_count, range_cap, next; /* next: the first not opened yet */
  llmprof_open_range *open;            /* by start */
  size_t open_count, open_cap;
  bool nested;     /* every open range lies within the one before it */
  bool changed;    /* since the last chain was made */
  int64_t min_end; /* of the open ranges */
  uint32_t last;   /* the last chain */
} llmprof_sweep_thread;

/* Finds the chains of the calls that launched, of all threads, and what is
 * around each range. False when out of memory, or with err filled. */
bool llmprof_sweep_calls(llmprof_sweep *all);

#endif

/* Calls that launched something, by start. Private to the trace room. */
#ifndef LLMPROF_ATTRIBUTE_QUEUE_H
#define LLMPROF_ATTRIBUTE_QUEUE_H

#include "trace/trace_internal.h"

static inline int64_t llmprof_call_start(const llmprof_trace *trace,
                                         uint32_t call) {
  return llmprof_values_get(trace->calls.start, call);
}

enum {
  LLMPROF_STRETCHES = 16 /* more are sorted */
};

/* Calls by start, from a few stretches in which they are. The last row of each
 * has a start, as has the first. */
typedef struct llmprof_queue {
  const uint32_t *rows; /* NULL: all that have times, as they lie */
  size_t at[LLMPROF_STRETCHES], end[LLMPROF_STRETCHES], count;
  int64_t start[LLMPROF_STRETCHES]; /* of the row at each */
} llmprof_queue;

static inline uint32_t llmprof_queue_row(const llmprof_queue *q, size_t at) {
  return q->rows ? q->rows[at] : (uint32_t)at;
}

/* Calls 0 .. count - 1 as they lie; false when that is too many stretches, or
 * out of memory. */
bool llmprof_queue_find(const llmprof_trace *trace, llmprof_queue *q,
                        size_t count);

/* These calls, which are sorted where they have to be and stay the caller's;
 * false when out of memory. */
bool llmprof_queue_up(const llmprof_trace *trace, llmprof_queue *q,
                      uint32_t *rows, size_t count);

/* How many rows its stretches have. */
size_t llmprof_queue_size(const llmprof_queue *q);

/* A start that k of `count` parts of the longest stretch are before. */
int64_t llmprof_queue_cut_time(const llmprof_trace *trace,
                               const llmprof_queue *q, size_t k, size_t count);

/* Takes out those before `time`. */
llmprof_queue llmprof_queue_cut(const llmprof_trace *trace, llmprof_queue *q,
                                int64_t time);

#endif

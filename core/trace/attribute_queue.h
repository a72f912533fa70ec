/* Calls that launched something, by start. Private to the trace module. */
#ifndef LLMPROF_ATTRIBUTE_QUEUE_H
#define LLMPROF_ATTRIBUTE_QUEUE_H

#include "trace/trace_internal.h"

enum {
  LLMPROF_STRETCHES = 16 /* more are sorted */
};

/* Calls by start, from a few stretches in which they are. All have a start. */
typedef struct llmprof_queue {
  const uint32_t *rows;
  size_t at[LLMPROF_STRETCHES], end[LLMPROF_STRETCHES], count;
} llmprof_queue;

/* These calls, which have starts, are sorted where they have to be and stay the
 * caller's; false when out of memory. */
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

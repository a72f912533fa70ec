/* What a frame says of stacks. */
#ifndef LLMPROF_TRACE_STACKS_H
#define LLMPROF_TRACE_STACKS_H

#include "frame/intern.h"
#include "llmprof/frame.h"
#include "llmprof/trace_builder.h"

/* Stacks as frames, parents first, with what each weighs itself: samples of the
 * CPU, or ns of operations. */
typedef struct llmprof_weighed {
  const llmprof_stack_frame *frames; /* borrowed, from the trace or `own` */
  size_t count;
  int64_t *self; /* by frame */
  int64_t all, without_stack;
  llmprof_intern own;
} llmprof_weighed;

/* Of the rows of a frame; false for frames that have no stacks. Free it with
 * llmprof_weighed_free in any case. */
bool llmprof_weigh_stacks(llmprof_trace *trace, llmprof_frame *rows,
                          llmprof_weighed *made, llmprof_error *err);
void llmprof_weighed_free(llmprof_weighed *made);

#endif

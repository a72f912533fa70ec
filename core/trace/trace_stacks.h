/* What a frame says of sampled stacks. */
#ifndef LLMPROF_TRACE_STACKS_H
#define LLMPROF_TRACE_STACKS_H

#include "llmprof/frame.h"

/* The columns of a frame of CPU samples whose strings are these: the row of the
 * frame that each stack ends in, absent without a stack, and of how many
 * samples it is. Borrowed from the frame; false for any other frame. */
bool llmprof_stack_columns(llmprof_frame *samples,
                           const llmprof_strings *strings,
                           const llmprof_column **stack,
                           const llmprof_column **weight, llmprof_error *err);

#endif

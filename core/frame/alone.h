/* Groups of one row each, as those of names that no two events share: what is
 * said of a value there is the value. Private to the frame room. */
#ifndef LLMPROF_ALONE_H
#define LLMPROF_ALONE_H

#include "llmprof/frame.h"

/* As llmprof_frame_aggregate() of a frame whose every row is a group. Columns
 * of the result are, as far as they can be, those of `frame`. */
llmprof_frame *llmprof_aggregate_alone(llmprof_frame *frame, const size_t *keys,
                                       size_t key_count,
                                       const llmprof_aggregate *aggregates,
                                       size_t count, llmprof_error *err);

#endif

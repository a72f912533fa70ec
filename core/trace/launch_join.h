/* Operations meet the API calls that launched them. Private to the trace
 * module. */
#ifndef LLMPROF_LAUNCH_JOIN_H
#define LLMPROF_LAUNCH_JOIN_H

#include "trace/trace_internal.h"

/* Fill attribution.call, which is empty, by process and correlation id. Of
 * several calls with an id the first one counts. launched, by call, becomes 1
 * of those that launched any. False when out of memory, or with err filled. */
bool llmprof_launch_join(llmprof_trace *trace, uint8_t *launched,
                         llmprof_error *err);

#endif

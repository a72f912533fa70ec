/* Operations meet the API calls that launched them. Private to the trace
 * module. */
#ifndef LLMPROF_LAUNCH_JOIN_H
#define LLMPROF_LAUNCH_JOIN_H

#include "trace/trace_internal.h"

/* Fill attribution.call, which is empty, by process and correlation id. Of
 * several calls with an id the first one counts. False when out of memory. */
bool llmprof_launch_join(llmprof_trace *trace);

#endif

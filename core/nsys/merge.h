/* Merging: the exports of one run that nsys captured in several sessions, one
 * per capture range, as one export. */
#ifndef LLMPROF_MERGE_H
#define LLMPROF_MERGE_H

#include <stdbool.h>
#include <stddef.h>

#include "llmprof/error.h"

/* Write the events of all `count` exports (1 or more) to `to`, whole or not at
 * all. Times are those of the first export's session: the others are moved by
 * what TARGET_INFO_SESSION_START_TIME says they began later. What describes
 * the machine is the first's. Correlation ids stay as they are: CUDA numbers
 * the calls of a process through, whatever nsys captures of them.
 * UNSUPPORTED: an export does not say when its session began. */
bool llmprof_trace_merge(const char *const *from, size_t count, const char *to,
                         llmprof_error *err);

#endif

/* What CUPTI tells of while it happens: contexts, captures, the profiler's
 * start and stop, and, in units of counters, launches. */
#ifndef LLMPROF_COLLECTOR_CALLBACKS_H
#define LLMPROF_COLLECTOR_CALLBACKS_H

#include <stdbool.h>

#include "collector/log.h"

/* Become CUPTI's subscriber. False: there is another; nothing of CUPTI may be
 * called. */
bool callbacks_begin(void);

/* Writes an entry of these types; false: it is of another. */
bool callbacks_write(const log_entry *entry);

#endif

/* What CUPTI tells of while it happens: contexts, captures, the profiler's
 * start and stop, in timeline units waits and launches, in units of counters
 * launches.
 * CUPTI is loaded and subscribed to when the first unit wants it, as a process
 * whose graphs CUPTI has touched is slower from then on. */
#ifndef LLMPROF_COLLECTOR_CALLBACKS_H
#define LLMPROF_COLLECTOR_CALLBACKS_H

#include <stdbool.h>

#include "collector/log.h"

/* The driver has loaded us, while it is initialised; that is over. */
void callbacks_driver(bool initialising);

/* Who is told that the program starts and stops the profiler. */
void callbacks_profiler(void (*told)(bool started));

/* Have CUPTI, as its subscriber or, where the plan says `yield`, without a
 * subscription. False: the driver is not there yet, or a diagnostic says why;
 * nothing of CUPTI may be called. */
bool callbacks_begin(void);

/* Nothing is recorded until the next callbacks_begin: others may have it. */
void callbacks_end(void);

/* Keeps what an entry says of later records, where none is written; false: it
 * says nothing of them. */
bool callbacks_keep(const log_entry *entry);

/* Writes an entry of these types; false: it is of another. */
bool callbacks_write(const log_entry *entry);

void callbacks_forget(void);

#endif

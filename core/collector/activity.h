/* The timeline: CUPTI's activity records, turned into those of the spool. */
#ifndef LLMPROF_COLLECTOR_ACTIVITY_H
#define LLMPROF_COLLECTOR_ACTIVITY_H

#include <stdbool.h>

/* Before anything else of CUPTI's activity, and again where another client may
 * have had it since. */
void activity_prepare(void);

/* Another client of CUPTI takes over: it keeps none of our buffers, and numbers
 * threads as it does by itself. */
void activity_release(void);

/* Record operations and calls from now on, or no more. Any thread; a stop
 * waits for the GPU where the calling thread has a context, else 0.1 s. */
void activity_start(void);
void activity_stop(void);
bool activity_running(void);

/* ---- for the writer ---- */

/* Have CUPTI hand over what it has completed; `all`: what is incomplete, too.
 */
void activity_flush(bool all);

/* Write what was handed over. */
void activity_write(void);

void activity_forget(void);

#endif

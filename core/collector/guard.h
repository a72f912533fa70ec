/* Is this thread inside of the collector? Calls of CUDA that we make
 * ourselves come back as callbacks, which are to be passed over. */
#ifndef LLMPROF_COLLECTOR_GUARD_H
#define LLMPROF_COLLECTOR_GUARD_H

#include <stdbool.h>

/* False: it already is; then there is nothing to leave. */
bool guard_enter(void);
void guard_leave(void);
bool guard_inside(void);

/* Streams that are being captured into graphs: while there is one, nothing
 * that waits may be called. */
void guard_capture(int change);
bool guard_capturing(void);
void guard_forget(void);

#endif

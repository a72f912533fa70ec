/* Our subscription with CUPTI, of which a process can have one. */
#ifndef LLMPROF_COLLECTOR_SUBSCRIBER_H
#define LLMPROF_COLLECTOR_SUBSCRIBER_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/cupti_api.h"

/* False: there is another subscriber, which a diagnostic names, and nothing of
 * CUPTI may be called. */
bool subscriber_begin(CUpti_CallbackFunc function);

/* Does anybody else have it now? *other is its name, or "". */
bool subscriber_other(char *other, size_t size);

/* Let another client have CUPTI. What it costs to have subscribed stays. */
void subscriber_end(void);

/* What a call of the driver is to us, whichever its variant. */
typedef enum call_kind {
  CALL_OTHER,
  CALL_LAUNCH,
  CALL_COOPERATIVE, /* a launch that must not be measured */
  CALL_GRAPH,
  CALL_COPY, /* or a set */
  CALL_CAPTURE_BEGINS,
  CALL_CAPTURE_ENDS,
  CALL_PROFILER_STARTS,
  CALL_PROFILER_STOPS,
} call_kind;

call_kind subscriber_kind(CUpti_CallbackId id);

/* Who wants a callback: it comes as long as anybody does. */
typedef enum call_use {
  USE_ALWAYS = 1, /* captures and the profiler's window, which are rare */
  USE_COUNTERS = 2,
  USE_SOURCES = 4,
  USE_CALLS = 8,
} call_use;

/* Take a callback for a use, or give it back, until subscriber_settle. Both are
 * called with the lock of units. */
void subscriber_enable(call_use use, CUpti_CallbackDomain domain,
                       CUpti_CallbackId id, bool on);

/* Switch off what nobody wants any more, once no thread is in a call of it, or
 * after a fifth of a second in all: CUPTI gives all later calls of a thread the
 * number of one whose end it did not see. */
void subscriber_settle(void);

/* A call begins or ends; false: its begin was not seen. */
bool subscriber_sees(CUpti_CallbackDomain domain, CUpti_CallbackId id,
                     const CUpti_CallbackData *data);

/* Is a callback that came for this use, maybe among others? */
bool subscriber_has(call_use use, CUpti_CallbackDomain domain,
                    CUpti_CallbackId id);

/* All calls of the driver that this use needs; not USE_CALLS. */
void subscriber_use(call_use use, bool on);

void subscriber_forget(void);

#endif

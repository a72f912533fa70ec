/* Our subscription with CUPTI, of which a process can have one. */
#ifndef LLMPROF_COLLECTOR_SUBSCRIBER_H
#define LLMPROF_COLLECTOR_SUBSCRIBER_H

#include <stdbool.h>

#include "collector/cupti_api.h"

/* False: there is another subscriber, which a diagnostic names, and nothing of
 * CUPTI may be called. */
bool subscriber_begin(CUpti_CallbackFunc function);

void subscriber_enable(CUpti_CallbackDomain domain, CUpti_CallbackId id,
                       bool on);

/* Callbacks of launches, which cost each of them some time. */
void subscriber_launches(bool on);

void subscriber_forget(void);

#endif

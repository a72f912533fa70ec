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

void subscriber_enable(CUpti_CallbackDomain domain, CUpti_CallbackId id,
                       bool on);

/* Callbacks of launches, which cost each of them some time. */
void subscriber_launches(bool on);

/* Callbacks of launches and copies, of which lines of source are told. */
void subscriber_sources(bool on);

/* Is it a copy, or a set? */
bool subscriber_copies(CUpti_CallbackId id);

/* Callbacks of the calls that wait: subscriber_waits_for. */
void subscriber_waits(bool on);

/* Is it such a call? What it waits for, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_*;
 * 0: no. */
uint32_t subscriber_waits_for(CUpti_CallbackId id);

void subscriber_forget(void);

#endif

/* Hardware counters over time: CUPTI's PM sampling, decoded by a thread of its
 * own. */
#ifndef LLMPROF_COLLECTOR_SAMPLES_H
#define LLMPROF_COLLECTOR_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/log.h"

/* On the GPU of the calling thread's context, as often as the plan says; of the
 * first context that is created, where there is none yet. */
void samples_start(void);
void samples_stop(void);

/* The GPU's last context is about to go: CUPTI would hang later. */
void samples_context_gone(void);

/* From the writer: a context was created there. */
void samples_device(uint32_t device);

/* Writes an entry of this type; false: it is of another. */
bool samples_write(const log_entry *entry);

void samples_forget(void);

#endif

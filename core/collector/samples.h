/* Hardware counters over time: CUPTI's PM sampling of each GPU in use, decoded
 * by a thread each. */
#ifndef LLMPROF_COLLECTOR_SAMPLES_H
#define LLMPROF_COLLECTOR_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/log.h"

/* On each GPU that has had a context, as often as the plan says, and on those
 * that get one from now on. */
void samples_start(void);
void samples_stop(void);

/* A context of that GPU was created, is about to go: with the last one sampling
 * ends, since CUPTI would hang later. */
void samples_context(uint32_t device, bool created);

/* Nobody tells of contexts any more. */
void samples_unseen(void);

/* From the writer: a context was created there. */
void samples_device(uint32_t device);

/* Threads that decode now. */
unsigned samples_threads(void);

/* Writes an entry of this type; false: it is of another. */
bool samples_write(const log_entry *entry);

void samples_forget(void);

#endif

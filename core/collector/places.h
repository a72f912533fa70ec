/* Devices: each is described when it is first seen. */
#ifndef LLMPROF_COLLECTOR_PLACES_H
#define LLMPROF_COLLECTOR_PLACES_H

#include <stdbool.h>
#include <stdint.h>

/* Wait for the GPU of the calling thread's context. False: it has none, or a
 * stream is being captured. */
bool places_sync(void);

/* ---- for the writer ---- */

/* A context was made there, or an operation ran. */
void places_seen(uint32_t device);

void places_forget(void);

#endif

/* Devices, contexts and streams: each is described when it is first seen. */
#ifndef LLMPROF_COLLECTOR_PLACES_H
#define LLMPROF_COLLECTOR_PLACES_H

#include <stdbool.h>
#include <stdint.h>

/* Wait for the GPU of the calling thread's context. False: it has none, or a
 * stream is being captured. */
bool places_sync(void);

/* ---- for the writer ---- */

/* An operation ran there. */
void places_seen(uint32_t device, uint32_t context, uint32_t stream);

/* A context as its creation tells it. */
void places_context(uint32_t context, uint32_t device, uint32_t null_stream);

void places_forget(void);

#endif

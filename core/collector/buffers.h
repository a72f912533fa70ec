/* The buffers that CUPTI fills: given out on the program's threads, taken back
 * full, decoded by the writer. */
#ifndef LLMPROF_COLLECTOR_BUFFERS_H
#define LLMPROF_COLLECTOR_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  BUFFER_SIZE = 1 << 20
};

typedef struct buffer buffer;

/* Zeroed space of BUFFER_SIZE bytes, aligned to 8. NULL: none is free, which
 * is counted. */
uint8_t *buffers_give(void);

/* Like it, where CUPTI does not bear NULL: what comes in it is dropped. */
uint8_t *buffers_give_blind(void);

/* CUPTI is done with one; `valid` bytes of it are records. */
void buffers_full(uint8_t *bytes, size_t valid);

/* ---- for the writer ---- */

/* Calls visit for each buffer that came back, and frees it for the next. */
void buffers_drain(void (*visit)(uint8_t *bytes, size_t valid));

/* How often none was free since the last call. */
uint64_t buffers_missed(void);

/* How many CUPTI has now. */
unsigned buffers_out(void);

void buffers_forget(void);

#endif

/* Which calls of CUDA's interfaces are recorded, and their names. */
#ifndef LLMPROF_COLLECTOR_CALLS_H
#define LLMPROF_COLLECTOR_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/cupti_api.h"
#include "collector/log.h"

/* Have the chosen calls recorded, or not: by callbacks, since records of
 * CUPTI's for calls make it take two times of each call that is not chosen,
 * and before 13.5 are not to be had one by one after the first context. Where
 * the subscription is given up (`yield`) there are only those records. */
void calls_enable(bool on);

/* A callback of one of them whose begin was seen, on the thread that calls. A
 * call of the driver that one of the runtime makes is a part of it, and not
 * recorded. */
void calls_callback(bool is_driver, uint32_t cbid, const void *data);

/* CUPTI's number of the last call that was recorded since they were switched
 * on; 0: none, or they are not callbacks. */
uint32_t calls_last(void);

/* ---- for the writer ---- */

/* False: it is no call. */
bool calls_write(const log_entry *entry);

void calls_write_record(const CUpti_ActivityAPI *call);

/* Another file begins: names have other numbers. */
void calls_reset(void);

#endif

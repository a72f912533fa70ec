/* Units: pieces of the program's work, each measured in one way, as the plan
 * says. What begins and ends them comes in here; the recording is switched
 * between them, on the thread that is there. */
#ifndef LLMPROF_COLLECTOR_UNITS_H
#define LLMPROF_COLLECTOR_UNITS_H

#include <stdbool.h>
#include <stddef.h>

#include "collector/log.h"
#include "collector/plan.h"

/* The plan is there; the process begins. */
void units_begin(void);

/* The driver is there, which may be later: what the current unit wants is
 * switched on. */
void units_driver(void);

/* A range of that text is about to begin, has ended. */
void units_push(const char *domain, const char *text, size_t size);
void units_pop(const plan_range *range);

/* cudaProfilerStart and Stop. */
void units_profiler(bool started);

/* Time passes, where the plan's units tick. */
void units_tick(void);

/* The unit that is open ends, and none begins any more: the process ends, or
 * llmprof asks for no more. */
void units_end(void);

/* End the open unit and go back to the start of the plan's list. No unit begins
 * until units_allow, so that the plan may change.
 * False: a unit is just beginning or ending; try again. */
bool units_reset(void);
void units_allow(void);

/* Which of the times between units this is: 0 before the first and in one.
 * What the units before it recorded has been handed over. */
unsigned units_rest(void);

/* Writes an entry of this type; false: it is of another. */
bool units_write(const log_entry *entry);

void units_forget(void);

#endif

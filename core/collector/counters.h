/* Counters of chosen launches, by CUPTI's range profiler. Where one pass gives
 * all metrics it stays on for the chosen launches that follow at once (a
 * session costs 17 ms on an H100, a launch in it 1 ms). Where more are needed a
 * plan has two sets. The first, of one pass, is taken of each chosen launch;
 * the passes of the second are spread over the launches that are like it, one
 * of each, as often as they come: nothing is replayed. The metrics of a plan
 * with one set, and a second set of more than 64 passes, are replayed by CUPTI,
 * with the memory that a kernel writes restored. */
#ifndef LLMPROF_COLLECTOR_COUNTERS_H
#define LLMPROF_COLLECTOR_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/chosen.h"
#include "collector/log.h"

/* Take the plan's launches and metrics; the rest is set up at the first launch
 * that is chosen. restart: launches are counted from 0, else on from before. */
void counters_start(uint32_t unit, bool restart);

/* In a unit that counts on, the same work begins; the second time it is for the
 * next set of metrics. */
void counters_again(void);

/* Until the next unit of counters, where there is one: what was measured so far
 * is kept for it. Else it goes into the log. */
void counters_pause(void);
void counters_stop(void);

/* It is about to happen, it has been made. Callbacks of one launch come on one
 * thread. */
void counters_enter(const launch *l);
void counters_exit(const void *context);

/* The same of a launch of a graph, which is measured as one, in one pass. */
void counters_graph_enter(const launch *l);
void counters_graph_exit(const void *context);

/* Something comes in this context that must not be measured, as a capture. */
void counters_break(const void *context);

/* The context goes away. */
void counters_context_gone(const void *context);

/* Since when a measured launch, or what begins or ends its session, has been
 * under way, on the spool's clock; 0: none is. */
int64_t counters_since(void);

/* Writes an entry of this type; false: it is of another. */
bool counters_write(const log_entry *entry);

/* Another file begins, with a budget of its own. */
void counters_reset(void);

void counters_forget(void);

#endif

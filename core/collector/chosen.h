/* Which launches the plan wants counters of. Never those of communication:
 * they wait for others, who do not know that they are measured. */
#ifndef LLMPROF_COLLECTOR_CHOSEN_H
#define LLMPROF_COLLECTOR_CHOSEN_H

#include <stdbool.h>
#include <stdint.h>

/* A launch as a callback of the driver's interface tells it. */
typedef struct launch {
  const char *kernel; /* mangled; CUPTI keeps it */
  void *context;
  uint32_t context_id;
  uint32_t grid[3], block[3];
  uint32_t shared; /* dynamic, bytes */
  uint32_t correlation;
  uint32_t graph; /* CUPTI's number of it; then there is no kernel. 0: none */
} launch;

/* Read the plan, and count launches from 0, or on where they are of the same
 * plan and not to be counted from 0. False: it wants none. */
bool chosen_begin(bool restart);

/* Does it wait for another GPU, process or the host? */
bool chosen_is_communication(const char *kernel);

/* What the plan wants of a launch. */
typedef struct choice {
  uint32_t ordinal; /* among those that the plan does not tell apart */
  uint32_t passes;  /* at most */
  const void *like; /* the same for those, NULL: the plan has none like it */
} choice;

/* Is this launch, on the calling thread, one of the plan? Each launch is asked
 * for once, since that counts them. */
bool chosen_is(const launch *l, choice *out);

/* The same of a launch of a graph. */
bool chosen_graph_is(const launch *l, uint32_t *ordinal);

/* Start the plan over. Nothing may be measured meanwhile. */
void chosen_reset(void);

/* After fork(), in the child, which has a plan of its own. */
void chosen_forget(void);

#endif

/* Which lines of source launched what, or made the nodes of graphs: told by the
 * program's threads, written with operations. */
#ifndef LLMPROF_COLLECTOR_SOURCES_H
#define LLMPROF_COLLECTOR_SOURCES_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/log.h"

/* Looks for what can tell lines, as the plan wants it: as early as possible,
 * and again when a unit begins. False: launches have no lines. */
bool sources_begin(void);

/* The calling thread's stack; 0: it is not known. */
uint32_t sources_stack(void);

/* A launch or copy of this correlation id is about to be made. */
void sources_launch(uint32_t correlation);

/* ---- for the writer ---- */

/* What writes the entries that are in the log: nodes of graphs may be there. */
void sources_drain_by(void (*drain)(void));

/* What stacks are made of, as far as it is not in the file. */
void sources_write(void);

/* A node of a graph, which a stack made, or a clone of another node. */
void sources_node(uint64_t node, uint64_t original, uint32_t stack);

/* Stacks; 0: not known. */
uint32_t sources_of_launch(uint32_t correlation);
uint32_t sources_of_node(uint64_t node);

/* Another file begins, which has none of it. */
void sources_reset(void);

void sources_forget(void);

#endif

/* Executable graphs of this process, as far as the timeline saw their kernels:
 * which of them wait for another GPU, process or the host. */
#ifndef LLMPROF_COLLECTOR_GRAPHS_H
#define LLMPROF_COLLECTOR_GRAPHS_H

#include <stdbool.h>
#include <stdint.h>

/* From the writer: the graph has a kernel of that name, whose address stays the
 * same; graph 0: it was launched alone. */
void graphs_saw(uint32_t graph, const char *kernel);

/* May this graph hold a kernel that waits for another GPU, process or the host?
 * One whose kernels were not seen may, once any kernel of the program did. */
bool graphs_may_wait(uint32_t graph);

void graphs_forget(void);

#endif

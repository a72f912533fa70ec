/* Histograms of a column. */
#ifndef LLMPROF_AGGREGATE_H
#define LLMPROF_AGGREGATE_H

#include "llmprof/frame.h"

/* How many present values of a column of numbers fall between neighbours of
 * edges[bins + 1], which ascend: counts[i] of edges[i] <= v < edges[i + 1],
 * the last bin with its upper edge. */
bool llmprof_histogram(llmprof_frame *frame, size_t column, const double *edges,
                       size_t bins, size_t *counts, llmprof_error *err);

#endif

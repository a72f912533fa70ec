/* Statistics of groups that need no value but the one at hand: neither sorted
 * nor moved, the values are looked at once. Private to the core. */
#ifndef LLMPROF_TOTALS_H
#define LLMPROF_TOTALS_H

#include "llmprof/frame.h"

/* Can this column be summed up so? Its data is loaded. */
bool llmprof_can_total(const llmprof_column *column);

/* As llmprof_summarize, but for median and percentiles, which stay 0. */
bool llmprof_total(llmprof_frame *frame, size_t column,
                   const llmprof_groups *groups, llmprof_summary *summaries,
                   llmprof_error *err);

#endif

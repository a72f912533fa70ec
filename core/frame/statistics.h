/* Summaries of a column by group, for who keeps only some of them. Private to
 * the core. */
#ifndef LLMPROF_STATISTICS_H
#define LLMPROF_STATISTICS_H

#include "llmprof/frame.h"

/* Summaries of groups from `first` on, in any order, on several threads at
 * once; each group once. */
typedef void (*llmprof_summaries_taker)(void *user, size_t first,
                                        const llmprof_summary *summaries,
                                        size_t count);

/* As llmprof_summarize(). */
bool llmprof_summarize_each(llmprof_frame *frame, size_t column,
                            const llmprof_groups *groups, const double *wanted,
                            size_t wanted_count, llmprof_summaries_taker take,
                            void *user, llmprof_error *err);

#endif

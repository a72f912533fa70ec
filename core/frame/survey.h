/* Statistics of few groups, found by going over the rows twice: medians by
 * counting values that are nearly equal, then by looking at those in the
 * middle. Nothing is kept of each row. Private to the frame room. */
#ifndef LLMPROF_SURVEY_H
#define LLMPROF_SURVEY_H

#include "frame/tally.h"

/* Is that cheaper than putting the values of each group together? */
bool llmprof_survey_pays(size_t groups, size_t rows, bool medians);

/* As llmprof_summarize without percentiles, of a column of small integers
 * (LLMPROF_U32). Groups without of_row are those of `tally`. */
bool llmprof_survey(llmprof_frame *frame, size_t column,
                    const llmprof_groups *groups, const llmprof_tally *tally,
                    bool medians, llmprof_summary *summaries,
                    llmprof_error *err);

#endif

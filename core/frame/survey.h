/* Statistics of few groups, found by going over the rows twice: medians by
 * counting values that are nearly equal, then by looking at those in the
 * middle. Nothing is kept of each row. Private to the frame room. */
#ifndef LLMPROF_SURVEY_H
#define LLMPROF_SURVEY_H

#include "frame/piles.h"
#include "frame/tally.h"

/* Is that cheaper than putting the values of each group together? */
bool llmprof_survey_pays(size_t groups, size_t rows, bool medians);

/* The groups that rows are of: where they have no of_row, those of a tally or,
 * without one, piles of numbers. */
typedef struct llmprof_surveyed {
  const llmprof_groups *groups;
  const llmprof_tally *tally;
  const llmprof_piles *piles;
} llmprof_surveyed;

/* As llmprof_summarize without percentiles, of a column of small integers
 * (LLMPROF_U32), or of the numbers of piles. */
bool llmprof_survey(llmprof_frame *frame, size_t column,
                    const llmprof_surveyed *of, bool medians,
                    llmprof_summary *summaries, llmprof_error *err);

#endif

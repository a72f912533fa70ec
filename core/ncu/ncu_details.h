/* The labels that Nsight Compute shows on its details page, which `ncu --csv`
 * prints unless it is told otherwise. Private to the core. */
#ifndef LLMPROF_NCU_DETAILS_H
#define LLMPROF_NCU_DETAILS_H

/* The metric whose value a label shows, of a unit in base units; NULL: none, or
 * none for sure. */
const char *ncu_details_metric(const char *label, const char *unit);

#endif

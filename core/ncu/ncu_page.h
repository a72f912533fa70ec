/* Pages that Nsight Compute prints of its report: the raw page (--csv --page
 * raw), a row for each launch, and the details page (--csv), a row for each
 * metric of a launch, by its label; labels that stand for no metric for sure
 * are left out. Private to the core. */
#ifndef LLMPROF_NCU_PAGE_H
#define LLMPROF_NCU_PAGE_H

#include "llmprof/error.h"
#include "llmprof/frame.h"

typedef struct llmprof_ncu_page llmprof_ncu_page;

/* NULL on failure, as for CSV; UNSUPPORTED: it is another page of ncu or none,
 * EMPTY: no kernel was profiled. */
llmprof_ncu_page *llmprof_ncu_page_open(const char *path, llmprof_error *err);
void llmprof_ncu_page_close(llmprof_ncu_page *page); /* NULL is fine */

/* Its metrics in the order of the page, without those that appear twice: how
 * many, and the name of one with its base unit ("": none). */
size_t llmprof_ncu_page_metrics(const llmprof_ncu_page *page);
const char *llmprof_ncu_page_metric(const llmprof_ncu_page *page, size_t number,
                                    const char **unit);

/* Read the rows, which can be done once, with the metrics of these numbers,
 * which ascend. NULL on failure:
 * SYNTAX names the first line that is broken, or where a launch is there twice
 * or a metric is no number; EMPTY: no rows. The page outlives the frame.
 *
 * source "ncu", pid, launch (ncu's ID), name (of the kernel), device, context,
 * stream, correlation (absent: ncu does not say), tid, grid_x, ..., block_z,
 * ranges (open NVTX ranges, outermost first, one a line: "name" or
 * "domain:name"), started (the same of start/stop ranges), whole (1: all that
 * ran in a range, as range replay measures it), line; and a real column for
 * each metric, in base units (byte, s, Hz). */
llmprof_frame *llmprof_ncu_page_counters(llmprof_ncu_page *page,
                                         const uint32_t *metrics, size_t count,
                                         llmprof_error *err);

#endif

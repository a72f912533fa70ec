/* Cells of the row that follows. */
#ifndef LLMPROF_WINDOW_H
#define LLMPROF_WINDOW_H

#include "llmprof/frame.h"

/* Add for each of these columns one whose name has "next_" before it: its cell
 * in the row that follows, absent in the last. UNSUPPORTED: there is such a
 * column; LIMIT: its name would be longer than 255 bytes. */
bool llmprof_frame_lead(llmprof_frame *frame, const size_t *columns,
                        size_t count, llmprof_error *err);

#endif

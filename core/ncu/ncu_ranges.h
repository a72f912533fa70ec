/* NVTX ranges as ncu prints them in one cell:
 *
 *   1114  "<default domain>:decode:none:none:none:none:none:none"  "..."
 *
 * the thread, then one quoted item per level, outermost first. */
#ifndef LLMPROF_NCU_RANGES_H
#define LLMPROF_NCU_RANGES_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/* Put the tags into `tags`, one a line: "name", or "domain:name" outside of the
 * default domain. Returns how many there are. *thread: the thread's id;
 * untouched where the cell has none. */
size_t ncu_ranges_stack(const char *cell, size_t size, llmprof_buffer *tags,
                        int64_t *thread);

/* The same of start/stop ranges, which begin with an id and have no thread. */
size_t ncu_ranges_started(const char *cell, size_t size, llmprof_buffer *tags);

#endif

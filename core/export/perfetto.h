/* A timeline as a Chrome trace event file, for ui.perfetto.dev.
 *
 * A process per GPU with a track for each stream (process and context apart),
 * and the traced processes with a track for each thread: NVTX ranges, with the
 * CUDA API calls inside them. Slices of a track never cross: what overlaps on a
 * stream, or does not nest on a thread, goes to further lanes of that track.
 * A flow leads from each API call to what it launched.
 *
 * Times are us since the session started, written with three decimals from
 * whole ns. The text is made while it is written: memory beyond the trace's own
 * is some 20 bytes an event. */
#ifndef LLMPROF_PERFETTO_H
#define LLMPROF_PERFETTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llmprof/error.h"
#include "llmprof/trace.h"

typedef struct llmprof_perfetto_counts {
  size_t operations, ranges, calls, flows, lanes;
  size_t long_names; /* names of the trace of more than 8 KiB: each slice has
                        the first 8 KiB of its name */
} llmprof_perfetto_counts;

/* packed: as gzip. The file is complete or, on failure, as it was before;
 * *written may be NULL. */
bool llmprof_perfetto_write(llmprof_trace *trace, const char *path, bool packed,
                            llmprof_perfetto_counts *written,
                            llmprof_error *err);

#endif

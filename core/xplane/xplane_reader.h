/* Profiles of JAX and XLA, *.xplane.pb, plain or gzip, as a reader of traces.
 */
#ifndef LLMPROF_XPLANE_READER_H
#define LLMPROF_XPLANE_READER_H

#include "llmprof/trace_builder.h"

extern const llmprof_reader llmprof_xplane_reader;

/* The trace of bytes in memory; `name` stands for the path. NULL on failure. */
llmprof_trace *llmprof_xplane_open_bytes(const char *name, const void *bytes,
                                         size_t size, llmprof_error *err);

#endif

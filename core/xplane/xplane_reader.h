/* Profiles of JAX and XLA, *.xplane.pb, plain or gzip, as a reader of traces.
 */
#ifndef LLMPROF_XPLANE_READER_H
#define LLMPROF_XPLANE_READER_H

#include "llmprof/trace_builder.h"

extern const llmprof_reader llmprof_xplane_reader;

#endif

/* The readers that are built in; core/readers asks them in turn. */
#ifndef LLMPROF_BUILT_IN_READERS_H
#define LLMPROF_BUILT_IN_READERS_H

#include "llmprof/trace_builder.h"

/* Exports of Nsight Systems (2022 to 2026, schemas 3.1 to 3.25), and any SQLite
 * file with the same tables. */
extern const llmprof_reader llmprof_nsys_reader;

/* Spools of our collector. */
extern const llmprof_reader llmprof_spool_reader;

/* Traces of torch.profiler (Kineto), plain or gzip. */
extern const llmprof_reader llmprof_torch_reader;

/* Profiles of JAX and XLA, *.xplane.pb, plain or gzip. */
extern const llmprof_reader llmprof_xplane_reader;

/* CSV pages of Nsight Compute: known, but counters and no timeline. */
extern const llmprof_reader llmprof_ncu_reader;

/* Collapsed stacks, plain or gzip. */
extern const llmprof_reader llmprof_folded_reader;

#endif

/* Traces of torch.profiler (Kineto), plain or gzip, as a reader of traces. */
#ifndef LLMPROF_TORCH_READER_H
#define LLMPROF_TORCH_READER_H

#include "llmprof/trace_builder.h"

extern const llmprof_reader llmprof_torch_reader;

#endif

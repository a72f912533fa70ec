/* Collapsed stacks, as a reader of traces. */
#ifndef LLMPROF_FOLDED_READER_H
#define LLMPROF_FOLDED_READER_H

#include "llmprof/trace_builder.h"

extern const llmprof_reader llmprof_folded_reader;

#endif

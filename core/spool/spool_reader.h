/* Spools of our collector, as a reader of traces. */
#ifndef LLMPROF_SPOOL_READER_H
#define LLMPROF_SPOOL_READER_H

#include "llmprof/trace_builder.h"

extern const llmprof_reader llmprof_spool_reader;

#endif

/* CSV pages of Nsight Compute: known, but counters and no timeline. */
#ifndef LLMPROF_NCU_READER_H
#define LLMPROF_NCU_READER_H

#include "llmprof/trace_builder.h"

extern const llmprof_reader llmprof_ncu_reader;

#endif

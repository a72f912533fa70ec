/* What a file that no reader claims looks like. */
#ifndef LLMPROF_LOOKS_H
#define LLMPROF_LOOKS_H

#include "llmprof/trace_builder.h"

/* "an ELF program", "JSON", "text", ... */
const char *llmprof_looks_like(const llmprof_specimen *file);

#endif

/* What a file that no reader claims looks like. */
#ifndef LLMPROF_FILE_TYPE_H
#define LLMPROF_FILE_TYPE_H

#include "llmprof/trace_builder.h"

/* "an ELF program", "JSON", "text", ... */
const char *llmprof_file_type(const llmprof_specimen *file);

#endif

/* Exports of Nsight Systems (2022 to 2026, schemas 3.1 to 3.25), and any SQLite
 * file with the same tables, as a reader of traces. */
#ifndef LLMPROF_NSYS_READER_H
#define LLMPROF_NSYS_READER_H

#include "llmprof/trace_builder.h"

extern const llmprof_reader llmprof_nsys_reader;

#endif

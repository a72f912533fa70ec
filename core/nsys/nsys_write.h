/* Writing a trace, whatever it was read from, as an SQLite export of Nsight
 * Systems, so that tools that know these can read it. */
#ifndef LLMPROF_NSYS_WRITE_H
#define LLMPROF_NSYS_WRITE_H

#include <stdbool.h>
#include <stddef.h>

#include "llmprof/error.h"
#include "llmprof/trace.h"

typedef struct llmprof_nsys_counts {
  size_t operations, ranges, calls;
} llmprof_nsys_counts;

/* Write all of the trace to `to`, whole or not at all; DENIED when that is the
 * file the trace was read from. Tables are those of schema 3.20. What a trace
 * does not hold is NULL there, or the column is left out. product: name and
 * version of the program that writes, as META_DATA_EXPORT is to have them.
 * written may be NULL. */
bool llmprof_nsys_write(llmprof_trace *trace, const char *to,
                        const char *product, const char *version,
                        llmprof_nsys_counts *written, llmprof_error *err);

#endif

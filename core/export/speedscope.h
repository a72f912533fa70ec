/* Stacks as a file of speedscope.app: samples of the CPU, or the GPU's time by
 * the lines that launched what ran. */
#ifndef LLMPROF_SPEEDSCOPE_H
#define LLMPROF_SPEEDSCOPE_H

#include "llmprof/trace.h"

typedef struct llmprof_speedscope_counts {
  size_t stacks;                 /* different ones */
  int64_t weight, without_stack; /* samples or ns; those without are left out */
} llmprof_speedscope_counts;

/* rows: of the trace's cpu_samples or operations. Each line of the program is a
 * frame with its file and line. The file is complete or, on failure, as it was
 * before; *written may be NULL. UNSUPPORTED: the rows are of something else;
 * EMPTY: no stack is there; RANGE: there are more samples or ns than an int64_t
 * counts. */
bool llmprof_speedscope_write(llmprof_trace *trace, llmprof_frame *rows,
                              const char *path, bool packed,
                              llmprof_speedscope_counts *written,
                              llmprof_error *err);

#endif

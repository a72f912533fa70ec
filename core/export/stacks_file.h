/* Stacks as files of other tools: samples of the CPU, or the GPU's time by the
 * lines that launched what ran. */
#ifndef LLMPROF_STACKS_FILE_H
#define LLMPROF_STACKS_FILE_H

#include "llmprof/trace.h"

typedef enum llmprof_stacks_format {
  LLMPROF_FOLDED,     /* collapsed stacks: a line for each, its functions from
                         the outermost inwards as "function (module)" with
                         semicolons between, a space, and what it weighs */
  LLMPROF_SPEEDSCOPE, /* for speedscope.app: each line of the program is a frame
                         with its file and line */
} llmprof_stacks_format;

typedef struct llmprof_stacks_counts {
  size_t stacks;                 /* different ones */
  int64_t weight, without_stack; /* samples or ns; those without are left out */
} llmprof_stacks_counts;

/* rows: of the trace's cpu_samples or operations; packed: as gzip. The file is
 * complete or, on failure, as it was before; *written may be NULL. UNSUPPORTED:
 * the rows are of something else; EMPTY: no stack is there; RANGE: there are
 * more samples or ns than an int64_t counts. */
bool llmprof_stacks_write(llmprof_trace *trace, llmprof_frame *rows,
                          const char *path, llmprof_stacks_format format,
                          bool packed, llmprof_stacks_counts *written,
                          llmprof_error *err);

#endif

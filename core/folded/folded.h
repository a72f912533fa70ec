/* Collapsed stacks: a line for each stack that was sampled, its functions from
 * the outermost inwards with semicolons between, a space, and how often it was
 * seen; what `py-spy record -f raw` and the stackcollapse scripts of flame
 * graph tools write. It may be packed with gzip. */
#ifndef LLMPROF_FOLDED_H
#define LLMPROF_FOLDED_H

#include "llmprof/trace.h"

/* A trace that has CPU samples and nothing else; they have no times, and no
 * threads. "spin (work.py:12)" is function "spin" of module "work.py". NULL on
 * failure: SYNTAX (a line is no stack with a count), LIMIT (a line is too long,
 * or there are too many samples), EMPTY, IO, NOMEM. */
llmprof_trace *llmprof_folded_open(const char *path, llmprof_error *err);

/* The same of bytes in memory; `name` stands for the path. */
llmprof_trace *llmprof_folded_open_bytes(const char *name, const void *bytes,
                                         size_t size, llmprof_error *err);

typedef struct llmprof_folded_counts {
  size_t stacks;                  /* different ones, a line each */
  int64_t samples, without_stack; /* those without are not written */
} llmprof_folded_counts;

/* Writes the stacks of rows of a trace's cpu_samples, or of its operations by
 * the lines that launched them, with ns for samples, as above:
 * "function (module)" each, a semicolon in a name as a colon; packed: as gzip.
 * The file is complete or, on failure, as it was before; *written may be NULL.
 * UNSUPPORTED: the frame is of something else; EMPTY: no stack is there; RANGE:
 * there are more samples than an int64_t counts. */
bool llmprof_folded_write(llmprof_trace *trace, llmprof_frame *samples,
                          const char *path, bool packed,
                          llmprof_folded_counts *written, llmprof_error *err);

#endif

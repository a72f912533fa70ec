/* Collapsed stacks: a line for each stack that was sampled, its functions from
 * the outermost inwards with semicolons between, a space, and how often it was
 * seen; what `py-spy record -f raw` and the stackcollapse scripts of flame
 * graph tools write. It may be packed with gzip. */
#ifndef LLMPROF_FOLDED_H
#define LLMPROF_FOLDED_H

#include "llmprof/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A trace that has CPU samples and nothing else; they have no times, and no
 * threads. "spin (work.py:12)" is function "spin" of module "work.py". NULL on
 * failure: SYNTAX (a line is no stack with a count), LIMIT (a line is too long,
 * or there are too many samples), EMPTY, IO, NOMEM. */
llmprof_trace *llmprof_folded_open(const char *path, llmprof_error *err);

/* The same of bytes in memory; `name` stands for the path. */
llmprof_trace *llmprof_folded_open_bytes(const char *name, const void *bytes,
                                         size_t size, llmprof_error *err);

#ifdef __cplusplus
}
#endif

#endif

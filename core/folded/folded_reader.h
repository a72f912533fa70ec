/* Collapsed stacks, as a reader of traces: a line for each stack that was
 * sampled, its functions from the outermost inwards with semicolons between, a
 * space, and how often it was seen; what `py-spy record -f raw` and the
 * stackcollapse scripts of flame graph tools write. It may be packed with gzip.
 *
 * The trace has CPU samples and nothing else; they have no times, and no
 * threads. "spin (work.py:12)" is function "spin" of module "work.py". It fails
 * with SYNTAX (a line is no stack with a count), LIMIT (a line is too long, or
 * there are too many samples), EMPTY, IO, NOMEM. */
#ifndef LLMPROF_FOLDED_READER_H
#define LLMPROF_FOLDED_READER_H

#include "llmprof/trace_builder.h"

extern const llmprof_reader llmprof_folded_reader;

#endif

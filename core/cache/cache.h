/* Traces that were read before: what was made of a file lies in the user's
 * cache, and is used in place of the file as long as that is the same.
 *
 * A cache is never a reason to fail: where it is not there, damaged, of another
 * build, of another file or not this user's own, the trace is read. What it
 * holds is what the trace holds; only its owner can read it. */
#ifndef LLMPROF_CACHE_H
#define LLMPROF_CACHE_H

#include "llmprof/trace.h"

typedef struct llmprof_cache_options {
  const char *folder; /* made when something is first kept */
  uint64_t least;     /* bytes: smaller files are not worth it */
  uint64_t most;      /* bytes that all caches of the folder may take; of more,
                         those go that were used longest ago */
} llmprof_cache_options;

/* As llmprof_trace_open, from the cache where it can be. */
llmprof_trace *llmprof_cache_open(const char *path,
                                  const llmprof_cache_options *options,
                                  llmprof_error *err);

/* Were columns of the trace in the cache when it was opened? */
bool llmprof_cache_was_used(const llmprof_trace *trace);

/* Will columns of the trace that are loaded go into the cache? */
bool llmprof_cache_keeps_columns(const llmprof_trace *trace);

/* Keep what is in memory by now and was not in the cache. True
 * also where there is nothing to keep, or nowhere; BUSY: another process is
 * writing. Nothing is left behind on failure. */
bool llmprof_cache_save(llmprof_trace *trace, llmprof_error *err);

#endif

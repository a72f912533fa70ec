/* Traces that were read before: what was made of a file lies in the user's
 * cache, and is used in place of the file as long as that is the same.
 *
 * A cache is never a reason to fail: where it is not there, damaged, of another
 * build, of another file or not this user's own, the trace is read. What it
 * holds is what the trace holds; only its owner can read it. */
#ifndef LLMPROF_CACHE_H
#define LLMPROF_CACHE_H

#include "llmprof/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

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

/* Keep what is in memory by now and was not in the cache, and the notes. True
 * also where there is nothing to keep, or nowhere; BUSY: another process is
 * writing. Nothing is left behind on failure. */
bool llmprof_cache_save(llmprof_trace *trace, llmprof_error *err);

/* Is there a cache that notes are kept in? */
bool llmprof_cache_takes_notes(const llmprof_trace *trace);

enum {
  LLMPROF_NOTE_KEY = 63, /* bytes at most */
};

/* A text that was noted about the trace, as long as its file is the same:
 * something small that took long to find out. NULL: none. Borrowed until the
 * next note; size may be NULL. */
const char *llmprof_cache_note(llmprof_trace *trace, const char *key,
                               size_t *size);

/* Note a text, which is kept when the trace is saved; without a cache nothing
 * happens. LIMIT: the key is too long, or the notes too many. */
bool llmprof_cache_add_note(llmprof_trace *trace, const char *key,
                            const char *text, size_t size, llmprof_error *err);

#ifdef __cplusplus
}
#endif

#endif

/* Opening a trace, whatever its format: the table of readers. */
#ifndef LLMPROF_READERS_H
#define LLMPROF_READERS_H

#include "llmprof/trace_builder.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The trace of a file, read by the first reader that claims it. NULL on
 * failure; SYNTAX: no reader claims it, and the message says what it looks
 * like, or it is damaged; UNSUPPORTED: it is known, but holds no timeline. Free
 * with llmprof_trace_close. */
llmprof_trace *llmprof_trace_open(const char *path, llmprof_error *err);

/* The reader that claims a file; NULL: none does, or it cannot be read, as err
 * says. */
const llmprof_reader *llmprof_reader_of(const char *path, llmprof_error *err);

/* The readers, 0 and up in the order in which they are asked; NULL after the
 * last. */
const llmprof_reader *llmprof_reader_at(size_t number);

/* Add a reader, which must live as long as the process and is asked after those
 * that are there. May be called from any thread; one that is there already is
 * not added again. LIMIT: there are too many. */
bool llmprof_reader_add(const llmprof_reader *reader, llmprof_error *err);

/* Whether a reader claims a file; err is filled in but for CLAIM_YES, also
 * when the file cannot be read at all. */
llmprof_claim llmprof_reader_probe(const llmprof_reader *reader,
                                   const char *path, llmprof_error *err);

#ifdef __cplusplus
}
#endif

#endif

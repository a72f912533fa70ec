/* A file written piece by piece, plain or gzip, that takes its place when it
 * is complete. Private to the core. */
#ifndef LLMPROF_SINK_H
#define LLMPROF_SINK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "llmprof/error.h"

typedef struct llmprof_sink llmprof_sink;

/* NULL on failure. The path is borrowed until commit or discard, one of which
 * must follow and frees the sink. */
llmprof_sink *llmprof_sink_open(const char *path, bool packed,
                                llmprof_error *err);

/* Add the bytes to the file; the buffer is empty then. */
bool llmprof_sink_write(llmprof_sink *sink, llmprof_buffer *bytes,
                        llmprof_error *err);

bool llmprof_sink_commit(llmprof_sink *sink, llmprof_error *err);
void llmprof_sink_discard(llmprof_sink *sink); /* NULL is fine */

#endif

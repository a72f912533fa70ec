/* What to say of a file that no reader takes. */
#ifndef LLMPROF_READERS_READERS_H
#define LLMPROF_READERS_READERS_H

#include "base/buffer.h"
#include "llmprof/readers.h"

/* Appends what to do about a file that could not be opened, in one line: what
 * its reader says, or who knows its name, else what can be read. */
void llmprof_reader_hint_for(const char *path, llmprof_buffer *hint);

#endif

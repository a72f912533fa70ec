/* The spool file as the writer sees it: records gather in a block, blocks go
 * to the file with one call each. Only for the writer. */
#ifndef LLMPROF_COLLECTOR_OUTPUT_H
#define LLMPROF_COLLECTOR_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/spool.h"

/* A new file of that path, for its owner alone; false: errno says why. When it
 * cannot be opened or written, a symbolic link next to it, PATH.lost, has the
 * reason as its target: a link needs no descriptor and no file that grows. */
bool output_open(const char *path);

/* Make this link for a failure before the file is opened. */
void output_tell_loss(const char *path, const char *why);

/* `record` begins with a spool_record, which is filled in here; `more` bytes
 * follow the struct. Nothing when no file is open. */
void output_record(spool_kind kind, void *record, size_t fixed,
                   const void *more, size_t more_size);

/* Write what has gathered. */
void output_flush(void);
void output_close(void);

uint64_t output_records(void);

/* In the child of a fork, which has neither the file nor its thread. */
void output_forget(void);

#endif

/* The writer: one thread that turns logs and buffers into the spool. */
#ifndef LLMPROF_COLLECTOR_WRITER_H
#define LLMPROF_COLLECTOR_WRITER_H

#include <stdbool.h>

/* Open this process's spool in the folder and start the thread. False: no
 * file, no memory. */
bool writer_begin(const char *folder);

/* The spool's path. */
const char *writer_path(void);

void writer_forget(void);

#endif

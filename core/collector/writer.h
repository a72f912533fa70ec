/* The writer: one thread that turns logs and buffers into the spool. */
#ifndef LLMPROF_COLLECTOR_WRITER_H
#define LLMPROF_COLLECTOR_WRITER_H

#include <stdbool.h>

/* Open this process's spool in the folder. False: there is none. */
bool writer_open(const char *folder);

/* Which rank of a job this is, as launchers say it in the environment: on a
 * thread of the program, which may change that meanwhile. Before the version of
 * CUPTI changes, at which the writer says it again. */
void writer_take_rank(void);

/* Start the thread. False: no memory. */
bool writer_begin(void);

/* Start it without a file: each `record FOLDER` from the socket begins one,
 * which `stop` ends, as a connection that breaks does. */
bool writer_begin_on_demand(void);

/* The spool's path; "" while there is none. */
const char *writer_path(void);

void writer_forget(void);

#endif

/* The one way in which a file that a user or another file names is opened to be
 * read. Private to the core. */
#ifndef LLMPROF_FS_OPEN_H
#define LLMPROF_FS_OPEN_H

#include <sys/stat.h>

#include "llmprof/error.h"

/* A descriptor for reading, which the caller closes, and what fstat says of it
 * (info may be NULL). It never waits: what is no regular file (a named pipe, a
 * device, a socket, a folder) is refused. -1 on failure; SYNTAX: no regular
 * file. */
int llmprof_fs_open(const char *path, struct stat *info, llmprof_error *err);

#endif

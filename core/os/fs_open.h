/* Opening a file for reading whose path comes from a user or from another file:
 * the core does it here only. Private to the core. */
#ifndef LLMPROF_FS_OPEN_H
#define LLMPROF_FS_OPEN_H

#include <sys/stat.h>

#include "llmprof/error.h"

/* A descriptor, which the caller closes, and the result of its fstat in *info
 * (NULL is fine). -1 on failure. Never waits: anything but a regular file (a
 * named pipe, a device, a socket, a folder) is refused (SYNTAX). */
int llmprof_fs_open(const char *path, struct stat *info, llmprof_error *err);

#endif

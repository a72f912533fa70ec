/* Files and sockets of ours. One thread holds their descriptors in a table of
 * its own: whatever the program closes, opens or duplicates, its numbers never
 * mean a file of ours, and ours never mean one of its files.
 *
 * Each call below runs one system call on that thread, waits for it, and
 * returns what that returned, with its errno. One caller at a time: the thread
 * that begins, and from then on the writer. Interrupted calls are made again,
 * and no signal is raised, in no thread. */
#ifndef LLMPROF_COLLECTOR_FILES_H
#define LLMPROF_COLLECTOR_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Start the thread. False: errno says why. EPERM and ENOSYS: this system
 * refuses a table of its own to a thread. */
bool files_begin(void);

/* Ends the thread; every descriptor is closed. Calls fail without it. */
void files_end(void);

/* A regular file; EINVAL: it is none. */
int files_open(const char *path, int flags, mode_t mode);

/* A connection to the Unix socket at `path`, or to the abstract one "@NAME".
 * Neither this nor reading nor writing waits; EAGAIN: too many others wait for
 * who listens. */
int files_connect(const char *path);

/* The user at the other end of a connection; false: unknown. */
bool files_peer(int file, unsigned *uid);

ssize_t files_read(int file, void *bytes, size_t size);
ssize_t files_write(int file, const void *bytes, size_t size);
int files_truncate(int file, off_t size);
void files_close(int file);

/* At most size - 1 bytes of a file, NUL-terminated; "" if it cannot be read. */
void files_text(const char *path, char *text, size_t size);

#endif

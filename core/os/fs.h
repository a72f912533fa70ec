/* Files and folders: what a run directory needs and stdio lacks.
 *
 * Messages start with the path. Strings are made in an llmprof_buffer whose
 * old contents they replace and which the caller frees. Nothing here changes
 * the working directory or the umask. */
#ifndef LLMPROF_FS_H
#define LLMPROF_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "llmprof/error.h"

/* ---- folders and names (core/os/fs.c) ---- */

typedef enum llmprof_fs_type {
  LLMPROF_FS_FILE,
  LLMPROF_FS_DIRECTORY,
  LLMPROF_FS_LINK, /* from lstat only */
  LLMPROF_FS_OTHER,
} llmprof_fs_type;

typedef struct llmprof_fs_info {
  llmprof_fs_type type;
  uint64_t size;    /* bytes */
  int64_t mtime_ns; /* last change of the contents, since 1970-01-01 UTC */
  uint32_t mode;    /* permission bits, 07777 */
} llmprof_fs_info;

/* stat follows symbolic links, lstat looks at the link itself. */
bool llmprof_fs_stat(const char *path, llmprof_fs_info *info,
                     llmprof_error *err);
bool llmprof_fs_lstat(const char *path, llmprof_fs_info *info,
                      llmprof_error *err);

/* mkdir fails if path exists; mkdirs makes missing parents too and is content
 * with a folder that is there. Modes are 0777 less the umask. */
bool llmprof_fs_mkdir(const char *path, llmprof_error *err);
bool llmprof_fs_mkdirs(const char *path, llmprof_error *err);

typedef struct llmprof_fs_names {
  char **items; /* sorted by byte, "." and ".." left out */
  size_t count;
  size_t cap;
} llmprof_fs_names;

/* On failure *names is empty. */
bool llmprof_fs_list(const char *path, llmprof_fs_names *names,
                     llmprof_error *err);
void llmprof_fs_names_free(llmprof_fs_names *names);

/* Replaces a file at `to`, as rename(2) does; within one file system. */
bool llmprof_fs_rename(const char *from, const char *to, llmprof_error *err);

/* A file, a link (not what it points at) or an empty folder. */
bool llmprof_fs_remove(const char *path, llmprof_error *err);

/* A file or a folder with everything below it, 256 folders deep at most
 * (LIMIT). Symbolic links are removed and never followed, not even one that
 * appears meanwhile; other file systems mounted below are not entered. DENIED
 * for a path that names no entry of its own ("", "/", ".") or contains a ".."
 * component. Stops at the first entry that cannot be removed. */
bool llmprof_fs_remove_tree(const char *path, llmprof_error *err);

bool llmprof_fs_symlink(const char *target, const char *path,
                        llmprof_error *err);

bool llmprof_fs_readlink(const char *path, llmprof_buffer *target,
                         llmprof_error *err);
bool llmprof_fs_realpath(const char *path, llmprof_buffer *real,
                         llmprof_error *err);
bool llmprof_fs_cwd(llmprof_buffer *path, llmprof_error *err);

/* Bytes that an unprivileged user may still write there. */
bool llmprof_fs_free_space(const char *path, uint64_t *bytes,
                           llmprof_error *err);

/* Does this process have these rights? mode: any of "rwx"; "" asks whether
 * path exists. LLMPROF_DENIED or NOTFOUND when not. */
bool llmprof_fs_access(const char *path, const char *mode, llmprof_error *err);

/* A new folder of mode 0700 with an unguessable name that starts with prefix
 * (no "/" in it: DENIED), below $TMPDIR or /tmp. */
bool llmprof_fs_temp_dir(const char *prefix, llmprof_buffer *path,
                         llmprof_error *err);

/* The path of `name` below a folder, after looking that no part of the name is
 * a symbolic link or "..": what a stranger's folder holds is not to lead out of
 * it. The folder itself may be a link. What does not exist (yet) is no failure.
 * DENIED when there is a link. */
bool llmprof_fs_beneath(const char *folder, const char *name,
                        llmprof_buffer *path, llmprof_error *err);

/* ---- locks (core/os/fs_lock.c) ---- */

/* Something held against other processes (and other locks of this one) until
 * it is freed or the process ends, however that happens. */
typedef struct llmprof_lock llmprof_lock;

/* Hold a folder, or a file, which is made with mode 0600 when it is not there.
 * BUSY when it is held already, unless wait: INTERRUPTED then when a signal
 * comes first. UNSUPPORTED on file systems without locks. */
llmprof_lock *llmprof_lock_take(const char *path, bool wait,
                                llmprof_error *err);
void llmprof_lock_free(llmprof_lock *lock); /* NULL is fine */

/* A new folder of mode 0700 in `parent`, with an unguessable name, held by
 * *lock: for what must not stay. Remove it before the lock is freed. */
bool llmprof_fs_private_dir(const char *parent, llmprof_buffer *path,
                            llmprof_lock **lock, llmprof_error *err);

/* Remove what processes that are gone left in the folder of files and folders
 * with such names; *count of them. A folder that is not there has none. */
bool llmprof_fs_sweep(const char *folder, size_t *count, llmprof_error *err);

/* ---- contents (core/os/fs_file.c) ---- */

/* The whole file; LIMIT when it is larger than limit bytes (0: no limit).
 * Never waits for another process: anything but a regular file (a named pipe, a
 * device, a folder) is refused (SYNTAX), here and wherever a file is read. */
bool llmprof_fs_read(const char *path, size_t limit, llmprof_buffer *bytes,
                     llmprof_error *err);

/* Make or replace the file atomically: who opens path sees the old
 * contents or all of the new ones, also after a crash. The bytes go to a
 * file of the same folder that has no name yet, or one that cannot be guessed,
 * are synced, and put in place; on failure nothing is left behind. A replaced
 * file keeps its permission bits; a link at path is replaced, not followed; a
 * folder or device is left alone. */
bool llmprof_fs_write(const char *path, const void *bytes, size_t size,
                      llmprof_error *err);

/* A regular file's contents and permission bits, atomically, as write. */
bool llmprof_fs_copy(const char *from, const char *to, llmprof_error *err);

/* The same without a wait for the disk, for files that are made one after the
 * other: after a crash of this process they are whole, after one of the machine
 * only if they have been settled. */
bool llmprof_fs_write_soon(const char *path, const void *bytes, size_t size,
                           llmprof_error *err);
bool llmprof_fs_copy_soon(const char *from, const char *to, llmprof_error *err);

/* Wait until everything on the file system of the folder is on its disk. */
bool llmprof_fs_settle(const char *folder, llmprof_error *err);

/* Give a file or folder these permission bits; a link at path is not followed
 * (LLMPROF_IO). */
bool llmprof_fs_chmod(const char *path, uint32_t mode, llmprof_error *err);

/* Wait until what was written to the file is on its disk. */
bool llmprof_fs_sync(const char *path, llmprof_error *err);

/* All bytes to an open descriptor, over short writes and EINTR; `name` stands
 * for the path in messages. */
bool llmprof_fs_write_fd(int fd, const char *name, const void *bytes,
                         size_t size, llmprof_error *err);

#endif

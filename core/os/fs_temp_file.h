/* Shared by the fs_*.c files and what writes files piece by piece. */
#ifndef LLMPROF_FS_TEMP_FILE_H
#define LLMPROF_FS_TEMP_FILE_H

#include <limits.h>
#include <sys/types.h>

#include "llmprof/error.h"

/* An entry as its folder, opened, and its name: what is done to it cannot be
 * redirected by renaming a folder on the way. */
typedef struct fs_entry {
  int dir; /* O_PATH; -1 when not open */
  char name[NAME_MAX + 1];
} fs_entry;

/* Trailing slashes are ignored. NOTFOUND for a path without a last component
 * ("", "/") or without its folder. Close with llmprof_fs_entry_close. */
bool llmprof_fs_entry_open(fs_entry *entry, const char *path,
                           llmprof_error *err);
void llmprof_fs_entry_close(fs_entry *entry);

enum {
  FS_TEMP_SIZE = 48
};

/* A name that cannot be guessed, for O_EXCL or symlink and then rename. */
bool llmprof_fs_temp_name(char name[FS_TEMP_SIZE], llmprof_error *err);

/* Could llmprof_fs_temp_name have made it? */
bool llmprof_fs_is_temp_name(const char *name);

/* Hold the open file or folder until fd is closed; where there are no locks,
 * nothing happens. False when somebody sweeping up took it away: make
 * another. */
bool llmprof_fs_hold(int fd);

/* A file being written; write to fd. */
typedef struct fs_temp_file {
  const char *path; /* borrowed */
  fs_entry entry;
  char temp[FS_TEMP_SIZE]; /* "": it has no name, so that nothing stays of it
                              whatever happens to us */
  int fd;
  bool soon; /* put in place without a wait for the disk */
} fs_temp_file;

/* mode: permission bits to give; NULL for those of the file that is replaced,
 * or what the umask leaves. On failure there is nothing to discard. */
bool llmprof_fs_temp_file_open(fs_temp_file *temp_file, const char *path,
                               const mode_t *mode, llmprof_error *err);

/* Put it in place, or discard it. */
bool llmprof_fs_temp_file_commit(fs_temp_file *temp_file, llmprof_error *err);
void llmprof_fs_temp_file_discard(fs_temp_file *temp_file);

#endif

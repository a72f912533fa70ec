/* Shared by the fs_*.c files. */
#ifndef LLMPROF_FS_INTERNAL_H
#define LLMPROF_FS_INTERNAL_H

#include <limits.h>

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

#endif

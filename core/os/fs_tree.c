/* Removing a folder with everything below it, in constant descriptors and at
 * any depth: one folder is open at a time. Going down notes where we were;
 * going up opens ".." and checks that it is that place, so that neither a
 * link nor a folder moved meanwhile leads us elsewhere. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "os/fs.h"
#include "os/fs_temp_file.h"

/* A folder on the way down, the top one first. */
typedef struct level {
  dev_t dev;
  ino_t ino;
  char **folders; /* still to be removed; below us is the last of them */
  size_t count, cap;
} level;

typedef struct walk {
  const char *path; /* of the top folder, as the caller gave it */
  DIR *dir;         /* the lowest level's */
  level *levels;
  size_t depth, cap;
  llmprof_error *err;
} walk;

/* Fail at an entry of the current folder (NULL: the folder itself). */
static bool fail_entry(walk *w, const char *name, int errnum) {
  llmprof_buffer where = {0};
  llmprof_buffer_puts(&where, w->path);
  for (size_t i = 0; i + 1 < w->depth; i++)
    llmprof_buffer_printf(&where, "/%s",
                          w->levels[i].folders[w->levels[i].count - 1]);
  if (name) llmprof_buffer_printf(&where, "/%s", name);
  if (where.failed)
    llmprof_fail_nomem(w->err);
  else if (errnum == EXDEV)
    llmprof_fail(w->err, LLMPROF_DENIED,
                 "%s: not removed: on another file system, or moved meanwhile",
                 where.bytes);
  else
    llmprof_fail_errno(w->err, errnum, "%s", where.bytes);
  llmprof_buffer_free(&where);
  return false;
}

/* ---- one folder ---- */

static bool add_folder(level *l, const char *name) {
  if (!llmprof_grow(&l->folders, &l->cap, l->count + 1, sizeof *l->folders))
    return false;
  l->folders[l->count] = llmprof_strdup(name);
  return l->folders[l->count] && ++l->count;
}

static void drop_folder(level *l) {
  llmprof_free(l->folders[--l->count]);
}

static void level_free(level *l) {
  while (l->count) drop_folder(l);
  llmprof_free(l->folders);
}

static bool is_dots(const char *name) {
  return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Remove an entry, or note it down if it is a folder. */
static bool clear_entry(walk *w, level *l, const char *name, bool *removed) {
  if (is_dots(name)) return true;
  if (unlinkat(dirfd(w->dir), name, 0) == 0) {
    *removed = true;
    return true;
  }
  if (errno == ENOENT) return true;
  if (errno != EISDIR) return fail_entry(w, name, errno);
  return add_folder(l, name) || llmprof_fail_nomem(w->err);
}

/* Remove the files of the current folder and note the folders. Reading and
 * removing at once may skip entries on some file systems: read again until
 * nothing was removed. */
static bool clear_files(walk *w, level *l) {
  for (bool removed = true; removed;) {
    removed = false;
    rewinddir(w->dir);
    while (l->count) drop_folder(l);
    struct dirent *entry;
    while ((errno = 0, entry = readdir(w->dir))) {
      if (!clear_entry(w, l, entry->d_name, &removed)) return false;
    }
    if (errno) return fail_entry(w, NULL, errno);
  }
  return true;
}

/* ---- from folder to folder ---- */

/* Take over fd as the current folder's. */
static bool move_to(walk *w, int fd) {
  DIR *dir = fdopendir(fd);
  if (!dir) {
    fail_entry(w, NULL, errno);
    close(fd);
    return false;
  }
  if (w->dir) closedir(w->dir);
  w->dir = dir;
  return true;
}

/* Enter a folder below `parent` (a descriptor), which is removed later. */
static bool go_down(walk *w, int parent, const char *name) {
  struct stat st;
  const char *in_message = w->depth ? name : NULL;
  int fd =
      openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &st) != 0) {
    fail_entry(w, in_message, errno);
  } else if (w->depth && st.st_dev != w->levels[0].dev) {
    fail_entry(w, in_message, EXDEV);
  } else if (!llmprof_grow(&w->levels, &w->cap, w->depth + 1,
                           sizeof *w->levels)) {
    llmprof_fail_nomem(w->err);
  } else {
    w->levels[w->depth++] = (level){.dev = st.st_dev, .ino = st.st_ino};
    return move_to(w, fd) && clear_files(w, &w->levels[w->depth - 1]);
  }
  if (fd >= 0) close(fd);
  return false;
}

/* Leave the current folder, which is empty, and remove it. */
static bool go_up(walk *w) {
  level *above = &w->levels[w->depth - 2];
  struct stat st;
  int fd = openat(dirfd(w->dir), "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &st) != 0 || st.st_dev != above->dev ||
      st.st_ino != above->ino) {
    fail_entry(w, NULL, fd < 0 ? errno : EXDEV); /* moved away under us */
    if (fd >= 0) close(fd);
    return false;
  }
  if (!move_to(w, fd)) return false;
  if (unlinkat(fd, above->folders[above->count - 1], AT_REMOVEDIR) != 0 &&
      errno != ENOENT)
    return fail_entry(w, NULL, errno);
  level_free(&w->levels[--w->depth]);
  drop_folder(above);
  return true;
}

static bool empty_tree(walk *w) {
  for (;;) {
    level *here = &w->levels[w->depth - 1];
    bool ok = true;
    if (here->count)
      ok = go_down(w, dirfd(w->dir), here->folders[here->count - 1]);
    else if (w->depth > 1)
      ok = go_up(w);
    else
      return true;
    if (!ok) return false;
  }
}

static bool remove_folder(const fs_entry *entry, const char *path,
                          llmprof_error *err) {
  walk w = {.path = path, .err = err};
  bool ok = go_down(&w, entry->dir, entry->name) && empty_tree(&w);
  if (w.dir) closedir(w.dir);
  while (w.depth) level_free(&w.levels[--w.depth]);
  llmprof_free(w.levels);
  if (ok && unlinkat(entry->dir, entry->name, AT_REMOVEDIR) != 0)
    return llmprof_fail_errno(err, errno, "%s", path);
  return ok;
}

/* Does the path name an entry of its own, without leaving where it starts? */
static bool check_removable(const char *path, llmprof_error *err) {
  bool names_entry = false;
  for (const char *at = path; *at;) {
    size_t size = strcspn(at, "/");
    if (size == 2 && memcmp(at, "..", 2) == 0)
      return llmprof_fail(err, LLMPROF_DENIED,
                          "%s: not removed: \"..\" in the path", path);
    if (size) names_entry = !(size == 1 && *at == '.');
    at += size + (at[size] == '/');
  }
  return names_entry ||
         llmprof_fail(err, LLMPROF_DENIED,
                      "%s: not removed: names no entry of a folder", path);
}

bool llmprof_fs_remove_tree(const char *path, llmprof_error *err) {
  fs_entry entry;
  if (!check_removable(path, err) || !llmprof_fs_entry_open(&entry, path, err))
    return false;
  bool ok = unlinkat(entry.dir, entry.name, 0) == 0;
  if (!ok) {
    ok = errno == EISDIR ? remove_folder(&entry, path, err)
                         : llmprof_fail_errno(err, errno, "%s", path);
  }
  llmprof_fs_entry_close(&entry);
  return ok;
}

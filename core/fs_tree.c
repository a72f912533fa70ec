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

#include "fs_internal.h"
#include "llmprof/alloc.h"
#include "llmprof/buffer.h"
#include "llmprof/fs.h"

/* A step down: the folder it was taken in, and the name that was followed. */
typedef struct step {
  dev_t dev;
  ino_t ino;
  char *name;
} step;

typedef struct walk {
  const char *path; /* as the caller gave it */
  DIR *dir;         /* where we are */
  step *steps;
  size_t depth, cap;
  dev_t dev; /* of the top folder */
  llmprof_error *err;
} walk;

/* Fail at an entry of the current folder (NULL: the folder itself). */
static bool fail_entry(walk *w, const char *name, int errnum) {
  llmprof_buffer where = {0};
  llmprof_buffer_puts(&where, w->path);
  for (size_t i = 0; i < w->depth; i++)
    llmprof_buffer_printf(&where, "/%s", w->steps[i].name);
  if (name) llmprof_buffer_printf(&where, "/%s", name);
  if (where.failed)
    llmprof_fail_nomem(w->err);
  else
    llmprof_fail_errno(w->err, errnum, "%s", where.bytes);
  llmprof_buffer_free(&where);
  return false;
}

/* Take over fd (may be -1 with errno set) as the place where we are. */
static bool move_to(walk *w, int fd, const char *name) {
  DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
  if (!dir) {
    fail_entry(w, name, errno);
    if (fd >= 0) close(fd);
    return false;
  }
  if (w->dir) closedir(w->dir);
  w->dir = dir;
  return true;
}

static bool go_down(walk *w, const char *name) {
  struct stat here, there;
  if (fstat(dirfd(w->dir), &here) != 0) return fail_entry(w, NULL, errno);
  if (!llmprof_grow(&w->steps, &w->cap, w->depth + 1, sizeof *w->steps))
    return llmprof_fail_nomem(w->err);
  char *copy = llmprof_strdup(name);
  if (!copy) return llmprof_fail_nomem(w->err);
  int fd = openat(dirfd(w->dir), name,
                  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  bool ok = fd < 0 || fstat(fd, &there) != 0 || there.st_dev == w->dev;
  if (!ok) {
    fail_entry(w, name, EXDEV);
    close(fd);
  }
  ok = ok && move_to(w, fd, name);
  if (ok)
    w->steps[w->depth++] = (step){here.st_dev, here.st_ino, copy};
  else
    llmprof_free(copy);
  return ok;
}

/* Back to where the last step was taken, and remove what it led to. */
static bool go_up(walk *w) {
  step *last = &w->steps[w->depth - 1];
  struct stat there;
  int fd = openat(dirfd(w->dir), "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0 && (fstat(fd, &there) != 0 || there.st_dev != last->dev ||
                  there.st_ino != last->ino)) {
    close(fd);
    return fail_entry(w, NULL, EXDEV); /* moved away under us */
  }
  if (!move_to(w, fd, NULL)) return false;
  if (unlinkat(dirfd(w->dir), last->name, AT_REMOVEDIR) != 0 && errno != ENOENT)
    return fail_entry(w, NULL, errno);
  llmprof_free(last->name);
  w->depth--;
  return true;
}

static bool is_dots(const char *name) {
  return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Remove files until there are none or a folder comes: then 1 and its name,
 * else 0, or -1. Reading and removing at once may skip entries on some file
 * systems, hence the passes. */
static int clear_files(walk *w, char name[NAME_MAX + 1]) {
  for (bool removed = true; removed;) {
    removed = false;
    rewinddir(w->dir);
    struct dirent *entry;
    while ((errno = 0, entry = readdir(w->dir))) {
      if (is_dots(entry->d_name)) continue;
      if (unlinkat(dirfd(w->dir), entry->d_name, 0) == 0) {
        removed = true;
      } else if (errno == EISDIR) {
        memcpy(name, entry->d_name, strlen(entry->d_name) + 1);
        return 1;
      } else if (errno != ENOENT) {
        fail_entry(w, entry->d_name, errno);
        return -1;
      }
    }
    if (errno) {
      fail_entry(w, NULL, errno);
      return -1;
    }
  }
  return 0;
}

static bool empty_tree(walk *w) {
  for (;;) {
    char name[NAME_MAX + 1];
    int found = clear_files(w, name);
    if (found < 0) return false;
    if (found && !go_down(w, name)) return false;
    if (!found && !w->depth) return true;
    if (!found && !go_up(w)) return false;
  }
}

static bool remove_folder(const fs_entry *entry, const char *path,
                          llmprof_error *err) {
  walk w = {.path = path, .err = err};
  int fd = openat(entry->dir, entry->name,
                  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat top;
  if (fd >= 0 && fstat(fd, &top) == 0) w.dev = top.st_dev;
  bool ok = move_to(&w, fd, NULL) && empty_tree(&w);
  if (w.dir) closedir(w.dir);
  while (w.depth) llmprof_free(w.steps[--w.depth].name);
  llmprof_free(w.steps);
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

/* Removing a folder with everything below it. Each folder is opened below the
 * one that it is in, so that neither a link nor a folder moved meanwhile leads
 * us elsewhere. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "os/fs.h"
#include "os/fs_temp_file.h"

enum {
  MOST_DEPTH = 256 /* of folders, each of which is open meanwhile */
};

typedef struct walk {
  llmprof_buffer path; /* of the entry at hand, as the caller gave the top */
  dev_t dev;           /* of the top folder */
  int depth;
  llmprof_error *err;
} walk;

static bool fail_entry(walk *w, int errnum) {
  if (w->path.failed) return llmprof_fail_nomem(w->err);
  switch (errnum) {
  case EXDEV:
    return llmprof_fail(w->err, LLMPROF_DENIED,
                        "%s: not removed: on another file system",
                        w->path.bytes);
  case EOVERFLOW:
    return llmprof_fail(w->err, LLMPROF_LIMIT,
                        "%s: not removed: below more than %d folders",
                        w->path.bytes, MOST_DEPTH);
  default:
    return llmprof_fail_errno(w->err, errnum, "%s", w->path.bytes);
  }
}

static bool remove_folder(walk *w, int parent, const char *name);

static bool is_dots(const char *name) {
  return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static bool remove_entry(walk *w, int parent, const char *name, bool *removed) {
  size_t size = w->path.size;
  bool ok = true;
  llmprof_buffer_printf(&w->path, "/%s", name);
  if (unlinkat(parent, name, 0) == 0)
    *removed = true;
  else if (errno == EISDIR)
    *removed = ok = remove_folder(w, parent, name);
  else if (errno != ENOENT)
    ok = fail_entry(w, errno);
  if (w->path.bytes) w->path.bytes[size] = '\0';
  w->path.size = size;
  return ok;
}

/* Reading and removing at once may skip entries on some file systems: read
 * again until nothing was removed. */
static bool empty_folder(walk *w, DIR *dir) {
  for (bool removed = true; removed;) {
    removed = false;
    rewinddir(dir);
    struct dirent *entry;
    while ((errno = 0, entry = readdir(dir))) {
      if (!is_dots(entry->d_name) &&
          !remove_entry(w, dirfd(dir), entry->d_name, &removed))
        return false;
    }
    if (errno) return fail_entry(w, errno);
  }
  return true;
}

/* NULL with errno set. */
static DIR *open_folder(walk *w, int parent, const char *name) {
  struct stat st;
  int fd =
      openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return NULL;
  int errnum = fstat(fd, &st) == 0 ? 0 : errno;
  if (!w->depth) w->dev = st.st_dev;
  if (!errnum && st.st_dev != w->dev) errnum = EXDEV;
  if (!errnum && w->depth == MOST_DEPTH) errnum = EOVERFLOW;
  DIR *dir = errnum ? NULL : fdopendir(fd);
  if (dir) return dir;
  if (!errnum) errnum = errno;
  close(fd);
  errno = errnum;
  return NULL;
}

static bool remove_folder(walk *w, int parent, const char *name) {
  DIR *dir = open_folder(w, parent, name);
  if (!dir) return fail_entry(w, errno);
  w->depth++;
  bool ok = empty_folder(w, dir);
  w->depth--;
  closedir(dir);
  return ok && (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT ||
                fail_entry(w, errno));
}

static bool remove_top(const fs_entry *entry, const char *path,
                       llmprof_error *err) {
  walk w = {.err = err};
  llmprof_buffer_puts(&w.path, path);
  bool ok = remove_folder(&w, entry->dir, entry->name);
  llmprof_buffer_free(&w.path);
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
    ok = errno == EISDIR ? remove_top(&entry, path, err)
                         : llmprof_fail_errno(err, errno, "%s", path);
  }
  llmprof_fs_entry_close(&entry);
  return ok;
}

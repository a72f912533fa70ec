/* Locks are flock(2): the kernel lets go of them when the process ends, so what
 * a killed one left behind is told from what a living one works on. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "llmprof/alloc.h"
#include "os/fs.h"
#include "os/fs_temp_file.h"

struct llmprof_lock {
  int fd;
};

/* ---- one lock ---- */

/* 0 or an errno. */
static int lock_fd(int fd, bool wait) {
  while (flock(fd, LOCK_EX | (wait ? 0 : LOCK_NB)) != 0) {
    if (errno != EINTR || llmprof_interrupted()) return errno;
  }
  return 0;
}

static bool fail_lock(int errnum, const char *path, llmprof_error *err) {
  switch (errnum) {
  case EWOULDBLOCK:
    return llmprof_fail(err, LLMPROF_BUSY, "%s: in use by another llmprof",
                        path);
  case ENOTSUP:
  case ENOLCK:
  case ENOSYS:
    return llmprof_fail(err, LLMPROF_UNSUPPORTED,
                        "%s: the file system has no locks", path);
  default:
    return llmprof_fail_errno(err, errnum, "%s: cannot be locked", path);
  }
}

static int open_to_lock(const char *path) {
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0 || (errno != ENOENT && errno != ENOTDIR)) return fd;
  return open(path,
              O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY,
              0600);
}

static llmprof_lock *lock_new(int fd, llmprof_error *err) {
  llmprof_lock *lock = llmprof_alloc(1, sizeof *lock);
  if (lock)
    lock->fd = fd;
  else
    llmprof_fail_nomem(err);
  return lock;
}

llmprof_lock *llmprof_lock_take(const char *path, bool wait,
                                llmprof_error *err) {
  int fd = open_to_lock(path);
  if (fd < 0) return llmprof_fail_errno(err, errno, "%s", path), NULL;
  int errnum = lock_fd(fd, wait);
  llmprof_lock *lock = NULL;
  if (errnum)
    fail_lock(errnum, path, err);
  else
    lock = lock_new(fd, err);
  if (!lock) close(fd);
  return lock;
}

void llmprof_lock_free(llmprof_lock *lock) {
  if (!lock) return;
  close(lock->fd);
  llmprof_free(lock);
}

bool llmprof_fs_hold(int fd) {
  struct stat st;
  int errnum = lock_fd(fd, false);
  return errnum != EWOULDBLOCK && fstat(fd, &st) == 0 && st.st_nlink > 0;
}

/* ---- folders that must not stay ---- */

/* Made and held; -1 with errno set, EAGAIN when it was taken away. */
static int make_private(const char *path) {
  if (mkdir(path, 0700) != 0) return -1;
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd >= 0 && llmprof_fs_hold(fd)) return fd;
  int errnum = fd >= 0 || errno == ENOENT ? EAGAIN : errno;
  if (fd >= 0) close(fd);
  rmdir(path);
  errno = errnum;
  return -1;
}

bool llmprof_fs_private_dir(const char *parent, llmprof_buffer *path,
                            llmprof_lock **lock, llmprof_error *err) {
  *lock = NULL;
  int fd;
  do {
    char name[FS_TEMP_SIZE];
    if (!llmprof_fs_temp_name(name, err)) return false;
    llmprof_buffer_clear(path);
    llmprof_buffer_printf(path, "%s/%s", parent, name);
    if (path->failed) return llmprof_fail_nomem(err);
    fd = make_private(path->bytes);
  } while (fd < 0 && errno == EAGAIN);
  if (fd < 0) return llmprof_fail_errno(err, errno, "%s", parent);
  *lock = lock_new(fd, err);
  if (*lock) return true;
  rmdir(path->bytes);
  close(fd);
  return false;
}

/* ---- sweeping ---- */

/* The entry, opened and held, if it is ours and nobody else holds it; -1. */
static int hold_abandoned(int dir, const char *name) {
  struct stat st;
  int fd = openat(dir, name,
                  O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return -1;
  if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && lock_fd(fd, false) == 0)
    return fd;
  close(fd);
  return -1;
}

static bool sweep_entry(int dir, const char *folder, const char *name,
                        size_t *count, llmprof_error *err) {
  int fd = hold_abandoned(dir, name);
  if (fd < 0) return true;
  llmprof_buffer path = {0};
  llmprof_buffer_printf(&path, "%s/%s", folder, name);
  bool ok = path.failed ? llmprof_fail_nomem(err)
                        : llmprof_fs_remove_tree(path.bytes, err);
  llmprof_buffer_free(&path);
  close(fd);
  *count += ok;
  return ok;
}

bool llmprof_fs_sweep(const char *folder, size_t *count, llmprof_error *err) {
  *count = 0;
  DIR *dir = opendir(folder);
  if (!dir) {
    return errno == ENOENT || errno == ENOTDIR ||
           llmprof_fail_errno(err, errno, "%s", folder);
  }
  bool ok = true;
  struct dirent *entry;
  while (ok && (errno = 0, entry = readdir(dir))) {
    if (llmprof_fs_is_temp_name(entry->d_name))
      ok = sweep_entry(dirfd(dir), folder, entry->d_name, count, err);
  }
  if (ok && errno) ok = llmprof_fail_errno(err, errno, "%s", folder);
  closedir(dir);
  return ok;
}

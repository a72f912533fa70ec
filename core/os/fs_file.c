#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/bounds.h"
#include "base/interrupt.h"
#include "os/fs.h"
#include "os/fs_open.h"
#include "os/fs_temp_file.h"

enum {
  CHUNK_SIZE = 64 * 1024,
  COPY_SIZE = 8 * 1024 * 1024, /* in the kernel, at a time */
};

/* In pieces: a write waits for a slow disk, and no signal ends the wait. What
 * is one piece is written whatever was asked for. */
bool llmprof_fs_write_fd(int fd, const char *name, const void *bytes,
                         size_t size, llmprof_error *err) {
  const char *from = bytes;
  while (size) {
    ssize_t wrote = write(fd, from, size < CHUNK_SIZE ? size : CHUNK_SIZE);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return llmprof_fail_errno(err, errno, "%s", name);
    from += wrote;
    size -= (size_t)wrote;
    if (size && llmprof_interrupted()) return llmprof_fail_interrupted(err);
  }
  return true;
}

/* read(2) over EINTR, unless that is what shall end us. */
static ssize_t read_some(int fd, void *into, size_t room) {
  ssize_t got;
  do {
    got = read(fd, into, room);
  } while (got < 0 && errno == EINTR && !llmprof_interrupted());
  return got;
}

/* ---- reading ---- */

/* O_NONBLOCK: opening a named pipe without a writer would wait. A socket cannot
 * be opened at all (ENXIO). */
int llmprof_fs_open(const char *path, struct stat *info, llmprof_error *err) {
  struct stat unused;
  if (!info) info = &unused;
  int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  bool known = fd >= 0 && fstat(fd, info) == 0;
  if (known && S_ISREG(info->st_mode)) return fd;
  if (known || (fd < 0 && errno == ENXIO))
    llmprof_fail(err, LLMPROF_SYNTAX, "%s: not a regular file", path);
  else
    llmprof_fail_errno(err, errno, "%s", path);
  if (fd >= 0) close(fd);
  return -1;
}

/* Read to the end, or until there is more than the limit. */
static bool read_all(int fd, const char *path, size_t limit, size_t expected,
                     llmprof_buffer *buf, llmprof_error *err) {
  size_t need = expected + 2; /* the NUL, and one to see the end at once */
  for (;;) {
    if (!llmprof_grow(&buf->bytes, &buf->cap, need, 1))
      return llmprof_fail_nomem(err);
    ssize_t got =
        read_some(fd, buf->bytes + buf->size, buf->cap - buf->size - 1);
    if (got < 0) return llmprof_fail_errno(err, errno, "%s", path);
    buf->size += (size_t)got;
    buf->bytes[buf->size] = '\0';
    if (limit && buf->size > limit) return llmprof_fail_size(err, path, limit);
    if (!got) return true;
    if (buf->cap - buf->size < 2) need = buf->size + CHUNK_SIZE;
  }
}

bool llmprof_fs_read(const char *path, size_t limit, llmprof_buffer *bytes,
                     llmprof_error *err) {
  llmprof_buffer_clear(bytes);
  struct stat st;
  int fd = llmprof_fs_open(path, &st, err);
  if (fd < 0) return false;
  size_t expected = (size_t)st.st_size; /* a hint: /proc says 0 */
  bool ok = limit && expected > limit
                ? llmprof_fail_size(err, path, limit)
                : read_all(fd, path, limit, expected, bytes, err);
  close(fd);
  if (!ok) llmprof_buffer_clear(bytes);
  return ok;
}

/* ---- replacing a file ---- */

/* May what is at path be replaced? *replaces: it is a file, of this mode. */
static bool check_replaceable(const fs_temp_file *d, mode_t *mode,
                              bool *replaces, llmprof_error *err) {
  struct stat st;
  if (fstatat(d->entry.dir, d->entry.name, &st, AT_SYMLINK_NOFOLLOW) != 0)
    return errno == ENOENT || llmprof_fail_errno(err, errno, "%s", d->path);
  *mode = st.st_mode & 07777;
  *replaces = S_ISREG(st.st_mode);
  if (*replaces || S_ISLNK(st.st_mode)) return true;
  return llmprof_fail(err, LLMPROF_DENIED,
                      "%s: not replaced: it is no regular file", d->path);
}

void llmprof_fs_temp_file_discard(fs_temp_file *d) {
  if (d->fd >= 0) {
    close(d->fd);
    if (*d->temp) unlinkat(d->entry.dir, d->temp, 0);
  }
  llmprof_fs_entry_close(&d->entry);
}

/* What /proc calls the open file: it can be given a name by that. */
static void put_link(char link[FS_TEMP_SIZE], int fd) {
  snprintf(link, FS_TEMP_SIZE, "/proc/self/fd/%d", fd);
}

/* A file without a name, if the file system has such; -1. */
static int open_nameless(int dir, mode_t mode) {
  int fd = openat(dir, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, mode);
  char link[FS_TEMP_SIZE];
  put_link(link, fd);
  if (fd < 0 || access(link, F_OK) == 0) return fd;
  close(fd);
  return -1;
}

/* A file with a name that cannot be guessed, held; -1 with errno set. */
static int open_named(fs_temp_file *d, mode_t mode) {
  for (;;) {
    llmprof_error ignored;
    if (!llmprof_fs_temp_name(d->temp, &ignored)) return -1;
    int fd = openat(d->entry.dir, d->temp,
                    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd < 0 || llmprof_fs_hold(fd)) return fd;
    close(fd);
  }
}

static int open_temp_file(fs_temp_file *d, mode_t mode) {
  *d->temp = '\0';
  int fd = open_nameless(d->entry.dir, mode);
  return fd >= 0 ? fd : open_named(d, mode);
}

bool llmprof_fs_temp_file_open(fs_temp_file *d, const char *path,
                               const mode_t *mode, llmprof_error *err) {
  *d = (fs_temp_file){.path = path, .fd = -1};
  size_t size = strlen(path);
  if (size && path[size - 1] == '/')
    return llmprof_fail_errno(err, EISDIR, "%s", path);
  if (!llmprof_fs_entry_open(&d->entry, path, err)) return false;
  mode_t found;
  bool replaces = false;
  bool ok = check_replaceable(d, &found, &replaces, err);
  if (!mode && replaces) mode = &found;
  if (ok) {
    d->fd = open_temp_file(d, mode ? 0600 : 0666);
    ok = d->fd >= 0 && (!mode || fchmod(d->fd, *mode) == 0);
    if (!ok) llmprof_fail_errno(err, errno, "%s", path);
  }
  if (!ok) llmprof_fs_temp_file_discard(d);
  return ok;
}

/* Give a nameless file its own name where that is free, else one to be renamed
 * from. 0 or an errno. */
static int give_name(fs_temp_file *d) {
  char link[FS_TEMP_SIZE];
  put_link(link, d->fd);
  if (linkat(AT_FDCWD, link, d->entry.dir, d->entry.name, AT_SYMLINK_FOLLOW) ==
      0)
    return 0;
  llmprof_error ignored;
  if (errno != EEXIST) return errno;
  if (!llmprof_fs_temp_name(d->temp, &ignored)) return EIO;
  if (flock(d->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return errno;
  if (linkat(AT_FDCWD, link, d->entry.dir, d->temp, AT_SYMLINK_FOLLOW) == 0)
    return 0;
  *d->temp = '\0';
  return errno;
}

/* 0 or an errno. */
static int put_in_place(fs_temp_file *d) {
  int errnum = *d->temp ? 0 : give_name(d);
  if (errnum || !*d->temp) return errnum;
  if (renameat(d->entry.dir, d->temp, d->entry.dir, d->entry.name) != 0)
    return errno;
  *d->temp = '\0';
  return 0;
}

/* Where a file system knows no pieces of files, fsync has all to do. */
static bool knows_no_pieces(int errnum) {
  return errnum == ENOSYS || errnum == EINVAL || errnum == ESPIPE ||
         errnum == EOPNOTSUPP;
}

/* fsync(2) waits for all of a file, and no signal ends that: what is long is on
 * the disk before, piece by piece, with the next one on its way. */
static bool settle(int fd, const char *path, llmprof_error *err) {
  const unsigned begin = SYNC_FILE_RANGE_WRITE;
  const unsigned end =
      SYNC_FILE_RANGE_WAIT_BEFORE | begin | SYNC_FILE_RANGE_WAIT_AFTER;
  struct stat info;
  off64_t size = fstat(fd, &info) == 0 && S_ISREG(info.st_mode)
                     ? info.st_size - COPY_SIZE
                     : 0;
  for (off64_t at = 0; at < size; at += COPY_SIZE) {
    if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
    if (sync_file_range(fd, at + COPY_SIZE, COPY_SIZE, begin) == 0 &&
        sync_file_range(fd, at, COPY_SIZE, end) == 0)
      continue;
    if (knows_no_pieces(errno)) break;
    return llmprof_fail_errno(err, errno, "%s", path);
  }
  return fsync(fd) == 0 || llmprof_fail_errno(err, errno, "%s", path);
}

/* The disk begins with what is long at once, so that the call that settles it
 * does not wait long; a file system that cannot do so is asked in vain. */
static void begin(const fs_temp_file *d) {
  struct stat info;
  if (fstat(d->fd, &info) == 0 && info.st_size >= COPY_SIZE)
    (void)sync_file_range(d->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
}

bool llmprof_fs_temp_file_commit(fs_temp_file *d, llmprof_error *err) {
  if (d->soon) begin(d);
  bool ok = d->soon || settle(d->fd, d->path, err);
  int errnum = ok ? put_in_place(d) : 0;
  if (errnum) ok = llmprof_fail_errno(err, errnum, "%s", d->path);
  llmprof_fs_temp_file_discard(d);
  return ok;
}

static bool write_file(const char *path, const void *bytes, size_t size,
                       bool soon, llmprof_error *err) {
  fs_temp_file d;
  if (!llmprof_fs_temp_file_open(&d, path, NULL, err)) return false;
  d.soon = soon;
  if (llmprof_fs_write_fd(d.fd, path, bytes, size, err))
    return llmprof_fs_temp_file_commit(&d, err);
  llmprof_fs_temp_file_discard(&d);
  return false;
}

bool llmprof_fs_write(const char *path, const void *bytes, size_t size,
                      llmprof_error *err) {
  return write_file(path, bytes, size, false, err);
}

bool llmprof_fs_write_soon(const char *path, const void *bytes, size_t size,
                           llmprof_error *err) {
  return write_file(path, bytes, size, true, err);
}

static bool sync_all(int fd, const char *path, llmprof_error *err) {
  return syncfs(fd) == 0 || llmprof_fail_errno(err, errno, "%s", path);
}

static bool sync_by(bool (*sync_fd)(int fd, const char *path,
                                    llmprof_error *err),
                    const char *path, llmprof_error *err) {
  int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) return llmprof_fail_errno(err, errno, "%s", path);
  bool ok = sync_fd(fd, path, err);
  close(fd);
  return ok;
}

bool llmprof_fs_sync(const char *path, llmprof_error *err) {
  return sync_by(settle, path, err);
}

bool llmprof_fs_settle(const char *folder, llmprof_error *err) {
  return sync_by(sync_all, folder, err);
}

bool llmprof_fs_chmod(const char *path, uint32_t mode, llmprof_error *err) {
  int fd =
      open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  bool ok = fd >= 0 && fchmod(fd, (mode_t)(mode & 07777)) == 0;
  if (!ok) llmprof_fail_errno(err, errno, "%s", path);
  if (fd >= 0) close(fd);
  return ok;
}

/* ---- copying ---- */

static bool copy_by_hand(int from, const char *from_path, const fs_temp_file *d,
                         llmprof_error *err) {
  char *chunk = llmprof_alloc(CHUNK_SIZE, 1);
  if (!chunk) return llmprof_fail_nomem(err);
  bool ok = true;
  ssize_t got = 0;
  while (ok && (got = read_some(from, chunk, CHUNK_SIZE)) > 0)
    ok = !llmprof_interrupted() &&
         llmprof_fs_write_fd(d->fd, d->path, chunk, (size_t)got, err);
  if (got < 0) ok = llmprof_fail_errno(err, errno, "%s", from_path);
  if (!ok && llmprof_interrupted()) llmprof_fail_interrupted(err);
  llmprof_free(chunk);
  return ok;
}

/* Put both files where the next bytes after *at are that are no hole; how many
 * to copy then, at most: 0 where the rest is one, which is made, too. Where
 * holes are not known all is taken for bytes. */
static size_t next_bytes(int from, const fs_temp_file *d, off64_t *at) {
  off64_t begin = lseek(from, *at, SEEK_DATA);
  off64_t size = begin < 0 && errno == ENXIO ? lseek(from, 0, SEEK_END) : -1;
  if (size > *at && ftruncate(d->fd, size) == 0 &&
      lseek(d->fd, size, SEEK_SET) == size)
    return 0;
  off64_t end = begin < 0 ? -1 : lseek(from, begin, SEEK_HOLE);
  if (end > begin && lseek(d->fd, begin, SEEK_SET) == begin) *at = begin;
  lseek(from, *at, SEEK_SET);
  return end > *at && end - *at < COPY_SIZE ? (size_t)(end - *at) : COPY_SIZE;
}

/* In the kernel as far as that goes, the rest by hand: between some file
 * systems it cannot, and some (/proc) claim to be at the end at once. Both
 * descriptors' offsets move along. A failure by hand names its side. The disk
 * begins with each piece at once, so that the call that waits for it does not
 * wait long; a file system that cannot do so is asked in vain. */
static bool copy_bytes(int from, const char *from_path, const fs_temp_file *d,
                       llmprof_error *err) {
  off64_t done = 0;
  size_t size;
  ssize_t got;
  while ((size = next_bytes(from, d, &done)) > 0 &&
         (got = copy_file_range(from, NULL, d->fd, NULL, size, 0)) > 0) {
    if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
    (void)sync_file_range(d->fd, done, got, SYNC_FILE_RANGE_WRITE);
    done += got;
  }
  return copy_by_hand(from, from_path, d, err);
}

static bool copy_file(const char *from, const char *to, bool soon,
                      llmprof_error *err) {
  struct stat st;
  int fd = llmprof_fs_open(from, &st, err);
  if (fd < 0) return false;
  const mode_t mode = st.st_mode & 0777;
  fs_temp_file d;
  bool ok = llmprof_fs_temp_file_open(&d, to, &mode, err);
  d.soon = soon;
  if (ok && copy_bytes(fd, from, &d, err)) {
    ok = llmprof_fs_temp_file_commit(&d, err);
  } else if (ok) {
    llmprof_fs_temp_file_discard(&d);
    ok = false;
  }
  close(fd);
  return ok;
}

bool llmprof_fs_copy(const char *from, const char *to, llmprof_error *err) {
  return copy_file(from, to, false, err);
}

bool llmprof_fs_copy_soon(const char *from, const char *to,
                          llmprof_error *err) {
  return copy_file(from, to, true, err);
}

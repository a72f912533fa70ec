#include "os/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "os/fs_temp_file.h"

static bool set_text(llmprof_buffer *buf, const char *text,
                     llmprof_error *err) {
  llmprof_buffer_clear(buf);
  llmprof_buffer_puts(buf, text);
  return !buf->failed || llmprof_fail_nomem(err);
}

/* ---- an entry in its folder ---- */

bool llmprof_fs_entry_open(fs_entry *entry, const char *path,
                           llmprof_error *err) {
  entry->dir = -1;
  size_t end = strlen(path);
  while (end && path[end - 1] == '/') end--;
  size_t start = end;
  while (start && path[start - 1] != '/') start--;
  if (start == end) return llmprof_fail_errno(err, ENOENT, "%s", path);
  if (end - start > NAME_MAX)
    return llmprof_fail_errno(err, ENAMETOOLONG, "%s", path);
  memcpy(entry->name, path + start, end - start);
  entry->name[end - start] = '\0';
  char *folder = start ? llmprof_memdup(path, start) : llmprof_strdup(".");
  if (!folder) return llmprof_fail_nomem(err);
  entry->dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
  int errnum = errno;
  llmprof_free(folder);
  return entry->dir >= 0 || llmprof_fail_errno(err, errnum, "%s", path);
}

void llmprof_fs_entry_close(fs_entry *entry) {
  if (entry->dir >= 0) close(entry->dir);
  entry->dir = -1;
}

bool llmprof_fs_temp_name(char name[FS_TEMP_SIZE], llmprof_error *err) {
  unsigned char random[16];
  ssize_t got;
  do {
    got = getrandom(random, sizeof random, 0);
  } while (got < 0 && errno == EINTR);
  if (got != (ssize_t)sizeof random)
    return llmprof_fail_errno(err, errno, "getrandom");
  size_t used = (size_t)snprintf(name, FS_TEMP_SIZE, ".llmprof-");
  for (size_t i = 0; i < sizeof random; i++)
    used +=
        (size_t)snprintf(name + used, FS_TEMP_SIZE - used, "%02x", random[i]);
  return true;
}

bool llmprof_fs_is_temp_name(const char *name) {
  static const char prefix[] = ".llmprof-";
  return strncmp(name, prefix, sizeof prefix - 1) == 0 &&
         strspn(name + sizeof prefix - 1, "0123456789abcdef") == 32 &&
         strlen(name) == sizeof prefix - 1 + 32;
}

/* ---- looking ---- */

static llmprof_fs_type type_of(mode_t mode) {
  if (S_ISREG(mode)) return LLMPROF_FS_FILE;
  if (S_ISDIR(mode)) return LLMPROF_FS_DIRECTORY;
  if (S_ISLNK(mode)) return LLMPROF_FS_LINK;
  return LLMPROF_FS_OTHER;
}

static bool look(const char *path, int flags, llmprof_fs_info *info,
                 llmprof_error *err) {
  struct stat st;
  if (fstatat(AT_FDCWD, path, &st, flags) != 0)
    return llmprof_fail_errno(err, errno, "%s", path);
  *info = (llmprof_fs_info){
      .type = type_of(st.st_mode),
      .size = (uint64_t)st.st_size,
      .mtime_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec,
      .mode = st.st_mode & 07777,
  };
  return true;
}

bool llmprof_fs_stat(const char *path, llmprof_fs_info *info,
                     llmprof_error *err) {
  return look(path, 0, info, err);
}

bool llmprof_fs_lstat(const char *path, llmprof_fs_info *info,
                      llmprof_error *err) {
  return look(path, AT_SYMLINK_NOFOLLOW, info, err);
}

bool llmprof_fs_access(const char *path, const char *mode, llmprof_error *err) {
  int wanted = F_OK;
  if (strchr(mode, 'r')) wanted |= R_OK;
  if (strchr(mode, 'w')) wanted |= W_OK;
  if (strchr(mode, 'x')) wanted |= X_OK;
  return faccessat(AT_FDCWD, path, wanted, AT_EACCESS) == 0 ||
         llmprof_fail_errno(err, errno, "%s", path);
}

bool llmprof_fs_free_space(const char *path, uint64_t *bytes,
                           llmprof_error *err) {
  struct statvfs st;
  if (statvfs(path, &st) != 0)
    return llmprof_fail_errno(err, errno, "%s", path);
  *bytes = (uint64_t)st.f_bavail * st.f_frsize;
  return true;
}

bool llmprof_fs_realpath(const char *path, llmprof_buffer *real,
                         llmprof_error *err) {
  char resolved[PATH_MAX];
  if (!realpath(path, resolved))
    return llmprof_fail_errno(err, errno, "%s", path);
  return set_text(real, resolved, err);
}

bool llmprof_fs_cwd(llmprof_buffer *path, llmprof_error *err) {
  char folder[PATH_MAX];
  if (!getcwd(folder, sizeof folder))
    return llmprof_fail_errno(err, errno, "working directory");
  return set_text(path, folder, err);
}

bool llmprof_fs_readlink(const char *path, llmprof_buffer *target,
                         llmprof_error *err) {
  char text[PATH_MAX]; /* Linux allows no longer target */
  ssize_t size = readlink(path, text, sizeof text - 1);
  if (size < 0) return llmprof_fail_errno(err, errno, "%s", path);
  text[size] = '\0';
  return set_text(target, text, err);
}

/* ---- below a folder of a stranger's ---- */

static bool fail_beneath(const char *folder, const char *name, size_t size,
                         const char *what, llmprof_error *err) {
  return llmprof_fail(err, LLMPROF_DENIED, "%s/%.*s: %s", folder, (int)size,
                      name, what);
}

/* Look at the next part of a name, `size` bytes at `at`, in the folder *dir,
 * and move there. *end: there is no such entry, or it is no folder. */
static bool step_down(int *dir, const char *folder, const char *name,
                      const char *at, size_t size, bool *end,
                      llmprof_error *err) {
  size_t so_far = (size_t)(at - name) + size;
  char part[NAME_MAX + 1];
  struct stat st;
  *end = true;
  if (size == 2 && memcmp(at, "..", 2) == 0)
    return fail_beneath(folder, name, so_far, "leads out of the folder", err);
  if (size > NAME_MAX)
    return llmprof_fail_errno(err, ENAMETOOLONG, "%s/%s", folder, name);
  memcpy(part, at, size);
  part[size] = '\0';
  if (fstatat(*dir, part, &st, AT_SYMLINK_NOFOLLOW) != 0)
    return errno == ENOENT || errno == ENOTDIR ||
           llmprof_fail_errno(err, errno, "%s/%s", folder, name);
  if (S_ISLNK(st.st_mode))
    return fail_beneath(folder, name, so_far,
                        "a symbolic link, which is not followed", err);
  if (!S_ISDIR(st.st_mode)) return true;
  int next = openat(*dir, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (next < 0) return llmprof_fail_errno(err, errno, "%s/%s", folder, name);
  close(*dir);
  *dir = next;
  *end = false;
  return true;
}

static bool look_beneath(const char *folder, const char *name,
                         llmprof_error *err) {
  int dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
  bool ok = true, end = dir < 0;
  for (const char *at = name; ok && !end && *at;) {
    size_t size = strcspn(at, "/");
    if (size && !(size == 1 && *at == '.'))
      ok = step_down(&dir, folder, name, at, size, &end, err);
    at += size + (at[size] == '/');
  }
  if (dir >= 0) close(dir);
  return ok;
}

bool llmprof_fs_beneath(const char *folder, const char *name,
                        llmprof_buffer *path, llmprof_error *err) {
  llmprof_buffer_clear(path);
  llmprof_buffer_printf(path, "%s/%s", folder, name);
  if (path->failed) return llmprof_fail_nomem(err);
  return look_beneath(folder, name, err);
}

/* ---- listing ---- */

static bool add_name(llmprof_fs_names *names, const char *name) {
  if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) return true;
  if (!llmprof_grow(&names->items, &names->cap, names->count + 1,
                    sizeof *names->items))
    return false;
  names->items[names->count] = llmprof_strdup(name);
  return names->items[names->count] && ++names->count;
}

static int compare_names(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool read_names(DIR *dir, const char *path, llmprof_fs_names *names,
                       llmprof_error *err) {
  for (;;) {
    errno = 0; /* the only way to tell the end from an error */
    struct dirent *entry = readdir(dir);
    if (!entry) return errno == 0 || llmprof_fail_errno(err, errno, "%s", path);
    if (!add_name(names, entry->d_name)) return llmprof_fail_nomem(err);
  }
}

bool llmprof_fs_list(const char *path, llmprof_fs_names *names,
                     llmprof_error *err) {
  *names = (llmprof_fs_names){0};
  DIR *dir = opendir(path);
  if (!dir) return llmprof_fail_errno(err, errno, "%s", path);
  bool ok = read_names(dir, path, names, err);
  closedir(dir);
  if (!ok)
    llmprof_fs_names_free(names);
  else if (names->count)
    qsort(names->items, names->count, sizeof *names->items, compare_names);
  return ok;
}

void llmprof_fs_names_free(llmprof_fs_names *names) {
  for (size_t i = 0; i < names->count; i++) llmprof_free(names->items[i]);
  llmprof_free(names->items);
  *names = (llmprof_fs_names){0};
}

/* ---- making, moving, removing ---- */

bool llmprof_fs_mkdir(const char *path, llmprof_error *err) {
  return mkdir(path, 0777) == 0 || llmprof_fail_errno(err, errno, "%s", path);
}

/* 0, or an errno. A folder that is there is fine, whatever mkdir says: on a
 * read-only or automounted parent that need not be EEXIST. */
static int ensure_folder(const char *path) {
  if (mkdir(path, 0777) == 0) return 0;
  int errnum = errno;
  struct stat st;
  if (stat(path, &st) != 0) return errnum;
  return S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
}

bool llmprof_fs_mkdirs(const char *path, llmprof_error *err) {
  char *prefix = llmprof_strdup(path);
  if (!prefix) return llmprof_fail_nomem(err);
  int errnum = *path ? 0 : ENOENT;
  for (char *at = prefix; *at && !errnum; at++) {
    if (at[0] == '/' || (at[1] != '/' && at[1] != '\0')) continue;
    char after = at[1]; /* `at` is the last byte of a component */
    at[1] = '\0';
    errnum = ensure_folder(prefix);
    if (!errnum) at[1] = after;
  }
  if (errnum && strcmp(prefix, path) != 0)
    llmprof_fail_errno(err, errnum, "%s: %s", path, prefix);
  else if (errnum)
    llmprof_fail_errno(err, errnum, "%s", path);
  llmprof_free(prefix);
  return !errnum;
}

bool llmprof_fs_rename(const char *from, const char *to, llmprof_error *err) {
  return rename(from, to) == 0 ||
         llmprof_fail_errno(err, errno, "%s: cannot rename to %s", from, to);
}

bool llmprof_fs_remove(const char *path, llmprof_error *err) {
  if (unlink(path) == 0) return true;
  if (errno == EISDIR && rmdir(path) == 0) return true;
  return llmprof_fail_errno(err, errno, "%s", path);
}

bool llmprof_fs_symlink(const char *target, const char *path,
                        llmprof_error *err) {
  return symlink(target, path) == 0 ||
         llmprof_fail_errno(err, errno, "%s", path);
}

bool llmprof_fs_temp_dir(const char *prefix, llmprof_buffer *path,
                         llmprof_error *err) {
  if (strchr(prefix, '/'))
    return llmprof_fail(err, LLMPROF_DENIED,
                        "%s: a prefix must not contain \"/\"", prefix);
  const char *parent = getenv("TMPDIR");
  if (!parent || !*parent) parent = "/tmp";
  llmprof_buffer_clear(path);
  llmprof_buffer_printf(path, "%s/%sXXXXXX", parent, prefix);
  if (path->failed) return llmprof_fail_nomem(err);
  if (mkdtemp(path->bytes)) return true;
  llmprof_fail_errno(err, errno, "%s: cannot make a temporary folder", parent);
  llmprof_buffer_clear(path);
  return false;
}

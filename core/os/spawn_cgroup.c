/* A cgroup for one child, where a cgroup v2 that we are in can be divided: as
 * root, or where it was delegated (systemd's user@.service, a container's own).
 * Nothing that the child starts leaves it, whatever it does with sessions,
 * groups and its environment, and the kernel ends all of it at once.
 *
 * It is a folder beside our own processes, llmprof-PID-NUMBER, which we hold by
 * flock while it is needed. One whose owner is gone and that nobody holds is of
 * a process that was killed: what lives in it is ended, and it is removed. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "os/spawn_internal.h"

#define PREFIX "llmprof-"

enum {
  LINE = 2 * PATH_MAX,
  MOST_DEEP = 16,    /* cgroups in cgroups that a child made */
  PATIENCE_MS = 5000 /* for what is ending to be gone */
};

/* ---- where we are ---- */

/* The line of our own membership, "0::/PATH". */
static bool own_path(char path[PATH_MAX]) {
  char line[LINE];
  bool found = false;
  FILE *file = fopen("/proc/self/cgroup", "re");
  if (!file) return false;
  while (!found && fgets(line, sizeof line, file)) {
    line[strcspn(line, "\n")] = '\0';
    found = strncmp(line, "0::/", 4) == 0 && strlen(line + 3) < PATH_MAX &&
            strncmp(line + 3, "/..", 3) != 0;
    if (found) memcpy(path, line + 3, strlen(line + 3) + 1);
  }
  fclose(file);
  return found;
}

/* `path` below a mount that shows the tree from `root` on. */
static bool join(const char *mount, const char *root, const char *path,
                 char joined[PATH_MAX]) {
  size_t size = strcmp(root, "/") == 0 ? 0 : strlen(root);
  if (strncmp(path, root, size) != 0 || (path[size] != '/' && path[size]))
    return false;
  int used = snprintf(joined, PATH_MAX, "%s%s", mount, path + size);
  return used > 0 && used < PATH_MAX;
}

/* The folder of a path of cgroup v2. A mount whose name has characters that are
 * escaped here is not found. */
static bool folder_of(const char *path, char folder[PATH_MAX]) {
  char line[LINE], root[PATH_MAX], mount[PATH_MAX];
  bool found = false;
  FILE *file = fopen("/proc/self/mountinfo", "re");
  if (!file) return false;
  while (!found && fgets(line, sizeof line, file)) {
    const char *type = strstr(line, " - cgroup2 ");
    found = type &&
            sscanf(line, "%*d %*d %*s %4095s %4095s", root, mount) == 2 &&
            join(mount, root, path, folder);
  }
  fclose(file);
  return found;
}

/* ---- ending and removing ---- */

static void write_word(int folder, const char *file, const char *word) {
  int fd = openat(folder, file, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  if (write(fd, word, strlen(word)) < 0) { /* the loop over /proc is left */
  }
  close(fd);
}

static void kill_all(int folder) {
  write_word(folder, "cgroup.kill", "1");
}

static bool is_folder(int parent, const char *name) {
  struct stat info;
  return *name != '.' &&
         fstatat(parent, name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISDIR(info.st_mode);
}

/* The cgroups that are in one, those in these first. */
static void remove_inner(int folder, int deep) {
  int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *dir = fd < 0 ? NULL : fdopendir(fd);
  if (!dir) {
    if (fd >= 0) close(fd);
    return;
  }
  struct dirent *entry;
  while ((entry = readdir(dir))) {
    if (!is_folder(folder, entry->d_name)) continue;
    int inner = openat(folder, entry->d_name,
                       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (inner >= 0 && deep) remove_inner(inner, deep - 1);
    if (inner >= 0) close(inner);
    unlinkat(folder, entry->d_name, AT_REMOVEDIR);
  }
  closedir(dir);
}

/* What was killed takes a moment to be gone. */
static bool remove_group(int parent, const char *name, int folder) {
  for (int waited = 0;; waited++) {
    remove_inner(folder, MOST_DEEP);
    if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
      return true;
    if (errno != EBUSY || waited == PATIENCE_MS) return false;
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
}

static int hold(int parent, const char *name) {
  int fd =
      openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
  if (fd >= 0) close(fd);
  return -1;
}

/* One of ours whose owner is gone, or had our number. */
static bool is_left(const char *name) {
  int pid;
  return sscanf(name, PREFIX "%d-", &pid) == 1 && pid > 0 &&
         (pid == getpid() || (kill(pid, 0) != 0 && errno == ESRCH));
}

static void sweep(int parent) {
  int fd = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *dir = fd < 0 ? NULL : fdopendir(fd);
  if (!dir) {
    if (fd >= 0) close(fd);
    return;
  }
  struct dirent *entry;
  while ((entry = readdir(dir))) {
    int left = is_left(entry->d_name) ? hold(parent, entry->d_name) : -1;
    if (left < 0) continue;
    kill_all(left);
    remove_group(parent, entry->d_name, left);
    close(left);
  }
  closedir(dir);
}

/* ---- for one child ---- */

static bool make(spawn_cgroup *g) {
  static unsigned number;
  snprintf(g->name, sizeof g->name, PREFIX "%d-%u", (int)getpid(), number++);
  if (mkdirat(g->parent, g->name, 0755) != 0) return false;
  g->folder = hold(g->parent, g->name);
  if (g->folder >= 0)
    g->entry = openat(g->folder, "cgroup.procs", O_WRONLY | O_CLOEXEC);
  return g->entry >= 0;
}

/* Of the cgroup that we are in; -1 where there is none. */
static int open_own(char own[PATH_MAX]) {
  char folder[PATH_MAX];
  if (!own_path(own) || !folder_of(own, folder)) return -1;
  return open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

void llmprof_spawn_cgroup_sweep(void) {
  char own[PATH_MAX];
  int parent = open_own(own);
  if (parent < 0) return;
  sweep(parent);
  close(parent);
}

void llmprof_spawn_cgroup_begin(spawn_cgroup *g) {
  char own[PATH_MAX];
  *g = (spawn_cgroup){.parent = open_own(own), .folder = -1, .entry = -1};
  if (g->parent < 0) return;
  sweep(g->parent);
  int size = make(g) ? snprintf(g->path, sizeof g->path, "%s/%s",
                                strcmp(own, "/") == 0 ? "" : own, g->name)
                     : -1;
  if (size < 0 || (size_t)size >= sizeof g->path) llmprof_spawn_cgroup_end(g);
}

bool llmprof_spawn_cgroup_join(int entry) {
  return write(entry, "0", 1) == 1;
}

void llmprof_spawn_cgroup_started(spawn_cgroup *g) {
  if (g->entry >= 0) close(g->entry);
  g->entry = -1;
}

bool llmprof_spawn_cgroup_has(const spawn_cgroup *g, const char *number) {
  char path[64], line[LINE];
  bool found = false;
  size_t size = strlen(g->path);
  if (g->folder < 0) return false;
  snprintf(path, sizeof path, "/proc/%.20s/cgroup", number);
  FILE *file = fopen(path, "re");
  if (!file) return false;
  while (!found && fgets(line, sizeof line, file))
    found = strncmp(line, "0::", 3) == 0 &&
            strncmp(line + 3, g->path, size) == 0 &&
            (line[3 + size] == '\n' || line[3 + size] == '/');
  fclose(file);
  return found;
}

bool llmprof_spawn_cgroup_lives(const spawn_cgroup *g) {
  char text[256];
  int fd = g->folder < 0
               ? -1
               : openat(g->folder, "cgroup.events", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t size = read(fd, text, sizeof text - 1);
  close(fd);
  text[size > 0 ? size : 0] = '\0';
  return strstr(text, "populated 1") != NULL;
}

void llmprof_spawn_cgroup_kill(const spawn_cgroup *g) {
  if (g->folder >= 0) kill_all(g->folder);
}

void llmprof_spawn_cgroup_end(spawn_cgroup *g) {
  llmprof_spawn_cgroup_started(g);
  if (g->folder >= 0) remove_group(g->parent, g->name, g->folder);
  if (g->folder >= 0) close(g->folder);
  if (g->parent >= 0) close(g->parent);
  g->parent = g->folder = -1;
}

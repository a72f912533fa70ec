#include "collector/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "collector/threads.h"

#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE 2
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

enum {
  LOWEST = 3 /* the C library may print to descriptor 2 before it aborts */
};

/* The call that the thread is to make, and what came of it. */
static struct {
  long (*run)(void);
  const char *path;
  void *in;
  const void *out;
  size_t size;
  off_t length;
  int file, flags;
  mode_t mode;
  long result;
  int error;
} call;

static sem_t asked, answered;
static bool serving; /* is the thread there? */

/* ---- on the thread ---- */

static bool close_copies(void) {
  DIR *folder = opendir("/proc/thread-self/fd");
  if (!folder) return false;
  int own = dirfd(folder);
  for (struct dirent *e = readdir(folder); e; e = readdir(folder)) {
    int file = atoi(e->d_name);
    if (e->d_name[0] != '.' && file != own) close(file);
  }
  closedir(folder);
  return true;
}

/* Before Linux 5.9 the table is copied first. What is closed then are copies:
 * the program's files stay open, and so do its locks. */
static bool take_own_table(void) {
  if (syscall(SYS_close_range, 0u, ~0u, CLOSE_RANGE_UNSHARE) == 0) return true;
  return unshare(CLONE_FILES) == 0 && close_copies();
}

static long own_table(void) {
  return take_own_table() ? 0 : -1;
}

static int above_standard(int file) {
  if (file < 0 || file >= LOWEST) return file;
  int moved = fcntl(file, F_DUPFD_CLOEXEC, LOWEST);
  int error = errno;
  close(file);
  errno = error;
  return moved;
}

/* A named pipe would be waited for. */
static long open_file(void) {
  int flags = call.flags | O_CLOEXEC | O_NONBLOCK;
  int file = above_standard(open(call.path, flags, call.mode));
  struct stat info;
  if (file < 0 || (fstat(file, &info) == 0 && S_ISREG(info.st_mode)))
    return file;
  close(file);
  errno = EINVAL;
  return -1;
}

static long connect_socket(void) {
  struct sockaddr_un to = {.sun_family = AF_UNIX};
  if (strlen(call.path) >= sizeof to.sun_path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  memcpy(to.sun_path, call.path, strlen(call.path) + 1);
  socklen_t size = sizeof to;
  if (to.sun_path[0] == '@') { /* its name has no end but that of the address */
    to.sun_path[0] = 0;
    size =
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(call.path));
  }
  int s = above_standard(
      socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (s < 0 || connect(s, (struct sockaddr *)&to, size) == 0) return s;
  int error = errno;
  close(s);
  errno = error;
  return -1;
}

static long peer_of(void) {
  struct ucred peer;
  socklen_t size = sizeof peer;
  if (getsockopt(call.file, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    return -1;
  return (long)peer.uid;
}

static long read_bytes(void) {
  return read(call.file, call.in, call.size);
}

static long write_bytes(void) {
  return write(call.file, call.out, call.size);
}

static long truncate_file(void) {
  return ftruncate(call.file, call.length);
}

static long close_file(void) {
  return close(call.file);
}

static void wait_for(sem_t *what) {
  while (sem_wait(what) != 0) {}
}

/* Signals are blocked here: a file that grows beyond RLIMIT_FSIZE, or a peer
 * that has gone, is an error of the call and no signal to the program. */
static void *serve(void *unused) {
  (void)unused;
  for (;;) {
    wait_for(&asked);
    if (!call.run) break;
    do {
      errno = 0;
      call.result = call.run();
    } while (call.result < 0 && errno == EINTR);
    call.error = errno;
    sem_post(&answered);
  }
  sem_post(&answered);
  return NULL;
}

/* ---- for the callers ---- */

static long run(long (*what)(void)) {
  if (!serving) {
    errno = EBADF;
    return -1;
  }
  call.run = what;
  sem_post(&asked);
  wait_for(&answered);
  errno = call.error;
  return call.result;
}

bool files_begin(void) {
  sem_init(&asked, 0, 0);
  sem_init(&answered, 0, 0);
  serving = threads_start(serve, NULL); /* not the parent's, after a fork */
  if (!serving) {
    errno = EAGAIN;
    return false;
  }
  if (run(own_table) == 0) return true;
  int error = errno;
  files_end();
  errno = error;
  return false;
}

void files_end(void) {
  call.run = NULL;
  sem_post(&asked);
  wait_for(&answered);
  serving = false;
}

int files_open(const char *path, int flags, mode_t mode) {
  call.path = path;
  call.flags = flags;
  call.mode = mode;
  return (int)run(open_file);
}

int files_connect(const char *path) {
  call.path = path;
  return (int)run(connect_socket);
}

bool files_peer(int file, unsigned *uid) {
  call.file = file;
  long found = run(peer_of);
  *uid = (unsigned)found;
  return found >= 0;
}

ssize_t files_read(int file, void *bytes, size_t size) {
  call.file = file;
  call.in = bytes;
  call.size = size;
  return run(read_bytes);
}

ssize_t files_write(int file, const void *bytes, size_t size) {
  call.file = file;
  call.out = bytes;
  call.size = size;
  return run(write_bytes);
}

int files_truncate(int file, off_t size) {
  call.file = file;
  call.length = size;
  return (int)run(truncate_file);
}

void files_close(int file) {
  call.file = file;
  (void)run(close_file);
}

void files_text(const char *path, char *text, size_t size) {
  int file = files_open(path, O_RDONLY, 0);
  ssize_t n = file >= 0 ? files_read(file, text, size - 1) : -1;
  text[n > 0 ? n : 0] = 0;
  if (file >= 0) files_close(file);
}

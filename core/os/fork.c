#include "llmprof/fork.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/ledger.h"
#include "llmprof/alloc.h"
#include "llmprof/fs.h"
#include "llmprof/interrupt.h"

enum {
  LOOK_MS = 100, /* at an interrupt that came just before a wait */
  PIECE = 1 << 20,
};

struct llmprof_fork {
  pid_t pid;
  int life;   /* end of a pipe whose other end the second process holds */
  int memory; /* what is handed over: how many bytes, when they are there; then
                 these */
  size_t account;
  bool has_account, is_gone;
  int status; /* of waitpid, once it is gone; -1: not known */
};

static bool is_second; /* this process was started so */

/* ---- starting ---- */

static const int ours[] = {SIGINT, SIGTERM, SIGHUP};

/* In the second process, with the signals blocked so far. */
static void settle_in(llmprof_fork *f, int held, pid_t first,
                      const sigset_t *mask) {
  is_second = true;
  for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
    signal(ours[i], SIG_IGN);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != first) _exit(1); /* it was gone before that held */
  llmprof_ledger_use(f->account);
  close(f->life);
  f->life = held;
  sigprocmask(SIG_SETMASK, mask, NULL);
}

/* 1, 0 or -1 with errno set. `held` is the second process's end of the pipe. */
static int begin(llmprof_fork *f, int held) {
  sigset_t set, mask;
  pid_t first = getpid();
  sigemptyset(&set);
  for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
    sigaddset(&set, ours[i]);
  sigprocmask(SIG_BLOCK, &set, &mask);
  pid_t pid = fork();
  if (pid == 0) {
    settle_in(f, held, first, &mask);
    return 0;
  }
  int errnum = errno;
  sigprocmask(SIG_SETMASK, &mask, NULL);
  close(held);
  f->pid = pid;
  errno = errnum;
  return pid > 0 ? 1 : -1;
}

static int start(llmprof_fork *f, llmprof_error *err) {
  int pipe[2];
  f->memory = memfd_create("llmprof", MFD_CLOEXEC);
  if (f->memory < 0) {
    llmprof_fail(err, LLMPROF_UNSUPPORTED,
                 "no second process: the system has no files in memory");
    return -1;
  }
  if (pipe2(pipe, O_CLOEXEC) != 0) {
    llmprof_fail_errno(err, errno, "no second process");
    return -1;
  }
  f->life = pipe[0];
  f->has_account = llmprof_ledger_open(&f->account);
  int which = f->has_account ? begin(f, pipe[1]) : -1;
  if (!f->has_account) {
    llmprof_fail(err, LLMPROF_LIMIT, "too many processes at once");
    close(pipe[1]);
  } else if (which < 0) {
    llmprof_fail_errno(err, errno, "no second process");
  }
  return which;
}

int llmprof_fork_start(llmprof_fork **made, llmprof_error *err) {
  *made = NULL;
  if (is_second) {
    llmprof_fail(err, LLMPROF_UNSUPPORTED,
                 "no second process: this one is such");
    return -1;
  }
  llmprof_fork *f = llmprof_zalloc(1, sizeof *f);
  if (!f) return llmprof_fail_nomem(err), -1;
  f->life = f->memory = f->status = -1;
  int which = start(f, err);
  if (which < 0)
    llmprof_fork_free(f);
  else
    *made = f;
  return which;
}

/* ---- handing over ---- */

static bool hand_over(int fd, const char *bytes, uint64_t size) {
  uint64_t none = 0;
  return llmprof_fs_write_fd(fd, "", &none, sizeof none, NULL) &&
         llmprof_fs_write_fd(fd, "", bytes, size, NULL) &&
         pwrite(fd, &size, sizeof size, 0) == sizeof size;
}

_Noreturn void llmprof_fork_end(llmprof_fork *own, const void *bytes,
                                size_t size) {
  bool ok = bytes && hand_over(own->memory, bytes, size);
  _exit(ok ? 0 : 1);
}

static bool read_at(int fd, char *into, size_t size, off_t at) {
  while (size) {
    ssize_t got = pread(fd, into, size < PIECE ? size : PIECE, at);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    into += got;
    at += got;
    size -= (size_t)got;
  }
  return true;
}

/* Of what was handed over as a whole; -1: nothing was. */
static int64_t size_handed_over(const llmprof_fork *f) {
  uint64_t size;
  struct stat info;
  bool whole = read_at(f->memory, (char *)&size, sizeof size, 0) &&
               fstat(f->memory, &info) == 0 &&
               (uint64_t)info.st_size == size + sizeof size;
  return whole ? (int64_t)size : -1;
}

/* ---- its end ---- */

static void reap(llmprof_fork *f) {
  pid_t got;
  do {
    got = waitpid(f->pid, &f->status, 0);
  } while (got < 0 && errno == EINTR);
  if (got < 0) f->status = -1; /* whoever ignores SIGCHLD learns nothing */
  f->is_gone = true;
  llmprof_ledger_close(f->account);
}

/* Nobody writes to the pipe: it is over when the last holder is gone. */
static bool has_ended(const llmprof_fork *f, int wait_ms) {
  struct pollfd fd = {f->life, POLLIN, 0};
  return f->is_gone || poll(&fd, 1, wait_ms) > 0;
}

bool llmprof_fork_ended(const llmprof_fork *other) {
  return has_ended(other, 0);
}

static bool fail_ended(const llmprof_fork *f, llmprof_error *err) {
  if (f->status != -1 && WIFSIGNALED(f->status))
    return llmprof_fail(err, LLMPROF_IO,
                        "process %d: signal %d ended it before it was through",
                        (int)f->pid, WTERMSIG(f->status));
  return llmprof_fail(err, LLMPROF_IO, "process %d: it came to nothing",
                      (int)f->pid);
}

static bool take_over(const llmprof_fork *f, llmprof_buffer *bytes,
                      llmprof_error *err) {
  int64_t handed = size_handed_over(f);
  if (handed < 0) return fail_ended(f, err);
  size_t size = (size_t)handed;
  if (!llmprof_grow(&bytes->bytes, &bytes->cap, size + 1, 1))
    return llmprof_fail_nomem(err);
  if (!read_at(f->memory, bytes->bytes, size, sizeof(uint64_t)))
    return fail_ended(f, err);
  bytes->bytes[size] = '\0';
  bytes->size = size;
  return true;
}

bool llmprof_fork_wait(llmprof_fork *other, llmprof_buffer *bytes,
                       llmprof_error *err) {
  llmprof_buffer_clear(bytes);
  while (!has_ended(other, LOOK_MS)) {
    if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
  }
  if (!other->is_gone) reap(other);
  return take_over(other, bytes, err);
}

pid_t llmprof_fork_pid(const llmprof_fork *other) {
  return other->pid;
}

void llmprof_fork_free(llmprof_fork *other) {
  if (!other) return;
  if (is_second) {
    /* one of the first process's, which came along */
  } else if (other->pid > 0 && !other->is_gone) {
    kill(other->pid, SIGKILL);
    reap(other);
  } else if (other->has_account && !other->is_gone) {
    llmprof_ledger_close(other->account);
  }
  if (other->life >= 0) close(other->life);
  if (other->memory >= 0) close(other->memory);
  llmprof_free(other);
}

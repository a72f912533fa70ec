#include "os/fork.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/accounts.h"
#include "base/alloc.h"
#include "base/bounds.h"
#include "base/interrupt.h"
#include "os/fs.h"

enum {
  LOOK_MS = 100, /* at an interrupt that came just before a wait */
  PIECE = 1 << 20,
};

struct llmprof_fork {
  pid_t pid;
  int life;    /* end of a pipe whose other end the second process holds: a byte
                  for each piece that is handed over */
  int memory;  /* these, each behind its size */
  off_t taken; /* of that */
  size_t account;
  bool has_account, is_gone;
  bool broken; /* a piece could not be handed over: none is from then on */
  int status;  /* of waitpid, once it is gone; -1: not known */
};

static bool is_second; /* this process was started so */

/* ---- starting ---- */

static const int ours[] = {SIGINT, SIGTERM, SIGHUP};

/* In the second process, with the signals blocked so far. */
static void settle_in(llmprof_fork *f, int held, size_t threads, pid_t first,
                      const sigset_t *mask) {
  is_second = true;
  for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
    signal(ours[i], SIG_IGN);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != first) _exit(1); /* it was gone before that held */
  llmprof_account_use(f->account);
  llmprof_bound_set(LLMPROF_BOUND_THREADS, threads ? threads : 1);
  close(f->life);
  f->life = held;
  sigprocmask(SIG_SETMASK, mask, NULL);
}

/* 1, 0 or -1 with errno set. `held` is the second process's end of the pipe. */
static int begin(llmprof_fork *f, int held, size_t threads) {
  sigset_t set, mask;
  pid_t first = getpid();
  sigemptyset(&set);
  for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
    sigaddset(&set, ours[i]);
  sigprocmask(SIG_BLOCK, &set, &mask);
  pid_t pid = fork();
  if (pid == 0) {
    settle_in(f, held, threads, first, &mask);
    return 0;
  }
  int errnum = errno;
  sigprocmask(SIG_SETMASK, &mask, NULL);
  close(held);
  f->pid = pid;
  errno = errnum;
  return pid > 0 ? 1 : -1;
}

static int start(llmprof_fork *f, size_t threads, llmprof_error *err) {
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
  f->has_account = llmprof_account_open(threads, &f->account);
  int which = f->has_account ? begin(f, pipe[1], threads) : -1;
  if (!f->has_account) {
    llmprof_fail(err, LLMPROF_LIMIT, "too many processes at once");
    close(pipe[1]);
  } else if (which < 0) {
    llmprof_fail_errno(err, errno, "no second process");
  }
  return which;
}

int llmprof_fork_start(size_t threads, llmprof_fork **made,
                       llmprof_error *err) {
  *made = NULL;
  if (is_second) {
    llmprof_fail(err, LLMPROF_UNSUPPORTED,
                 "no second process: this one is such");
    return -1;
  }
  llmprof_fork *f = llmprof_zalloc(1, sizeof *f);
  if (!f) return llmprof_fail_nomem(err), -1;
  f->life = f->memory = f->status = -1;
  int which = start(f, threads, err);
  if (which < 0)
    llmprof_fork_free(f);
  else
    *made = f;
  return which;
}

/* ---- handing over ---- */

bool llmprof_fork_hand_over(llmprof_fork *own, const void *bytes, size_t size) {
  uint64_t count = size;
  own->broken =
      own->broken ||
      !llmprof_fs_write_fd(own->memory, "", &count, sizeof count, NULL) ||
      !llmprof_fs_write_fd(own->memory, "", bytes, size, NULL) ||
      !llmprof_fs_write_fd(own->life, "", "", 1, NULL);
  return !own->broken;
}

_Noreturn void llmprof_fork_end(llmprof_fork *own) {
  (void)own;
  llmprof_account_rest();
  _exit(0);
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

/* ---- its end ---- */

static void reap(llmprof_fork *f) {
  pid_t got;
  do {
    got = waitpid(f->pid, &f->status, 0);
  } while (got < 0 && errno == EINTR);
  if (got < 0)
    f->status = -1; /* a program that ignores SIGCHLD learns nothing */
  f->is_gone = true;
  llmprof_account_close(f->account);
}

bool llmprof_fork_ended(const llmprof_fork *other) {
  struct pollfd fd = {other->life, 0, 0};
  return other->is_gone || (poll(&fd, 1, 0) > 0 && (fd.revents & POLLHUP));
}

static bool fail_ended(const llmprof_fork *f, llmprof_error *err) {
  if (f->status != -1 && WIFSIGNALED(f->status))
    return llmprof_fail(err, LLMPROF_IO,
                        "process %d: signal %d ended it before it was through",
                        (int)f->pid, WTERMSIG(f->status));
  return llmprof_fail(err, LLMPROF_IO, "process %d: it has nothing more",
                      (int)f->pid);
}

/* For POLLIN: of the second process's next piece or its end, for 0: of that. */
static bool await(const llmprof_fork *f, short events, llmprof_error *err) {
  struct pollfd fd = {f->life, events, 0};
  while (poll(&fd, 1, LOOK_MS) <= 0) {
    if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
  }
  return true;
}

/* The pipe told of it, so that it is there as a whole. */
static bool take_piece(llmprof_fork *f, llmprof_buffer *bytes,
                       llmprof_error *err) {
  uint64_t size;
  if (!read_at(f->memory, (char *)&size, sizeof size, f->taken))
    return fail_ended(f, err);
  if (!llmprof_grow(&bytes->bytes, &bytes->cap, size + 1, 1))
    return llmprof_fail_nomem(err);
  if (!read_at(f->memory, bytes->bytes, size, f->taken + (off_t)sizeof size))
    return fail_ended(f, err);
  bytes->bytes[size] = '\0';
  bytes->size = size;
  f->taken += (off_t)(sizeof size + size);
  return true;
}

bool llmprof_fork_take(llmprof_fork *other, llmprof_buffer *bytes,
                       llmprof_error *err) {
  char told;
  llmprof_buffer_clear(bytes);
  if (!await(other, POLLIN, err)) return false;
  if (read(other->life, &told, 1) == 1) return take_piece(other, bytes, err);
  if (!other->is_gone) reap(other);
  return fail_ended(other, err);
}

bool llmprof_fork_rest(const llmprof_fork *other, llmprof_error *err) {
  return await(other, 0, err);
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
    llmprof_account_close(other->account);
  }
  if (other->life >= 0) close(other->life);
  if (other->memory >= 0) close(other->memory);
  llmprof_free(other);
}

/* Runs a command and lets one of its system calls fail, or kills it there:
 *
 *   fault_inject KIND HOW N REPORT COMMAND...
 *
 * KIND  which calls count: write, open, rename, sync; change: all that change
 *       files, so that between two of them every moment to be killed at is
 * alike HOW   of the N-th: an error (enospc, eio, emfile), short (half of a
 * write) or kill (SIGKILL before it). full: N is how many bytes may be written
 * to files until the disk is full N     0: nothing happens
 *
 * How many calls (full: bytes) there were goes into the file REPORT. Threads of
 * the command count, processes that it starts do not. The exit status is the
 * command's, 128 and the number for a signal, 77 where this cannot be done. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__x86_64__) && defined(PTRACE_GET_SYSCALL_INFO)
#include <linux/ptrace.h>

enum {
  SKIPPED = 77,
  THREADS = 64,
  WRITES = 1,
  OPENS = 2,
  RENAMES = 4,
  SYNCS = 8,
  CHANGES = 16,
};

/* Which kinds a call is of. */
static const struct {
  long number;
  unsigned kinds;
} calls[] = {
    {SYS_write, WRITES | CHANGES},
    {SYS_pwrite64, WRITES | CHANGES},
    {SYS_writev, WRITES | CHANGES},
    {SYS_copy_file_range, WRITES | CHANGES},
    {SYS_sendfile, WRITES | CHANGES},
    {SYS_open, OPENS | CHANGES},
    {SYS_openat, OPENS | CHANGES},
    {SYS_openat2, OPENS | CHANGES},
    {SYS_rename, RENAMES | CHANGES},
    {SYS_renameat, RENAMES | CHANGES},
    {SYS_renameat2, RENAMES | CHANGES},
    {SYS_link, RENAMES | CHANGES},
    {SYS_linkat, RENAMES | CHANGES},
    {SYS_symlink, RENAMES | CHANGES},
    {SYS_symlinkat, RENAMES | CHANGES},
    {SYS_fsync, SYNCS | CHANGES},
    {SYS_fdatasync, SYNCS | CHANGES},
    {SYS_unlink, CHANGES},
    {SYS_unlinkat, CHANGES},
    {SYS_mkdir, CHANGES},
    {SYS_mkdirat, CHANGES},
    {SYS_rmdir, CHANGES},
    {SYS_truncate, CHANGES},
    {SYS_ftruncate, CHANGES},
    {SYS_fallocate, CHANGES},
    {SYS_chmod, CHANGES},
    {SYS_fchmod, CHANGES},
    {SYS_fchmodat, CHANGES},
    {SYS_flock, CHANGES},
};

static const struct {
  const char *name;
  unsigned kind;
} kinds[] = {{"write", WRITES},
             {"open", OPENS},
             {"rename", RENAMES},
             {"sync", SYNCS},
             {"change", CHANGES}};

static const struct {
  const char *name;
  int number;
} errors[] = {{"enospc", ENOSPC}, {"eio", EIO}, {"emfile", EMFILE}};

/* A thread whose call is to fail when it is through. */
typedef struct pending {
  pid_t thread;
  long result;
} pending;

static unsigned kind;
static enum {
  FAIL,
  SHORT,
  KILL,
  FULL
} how;
static int error_number;
static unsigned long long wanted, count;
static pending waiting[THREADS];

/* ---- the calls ---- */

static unsigned kinds_of(long number) {
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    if (calls[i].number == number) return calls[i].kinds;
  }
  return 0;
}

static bool is_file(pid_t thread, unsigned long long fd) {
  char path[64];
  struct stat st;
  snprintf(path, sizeof path, "/proc/%d/fd/%llu", (int)thread, fd);
  return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static unsigned long long flags_of(const struct ptrace_syscall_info *info) {
  if (info->entry.nr == SYS_open) return info->entry.args[1];
  return info->entry.nr == SYS_openat ? info->entry.args[2] : O_CREAT;
}

/* Where it does not say more than its number: opening may change nothing, and
 * what cannot be told on stderr cannot be told. */
static bool counts(pid_t thread, const struct ptrace_syscall_info *info) {
  unsigned of = kinds_of((long)info->entry.nr);
  if (!(of & kind)) return false;
  if (how == FULL) return is_file(thread, info->entry.args[0]);
  if ((of & WRITES) && info->entry.args[0] == STDERR_FILENO) return false;
  return kind != CHANGES || !(of & OPENS) ||
         (flags_of(info) & (O_CREAT | O_TRUNC));
}

static void set_register(pid_t thread, size_t offset, long value) {
  if (ptrace(PTRACE_POKEUSER, thread, offset, value) != 0) _exit(SKIPPED);
}

#define REGISTER(name) offsetof(struct user_regs_struct, name)

/* The call does nothing and returns that. */
static void fail_call(pid_t thread, int number) {
  set_register(thread, REGISTER(orig_rax), -1);
  for (size_t i = 0; i < THREADS; i++) {
    if (waiting[i].thread) continue;
    waiting[i] = (pending){thread, -number};
    return;
  }
  _exit(SKIPPED);
}

static void write_until_full(pid_t thread,
                             const struct ptrace_syscall_info *info) {
  unsigned long long size = info->entry.args[2], left = wanted - count;
  if (!wanted || size <= left) {
    count += size;
  } else if (left) {
    set_register(thread, REGISTER(rdx), (long)left);
    count += left;
  } else {
    fail_call(thread, ENOSPC);
  }
}

static void enter(pid_t process, pid_t thread,
                  const struct ptrace_syscall_info *info) {
  if (!counts(thread, info)) return;
  if (how == FULL) {
    write_until_full(thread, info);
  } else if (++count == wanted) {
    if (how == KILL) kill(process, SIGKILL);
    if (how == FAIL) fail_call(thread, error_number);
    if (how == SHORT && info->entry.args[2] > 1)
      set_register(thread, REGISTER(rdx), (long)info->entry.args[2] / 2);
  }
}

static void leave(pid_t thread) {
  for (size_t i = 0; i < THREADS; i++) {
    if (waiting[i].thread != thread) continue;
    set_register(thread, REGISTER(rax), waiting[i].result);
    waiting[i].thread = 0;
  }
}

static void at_call(pid_t process, pid_t thread) {
  struct ptrace_syscall_info info;
  if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof info, &info) <= 0) return;
  if (info.op == PTRACE_SYSCALL_INFO_ENTRY) enter(process, thread, &info);
  if (info.op == PTRACE_SYSCALL_INFO_EXIT) leave(thread);
}

/* ---- the command ---- */

/* What the thread is to get when it goes on; 0: nothing. */
static int signal_of(int status) {
  int number = WSTOPSIG(status);
  bool ours = number == SIGTRAP || number == SIGSTOP || status >> 16;
  return ours ? 0 : number;
}

/* Until it has ended; its wait status. */
static int follow(pid_t process) {
  for (;;) {
    int status;
    pid_t thread = waitpid(-1, &status, __WALL);
    if (thread < 0) return -1;
    if (!WIFSTOPPED(status)) {
      if (thread == process) return status;
      continue;
    }
    bool call = WSTOPSIG(status) == (SIGTRAP | 0x80);
    if (call) at_call(process, thread);
    ptrace(PTRACE_SYSCALL, thread, 0, call ? 0 : (long)signal_of(status));
  }
}

static pid_t start(char **argv) {
  pid_t process = fork();
  if (process == 0) {
    if (ptrace(PTRACE_TRACEME, 0, 0, 0) != 0) _exit(SKIPPED);
    execv(argv[0], argv);
    _exit(127);
  }
  int status;
  if (process < 0 || waitpid(process, &status, 0) < 0) exit(SKIPPED);
  if (!WIFSTOPPED(status))
    exit(WIFEXITED(status) ? WEXITSTATUS(status) : SKIPPED);
  long options =
      PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL;
  if (ptrace(PTRACE_SETOPTIONS, process, 0, options) != 0) exit(SKIPPED);
  ptrace(PTRACE_SYSCALL, process, 0, 0);
  return process;
}

static bool read_arguments(char **argv) {
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (strcmp(kinds[i].name, argv[1]) == 0) kind = kinds[i].kind;
  }
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
    if (strcmp(errors[i].name, argv[2]) == 0) error_number = errors[i].number;
  }
  how = strcmp(argv[2], "short") == 0  ? SHORT
        : strcmp(argv[2], "kill") == 0 ? KILL
        : strcmp(argv[2], "full") == 0 ? FULL
                                       : FAIL;
  wanted = strtoull(argv[3], NULL, 10);
  return kind && (how != FAIL || error_number);
}

int main(int argc, char **argv) {
  if (argc < 6 || !read_arguments(argv)) return 2;
  int status = follow(start(argv + 5));
  FILE *report = fopen(argv[4], "w");
  if (!report || fprintf(report, "%llu\n", count) < 0 || fclose(report) != 0)
    return 2;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

#else

int main(void) {
  puts("skipped: written for x86-64");
  return 77;
}

#endif

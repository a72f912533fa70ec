#include "os/sys.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/interrupt.h"

static int64_t now(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int64_t llmprof_sys_realtime(void) {
  return now(CLOCK_REALTIME);
}

int64_t llmprof_sys_monotonic(void) {
  return now(CLOCK_MONOTONIC);
}

void llmprof_sys_terminal(int *columns, int *lines) {
  static const int order[] = {STDOUT_FILENO, STDERR_FILENO, STDIN_FILENO};
  struct winsize size = {0};
  for (size_t i = 0; i < sizeof order / sizeof *order; i++)
    if (ioctl(order[i], TIOCGWINSZ, &size) == 0) break;
  *columns = size.ws_col;
  *lines = size.ws_row;
}

/* ---- processor and memory ---- */

/* The value of the first "key : value" line; "" when there is none. */
static void read_key(const char *path, const char *key, char *value,
                     size_t size) {
  value[0] = '\0';
  FILE *file = fopen(path, "re");
  if (!file) return;
  char line[1024];
  while (!value[0] && fgets(line, sizeof line, file)) {
    char *colon = strchr(line, ':');
    if (!colon || strncmp(line, key, strlen(key)) != 0) continue;
    char *text = colon + 1 + strspn(colon + 1, " \t");
    text[strcspn(text, "\n")] = '\0';
    snprintf(value, size, "%s", text);
  }
  fclose(file);
}

void llmprof_sys_cpu(llmprof_cpu *cpu) {
  *cpu = (llmprof_cpu){0};
  read_key("/proc/cpuinfo", "model name", cpu->model, sizeof cpu->model);
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  if (cores > 0) cpu->cores = (int)cores;
  long pages = sysconf(_SC_PHYS_PAGES), page_size = sysconf(_SC_PAGESIZE);
  if (pages > 0 && page_size > 0)
    cpu->memory = (uint64_t)pages * (uint64_t)page_size;
}

/* ---- this process ---- */

bool llmprof_sys_executable(llmprof_buffer *path, llmprof_error *err) {
  char target[PATH_MAX];
  ssize_t size = readlink("/proc/self/exe", target, sizeof target - 1);
  if (size < 0) return llmprof_fail_errno(err, errno, "/proc/self/exe");
  target[size] = '\0'; /* ends in " (deleted)" when it was */
  if (access(target, F_OK) != 0)
    return llmprof_fail_errno(err, errno, "%s", target);
  llmprof_buffer_clear(path);
  llmprof_buffer_puts(path, target);
  return !path->failed || llmprof_fail_nomem(err);
}

bool llmprof_sys_readable(int fd, int milliseconds) {
  struct pollfd one = {.fd = fd, .events = POLLIN};
  return poll(&one, 1, milliseconds) > 0;
}

bool llmprof_sys_read(int fd, void *bytes, size_t size, size_t *count,
                      llmprof_error *err) {
  ssize_t got;
  do {
    got = llmprof_interrupted() ? -2 : read(fd, bytes, size);
  } while (got == -1 && errno == EINTR);
  if (got == -2) return llmprof_fail_interrupted(err);
  if (got < 0) return llmprof_fail_errno(err, errno, "descriptor %d", fd);
  *count = (size_t)got;
  return true;
}

/* ---- signals ---- */

/* glibc has them from 2.32 on only (sigabbrev_np). */
static const char *const signal_names[] = {
    [SIGHUP] = "SIGHUP",       [SIGINT] = "SIGINT",       [SIGQUIT] = "SIGQUIT",
    [SIGILL] = "SIGILL",       [SIGTRAP] = "SIGTRAP",     [SIGABRT] = "SIGABRT",
    [SIGBUS] = "SIGBUS",       [SIGFPE] = "SIGFPE",       [SIGKILL] = "SIGKILL",
    [SIGUSR1] = "SIGUSR1",     [SIGSEGV] = "SIGSEGV",     [SIGUSR2] = "SIGUSR2",
    [SIGPIPE] = "SIGPIPE",     [SIGALRM] = "SIGALRM",     [SIGTERM] = "SIGTERM",
    [SIGSTKFLT] = "SIGSTKFLT", [SIGCHLD] = "SIGCHLD",     [SIGCONT] = "SIGCONT",
    [SIGSTOP] = "SIGSTOP",     [SIGTSTP] = "SIGTSTP",     [SIGTTIN] = "SIGTTIN",
    [SIGTTOU] = "SIGTTOU",     [SIGURG] = "SIGURG",       [SIGXCPU] = "SIGXCPU",
    [SIGXFSZ] = "SIGXFSZ",     [SIGVTALRM] = "SIGVTALRM", [SIGPROF] = "SIGPROF",
    [SIGWINCH] = "SIGWINCH",   [SIGPOLL] = "SIGPOLL",     [SIGPWR] = "SIGPWR",
    [SIGSYS] = "SIGSYS",
};

bool llmprof_sys_signal_name(int number, char name[LLMPROF_SIGNAL_SIZE]) {
  const int count = sizeof signal_names / sizeof *signal_names;
  if (number > 0 && number < count && signal_names[number]) {
    snprintf(name, LLMPROF_SIGNAL_SIZE, "%s", signal_names[number]);
    return true;
  }
  if (number < SIGRTMIN || number > SIGRTMAX) return false;
  snprintf(name, LLMPROF_SIGNAL_SIZE, "SIGRTMIN+%d", number - SIGRTMIN);
  return true;
}

int llmprof_sys_signal_number(const char *name) {
  char known[LLMPROF_SIGNAL_SIZE];
  for (int number = 1; number <= SIGRTMAX; number++) {
    if (llmprof_sys_signal_name(number, known) && strcmp(known, name) == 0)
      return number;
  }
  return 0;
}

static llmprof_code code_of_kill(int errnum) {
  return errnum == ESRCH ? LLMPROF_NOTFOUND : LLMPROF_DENIED;
}

bool llmprof_sys_kill(int64_t pid, int number, llmprof_error *err) {
  /* 1, 0 and below are not a process of ours, or many */
  if (pid <= 1 || pid > INT_MAX)
    return llmprof_fail(err, LLMPROF_NOTFOUND, "no process %lld",
                        (long long)pid);
  if (kill((pid_t)pid, number) == 0) return true;
  return llmprof_fail(err, code_of_kill(errno), "process %lld: %s",
                      (long long)pid, strerror(errno));
}

/* The child that test_spawn starts: one small behaviour per name. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Open descriptors, in order. */
static int show_fds(char **args) {
  (void)args;
  for (int fd = 0; fd < 4096; fd++) {
    if (fcntl(fd, F_GETFD) >= 0) printf("%d\n", fd);
  }
  return 0;
}

/* Blocked and ignored signals, as the kernel tells. */
static int show_signals(char **args) {
  (void)args;
  FILE *file = fopen("/proc/self/status", "r");
  char line[256];
  while (file && fgets(line, sizeof line, file)) {
    if (strncmp(line, "SigBlk", 6) == 0 || strncmp(line, "SigIgn", 6) == 0)
      fputs(line, stdout);
  }
  return 0;
}

static int show_group(char **args) {
  (void)args;
  char byte;
  printf("%d %d\n", getpid() == getpgid(0), (int)read(0, &byte, 1));
  return 0;
}

/* Numbered lines, half of them to stderr if there is a second argument. */
static int count(char **args) {
  long lines = atol(args[0]);
  for (long i = 1; i <= lines; i++)
    fprintf(args[1] && i % 2 ? stderr : stdout, "line %ld\n", i);
  return 0;
}

/* So many bytes without a newline, then "end\n". */
static int long_line(char **args) {
  for (long left = atol(args[0]); left > 0; left--) putchar('x');
  puts("end");
  return 0;
}

/* Every byte there is, the same on both streams. */
static int all_bytes(char **args) {
  (void)args;
  for (int c = 0; c < 256; c++) {
    putchar(c);
    putc(c, stderr);
  }
  return 0;
}

static void ignore_term(void) {
  signal(SIGTERM, SIG_IGN);
}

/* A grandchild that keeps our output open and sleeps ("stubborn": through
 * SIGTERM, too); print its number, then exit. */
static int leave_behind(char **args) {
  int ready[2];
  char byte;
  if (pipe(ready) != 0) return 1;
  pid_t pid = fork();
  if (pid == 0) {
    if (args[0] && strcmp(args[0], "stubborn") == 0) ignore_term();
    close(ready[0]);
    close(ready[1]);
    for (;;) sleep(1000);
  }
  close(ready[1]);
  if (read(ready[0], &byte, 1) != 0) return 1;
  printf("%d\n", (int)pid);
  return 0;
}

/* The same, but wait for ever ourselves; deaf to SIGTERM if asked. */
static int family(char **args) {
  if (args[0] && strcmp(args[0], "stubborn") == 0) ignore_term();
  leave_behind(args);
  fflush(stdout);
  for (;;) sleep(1000);
}

/* A daemon: forked twice, in a session of its own, without our output; deaf to
 * SIGTERM or with no environment, if asked. Print its number, then exit, or
 * stay
 * ("wait"). */
static int daemonise(char **args) {
  int number[2];
  pid_t pid = 0;
  if (pipe(number) != 0) return 1;
  if (fork() == 0) {
    setsid();
    pid = fork();
    if (pid != 0) _exit(write(number[1], &pid, sizeof pid) != sizeof pid);
    close(STDOUT_FILENO);
    close(STDERR_FILENO);
    if (args[0] && strcmp(args[0], "stubborn") == 0) ignore_term();
    if (args[0] && strcmp(args[0], "bare") == 0)
      execle("/bin/sleep", "bare", "1000", NULL, (char *[]){NULL});
    for (;;) sleep(1000);
  }
  if (read(number[0], &pid, sizeof pid) != sizeof pid) return 1;
  if (wait(NULL) < 0) return 1; /* the one in between is gone */
  printf("%d\n", (int)pid);
  fflush(stdout);
  while (args[0] && strcmp(args[0], "wait") == 0) sleep(1000);
  return 0;
}

/* Move to the group of a child of our own, and print that child's number. */
static int regroup(char **args) {
  (void)args;
  pid_t pid = fork();
  if (pid == 0) {
    for (;;) sleep(1000);
  }
  if (setpgid(pid, pid) != 0 || setpgid(0, pid) != 0) return 1;
  printf("%d\n", (int)pid);
  fflush(stdout);
  for (;;) sleep(1000);
}

static volatile sig_atomic_t caught;

static void on_signal(int number) {
  caught = number;
}

/* Wait for SIGINT, SIGTERM or SIGHUP and exit with its number. */
static int catch_signal(char **args) {
  (void)args;
  struct sigaction action = {.sa_handler = on_signal};
  sigset_t all, old;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &old);
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGHUP, &action, NULL);
  puts("ready");
  fflush(stdout);
  while (!caught) sigsuspend(&old);
  printf("caught %d\n", (int)caught);
  return caught;
}

/* Tell that we are there, and sleep on. */
static int stay(char **args) {
  (void)args;
  puts("ready");
  fflush(stdout);
  for (;;) sleep(1000);
}

static const struct {
  const char *name;
  int (*run)(char **args);
} modes[] = {
    {"bytes", all_bytes},  {"catch", catch_signal},   {"count", count},
    {"daemon", daemonise}, {"family", family},        {"fds", show_fds},
    {"group", show_group}, {"leave", leave_behind},   {"long", long_line},
    {"regroup", regroup},  {"signals", show_signals}, {"stay", stay},
};

int main(int argc, char **argv) {
  for (size_t i = 0; argc > 1 && i < sizeof modes / sizeof *modes; i++) {
    if (strcmp(modes[i].name, argv[1]) == 0) return modes[i].run(argv + 2);
  }
  return 99;
}

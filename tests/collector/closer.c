/* A program that does to its descriptors what daemons, launchers and careless
 * programs do: closer HOW FOLDER SEED. It uses NVTX before and after, and then
 * looks whether its own files hold what it wrote and nothing else. It prints
 * "done" when they do, and what is wrong otherwise. */
#include <errno.h>
#include <fcntl.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
  FILES = 64,
  RANGES = 5000,
  MOST = 1024 /* descriptors */
};

#define MINE "MINE\n"

extern char **environ;
static const char *program, *folder;
static char paths[FILES][512];
static int pairs[2][2];
static int complaints;

static void complain(const char *what, long a, long b) {
  printf("%s: %ld %ld\n", what, a, b);
  complaints++;
}

static void mark(const char *name, int count) {
  for (int i = 0; i < count; i++) {
    nvtxRangePushA(name);
    nvtxRangePop();
  }
}

/* A file that holds one line. */
static int open_mine(int number, int flags) {
  snprintf(paths[number], sizeof paths[number], "%s/mine-%d-%d", folder,
           (int)getpid(), number);
  int f = open(paths[number], O_CREAT | O_TRUNC | O_RDWR, 0600);
  if (f < 0 || write(f, MINE, strlen(MINE)) != (ssize_t)strlen(MINE)) return -1;
  if (flags == O_RDWR) return f;
  int again = open(paths[number], flags);
  dup2(again, f);
  close(again);
  return f;
}

static bool holds_lines(const char *path) {
  char text[4096];
  FILE *f = fopen(path, "re");
  if (!f) return errno == ENOENT;
  bool good = true;
  while (fgets(text, sizeof text, f)) good = good && strcmp(text, MINE) == 0;
  fclose(f);
  return good;
}

static void look_at_files(void) {
  struct stat info;
  for (int i = 0; i < FILES && paths[i][0]; i++)
    if (!holds_lines(paths[i]))
      complain("a file holds more than its lines", i,
               stat(paths[i], &info) == 0 ? (long)info.st_size : -1);
}

static void look_at_sockets(void) {
  char bytes[64];
  for (int i = 0; i < 4; i++) {
    ssize_t n = recv(pairs[i / 2][i % 2], bytes, sizeof bytes, MSG_DONTWAIT);
    if (n >= 0 || errno != EAGAIN) complain("a socket got", i, n);
  }
}

/* Fill the lowest numbers with files and sockets of its own, work, look. */
static void work_and_look(void) {
  int one = open_mine(0, O_RDWR), two = open_mine(1, O_RDONLY);
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[0]) != 0 ||
      socketpair(AF_UNIX, SOCK_DGRAM, 0, pairs[1]) != 0)
    complain("no sockets", errno, 0);
  mark("after", RANGES);
  usleep(300000); /* what was recorded is written meanwhile */
  if (one != 3) complain("a number below is taken", one, 3);
  if (lseek(one, 0, SEEK_CUR) != (off_t)strlen(MINE))
    complain("its place in a file moved", one, (long)lseek(one, 0, SEEK_CUR));
  if (lseek(two, 0, SEEK_CUR) != 0) complain("its file was closed", two, errno);
  look_at_files();
  look_at_sockets();
}

static void close_each(void) {
  for (int i = 3; i < MOST; i++) close(i);
}

static void close_all_at_once(void) {
  (void)syscall(SYS_close_range, 3u, ~0u, 0);
}

static void cover_each(void) {
  int f = open_mine(2, O_RDWR);
  for (int i = 3; i < 64; i++)
    if (i != f) dup2(f, i);
  mark("covered", RANGES);
  usleep(200000);
  look_at_files();
  close_each();
}

static void remove_files(void) {
  for (int i = 0; i < FILES; i++)
    if (paths[i][0]) unlink(paths[i]);
}

static void close_in_child(void) {
  int status = -1;
  pid_t child = fork();
  if (child == 0) {
    close_each();
    work_and_look();
    remove_files();
    exit(complaints);
  }
  if (waitpid(child, &status, 0) != child || status != 0)
    complain("the child", status, 0);
}

/* What a child inherits is what the program has open, and that is nothing. */
static void count_in_spawned(void) {
  posix_spawn_file_actions_t actions;
  int status = -1;
  pid_t child;
  char *words[] = {(char *)(uintptr_t)program, "count", ".", "0", NULL};
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 5, "/dev/null", O_RDONLY, 0);
  if (posix_spawn(&child, program, &actions, NULL, words, environ) != 0 ||
      waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 1)
    complain("a spawned program has open", WEXITSTATUS(status), 1);
  posix_spawn_file_actions_destroy(&actions);
}

static int count_open(void) {
  int count = 0;
  for (int i = 3; i < MOST; i++) count += fcntl(i, F_GETFD) >= 0;
  return count;
}

/* As a service that is handed a socket as its descriptor 3. */
static void be_handed(void) {
  int handed[2];
  char *words[] = {(char *)(uintptr_t)program, "handed",
                   (char *)(uintptr_t)folder, "0", NULL};
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, handed) != 0) _exit(90);
  if (handed[0] != 3) dup2(handed[0], 3);
  if (handed[1] != 4) dup2(handed[1], 4);
  (void)fcntl(3, F_SETFD, 0);
  (void)fcntl(4, F_SETFD, 0);
  execv(program, words);
  _exit(91);
}

static void look_at_handed(void) {
  char byte = 0;
  mark("after", RANGES);
  usleep(300000);
  if (write(3, "x", 1) != 1 || read(4, &byte, 1) != 1 || byte != 'x')
    complain("what was handed over", errno, byte);
  if (open("/dev/null", O_RDONLY) != 5) complain("a number is taken", 5, 0);
}

/* The second child of a daemon; the others go at once. */
static void be_daemon(void) {
  if (fork() != 0) _exit(4);
  setsid();
  nvtxRangePushA("first child");
  if (fork() != 0) _exit(0);
  mark("second child", 1);
  usleep(150000);
  close_each();
}

/* ---- at random ---- */

static atomic_bool enough;
static unsigned seed;

static unsigned draw(unsigned below) {
  seed = seed * 1664525u + 1013904223u;
  return (seed >> 8) % below;
}

static void *mark_on(void *unused) {
  (void)unused;
  while (!atomic_load(&enough)) {
    mark("at random", 20);
    if (!atomic_load(&enough)) usleep(50);
  }
  return NULL;
}

static void do_one(int number) {
  int f = open_mine(number % FILES, O_RDWR);
  switch (draw(5)) {
  case 0:
    close((int)(3 + draw(20)));
    break;
  case 1:
    close_all_at_once();
    break;
  case 2:
    dup2(f, (int)(3 + draw(20)));
    break;
  case 3:
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[0]) != 0) close_each();
    break;
  default:
    close(f);
  }
}

static void at_random(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, mark_on, NULL) != 0) _exit(92);
  for (int i = 0; i < 400; i++) {
    do_one(i);
    usleep(draw(1000));
  }
  atomic_store(&enough, true);
  pthread_join(thread, NULL);
  look_at_files();
  close_each();
}

/* ---- limits ---- */

static void limit(rlim_t size) {
  (void)setrlimit(RLIMIT_FSIZE, &(struct rlimit){size, size});
  mark("limited", 40 * RANGES);
  usleep(300000);
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  program = argv[0];
  folder = argv[2];
  seed = (unsigned)atol(argv[3]);
  const char *how = argv[1];
  if (strcmp(how, "count") == 0) return count_open();
  if (strcmp(how, "handed") != 0) close_each(); /* of whoever started it */
  if (strcmp(how, "limit") == 0) limit((rlim_t)atol(argv[3]));
  mark("before", 1);
  usleep(150000);
  if (strcmp(how, "close") == 0) close_each();
  if (strcmp(how, "close_range") == 0) close_all_at_once();
  if (strcmp(how, "dup2") == 0) cover_each();
  if (strcmp(how, "fork") == 0) close_in_child();
  if (strcmp(how, "spawn") == 0) count_in_spawned();
  if (strcmp(how, "hand") == 0) be_handed();
  if (strcmp(how, "daemon") == 0) be_daemon();
  if (strcmp(how, "random") == 0) at_random();
  if (strcmp(how, "handed") == 0)
    look_at_handed();
  else if (strcmp(how, "limit") != 0)
    work_and_look();
  remove_files();
  if (!complaints) puts("done");
  fflush(stdout);
  return 4;
}

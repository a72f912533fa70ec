/* From options to a running program: environment, working directory, lookup,
 * outputs, vfork. The program is looked up here and not by exec, so that
 * a failure can say what is wrong; files are opened after that, so that a
 * typo empties no log. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "os/spawn_internal.h"

#define DEFAULT_PATH "/bin:/usr/bin" /* as exec's when PATH is not set */

enum {
  MOST_DESCRIPTORS = 1 << 16 /* that are tried one by one */
};

typedef struct launch {
  const llmprof_spawn_options *options;
  const char *mark; /* an entry of the environment, or "" */
  char **env;       /* NULL-terminated */
  size_t env_count, env_cap;
  size_t env_own; /* from here on the strings are ours */
  int cwd;        /* a descriptor or AT_FDCWD */
  llmprof_buffer program;
  int child[3]; /* what the child gets as 0, 1 and 2; -1: what we have there */
  pid_t parent;
} launch;

/* ---- environment ---- */

static bool names(const char *entry, const char *name) {
  size_t size = strlen(name);
  return strncmp(entry, name, size) == 0 && entry[size] == '=';
}

static bool is_changed(const launch *l, const char *entry) {
  if (*l->mark && names(entry, LLMPROF_RUN_MARK)) return true;
  for (size_t i = 0; i < l->options->variable_count; i++) {
    if (names(entry, l->options->variables[i].name)) return true;
  }
  return false;
}

/* Room for the entry and the NULL after it. */
static bool add_entry(launch *l, char *entry) {
  if (!entry ||
      !llmprof_grow(&l->env, &l->env_cap, l->env_count + 2, sizeof *l->env))
    return false;
  l->env[l->env_count++] = entry;
  l->env[l->env_count] = NULL;
  return true;
}

static bool add_variable(launch *l, const llmprof_variable *variable) {
  llmprof_buffer entry = {0};
  llmprof_buffer_printf(&entry, "%s=%s", variable->name, variable->value);
  if (!entry.failed && add_entry(l, entry.bytes)) return true;
  llmprof_buffer_free(&entry);
  return false;
}

static bool add_mark(launch *l) {
  char *entry = *l->mark ? llmprof_strdup(l->mark) : NULL;
  if (!*l->mark || (entry && add_entry(l, entry))) return true;
  llmprof_free(entry);
  return false;
}

/* Ours less what is changed, then the additions. */
static bool build_environment(launch *l, llmprof_error *err) {
  const llmprof_spawn_options *options = l->options;
  for (size_t i = 0; i < options->variable_count; i++) {
    const char *name = options->variables[i].name;
    if (!*name || strchr(name, '='))
      return llmprof_fail(err, LLMPROF_SYNTAX,
                          "%s: not a name for an environment variable", name);
  }
  if (!llmprof_grow(&l->env, &l->env_cap, 1, sizeof *l->env))
    return llmprof_fail_nomem(err);
  l->env[0] = NULL;
  for (char **entry = environ; entry && *entry; entry++) {
    if (!is_changed(l, *entry) && !add_entry(l, *entry))
      return llmprof_fail_nomem(err);
  }
  l->env_own = l->env_count;
  for (size_t i = 0; i < options->variable_count; i++) {
    if (options->variables[i].value && !add_variable(l, &options->variables[i]))
      return llmprof_fail_nomem(err);
  }
  return add_mark(l) || llmprof_fail_nomem(err);
}

static const char *search_path(char *const *env) {
  for (; *env; env++) {
    if (names(*env, "PATH")) return *env + strlen("PATH=");
  }
  return DEFAULT_PATH;
}

/* ---- descriptors ---- */

/* Out of the way of the child's 0, 1 and 2, should those be closed here. Takes
 * over fd; -1 with errno set when either fails. */
static int above_stdio(int fd) {
  if (fd < 0 || fd > STDERR_FILENO) return fd;
  int moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  int errnum = errno;
  close(fd);
  errno = errnum;
  return moved;
}

static void close_fd(int *fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

static bool open_cwd(launch *l, llmprof_error *err) {
  const char *path = l->options->cwd;
  struct stat st;
  if (!path) return true;
  int fd = above_stdio(open(path, O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (fd >= 0 && faccessat(fd, ".", X_OK, AT_EACCESS) == 0) {
    l->cwd = fd;
    return true;
  }
  int errnum = errno;
  if (fd >= 0) close(fd);
  if (errnum == ENOTDIR && stat(path, &st) == 0)
    return llmprof_fail(err, LLMPROF_DENIED,
                        "%s: the working directory is not a folder", path);
  if (errnum == ENOENT || errnum == ENOTDIR)
    return llmprof_fail(err, LLMPROF_NOTFOUND,
                        "%s: no such working directory; make it first", path);
  return llmprof_fail_errno(err, errnum, "%s: cannot enter working directory",
                            path);
}

/* ---- lookup ---- */

enum {
  NOT_EXECUTABLE = -1 /* beside errno values */
};

/* 0 if it can be executed, as far as one can tell before. */
static int try_program(int cwd, const char *path) {
  struct stat st;
  if (fstatat(cwd, path, &st, 0) != 0) return errno;
  if (S_ISDIR(st.st_mode)) return EISDIR;
  if (!S_ISREG(st.st_mode)) return NOT_EXECUTABLE;
  if (faccessat(cwd, path, X_OK, AT_EACCESS) == 0) return 0;
  return errno == EACCES ? NOT_EXECUTABLE : errno;
}

static bool fail_program(const char *path, int errnum, const char *cwd,
                         llmprof_error *err) {
  switch (errnum) {
  case NOT_EXECUTABLE:
    return llmprof_fail(err, LLMPROF_DENIED,
                        "%s: not executable; set its x bit (chmod +x) or put "
                        "its interpreter first in argv",
                        path);
  case EISDIR:
    return llmprof_fail(err, LLMPROF_DENIED, "%s: a folder, not a program",
                        path);
  case ENOENT:
  case ENOTDIR:
    if (cwd && *path != '/')
      return llmprof_fail(err, LLMPROF_NOTFOUND,
                          "%s: no such program in the working directory %s",
                          path, cwd);
    return llmprof_fail(err, LLMPROF_NOTFOUND, "%s: no such program", path);
  default:
    return llmprof_fail_errno(err, errnum, "%s", path);
  }
}

/* As execvp: a folder without the program, or where it may not be used, does
 * not end the search; but the latter makes for the better message. */
static bool search(int cwd, const char *name, const char *folders,
                   llmprof_buffer *found, llmprof_error *err) {
  bool denied = false;
  for (const char *at = folders;; at++) {
    size_t size = strcspn(at, ":");
    llmprof_buffer_clear(found);
    llmprof_buffer_add(found, size ? at : ".", size ? size : 1);
    llmprof_buffer_printf(found, "/%s", name);
    if (found->failed) return llmprof_fail_nomem(err);
    int errnum = try_program(cwd, found->bytes);
    if (!errnum) return true;
    if (errnum != ENOENT && errnum != ENOTDIR && !denied) {
      denied = true;
      fail_program(found->bytes, errnum, NULL, err);
    }
    at += size;
    if (!*at) break;
  }
  if (denied) return false;
  return llmprof_fail(err, LLMPROF_NOTFOUND,
                      "%s: no such program in PATH; install it, add its folder "
                      "to PATH, or give its path",
                      name);
}

static bool find_program(const char *name, int cwd, const char *cwd_name,
                         const char *folders, llmprof_buffer *found,
                         llmprof_error *err) {
  if (!*name) return llmprof_fail(err, LLMPROF_SYNTAX, "empty program name");
  if (!strchr(name, '/')) return search(cwd, name, folders, found, err);
  int errnum = try_program(cwd, name);
  if (errnum) return fail_program(name, errnum, cwd_name, err);
  llmprof_buffer_clear(found);
  llmprof_buffer_puts(found, name);
  return !found->failed || llmprof_fail_nomem(err);
}

bool llmprof_spawn_which(const char *name, llmprof_buffer *path,
                         llmprof_error *err) {
  static char *nothing[] = {NULL};
  llmprof_buffer found = {0};
  bool ok = find_program(name, AT_FDCWD, NULL,
                         search_path(environ ? environ : nothing), &found, err);
  char cwd[PATH_MAX] = "";
  if (ok && *found.bytes != '/' && !getcwd(cwd, sizeof cwd))
    ok = llmprof_fail_errno(err, errno, "working directory");
  if (ok) {
    llmprof_buffer_clear(path);
    llmprof_buffer_printf(path, "%s%s%s", cwd, *cwd ? "/" : "", found.bytes);
    ok = !path->failed || llmprof_fail_nomem(err);
  }
  llmprof_buffer_free(&found);
  return ok;
}

/* ---- outputs ---- */

static int open_log(const char *path, llmprof_error *err) {
  /* O_APPEND: both streams may share a file, and a child may rewind.
   * O_NONBLOCK: a named pipe that nobody reads would wait; writing may. */
  int fd = above_stdio(open(path,
                            O_WRONLY | O_CREAT | O_TRUNC | O_APPEND |
                                O_NONBLOCK | O_CLOEXEC | O_NOCTTY,
                            0644));
  if (fd >= 0 && fcntl(fd, F_SETFL, O_APPEND) == 0) return fd;
  llmprof_fail_errno(err, errno, "%s", path);
  close_fd(&fd);
  return -1;
}

static int open_null(int flags, llmprof_error *err) {
  int fd = above_stdio(open("/dev/null", flags | O_CLOEXEC));
  if (fd < 0) llmprof_fail_errno(err, errno, "/dev/null");
  return fd;
}

/* Our end does not block, so that two streams can be read in turn. */
static bool open_pipe(spawn_stream *stream, int *child, llmprof_error *err) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return llmprof_fail_errno(err, errno, "pipe");
  stream->pipe = above_stdio(ends[0]);
  int errnum = errno;
  *child = above_stdio(ends[1]);
  if (*child < 0) errnum = errno;
  if (stream->pipe < 0 || *child < 0)
    return llmprof_fail_errno(err, errnum, "pipe");
  fcntl(stream->pipe, F_SETFL, O_NONBLOCK);
  fcntl(stream->pipe, F_SETPIPE_SZ, 1 << 20); /* fewer wake-ups; may fail */
  return true;
}

static bool open_output(launch *l, spawn_stream *stream, llmprof_error *err) {
  const llmprof_output *output = &l->options->output[stream->which];
  int *child = &l->child[STDOUT_FILENO + (int)stream->which];
  if (output->inherit) return true;
  if (!l->options->on_line) {
    *child =
        output->path ? open_log(output->path, err) : open_null(O_WRONLY, err);
    return *child >= 0;
  }
  if (output->path) {
    stream->file = open_log(output->path, err);
    if (stream->file < 0) return false;
    stream->path = llmprof_strdup(output->path);
    if (!stream->path) return llmprof_fail_nomem(err);
  }
  return open_pipe(stream, child, err);
}

static bool open_streams(launch *l, spawn_stream streams[LLMPROF_STREAMS],
                         llmprof_error *err) {
  l->child[STDIN_FILENO] = open_null(O_RDONLY, err);
  return l->child[STDIN_FILENO] >= 0 &&
         open_output(l, &streams[LLMPROF_STDOUT], err) &&
         open_output(l, &streams[LLMPROF_STDERR], err);
}

/* ---- starting ---- */

/* All to their defaults, two of libc's own as well, which its sigaction refuses
 * and which would then stay ignored: hence the system call, with a struct of
 * the kernel's that is all zeros. */
static void reset_signals(void) {
  const unsigned long plain[8] = {0};
  sigset_t none;
  for (int number = 1; number < NSIG; number++)
    syscall(SYS_rt_sigaction, number, plain, NULL, (NSIG - 1) / 8);
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Kernels before 5.9 have to be asked one by one. */
static void close_from(unsigned first) {
  if (syscall(SYS_close_range, first, UINT_MAX, 0) == 0) return;
  long count = sysconf(_SC_OPEN_MAX);
  if (count < 0 || count > MOST_DESCRIPTORS) count = MOST_DESCRIPTORS;
  for (unsigned fd = first; fd < (unsigned)count; fd++) close((int)fd);
}

/* In the child, which shares our memory until it is the program: nothing but
 * system calls. Returns why it is not. */
static int become(const launch *l, char *const *argv) {
  if (setpgid(0, 0) != 0) return errno;
  for (int fd = 0; fd <= STDERR_FILENO; fd++) {
    if (l->child[fd] >= 0 && dup2(l->child[fd], fd) < 0) return errno;
  }
  if (l->cwd != AT_FDCWD && fchdir(l->cwd) != 0) return errno;
  close_from(STDERR_FILENO + 1);
  if (l->options->helper) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != l->parent) return ESRCH; /* gone already */
  }
  reset_signals();
  execve(l->program.bytes, argv, l->env);
  return errno;
}

/* Not posix_spawn: in glibc it cannot change the folder before 2.29 or close
 * what was inherited before 2.34. */
static int start(const launch *l, const char *const *argv, pid_t *pid) {
  sigset_t all, mask;
  sigfillset(&all);
  int errnum = pthread_sigmask(SIG_SETMASK, &all, &mask);
  if (errnum) return errnum;
  volatile int failed = 0;
  pid_t child = vfork();
  if (child == 0) { /* the prototype lacks a const that POSIX promises */
    failed = become(l, (char *const *)argv);
    _exit(127);
  }
  errnum = child < 0 ? errno : failed;
  if (child > 0 && errnum) waitpid(child, NULL, 0);
  pthread_sigmask(SIG_SETMASK, &mask, NULL);
  *pid = child;
  return errnum;
}

/* The program was there and executable, and yet. */
static bool fail_start(const char *path, int errnum, llmprof_error *err) {
  switch (errnum) {
  case ENOEXEC:
    return llmprof_fail(err, LLMPROF_UNSUPPORTED,
                        "%s: not in a format this system can run; a script "
                        "needs a #! line",
                        path);
  case ENOENT:
    return llmprof_fail(err, LLMPROF_NOTFOUND,
                        "%s: the interpreter in its #! line or ELF header does "
                        "not exist",
                        path);
  case E2BIG:
    return llmprof_fail(err, LLMPROF_LIMIT,
                        "%s: arguments and environment are too long", path);
  default:
    return llmprof_fail_errno(err, errnum, "%s: cannot start", path);
  }
}

static bool start_watched(const launch *l, const char *const *argv,
                          spawn_watch *watch, pid_t *pid, llmprof_error *err) {
  sigset_t mask;
  if (!llmprof_spawn_watch_begin(watch, &mask))
    return llmprof_fail(err, LLMPROF_LIMIT, "%s: too many children at once",
                        argv[0]);
  int errnum = start(l, argv, pid);
  if (errnum)
    llmprof_spawn_watch_end(watch);
  else if (!l->options->hold_signals)
    llmprof_spawn_watch_group(watch, *pid);
  llmprof_spawn_watch_unblock(&mask);
  return !errnum || fail_start(l->program.bytes, errnum, err);
}

static void launch_free(launch *l) {
  for (int fd = 0; fd <= STDERR_FILENO; fd++) close_fd(&l->child[fd]);
  if (l->cwd != AT_FDCWD) close(l->cwd);
  for (size_t i = l->env_own; i < l->env_count; i++) llmprof_free(l->env[i]);
  llmprof_free(l->env);
  llmprof_buffer_free(&l->program);
}

bool llmprof_spawn_launch(const char *const *argv,
                          const llmprof_spawn_options *options,
                          const spawn_orphans *orphans,
                          spawn_stream streams[LLMPROF_STREAMS],
                          spawn_watch *watch, pid_t *pid, llmprof_error *err) {
  launch l = {.options = options,
              .mark = orphans->mark,
              .cwd = AT_FDCWD,
              .child = {-1, -1, -1},
              .parent = getpid()};
  if (!argv[0]) return llmprof_fail(err, LLMPROF_SYNTAX, "empty argv");
  l.env_own = SIZE_MAX;
  bool ok = build_environment(&l, err) && open_cwd(&l, err) &&
            find_program(argv[0], l.cwd, options->cwd, search_path(l.env),
                         &l.program, err) &&
            open_streams(&l, streams, err) &&
            start_watched(&l, argv, watch, pid, err);
  launch_free(&l);
  return ok;
}

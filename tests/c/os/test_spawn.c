#include "os/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "os/fs.h"
#include "spawn_support.h"

static void assert_lines(const char *const *argv, llmprof_spawn_options options,
                         const char *wanted) {
  llmprof_buffer text = {0};
  options.on_line = test_collect;
  options.user = &text;
  llmprof_spawn_result result = test_run(argv, &options);
  assert_int_equal(result.code, 0);
  assert_string_equal(text.bytes ? text.bytes : "", wanted);
  llmprof_buffer_free(&text);
}

static void assert_file(const char *path, const void *bytes, size_t size) {
  llmprof_error err;
  llmprof_buffer got = {0};
  assert_true(llmprof_fs_read(path, 0, &got, &err));
  assert_int_equal(got.size, size);
  assert_memory_equal(got.bytes, bytes, size);
  llmprof_buffer_free(&got);
}

/* ---- results ---- */

CHILD_TEST(results) {
  llmprof_spawn_result result = test_run(ARGV("/bin/sh", "-c", "exit 7"), NULL);
  assert_int_equal(result.code, 7);
  assert_int_equal(result.signal, 0);
  assert_false(result.timed_out);
  assert_int_equal(result.interrupted, 0);
  assert_true(result.pid > 0 && result.wall_ns > 0);

  result = test_run(ARGV("sh", "-c", "kill -SEGV $$"), NULL);
  assert_int_equal(result.code, -1);
  assert_int_equal(result.signal, SIGSEGV);
}

CHILD_TEST(child_is_on_its_own) {
  int leaky = dup(0); /* no O_CLOEXEC */
  signal(SIGPIPE, SIG_IGN);
  signal(SIGUSR1, SIG_IGN);
  sigset_t set, old;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  sigprocmask(SIG_BLOCK, &set, &old);
  llmprof_spawn_options none = {0};
  assert_lines(ARGV(HELPER, "fds"), none, "out 0|out 1|out 2|");
  assert_lines(ARGV(HELPER, "signals"), none,
               "out SigBlk:\t0000000000000000|"
               "out SigIgn:\t0000000000000000|");
  assert_lines(ARGV(HELPER, "group"), none, "out 1 0|");
  sigprocmask(SIG_SETMASK, &old, NULL);
  signal(SIGPIPE, SIG_DFL);
  signal(SIGUSR1, SIG_DFL);
  close(leaky);
}

/* ---- files ---- */

CHILD_TEST(files_get_exact_bytes) {
  char all[256];
  for (int c = 0; c < 256; c++) all[c] = (char)c;
  const char *out = test_file("out", "old and longer than that", 24);
  const char *err_path = test_in_folder("err");
  llmprof_spawn_options options = {
      .output = {{.path = out}, {.path = err_path}}};
  umask(022);
  assert_int_equal(test_run(ARGV(HELPER, "bytes"), &options).code, 0);
  assert_file(out, all, 256);
  assert_file(err_path, all, 256);
  struct stat st;
  assert_int_equal(stat(err_path, &st), 0);
  assert_int_equal(st.st_mode & 07777, 0644);

  llmprof_buffer text = {0};
  options.on_line = test_collect;
  options.user = &text;
  assert_int_equal(test_run(ARGV(HELPER, "bytes"), &options).code, 0);
  assert_file(out, all, 256);
  assert_file(err_path, all, 256);
  assert_non_null(memmem(text.bytes, text.size, "err \v\f|", 7));
  llmprof_buffer_free(&text);
}

CHILD_TEST(both_streams_may_share_a_file) {
  const char *path = test_in_folder("both");
  llmprof_spawn_options options = {.output = {{.path = path}, {.path = path}}};
  test_run(ARGV("sh", "-c", "echo a; echo b >&2; echo c"), &options);
  assert_file(path, "a\nb\nc\n", 6);
}

/* In a process of its own: what happens with our 0, 1 and 2 closed. */
CHILD_TEST(our_stdio_may_be_closed) {
  const char *out = test_in_folder("closed-out"),
             *err_path = test_in_folder("closed-err");
  pid_t pid = fork();
  if (pid == 0) {
    for (int fd = 0; fd < 3; fd++) close(fd);
    llmprof_buffer text = {0};
    llmprof_spawn_options options = {
        .output = {{.path = out}, {.path = err_path}},
        .on_line = test_collect,
        .user = &text};
    llmprof_error err;
    llmprof_spawn_result result;
    bool ok = test_try_run(ARGV("sh", "-c", "cat; echo out; echo err >&2"),
                           &options, &result, &err) &&
              result.code == 0;
    _exit(ok ? 0 : 1);
  }
  int status;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_int_equal(status, 0);
  assert_file(out, "out\n", 4);
  assert_file(err_path, "err\n", 4);
}

CHILD_TEST(inherit) {
  const char *path = test_file("inherited", "", 0);
  int saved = dup(1), fd = open(path, O_WRONLY);
  dup2(fd, 1);
  close(fd);
  llmprof_buffer text = {0};
  llmprof_spawn_options options = {
      .output = {{.inherit = true}}, .on_line = test_collect, .user = &text};
  llmprof_spawn_result result =
      test_run(ARGV("sh", "-c", "echo out; echo err >&2"), &options);
  dup2(saved, 1);
  close(saved);
  assert_int_equal(result.code, 0);
  assert_string_equal(text.bytes, "err err|");
  assert_file(path, "out\n", 4);
  llmprof_buffer_free(&text);
}

CHILD_TEST(full_disk_stops_the_child) {
  llmprof_buffer text = {0};
  llmprof_spawn_options options = {.output = {{.path = "/dev/full"}},
                                   .on_line = test_collect,
                                   .user = &text};
  llmprof_error err;
  llmprof_spawn_result result;
  llmprof_spawn *p = llmprof_spawn_start(
      ARGV("sh", "-c", "echo one; sleep 1000"), &options, &err);
  assert_non_null(p);
  assert_false(llmprof_spawn_wait(p, &result, &err));
  assert_int_equal(err.sys, ENOSPC);
  assert_string_equal(err.message, "/dev/full: No space left on device");
  assert_int_equal(result.signal, SIGTERM);
  assert_string_equal(text.bytes, "out one|");
  assert_false(llmprof_spawn_wait(p, &result, NULL));
  llmprof_spawn_free(p);
  llmprof_buffer_free(&text);
}

/* ---- lines ---- */

CHILD_TEST(lines) {
  llmprof_spawn_options none = {0};
  assert_lines(ARGV("printf", "a\\r\\nb\\rc\\r\\r\\n\\nlast"), none,
               "out a|out b|out c|out |out |out last|");
  assert_lines(ARGV("printf", "x\\r"), none, "out x|");
  assert_lines(ARGV("printf", "\\n"), none, "out |");
  assert_lines(ARGV("true"), none, "");
  assert_lines(ARGV("sh", "-c", "echo e >&2"), none, "err e|");
}

typedef struct numbers {
  long next[LLMPROF_STREAMS];
  long step;
} numbers;

static bool check_number(void *user, const llmprof_line *line) {
  numbers *n = user;
  char wanted[64];
  snprintf(wanted, sizeof wanted, "line %ld", n->next[line->stream]);
  if (line->size != strlen(wanted) ||
      memcmp(line->bytes, wanted, line->size) != 0)
    return false;
  n->next[line->stream] += n->step;
  return true;
}

CHILD_TEST(no_line_is_lost) {
  numbers all = {{1, 1}, 1};
  llmprof_spawn_options options = {.on_line = check_number, .user = &all};
  assert_int_equal(test_run(ARGV(HELPER, "count", "300000"), &options).code, 0);
  assert_int_equal(all.next[0], 300001);

  numbers halves = {{2, 1}, 2};
  options.user = &halves;
  assert_int_equal(test_run(ARGV(HELPER, "count", "20000", "x"), &options).code,
                   0);
  assert_int_equal(halves.next[0], 20002);
  assert_int_equal(halves.next[1], 20001);
}

static bool add_size(void *user, const llmprof_line *line) {
  llmprof_buffer_printf(user, "%zu ", line->size);
  return true;
}

static void assert_pieces(const char *length, const char *wanted) {
  llmprof_buffer text = {0};
  llmprof_spawn_options options = {.on_line = add_size, .user = &text};
  assert_int_equal(test_run(ARGV(HELPER, "long", length), &options).code, 0);
  assert_string_equal(text.bytes, wanted);
  llmprof_buffer_free(&text);
}

CHILD_TEST(long_lines_come_in_pieces) {
  assert_pieces("1048573", "1048576 ");
  assert_pieces("1048574", "1048576 1 ");
  assert_pieces("2621440", "1048576 1048576 524291 ");
}

static bool refuse(void *user, const llmprof_line *line) {
  ++*(int *)user;
  return false;
}

CHILD_TEST(callback_stops_the_child) {
  int calls = 0;
  const char *log = test_in_folder("stopped");
  llmprof_spawn_options options = {
      .output = {{.path = log}}, .on_line = refuse, .user = &calls};
  llmprof_spawn_result result = test_run(
      ARGV("sh", "-c", "printf 'a\\nb\\nc'; exec sleep 1000"), &options);
  assert_int_equal(result.signal, SIGTERM);
  assert_false(result.timed_out);
  assert_int_equal(calls, 1);
  assert_file(log, "a\nb\nc", 5);
}

/* ---- environment, working directory, lookup ---- */

CHILD_TEST(environment) {
  setenv("SPAWN_KEPT", "kept", 1);
  setenv("SPAWN_GONE", "gone", 1);
  setenv("SPAWN_CHANGED", "old", 1);
  llmprof_variable changes[] = {
      {"SPAWN_NEW", "a=b"}, {"SPAWN_GONE", NULL}, {"SPAWN_CHANGED", "new"}};
  llmprof_spawn_options options = {.variables = changes, .variable_count = 3};
  assert_lines(ARGV("sh", "-c", "env | grep ^SPAWN_ | sort"), options,
               "out SPAWN_CHANGED=new|out SPAWN_KEPT=kept|"
               "out SPAWN_NEW=a=b|");
  unsetenv("SPAWN_KEPT");
  unsetenv("SPAWN_GONE");
  unsetenv("SPAWN_CHANGED");
}

static void make_script(const char *path, const char *text, mode_t mode) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(text, file);
  assert_int_equal(fclose(file), 0);
  assert_int_equal(chmod(path, mode), 0);
}

CHILD_TEST(lookup_is_the_childs) {
  llmprof_error err;
  assert_true(llmprof_fs_mkdirs(test_in_folder("tools/bin"), &err));
  make_script(test_in_folder("tools/bin/hello"), "#!/bin/sh\necho hello\n",
              0755);
  llmprof_spawn_options options = {.cwd = test_in_folder("tools")};
  assert_lines(ARGV("./bin/hello"), options, "out hello|");
  assert_lines(ARGV("bin/hello"), options, "out hello|");
  char pwd[PATH_MAX + 8];
  snprintf(pwd, sizeof pwd, "out %s|", options.cwd);
  assert_lines(ARGV("sh", "-c", "pwd -P"), options, pwd);

  llmprof_variable path = {"PATH", "/proc/none:bin"};
  options.variables = &path;
  options.variable_count = 1;
  assert_lines(ARGV("hello"), options, "out hello|");

  path.value = "/proc/none:"; /* an empty folder is the current one */
  options.cwd = test_in_folder("tools/bin");
  assert_lines(ARGV("hello"), options, "out hello|");

  path.value = NULL; /* the system's default */
  assert_lines(ARGV("sh", "-c", "echo found"), options, "out found|");
}

static void assert_refused(const char *const *argv,
                           const llmprof_spawn_options *options,
                           llmprof_code code, const char *message) {
  llmprof_error err = {0};
  assert_null(llmprof_spawn_start(argv, options, &err));
  assert_string_equal(err.message, message);
  assert_int_equal(err.code, code);
}

CHILD_TEST(programs_that_cannot_be_run) {
  char message[PATH_MAX * 3];
  llmprof_spawn_options options = {
      .output = {{.path = test_in_folder("untouched")}}};
  const char *plain = test_in_folder("plain"), *odd = test_in_folder("odd");
  make_script(plain, "text", 0644);
  make_script(odd, "#!/proc/none/interpreter\n", 0755);

  assert_refused(ARGV("no-such-tool"), &options, LLMPROF_NOTFOUND,
                 "no-such-tool: no such program in PATH; install it, add its "
                 "folder to PATH, or give its path");
  assert_refused(ARGV("/proc/none/tool"), &options, LLMPROF_NOTFOUND,
                 "/proc/none/tool: no such program");
  assert_refused(ARGV("/etc/passwd/tool"), &options, LLMPROF_NOTFOUND,
                 "/etc/passwd/tool: no such program");
  snprintf(message, sizeof message,
           "%s: not executable; set its x bit (chmod +x) or put its "
           "interpreter first in argv",
           plain);
  assert_refused(ARGV(plain), &options, LLMPROF_DENIED, message);
  assert_refused(ARGV("/dev/null"), &options, LLMPROF_DENIED,
                 "/dev/null: not executable; set its x bit (chmod +x) or put "
                 "its interpreter first in argv");
  assert_refused(ARGV("/etc"), &options, LLMPROF_DENIED,
                 "/etc: a folder, not a program");
  llmprof_variable path = {"PATH", test_folder()};
  llmprof_spawn_options searched = {.variables = &path, .variable_count = 1};
  assert_refused(ARGV("plain"), &searched, LLMPROF_DENIED, message);
  chmod(plain, 0755);
  snprintf(message, sizeof message,
           "%s: not in a format this system can run; a script needs a #! line",
           plain);
  assert_refused(ARGV(plain), &options, LLMPROF_UNSUPPORTED, message);
  snprintf(message, sizeof message,
           "%s: the interpreter in its #! line or ELF header does not exist",
           odd);
  assert_refused(ARGV(odd), NULL, LLMPROF_NOTFOUND, message);
  assert_refused((const char *const[]){NULL}, NULL, LLMPROF_SYNTAX,
                 "empty argv");
  assert_refused(ARGV(""), NULL, LLMPROF_SYNTAX, "empty program name");
}

CHILD_TEST(arguments_may_be_too_long) {
  size_t size = 8 << 20;
  char *big = malloc(size);
  assert_non_null(big);
  memset(big, 'x', size);
  big[size - 1] = '\0';
  assert_refused(ARGV("/bin/sh", big), NULL, LLMPROF_LIMIT,
                 "/bin/sh: arguments and environment are too long");
  free(big);
}

CHILD_TEST(a_typo_empties_no_log) {
  const char *log = test_file("kept.log", "kept", 4);
  llmprof_spawn_options options = {.output = {{.path = log}}};
  llmprof_error err;
  assert_null(llmprof_spawn_start(ARGV("no-such-tool"), &options, &err));
  assert_file(log, "kept", 4);
}

CHILD_TEST(broken_options) {
  char message[PATH_MAX * 3];
  llmprof_spawn_options options = {.cwd = "/proc/none/here"};
  assert_refused(ARGV("sh"), &options, LLMPROF_NOTFOUND,
                 "/proc/none/here: no such working directory; make it first");
  options.cwd = "/etc/passwd";
  assert_refused(ARGV("sh"), &options, LLMPROF_DENIED,
                 "/etc/passwd: the working directory is not a folder");
  options.cwd = test_folder();
  snprintf(message, sizeof message,
           "./tool: no such program in the working directory %s",
           test_folder());
  assert_refused(ARGV("./tool"), &options, LLMPROF_NOTFOUND, message);

  options =
      (llmprof_spawn_options){.output = {{0}, {.path = "/proc/none/log"}}};
  assert_refused(ARGV("sh"), &options, LLMPROF_NOTFOUND,
                 "/proc/none/log: No such file or directory");
  const char *pipe_path = test_in_folder("unread");
  assert_int_equal(mkfifo(pipe_path, 0600), 0);
  options = (llmprof_spawn_options){.output = {{.path = pipe_path}}};
  snprintf(message, sizeof message, "%s: No such device or address", pipe_path);
  assert_refused(ARGV("sh"), &options, LLMPROF_IO, message);

  llmprof_variable broken = {"A=B", "c"};
  options = (llmprof_spawn_options){.variables = &broken, .variable_count = 1};
  assert_refused(ARGV("sh"), &options, LLMPROF_SYNTAX,
                 "A=B: not a name for an environment variable");
  broken.name = "";
  assert_refused(ARGV("sh"), &options, LLMPROF_SYNTAX,
                 ": not a name for an environment variable");
}

CHILD_TEST(which) {
  llmprof_error err;
  llmprof_buffer path = {0};
  char *old = strdup(getenv("PATH")), cwd[PATH_MAX], wanted[PATH_MAX * 2];
  assert_non_null(getcwd(cwd, sizeof cwd));
  make_script(test_in_folder("tool"), "#!/bin/sh\n", 0755);
  setenv("PATH", test_folder(), 1);
  assert_true(llmprof_spawn_which("tool", &path, &err));
  assert_string_equal(path.bytes, test_in_folder("tool"));
  assert_int_equal(chdir(test_folder()), 0);
  setenv("PATH", ".", 1);
  assert_true(llmprof_spawn_which("tool", &path, &err));
  snprintf(wanted, sizeof wanted, "%s/./tool", test_folder());
  assert_string_equal(path.bytes, wanted);
  assert_false(llmprof_spawn_which("no-such-tool", &path, &err));
  assert_int_equal(err.code, LLMPROF_NOTFOUND);
  assert_int_equal(chdir(cwd), 0);
  setenv("PATH", old, 1);
  free(old);
  llmprof_buffer_free(&path);
}

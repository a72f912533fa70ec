#include "llmprof/spawn.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "llmprof/buffer.h"
#include "llmprof/fs.h"
#include "support.h"

#define ARGV(...)         \
  (const char *const[]) { \
    __VA_ARGS__, NULL     \
  }

/* ---- what every test is checked for ---- */

static size_t open_fds(void) {
  DIR *dir = opendir("/proc/self/fd");
  assert_non_null(dir);
  size_t count = 0;
  while (readdir(dir)) count++;
  closedir(dir);
  return count;
}

static size_t fds_before;

static int before(void **state) {
  (void)state;
  fds_before = open_fds();
  return 0;
}

static void no_child_is_left(void) {
  errno = 0;
  assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
  assert_int_equal(errno, ECHILD);
}

static int after(void **state) {
  (void)state;
  no_child_is_left();
  assert_int_equal(open_fds(), fds_before);
  static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
  for (size_t i = 0; i < 3; i++) {
    struct sigaction action;
    sigaction(numbers[i], NULL, &action);
    assert_true(action.sa_handler == SIG_DFL);
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    assert_false(sigismember(&mask, numbers[i]));
  }
  return 0;
}

/* ---- running and collecting ---- */

/* Lines as text: "out a\\n|err b\\r|". */
static bool collect(void *user, const llmprof_line *line) {
  llmprof_buffer *text = user;
  llmprof_buffer_puts(text, line->stream == LLMPROF_STDOUT ? "out " : "err ");
  llmprof_buffer_add(text, line->bytes, line->size);
  for (const char *c = line->terminator; c && *c; c++)
    llmprof_buffer_puts(text, *c == '\n' ? "\\n" : "\\r");
  llmprof_buffer_puts(text, line->terminator ? "|" : "...|");
  return true;
}

static bool try_run(const char *const *argv,
                    const llmprof_spawn_options *options,
                    llmprof_spawn_result *result, llmprof_error *err) {
  llmprof_spawn *p = llmprof_spawn_start(argv, options, err);
  bool ok = p && llmprof_spawn_wait(p, result, err) &&
            !llmprof_spawn_running(p) && llmprof_spawn_pump(p, 0, err) == 0;
  llmprof_spawn_free(p);
  return ok;
}

static llmprof_spawn_result run(const char *const *argv,
                                const llmprof_spawn_options *options) {
  llmprof_error err = {0};
  llmprof_spawn_result result;
  if (!try_run(argv, options, &result, &err)) fail_msg("%s", err.message);
  no_child_is_left();
  return result;
}

static void assert_lines(const char *const *argv, llmprof_spawn_options options,
                         const char *wanted) {
  llmprof_buffer text = {0};
  options.on_line = collect;
  options.user = &text;
  llmprof_spawn_result result = run(argv, &options);
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

static const char *in_folder(const char *name) {
  static char path[4][PATH_MAX];
  static size_t used;
  char *at = path[used++ % 4];
  snprintf(at, sizeof path[0], "%s/%s", test_folder(), name);
  return at;
}

/* ---- results ---- */

static void test_results(void **state) {
  (void)state;
  llmprof_spawn_result result = run(ARGV("/bin/sh", "-c", "exit 7"), NULL);
  assert_int_equal(result.code, 7);
  assert_int_equal(result.signal, 0);
  assert_false(result.timed_out);
  assert_int_equal(result.interrupted, 0);
  assert_true(result.pid > 0 && result.wall_ns > 0);
  assert_true(result.user_ns >= 0 && result.system_ns >= 0);

  result = run(ARGV("sh", "-c", "kill -SEGV $$"), NULL);
  assert_int_equal(result.code, -1);
  assert_int_equal(result.signal, SIGSEGV);
}

static void test_max_rss_is_the_childs_or_absent(void **state) {
  (void)state;
  size_t size = 64 << 20; /* we are much larger than sh */
  char *ours = malloc(size);
  assert_non_null(ours);
  memset(ours, 1, size);
  llmprof_spawn_result result = run(ARGV("sh", "-c", ":"), NULL);
  assert_int_equal(result.max_rss, -1);
  free(ours);
  result = run(ARGV("dd", "if=/dev/zero", "of=/dev/null", "bs=256M", "count=1"),
               NULL);
  assert_int_equal(result.code, 0);
  assert_true(result.max_rss > 256 << 20);
  assert_true(result.max_rss < 512 << 20);
}

static void test_child_is_on_its_own(void **state) {
  (void)state;
  int leaky = dup(0); /* no O_CLOEXEC */
  signal(SIGPIPE, SIG_IGN);
  signal(SIGUSR1, SIG_IGN);
  sigset_t set, old;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  sigprocmask(SIG_BLOCK, &set, &old);
  llmprof_spawn_options none = {0};
  assert_lines(ARGV(HELPER, "fds"), none, "out 0\\n|out 1\\n|out 2\\n|");
  assert_lines(ARGV(HELPER, "signals"), none,
               "out SigBlk:\t0000000000000000\\n|"
               "out SigIgn:\t0000000000000000\\n|");
  assert_lines(ARGV(HELPER, "group"), none, "out 1 0\\n|");
  sigprocmask(SIG_SETMASK, &old, NULL);
  signal(SIGPIPE, SIG_DFL);
  signal(SIGUSR1, SIG_DFL);
  close(leaky);
}

/* ---- files ---- */

static void test_files_get_exact_bytes(void **state) {
  (void)state;
  char all[256];
  for (int c = 0; c < 256; c++) all[c] = (char)c;
  const char *out = test_file("out", "old and longer than that", 24);
  const char *err_path = in_folder("err");
  llmprof_spawn_options options = {
      .output = {{.path = out}, {.path = err_path}}};
  umask(022);
  assert_int_equal(run(ARGV(HELPER, "bytes"), &options).code, 0);
  assert_file(out, all, 256);
  assert_file(err_path, all, 256);
  struct stat st;
  assert_int_equal(stat(err_path, &st), 0);
  assert_int_equal(st.st_mode & 07777, 0644);

  llmprof_buffer text = {0};
  options.on_line = collect;
  options.user = &text;
  assert_int_equal(run(ARGV(HELPER, "bytes"), &options).code, 0);
  assert_file(out, all, 256);
  assert_file(err_path, all, 256);
  assert_non_null(memmem(text.bytes, text.size, "err \v\f\\r|", 9));
  llmprof_buffer_free(&text);
}

static void test_both_streams_may_share_a_file(void **state) {
  (void)state;
  const char *path = in_folder("both");
  llmprof_spawn_options options = {.output = {{.path = path}, {.path = path}}};
  run(ARGV("sh", "-c", "echo a; echo b >&2; echo c"), &options);
  assert_file(path, "a\nb\nc\n", 6);
}

/* In a process of its own: what happens with our 0, 1 and 2 closed. */
static void test_our_stdio_may_be_closed(void **state) {
  (void)state;
  const char *out = in_folder("closed-out"),
             *err_path = in_folder("closed-err");
  pid_t pid = fork();
  if (pid == 0) {
    for (int fd = 0; fd < 3; fd++) close(fd);
    llmprof_buffer text = {0};
    llmprof_spawn_options options = {
        .output = {{.path = out}, {.path = err_path}},
        .on_line = collect,
        .user = &text};
    llmprof_error err;
    llmprof_spawn_result result;
    bool ok = try_run(ARGV("sh", "-c", "cat; echo out; echo err >&2"), &options,
                      &result, &err) &&
              result.code == 0;
    _exit(ok ? 0 : 1);
  }
  int status;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_int_equal(status, 0);
  assert_file(out, "out\n", 4);
  assert_file(err_path, "err\n", 4);
}

static void test_inherit(void **state) {
  (void)state;
  const char *path = test_file("inherited", "", 0);
  int saved = dup(1), fd = open(path, O_WRONLY);
  dup2(fd, 1);
  close(fd);
  llmprof_buffer text = {0};
  llmprof_spawn_options options = {
      .output = {{.inherit = true}}, .on_line = collect, .user = &text};
  llmprof_spawn_result result =
      run(ARGV("sh", "-c", "echo out; echo err >&2"), &options);
  dup2(saved, 1);
  close(saved);
  assert_int_equal(result.code, 0);
  assert_string_equal(text.bytes, "err err\\n|");
  assert_file(path, "out\n", 4);
  llmprof_buffer_free(&text);
}

static void test_full_disk_stops_the_child(void **state) {
  (void)state;
  llmprof_buffer text = {0};
  llmprof_spawn_options options = {
      .output = {{.path = "/dev/full"}}, .on_line = collect, .user = &text};
  llmprof_error err;
  llmprof_spawn_result result;
  llmprof_spawn *p = llmprof_spawn_start(
      ARGV("sh", "-c", "echo one; sleep 1000"), &options, &err);
  assert_non_null(p);
  assert_false(llmprof_spawn_wait(p, &result, &err));
  assert_int_equal(err.sys, ENOSPC);
  assert_string_equal(err.message, "/dev/full: No space left on device");
  assert_int_equal(result.signal, SIGTERM);
  assert_string_equal(text.bytes, "out one\\n|");
  assert_false(llmprof_spawn_wait(p, &result, NULL));
  llmprof_spawn_free(p);
  llmprof_buffer_free(&text);
}

/* ---- lines ---- */

static void test_lines(void **state) {
  (void)state;
  llmprof_spawn_options none = {0};
  assert_lines(ARGV("printf", "a\\r\\nb\\rc\\r\\r\\n\\nlast"), none,
               "out a\\r\\n|out b\\r|out c\\r|out \\r\\n|out \\n|out last|");
  assert_lines(ARGV("printf", "x\\r"), none, "out x\\r|");
  assert_lines(ARGV("printf", "\\n"), none, "out \\n|");
  assert_lines(ARGV("true"), none, "");
  assert_lines(ARGV("sh", "-c", "echo e >&2"), none, "err e\\n|");
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
      memcmp(line->bytes, wanted, line->size) != 0 ||
      strcmp(line->terminator, "\n") != 0)
    return false;
  n->next[line->stream] += n->step;
  return true;
}

static void test_no_line_is_lost(void **state) {
  (void)state;
  numbers all = {{1, 1}, 1};
  llmprof_spawn_options options = {.on_line = check_number, .user = &all};
  assert_int_equal(run(ARGV(HELPER, "count", "300000"), &options).code, 0);
  assert_int_equal(all.next[0], 300001);

  numbers halves = {{2, 1}, 2};
  options.user = &halves;
  assert_int_equal(run(ARGV(HELPER, "count", "20000", "x"), &options).code, 0);
  assert_int_equal(halves.next[0], 20002);
  assert_int_equal(halves.next[1], 20001);
}

static bool add_size(void *user, const llmprof_line *line) {
  llmprof_buffer_printf(user, "%zu%s ", line->size,
                        line->terminator ? "" : "+");
  return true;
}

static void assert_pieces(const char *length, const char *wanted) {
  llmprof_buffer text = {0};
  llmprof_spawn_options options = {.on_line = add_size, .user = &text};
  assert_int_equal(run(ARGV(HELPER, "long", length), &options).code, 0);
  assert_string_equal(text.bytes, wanted);
  llmprof_buffer_free(&text);
}

static void test_long_lines_come_in_pieces(void **state) {
  (void)state;
  assert_pieces("1048573", "1048576 ");
  assert_pieces("1048574", "1048576+ 1 ");
  assert_pieces("2621440", "1048576+ 1048576+ 524291 ");
}

static bool refuse(void *user, const llmprof_line *line) {
  (void)line;
  ++*(int *)user;
  return false;
}

static void test_callback_stops_the_child(void **state) {
  (void)state;
  int calls = 0;
  const char *log = in_folder("stopped");
  llmprof_spawn_options options = {
      .output = {{.path = log}}, .on_line = refuse, .user = &calls};
  llmprof_spawn_result result =
      run(ARGV("sh", "-c", "printf 'a\\nb\\nc'; exec sleep 1000"), &options);
  assert_int_equal(result.signal, SIGTERM);
  assert_false(result.timed_out);
  assert_int_equal(calls, 1);
  assert_file(log, "a\nb\nc", 5);
}

/* ---- environment, working directory, lookup ---- */

static void test_environment(void **state) {
  (void)state;
  setenv("SPAWN_KEPT", "kept", 1);
  setenv("SPAWN_GONE", "gone", 1);
  setenv("SPAWN_CHANGED", "old", 1);
  llmprof_variable changes[] = {
      {"SPAWN_NEW", "a=b"}, {"SPAWN_GONE", NULL}, {"SPAWN_CHANGED", "new"}};
  llmprof_spawn_options options = {.variables = changes, .variable_count = 3};
  assert_lines(ARGV("sh", "-c", "env | grep ^SPAWN_ | sort"), options,
               "out SPAWN_CHANGED=new\\n|out SPAWN_KEPT=kept\\n|"
               "out SPAWN_NEW=a=b\\n|");
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

static void test_lookup_is_the_childs(void **state) {
  (void)state;
  llmprof_error err;
  assert_true(llmprof_fs_mkdirs(in_folder("tools/bin"), &err));
  make_script(in_folder("tools/bin/hello"), "#!/bin/sh\necho hello\n", 0755);
  llmprof_spawn_options options = {.cwd = in_folder("tools")};
  assert_lines(ARGV("./bin/hello"), options, "out hello\\n|");
  assert_lines(ARGV("bin/hello"), options, "out hello\\n|");
  char pwd[PATH_MAX + 8];
  snprintf(pwd, sizeof pwd, "out %s\\n|", options.cwd);
  assert_lines(ARGV("sh", "-c", "pwd -P"), options, pwd);

  llmprof_variable path = {"PATH", "/nonexistent:bin"};
  options.variables = &path;
  options.variable_count = 1;
  assert_lines(ARGV("hello"), options, "out hello\\n|");

  path.value = "/nonexistent:"; /* an empty folder is the current one */
  options.cwd = in_folder("tools/bin");
  assert_lines(ARGV("hello"), options, "out hello\\n|");

  path.value = NULL; /* the system's default */
  assert_lines(ARGV("sh", "-c", "echo found"), options, "out found\\n|");
}

static void assert_refused(const char *const *argv,
                           const llmprof_spawn_options *options,
                           llmprof_code code, const char *message) {
  llmprof_error err = {0};
  assert_null(llmprof_spawn_start(argv, options, &err));
  assert_string_equal(err.message, message);
  assert_int_equal(err.code, code);
}

static void test_programs_that_cannot_be_run(void **state) {
  (void)state;
  char message[PATH_MAX * 3];
  llmprof_spawn_options options = {
      .output = {{.path = in_folder("untouched")}}};
  const char *plain = in_folder("plain"), *odd = in_folder("odd");
  make_script(plain, "text", 0644);
  make_script(odd, "#!/nonexistent/interpreter\n", 0755);

  assert_refused(ARGV("no-such-tool"), &options, LLMPROF_NOTFOUND,
                 "no-such-tool: no such program in PATH; install it, add its "
                 "folder to PATH, or give its path");
  assert_refused(ARGV("/nonexistent/tool"), &options, LLMPROF_NOTFOUND,
                 "/nonexistent/tool: no such program");
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

static void test_arguments_may_be_too_long(void **state) {
  (void)state;
  size_t size = 8 << 20;
  char *big = malloc(size);
  assert_non_null(big);
  memset(big, 'x', size);
  big[size - 1] = '\0';
  assert_refused(ARGV("/bin/sh", big), NULL, LLMPROF_LIMIT,
                 "/bin/sh: arguments and environment are too long");
  free(big);
}

static void test_a_typo_empties_no_log(void **state) {
  (void)state;
  const char *log = test_file("kept.log", "kept", 4);
  llmprof_spawn_options options = {.output = {{.path = log}}};
  llmprof_error err;
  assert_null(llmprof_spawn_start(ARGV("no-such-tool"), &options, &err));
  assert_file(log, "kept", 4);
}

static void test_broken_options(void **state) {
  (void)state;
  char message[PATH_MAX * 3];
  llmprof_spawn_options options = {.cwd = "/nonexistent/here"};
  assert_refused(ARGV("sh"), &options, LLMPROF_NOTFOUND,
                 "/nonexistent/here: no such working directory; make it first");
  options.cwd = "/etc/passwd";
  assert_refused(ARGV("sh"), &options, LLMPROF_DENIED,
                 "/etc/passwd: the working directory is not a folder");
  options.cwd = test_folder();
  snprintf(message, sizeof message,
           "./tool: no such program in the working directory %s",
           test_folder());
  assert_refused(ARGV("./tool"), &options, LLMPROF_NOTFOUND, message);

  options =
      (llmprof_spawn_options){.output = {{0}, {.path = "/nonexistent/log"}}};
  assert_refused(ARGV("sh"), &options, LLMPROF_NOTFOUND,
                 "/nonexistent/log: No such file or directory");

  llmprof_variable broken = {"A=B", "c"};
  options = (llmprof_spawn_options){.variables = &broken, .variable_count = 1};
  assert_refused(ARGV("sh"), &options, LLMPROF_SYNTAX,
                 "A=B: not a name for an environment variable");
  broken.name = "";
  assert_refused(ARGV("sh"), &options, LLMPROF_SYNTAX,
                 ": not a name for an environment variable");
}

static void test_which(void **state) {
  (void)state;
  llmprof_error err;
  llmprof_buffer path = {0};
  char *old = strdup(getenv("PATH")), cwd[PATH_MAX], wanted[PATH_MAX * 2];
  assert_non_null(getcwd(cwd, sizeof cwd));
  make_script(in_folder("tool"), "#!/bin/sh\n", 0755);
  setenv("PATH", test_folder(), 1);
  assert_true(llmprof_spawn_which("tool", &path, &err));
  assert_string_equal(path.bytes, in_folder("tool"));
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

/* ---- time limits and groups ---- */

static bool is_alive(pid_t pid) {
  char path[64], line[512] = "";
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  FILE *file = fopen(path, "r");
  if (!file) return false;
  char *got = fgets(line, sizeof line, file);
  fclose(file);
  char *after = got ? strrchr(line, ')') : NULL;
  return after && after[2] != 'Z' && after[2] != 'X';
}

static bool read_pid(void *user, const llmprof_line *line) {
  *(pid_t *)user = (pid_t)strtol(line->bytes, NULL, 10);
  return true;
}

static void test_timeout(void **state) {
  (void)state;
  pid_t grandchild = 0;
  llmprof_spawn_options options = {.timeout_ns = 300000000,
                                   .grace_ns = INT64_C(1000000000000),
                                   .on_line = read_pid,
                                   .user = &grandchild};
  llmprof_spawn_result result = run(ARGV(HELPER, "family"), &options);
  assert_true(result.timed_out);
  assert_int_equal(result.signal, SIGTERM);
  assert_true(result.wall_ns >= options.timeout_ns);
  assert_true(grandchild > 0);
  assert_false(is_alive(grandchild));
}

static void test_timeout_kills_what_ignores_sigterm(void **state) {
  (void)state;
  pid_t grandchild = 0;
  llmprof_spawn_options options = {.timeout_ns = 300000000,
                                   .grace_ns = 100000000,
                                   .on_line = read_pid,
                                   .user = &grandchild};
  llmprof_spawn_result result =
      run(ARGV(HELPER, "family", "stubborn"), &options);
  assert_true(result.timed_out);
  assert_int_equal(result.signal, SIGKILL);
  assert_true(grandchild > 0);
  assert_false(is_alive(grandchild));

  options.grace_ns = -1; /* at once */
  result = run(ARGV(HELPER, "family", "stubborn"), &options);
  assert_int_equal(result.signal, SIGKILL);
}

static void test_timeout_that_is_not_reached(void **state) {
  (void)state;
  llmprof_spawn_options options = {.timeout_ns = INT64_MAX,
                                   .grace_ns = INT64_MAX};
  llmprof_spawn_result result = run(ARGV("true"), &options);
  assert_false(result.timed_out);
  assert_int_equal(result.code, 0);
}

static void test_a_grandchild_with_our_pipe_does_not_hang_us(void **state) {
  (void)state;
  pid_t grandchild = 0;
  llmprof_spawn_options options = {.on_line = read_pid, .user = &grandchild};
  assert_int_equal(run(ARGV(HELPER, "leave"), &options).code, 0);
  assert_true(grandchild > 0);
  assert_true(is_alive(grandchild)); /* nobody asked for its end */
  kill(grandchild, SIGKILL);
}

static void test_kill_group(void **state) {
  (void)state;
  pid_t grandchild = 0;
  llmprof_spawn_options options = {.on_line = read_pid,
                                   .user = &grandchild,
                                   .kill_group = true,
                                   .grace_ns = INT64_C(1000000000000)};
  assert_int_equal(run(ARGV(HELPER, "leave"), &options).code, 0);
  assert_true(grandchild > 0);
  assert_false(is_alive(grandchild));

  grandchild = 0;
  options.grace_ns = 50000000;
  assert_int_equal(run(ARGV(HELPER, "leave", "stubborn"), &options).code, 0);
  assert_true(grandchild > 0);
  assert_false(is_alive(grandchild));
}

/* As the first process of a container would be: orphans become our children;
 * and below a first process that never reaps: they stay as zombies. With a
 * grace period that outlasts the test, a zombie that counted would hang it. */
static void run_below(bool as_init) {
  pid_t top = fork();
  if (top == 0) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t pid = as_init ? 0 : fork();
    if (pid == 0) {
      pid_t grandchild = 0;
      llmprof_spawn_options options = {.on_line = read_pid,
                                       .user = &grandchild,
                                       .kill_group = true,
                                       .grace_ns = INT64_C(1000000000000)};
      llmprof_spawn_result result;
      bool ok = try_run(ARGV(HELPER, "leave"), &options, &result, NULL) &&
                waitpid(-1, NULL, WNOHANG) == -1 && grandchild > 0 &&
                !is_alive(grandchild);
      _exit(ok ? 0 : 1);
    }
    int status;
    _exit(waitpid(pid, &status, 0) == pid && status == 0 ? 0 : 1);
  }
  int status;
  assert_int_equal(waitpid(top, &status, 0), top);
  assert_int_equal(status, 0);
}

static void test_kill_group_in_a_container(void **state) {
  (void)state;
  run_below(true);
  run_below(false);
}

/* ---- handles ---- */

static void test_pump(void **state) {
  (void)state;
  llmprof_error err;
  llmprof_buffer text = {0};
  llmprof_spawn_options options = {.on_line = collect, .user = &text};
  llmprof_spawn *p = llmprof_spawn_start(ARGV(HELPER, "catch"), &options, &err);
  assert_non_null(p);
  assert_true(llmprof_spawn_running(p));
  while (!text.size) assert_int_equal(llmprof_spawn_pump(p, -1, &err), 1);
  assert_string_equal(text.bytes, "out ready\\n|");
  assert_int_equal(llmprof_spawn_pump(p, 0, &err), 1);
  assert_int_equal(llmprof_spawn_pump(p, 1000000, &err), 1);
  assert_int_equal(getpgid(llmprof_spawn_pid(p)), llmprof_spawn_pid(p));
  assert_true(llmprof_spawn_signal(p, SIGHUP, &err));
  llmprof_spawn_result result;
  assert_true(llmprof_spawn_wait(p, &result, &err));
  assert_int_equal(result.code, SIGHUP);
  assert_int_equal(result.interrupted, 0);
  assert_int_equal(result.pid, llmprof_spawn_pid(p));
  assert_string_equal(text.bytes, "out ready\\n|out caught 1\\n|");
  assert_false(llmprof_spawn_signal(p, SIGHUP, &err));
  assert_int_equal(err.code, LLMPROF_NOTFOUND);
  assert_true(llmprof_spawn_stop(p, &result, &err));
  assert_int_equal(result.code, SIGHUP);
  llmprof_spawn_free(p);
  llmprof_buffer_free(&text);
}

static void test_stop_and_free(void **state) {
  (void)state;
  llmprof_error err;
  llmprof_spawn_result result;
  llmprof_spawn *p = llmprof_spawn_start(ARGV("sleep", "1000"), NULL, &err);
  assert_true(llmprof_spawn_stop(p, &result, &err));
  assert_int_equal(result.signal, SIGTERM);
  assert_false(result.timed_out);
  llmprof_spawn_free(p);

  p = llmprof_spawn_start(ARGV("sleep", "1000"), NULL, &err);
  pid_t pid = llmprof_spawn_pid(p);
  llmprof_spawn_free(p);
  assert_false(is_alive(pid));
  llmprof_spawn_free(NULL);
}

static void test_limit_on_children(void **state) {
  (void)state;
  llmprof_error err = {0};
  llmprof_spawn *all[256];
  for (size_t i = 0; i < 256; i++) {
    all[i] = llmprof_spawn_start(ARGV("sleep", "1000"), NULL, &err);
    assert_non_null(all[i]);
  }
  assert_refused(ARGV("sleep", "1"), NULL, LLMPROF_LIMIT,
                 "sleep: too many children at once");
  for (size_t i = 0; i < 256; i++) llmprof_spawn_free(all[i]);
}

static void test_status_taken_by_somebody_else(void **state) {
  (void)state;
  llmprof_error err;
  llmprof_spawn_result result;
  llmprof_spawn *p = llmprof_spawn_start(ARGV("true"), NULL, &err);
  pid_t pid = llmprof_spawn_pid(p);
  assert_int_equal(waitpid(pid, NULL, 0), pid);
  assert_false(llmprof_spawn_wait(p, &result, &err));
  char message[128];
  snprintf(message, sizeof message,
           "process %d: its exit status is lost: No child processes", (int)pid);
  assert_string_equal(err.message, message);
  assert_int_equal(result.code, -1);
  llmprof_spawn_free(p);
}

/* ---- out of memory ---- */

static bool run_with_everything(void *arg, llmprof_error *err) {
  llmprof_buffer *text = arg; /* not the core's: it may not fail */
  llmprof_variable variable = {"SPAWN_X", "y"};
  llmprof_spawn_options options = {.output = {{.path = in_folder("mem-out")}},
                                   .on_line = collect,
                                   .user = text,
                                   .variables = &variable,
                                   .variable_count = 1,
                                   .cwd = test_folder()};
  text->size = 0;
  llmprof_spawn *p = llmprof_spawn_start(
      ARGV("sh", "-c", "printf 'a\\rb'; echo c >&2"), &options, err);
  llmprof_spawn_result result;
  bool ok = p && llmprof_spawn_wait(p, &result, err);
  llmprof_spawn_free(p);
  no_child_is_left();
  return ok;
}

static bool find_tool(void *arg, llmprof_error *err) {
  llmprof_buffer path = {0};
  (void)arg;
  bool ok = llmprof_spawn_which("sh", &path, err);
  llmprof_buffer_free(&path);
  return ok;
}

static void test_allocations(void **state) {
  (void)state;
  char bytes[1024];
  llmprof_buffer text = {.bytes = bytes, .cap = sizeof bytes};
  test_every_allocation(run_with_everything, &text);
  assert_non_null(strstr(bytes, "out a\\r|"));
  assert_non_null(strstr(bytes, "out b|"));
  test_every_allocation(find_tool, NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, before, after)

int main(void) {
  alarm(300); /* a net: nothing here takes seconds */
  const struct CMUnitTest tests[] = {
      TEST(test_results),
      TEST(test_max_rss_is_the_childs_or_absent),
      TEST(test_child_is_on_its_own),
      TEST(test_files_get_exact_bytes),
      TEST(test_both_streams_may_share_a_file),
      TEST(test_our_stdio_may_be_closed),
      TEST(test_inherit),
      TEST(test_full_disk_stops_the_child),
      TEST(test_lines),
      TEST(test_no_line_is_lost),
      TEST(test_long_lines_come_in_pieces),
      TEST(test_callback_stops_the_child),
      TEST(test_environment),
      TEST(test_lookup_is_the_childs),
      TEST(test_programs_that_cannot_be_run),
      TEST(test_arguments_may_be_too_long),
      TEST(test_a_typo_empties_no_log),
      TEST(test_broken_options),
      TEST(test_which),
      TEST(test_timeout),
      TEST(test_timeout_kills_what_ignores_sigterm),
      TEST(test_timeout_that_is_not_reached),
      TEST(test_a_grandchild_with_our_pipe_does_not_hang_us),
      TEST(test_kill_group),
      TEST(test_kill_group_in_a_container),
      TEST(test_pump),
      TEST(test_stop_and_free),
      TEST(test_limit_on_children),
      TEST(test_status_taken_by_somebody_else),
      TEST(test_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

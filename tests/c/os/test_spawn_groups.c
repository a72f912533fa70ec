/* Time limits, process groups, handles, and no memory. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "os/fs.h"
#include "spawn_support.h"

/* ---- time limits and groups ---- */

static bool read_pid(void *user, const llmprof_line *line) {
  *(pid_t *)user = (pid_t)strtol(line->bytes, NULL, 10);
  return true;
}

/* Start the family with its output in a file, and wait for that, unpumped:
 * its time is up when it is pumped at last, and not before it is ready. */
static llmprof_spawn_result time_out(const char *manner, int64_t grace_ns,
                                     pid_t *grandchild) {
  llmprof_error err;
  llmprof_spawn_result result;
  llmprof_buffer text = {0};
  const char *log = test_in_folder("family");
  llmprof_spawn_options options = {
      .output = {{.path = log}}, .timeout_ns = 1, .grace_ns = grace_ns};
  llmprof_spawn *p =
      llmprof_spawn_start(ARGV(HELPER, "family", manner), &options, &err);
  if (!p) fail_msg("%s", err.message);
  while (!text.size || text.bytes[text.size - 1] != '\n') {
    usleep(1000);
    assert_true(llmprof_fs_read(log, 0, &text, &err));
  }
  *grandchild = (pid_t)strtol(text.bytes, NULL, 10);
  assert_true(*grandchild > 0 && test_is_alive(*grandchild));
  assert_true(llmprof_spawn_wait(p, &result, &err));
  assert_false(test_is_alive(*grandchild));
  assert_true(result.timed_out);
  llmprof_spawn_free(p);
  llmprof_buffer_free(&text);
  return result;
}

CHILD_TEST(timeout) {
  pid_t grandchild;
  llmprof_spawn_result result =
      time_out("meek", INT64_C(1000000000000), &grandchild);
  assert_int_equal(result.signal, SIGTERM);

  llmprof_spawn_options options = {.timeout_ns = 20000000};
  result = test_run(ARGV("sleep", "1000"), &options);
  assert_true(result.timed_out);
  assert_int_equal(result.signal, SIGTERM);
  assert_true(result.wall_ns >= options.timeout_ns);
}

CHILD_TEST(timeout_kills_what_ignores_sigterm) {
  pid_t grandchild;
  llmprof_spawn_result result = time_out("stubborn", 100000000, &grandchild);
  assert_int_equal(result.signal, SIGKILL);
  assert_true(result.wall_ns >= 100000000);
  result = time_out("stubborn", -1, &grandchild); /* at once */
  assert_int_equal(result.signal, SIGKILL);
}

CHILD_TEST(timeout_that_is_not_reached) {
  llmprof_spawn_options options = {.timeout_ns = INT64_MAX,
                                   .grace_ns = INT64_MAX};
  llmprof_spawn_result result = test_run(ARGV("true"), &options);
  assert_false(result.timed_out);
  assert_int_equal(result.code, 0);
}

CHILD_TEST(a_grandchild_with_our_pipe_does_not_hang_us) {
  pid_t grandchild = 0;
  llmprof_spawn_options options = {.on_line = read_pid, .user = &grandchild};
  assert_int_equal(test_run(ARGV(HELPER, "leave"), &options).code, 0);
  assert_true(grandchild > 0);
  assert_true(test_is_alive(grandchild)); /* nobody asked for its end */
  kill(grandchild, SIGKILL);
}

CHILD_TEST(kill_group) {
  pid_t grandchild = 0;
  llmprof_spawn_options options = {.on_line = read_pid,
                                   .user = &grandchild,
                                   .kill_group = true,
                                   .grace_ns = INT64_C(1000000000000)};
  assert_int_equal(test_run(ARGV(HELPER, "leave"), &options).code, 0);
  assert_true(grandchild > 0);
  assert_false(test_is_alive(grandchild));

  grandchild = 0;
  options.grace_ns = 50000000;
  assert_int_equal(test_run(ARGV(HELPER, "leave", "stubborn"), &options).code,
                   0);
  assert_true(grandchild > 0);
  assert_false(test_is_alive(grandchild));
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
      bool ok = test_try_run(ARGV(HELPER, "leave"), &options, &result, NULL) &&
                waitpid(-1, NULL, WNOHANG) == -1 && grandchild > 0 &&
                !test_is_alive(grandchild);
      _exit(ok ? 0 : 1);
    }
    int status;
    _exit(waitpid(pid, &status, 0) == pid && status == 0 ? 0 : 1);
  }
  int status;
  assert_int_equal(waitpid(top, &status, 0), top);
  assert_int_equal(status, 0);
}

CHILD_TEST(kill_group_in_a_container) {
  run_below(true);
  run_below(false);
}

/* ---- daemons ---- */

/* Run the helper that leaves a daemon behind; the result, its number checked.
 */
static llmprof_spawn_result leave_daemon(const char *manner, bool kill_orphans,
                                         int64_t grace_ns, pid_t *pid) {
  llmprof_spawn_options options = {.on_line = read_pid,
                                   .user = pid,
                                   .kill_orphans = kill_orphans,
                                   .grace_ns = grace_ns};
  *pid = 0;
  llmprof_spawn_result result =
      test_run(ARGV(HELPER, "daemon", manner), &options);
  assert_int_equal(result.code, 0);
  assert_true(*pid > 0);
  return result;
}

static void assert_ended(const llmprof_spawn_result *result, pid_t pid) {
  assert_int_equal(result->orphan_count, 1);
  assert_int_equal(result->orphans[0].pid, pid);
  assert_false(result->orphans[0].lives);
  assert_false(test_is_alive(pid));
}

CHILD_TEST(daemons_are_found_and_ended) {
  pid_t pid;
  llmprof_spawn_result result;
  result = leave_daemon("meek", true, INT64_C(1000000000000), &pid);
  assert_ended(&result, pid);
  assert_non_null(strstr(HELPER, result.orphans[0].name));
  result = leave_daemon("stubborn", true, 50000000, &pid);
  assert_ended(&result, pid);
  result = leave_daemon("bare", true, INT64_C(1000000000000), &pid);
  assert_ended(&result, pid);
}

CHILD_TEST(daemons_are_left_alone_unasked) {
  pid_t pid;
  llmprof_spawn_result result = leave_daemon("meek", false, 0, &pid);
  assert_int_equal(result.orphan_count, 0);
  assert_true(test_is_alive(pid));
  kill(pid, SIGKILL);
}

CHILD_TEST(other_children_are_no_daemons) {
  pid_t pid = 0;
  llmprof_error err;
  llmprof_spawn_result result;
  llmprof_spawn_options options = {
      .on_line = read_pid, .user = &pid, .kill_orphans = true};
  llmprof_spawn *other = llmprof_spawn_start(ARGV("sleep", "1000"), NULL, &err);
  assert_non_null(other);
  llmprof_spawn *p =
      llmprof_spawn_start(ARGV(HELPER, "daemon"), &options, &err);
  assert_non_null(p);
  assert_true(llmprof_spawn_wait(p, &result, &err));
  assert_ended(&result, pid);
  assert_true(llmprof_spawn_running(other));
  llmprof_spawn_free(p);
  llmprof_spawn_free(other);
}

CHILD_TEST(daemons_end_with_a_time_limit) {
  llmprof_error err;
  pid_t pid = 0;
  llmprof_spawn_options options = {
      .on_line = read_pid, .user = &pid, .kill_orphans = true};
  llmprof_spawn *p =
      llmprof_spawn_start(ARGV(HELPER, "daemon", "wait"), &options, &err);
  assert_non_null(p);
  while (!pid) assert_int_equal(llmprof_spawn_pump(p, -1, &err), 1);
  llmprof_spawn_result result;
  assert_true(llmprof_spawn_stop(p, &result, &err));
  assert_int_equal(result.signal, SIGTERM);
  assert_ended(&result, pid);
  llmprof_spawn_free(p);
}

CHILD_TEST(the_mark_is_new_each_time) {
  llmprof_buffer text = {0};
  llmprof_spawn_options options = {
      .on_line = test_collect, .user = &text, .kill_orphans = true};
  char first[128];
  setenv(LLMPROF_RUN_MARK, "old", 1);
  test_run(ARGV("printenv", LLMPROF_RUN_MARK), &options);
  assert_int_equal(text.size, strlen("out |") + 32);
  snprintf(first, sizeof first, "%s", text.bytes);
  llmprof_buffer_clear(&text);
  test_run(ARGV("printenv", LLMPROF_RUN_MARK), &options);
  assert_string_not_equal(text.bytes, first);
  unsetenv(LLMPROF_RUN_MARK);
  llmprof_buffer_free(&text);
}

/* ---- what a killed owner left ---- */

/* Start a daemon with a mark, tell the two numbers, be killed. */
static void start_and_be_killed(const char *mark, int told) {
  llmprof_error err;
  pid_t pid = 0;
  llmprof_spawn_options options = {
      .on_line = read_pid, .user = &pid, .kill_orphans = true, .mark = mark};
  llmprof_spawn *p =
      llmprof_spawn_start(ARGV(HELPER, "daemon", "wait"), &options, &err);
  while (p && !pid) llmprof_spawn_pump(p, -1, &err);
  pid_t made[] = {p ? llmprof_spawn_pid(p) : 0, pid};
  if (write(told, made, sizeof made) == (ssize_t)sizeof made) raise(SIGKILL);
  _exit(1);
}

static void leave_two(const char *mark, pid_t pids[2]) {
  int told[2];
  assert_int_equal(pipe(told), 0);
  pid_t owner = fork();
  if (owner == 0) start_and_be_killed(mark, told[1]);
  assert_int_equal(read(told[0], pids, 2 * sizeof *pids), 2 * sizeof *pids);
  assert_int_equal(waitpid(owner, NULL, 0), owner);
  close(told[0]);
  close(told[1]);
}

static void assert_one_of(const llmprof_orphan *orphan, const pid_t pids[2]) {
  assert_true(orphan->pid == pids[0] || orphan->pid == pids[1]);
  assert_false(orphan->lives);
}

CHILD_TEST(what_was_left_is_known_by_its_mark) {
  char mark[LLMPROF_MARK_SIZE];
  llmprof_error err;
  llmprof_orphan orphans[LLMPROF_ORPHANS_MAX];
  pid_t pids[2];
  assert_true(llmprof_spawn_mark(mark, &err));
  leave_two(mark, pids);
  assert_int_equal(llmprof_spawn_end_left("", orphans), 0);
  setenv(LLMPROF_RUN_MARK, mark, 1); /* as if it had started us */
  assert_int_equal(llmprof_spawn_end_left(mark, orphans), 0);
  unsetenv(LLMPROF_RUN_MARK);
  assert_true(test_is_alive(pids[0]) && test_is_alive(pids[1]));
  assert_int_equal(llmprof_spawn_end_left(mark, orphans), 2);
  for (int i = 0; i < 2; i++) {
    assert_one_of(&orphans[i], pids);
    assert_false(test_is_alive(pids[i]));
  }
  assert_int_equal(llmprof_spawn_end_left(mark, orphans), 0);
}

CHILD_TEST(a_mark_that_is_none_is_refused) {
  llmprof_error err;
  char mark[LLMPROF_MARK_SIZE + 1];
  memset(mark, 'a', LLMPROF_MARK_SIZE);
  mark[LLMPROF_MARK_SIZE] = '\0';
  llmprof_spawn_options options = {.kill_orphans = true, .mark = mark};
  assert_null(llmprof_spawn_start(ARGV("true"), &options, &err));
  assert_int_equal(err.code, LLMPROF_SYNTAX);
  options.mark = "";
  assert_null(llmprof_spawn_start(ARGV("true"), &options, &err));
  assert_int_equal(err.code, LLMPROF_SYNTAX);
}

/* ---- handles ---- */

CHILD_TEST(pump) {
  llmprof_error err;
  llmprof_buffer text = {0};
  llmprof_spawn_options options = {.on_line = test_collect, .user = &text};
  llmprof_spawn *p = llmprof_spawn_start(ARGV(HELPER, "catch"), &options, &err);
  assert_non_null(p);
  assert_true(llmprof_spawn_running(p));
  while (!text.size) assert_int_equal(llmprof_spawn_pump(p, -1, &err), 1);
  assert_string_equal(text.bytes, "out ready|");
  assert_int_equal(llmprof_spawn_pump(p, 0, &err), 1);
  assert_int_equal(llmprof_spawn_pump(p, 1000000, &err), 1);
  assert_int_equal(getpgid(llmprof_spawn_pid(p)), llmprof_spawn_pid(p));
  assert_true(llmprof_spawn_signal(p, SIGHUP, &err));
  llmprof_spawn_result result;
  assert_true(llmprof_spawn_wait(p, &result, &err));
  assert_int_equal(result.code, SIGHUP);
  assert_int_equal(result.interrupted, 0);
  assert_int_equal(result.pid, llmprof_spawn_pid(p));
  assert_string_equal(text.bytes, "out ready|out caught 1|");
  assert_false(llmprof_spawn_signal(p, SIGHUP, &err));
  assert_int_equal(err.code, LLMPROF_NOTFOUND);
  assert_true(llmprof_spawn_stop(p, &result, &err));
  assert_int_equal(result.code, SIGHUP);
  llmprof_spawn_free(p);
  llmprof_buffer_free(&text);
}

CHILD_TEST(stop_and_free) {
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
  assert_false(test_is_alive(pid));
  llmprof_spawn_free(NULL);
}

CHILD_TEST(a_child_in_another_group_ends_too) {
  llmprof_error err;
  llmprof_spawn_result result;
  pid_t other = 0;
  llmprof_spawn_options options = {.on_line = read_pid, .user = &other};
  for (int i = 0; i < 2; i++) {
    other = 0;
    llmprof_spawn *p =
        llmprof_spawn_start(ARGV(HELPER, "regroup"), &options, &err);
    while (!other) assert_int_equal(llmprof_spawn_pump(p, -1, &err), 1);
    if (i) assert_true(llmprof_spawn_stop(p, &result, &err));
    llmprof_spawn_free(p);
    kill(other, SIGKILL);
  }
  assert_int_equal(result.signal, SIGTERM);
}

CHILD_TEST(limit_on_children) {
  llmprof_error err = {0};
  llmprof_spawn *all[256];
  for (size_t i = 0; i < 256; i++) {
    all[i] = llmprof_spawn_start(ARGV("sleep", "1000"), NULL, &err);
    assert_non_null(all[i]);
  }
  assert_null(llmprof_spawn_start(ARGV("sleep", "1"), NULL, &err));
  assert_string_equal(err.message, "sleep: too many children at once");
  assert_int_equal(err.code, LLMPROF_LIMIT);
  for (size_t i = 0; i < 256; i++) llmprof_spawn_free(all[i]);
}

CHILD_TEST(status_taken_by_somebody_else) {
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
  llmprof_spawn_options options = {
      .output = {{.path = test_in_folder("mem-out")}},
      .on_line = test_collect,
      .user = text,
      .variables = &variable,
      .variable_count = 1,
      .kill_orphans = true,
      .cwd = test_folder()};
  text->size = 0;
  llmprof_spawn *p = llmprof_spawn_start(
      ARGV("sh", "-c", "printf 'a\\rb'; echo c >&2"), &options, err);
  llmprof_spawn_result result;
  bool ok = p && llmprof_spawn_wait(p, &result, err);
  llmprof_spawn_free(p);
  test_no_child_is_left();
  return ok;
}

/* ---- helpers ---- */

/* Somebody who starts a helper, whose output is the pipe, and waits to be
 * killed. */
static void own_a_helper(int out) {
  llmprof_error err;
  llmprof_spawn_options options = {.output = {{.inherit = true}},
                                   .helper = true};
  dup2(out, STDOUT_FILENO);
  close(out);
  llmprof_spawn_start(ARGV(HELPER, "stay"), &options, &err);
  for (;;) pause();
}

CHILD_TEST(a_helper_ends_with_its_owner) {
  int pipe_of[2];
  char said[8];
  assert_int_equal(pipe2(pipe_of, O_CLOEXEC), 0);
  pid_t pid = fork();
  if (pid == 0) own_a_helper(pipe_of[1]);
  close(pipe_of[1]);
  assert_int_equal(read(pipe_of[0], said, sizeof said), 6);
  assert_int_equal(kill(pid, SIGKILL), 0);
  assert_int_equal(waitpid(pid, NULL, 0), pid);
  assert_int_equal(read(pipe_of[0], said, 1), 0); /* once both are gone */
  close(pipe_of[0]);
}

static bool find_tool(void *arg, llmprof_error *err) {
  llmprof_buffer path = {0};
  bool ok = llmprof_spawn_which("sh", &path, err);
  llmprof_buffer_free(&path);
  return ok;
}

CHILD_TEST(allocations) {
  char bytes[1024];
  llmprof_buffer text = {.bytes = bytes, .cap = sizeof bytes};
  test_every_allocation(run_with_everything, &text);
  assert_non_null(strstr(bytes, "out a|"));
  assert_non_null(strstr(bytes, "out b|"));
  test_every_allocation(find_tool, NULL);
}

/* Signals that reach us while children run; and the line splitter at every
 * chunk boundary, where reading a real child would leave it to chance. */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "os/spawn_internal.h"
#include "spawn_support.h"

static volatile sig_atomic_t handled;

/* Of the program; what a child's result tells is not its own. */
static void handler(int number) {
  if (!llmprof_spawn_signalled(number)) handled++;
}

static int before(void **state) {
  handled = 0;
  signal(SIGINT, handler);
  signal(SIGTERM, handler);
  signal(SIGHUP, handler);
  return 0;
}

static int after(void **state) {
  assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
  for (int i = 0; i < 3; i++) {
    int number = (const int[]){SIGINT, SIGTERM, SIGHUP}[i];
    int calls = handled;
    raise(number); /* it is the program's alone again */
    assert_int_equal(handled, calls + 1);
    signal(number, SIG_DFL);
  }
  return 0;
}

/* A child that says "ready" and exits with the number of the signal it gets,
 * pumped until it is ready. */
typedef struct catcher {
  llmprof_spawn *p;
  int lines;
  int raise; /* a signal to raise when it is ready */
} catcher;

static bool on_ready(void *user, const llmprof_line *line) {
  catcher *c = user;
  if (c->lines++ == 0 && c->raise) raise(c->raise);
  return true;
}

static void start_catcher(catcher *c, const llmprof_spawn_options *options) {
  llmprof_error err;
  llmprof_spawn_options all = options ? *options : (llmprof_spawn_options){0};
  all.on_line = on_ready;
  all.user = c;
  c->lines = 0;
  c->p = llmprof_spawn_start(ARGV(HELPER, "catch"), &all, &err);
  if (!c->p) fail_msg("%s", err.message);
}

static void await_ready(catcher *c) {
  while (!c->lines) assert_int_equal(llmprof_spawn_pump(c->p, -1, NULL), 1);
}

static void assert_interrupted(catcher *c, int code, int interrupted) {
  llmprof_spawn_result result;
  assert_true(llmprof_spawn_wait(c->p, &result, NULL));
  assert_int_equal(result.code, code);
  assert_int_equal(result.interrupted, interrupted);
  assert_false(result.timed_out);
  llmprof_spawn_free(c->p);
}

/* What came of a child that has ended, which is freed. */
static void assert_killed(catcher *c, const llmprof_spawn_result *result,
                          int signal, int interrupted) {
  assert_int_equal(result->signal, signal);
  assert_int_equal(result->interrupted, interrupted);
  llmprof_spawn_free(c->p);
}

TEST_WITH(signals_are_forwarded, before, after) {
  static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
  for (size_t i = 0; i < 3; i++) {
    catcher c = {.raise = numbers[i]};
    start_catcher(&c, NULL);
    assert_interrupted(&c, numbers[i], numbers[i]);
    assert_int_equal(c.lines, 2); /* its last words were delivered */
    assert_int_equal(handled, 0);
  }
}

TEST_WITH(a_deaf_child_is_killed, before, after) {
  llmprof_spawn_options options = {.grace_ns = 50000000};
  catcher c = {.raise = SIGTERM};
  options.on_line = on_ready;
  options.user = &c;
  llmprof_error err;
  c.p = llmprof_spawn_start(ARGV(HELPER, "family", "stubborn"), &options, &err);
  llmprof_spawn_result result;
  assert_true(llmprof_spawn_wait(c.p, &result, NULL));
  assert_killed(&c, &result, SIGKILL, SIGTERM);
}

TEST_WITH(stop_after_a_signal_that_is_ignored, before, after) {
  catcher c = {.raise = SIGINT};
  llmprof_spawn_options options = {
      .grace_ns = INT64_C(1000000000000), .on_line = on_ready, .user = &c};
  c.p = llmprof_spawn_start(
      ARGV("sh", "-c", "trap '' INT; echo ready; exec sleep 1000"), &options,
      NULL);
  await_ready(&c);
  assert_int_equal(llmprof_spawn_pump(c.p, 1000000, NULL), 1);
  llmprof_spawn_result result;
  assert_true(llmprof_spawn_stop(c.p, &result, NULL));
  assert_killed(&c, &result, SIGTERM, SIGINT);
}

TEST_WITH(all_children_learn_of_a_signal, before, after) {
  catcher a = {0}, b = {0}, late = {0};
  start_catcher(&a, NULL);
  start_catcher(&b, NULL);
  await_ready(&a);
  await_ready(&b);
  raise(SIGINT);
  start_catcher(&late, NULL); /* the signal was before its time */
  await_ready(&late);
  assert_interrupted(&b, SIGINT, SIGINT);
  assert_interrupted(&a, SIGINT, SIGINT);
  assert_true(llmprof_spawn_signal(late.p, SIGTERM, NULL));
  assert_interrupted(&late, SIGTERM, 0);
  assert_int_equal(handled, 0);
}

TEST_WITH(an_unnoticed_signal_comes_again, before, after) {
  catcher c = {0};
  start_catcher(&c, NULL);
  await_ready(&c);
  raise(SIGINT);
  assert_int_equal(handled, 0);
  raise(SIGINT); /* nobody pumps: perhaps the program hangs */
  assert_int_equal(handled, 1);
  assert_interrupted(&c, SIGINT, SIGINT);
}

TEST_WITH(a_signal_nobody_hears_of_is_not_lost, before, after) {
  catcher c = {0};
  start_catcher(&c, NULL);
  await_ready(&c);
  raise(SIGINT);
  assert_int_equal(handled, 0);
  llmprof_spawn_free(c.p);
  assert_int_equal(handled, 1);
}

/* A grandchild keeps the pipe open; a signal ends the wait for it. */
TEST_WITH(signal_after_the_exit, before, after) {
  catcher c = {.raise = SIGINT};
  llmprof_spawn_options options = {.on_line = on_ready,
                                   .user = &c,
                                   .kill_group = true,
                                   .grace_ns = INT64_C(1000000000000)};
  llmprof_error err;
  c.p = llmprof_spawn_start(ARGV(HELPER, "leave", "stubborn"), &options, &err);
  assert_non_null(c.p);
  siginfo_t info; /* exited before we look: the line comes after the exit */
  assert_int_equal(
      waitid(P_PID, (id_t)llmprof_spawn_pid(c.p), &info, WEXITED | WNOWAIT), 0);
  while (llmprof_spawn_pump(c.p, 0, NULL) > 0 && !c.lines) {}
  llmprof_spawn_result result;
  raise(SIGTERM);
  assert_true(llmprof_spawn_wait(c.p, &result, NULL));
  assert_int_equal(result.code, 0);
  assert_int_equal(result.interrupted, SIGINT);
  llmprof_spawn_free(c.p);
}

/* ---- a kernel or sandbox without pidfd_open ---- */

static void forbid_pidfd(void) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {4, filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    _exit(77);
}

TEST_WITH(without_pidfd, before, after) {
  pid_t pid = fork();
  if (pid == 0) {
    forbid_pidfd();
    llmprof_spawn_result result;
    llmprof_spawn *p =
        llmprof_spawn_start(ARGV("sh", "-c", "exit 5"), NULL, NULL);
    bool ok = p && llmprof_spawn_wait(p, &result, NULL) && result.code == 5;
    llmprof_spawn_free(p);
    _exit(ok ? 0 : 1);
  }
  int status;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) skip();
  assert_int_equal(status, 0);
}

/* ---- the splitter ---- */

static bool collect(void *user, const llmprof_line *line) {
  llmprof_buffer *text = user;
  llmprof_buffer_printf(text, "%.*s", (int)line->size, line->bytes);
  llmprof_buffer_puts(text, "|");
  return true;
}

/* Feed the bytes in two chunks, and see the lines. */
static void split_at(const char *bytes, size_t size, size_t at,
                     const char *wanted) {
  llmprof_buffer text = {0};
  char chunk[SPAWN_CHUNK];
  int ends[2];
  assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
  spawn_stream stream = {.pipe = ends[0], .file = -1};
  spawn_sink sink = {.on_line = collect, .user = &text, .chunk = chunk};
  assert_false(llmprof_spawn_stream_read(&stream, &sink));
  assert_int_equal(write(ends[1], bytes, at), at);
  if (at) assert_true(llmprof_spawn_stream_read(&stream, &sink));
  assert_int_equal(write(ends[1], bytes + at, size - at), size - at);
  close(ends[1]);
  while (stream.pipe >= 0) llmprof_spawn_stream_read(&stream, &sink);
  assert_string_equal(text.bytes, wanted);
  llmprof_spawn_stream_close(&stream);
  llmprof_buffer_free(&text);
}

TEST(splitting_at_every_chunk_boundary) {
  static const char input[] = "a\r\n\r\nbc\r\rd\n\n\re\r\n\rlast";
  for (size_t at = 0; at < sizeof input; at++)
    split_at(input, sizeof input - 1, at, "a||bc||d|||e||last|");
}

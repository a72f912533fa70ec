/* A second process: what it hands over, how it ends, and that it ends when the
 * first one does. */
#include "os/fork.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/interrupt.h"
#include "support.h"

/* Runs the body in a second process, which hands over what it returns. */
static llmprof_fork *begin(const char *(*body)(void), size_t size) {
  llmprof_error err = {0};
  llmprof_fork *other;
  int which = llmprof_fork_start(1, &other, &err);
  if (which < 0) fail_msg("%s", err.message);
  if (which == 0) {
    const char *text = body();
    if (text) llmprof_fork_hand_over(other, text, size ? size : strlen(text));
    llmprof_fork_end(other);
  }
  return other;
}

static const char *say(void) {
  return "it is done";
}

static const char *say_nothing(void) {
  return NULL;
}

static const char *sleep_on(void) {
  while (pause() < 0) {}
  return NULL;
}

TEST(hands_over) {
  llmprof_error err = {0};
  llmprof_buffer bytes = {0};
  llmprof_fork *one = begin(say, 0), *two = begin(say, 5);
  assert_true(llmprof_fork_take(two, &bytes, &err));
  assert_string_equal(bytes.bytes, "it is");
  assert_true(llmprof_fork_rest(one, &err));
  assert_true(llmprof_fork_ended(one));
  assert_true(llmprof_fork_take(one, &bytes, &err));
  assert_int_equal(bytes.size, 10);
  assert_string_equal(bytes.bytes, "it is done");
  for (int again = 0; again < 2; again++) {
    assert_false(llmprof_fork_take(one, &bytes, &err));
    assert_int_equal(err.code, LLMPROF_IO);
    assert_non_null(strstr(err.message, "it has nothing more"));
  }
  llmprof_fork_free(one);
  llmprof_fork_free(two);
  llmprof_fork_free(NULL);
  llmprof_buffer_free(&bytes);
}

TEST(hands_over_pieces) {
  llmprof_error err = {0};
  llmprof_buffer bytes = {0};
  llmprof_fork *other;
  if (llmprof_fork_start(1, &other, &err) == 0) {
    for (int i = 0; i < 3; i++)
      assert_true(llmprof_fork_hand_over(other, "abc", (size_t)i));
    sleep_on();
  }
  for (size_t i = 0; i < 3; i++) {
    assert_true(llmprof_fork_take(other, &bytes, &err));
    assert_int_equal(bytes.size, i);
    assert_memory_equal(bytes.bytes, "abc", i);
    assert_false(llmprof_fork_ended(other));
  }
  llmprof_fork_free(other);
  llmprof_buffer_free(&bytes);
}

/* More than a pipe holds, before anybody asks for it. */
static char many[3 << 20];

static const char *say_much(void) {
  memset(many, 'x', sizeof many);
  return many;
}

TEST(hands_over_much) {
  llmprof_error err = {0};
  llmprof_buffer bytes = {0};
  llmprof_fork *other = begin(say_much, sizeof many);
  assert_true(llmprof_fork_take(other, &bytes, &err));
  assert_int_equal(bytes.size, sizeof many);
  assert_int_equal(many[0], 0); /* what it does there is not done here */
  say_much();
  assert_memory_equal(bytes.bytes, many, sizeof many);
  llmprof_fork_free(other);
  llmprof_buffer_free(&bytes);
}

TEST(came_to_nothing) {
  llmprof_error err = {0};
  llmprof_buffer bytes = {0};
  llmprof_fork *other = begin(say_nothing, 0);
  assert_false(llmprof_fork_take(other, &bytes, &err));
  assert_int_equal(err.code, LLMPROF_IO);
  assert_non_null(strstr(err.message, "it has nothing more"));
  llmprof_fork_free(other);
  other = begin(sleep_on, 0);
  assert_false(llmprof_fork_ended(other));
  assert_int_equal(kill(llmprof_fork_pid(other), SIGKILL), 0);
  assert_false(llmprof_fork_take(other, &bytes, &err));
  assert_non_null(strstr(err.message, "signal 9 ended it"));
  llmprof_fork_free(other);
  llmprof_buffer_free(&bytes);
}

/* Free ends it: nobody of that number is left, not even to be waited for. */
TEST(free_ends_it) {
  llmprof_fork *other = begin(sleep_on, 0);
  pid_t pid = llmprof_fork_pid(other);
  llmprof_fork_free(other);
  assert_int_equal(waitpid(pid, NULL, WNOHANG), -1);
}

static const char *raise_all(void) {
  raise(SIGINT);
  raise(SIGTERM);
  raise(SIGHUP);
  return "still here";
}

static const char *start_another(void) {
  llmprof_error err = {0};
  llmprof_fork *third;
  bool refused = llmprof_fork_start(1, &third, &err) == -1 && !third;
  return refused && err.code == LLMPROF_UNSUPPORTED ? "refused" : "started";
}

static void assert_says(const char *(*body)(void), const char *wanted) {
  llmprof_error err = {0};
  llmprof_buffer bytes = {0};
  llmprof_fork *other = begin(body, 0);
  if (!llmprof_fork_take(other, &bytes, &err)) fail_msg("%s", err.message);
  assert_string_equal(bytes.bytes, wanted);
  llmprof_fork_free(other);
  llmprof_buffer_free(&bytes);
}

TEST(inside) {
  assert_says(raise_all, "still here");
  assert_says(start_another, "refused");
}

TEST(interrupted) {
  llmprof_error err = {0};
  llmprof_buffer bytes = {0};
  llmprof_fork *other = begin(sleep_on, 0);
  llmprof_interrupt(true);
  assert_false(llmprof_fork_take(other, &bytes, &err));
  assert_int_equal(err.code, LLMPROF_INTERRUPTED);
  err.code = LLMPROF_OK;
  assert_false(llmprof_fork_rest(other, &err));
  llmprof_interrupt(false);
  assert_int_equal(err.code, LLMPROF_INTERRUPTED);
  assert_false(llmprof_fork_ended(other));
  llmprof_fork_free(other);
  llmprof_buffer_free(&bytes);
}

/* Somebody who starts a second process, says so, and waits to be killed. The
 * pipe is open as long as either of them lives. */
static void be_killed(int held) {
  llmprof_error err;
  llmprof_fork *other;
  int which = llmprof_fork_start(1, &other, &err);
  if (which == 0) assert_int_equal(write(held, "x", 1), 1);
  for (;;) pause();
}

TEST(ends_with_the_first) {
  int pipe_of[2];
  char said;
  assert_int_equal(pipe2(pipe_of, O_CLOEXEC), 0);
  pid_t pid = fork();
  if (pid == 0) be_killed(pipe_of[1]);
  close(pipe_of[1]);
  assert_int_equal(read(pipe_of[0], &said, 1), 1);
  assert_int_equal(kill(pid, SIGKILL), 0);
  assert_int_equal(waitpid(pid, NULL, 0), pid);
  assert_int_equal(read(pipe_of[0], &said, 1), 0); /* once both are gone */
  close(pipe_of[0]);
}

static bool hand_over_once(void *arg, llmprof_error *err) {
  llmprof_fork *other;
  llmprof_buffer bytes = {0};
  int which = llmprof_fork_start(1, &other, err);
  if (which < 0) return false;
  if (which == 0) {
    llmprof_fork_hand_over(other, "x", 1);
    llmprof_fork_end(other);
  }
  bool ok = llmprof_fork_take(other, &bytes, err);
  llmprof_fork_free(other);
  llmprof_buffer_free(&bytes);
  return ok;
}

TEST(allocations) {
  test_every_allocation(hand_over_once, NULL);
}

/* The line editor at a pseudo-terminal of its own: what is typed is there
 * before it reads, so nothing waits. */
#include "os/lineedit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/interrupt.h"
#include "support.h"

static int keyboard = -1; /* the other side of the terminal */
static int standard_input, standard_output;

static int setup(void **state) {
  standard_input = dup(STDIN_FILENO);
  standard_output = dup(STDOUT_FILENO);
  keyboard = posix_openpt(O_RDWR | O_NOCTTY);
  if (keyboard < 0 || grantpt(keyboard) != 0 || unlockpt(keyboard) != 0)
    return -1;
  int terminal = open(ptsname(keyboard), O_RDWR | O_NOCTTY);
  if (terminal < 0) return -1;
  fflush(stdout);
  dup2(terminal, STDIN_FILENO);
  dup2(terminal, STDOUT_FILENO);
  close(terminal);
  setenv("TERM", "dumb", 1);
  llmprof_error err;
  *state = llmprof_lineedit_new("test", &err);
  return *state ? 0 : -1;
}

static int teardown(void **state) {
  llmprof_lineedit_free(*state);
  llmprof_interrupt(false);
  fflush(stdout);
  dup2(standard_input, STDIN_FILENO);
  dup2(standard_output, STDOUT_FILENO);
  close(standard_input);
  close(standard_output);
  close(keyboard);
  return 0;
}

static void type(const char *keys) {
  assert_int_equal(write(keyboard, keys, strlen(keys)), strlen(keys));
}

static void expect_line(llmprof_lineedit *edit, const char *wanted) {
  const char *line = NULL;
  llmprof_error err = {0};
  assert_int_equal(llmprof_lineedit_read(edit, "> ", &line, &err),
                   LLMPROF_TYPED_LINE);
  assert_string_equal(line, wanted);
}

static void test_lines(void **state) {
  type("first\r");
  expect_line(*state, "first");
  type("secnd\x02\x02o\r"); /* two to the left */
  expect_line(*state, "second");
  type("\r");
  expect_line(*state, "");
}

/* A child that types the keys once it sees the prompt: Ctrl-D means something
 * else to a terminal that nobody edits lines at yet. */
static pid_t type_at_prompt(const char *keys) {
  pid_t child = fork();
  assert_true(child >= 0);
  if (child > 0) return child;
  char shown = '\0';
  while (shown != '>' && read(keyboard, &shown, 1) == 1) {}
  _exit(write(keyboard, keys, strlen(keys)) < 0);
}

static void test_end(void **state) {
  const char *line;
  llmprof_error err;
  pid_t typist = type_at_prompt("\x04");
  assert_int_equal(llmprof_lineedit_read(*state, "> ", &line, &err),
                   LLMPROF_TYPED_END);
  int status;
  assert_int_equal(waitpid(typist, &status, 0), typist);
  assert_int_equal(status, 0);
}

static void test_interrupt(void **state) {
  const char *line;
  char key[8];
  llmprof_error err;
  llmprof_interrupt(true);
  assert_int_equal(llmprof_lineedit_read(*state, "> ", &line, &err),
                   LLMPROF_TYPED_FAILED);
  assert_int_equal(err.code, LLMPROF_INTERRUPTED);
  assert_int_equal(llmprof_lineedit_key(*state, key, &err),
                   LLMPROF_TYPED_FAILED);
  assert_int_equal(err.code, LLMPROF_INTERRUPTED);
  llmprof_interrupt(false);
  type("on\r");
  expect_line(*state, "on");
}

static void test_keys(void **state) {
  char key[8];
  llmprof_error err;
  type("q ");
  assert_int_equal(llmprof_lineedit_key(*state, key, &err), LLMPROF_TYPED_LINE);
  assert_string_equal(key, "q");
  assert_int_equal(llmprof_lineedit_key(*state, key, &err), LLMPROF_TYPED_LINE);
  assert_string_equal(key, " ");
}

/* Completes "ab" to "abc"; lists what else there is. */
static void completer(void *user, const char *before,
                      llmprof_completion *completion) {
  snprintf(user, 16, "%s", before);
  if (strcmp(before, "ab") == 0) completion->insert = llmprof_strdup("c");
  if (strcmp(before, "x") == 0) completion->listing = llmprof_strdup("x1 x2");
}

static void test_completion(void **state) {
  char seen[16] = "";
  llmprof_lineedit_complete(*state, completer, seen);
  type("ab\td\r");
  expect_line(*state, "abcd");
  assert_string_equal(seen, "ab");
  type("x\ty\r");
  expect_line(*state, "xy");
  type("none\t\r");
  expect_line(*state, "none");
  assert_string_equal(seen, "none");
}

static void test_history(void **state) {
  assert_true(llmprof_lineedit_remember(*state, "one"));
  assert_true(llmprof_lineedit_remember(*state, "two"));
  assert_true(llmprof_lineedit_remember(*state, "two"));
  type("\x10\x10\r"); /* up, up */
  expect_line(*state, "one");
}

static void test_no_terminal(void **state) {
  int before = dup(STDIN_FILENO), null = open("/dev/null", O_RDONLY);
  dup2(null, STDIN_FILENO);
  llmprof_error err;
  assert_null(llmprof_lineedit_new("test", &err));
  assert_int_equal(err.code, LLMPROF_UNSUPPORTED);
  assert_string_equal(err.message, "standard input is no terminal");
  dup2(before, STDIN_FILENO);
  close(before);
  close(null);
}

/* A chroot without /dev/pts, for one, has no pseudo-terminals. */
static bool has_terminals(void) {
  int fd = posix_openpt(O_RDWR | O_NOCTTY);
  bool has = fd >= 0 && grantpt(fd) == 0 && unlockpt(fd) == 0 && ptsname(fd);
  if (has) {
    int end = open(ptsname(fd), O_RDWR | O_NOCTTY);
    has = end >= 0;
    if (has) close(end);
  }
  if (fd >= 0) close(fd);
  return has;
}

int main(void) {
  if (!has_terminals()) return 77;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_lines, setup, teardown),
      cmocka_unit_test_setup_teardown(test_end, setup, teardown),
      cmocka_unit_test_setup_teardown(test_interrupt, setup, teardown),
      cmocka_unit_test_setup_teardown(test_keys, setup, teardown),
      cmocka_unit_test_setup_teardown(test_completion, setup, teardown),
      cmocka_unit_test_setup_teardown(test_history, setup, teardown),
      cmocka_unit_test(test_no_terminal),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "spawn_support.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/buffer.h"

static size_t open_fds(void) {
  DIR *dir = opendir("/proc/self/fd");
  assert_non_null(dir);
  size_t count = 0;
  while (readdir(dir)) count++;
  closedir(dir);
  return count;
}

static size_t fds_before;

int test_before_child(void **state) {
  fds_before = open_fds();
  return 0;
}

void test_no_child_is_left(void) {
  errno = 0;
  assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
  assert_int_equal(errno, ECHILD);
}

int test_after_child(void **state) {
  test_no_child_is_left();
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

bool test_try_run(const char *const *argv, const llmprof_spawn_options *options,
                  llmprof_spawn_result *result, llmprof_error *err) {
  llmprof_spawn *p = llmprof_spawn_start(argv, options, err);
  bool ok = p && llmprof_spawn_wait(p, result, err) &&
            !llmprof_spawn_running(p) && llmprof_spawn_pump(p, 0, err) == 0;
  llmprof_spawn_free(p);
  return ok;
}

llmprof_spawn_result test_run(const char *const *argv,
                              const llmprof_spawn_options *options) {
  llmprof_error err = {0};
  llmprof_spawn_result result;
  if (!test_try_run(argv, options, &result, &err)) fail_msg("%s", err.message);
  test_no_child_is_left();
  return result;
}

bool test_collect(void *user, const llmprof_line *line) {
  llmprof_buffer *text = user;
  llmprof_buffer_puts(text, line->stream == LLMPROF_STDOUT ? "out " : "err ");
  llmprof_buffer_add(text, line->bytes, line->size);
  llmprof_buffer_puts(text, "|");
  return true;
}

bool test_is_alive(pid_t pid) {
  char path[64], line[512] = "";
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  FILE *file = fopen(path, "r");
  if (!file) return false;
  char *got = fgets(line, sizeof line, file);
  fclose(file);
  char *after = got ? strrchr(line, ')') : NULL;
  return after && after[2] != 'Z' && after[2] != 'X';
}

#include "os/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/fs.h"
#include "support.h"

static void test_clocks(void **state) {
  struct stat st;
  int64_t a = llmprof_sys_monotonic(), b = llmprof_sys_monotonic();
  assert_true(b >= a && a > 0);
  assert_int_equal(stat(test_file("now", "", 0), &st), 0);
  int64_t off = llmprof_sys_realtime() / 1000000000 - (int64_t)st.st_mtime;
  assert_true(off >= -60 && off <= 3600); /* the unit and the epoch are right */
}

/* stdin, stdout and stderr become a terminal of 123 columns, and of none. */
static int measure_terminal(void) {
  int columns = 0, lines, ends = posix_openpt(O_RDWR | O_NOCTTY);
  if (ends < 0 || grantpt(ends) != 0 || unlockpt(ends) != 0) return TEST_CANNOT;
  int terminal = open(ptsname(ends), O_RDWR | O_NOCTTY);
  int null = open("/dev/null", O_RDWR);
  struct winsize size = {.ws_col = 123};
  if (terminal < 0 || ioctl(terminal, TIOCSWINSZ, &size) != 0)
    return TEST_CANNOT;
  for (int fd = 0; fd < 3; fd++) dup2(null, fd);
  llmprof_sys_terminal(&columns, &lines);
  if (columns) return 1;
  for (int fd = 0; fd < 3; fd++) {
    dup2(terminal, fd);
    llmprof_sys_terminal(&columns, &lines);
    if (columns != 123) return 2;
    dup2(null, fd);
  }
  size.ws_col = 0;
  dup2(terminal, 1);
  ioctl(1, TIOCSWINSZ, &size);
  llmprof_sys_terminal(&columns, &lines);
  return columns ? 3 : 0;
}

static void test_columns(void **state) {
  test_in_child(measure_terminal);
}

static void test_cpu(void **state) {
  llmprof_cpu cpu;
  llmprof_buffer info = {0};
  llmprof_sys_cpu(&cpu);
  assert_int_equal(cpu.cores, sysconf(_SC_NPROCESSORS_ONLN));
  assert_true(cpu.memory > 1 << 20);
  assert_true(llmprof_fs_read("/proc/cpuinfo", 0, &info, NULL));
  if (strstr(info.bytes, "model name")) {
    char line[LLMPROF_NAME_SIZE + 32];
    snprintf(line, sizeof line, ": %s\n", cpu.model);
    assert_non_null(strstr(info.bytes, line));
    assert_true(cpu.model[0]);
  } else {
    assert_string_equal(cpu.model, "");
  }
  llmprof_buffer_free(&info);
}

static void test_executable(void **state) {
  llmprof_error err;
  llmprof_buffer path = {0};
  char wanted[PATH_MAX];
  assert_non_null(realpath("/proc/self/exe", wanted));
  assert_true(llmprof_sys_executable(&path, &err));
  assert_string_equal(path.bytes, wanted);

  const char *copy = test_in_folder("copy");
  assert_true(llmprof_fs_copy(wanted, copy, &err));
  pid_t pid = fork();
  if (pid == 0) {
    execl(copy, copy, "deleted", (char *)NULL);
    _exit(99);
  }
  int status;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_int_equal(status, 0);
  llmprof_buffer_free(&path);
}

/* Started as a copy that deletes itself. */
static int executable_is_gone(const char *self) {
  llmprof_error err;
  llmprof_buffer path = {0};
  char message[PATH_MAX * 2];
  if (unlink(self) != 0 || llmprof_sys_executable(&path, &err)) return 1;
  snprintf(message, sizeof message, "%s (deleted): No such file or directory",
           self);
  return strcmp(err.message, message) != 0 || err.code != LLMPROF_NOTFOUND;
}

static void test_signals(void **state) {
  char name[LLMPROF_SIGNAL_SIZE];
  assert_true(llmprof_sys_signal_name(SIGINT, name));
  assert_string_equal(name, "SIGINT");
  assert_true(llmprof_sys_signal_name(SIGRTMIN + 2, name));
  assert_string_equal(name, "SIGRTMIN+2");
  static const int none[] = {0, -1, 32, 65, INT_MAX, INT_MIN};
  for (size_t i = 0; i < sizeof none / sizeof *none; i++)
    assert_false(llmprof_sys_signal_name(none[i], name));
  assert_int_equal(llmprof_sys_signal_number("SIGTERM"), SIGTERM);
  assert_int_equal(llmprof_sys_signal_number("SIGRTMIN+2"), SIGRTMIN + 2);
  assert_int_equal(llmprof_sys_signal_number("TERM"), 0);
  assert_int_equal(llmprof_sys_signal_number(""), 0);
}

static bool ask_executable(void *arg, llmprof_error *err) {
  llmprof_buffer path = {0};
  bool ok = llmprof_sys_executable(&path, err);
  llmprof_buffer_free(&path);
  return ok;
}

static void test_allocations(void **state) {
  test_every_allocation(ask_executable, NULL);
}

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "deleted") == 0)
    return executable_is_gone(argv[0]);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_clocks),  cmocka_unit_test(test_columns),
      cmocka_unit_test(test_cpu),     cmocka_unit_test(test_executable),
      cmocka_unit_test(test_signals), cmocka_unit_test(test_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Locks, what is swept up after killed processes, and names below a folder. */
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "os/fs.h"
#include "support.h"

#define LEFT ".llmprof-0123456789abcdef0123456789abcdef"

static void assert_fails(bool ok, const llmprof_error *err, llmprof_code code,
                         const char *path, const char *rest) {
  assert_false(ok);
  test_error_of(err, code, path, rest);
}

/* ---- locks ---- */

TEST(one_at_a_time) {
  llmprof_error err;
  const char *path = test_in_folder("lock");
  llmprof_lock *lock = llmprof_lock_take(path, false, &err);
  assert_non_null(lock);
  llmprof_fs_info info;
  assert_true(llmprof_fs_stat(path, &info, &err));
  assert_int_equal(info.mode, 0600);
  assert_fails(llmprof_lock_take(path, false, &err), &err, LLMPROF_BUSY, path,
               ": in use by another llmprof");
  llmprof_lock_free(lock);
  lock = llmprof_lock_take(path, false, &err);
  assert_non_null(lock);
  llmprof_lock_free(lock);
  llmprof_lock_free(NULL);
}

TEST(a_folder) {
  llmprof_error err;
  llmprof_lock *lock = llmprof_lock_take(test_folder(), false, &err);
  assert_non_null(lock);
  assert_null(llmprof_lock_take(test_folder(), false, &err));
  assert_int_equal(err.code, LLMPROF_BUSY);
  llmprof_lock_free(lock);
}

TEST(refusals) {
  llmprof_error err;
  const char *path = test_in_folder("nowhere/lock");
  assert_fails(llmprof_lock_take(path, false, &err), &err, LLMPROF_NOTFOUND,
               path, ": No such file or directory");
  path = test_in_folder("lock-link");
  assert_int_equal(symlink("lock-target", path), 0);
  assert_null(llmprof_lock_take(path, false, &err));
  assert_int_equal(access(test_in_folder("lock-target"), F_OK), -1);
}

/* A child that holds the lock until it is killed; returns when it has it. */
static pid_t hold_in_child(const char *path) {
  int ready[2];
  char byte = 0;
  assert_int_equal(pipe(ready), 0);
  pid_t child = fork();
  if (child == 0) {
    llmprof_lock *lock = llmprof_lock_take(path, false, NULL);
    if (lock && write(ready[1], &byte, 1) == 1) pause();
    _exit(1);
  }
  close(ready[1]);
  assert_int_equal(read(ready[0], &byte, 1), 1);
  close(ready[0]);
  return child;
}

static void end_child(pid_t child) {
  kill(child, SIGKILL);
  assert_int_equal(waitpid(child, NULL, 0), child);
}

TEST(ends_with_the_process) {
  llmprof_error err;
  const char *path = test_in_folder("of-child");
  pid_t child = hold_in_child(path);
  assert_null(llmprof_lock_take(path, false, &err));
  assert_int_equal(err.code, LLMPROF_BUSY);
  end_child(child);
  llmprof_lock *lock = llmprof_lock_take(path, true, &err);
  assert_non_null(lock);
  llmprof_lock_free(lock);
}

static void on_alarm(int number) {
  llmprof_interrupt(true);
}

TEST(waiting_is_interrupted) {
  llmprof_error err;
  const char *path = test_in_folder("wait");
  llmprof_lock *lock = llmprof_lock_take(path, false, &err);
  struct sigaction action = {.sa_handler = on_alarm}, before;
  sigaction(SIGALRM, &action, &before);
  /* Again and again: the first may come before the wait has begun. */
  struct itimerval often = {{0, 10000}, {0, 10000}}, never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &often, NULL);
  assert_null(llmprof_lock_take(path, true, &err));
  assert_int_equal(err.code, LLMPROF_INTERRUPTED);
  setitimer(ITIMER_REAL, &never, NULL);
  sigaction(SIGALRM, &before, NULL);
  llmprof_interrupt(false);
  llmprof_lock_free(lock);
}

/* ---- sweeping ---- */

static size_t swept(const char *folder) {
  llmprof_error err;
  size_t count = 99;
  if (!llmprof_fs_sweep(folder, &count, &err)) fail_msg("%s", err.message);
  return count;
}

static void touch(const char *path) {
  assert_true(llmprof_fs_write(path, "x", 1, NULL));
}

TEST(sweeps_what_is_abandoned) {
  llmprof_error err;
  const char *folder = test_in_folder("sweep");
  assert_true(
      llmprof_fs_mkdirs(test_in_folder("sweep/" LEFT "/deep/er"), &err));
  touch(test_in_folder("sweep/" LEFT "/deep/er/file"));
  touch(test_in_folder("sweep/.llmprof-00000000000000000000000000000000"));
  touch(test_in_folder("sweep/.llmprof-short"));
  touch(test_in_folder("sweep/.llmprof-0000000000000000000000000000000g"));
  touch(test_in_folder("sweep/kept"));
  assert_int_equal(swept(folder), 2);
  llmprof_fs_names names;
  assert_true(llmprof_fs_list(folder, &names, &err));
  assert_int_equal(names.count, 3);
  llmprof_fs_names_free(&names);
  assert_int_equal(swept(folder), 0);
  assert_int_equal(swept(test_in_folder("no-such-folder")), 0);
}

TEST(leaves_what_is_held) {
  llmprof_error err;
  assert_true(llmprof_fs_mkdirs(test_in_folder("held/" LEFT), &err));
  pid_t child = hold_in_child(test_in_folder("held/" LEFT));
  assert_int_equal(swept(test_in_folder("held")), 0);
  end_child(child);
  assert_int_equal(swept(test_in_folder("held")), 1);
}

/* What a link names is not touched. */
TEST(follows_no_link) {
  llmprof_error err;
  assert_true(llmprof_fs_mkdirs(test_in_folder("links"), &err));
  assert_true(llmprof_fs_mkdirs(test_in_folder("beyond"), &err));
  touch(test_in_folder("beyond/file"));
  assert_int_equal(symlink("../beyond", test_in_folder("links/" LEFT)), 0);
  assert_int_equal(swept(test_in_folder("links")), 0);
  assert_int_equal(access(test_in_folder("beyond/file"), F_OK), 0);
}

TEST(private_dir) {
  llmprof_error err;
  llmprof_buffer path = {0};
  llmprof_lock *lock;
  const char *parent = test_in_folder("private");
  assert_true(llmprof_fs_mkdirs(parent, &err));
  assert_true(llmprof_fs_private_dir(parent, &path, &lock, &err));
  llmprof_fs_info info;
  assert_true(llmprof_fs_stat(path.bytes, &info, &err));
  assert_int_equal(info.mode, 0700);
  assert_int_equal(swept(parent), 0);
  llmprof_lock_free(lock);
  assert_int_equal(swept(parent), 1);
  parent = test_in_folder("private/none");
  assert_fails(llmprof_fs_private_dir(parent, &path, &lock, &err), &err,
               LLMPROF_NOTFOUND, parent, ": No such file or directory");
  assert_null(lock);
  llmprof_buffer_free(&path);
}

/* A process that is killed while it writes a file leaves nothing there, or
 * what the next sweep removes. */
TEST(killed_writer) {
  llmprof_error err;
  const char *folder = test_in_folder("killed");
  assert_true(llmprof_fs_mkdirs(folder, &err));
  int ready[2];
  assert_int_equal(pipe(ready), 0);
  pid_t child = fork();
  if (child == 0) {
    static char bytes[1 << 16];
    for (;;) {
      llmprof_fs_write(test_in_folder("killed/file"), bytes, sizeof bytes,
                       NULL);
      if (write(ready[1], bytes, 1) != 1) _exit(1);
    }
  }
  close(ready[1]);
  char byte;
  for (int i = 0; i < 20; i++) assert_int_equal(read(ready[0], &byte, 1), 1);
  end_child(child);
  close(ready[0]);
  swept(folder);
  llmprof_fs_names names;
  assert_true(llmprof_fs_list(folder, &names, &err));
  assert_int_equal(names.count, 1);
  assert_string_equal(names.items[0], "file");
  llmprof_fs_names_free(&names);
  llmprof_fs_info info;
  assert_true(llmprof_fs_stat(test_in_folder("killed/file"), &info, &err));
  assert_int_equal(info.size, 1 << 16);
}

/* ---- below a folder ---- */

static void assert_beneath(const char *folder, const char *name) {
  llmprof_error err;
  llmprof_buffer path = {0};
  char wanted[PATH_MAX];
  snprintf(wanted, sizeof wanted, "%s/%s", folder, name);
  if (!llmprof_fs_beneath(folder, name, &path, &err))
    fail_msg("%s", err.message);
  assert_string_equal(path.bytes, wanted);
  llmprof_buffer_free(&path);
}

static void assert_not_beneath(const char *folder, const char *name,
                               const char *rest) {
  llmprof_error err;
  llmprof_buffer path = {0};
  assert_fails(llmprof_fs_beneath(folder, name, &path, &err), &err,
               LLMPROF_DENIED, folder, rest);
  llmprof_buffer_free(&path);
}

TEST(beneath) {
  llmprof_error err;
  const char *folder = test_in_folder("beneath");
  assert_true(llmprof_fs_mkdirs(test_in_folder("beneath/a/b"), &err));
  touch(test_in_folder("beneath/a/file"));
  assert_int_equal(symlink("../out", test_in_folder("beneath/a/link")), 0);
  assert_int_equal(symlink("a", test_in_folder("beneath/inside")), 0);
  assert_int_equal(symlink("beneath", test_in_folder("to-beneath")), 0);
  assert_beneath(folder, "a/file");
  assert_beneath(folder, "a//b/./new");
  assert_beneath(folder, "a/new/newer");
  assert_beneath(folder, "a/file/below");
  assert_beneath(test_in_folder("to-beneath"), "a/b");
  assert_beneath(test_in_folder("nowhere"), "a");
  static const char link[] = ": a symbolic link, which is not followed";
  char rest[128];
  snprintf(rest, sizeof rest, "/a/link%s", link);
  assert_not_beneath(folder, "a/link", rest);
  assert_not_beneath(folder, "a/link/new", rest);
  snprintf(rest, sizeof rest, "/inside%s", link);
  assert_not_beneath(folder, "inside/file", rest);
  assert_not_beneath(folder, "a/../a", "/a/..: leads out of the folder");
  assert_not_beneath(folder, "..", "/..: leads out of the folder");
}

static bool use_all(void *arg, llmprof_error *err) {
  llmprof_buffer path = {0};
  llmprof_lock *lock = NULL;
  size_t count;
  bool ok = llmprof_fs_private_dir(test_in_folder("memory"), &path, &lock, err);
  llmprof_lock_free(lock);
  ok = ok && llmprof_fs_sweep(test_in_folder("memory"), &count, err) &&
       llmprof_fs_beneath(test_in_folder("memory"), "a/b", &path, err);
  llmprof_buffer_free(&path);
  return ok;
}

TEST(allocations) {
  assert_true(llmprof_fs_mkdirs(test_in_folder("memory"), NULL));
  test_every_allocation(use_all, NULL);
  assert_int_equal(swept(test_in_folder("memory")), 0);
}

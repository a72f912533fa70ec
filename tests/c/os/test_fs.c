#include "os/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/interrupt.h"
#include "support.h"

/* Leave the child's body with the line where the check failed. */
#define CHECK(condition)                                              \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      return 1;                                                       \
    }                                                                 \
  } while (0)

static void assert_fails(bool ok, const llmprof_error *err, llmprof_code code,
                         const char *path, const char *rest) {
  assert_false(ok);
  test_error_of(err, code, path, rest);
}

static size_t entries(const char *path) {
  llmprof_fs_names names;
  assert_true(llmprof_fs_list(path, &names, NULL));
  size_t count = names.count;
  llmprof_fs_names_free(&names);
  return count;
}

static bool has_contents(const char *path, const char *wanted) {
  llmprof_buffer got = {0};
  bool same = llmprof_fs_read(path, 0, &got, NULL) &&
              got.size == strlen(wanted) &&
              memcmp(got.bytes, wanted, got.size) == 0;
  llmprof_buffer_free(&got);
  return same;
}

/* ---- looking ---- */

TEST(stat) {
  llmprof_error err;
  llmprof_fs_info info;
  const char *path = test_file("stat", "12345", 5);
  assert_int_equal(chmod(path, 0640), 0);
  struct timespec times[2] = {{1, 2}, {1700000000, 123456789}};
  assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
  assert_true(llmprof_fs_stat(path, &info, &err));
  assert_int_equal(info.type, LLMPROF_FS_FILE);
  assert_int_equal(info.size, 5);
  assert_int_equal(info.mtime_ns, INT64_C(1700000000123456789));
  assert_int_equal(info.mode, 0640);

  const char *link = test_in_folder("stat-link");
  assert_true(llmprof_fs_symlink(path, link, &err));
  assert_true(llmprof_fs_stat(link, &info, &err));
  assert_int_equal(info.type, LLMPROF_FS_FILE);
  assert_true(llmprof_fs_lstat(link, &info, &err));
  assert_int_equal(info.type, LLMPROF_FS_LINK);
  assert_true(llmprof_fs_stat("/", &info, &err));
  assert_int_equal(info.type, LLMPROF_FS_DIRECTORY);
  assert_true(llmprof_fs_stat("/dev/null", &info, &err));
  assert_int_equal(info.type, LLMPROF_FS_OTHER);
  assert_fails(llmprof_fs_stat("/proc/none", &info, &err), &err,
               LLMPROF_NOTFOUND, "/proc/none", ": No such file or directory");
  assert_fails(llmprof_fs_lstat("", &info, &err), &err, LLMPROF_NOTFOUND, "",
               ": No such file or directory");
}

TEST(access) {
  llmprof_error err;
  const char *path = test_file("access", "", 0);
  assert_int_equal(chmod(path, 0644), 0);
  assert_true(llmprof_fs_access(path, "", &err));
  assert_true(llmprof_fs_access(path, "rw", &err));
  assert_fails(llmprof_fs_access(path, "x", &err), &err, LLMPROF_DENIED, path,
               ": Permission denied");
  assert_fails(llmprof_fs_access("/proc/none", "", &err), &err,
               LLMPROF_NOTFOUND, "/proc/none", ": No such file or directory");
}

TEST(free_space) {
  llmprof_error err;
  uint64_t bytes = 0;
  assert_true(llmprof_fs_free_space(test_folder(), &bytes, &err));
  assert_true(bytes > 0);
  assert_false(llmprof_fs_free_space("/proc/none", &bytes, &err));
  assert_int_equal(err.code, LLMPROF_NOTFOUND);
}

TEST(names_of_places) {
  llmprof_error err;
  llmprof_buffer text = {0};
  const char *link = test_in_folder("place");
  assert_true(llmprof_fs_symlink("some/where", link, &err));
  assert_true(llmprof_fs_readlink(link, &text, &err));
  assert_string_equal(text.bytes, "some/where");
  assert_fails(llmprof_fs_realpath(link, &text, &err), &err, LLMPROF_NOTFOUND,
               link, ": No such file or directory");
  assert_fails(llmprof_fs_readlink("/", &text, &err), &err, LLMPROF_IO, "/",
               ": Invalid argument");
  assert_fails(llmprof_fs_symlink("x", link, &err), &err, LLMPROF_IO, link,
               ": File exists");

  assert_true(llmprof_fs_realpath("/dev/../dev/./null", &text, &err));
  assert_string_equal(text.bytes, "/dev/null");

  char cwd[PATH_MAX];
  assert_non_null(getcwd(cwd, sizeof cwd));
  assert_true(llmprof_fs_cwd(&text, &err));
  assert_string_equal(text.bytes, cwd);
  llmprof_buffer_free(&text);
}

static int lose_cwd(void) {
  llmprof_error err;
  llmprof_buffer text = {0};
  CHECK(mkdir(test_in_folder("lost"), 0777) == 0);
  CHECK(chdir(test_in_folder("lost")) == 0 &&
        rmdir(test_in_folder("lost")) == 0);
  CHECK(!llmprof_fs_cwd(&text, &err));
  CHECK(strcmp(err.message, "working directory: No such file or directory") ==
        0);
  return 0;
}

TEST(cwd_may_be_gone) {
  test_in_child(lose_cwd);
}

TEST(list) {
  llmprof_error err;
  llmprof_fs_names names;
  assert_true(llmprof_fs_mkdirs(test_in_folder("list/b"), &err));
  test_file("list/a", "", 0);
  test_file("list/.hidden", "", 0);
  test_file("list/B\n\xff", "", 0);
  assert_true(llmprof_fs_list(test_in_folder("list"), &names, &err));
  assert_int_equal(names.count, 4);
  assert_string_equal(names.items[0], ".hidden");
  assert_string_equal(names.items[1], "B\n\xff");
  assert_string_equal(names.items[2], "a");
  assert_string_equal(names.items[3], "b");
  llmprof_fs_names_free(&names);
  assert_true(llmprof_fs_list(test_in_folder("list/b"), &names, &err));
  assert_int_equal(names.count, 0);
  llmprof_fs_names_free(&names);
  assert_fails(llmprof_fs_list("/dev/null", &names, &err), &err,
               LLMPROF_NOTFOUND, "/dev/null", ": Not a directory");
  assert_int_equal(names.count, 0);
}

/* ---- making, moving, removing ---- */

TEST(mkdir) {
  llmprof_error err;
  llmprof_fs_info info;
  const char *path = test_in_folder("made");
  assert_true(llmprof_fs_mkdir(path, &err));
  assert_fails(llmprof_fs_mkdir(path, &err), &err, LLMPROF_IO, path,
               ": File exists");
  assert_true(llmprof_fs_mkdirs(path, &err));
  assert_true(llmprof_fs_mkdirs(test_in_folder("made//a/./b/../c//"), &err));
  assert_true(llmprof_fs_stat(test_in_folder("made/a/c"), &info, &err));
  assert_int_equal(info.type, LLMPROF_FS_DIRECTORY);
  assert_true(llmprof_fs_mkdirs("/", &err));
  assert_true(llmprof_fs_mkdirs(".", &err));
  assert_true(llmprof_fs_mkdirs("/proc", &err));
  assert_fails(llmprof_fs_mkdirs("", &err), &err, LLMPROF_NOTFOUND, "",
               ": No such file or directory");

  const char *file = test_file("made/file", "", 0);
  assert_fails(llmprof_fs_mkdirs(file, &err), &err, LLMPROF_NOTFOUND, file,
               ": Not a directory");
  char rest[PATH_MAX + 32];
  snprintf(rest, sizeof rest, ": %s: Not a directory", file);
  const char *below = test_in_folder("made/file/x/y");
  assert_fails(llmprof_fs_mkdirs(below, &err), &err, LLMPROF_NOTFOUND, below,
               rest);
}

TEST(rename_and_remove) {
  llmprof_error err;
  const char *from = test_file("from", "new", 3);
  const char *to = test_file("to", "old", 3);
  assert_true(llmprof_fs_rename(from, to, &err));
  assert_true(has_contents(to, "new"));
  char rest[PATH_MAX + 64];
  snprintf(rest, sizeof rest,
           ": cannot rename to %s: No such file or directory", to);
  assert_fails(llmprof_fs_rename(from, to, &err), &err, LLMPROF_NOTFOUND, from,
               rest);
  assert_true(llmprof_fs_remove(to, &err));
  assert_fails(llmprof_fs_remove(to, &err), &err, LLMPROF_NOTFOUND, to,
               ": No such file or directory");

  const char *folder = test_in_folder("folder");
  assert_true(llmprof_fs_mkdir(folder, &err));
  test_file("folder/file", "", 0);
  assert_fails(llmprof_fs_remove(folder, &err), &err, LLMPROF_IO, folder,
               ": Directory not empty");
  assert_true(llmprof_fs_remove(test_in_folder("folder/file"), &err));
  assert_true(llmprof_fs_remove(folder, &err));
}

TEST(temp_dir) {
  llmprof_error err;
  llmprof_fs_info info;
  llmprof_buffer a = {0}, b = {0};
  setenv("TMPDIR", test_folder(), 1);
  assert_true(llmprof_fs_temp_dir("run-", &a, &err));
  assert_true(llmprof_fs_temp_dir("run-", &b, &err));
  assert_string_not_equal(a.bytes, b.bytes);
  assert_memory_equal(a.bytes, test_in_folder("run-"),
                      strlen(test_in_folder("run-")));
  assert_true(llmprof_fs_stat(a.bytes, &info, &err));
  assert_int_equal(info.type, LLMPROF_FS_DIRECTORY);
  assert_int_equal(info.mode, 0700);
  assert_fails(llmprof_fs_temp_dir("a/b", &a, &err), &err, LLMPROF_DENIED,
               "a/b", ": a prefix must not contain \"/\"");
  setenv("TMPDIR", "/proc/none", 1);
  assert_fails(llmprof_fs_temp_dir("x", &a, &err), &err, LLMPROF_NOTFOUND,
               "/proc/none",
               ": cannot make a temporary folder: No such file or directory");
  setenv("TMPDIR", "", 1);
  assert_true(llmprof_fs_temp_dir("llmprof-test-", &a, &err));
  assert_memory_equal(a.bytes, "/tmp/llmprof-test-", 18);
  assert_true(llmprof_fs_remove(a.bytes, &err));
  unsetenv("TMPDIR");
  llmprof_buffer_free(&a);
  llmprof_buffer_free(&b);
}

/* ---- remove_tree ---- */

TEST(remove_tree) {
  llmprof_error err;
  llmprof_fs_info info;
  const char *top = test_in_folder("tree");
  assert_true(llmprof_fs_mkdirs(test_in_folder("tree/a/b/c"), &err));
  assert_true(llmprof_fs_mkdirs(test_in_folder("tree/a/d"), &err));
  assert_true(llmprof_fs_mkdirs(test_in_folder("outside"), &err));
  test_file("outside/kept", "", 0);
  test_file("tree/a/b/file", "", 0);
  assert_true(
      llmprof_fs_symlink("../../outside", test_in_folder("tree/a/l"), &err));
  assert_true(llmprof_fs_symlink("/", test_in_folder("tree/root"), &err));
  assert_true(
      llmprof_fs_symlink("nowhere", test_in_folder("tree/dangling"), &err));
  assert_true(llmprof_fs_remove_tree(top, &err));
  assert_false(llmprof_fs_lstat(top, &info, NULL));
  assert_int_equal(entries(test_in_folder("outside")), 1);
  assert_fails(llmprof_fs_remove_tree(top, &err), &err, LLMPROF_NOTFOUND, top,
               ": No such file or directory");

  const char *link = test_in_folder("link-to-outside");
  assert_true(llmprof_fs_symlink("outside", link, &err));
  assert_true(llmprof_fs_remove_tree(test_in_folder("link-to-outside/"), &err));
  assert_int_equal(entries(test_in_folder("outside")), 1);
  assert_true(llmprof_fs_remove_tree(test_in_folder("outside/kept"), &err));
  assert_true(llmprof_fs_remove_tree(test_in_folder("outside///"), &err));
}

TEST(remove_tree_wide) {
  llmprof_error err;
  char name[64];
  assert_true(llmprof_fs_mkdir(test_in_folder("wide"), &err));
  for (int i = 0; i < 3000; i++) {
    snprintf(name, sizeof name, "wide/%d", i);
    if (i % 3)
      test_file(name, "", 0);
    else
      assert_true(llmprof_fs_mkdir(test_in_folder(name), &err));
  }
  assert_true(llmprof_fs_remove_tree(test_in_folder("wide"), &err));
}

/* Longer than a path may be, and one folder too many. */
static int remove_deep(void) {
  llmprof_error err;
  CHECK(mkdir(test_in_folder("deep"), 0777) == 0 &&
        chdir(test_in_folder("deep")) == 0);
  for (int i = 0; i < 256; i++)
    CHECK(mkdir("a-name-of-some-length", 0777) == 0 &&
          chdir("a-name-of-some-length") == 0);
  CHECK(!llmprof_fs_remove_tree(test_in_folder("deep"), &err));
  CHECK(err.code == LLMPROF_LIMIT);
  CHECK(chdir("..") == 0 && rmdir("a-name-of-some-length") == 0);
  CHECK(chdir("/") == 0);
  CHECK(llmprof_fs_remove_tree(test_in_folder("deep"), &err));
  CHECK(access(test_in_folder("deep"), F_OK) != 0);
  return 0;
}

TEST(remove_tree_deep) {
  test_in_child(remove_deep);
}

static int refuse_to_remove(void) {
  static const char *const nothing[] = {"", "/", "//", ".", "./", "/.", "a/."};
  static const char *const upward[] = {"..", "../x", "a/..", "a/../b", "/a/.."};
  llmprof_error err;
  char message[64];
  CHECK(mkdir(test_in_folder("here"), 0777) == 0 &&
        chdir(test_in_folder("here")) == 0);
  CHECK(mkdir("a", 0777) == 0 && mkdir("b", 0777) == 0);
  for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++) {
    CHECK(!llmprof_fs_remove_tree(nothing[i], &err));
    snprintf(message, sizeof message,
             "%s: not removed: names no entry of a folder", nothing[i]);
    CHECK(strcmp(err.message, message) == 0 && err.code == LLMPROF_DENIED);
  }
  for (size_t i = 0; i < sizeof upward / sizeof *upward; i++) {
    CHECK(!llmprof_fs_remove_tree(upward[i], &err));
    snprintf(message, sizeof message, "%s: not removed: \"..\" in the path",
             upward[i]);
    CHECK(strcmp(err.message, message) == 0 && err.code == LLMPROF_DENIED);
  }
  CHECK(entries(".") == 2);
  CHECK(llmprof_fs_remove_tree("./a", &err));
  CHECK(llmprof_fs_remove_tree("b", &err));
  CHECK(entries(".") == 0);
  return 0;
}

TEST(remove_tree_refuses) {
  test_in_child(refuse_to_remove);
}

/* ---- contents ---- */

TEST(read) {
  llmprof_error err;
  llmprof_buffer bytes = {0};
  const char *path = test_file("read",
                               "12\0"
                               "45",
                               5);
  assert_true(llmprof_fs_read(path, 0, &bytes, &err));
  assert_int_equal(bytes.size, 5);
  assert_memory_equal(bytes.bytes,
                      "12\0"
                      "45",
                      6);
  assert_true(llmprof_fs_read(path, 5, &bytes, &err));
  assert_int_equal(bytes.size, 5);
  assert_fails(llmprof_fs_read(path, 4, &bytes, &err), &err, LLMPROF_LIMIT,
               path, ": larger than the limit of 4 bytes");
  assert_int_equal(bytes.size, 0);
  assert_true(llmprof_fs_read(test_file("empty", "", 0), 0, &bytes, &err));
  assert_int_equal(bytes.size, 0);
  assert_true(llmprof_fs_read("/proc/self/status", 0, &bytes, &err));
  assert_non_null(strstr(bytes.bytes, "VmHWM"));
  const char *pipe_path = test_in_folder("unread");
  assert_int_equal(mkfifo(pipe_path, 0600), 0);
  assert_fails(llmprof_fs_read(pipe_path, 0, &bytes, &err), &err,
               LLMPROF_SYNTAX, pipe_path, ": not a regular file");
  const char *socket_path = test_in_folder("socket");
  assert_int_equal(mknod(socket_path, S_IFSOCK | 0600, 0), 0);
  assert_fails(llmprof_fs_read(socket_path, 0, &bytes, &err), &err,
               LLMPROF_SYNTAX, socket_path, ": not a regular file");
  assert_fails(llmprof_fs_read("/dev/zero", 0, &bytes, &err), &err,
               LLMPROF_SYNTAX, "/dev/zero", ": not a regular file");
  assert_fails(llmprof_fs_read("/", 0, &bytes, &err), &err, LLMPROF_SYNTAX, "/",
               ": not a regular file");
  assert_fails(llmprof_fs_read("/proc/none", 0, &bytes, &err), &err,
               LLMPROF_NOTFOUND, "/proc/none", ": No such file or directory");
  llmprof_buffer_free(&bytes);
}

/* A path that is longer than a message keeps its reason. */
TEST(long_path) {
  llmprof_error err;
  llmprof_buffer bytes = {0};
  char path[3000];
  memset(path, 'd', sizeof path);
  for (size_t i = 0; i < sizeof path; i += 100) path[i] = '/';
  path[sizeof path - 1] = '\0';
  assert_false(llmprof_fs_read(path, 0, &bytes, &err));
  assert_int_equal(err.code, LLMPROF_NOTFOUND);
  assert_memory_equal(err.message, path, 500);
  assert_int_equal(strlen(err.message), sizeof err.message - 1);
  assert_non_null(strstr(err.message, "ddd: No such file or directory"));
}

TEST(read_and_write_much) {
  llmprof_error err;
  llmprof_buffer bytes = {0};
  size_t size = 3 * 1024 * 1024 + 17;
  char *much = malloc(size);
  assert_non_null(much);
  for (size_t i = 0; i < size; i++) much[i] = (char)(i * 31 >> 3);
  const char *path = test_in_folder("much"),
             *copy = test_in_folder("much-copy");
  assert_true(llmprof_fs_write(path, much, size, &err));
  assert_true(llmprof_fs_copy(path, copy, &err));
  assert_true(llmprof_fs_read(copy, size, &bytes, &err));
  assert_int_equal(bytes.size, size);
  assert_memory_equal(bytes.bytes, much, size);
  free(much);
  llmprof_buffer_free(&bytes);
}

TEST(write) {
  llmprof_error err;
  llmprof_fs_info info;
  umask(022);
  assert_true(llmprof_fs_mkdir(test_in_folder("write"), &err));
  const char *path = test_in_folder("write/file");
  assert_true(llmprof_fs_write(path, "one", 3, &err));
  assert_true(llmprof_fs_stat(path, &info, &err));
  assert_int_equal(info.mode, 0644);
  assert_int_equal(chmod(path, 0600), 0);
  assert_true(llmprof_fs_write(path, "two", 3, &err));
  assert_true(has_contents(path, "two"));
  assert_true(llmprof_fs_stat(path, &info, &err));
  assert_int_equal(info.mode, 0600);

  const char *link = test_in_folder("write/link");
  assert_true(llmprof_fs_symlink("file", link, &err));
  assert_true(llmprof_fs_write(link, "", 0, &err));
  assert_true(llmprof_fs_lstat(link, &info, &err));
  assert_int_equal(info.type, LLMPROF_FS_FILE);
  assert_true(has_contents(path, "two"));
  assert_int_equal(entries(test_in_folder("write")), 2);
}

TEST(write_soon) {
  llmprof_error err;
  assert_true(llmprof_fs_mkdir(test_in_folder("soon"), &err));
  const char *path = test_in_folder("soon/file"),
             *copy = test_in_folder("soon/copy");
  assert_true(llmprof_fs_write_soon(path, "one", 3, &err));
  assert_true(llmprof_fs_write_soon(path, "two", 3, &err));
  assert_true(has_contents(path, "two"));
  assert_int_equal(chmod(path, 0600), 0);
  assert_true(llmprof_fs_copy_soon(path, copy, &err));
  assert_true(has_contents(copy, "two"));
  llmprof_fs_info info;
  assert_true(llmprof_fs_stat(copy, &info, &err));
  assert_int_equal(info.mode, 0600);
  assert_int_equal(entries(test_in_folder("soon")), 2);
  assert_true(llmprof_fs_settle(test_in_folder("soon"), &err));

  assert_fails(llmprof_fs_write_soon("/dev/null", "x", 1, &err), &err,
               LLMPROF_DENIED, "/dev/null",
               ": not replaced: it is no regular file");
  assert_fails(llmprof_fs_copy_soon("/proc/none", copy, &err), &err,
               LLMPROF_NOTFOUND, "/proc/none", ": No such file or directory");
  assert_fails(llmprof_fs_settle("/proc/none", &err), &err, LLMPROF_NOTFOUND,
               "/proc/none", ": No such file or directory");
}

TEST(write_refuses) {
  llmprof_error err;
  const char *folder = test_in_folder("write-folder");
  assert_true(llmprof_fs_mkdir(folder, &err));
  assert_fails(llmprof_fs_write(folder, "x", 1, &err), &err, LLMPROF_DENIED,
               folder, ": not replaced: it is no regular file");
  assert_fails(llmprof_fs_write("/dev/null", "x", 1, &err), &err,
               LLMPROF_DENIED, "/dev/null",
               ": not replaced: it is no regular file");
  const char *slash = test_in_folder("write-folder/new/");
  assert_fails(llmprof_fs_write(slash, "x", 1, &err), &err, LLMPROF_IO, slash,
               ": Is a directory");
  const char *missing = test_in_folder("nowhere/file");
  assert_fails(llmprof_fs_write(missing, "x", 1, &err), &err, LLMPROF_NOTFOUND,
               missing, ": No such file or directory");
  test_file("a-file", "", 0);
  const char *below = test_in_folder("a-file/below");
  assert_fails(llmprof_fs_write(below, "x", 1, &err), &err, LLMPROF_NOTFOUND,
               below, ": Not a directory");
  assert_fails(llmprof_fs_write("", "x", 1, &err), &err, LLMPROF_NOTFOUND, "",
               ": No such file or directory");
  char name[400];
  memset(name, 'n', sizeof name - 1);
  name[sizeof name - 1] = '\0';
  assert_fails(llmprof_fs_write(name, "x", 1, &err), &err, LLMPROF_IO, name,
               ": File name too long");
  assert_int_equal(entries(folder), 0);
}

TEST(copy) {
  llmprof_error err;
  llmprof_fs_info info;
  const char *from = test_file("copy-from", "text", 4);
  const char *to = test_file("copy-to", "older and longer", 16);
  assert_int_equal(chmod(from, 0751), 0);
  assert_true(llmprof_fs_copy(from, to, &err));
  assert_true(has_contents(to, "text"));
  assert_true(llmprof_fs_stat(to, &info, &err));
  assert_int_equal(info.mode, 0751);
  assert_true(llmprof_fs_copy(to, to, &err)); /* onto itself */
  assert_true(has_contents(to, "text"));

  llmprof_buffer version = {0}; /* where copy_file_range sees nothing */
  assert_true(llmprof_fs_read("/proc/version", 0, &version, &err));
  assert_true(llmprof_fs_copy("/proc/version", to, &err));
  assert_true(has_contents(to, version.bytes));
  llmprof_buffer_free(&version);

  const char *pipe_path = test_in_folder("pipe");
  assert_int_equal(mkfifo(pipe_path, 0600), 0);
  assert_fails(llmprof_fs_copy(pipe_path, to, &err), &err, LLMPROF_SYNTAX,
               pipe_path, ": not a regular file");
  assert_fails(llmprof_fs_copy("/", to, &err), &err, LLMPROF_SYNTAX, "/",
               ": not a regular file");
  assert_fails(llmprof_fs_copy("/proc/none", to, &err), &err, LLMPROF_NOTFOUND,
               "/proc/none", ": No such file or directory");
  assert_fails(llmprof_fs_copy(from, "/proc/none/x", &err), &err,
               LLMPROF_NOTFOUND, "/proc/none/x", ": No such file or directory");
}

/* A file of `size` bytes: "abc" at each of the places, holes between. */
static const char *with_holes(const char *name, off_t size, const off_t *places,
                              size_t count) {
  const char *path = test_in_folder(name);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_int_equal(ftruncate(fileno(file), size), 0);
  for (size_t i = 0; i < count; i++)
    assert_int_equal(pwrite(fileno(file), "abc", 3, places[i]), 3);
  fclose(file);
  return path;
}

static void assert_same(const char *a, const char *b) {
  llmprof_buffer bytes[2] = {{0}, {0}};
  llmprof_error err;
  assert_true(llmprof_fs_read(a, 0, &bytes[0], &err));
  assert_true(llmprof_fs_read(b, 0, &bytes[1], &err));
  assert_int_equal(bytes[0].size, bytes[1].size);
  assert_memory_equal(bytes[0].bytes, bytes[1].bytes, bytes[0].size);
  for (int i = 0; i < 2; i++) llmprof_buffer_free(&bytes[i]);
}

/* Whatever it seems to hold, it takes no more room than what it is of. */
TEST(copy_of_holes) {
  static const off_t places[] = {5 << 20, (5 << 20) + 9, 19 << 20};
  static const struct {
    off_t size;
    size_t count;
  } files[] = {{24 << 20, 3}, {(19 << 20) + 3, 3}, {24 << 20, 0}, {4096, 0},
               {0, 0},        {6 << 20, 2}};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    llmprof_error err;
    struct stat from, to;
    const char *path =
        with_holes("holes", files[i].size, places, files[i].count);
    const char *copy = test_in_folder("holes-copy");
    assert_true(llmprof_fs_copy(path, copy, &err));
    assert_same(path, copy);
    assert_int_equal(stat(path, &from), 0);
    assert_int_equal(stat(copy, &to), 0);
    assert_in_range(to.st_blocks, 0, from.st_blocks + 64);
  }
}

TEST(write_fd) {
  llmprof_error err;
  int fd = open("/dev/full", O_WRONLY);
  assert_true(fd >= 0);
  assert_fails(llmprof_fs_write_fd(fd, "log", "x", 1, &err), &err, LLMPROF_IO,
               "log", ": No space left on device");
  assert_int_equal(err.sys, ENOSPC);
  assert_true(llmprof_fs_write_fd(fd, "log", NULL, 0, &err));
  close(fd);
}

/* ---- limits and mounts ---- */

/* A short write, then none. */
static int exceed_file_size(void) {
  struct rlimit limit = {4096, 4096};
  llmprof_error err;
  char bytes[10000] = {0};
  CHECK(mkdir(test_in_folder("limited"), 0777) == 0);
  const char *path = test_in_folder("limited/file");
  const char *source = test_file("limited-source", bytes, sizeof bytes);
  CHECK(llmprof_fs_write(path, "old", 3, &err));
  signal(SIGXFSZ, SIG_IGN);
  CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  CHECK(!llmprof_fs_write(path, bytes, sizeof bytes, &err));
  CHECK(err.sys == EFBIG && strstr(err.message, path) == err.message);
  CHECK(!llmprof_fs_copy(source, path, &err));
  CHECK(err.sys == EFBIG && strstr(err.message, path) == err.message);
  CHECK(has_contents(path, "old") && entries(test_in_folder("limited")) == 1);
  return 0;
}

TEST(file_size_limit) {
  test_in_child(exceed_file_size);
}

static bool mount_tmpfs(const char *path, const char *size) {
  return mkdir(path, 0777) == 0 && unshare(CLONE_NEWNS) == 0 &&
         mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
         mount("none", path, "tmpfs", 0, size) == 0;
}

static int fill_disk(void) {
  llmprof_error err;
  const char *disk = test_in_folder("disk"),
             *path = test_in_folder("disk/file");
  static char bytes[1 << 20];
  if (!mount_tmpfs(disk, "size=64k")) return TEST_CANNOT;
  const char *source = test_file("disk-source", bytes, sizeof bytes);
  CHECK(llmprof_fs_write(path, "old", 3, &err));
  CHECK(!llmprof_fs_write(path, bytes, sizeof bytes, &err));
  CHECK(err.sys == ENOSPC);
  CHECK(!llmprof_fs_copy(source, path, &err) && err.sys == ENOSPC);
  CHECK(has_contents(path, "old") && entries(disk) == 1);
  return 0;
}

TEST(full_disk) {
  test_in_child(fill_disk);
}

static int write_read_only(void) {
  llmprof_error err;
  const char *disk = test_in_folder("ro"), *path = test_in_folder("ro/file");
  char message[PATH_MAX + 64];
  if (!mount_tmpfs(disk, "")) return TEST_CANNOT;
  CHECK(llmprof_fs_write(path, "old", 3, &err));
  CHECK(llmprof_fs_mkdirs(test_in_folder("ro/sub/folder"), &err));
  if (mount("none", disk, NULL, MS_REMOUNT | MS_RDONLY, NULL) != 0)
    return TEST_CANNOT;
  CHECK(!llmprof_fs_write(path, "new", 3, &err));
  snprintf(message, sizeof message, "%s: Read-only file system", path);
  CHECK(strcmp(err.message, message) == 0 && err.code == LLMPROF_DENIED);
  CHECK(!llmprof_fs_mkdir(test_in_folder("ro/new"), &err) && err.sys == EROFS);
  CHECK(llmprof_fs_mkdirs(test_in_folder("ro/sub/folder"), &err));
  CHECK(!llmprof_fs_remove_tree(test_in_folder("ro/sub"), &err));
  CHECK(err.sys == EROFS);
  CHECK(!llmprof_fs_access(path, "w", &err) && err.code == LLMPROF_DENIED);
  CHECK(has_contents(path, "old"));
  return 0;
}

TEST(read_only) {
  test_in_child(write_read_only);
}

static int meet_a_mount(void) {
  llmprof_error err;
  char message[PATH_MAX + 64];
  CHECK(mkdir(test_in_folder("crossing"), 0777) == 0);
  const char *disk = test_in_folder("crossing/disk");
  if (!mount_tmpfs(disk, "")) return TEST_CANNOT;
  CHECK(llmprof_fs_write(test_in_folder("crossing/disk/kept"), "x", 1, &err));
  CHECK(!llmprof_fs_remove_tree(test_in_folder("crossing"), &err));
  snprintf(message, sizeof message, "%s: not removed: on another file system",
           disk);
  CHECK(strcmp(err.message, message) == 0);
  CHECK(has_contents(test_in_folder("crossing/disk/kept"), "x"));
  return 0;
}

TEST(remove_tree_stays_on_its_file_system) {
  test_in_child(meet_a_mount);
}

/* ---- out of memory ---- */

static bool do_everything(void *arg, llmprof_error *err) {
  llmprof_buffer text = {0};
  llmprof_fs_names names = {0};
  bool ok = llmprof_fs_mkdirs(test_in_folder("mem/a/b"), err) &&
            llmprof_fs_write(test_in_folder("mem/file"), "text", 4, err) &&
            llmprof_fs_read(test_in_folder("mem/file"), 0, &text, err) &&
            llmprof_fs_copy("/proc/version", test_in_folder("mem/copy"), err) &&
            llmprof_fs_realpath(test_in_folder("mem"), &text, err) &&
            llmprof_fs_readlink("/proc/self/exe", &text, err) &&
            llmprof_fs_cwd(&text, err) &&
            llmprof_fs_list(test_in_folder("mem"), &names, err) &&
            names.count == 3 &&
            llmprof_fs_remove_tree(test_in_folder("mem"), err);
  llmprof_buffer_free(&text);
  llmprof_fs_names_free(&names);
  return ok;
}

static bool make_temp_dir(void *arg, llmprof_error *err) {
  llmprof_buffer path = {0};
  bool ok = llmprof_fs_temp_dir("mem", &path, err);
  if (ok) rmdir(path.bytes);
  llmprof_buffer_free(&path);
  return ok;
}

TEST(allocations) {
  test_every_allocation(do_everything, NULL);
  test_every_allocation(make_temp_dir, NULL);
}

/* What was read from a trace before: the same as the trace, or ignored. */
#include "cache/cache.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cache/cache_file.h"
#include "cache/cache_folder.h"
#include "cache/cache_key.h"
#include "exports.h"
#include "os/fs.h"
#include "read_export.h"
#include "trace/trace_events.h"

static char folder[4096];

static llmprof_cache_options everything(void) {
  return (llmprof_cache_options){.folder = folder, .least = 0, .most = 1 << 30};
}

static const char *fresh_folder(void) {
  static int number;
  snprintf(folder, sizeof folder, "%s/caches%d", test_folder(), number++);
  return folder;
}

/* Files whose times are of now are left alone. */
static void settle(void) {
  usleep(120000);
}

/* The path of a file of the one cache in the folder; "" where there is none. */
static const char *cache_path(const char *suffix) {
  static char path[8192];
  llmprof_fs_names names;
  *path = '\0';
  if (!llmprof_fs_list(folder, &names, NULL)) return path;
  for (size_t i = 0; i < names.count; i++)
    if (strstr(names.items[i], suffix))
      snprintf(path, sizeof path, "%s/%s", folder, names.items[i]);
  llmprof_fs_names_free(&names);
  return path;
}

static llmprof_trace *open_cached(const char *path) {
  llmprof_cache_options options = everything();
  llmprof_error err = {0};
  llmprof_trace *trace = llmprof_cache_open(path, &options, &err);
  if (!trace) fail_msg("%s", err.message);
  return trace;
}

static void read_and_save(const char *path) {
  llmprof_error err = {0};
  llmprof_trace *trace = open_cached(path);
  assert_true(read_trace(trace, &err));
  if (!llmprof_cache_save(trace, &err)) fail_msg("%s", err.message);
  llmprof_trace_close(trace);
}

/* An export whose columns are in the cache. */
static const char *cached_export(void) {
  const char *path = test_export();
  fresh_folder();
  settle();
  read_and_save(path); /* an empty file: that it was opened */
  read_and_save(path);
  return path;
}

/* ---- the same ---- */

static void assert_same_cells(llmprof_frame *a, llmprof_frame *b,
                              size_t number) {
  llmprof_error err = {0};
  const llmprof_column *x = llmprof_frame_column(a, number, &err);
  const llmprof_column *y = llmprof_frame_column(b, number, &err);
  assert_non_null(x);
  assert_non_null(y);
  assert_string_equal(x->name, y->name);
  assert_int_equal(x->type, y->type);
  for (size_t row = 0; row < llmprof_frame_rows(a); row++) {
    if (x->type != LLMPROF_STRING_ID) {
      assert_int_equal(llmprof_cell(x, row), llmprof_cell(y, row));
      continue;
    }
    assert_string_equal(llmprof_cell_text(a, x, row, "(none)"),
                        llmprof_cell_text(b, y, row, "(none)"));
  }
}

static void assert_same_frame(llmprof_trace *a, llmprof_trace *b,
                              const char *name) {
  llmprof_error err = {0};
  llmprof_frame *x = llmprof_trace_frame(a, name, &err);
  llmprof_frame *y = llmprof_trace_frame(b, name, &err);
  if (!x || !y) fail_msg("%s: %s", name, err.message);
  assert_int_equal(llmprof_frame_rows(x), llmprof_frame_rows(y));
  assert_int_equal(llmprof_frame_columns(x), llmprof_frame_columns(y));
  for (size_t c = 0; c < llmprof_frame_columns(x); c++)
    assert_same_cells(x, y, c);
  llmprof_frame_free(x);
  llmprof_frame_free(y);
}

static void assert_same_things(llmprof_trace *a, llmprof_trace *b) {
  size_t count, other;
  const llmprof_device *devices = llmprof_trace_devices(a, &count);
  const llmprof_device *others = llmprof_trace_devices(b, &other);
  assert_int_equal(count, other);
  for (size_t i = 0; i < count; i++) {
    assert_int_equal(devices[i].id, others[i].id);
    assert_string_equal(test_string_of(a, devices[i].name),
                        test_string_of(b, others[i].name));
    assert_int_equal(devices[i].memory, others[i].memory);
  }
  const llmprof_thread *threads = llmprof_trace_threads(a, &count);
  const llmprof_thread *beside = llmprof_trace_threads(b, &other);
  assert_int_equal(count, other);
  for (size_t i = 0; i < count; i++) {
    assert_int_equal(threads[i].id, beside[i].id);
    assert_int_equal(threads[i].process, beside[i].process);
    assert_string_equal(test_string_of(a, threads[i].name),
                        test_string_of(b, beside[i].name));
  }
  assert_int_equal(llmprof_trace_epoch(a), llmprof_trace_epoch(b));
  for (int fact = 0; fact < LLMPROF_FACTS; fact++)
    assert_int_equal(llmprof_trace_knows(a, (llmprof_fact)fact, NULL),
                     llmprof_trace_knows(b, (llmprof_fact)fact, NULL));
  for (int table = 0; table < LLMPROF_TABLES; table++)
    assert_int_equal(
        llmprof_trace_recorded(a, (llmprof_trace_table)table, NULL),
        llmprof_trace_recorded(b, (llmprof_trace_table)table, NULL));
}

/* Does the cache, whatever became of it, give what the file does? Returns
 * whether it was used. */
static bool check_same(const char *path) {
  llmprof_error err = {0};
  const char *name;
  llmprof_trace *plain = llmprof_trace_open(path, &err);
  llmprof_trace *cached = open_cached(path);
  bool used = llmprof_cache_was_used(cached);
  assert_non_null(plain);
  for (size_t i = 0; (name = llmprof_trace_frame_name(i)); i++)
    assert_same_frame(plain, cached, name);
  assert_same_things(plain, cached);
  llmprof_trace_close(plain);
  llmprof_trace_close(cached);
  return used;
}

TEST(the_same) {
  const char *path = cached_export();
  assert_true(check_same(path));
  assert_true(check_same(path));
}

TEST(first_and_second_time) {
  const char *path = test_export();
  fresh_folder();
  settle();
  assert_false(check_same(path));
  read_and_save(path);
  assert_string_not_equal(cache_path(LLMPROF_CACHE_COLUMNS), "");
  assert_false(check_same(path));
  read_and_save(path);
  assert_true(check_same(path));
}

/* What was not asked for is not there, and read when it is. */
TEST(parts) {
  llmprof_error err = {0};
  const char *path = test_export();
  fresh_folder();
  settle();
  for (int i = 0; i < 2; i++) {
    llmprof_trace *trace = open_cached(path);
    assert_non_null(llmprof_trace_calls(trace, &err));
    assert_true(llmprof_cache_save(trace, &err));
    llmprof_trace_close(trace);
  }
  assert_true(check_same(path));
  read_and_save(path); /* with what was missing */
  struct stat before, after;
  assert_int_equal(stat(cache_path(LLMPROF_CACHE_COLUMNS), &before), 0);
  read_and_save(path); /* nothing is missing any more */
  assert_int_equal(stat(cache_path(LLMPROF_CACHE_COLUMNS), &after), 0);
  assert_true(before.st_ino == after.st_ino);
}

TEST(files_are_private) {
  struct stat info;
  cached_export();
  assert_int_equal(stat(folder, &info), 0);
  assert_int_equal(info.st_mode & 07777, 0700);
  assert_int_equal(stat(cache_path(LLMPROF_CACHE_COLUMNS), &info), 0);
  assert_int_equal(info.st_mode & 07777, 0600);
}

/* ---- not the same ---- */

TEST(any_damage) {
  const char *trace = cached_export();
  char path[8192];
  snprintf(path, sizeof path, "%s", cache_path(LLMPROF_CACHE_COLUMNS));
  size_t size, ignored = 0;
  unsigned char *bytes = test_read(path, &size);
  for (size_t at = 0; at < size; at += at < 400 ? 1 : 61) {
    bytes[at] ^= 0x10;
    test_write_over(path, bytes, size);
    bytes[at] ^= 0x10;
    ignored += !check_same(trace);
  }
  assert_true(ignored > 136); /* of the header all is needed */
  free(bytes);
}

TEST(any_length) {
  const char *trace = cached_export();
  char path[8192];
  snprintf(path, sizeof path, "%s", cache_path(LLMPROF_CACHE_COLUMNS));
  size_t size;
  unsigned char *bytes = test_read(path, &size);
  for (size_t less = 1; less <= size; less += 211) {
    test_write_over(path, bytes, size - less);
    assert_false(check_same(trace));
  }
  test_write_over(path, bytes, 0);
  assert_false(check_same(trace));
  test_write_over(path, bytes, size);
  assert_true(check_same(trace));
  free(bytes);
}

TEST(foreign_files) {
  const char *trace = cached_export();
  char path[8192], beside[8300];
  snprintf(path, sizeof path, "%s", cache_path(LLMPROF_CACHE_COLUMNS));
  snprintf(beside, sizeof beside, "%s-beside", path);
  assert_int_equal(chmod(path, 0640), 0);
  assert_false(check_same(trace));
  assert_int_equal(chmod(path, 0604), 0);
  assert_false(check_same(trace));
  assert_int_equal(chmod(path, 0600), 0);
  assert_true(check_same(trace));
  assert_int_equal(link(path, beside), 0);
  assert_false(check_same(trace));
  assert_int_equal(unlink(path), 0);
  assert_int_equal(symlink(beside, path), 0);
  assert_false(check_same(trace));
  assert_int_equal(unlink(path), 0);
  assert_int_equal(mkfifo(path, 0600), 0);
  assert_false(check_same(trace));
  assert_int_equal(unlink(path), 0);
  assert_int_equal(rename(beside, path), 0);
  assert_true(check_same(trace));
}

/* Nobody but a superuser can give files away. */
TEST(files_of_others) {
  const char *trace = cached_export();
  const char *path = cache_path(LLMPROF_CACHE_COLUMNS);
  if (chown(path, 12345, (gid_t)-1) != 0) skip();
  assert_false(check_same(trace));
}

static void set_times(const char *path, const struct stat *info) {
  const struct timespec times[2] = {info->st_atim, info->st_mtim};
  assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void change_byte(const char *path, off_t at) {
  unsigned char byte;
  int fd = open(path, O_RDWR);
  assert_true(fd >= 0);
  assert_int_equal(pread(fd, &byte, 1, at), 1);
  assert_int_equal(pwrite(fd, &byte, 1, at), 1);
  assert_int_equal(close(fd), 0);
}

TEST(a_trace_that_changed) {
  const char *path = cached_export();
  struct stat info;
  assert_int_equal(stat(path, &info), 0);
  assert_true(check_same(path));
  change_byte(path, info.st_size / 2); /* the same contents, another time */
  settle();
  assert_false(check_same(path));
  set_times(path, &info); /* and the old time */
  settle();
  assert_false(check_same(path));
  read_and_save(path);
  read_and_save(path);
  assert_true(check_same(path));
}

TEST(a_journal_beside_it) {
  const char *path = cached_export();
  char journal[8192];
  snprintf(journal, sizeof journal, "%s-wal", path);
  test_write_over(test_file("empty", "", 0), "", 0);
  int fd = open(journal, O_WRONLY | O_CREAT, 0600);
  assert_int_equal(write(fd, "x", 1), 1);
  close(fd);
  llmprof_cache_options options = everything();
  llmprof_error err = {0};
  assert_null(llmprof_cache_open(path, &options, &err));
  assert_int_equal(err.code, LLMPROF_SYNTAX);
  assert_int_equal(unlink(journal), 0);
}

TEST(changed_while_open) {
  const char *path = test_export();
  fresh_folder();
  settle();
  llmprof_error err = {0};
  llmprof_trace *trace = open_cached(path);
  assert_true(read_trace(trace, &err));
  change_byte(path, 600);
  assert_false(llmprof_cache_save(trace, &err));
  assert_int_equal(err.code, LLMPROF_IO);
  llmprof_trace_close(trace);
  assert_string_equal(cache_path(LLMPROF_CACHE_COLUMNS), "");
}

/* At a moment that is not over before it is read, on a busy machine too. */
TEST(what_is_still_written) {
  fresh_folder();
  const char *path = test_export();
  time_t moment = time(NULL) + 3600;
  const struct timespec times[2] = {{.tv_sec = moment}, {.tv_sec = moment}};
  assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
  read_and_save(path);
  assert_string_equal(cache_path(LLMPROF_CACHE_COLUMNS), "");
  assert_int_equal(utimensat(AT_FDCWD, path, NULL, 0), 0);
}

TEST(small_traces) {
  const char *path = test_export();
  fresh_folder();
  settle();
  llmprof_cache_options options = everything();
  options.least = 1 << 30;
  llmprof_error err = {0};
  llmprof_trace *trace = llmprof_cache_open(path, &options, &err);
  assert_true(read_trace(trace, &err));
  assert_true(llmprof_cache_save(trace, &err));
  llmprof_trace_close(trace);
  assert_false(llmprof_fs_stat(folder, &(llmprof_fs_info){0}, NULL));
}

/* ---- several processes, little room ---- */

TEST(one_writes_at_a_time) {
  const char *path = test_export();
  fresh_folder();
  settle();
  llmprof_error err = {0};
  llmprof_lock *lock = llmprof_cache_folder_hold(folder, &err);
  assert_non_null(lock);
  llmprof_trace *trace = open_cached(path);
  assert_true(read_trace(trace, &err));
  assert_false(llmprof_cache_save(trace, &err));
  assert_int_equal(err.code, LLMPROF_BUSY);
  llmprof_lock_free(lock);
  assert_true(llmprof_cache_save(trace, &err));
  llmprof_trace_close(trace);
}

static const char *shared_path;

static int use_it_often(void) {
  for (int i = 0; i < 20; i++) {
    llmprof_error err = {0};
    llmprof_cache_options options = everything();
    llmprof_trace *trace = llmprof_cache_open(shared_path, &options, &err);
    if (!trace || !read_trace(trace, &err)) return 1;
    llmprof_cache_save(trace, &err); /* or another does */
    llmprof_trace_close(trace);
    if (i % 5 == 4) unlink(cache_path(LLMPROF_CACHE_COLUMNS));
  }
  return 0;
}

static int several_children(void) {
  pid_t children[4];
  int failed = 0, status;
  for (int i = 0; i < 4; i++) {
    children[i] = fork();
    if (children[i] == 0) _exit(use_it_often());
  }
  for (int i = 0; i < 4; i++)
    failed += waitpid(children[i], &status, 0) < 0 || status != 0;
  return failed;
}

TEST(several_processes) {
  shared_path = test_export();
  fresh_folder();
  settle();
  test_in_child(several_children);
  read_and_save(shared_path);
  read_and_save(shared_path);
  assert_true(check_same(shared_path));
}

static void make_file(const char *name, size_t size, time_t used) {
  char path[8192];
  unsigned char *zeros = calloc(size, 1);
  snprintf(path, sizeof path, "%s/%s", folder, name);
  int fd = open(path, O_WRONLY | O_CREAT, 0600);
  assert_true(fd >= 0 && zeros);
  assert_int_equal(write(fd, zeros, size), (ssize_t)size);
  const struct timespec times[2] = {{.tv_sec = used}, {.tv_sec = used}};
  assert_int_equal(futimens(fd, times), 0);
  close(fd);
  free(zeros);
}

static bool has_file(const char *name) {
  char path[8192];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return access(path, F_OK) == 0;
}

#define OLD   "00000000000000000000000000000001.columns"
#define OLDER "00000000000000000000000000000002.columns"
#define NEWER "00000000000000000000000000000004.columns"
#define OTHER "00000000000000000000000000000003.else"

TEST(the_oldest_go) {
  llmprof_error err = {0};
  llmprof_lock_free(llmprof_cache_folder_hold(fresh_folder(), &err));
  make_file(OLD, 300, 2000);
  make_file(OLDER, 300, 1000);
  make_file(NEWER, 100, 3000);
  make_file(OTHER, 5000, 1);
  assert_true(llmprof_cache_folder_make_space(folder, "", 100, 800, &err));
  assert_true(has_file(OLD) && has_file(OLDER) && has_file(NEWER));
  assert_true(llmprof_cache_folder_make_space(folder, "", 101, 800, &err));
  assert_true(has_file(OLD) && !has_file(OLDER) && has_file(NEWER));
  assert_false(llmprof_cache_folder_make_space(folder, "", 801, 800, &err));
  assert_int_equal(err.code, LLMPROF_LIMIT);
  assert_true(llmprof_cache_folder_make_space(folder, "", 800, 800, &err));
  assert_true(!has_file(OLD) && !has_file(NEWER) && has_file(OTHER));
}

TEST(a_trace_too_large) {
  const char *path = test_export();
  fresh_folder();
  settle();
  llmprof_cache_options options = everything();
  options.most = 2000;
  for (int i = 0; i < 3; i++) {
    llmprof_error err = {0};
    llmprof_trace *trace = llmprof_cache_open(path, &options, &err);
    assert_true(read_trace(trace, &err));
    if (!llmprof_cache_save(trace, &err))
      assert_int_equal(err.code, LLMPROF_LIMIT);
    llmprof_trace_close(trace);
  }
  assert_false(check_same(path));
}

static int save_on_a_full_disk(void) {
  const struct rlimit little = {3000, 3000};
  llmprof_error err = {0};
  llmprof_trace *trace = open_cached(shared_path);
  if (!read_trace(trace, &err)) return 1;
  signal(SIGXFSZ, SIG_IGN);
  if (setrlimit(RLIMIT_FSIZE, &little) != 0) return TEST_CANNOT;
  if (llmprof_cache_save(trace, &err)) return 2;
  if (err.code != LLMPROF_IO || !read_trace(trace, &err)) return 3;
  llmprof_trace_close(trace);
  return 0;
}

static size_t count_files(void) {
  llmprof_fs_names names;
  assert_true(llmprof_fs_list(folder, &names, NULL));
  size_t count = names.count;
  llmprof_fs_names_free(&names);
  return count;
}

TEST(a_full_disk) {
  shared_path = test_export();
  fresh_folder();
  settle();
  read_and_save(shared_path);
  assert_int_equal(count_files(), 1);
  test_in_child(save_on_a_full_disk);
  assert_int_equal(count_files(), 1);
}

TEST(a_folder_that_cannot_be) {
  const char *path = test_export();
  settle();
  snprintf(folder, sizeof folder, "%s/below", test_file("no-folder", "x", 1));
  llmprof_error err = {0};
  llmprof_trace *trace = open_cached(path);
  assert_true(read_trace(trace, &err));
  assert_false(llmprof_cache_save(trace, &err));
  llmprof_trace_close(trace);
}

TEST(no_cache) {
  llmprof_error err = {0};
  llmprof_trace *trace = llmprof_cache_open(test_export(), NULL, &err);
  assert_non_null(trace);
  assert_true(llmprof_cache_save(trace, &err));
  assert_false(llmprof_cache_was_used(trace));
  llmprof_trace_close(trace);
}

/* ---- memory ---- */

static bool open_and_read(void *arg, llmprof_error *err) {
  llmprof_cache_options options = everything();
  llmprof_trace *trace = llmprof_cache_open(arg, &options, err);
  bool ok = trace && read_trace(trace, err);
  llmprof_trace_close(trace);
  return ok;
}

static bool open_and_save(void *arg, llmprof_error *err) {
  llmprof_cache_options options = everything();
  llmprof_trace *trace = llmprof_cache_open(arg, &options, err);
  bool ok = trace && llmprof_trace_calls(trace, err) &&
            llmprof_cache_save(trace, err);
  llmprof_trace_close(trace);
  return ok;
}

TEST(without_memory) {
  const char *path = cached_export();
  test_every_allocation(open_and_read, (void *)(uintptr_t)path);
  test_every_allocation(open_and_save, (void *)(uintptr_t)path);
}

#include "support.h"

#include "frame/cells.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_size_t live, made;
static size_t fail_at; /* 0: never */

static void *counting_reallocate(void *ptr, size_t size) {
  size_t number = ++made;
  if (fail_at && number == fail_at) return NULL;
  void *got = realloc(ptr, size);
  if (got && !ptr) live++;
  return got;
}

static void counting_release(void *ptr) {
  live--;
  free(ptr);
}

size_t test_live_blocks(void) {
  return live;
}

/* One by one, or further and further apart. */
static size_t next_allocation(size_t n) {
  return n + (getenv("LLMPROF_TEST_FEW") ? 1 + n / 8 : 1);
}

void test_every_allocation(test_body body, void *arg) {
  static const llmprof_allocator counting = {counting_reallocate,
                                             counting_release};
  llmprof_set_allocator(&counting);
  bool done = false;
  for (size_t n = 1; !done; n = next_allocation(n)) {
    size_t before = live;
    llmprof_error err = {0};
    made = 0;
    fail_at = n;
    bool ok = body(arg, &err);
    bool failed_one = made >= fail_at;
    fail_at = 0;
    if (live != before)
      fail_msg("allocation %zu failing: %zu blocks leak", n, live - before);
    if (!failed_one && !ok) fail_msg("fails unprovoked: %s", err.message);
    if (!ok && err.code != LLMPROF_NOMEM)
      fail_msg("allocation %zu failing is reported as: %s", n, err.message);
    done = !failed_one;
  }
  llmprof_set_allocator(NULL);
}

void test_every_prefix(const char *bytes, size_t size, test_prefix_body body) {
  for (size_t n = 0; n <= size; n++) {
    char *copy = malloc(n ? n : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, n);
    body(copy, n);
    free(copy);
  }
}

void test_error_of(const llmprof_error *err, llmprof_code code,
                   const char *path, const char *rest) {
  assert_int_equal(err->code, code);
  assert_memory_equal(err->message, path, strlen(path));
  assert_string_equal(err->message + strlen(path), rest);
}

void test_in_child(int (*body)(void)) {
  pid_t pid = fork();
  if (pid == 0) _exit(body());
  int status;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  if (WIFEXITED(status) && WEXITSTATUS(status) == TEST_CANNOT) skip();
  assert_int_equal(status, 0);
}

bool test_add(llmprof_frame *frame, const test_column *column) {
  llmprof_column added = {.name = column->name,
                          .unit = column->unit,
                          .type = column->type,
                          .strings = column->strings,
                          .values = column->values};
  if (!added.values)
    added.values = llmprof_frame_array(frame, column->type, column->data);
  if (added.values && column->index)
    added.values = llmprof_frame_pick(frame, column->index, added.values);
  return added.values && llmprof_frame_add(frame, &added, NULL, NULL);
}

llmprof_frame *test_frame(size_t rows, const llmprof_strings *strings,
                          const test_column *columns, size_t count) {
  llmprof_frame *frame = llmprof_frame_new(rows, strings);
  for (size_t i = 0; frame && i < count; i++) {
    if (test_add(frame, &columns[i])) continue;
    llmprof_frame_free(frame);
    return NULL;
  }
  return frame;
}

static const llmprof_column *column_of(llmprof_frame *frame, const char *name) {
  llmprof_error err = {0};
  size_t number = llmprof_frame_find(frame, name);
  assert_int_not_equal(number, SIZE_MAX);
  const llmprof_column *column = llmprof_frame_column(frame, number, &err);
  if (!column) fail_msg("%s", err.message);
  return column;
}

static void keep(void *user, size_t first, const llmprof_summary *summaries,
                 size_t count) {
  llmprof_summary *all = user;
  memcpy(all + first, summaries, count * sizeof *all);
}

bool test_summarize(llmprof_frame *frame, size_t column,
                    const llmprof_groups *groups, const double *wanted,
                    size_t wanted_count, llmprof_summary *summaries,
                    llmprof_error *err) {
  return llmprof_summarize(frame, column, groups, wanted, wanted_count, keep,
                           summaries, err);
}

int64_t test_cell(llmprof_frame *frame, const char *name, size_t row) {
  return llmprof_cell(column_of(frame, name), row);
}

const char *test_cell_text(llmprof_frame *frame, const char *name, size_t row) {
  return llmprof_cell_text(frame, column_of(frame, name), row, "absent");
}

void test_expect_cells(llmprof_frame *frame, const char *name,
                       const int64_t *expected, size_t count) {
  const llmprof_column *column = column_of(frame, name);
  assert_int_equal(llmprof_frame_rows(frame), count);
  for (size_t row = 0; row < count; row++)
    assert_int_equal(llmprof_cell(column, row), expected[row]);
}

void test_put_rows(llmprof_buffer *out, llmprof_frame *frame,
                   const char *const *names, size_t count) {
  for (size_t row = 0; row < llmprof_frame_rows(frame); row++) {
    for (size_t i = 0; i < count; i++) {
      const llmprof_column *column = column_of(frame, names[i]);
      int64_t value = llmprof_cell(column, row);
      if (i) llmprof_buffer_putc(out, '|');
      if (value == LLMPROF_ABSENT)
        llmprof_buffer_putc(out, '-');
      else if (column->type == LLMPROF_STRING_ID)
        llmprof_buffer_puts(out, llmprof_cell_text(frame, column, row, NULL));
      else
        llmprof_buffer_printf(out, "%lld", (long long)value);
    }
    llmprof_buffer_putc(out, '\n');
  }
}

void test_expect_rows(llmprof_frame *frame, const char *expected,
                      const char *const *names, size_t count) {
  llmprof_buffer got = {0};
  llmprof_buffer_puts(&got, "");
  test_put_rows(&got, frame, names, count);
  assert_string_equal(got.bytes, expected);
  llmprof_buffer_free(&got);
}

/* ---- traces ---- */

llmprof_frame *test_frame_of(llmprof_trace *trace, const char *name) {
  llmprof_error err = {0};
  llmprof_frame *frame = llmprof_trace_frame(trace, name, &err);
  if (!frame) fail_msg("%s", err.message);
  return frame;
}

const char *test_string_of(const llmprof_trace *trace, uint32_t string) {
  const char *found =
      llmprof_strings_get(llmprof_trace_strings(trace), string, NULL);
  return found ? found : "(none)";
}

void test_expect_said(llmprof_trace *trace, const char *const *wanted,
                      size_t count) {
  llmprof_error err = {0};
  size_t said;
  const llmprof_diagnostic *all = llmprof_trace_diagnostics(trace, &said, &err);
  for (size_t i = 0; i < said && i < count; i++) {
    const char *text = test_string_of(trace, all[i].text);
    if (!strstr(text, wanted[i])) fail_msg("%s: not %s", text, wanted[i]);
  }
  assert_int_equal(said, count);
}

/* ---- scratch files ---- */

static char folder[] = "/tmp/llmprof-test-XXXXXX";
static bool folder_made;

static int remove_entry(const char *path, const struct stat *info, int flag,
                        struct FTW *where) {
  return remove(path);
}

static void remove_folder(void) {
  nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

const char *test_folder(void) {
  if (!folder_made) {
    assert_non_null(mkdtemp(folder));
    folder_made = true;
    atexit(remove_folder);
  }
  return folder;
}

const char *test_in_folder(const char *name) {
  enum {
    KEPT = 64
  };
  static char paths[KEPT][1024];
  static size_t used;
  char *path = paths[used++ % KEPT];
  snprintf(path, sizeof paths[0], "%s/%s", test_folder(), name);
  return path;
}

const char *test_file(const char *name, const void *bytes, size_t size) {
  const char *path = test_in_folder(name);
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
  return path;
}

void test_write_over(const char *path, const void *bytes, size_t size) {
  int fd = open(path, O_WRONLY | O_TRUNC);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, bytes, size), (ssize_t)size);
  assert_int_equal(close(fd), 0);
}

/* Copies of an export that holds SECRET wherever it must not stay. */
#include "nsys/scrub.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exports.h"
#include "nsys/scrub_rules.h"
#include "read_export.h"
#include "sqlite/sqlite.h"
#include "text/text.h"
#include "trace/trace_events.h"

/* An export from tests/fixtures/secrets.sql, after `more`. */
static const char *make(const char *more) {
  size_t size;
  char *fixture = (char *)test_read(FIXTURES "/secrets.sql", &size);
  fixture[size] = '\0';
  size_t length = size + strlen(more) + 1;
  char *sql = malloc(length);
  assert_non_null(sql);
  snprintf(sql, length, "%s%s", more, fixture);
  const char *path = test_database("secrets.sqlite", sql);
  free(sql);
  free(fixture);
  return path;
}

/* A folder for copies, so that what is left behind is seen. */
static const char *output(void) {
  static char folder[256], path[300];
  snprintf(folder, sizeof folder, "%s/out", test_folder());
  mkdir(folder, 0700);
  snprintf(path, sizeof path, "%s/copy.sqlite", folder);
  return path;
}

static size_t files_in_output(void) {
  char folder[256];
  snprintf(folder, sizeof folder, "%s/out", test_folder());
  DIR *dir = opendir(folder);
  assert_non_null(dir);
  size_t count = 0;
  const struct dirent *entry;
  while ((entry = readdir(dir))) count += entry->d_name[0] != '.';
  closedir(dir);
  return count;
}

static size_t occurrences(const char *path, const char *word) {
  size_t size, count = 0, length = strlen(word);
  unsigned char *bytes = test_read(path, &size);
  for (size_t i = 0; i + length <= size; i++)
    count += memcmp(bytes + i, word, length) == 0;
  free(bytes);
  return count;
}

static void scrub(const char *from, llmprof_scrub_report *report) {
  llmprof_error err = {0};
  unlink(output());
  if (!llmprof_trace_scrub(from, output(), report, &err))
    fail_msg("%s", err.message);
}

/* ---- what goes and what stays ---- */

static void expect_scrubbed(const char *more) {
  const char *from = make(more);
  size_t secrets = occurrences(from, "SECRET");
  llmprof_scrub_report report;
  scrub(from, &report);
  assert_int_equal(report.rows, 21);
  assert_int_equal(report.tables, 5);
  assert_int_equal(report.strings, 2);
  assert_int_equal(occurrences(output(), "SECRET"), 0);
  assert_int_equal(occurrences(output(), "home"), 0);
  assert_int_equal(occurrences(output(), "KEPT"), 9);
  assert_int_equal(files_in_output(), 1);
  assert_int_equal(occurrences(from, "SECRET"), secrets); /* as it was */
}

TEST(what_goes_and_stays) {
  expect_scrubbed("");
}

TEST(kinds_of_file) {
  expect_scrubbed("PRAGMA auto_vacuum = FULL;");
  expect_scrubbed("PRAGMA page_size = 4096; VACUUM;");
}

/* Pages that a deleted row left behind are rewritten, too. */
TEST(free_pages) {
  expect_scrubbed("CREATE TABLE gone (a); INSERT INTO gone SELECT 'SECRET' || "
                  "hex(zeroblob(2000)); DROP TABLE gone;");
}

/* SQL of the export's own is not run: a column that is computed is no column.
 */
TEST(computed_columns) {
  expect_scrubbed(
      "CREATE TABLE OSRT_API (start INTEGER, name TEXT AS "
      "(printf('%.*c', 300000000, 'SECRET')), end INTEGER AS (start) STORED);"
      "INSERT INTO OSRT_API(start) VALUES (1), (2);");
}

/* ---- the rules ---- */

static void expect_program(const char *name, const char *program) {
  llmprof_buffer out = {0};
  llmprof_text_program(&out, name);
  assert_string_equal(out.bytes ? out.bytes : "", program);
  llmprof_buffer_free(&out);
}

TEST(programs) {
  expect_program("python3", "python3");
  expect_program("./tiny", "tiny");
  expect_program("VLLM::Worker_TP0", "VLLM::Worker_TP0");
  expect_program("/usr/bin/python3.12", "python3.12");
  expect_program("/usr/bin/python3 --api-key=S /home/s", "python3");
  expect_program("python train.py S", "python");
  expect_program("/home/John Doe/bin/python3 x", "process");
  expect_program("TOKEN=S python", "process");
  expect_program("/home/s/", "process");
  expect_program(" S", "process");
  expect_program("", "");
}

static void expect_thread(const char *name, const char *shown) {
  llmprof_buffer out = {0};
  llmprof_scrub_thread(&out, name);
  assert_string_equal(out.bytes, shown);
  llmprof_buffer_free(&out);
}

TEST(threads) {
  expect_thread("[NSys Comms]", "[NSys Comms]");
  expect_thread("pt_autograd_0", "pt_autograd_0");
  expect_thread("python --key S", "python");
  expect_thread("/opt/S/run", "run");
}

static void expect_place(const char *name, const char *shown) {
  llmprof_buffer out = {0};
  llmprof_buffer_puts(&out, "");
  llmprof_scrub_place(&out, name);
  assert_string_equal(out.bytes, shown);
  llmprof_buffer_free(&out);
}

TEST(places) {
  expect_place("/usr/lib/libc.so.6", "libc.so.6");
  expect_place("/home/John Doe/a b.so", "a b.so");
  expect_place("run(int)::{lambda(/home/John Doe/a.cc:3:4)#1}",
               "run(int)::{lambda(a.cc:3:4)#1}");
  expect_place("(anonymous class at /home/s/x.h:9:1)",
               "(anonymous class at x.h:9:1)");
  expect_place("operator/(int, int)", "operator/(int, int)");
  expect_place("std::enable_if<(N / 2)>", "std::enable_if<(N / 2)>");
  expect_place("torch/nn/linear.py", "torch/nn/linear.py");
  expect_place("[vdso]", "[vdso]");
  expect_place("/home/s/", "");
  expect_place("", "");
}

TEST(messages) {
  static const char *const kept[] = {
      "Profiling has started.",
      "Number of CUPTI events produced: \t55319, CUPTI buffers: 50.",
      ("Buffers holding CUDA trace data will be flushed on CudaProfilerStop() "
       "call. See --flush-on-cudaprofilerstop to control this behavior."),
      "No CUDA events collected. Does the process use CUDA?",
      "Some events were\nlost.",
      "a message was left out",
      "",
  };
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
    if (!llmprof_scrub_keeps_message(kept[i])) fail_msg("%s", kept[i]);
  static const char *const left_out[] = {
      "Process acme was started.",
      "read /home/user",
      "token 4f3a",
      "number 1234567890123",
      "lost of a\x1b[31m",
      "user@host",
      "A=B",
      "caf\xC3\xA9 started.",
  };
  for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
    if (llmprof_scrub_keeps_message(left_out[i])) fail_msg("%s", left_out[i]);
}

TEST(values) {
  static const struct {
    const char *table, *name, *value;
    bool kept;
  } rows[] = {
      {"META_DATA_CAPTURE", "COLLECT_CUDA_TRACE", "true", true},
      {"META_DATA_CAPTURE", "PROCESS_12:COLLECT_CUDA_TRACE", "0", true},
      {"META_DATA_CAPTURE", "PROCESS_:COLLECT_CUDA_TRACE", "0", false},
      {"META_DATA_CAPTURE", "PROCESS_0:ENVIRONMENT:START_TRIGGER", "Delayed",
       false},
      {"META_DATA_CAPTURE", "COLLECT_CUDA_TRACE", "yes", false},
      {"META_DATA_CAPTURE", "COLLECT_CUDA_TRACE", "", false},
      {"META_DATA_CAPTURE", "START_TRIGGER", "Delayed", true},
      {"META_DATA_CAPTURE", "START_TRIGGER", "Delayed Manual", false},
      {"META_DATA_CAPTURE", "START_TRIGGER", "layed", false},
      {"META_DATA_CAPTURE", "START_TRIGGER", "Delayed|Manual", false},
      {"META_DATA_CAPTURE", "START_TRIGGER", "|", false},
      {"META_DATA_EXPORT", "EXPORT_PRODUCT_NAME", "NVIDIA Nsight Systems",
       true},
      {"META_DATA_EXPORT", "EXPORT_SCHEMA_VERSION_CKSUM", "4021079525 170230",
       true},
      {"META_DATA_EXPORT", "EXPORT_TIME_UTC", "2026-11-20T21:03:52", true},
      {"META_DATA_EXPORT", "EXPORT_TIME_UTC", "somebody", false},
      {"TARGET_INFO_SYSTEM_ENV", "CpuDescription", "Intel(R) Xeon(R) @ 2.0GHz",
       true},
      {"TARGET_INFO_SYSTEM_ENV", "OsDescription", "Ubuntu 24.04.3 LTS", true},
      {"TARGET_INFO_SYSTEM_ENV", "OsDescription", "a/b", false},
      {"TARGET_INFO_SYSTEM_ENV", "CpuCores", "sixteen", false},
      {"OTHER", "CpuCores", "16", false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (llmprof_scrub_keeps_value(rows[i].table, rows[i].name, rows[i].value) !=
        rows[i].kept)
      fail_msg("%s: %s", rows[i].name, rows[i].value);
  }
}

/* The events are what they were: the trace reads the same. */
TEST(events_stay) {
  llmprof_error err = {0};
  scrub(test_export(), NULL);
  assert_true(read_export(output(), &err));
  llmprof_trace *trace = llmprof_trace_open(output(), &err);
  const llmprof_ops *ops = llmprof_trace_ops(trace, &err);
  assert_int_equal(ops->count, 9);
  assert_int_equal(llmprof_end_at(ops->start, ops->duration, 2), 260);
  assert_string_equal(llmprof_strings_get(llmprof_trace_strings(trace),
                                          llmprof_id_at(ops->name, 0), NULL),
                      "gemm(float *, int)");
  const llmprof_projections *found = llmprof_trace_projections(trace, &err);
  assert_non_null(found);
  assert_int_equal(found->count, 3);
  llmprof_trace_close(trace);
}

/* A second scrubbing has nothing to do. */
TEST(again) {
  llmprof_scrub_report report;
  scrub(make(""), NULL);
  size_t size;
  unsigned char *bytes = test_read(output(), &size);
  const char *scrubbed = test_file("scrubbed.sqlite", bytes, size);
  free(bytes);
  scrub(scrubbed, &report);
  assert_int_equal(report.tables, 0);
  assert_int_equal(report.strings, 0);
  assert_int_equal(report.rows, 0);
}

/* A copy of a read-only export can be written, and is readable by the same. */
TEST(read_only_export) {
  const char *from = make("");
  struct stat info;
  assert_int_equal(chmod(from, 0440), 0);
  scrub(from, NULL);
  assert_int_equal(stat(output(), &info), 0);
  assert_int_equal(info.st_mode & 0777, 0640);
  assert_int_equal(unlink(from), 0); /* the next could not be written there */
}

/* ---- failures ---- */

static void expect_refused(const char *from, const char *to, llmprof_code code,
                           const char *path, const char *message) {
  llmprof_error err = {0};
  assert_false(llmprof_trace_scrub(from, to, NULL, &err));
  test_error_of(&err, code, path, message);
}

TEST(refusals) {
  const char *from = make(""), *to = output();
  unlink(to);
  const char *text = test_file("text", "no database", 11);
  expect_refused(text, to, LLMPROF_SYNTAX, text, ": not an SQLite database");
  expect_refused("/proc/none", to, LLMPROF_NOTFOUND, "/proc/none",
                 ": No such file or directory");
  size_t secrets = occurrences(from, "SECRET");
  expect_refused(from, from, LLMPROF_DENIED, from,
                 ": is the export itself; write to another file");
  char other[300];
  snprintf(other, sizeof other, "%s/./secrets.sqlite", test_folder());
  expect_refused(from, other, LLMPROF_DENIED, other,
                 ": is the export itself; write to another file");
  expect_refused(from, "/dev/null", LLMPROF_DENIED, "/dev/null",
                 ": not replaced: it is no regular file");
  expect_refused(from, test_folder(), LLMPROF_DENIED, test_folder(),
                 ": not replaced: it is no regular file");
  assert_int_equal(occurrences(from, "SECRET"), secrets);
  assert_int_equal(files_in_output(), 0);
}

/* A copy that fails leaves nothing, and what was there before stays. */
TEST(whole_or_not_at_all) {
  size_t size;
  llmprof_error err = {0};
  unsigned char *bytes = test_read(make(""), &size);
  scrub(make(""), NULL);
  bytes[92] ^= 1; /* the count of pages no longer counts */
  for (size_t n = 0; n <= size; n += n < size - 8 ? 397 : 1) {
    const char *from = test_file("cut.sqlite", bytes, n);
    if (llmprof_trace_scrub(from, output(), NULL, &err))
      assert_int_equal(occurrences(output(), "SECRET"), 0);
    else
      assert_memory_equal(err.message, from, strlen(from));
    assert_int_equal(files_in_output(), 1);
  }
  free(bytes);
}

TEST(flipped_bytes) {
  size_t size;
  llmprof_error err = {0};
  unsigned char *bytes = test_read(make(""), &size);
  for (size_t i = 0; i < size; i += 101) {
    bytes[i] ^= 0xff;
    unlink(output());
    const char *from = test_file("flipped.sqlite", bytes, size);
    bool ok = llmprof_trace_scrub(from, output(), NULL, &err);
    assert_int_equal(files_in_output(), ok);
    if (!ok) assert_memory_equal(err.message, from, strlen(from));
    bytes[i] ^= 0xff;
  }
  free(bytes);
}

static bool scrub_once(void *from, llmprof_error *err) {
  unlink(output());
  bool ok = llmprof_trace_scrub(from, output(), NULL, err);
  assert_int_equal(files_in_output(), ok);
  return ok;
}

TEST(allocations) {
  test_every_allocation(scrub_once, (void *)(uintptr_t)make(""));
}

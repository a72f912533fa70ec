/* The table of readers: each file is claimed by one of them, or by none. */
#include "llmprof/readers.h"

#include <ftw.h>
#include <string.h>

#include "os/fs.h"
#include "readers/readers.h"
#include "support.h"
#include "timeline_reader.h"

/* Whose a fixture is; NULL: nobody's. */
static const char *owner_of(const char *path) {
  static const struct {
    const char *part, *reader;
  } owners[] = {
      {".sqlite", "nsys"},
      {".folded", "folded"},
      {"/timelines/", "timeline"},
      {"/ncu/raw.csv", "ncu"},
      {"_raw.csv", "ncu"},
      {"_details.csv", "ncu"},
      {"/torch/run.json", "torch"},
      {"/torch/stacks.json", "torch"},
      {"/torch/lines.json", "torch"},
      {"averages.trace.json", "torch"},
      {".xplane.pb", "xplane"},
  };
  for (size_t i = 0; i < sizeof owners / sizeof *owners; i++)
    if (strstr(path, owners[i].part)) return owners[i].reader;
  return NULL;
}

enum {
  READERS = 16
};
static int files, files_of[READERS]; /* by reader: how many are its own */

/* The reader that claims a file, NULL: none does; two fail the test. */
static const llmprof_reader *claimed_by(const char *path) {
  const llmprof_reader *reader, *found = NULL;
  for (size_t r = 0; (reader = llmprof_reader_at(r)); r++) {
    llmprof_error err = {0};
    llmprof_claim claim = llmprof_reader_probe(reader, path, &err);
    if (claim == LLMPROF_CLAIM_FAILED) fail_msg("%s", err.message);
    if (claim == LLMPROF_CLAIM_NO) {
      assert_int_equal(err.code, LLMPROF_SYNTAX);
      continue;
    }
    if (found) fail_msg("%s: %s and %s", path, found->name, reader->name);
    found = reader;
    files_of[r]++;
  }
  return found;
}

static int check_file(const char *path, const struct stat *info, int type) {
  if (type != FTW_F) return 0;
  const llmprof_reader *reader = claimed_by(path);
  const char *name = reader ? reader->name : "nobody", *owner = owner_of(path);
  if (strcmp(name, owner ? owner : "nobody") != 0)
    fail_msg("%s: claimed by %s", path, name);
  llmprof_buffer bytes = {0};
  assert_true(llmprof_fs_read(path, SIZE_MAX, &bytes, NULL));
  claimed_by(test_file("cut", bytes.bytes, bytes.size < 300 ? 0 : 300));
  llmprof_buffer_free(&bytes);
  files++;
  return 0;
}

__attribute__((constructor)) static void add_reader(void) {
  llmprof_reader_add(&timeline_reader, NULL);
}

/* Whole, and cut: then by one at most. */
TEST(every_fixture_is_claimed_once) {
  assert_int_equal(ftw(FIXTURES, check_file, 8), 0);
  assert_true(files > 100);
  const llmprof_reader *reader;
  for (size_t r = 0; (reader = llmprof_reader_at(r)); r++)
    if (!files_of[r] && strcmp(reader->name, "spool") != 0) /* made by tests */
      fail_msg("%s: no file in tests/fixtures", reader->name);
}

static void assert_refused(const char *path, llmprof_code code,
                           const char *message, const char *what_to_do) {
  llmprof_error err = {0};
  llmprof_buffer hint = {0};
  assert_null(llmprof_trace_open(path, &err));
  assert_int_equal(err.code, code);
  if (!strstr(err.message, message)) fail_msg("%s", err.message);
  llmprof_reader_hint_for(path, &hint);
  if (!strstr(hint.bytes, what_to_do)) fail_msg("%s", hint.bytes);
  llmprof_buffer_free(&hint);
}

TEST(refusals) {
  static const char list[] = "Nsight Systems; recording of ";
  static const unsigned char packed[] = {0x1F, 0x8B, 8, 0, 'x', 'y'};
#define FILE_OF(name, bytes) test_file(name, bytes, sizeof bytes - 1)
  assert_refused(FILE_OF("a.sqlite", ""), LLMPROF_SYNTAX,
                 "a.sqlite: no trace: an empty file", list);
  assert_refused(FILE_OF("a.out", "\x7F"
                                  "ELF\2"),
                 LLMPROF_SYNTAX, ": no trace: an ELF program", list);
  assert_refused(FILE_OF("a.json", "{\"a\": 1}"), LLMPROF_SYNTAX,
                 ": no trace: JSON", list);
  assert_refused(FILE_OF("a.gz", packed), LLMPROF_SYNTAX,
                 ": no trace: gzip that is damaged", list);
  assert_refused(FILE_OF("a.nsys-rep", "\1\2"), LLMPROF_SYNTAX,
                 ": no trace: data of no known format", "a.nsys-rep");
  assert_refused(FIXTURES "/small/ncu/raw.csv", LLMPROF_UNSUPPORTED,
                 ": no timeline but a CSV page of Nsight Compute",
                 "llmprof repl " FIXTURES "/small/ncu/raw.csv");
  assert_refused(FIXTURES "/odd/other.sqlite", LLMPROF_UNSUPPORTED,
                 ": an SQLite file, but no Nsight Systems export",
                 "nsys export");
}

TEST(opening) {
  llmprof_error err = {0};
  llmprof_trace *trace =
      llmprof_trace_open(FIXTURES "/timelines/broken.txt", &err);
  assert_non_null(trace);
  assert_string_equal(llmprof_trace_reader(trace), "timeline");
  llmprof_trace_close(trace);
  assert_null(llmprof_trace_open(FIXTURES "/export.sql", &err));
  assert_int_equal(err.code, LLMPROF_SYNTAX);
  assert_null(llmprof_trace_open("/proc/none", &err));
  assert_int_equal(err.code, LLMPROF_NOTFOUND);
}

/* Last: the table is full after it. */
TEST(a_full_table) {
  static llmprof_reader more[READERS];
  llmprof_error err = {0};
  assert_true(llmprof_reader_add(&timeline_reader, &err)); /* it is there */
  size_t count = 0, added = 0;
  while (llmprof_reader_at(count)) count++;
  for (size_t i = 0; i < READERS; i++) more[i].name = "more";
  while (added < READERS && llmprof_reader_add(&more[added], &err)) added++;
  assert_true(added > 0 && added < READERS);
  assert_int_equal(err.code, LLMPROF_LIMIT);
  assert_ptr_equal(llmprof_reader_at(count + added - 1), &more[added - 1]);
  assert_null(llmprof_reader_at(count + added));
}

/* What loops long stops when it shall. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/interrupt.h"
#include "formats/csv.h"
#include "formats/json.h"
#include "formats/yaml.h"
#include "frame/sort.h"
#include "llmprof/alloc.h"
#include "llmprof/frame.h"
#include "llmprof/strings.h"
#include "os/fs.h"
#include "os/sink.h"
#include "os/source.h"
#include "sqlite/sqlite.h"
#include "support.h"
#include "torch/chrome_trace.h"

/* ---- inputs ---- */

static llmprof_buffer repeated(const char *head, const char *piece,
                               const char *tail, size_t count) {
  llmprof_buffer text = {0};
  llmprof_buffer_puts(&text, head);
  for (size_t i = 0; i < count; i++) llmprof_buffer_puts(&text, piece);
  llmprof_buffer_puts(&text, tail);
  assert_false(text.failed);
  return text;
}

/* ---- what loops ---- */

static bool parse_json(llmprof_error *err) {
  llmprof_buffer text = repeated("[0", ",1.5", "]", 1 << 18);
  llmprof_value *value =
      llmprof_json_parse(text.bytes, text.size, "x.json", err);
  llmprof_value_free(value);
  llmprof_buffer_free(&text);
  return value != NULL;
}

static bool parse_yaml(llmprof_error *err) {
  llmprof_buffer text = repeated("", "- text\n", "", 1 << 14);
  llmprof_value *value =
      llmprof_yaml_parse(text.bytes, text.size, "x.yaml", err);
  llmprof_value_free(value);
  llmprof_buffer_free(&text);
  return value != NULL;
}

static bool read_csv(llmprof_error *err) {
  llmprof_buffer text = repeated("a,b\n", "12,text\n", "", 1 << 16);
  const char *path = test_file("x.csv", text.bytes, text.size);
  llmprof_buffer_free(&text);
  llmprof_csv *csv = llmprof_csv_open(path, NULL, err);
  llmprof_csv_row row;
  int got = csv ? 1 : -1;
  while (got == 1) got = llmprof_csv_next(csv, &row, err);
  llmprof_csv_close(csv);
  return got == 0;
}

static bool read_events(llmprof_error *err) {
  llmprof_buffer text = repeated(
      "[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1}",
      ",{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1}", "]", 1 << 14);
  const char *path = test_file("x.json", text.bytes, text.size);
  llmprof_buffer_free(&text);
  llmprof_chrome *events = llmprof_chrome_open(path, err);
  llmprof_chrome_event event;
  llmprof_chrome_damage damage = {0};
  int got = events ? 1 : -1;
  while (got == 1) got = llmprof_chrome_next(events, &event, &damage, err);
  llmprof_chrome_close(events);
  return got == 0;
}

/* A pass reads each row twice; 8 bytes of a key are as many passes. */
static bool sort_rows(llmprof_error *err) {
  size_t count = 1 << 15;
  uint32_t *rows = malloc(count * sizeof *rows);
  int64_t *keys = malloc(count * sizeof *keys);
  assert_true(rows && keys);
  uint64_t random = 1;
  for (size_t i = 0; i < count; i++) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    rows[i] = (uint32_t)i;
    keys[i] = (int64_t)random;
  }
  bool ok = llmprof_sort_rows_i64(rows, count, keys) || llmprof_fail_nomem(err);
  free(rows);
  free(keys);
  return ok;
}

static bool write_file(bool packed, llmprof_error *err) {
  static char bytes[1 << 16];
  llmprof_buffer piece = {0};
  const char *path = test_in_folder("written");
  llmprof_sink *sink = llmprof_sink_open(path, packed, err);
  if (!sink) return false;
  bool ok = true;
  for (int i = 0; ok && i < 64; i++) {
    llmprof_buffer_add(&piece, bytes, sizeof bytes);
    ok = llmprof_sink_write(sink, &piece, err);
  }
  llmprof_buffer_free(&piece);
  if (ok) return llmprof_sink_commit(sink, err);
  llmprof_sink_discard(sink);
  return false;
}

/* All at once, as a large column is. */
static bool write_whole(llmprof_error *err) {
  const size_t size = 1 << 22;
  char *bytes = calloc(size, 1);
  assert_non_null(bytes);
  const char *path = test_in_folder("whole");
  bool ok = llmprof_fs_write_soon(path, bytes, size, err);
  free(bytes);
  return ok;
}

/* 64 MiB, in pieces of 8. */
static bool settle(llmprof_error *err) {
  const char *path = test_in_folder("long");
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_int_equal(ftruncate(fileno(file), 64 << 20), 0);
  fclose(file);
  return llmprof_fs_sync(path, err);
}

static bool write_plain(llmprof_error *err) {
  return write_file(false, err);
}

static bool write_packed(llmprof_error *err) {
  return write_file(true, err);
}

static bool unpack(llmprof_error *err) {
  const char *bytes;
  const char *path = test_in_folder("written");
  llmprof_source *source = llmprof_source_open(path, err);
  size_t size = 1;
  bool ok = source != NULL;
  while (ok && size) ok = llmprof_source_next(source, &bytes, &size, err);
  llmprof_source_close(source);
  return ok;
}

/* So many rows are what the virtual machine of SQLite steps over. */
static bool query(llmprof_error *err) {
  llmprof_sqlite *db = llmprof_sqlite_open(FIXTURES "/small/run.sqlite", err);
  llmprof_query *made =
      db ? llmprof_sqlite_query(db,
                                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL "
                                "SELECT i + 1 FROM n LIMIT 300000) "
                                "SELECT count(*) FROM n",
                                err)
         : NULL;
  int got = made ? 1 : -1;
  while (got == 1) got = llmprof_query_step(made, err);
  llmprof_query_free(made);
  llmprof_sqlite_close(db);
  return got == 0;
}

/* ---- the tests ---- */

typedef struct phase {
  const char *name;
  bool (*run)(llmprof_error *err);
} phase;

static const phase phases[] = {
    {"JSON", parse_json},
    {"YAML", parse_yaml},
    {"CSV", read_csv},
    {"events", read_events},
    {"sort", sort_rows},
    {"write", write_plain},
    {"write packed", write_packed},
    {"write whole", write_whole},
    {"settle", settle},
    {"unpack", unpack},
    {"SQL", query},
};

TEST(stops) {
  assert_true(write_packed(NULL)); /* what is unpacked */
  for (size_t i = 0; i < sizeof phases / sizeof *phases; i++) {
    llmprof_error err = {0};
    llmprof_interrupt(true);
    bool ok = phases[i].run(&err);
    llmprof_interrupt(false);
    if (ok || err.code != LLMPROF_INTERRUPTED)
      fail_msg("%s: not stopped: %s", phases[i].name, ok ? "" : err.message);
  }
}

/* Half-made things are freed: the others are looked at by their own tests. */
TEST(nothing_leaks) {
  size_t before = test_live_blocks();
  test_stops(NULL);
  assert_int_equal(test_live_blocks(), before);
}

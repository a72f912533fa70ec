#include "exports.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *test_database(const char *name, const char *sql) {
  const char *path = test_file(name, "", 0);
  sqlite3 *db;
  char *message = NULL;
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  if (sqlite3_exec(db, "PRAGMA page_size = 512; PRAGMA synchronous = OFF;", 0,
                   0, &message) != SQLITE_OK ||
      sqlite3_exec(db, sql, 0, 0, &message) != SQLITE_OK)
    fail_msg("%s", message);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
  return path;
}

unsigned char *test_read(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  assert_int_equal(fseek(file, 0, SEEK_END), 0);
  *size = (size_t)ftell(file);
  rewind(file);
  unsigned char *bytes = malloc(*size + 1);
  assert_non_null(bytes);
  assert_int_equal(fread(bytes, 1, *size, file), *size);
  fclose(file);
  return bytes;
}

llmprof_trace *test_trace(const char *sql) {
  llmprof_error err = {0};
  llmprof_trace *trace =
      llmprof_trace_open(test_database("trace.sqlite", sql), &err);
  if (!trace) fail_msg("%s", err.message);
  return trace;
}

/* ---- reading all of an export ---- */

static bool sum_up(llmprof_frame *frame, size_t column, llmprof_error *err) {
  llmprof_groups groups;
  if (!llmprof_groups_make(&groups, frame, &column, 1, err)) return false;
  llmprof_summary *summaries = malloc((groups.count + 1) * sizeof *summaries);
  assert_non_null(summaries);
  llmprof_error ignored = {0};
  bool ok =
      llmprof_frame_peek(frame, column)->type == LLMPROF_STRING ||
      llmprof_summarize(frame, column, &groups, NULL, 0, summaries, &ignored);
  free(summaries);
  llmprof_groups_free(&groups);
  if (!ok && ignored.code != LLMPROF_RANGE && err) *err = ignored;
  return ok || ignored.code == LLMPROF_RANGE;
}

static bool read_frame(llmprof_trace *trace, const char *name,
                       llmprof_error *err) {
  static const char *const tags[] = {"decode", "prefill"};
  llmprof_frame *frame = llmprof_trace_frame(trace, name, err);
  if (!frame) return false;
  bool ok = llmprof_frame_find(frame, "op") == SIZE_MAX ||
            llmprof_trace_label(trace, frame, "stage", tags, 2, err);
  for (size_t c = 0; ok && c < llmprof_frame_columns(frame); c++) {
    const llmprof_column *column = llmprof_frame_column(frame, c, err);
    ok = column && sum_up(frame, c, err);
    for (size_t row = 0; ok && row < llmprof_frame_rows(frame); row++) {
      int64_t cell = llmprof_cell(column, row);
      if (column->type == LLMPROF_STRING && cell != INT64_MIN)
        assert_non_null(llmprof_strings_get(llmprof_trace_strings(trace),
                                            (uint32_t)cell, NULL));
    }
  }
  llmprof_frame_free(frame);
  return ok;
}

bool test_read_export(const char *path, llmprof_error *err) {
  llmprof_trace *trace = llmprof_trace_open(path, err);
  bool ok = trace != NULL;
  const char *name;
  for (size_t i = 0; ok && (name = llmprof_trace_frame_name(i)); i++)
    ok = read_frame(trace, name, err);
  llmprof_trace_close(trace);
  return ok;
}

const char *test_export(void) {
  static char path[256];
  if (!*path) {
    size_t size;
    char *sql = (char *)test_read(FIXTURES "/export.sql", &size);
    sql[size] = '\0';
    snprintf(path, sizeof path, "%s", test_database("export.sqlite", sql));
    free(sql);
  }
  return path;
}

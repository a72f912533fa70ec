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

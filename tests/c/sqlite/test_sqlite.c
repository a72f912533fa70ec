#include "sqlite/sqlite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exports.h"
#include "sqlite/sqlite_file.h"

static const char table_sql[] =
    "CREATE TABLE t (i INTEGER, d REAL, s TEXT, b BLOB);"
    "INSERT INTO t VALUES (1, 0.5, 'one', x'0001'), (-9223372036854775808, "
    "-1e300, 'a' || char(0) || 'b', ''), (NULL, NULL, NULL, NULL), (0, 2, '', "
    "x'');"
    "CREATE VIEW v AS SELECT * FROM t;";

static llmprof_sqlite *open_database(const char *path) {
  llmprof_error err = {0};
  llmprof_sqlite *db = llmprof_sqlite_open(path, &err);
  if (!db) fail_msg("%s", err.message);
  return db;
}

static llmprof_sqlite *open_table(void) {
  return open_database(test_database("t.sqlite", table_sql));
}

static int set_up(void **state) {
  *state = open_table();
  return 0;
}

static int tear_down(void **state) {
  llmprof_sqlite_close(*state);
  return 0;
}

static llmprof_query *prepare(llmprof_sqlite *db, const char *sql) {
  llmprof_error err = {0};
  llmprof_query *query = llmprof_sqlite_query(db, sql, &err);
  if (!query) fail_msg("%s", err.message);
  return query;
}

/* ---- rows ---- */

static void expect_text(const llmprof_query *query, int column,
                        const char *bytes, size_t size) {
  size_t got;
  const char *text = llmprof_query_text(query, column, &got);
  assert_int_equal(got, size);
  assert_memory_equal(text, bytes, size);
}

TEST_WITH(rows, set_up, tear_down) {
  llmprof_error err;
  llmprof_sqlite *db = *state;
  llmprof_query *query = prepare(db, "SELECT i, d, s, b FROM t");
  assert_int_equal(llmprof_query_columns(query), 4);
  assert_string_equal(llmprof_query_name(query, 1), "d");
  assert_int_equal(llmprof_query_step(query, &err), 1);
  assert_int_equal(llmprof_query_type(query, 0), LLMPROF_SQL_INT);
  assert_int_equal(llmprof_query_type(query, 1), LLMPROF_SQL_DOUBLE);
  assert_int_equal(llmprof_query_type(query, 2), LLMPROF_SQL_TEXT);
  assert_int_equal(llmprof_query_type(query, 3), LLMPROF_SQL_TEXT);
  assert_int_equal(llmprof_query_int(query, 0), 1);
  assert_true(llmprof_query_double(query, 1) == 0.5);
  expect_text(query, 2, "one", 3);
  expect_text(query, 3, "\0\1", 2);
  assert_int_equal(llmprof_query_step(query, &err), 1);
  assert_true(llmprof_query_int(query, 0) == INT64_MIN);
  expect_text(query, 2, "a\0b", 3);
  assert_int_equal(llmprof_query_step(query, &err), 1);
  for (int i = 0; i < 4; i++)
    assert_int_equal(llmprof_query_type(query, i), LLMPROF_SQL_NULL);
  expect_text(query, 2, "", 0);
  assert_int_equal(llmprof_query_step(query, &err), 1);
  expect_text(query, 3, "", 0);
  assert_int_equal(llmprof_query_step(query, &err), 0);
  llmprof_query_free(query);
}

TEST_WITH(ints, set_up, tear_down) {
  llmprof_error err;
  llmprof_sqlite *db = *state;
  llmprof_query *query = prepare(db, "SELECT 7, NULL, 0, '12x', -1");
  assert_int_equal(llmprof_query_step(query, &err), 1);
  int64_t got[5];
  llmprof_query_ints(query, got, 5);
  static const int64_t expected[] = {7, INT64_MIN, 0, 12, -1};
  assert_memory_equal(got, expected, sizeof got);
  llmprof_query_free(query);
}

TEST_WITH(parameters, set_up, tear_down) {
  llmprof_error err;
  llmprof_sqlite *db = *state;
  llmprof_query *query = prepare(db, "SELECT ?, ?, ?, ?");
  assert_int_equal(llmprof_query_parameters(query), 4);
  char text[] = "a\0b";
  assert_true(llmprof_query_bind_int(query, 1, INT64_MAX));
  assert_true(llmprof_query_bind_double(query, 2, -0.5));
  assert_true(llmprof_query_bind_text(query, 3, text, 3));
  assert_true(llmprof_query_bind_null(query, 4));
  assert_false(llmprof_query_bind_int(query, 5, 1));
  assert_false(llmprof_query_bind_null(query, 0));
  text[0] = 'x'; /* was copied */
  assert_int_equal(llmprof_query_step(query, &err), 1);
  assert_true(llmprof_query_int(query, 0) == INT64_MAX);
  assert_true(llmprof_query_double(query, 1) == -0.5);
  expect_text(query, 2, "a\0b", 3);
  assert_int_equal(llmprof_query_type(query, 3), LLMPROF_SQL_NULL);
  llmprof_query_free(query);
}

/* A query outlives its database's handle. */
TEST(closed_before_its_query) {
  llmprof_error err;
  llmprof_sqlite *db = open_table();
  llmprof_query *query = prepare(db, "SELECT i FROM t");
  llmprof_sqlite_close(db);
  assert_int_equal(llmprof_query_step(query, &err), 1);
  assert_int_equal(llmprof_query_int(query, 0), 1);
  llmprof_query_free(query);
  llmprof_query_free(NULL);
  llmprof_sqlite_close(NULL);
}

static void expect_no_query(llmprof_sqlite *db, const char *sql,
                            const char *message) {
  llmprof_error err = {0};
  assert_null(llmprof_sqlite_query(db, sql, &err));
  test_error_of(&err, LLMPROF_SYNTAX, llmprof_sqlite_path(db), message);
}

TEST_WITH(bad_sql, set_up, tear_down) {
  llmprof_sqlite *db = *state;
  expect_no_query(db, "SELEC 1", ": near \"SELEC\": syntax error");
  expect_no_query(db, "SELECT x FROM t", ": no such column: x");
  expect_no_query(db, "SELECT 1 FROM u", ": no such table: u");
  expect_no_query(db, "", ": empty SQL statement");
  expect_no_query(db, " -- nothing", ": empty SQL statement");
  expect_no_query(db, "SELECT 1; SELECT 2", ": one SQL statement at a time");
  llmprof_query_free(prepare(db, "SELECT 1 ; \n"));
}

TEST_WITH(read_only, set_up, tear_down) {
  llmprof_error err = {0};
  llmprof_sqlite *db = *state;
  llmprof_query *query = prepare(db, "DELETE FROM t");
  assert_int_equal(llmprof_query_step(query, &err), -1);
  assert_int_equal(err.code, LLMPROF_IO);
  assert_non_null(
      strstr(err.message, ": attempt to write a readonly database"));
  llmprof_query_free(query);
}

TEST_WITH(schema, set_up, tear_down) {
  llmprof_error err;
  llmprof_sqlite *db = *state;
  assert_int_equal(llmprof_sqlite_has(db, "t", NULL, &err), 1);
  assert_int_equal(llmprof_sqlite_has(db, "v", NULL, &err), 0);
  assert_int_equal(llmprof_sqlite_has(db, "T'", NULL, &err), 0);
  assert_int_equal(llmprof_sqlite_has(db, "t", "s", &err), 1);
  assert_int_equal(llmprof_sqlite_has(db, "t", "x", &err), 0);
  assert_int_equal(llmprof_sqlite_has(db, "u", "s", &err), 0);
}

/* ---- files ---- */

static void expect_not_opened(const char *path, llmprof_code code,
                              const char *message) {
  llmprof_error err = {0};
  assert_null(llmprof_sqlite_open(path, &err));
  test_error_of(&err, code, path, message);
}

TEST(no_database) {
  char fifo[256];
  snprintf(fifo, sizeof fifo, "%s/fifo", test_folder());
  assert_int_equal(mkfifo(fifo, 0600), 0);
  expect_not_opened("/proc/none.sqlite", LLMPROF_NOTFOUND,
                    ": No such file or directory");
  expect_not_opened(test_folder(), LLMPROF_SYNTAX, ": not a regular file");
  expect_not_opened(fifo, LLMPROF_SYNTAX, ": not a regular file");
  const char *not = ": not an SQLite database";
  expect_not_opened(test_file("empty", "", 0), LLMPROF_SYNTAX, not );
  char text[200];
  memset(text, 'x', sizeof text);
  expect_not_opened(test_file("text", text, sizeof text), LLMPROF_SYNTAX, not );
  memset(text, 0, sizeof text);
  memcpy(text, "SQLite format 3", 16);
  expect_not_opened(test_file("header", text, sizeof text), LLMPROF_SYNTAX,
                    not );
}

/* Names that mean something in a URI. */
TEST(odd_names) {
  static const char *const names[] = {"a?b", "a#b", "a%20b", "a b", "\xc3\xa9"};
  for (size_t i = 0; i < 5; i++) {
    llmprof_sqlite *db = open_database(test_database(names[i], table_sql));
    assert_int_equal(llmprof_sqlite_has(db, "t", NULL, NULL), 1);
    llmprof_sqlite_close(db);
  }
}

/* What a dead writer leaves: without it the file is not the database. */
TEST(left_journals) {
  static const char *const suffixes[] = {"-journal", "-wal"};
  for (size_t i = 0; i < 2; i++) {
    char path[256], message[512], journal[32];
    snprintf(path, sizeof path, "%s", test_database("j.sqlite", table_sql));
    snprintf(journal, sizeof journal, "j.sqlite%s", suffixes[i]);
    snprintf(message, sizeof message,
             ": its writer did not finish (%s%s is there); export again", path,
             suffixes[i]);
    const char *left = test_file(journal, "x", 1);
    expect_not_opened(path, LLMPROF_SYNTAX, message);
    left = test_file(journal, "", 0);
    llmprof_sqlite_close(open_database(path));
    unlink(left);
  }
}

TEST(missing_log) {
  char path[256], message[768];
  snprintf(path, sizeof path, "%s",
           test_database("w.sqlite", "PRAGMA journal_mode = WAL; "
                                     "CREATE TABLE t (a)"));
  snprintf(
      message, sizeof message,
      ": its last changes may be in %s-wal, which is not there: copy that, "
      "too, or make the file whole with 'PRAGMA journal_mode = DELETE'",
      path);
  expect_not_opened(path, LLMPROF_SYNTAX, message);
  const char *empty = test_file("w.sqlite-wal", "", 0);
  llmprof_sqlite_close(open_database(path));
  unlink(empty);
}

/* SQLite's own names end at 504 bytes. */
TEST(long_name) {
  char path[1024];
  int size = snprintf(path, sizeof path, "%s", test_folder());
  while (size < 600) {
    size += snprintf(path + size, sizeof path - (size_t)size, "/%0100d", 0);
    assert_int_equal(mkdir(path, 0700), 0);
  }
  snprintf(path + size, sizeof path - (size_t)size, "/l.sqlite");
  assert_int_equal(rename(test_database("l.sqlite", table_sql), path), 0);
  llmprof_sqlite *db = open_database(path);
  assert_int_equal(llmprof_sqlite_has(db, "T", NULL, NULL), 1);
  llmprof_sqlite_close(db);
}

TEST_WITH(file_bytes, set_up, tear_down) {
  llmprof_error err = {0};
  llmprof_sqlite *db = *state;
  int64_t size = llmprof_sqlite_file_size(db, &err);
  assert_int_equal(size % 512, 0);
  char bytes[16];
  assert_true(llmprof_sqlite_file_read(db, 0, bytes, 16, &err));
  assert_memory_equal(bytes, "SQLite format 3", 16);
  assert_true(llmprof_sqlite_file_read(db, size - 16, bytes, 16, &err));
  assert_false(llmprof_sqlite_file_read(db, size - 15, bytes, 16, &err));
  assert_int_equal(err.code, LLMPROF_TRUNCATED);
  assert_non_null(strstr(err.message, ": truncated: it ends before byte "));
}

/* ---- broken files ---- */

/* Rows of t, or -1. */
static int read_table(const char *path, llmprof_error *err) {
  llmprof_sqlite *db = llmprof_sqlite_open(path, err);
  llmprof_query *query =
      db ? llmprof_sqlite_query(db, "SELECT * FROM t", err) : NULL;
  int got = query ? 1 : -1, rows = 0;
  while (got == 1 && (got = llmprof_query_step(query, err)) == 1) {
    size_t size;
    for (int i = 0; i < llmprof_query_columns(query); i++)
      llmprof_query_text(query, i, &size);
    rows++;
  }
  llmprof_query_free(query);
  llmprof_sqlite_close(db);
  return got < 0 ? -1 : rows;
}

/* ---- out of memory ---- */

static bool open_and_read(void *path, llmprof_error *err) {
  llmprof_sqlite *db = llmprof_sqlite_open(path, err);
  if (!db) return false;
  bool ok = llmprof_sqlite_has(db, "t", NULL, err) == 1 &&
            llmprof_sqlite_has(db, "t", "i", err) == 1;
  llmprof_sqlite_close(db);
  return ok && read_table(path, err) == 4;
}

TEST(allocations) {
  const char *path = test_database("t.sqlite", table_sql);
  test_every_allocation(open_and_read, (void *)(uintptr_t)path);
}

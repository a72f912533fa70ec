/* Many rows at once against SQL: on every database the same rows, in the same
 * order, with the same values; and how far the page reader goes. */
#include "sqlite/scan.h"

#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/bounds.h"
#include "base/interrupt.h"
#include "sqlite/scan_internal.h"
#include "sqlite/sqlite_file.h"
#include "support.h"

/* ---- making databases ---- */

typedef struct layout {
  int page_size;
  int reserved; /* bytes at the end of each page */
} layout;

static void run(sqlite3 *db, const char *sql) {
  char *message = NULL;
  if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
    fail_msg("%s: %s", sql, message);
}

/* The path of a new database that `sql` fills, valid until the next call. */
static const char *make(layout form, const char *sql) {
  static char path[256], pragma[64];
  snprintf(path, sizeof path, "%s/scan.sqlite", test_folder());
  unlink(path);
  sqlite3 *db;
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  sqlite3_file_control(db, "main", SQLITE_FCNTL_RESERVE_BYTES, &form.reserved);
  snprintf(pragma, sizeof pragma, "PRAGMA page_size = %d", form.page_size);
  run(db, pragma);
  run(db, "PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF");
  run(db, sql);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
  return path;
}

/* ---- comparing ---- */

/* The wanted columns, not in the order of the table. */
static const char *const columns[] = {"f",    "a", "e",       "b", "id",
                                      "lost", "c", "missing", "d"};
static const llmprof_scan_spec spec = {"t", columns, 6, 3};
static const llmprof_scan_spec integers = {"t", columns, 6, 0}; /* short cuts */

/* Of each row the integers are those that are read alone, and each text ends.
 */
static void compare_texts(llmprof_sqlite *db) {
  int64_t values[LLMPROF_SCAN_INTS], same[LLMPROF_SCAN_INTS];
  llmprof_error err = {0};
  llmprof_scan *with = NULL, *without = NULL;
  if (!llmprof_scan_open(db, &spec, &with, &err) ||
      !llmprof_scan_open(db, &integers, &without, &err))
    fail_msg("%s", err.message);
  int got;
  while ((got = llmprof_scan_next(with, values, &err)) == 1) {
    assert_int_equal(llmprof_scan_next(without, same, &err), 1);
    assert_memory_equal(values, same, (size_t)spec.ints * sizeof *values);
    for (int i = 0; i < spec.texts; i++) {
      size_t size;
      const char *text = llmprof_scan_text(with, i, &size);
      if (text) assert_int_equal(text[size], '\0');
      if (!text) assert_true(isnan(llmprof_scan_double(with, i)));
    }
  }
  assert_int_equal(got, 0);
  llmprof_scan_close(with);
  llmprof_scan_close(without);
}

/* The next rows of a scan that is read the other way, one by one. */
static bool are_next(void *user, const int64_t *values, size_t rows,
                     llmprof_error *err) {
  int64_t row[LLMPROF_SCAN_INTS];
  for (; rows; rows--, values += integers.ints) {
    if (llmprof_scan_next(user, row, err) != 1 ||
        memcmp(row, values, (size_t)integers.ints * sizeof *row) != 0)
      return llmprof_fail(err, LLMPROF_IO, "another row");
  }
  return true;
}

/* By any number of threads the same rows. */
static void compare_threads(llmprof_sqlite *db) {
  int64_t row[LLMPROF_SCAN_INTS];
  for (uint64_t threads = 1; threads <= 4; threads += 3) {
    llmprof_error err = {0};
    llmprof_scan *all = NULL, *each = NULL;
    llmprof_bound_set(LLMPROF_BOUND_THREADS, threads);
    if (!llmprof_scan_open(db, &integers, &each, &err) ||
        !llmprof_scan_open(db, &integers, &all, &err) ||
        !llmprof_scan_rows(all, are_next, each, &err) ||
        llmprof_scan_next(each, row, &err) != 0)
      fail_msg("%d threads: %s", (int)threads, err.message);
    llmprof_scan_close(each);
    llmprof_scan_close(all);
  }
  llmprof_bound_set(LLMPROF_BOUND_THREADS, 0);
}

static bool count_rows(void *user, const int64_t *values, size_t rows,
                       llmprof_error *err) {
  (void)values, (void)err;
  *(long *)user += (long)rows;
  return true;
}

/* Rows by pages, or -1 when the table is left to SQL, from some row on. */
static long count_paged(llmprof_sqlite *db) {
  llmprof_error err = {0};
  llmprof_scan_table table;
  long rows = 0;
  if (!llmprof_scan_read_schema(db, &integers, &table, &err))
    fail_msg("%s", err.message);
  int got = llmprof_scan_pages(db, &integers, &table, count_rows, &rows, &err);
  if (got < 0) fail_msg("%s", err.message);
  return got ? rows : -1;
}

static long compare(const char *path) {
  llmprof_error err = {0};
  llmprof_sqlite *db = llmprof_sqlite_open(path, &err);
  if (!db) fail_msg("%s", err.message);
  compare_texts(db);
  compare_threads(db);
  long rows = count_paged(db);
  llmprof_sqlite_close(db);
  return rows;
}

static const layout layouts[] = {
    {512, 0},   {512, 32},  {1024, 0},  {2048, 7},    {4096, 0},
    {4096, 16}, {32768, 0}, {65536, 0}, {65536, 255},
};

/* `rows` is what compare() gives. */
static void check(const char *sql, long rows) {
  for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
    long got = compare(make(layouts[i], sql));
    if (got != rows)
      fail_msg("%d-byte pages: %ld rows, not %ld: %s", layouts[i].page_size,
               got, rows, sql);
  }
}

/* ---- the databases ---- */

#define TABLE                                                           \
  "CREATE TABLE t (a INTEGER, c TEXT, b INT NOT NULL, d REAL, x BLOB, " \
  "e BIGINT, y, f INTEGER);"

/* Statement `put` for i = 1 ... count. */
#define FOR(count, put)                                                     \
  "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i " \
  "< " #count ") " put " FROM n;"

/* A number for i that looks like none. */
#define MIXED "((i * 2654435761) % 4294967291)"

#define PLAIN_ROWS(count)                                                   \
  FOR(count, "INSERT INTO t SELECT i, 'row ' || i, i * 1000003, i * 0.25, " \
             "NULL, i % 3, 'y', -i")

/* Every width, the limits of each, and all that may stand in a column. */
#define ODD_VALUES                                                           \
  "CREATE TABLE odd (i INTEGER PRIMARY KEY, v);"                             \
  "INSERT INTO odd (v) VALUES (NULL), (0), (1), (-1), (2), (127), (128), "   \
  "(-128), (-129), (32767), (32768), (-32768), (-32769), (8388607), "        \
  "(8388608), (-8388608), (-8388609), (2147483647), (2147483648), "          \
  "(-2147483648), (-2147483649), (140737488355327), (140737488355328), "     \
  "(-140737488355328), (-140737488355329), (9223372036854775807), "          \
  "(-9223372036854775808), (-9223372036854775807), (0.5), (-0.5), (1e18), "  \
  "(9.3e18), (-9.3e18), (1e300), (-1e300), (9e999), (-9e999), (5.0), (''), " \
  "('12'), ('12abc'), ('  7 '), ('1e3'), ('0x10'), ('-'), ('inf'), (x''), "  \
  "(x'3132'), (x'00'), ('a' || char(0) || 'b'), "                            \
  "('99999999999999999999'), ('3.75'), (zeroblob(40)), "                     \
  "(cast(x'ff80' AS TEXT));"

TEST(row_counts) {
  check(TABLE, 0);
  check(TABLE PLAIN_ROWS(1), 1);
  check(TABLE PLAIN_ROWS(2), 2);
  check(TABLE PLAIN_ROWS(30), 30);
  check(TABLE PLAIN_ROWS(700), 700);
  check(TABLE PLAIN_ROWS(20000), 20000);
}

TEST(odd_values) {
  check(ODD_VALUES TABLE
        "INSERT INTO t SELECT p.v, q.v, ifnull(q.v, 0), p.v, q.v, p.v, q.v, "
        "q.v FROM odd p, odd q",
        -1);
  /* types without affinity, and one that hides another */
  check(ODD_VALUES "CREATE TABLE t (a \"BIG INT\", b INTEGER, c TEXT, "
                   "d \"DOUBLE PRECISION\", e INTEGER, f INTEGER);"
                   "INSERT INTO t SELECT v, v, v, v, v, v FROM odd",
        -1);
  /* behind many that are plain */
  check(TABLE PLAIN_ROWS(20000) "INSERT INTO t (a, b) VALUES ('odd', 5)", -1);
}

TEST(rowids) {
  check(TABLE FOR(3000, "INSERT INTO t (rowid, a, b) SELECT i * i * 1000003 - "
                        "4500000000000, i, i"),
        3000);
  check(TABLE "INSERT INTO t (rowid, a, b) VALUES (-9223372036854775808, 1, 1),"
              " (9223372036854775807, 2, 2), (0, 3, 3), (-1, 4, 4)",
        4);
  check("CREATE TABLE t (a INTEGER, id INTEGER PRIMARY KEY, f INTEGER);" FOR(
            3000, "INSERT INTO t SELECT i, " MIXED " - 2000000000, -i"),
        3000);
  check("CREATE TABLE t (a INTEGER, id integer, f INTEGER, PRIMARY KEY (id "
        "ASC));" FOR(10, "INSERT INTO t SELECT i, -i, -i"),
        10);
  /* primary keys that are not the rowid */
  check("CREATE TABLE t (id INTEGER PRIMARY KEY DESC, a INTEGER);" FOR(
            100, "INSERT INTO t SELECT nullif(" MIXED ", i), i"),
        100);
  check("CREATE TABLE t (id INT PRIMARY KEY, a INTEGER);" FOR(
            100, "INSERT INTO t SELECT " MIXED ", i"),
        100);
  check("CREATE TABLE t (id INTEGER, a INTEGER, PRIMARY KEY (id, a));" FOR(
            100, "INSERT INTO t SELECT " MIXED ", i"),
        100);
}

TEST(order_of_insertion) {
  check(TABLE FOR(20000, "INSERT INTO t (rowid, a, b, c) SELECT " MIXED ", i, "
                         "i, 'text ' || i"),
        20000);
  check(TABLE FOR(3000, "INSERT INTO t (rowid, a, b) SELECT -i, i, i"), 3000);
  /* an index that has every wanted column must not give its own order */
  check("CREATE TABLE t (a INTEGER, b INTEGER, x);"
        "CREATE INDEX ab ON t (a, b);" FOR(500, "INSERT INTO t SELECT " MIXED
                                                ", i, zeroblob(100)"),
        500);
}

TEST(long_texts) {
  check(TABLE FOR(300, "INSERT INTO t (a, c, b, f) SELECT i, substr(hex("
                       "zeroblob(i * 7)) || i, 1 + i % 5), i, -i"),
        -1);
  check(TABLE "INSERT INTO t (a, c, b, x, e, f) VALUES "
              "(1, hex(zeroblob(300000)), 2, zeroblob(200000), 3, 4), "
              "(5, 'short', 6, zeroblob(70000), 7, 8), "
              "(9, zeroblob(100), 10, '', 11, 12)",
        -1);
  /* sizes around the one at which a record leaves its page */
  check(TABLE FOR(1200, "INSERT INTO t (a, x, b, f) SELECT i, zeroblob(i), i, "
                        "-i"),
        -1);
}

TEST(wide_tables) {
  char sql[8192], *at = sql;
  at += sprintf(at, "CREATE TABLE t (b INTEGER");
  for (int i = 0; i < 300; i++) at += sprintf(at, ", n%d INTEGER", i);
  at += sprintf(at, ", f INTEGER, c TEXT);");
  sprintf(at, FOR(50, "INSERT INTO t (b, n7, n288, f, c) SELECT i, i * i, "
                      "-i, i * 1000000007, 'c' || i"));
  check(sql, -1);
}

TEST(deleted_rows) {
  check(TABLE PLAIN_ROWS(5000) "DELETE FROM t WHERE a % 3 = 0", 3334);
  check(TABLE PLAIN_ROWS(5000) "DELETE FROM t WHERE a BETWEEN 20 AND 4980", 39);
  check(TABLE PLAIN_ROWS(5000) "DELETE FROM t", 0);
  check(TABLE PLAIN_ROWS(5000) "CREATE TABLE u AS SELECT * FROM t;"
                               "DELETE FROM t WHERE a > 100; DROP TABLE u;"
                               "UPDATE t SET c = hex(zeroblob(a * 10)) "
                               "WHERE a % 2",
        -1);
}

/* A file could have anything computed by what is no table. */
TEST(views) {
  static const char *const sql[] = {
      "CREATE TABLE u (a INTEGER); CREATE VIEW t AS SELECT a FROM u",
      "CREATE TABLE u (a INTEGER); CREATE VIEW T AS SELECT a FROM lost",
      "CREATE VIRTUAL TABLE t USING fts5(a)",
  };
  for (size_t i = 0; i < sizeof sql / sizeof *sql; i++) {
    llmprof_error err = {0};
    llmprof_scan *scan;
    llmprof_sqlite *db = llmprof_sqlite_open(make(layouts[0], sql[i]), &err);
    assert_non_null(db);
    assert_false(llmprof_scan_open(db, &spec, &scan, &err));
    test_error_of(&err, LLMPROF_UNSUPPORTED, llmprof_sqlite_path(db),
                  ": t is a view or a virtual table, not a table");
    llmprof_sqlite_close(db);
  }
}

TEST(names_of_any_case) {
  check("CREATE TABLE T (A INTEGER, C TEXT, F INTEGER);" FOR(
            50, "INSERT INTO t SELECT i, 'c' || i, -i"),
        50);
}

TEST(other_kinds_of_file) {
  check(TABLE PLAIN_ROWS(5000) "DELETE FROM t WHERE a % 2; VACUUM", 2500);
  check("PRAGMA auto_vacuum = FULL;" TABLE PLAIN_ROWS(
            5000) "UPDATE t SET x = zeroblob(a * 3); DELETE FROM t WHERE a % 2",
        -1);
  check("PRAGMA auto_vacuum = INCREMENTAL;" TABLE PLAIN_ROWS(300), 300);
  check("PRAGMA legacy_file_format = ON;" TABLE PLAIN_ROWS(300), 300);
  check("CREATE TABLE t (a INT, c TEXT, f INTEGER) STRICT;" FOR(
            300, "INSERT INTO t SELECT i, 'c' || i, -i"),
        300);
}

#define ADDED                                                    \
  ";ALTER TABLE t ADD COLUMN e INTEGER DEFAULT 281504034848768;" \
  "ALTER TABLE t ADD COLUMN f INTEGER;"                          \
  "ALTER TABLE t ADD COLUMN b INTEGER DEFAULT 0;"

TEST(changed_tables) {
  check(TABLE PLAIN_ROWS(300) "ALTER TABLE t ADD COLUMN missing TEXT;"
                              "INSERT INTO t (a, b, missing) "
                              "VALUES (1, 2, 'four')",
        301);
  check(TABLE PLAIN_ROWS(300) "ALTER TABLE t DROP COLUMN x;"
                              "ALTER TABLE t RENAME COLUMN e TO id",
        300);
  check("CREATE TABLE t (rowid TEXT, oid TEXT, _rowid_ TEXT, a INTEGER);"
        "INSERT INTO t VALUES ('r', 'o', '_', 5)",
        1);
}

/* What the page reader must leave to SQL. */
TEST(fallbacks) {
  check(TABLE PLAIN_ROWS(300) "ALTER TABLE t ADD COLUMN id INTEGER;"
                              "INSERT INTO t (a, b, id) VALUES (1, 2, 3)",
        -1);
  check(TABLE PLAIN_ROWS(300) "ALTER TABLE t ADD COLUMN id INTEGER NOT NULL "
                              "DEFAULT -281504034848768",
        -1);
  check("CREATE TABLE t (a INTEGER);" FOR(5000, "INSERT INTO t SELECT i")
            ADDED FOR(50, "INSERT INTO t SELECT i, -i, i, NULL"),
        -1);
  check(TABLE PLAIN_ROWS(30) "ALTER TABLE t ADD COLUMN id INTEGER DEFAULT 7.5;",
        -1);
  check(TABLE PLAIN_ROWS(30) "ALTER TABLE t ADD COLUMN id INTEGER DEFAULT '7';",
        -1);
  check(TABLE PLAIN_ROWS(30) "ALTER TABLE t ADD COLUMN id INTEGER DEFAULT "
                             "9223372036854775807;",
        -1);
  check(TABLE PLAIN_ROWS(30) "ALTER TABLE t ADD COLUMN missing TEXT DEFAULT "
                             "'x';",
        30);
  check("CREATE TABLE t (a INTEGER PRIMARY KEY, f INTEGER, c TEXT) WITHOUT "
        "ROWID;" FOR(300, "INSERT INTO t SELECT " MIXED ", i, 'c'"),
        -1);
  check("CREATE TABLE t (a INTEGER, e INTEGER AS (a * 2), f INTEGER);" FOR(
            30, "INSERT INTO t SELECT i, -i"),
        -1);
  check("CREATE TABLE t (a INTEGER, e INTEGER AS (a * 2) STORED, f "
        "INTEGER);" FOR(30, "INSERT INTO t SELECT i, -i"),
        -1);
  check("CREATE TABLE t (a INTEGER, g AS (a * 2), f INTEGER);" FOR(
            30, "INSERT INTO t SELECT i, -i"),
        -1);
  check("PRAGMA encoding = 'UTF-16le';" TABLE PLAIN_ROWS(30), 30);
  check("PRAGMA encoding = 'UTF-16be';" TABLE PLAIN_ROWS(30), 30);
  check(ODD_VALUES "CREATE TABLE t (a TEXT, b, e REAL, f BLOB);"
                   "INSERT INTO t SELECT v, v, v, v FROM odd",
        -1);
  check(ODD_VALUES "CREATE TABLE t (a INTEGER, c INTEGER);"
                   "INSERT INTO t SELECT v, v FROM odd",
        -1);
}

TEST(no_table) {
  llmprof_error err;
  llmprof_scan *scan;
  const char *sql = "CREATE TABLE u (a)";
  llmprof_sqlite *db = llmprof_sqlite_open(make(layouts[0], sql), &err);
  assert_true(llmprof_scan_open(db, &spec, &scan, &err));
  assert_null(scan);
  bool has = true;
  assert_true(llmprof_scan_each(db, &spec, NULL, NULL, &has, &err));
  assert_false(has);
  llmprof_sqlite_close(db);
}

/* ---- wants ---- */

TEST(same_column_twice) {
  static const char *const twice[] = {"a", "a"};
  const llmprof_scan_spec want = {"t", twice, 2, 0};
  llmprof_error err;
  llmprof_scan *scan;
  int64_t values[2];
  llmprof_sqlite *db =
      llmprof_sqlite_open(make(layouts[0], TABLE PLAIN_ROWS(1)), &err);
  assert_true(llmprof_scan_open(db, &want, &scan, &err));
  assert_int_equal(llmprof_scan_next(scan, values, &err), 1);
  assert_int_equal(values[0], 1);
  assert_int_equal(values[1], 1);
  llmprof_scan_close(scan);
  llmprof_sqlite_close(db);
}

/* ---- out of memory ---- */

static bool take_all(void *user, const llmprof_scan *scan,
                     const int64_t *values) {
  size_t size, *sum = user;
  for (int i = 0; i < spec.texts; i++) {
    if (llmprof_scan_text(scan, i, &size)) *sum += size;
    *sum += llmprof_scan_double(scan, i) > 0;
  }
  return true;
}

typedef struct job {
  const char *path;
  size_t sum; /* of what take_all sees */
} job;

static bool scan_all(void *arg, llmprof_error *err) {
  const job *expected = arg;
  size_t sum = 0;
  llmprof_sqlite *db = llmprof_sqlite_open(expected->path, err);
  bool ok = db && llmprof_scan_each(db, &spec, take_all, &sum, NULL, err);
  llmprof_sqlite_close(db);
  if (ok) assert_int_equal(sum, expected->sum);
  return ok;
}

static bool add_up(void *user, const int64_t *values, size_t rows,
                   llmprof_error *err) {
  for (; rows; rows--, values += integers.ints)
    *(size_t *)user += (size_t)values[1];
  return true;
}

static bool scan_rows(void *arg, llmprof_error *err) {
  const job *expected = arg;
  size_t sum = 0;
  llmprof_scan *scan = NULL;
  llmprof_sqlite *db = llmprof_sqlite_open(expected->path, err);
  bool ok = db && llmprof_scan_open(db, &integers, &scan, err) &&
            llmprof_scan_rows(scan, add_up, &sum, err);
  llmprof_scan_close(scan);
  llmprof_sqlite_close(db);
  if (ok) assert_int_equal(sum, expected->sum);
  return ok;
}

/* What there is no memory for on several threads is done by fewer, or row by
 * row. */
TEST(threads_without_memory) {
  job rows = {make(layouts[4], TABLE PLAIN_ROWS(20000)), 20000 * 20001 / 2};
  llmprof_bound_set(LLMPROF_BOUND_THREADS, 3);
  test_every_allocation(scan_rows, &rows);
  llmprof_bound_set(LLMPROF_BOUND_THREADS, 0);
}

static bool refuse(void *user, const int64_t *values, size_t rows,
                   llmprof_error *err) {
  size_t *left = user;
  if (*left < rows) return llmprof_fail(err, LLMPROF_IO, "no more");
  *left -= rows;
  return true;
}

TEST(rows_that_are_too_many) {
  llmprof_sqlite *db =
      llmprof_sqlite_open(make(layouts[4], TABLE PLAIN_ROWS(20000)), NULL);
  for (uint64_t threads = 1; threads <= 4; threads++) {
    llmprof_error err = {0};
    llmprof_scan *scan;
    size_t left = 10000, all = 20000;
    llmprof_bound_set(LLMPROF_BOUND_THREADS, threads);
    assert_true(llmprof_scan_open(db, &integers, &scan, &err));
    assert_false(llmprof_scan_rows(scan, refuse, &left, &err));
    assert_string_equal(err.message, "no more");
    llmprof_scan_close(scan);
    llmprof_bound_set(LLMPROF_BOUND_ROWS, 19999);
    assert_true(llmprof_scan_open(db, &integers, &scan, &err));
    assert_false(llmprof_scan_rows(scan, refuse, &all, &err));
    assert_int_equal(err.code, LLMPROF_LIMIT);
    llmprof_scan_close(scan);
    llmprof_bound_set(LLMPROF_BOUND_ROWS, 0);
    assert_true(llmprof_scan_open(db, &integers, &scan, &err));
    llmprof_interrupt(true);
    assert_false(llmprof_scan_rows(scan, refuse, &all, &err));
    assert_int_equal(err.code, LLMPROF_INTERRUPTED);
    llmprof_interrupt(false);
    llmprof_scan_close(scan);
  }
  llmprof_bound_set(LLMPROF_BOUND_THREADS, 0);
  llmprof_sqlite_close(db);
}

static bool stop(void *user, const int64_t *values, size_t rows,
                 llmprof_error *err) {
  ++*(int *)user;
  return false;
}

TEST(stops_without_an_error) {
  static const char *const sources[] = {
      TABLE PLAIN_ROWS(20000),
      "CREATE TABLE t (a INTEGER, b INTEGER); INSERT INTO t VALUES (1, 'x'), "
      "(2, 2);"};
  for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
    llmprof_error err = {0};
    llmprof_scan *scan;
    int calls = 0;
    llmprof_sqlite *db =
        llmprof_sqlite_open(make(layouts[4], sources[i]), NULL);
    assert_true(llmprof_scan_open(db, &integers, &scan, &err));
    assert_false(llmprof_scan_rows(scan, stop, &calls, &err));
    assert_int_equal(err.code, 0);
    assert_int_equal(calls, 1);
    llmprof_scan_close(scan);
    llmprof_sqlite_close(db);
  }
}

TEST(allocations) {
  job texts = {make(layouts[0],
                    TABLE "INSERT INTO t (a, b, c, d, f) VALUES "
                          "('odd', 2, hex(zeroblob(600)), '5 odd', 4), "
                          "(1, 2, 'x', 0.5, 3)"),
               1200 + 5 + 1 + 1 + 3 + 1};
  test_every_allocation(scan_all, &texts);
  job odd = {make(layouts[0], TABLE "INSERT INTO t (a, b) VALUES (5, 1), "
                                    "('odd', 2)"),
             5};
  test_every_allocation(scan_rows, &odd);
}

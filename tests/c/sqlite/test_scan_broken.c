/* The page reader on files that no honest writer made. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exports.h"
#include "sqlite/scan_internal.h"

enum {
  PAGE = 512
};

/* A small database in memory, to be broken. Its table t has its root on page 2;
 * the caller frees the bytes. */
typedef struct image {
  unsigned char *bytes;
  size_t size;
} image;

static image make(const char *sql) {
  image made;
  made.bytes = test_read(test_database("made.sqlite", sql), &made.size);
  return made;
}

static const char table[] =
    "CREATE TABLE t (a INTEGER, b INTEGER, c TEXT, d REAL);";
static const char few_rows[] =
    "CREATE TABLE t (a INTEGER, b INTEGER, c TEXT, d REAL);"
    "INSERT INTO t VALUES (1, 1000, 'one', 0.5), (2, -70000, 'two', 'x'), "
    "('3x', 1e12, hex(zeroblob(700)), NULL), (NULL, 5.5, '', 7);";
static const char many_rows[] =
    "CREATE TABLE t (a INTEGER, b INTEGER, c TEXT, d REAL);"
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < "
    "800) INSERT INTO t SELECT i, -i, 'row', i FROM n;";

static const char *const columns[] = {"b", "a", "c", "d"};
static const llmprof_scan_spec spec = {"t", columns, 2, 2};
static const llmprof_scan_spec integers = {"t", columns, 2, 0}; /* short cuts */

/* ---- reading ---- */

/* Rows, or -1 with the error. */
static long scan_rows(llmprof_scan *scan, int texts, llmprof_error *err) {
  int64_t values[LLMPROF_SCAN_INTS];
  int got;
  long rows = 0;
  while ((got = llmprof_scan_next(scan, values, err)) == 1) {
    size_t size;
    for (int i = 0; i < texts; i++) {
      const char *text = llmprof_scan_text(scan, i, &size);
      if (text) assert_int_equal(text[size], '\0');
      llmprof_scan_double(scan, i);
    }
    rows++;
  }
  return got < 0 ? -1 : rows;
}

static bool count_rows(void *user, const int64_t *values, size_t rows,
                       llmprof_error *err) {
  *(long *)user += (long)rows;
  return true;
}

/* As scan_table, several at once. */
static long scan_at_once(llmprof_sqlite *db, llmprof_error *err) {
  llmprof_scan *scan = NULL;
  long rows = 0;
  bool ok = llmprof_scan_open(db, &integers, &scan, err) &&
            (!scan || llmprof_scan_rows(scan, count_rows, &rows, err));
  llmprof_scan_close(scan);
  return ok ? rows : -1;
}

static long scan_table(llmprof_sqlite *db, const llmprof_scan_spec *wanted,
                       llmprof_error *err) {
  llmprof_scan *scan = NULL;
  long rows = -1;
  if (llmprof_scan_open(db, wanted, &scan, err))
    rows = scan ? scan_rows(scan, wanted->texts, err) : 0;
  llmprof_scan_close(scan);
  return rows;
}

/* Anything may come of it but a crash, an endless scan or an empty error. */
static void survive(const image *broken) {
  llmprof_error err = {0};
  const char *path = test_file("broken.sqlite", broken->bytes, broken->size);
  llmprof_sqlite *db = llmprof_sqlite_open(path, &err);
  const llmprof_scan_spec *const wanted[] = {&spec, &integers};
  for (int i = 0; i < 2; i++) {
    long rows = db ? scan_table(db, wanted[i], &err) : -1;
    if (db && wanted[i] == &integers) {
      llmprof_error same = {0};
      assert_int_equal(scan_at_once(db, &same), rows);
      if (rows < 0) assert_int_equal(same.code, err.code);
    }
    assert_in_range(rows + 1, 0, broken->size);
    if (rows >= 0) continue;
    assert_true(err.code == LLMPROF_SYNTAX || err.code == LLMPROF_IO ||
                err.code == LLMPROF_TRUNCATED);
    assert_memory_equal(err.message, path, strlen(path));
  }
  llmprof_sqlite_close(db);
}

static void expect_of(llmprof_sqlite *db, const llmprof_scan_spec *wanted,
                      const char *path, const char *message) {
  llmprof_error err = {0};
  assert_int_equal(scan_table(db, wanted, &err), -1);
  assert_int_equal(err.code, LLMPROF_SYNTAX);
  assert_memory_equal(err.message, path, strlen(path));
  assert_string_equal(err.message + strlen(path), message);
}

/* ---- broken at one place ---- */

static unsigned char *page_of(const image *made, size_t number) {
  return made->bytes + (number - 1) * PAGE;
}

static size_t get2(const unsigned char *at) {
  return (size_t)at[0] << 8 | at[1];
}

static unsigned char *cell_of(const image *made, size_t number, size_t cell) {
  unsigned char *page = page_of(made, number);
  return page + get2(page + (page[0] == 5 ? 12 : 8) + 2 * cell);
}

static void expect(const image *broken, const char *message, bool texts_only) {
  const char *path = test_file("broken.sqlite", broken->bytes, broken->size);
  llmprof_sqlite *db = llmprof_sqlite_open(path, NULL);
  assert_non_null(db);
  expect_of(db, &spec, path, message);
  if (!texts_only) expect_of(db, &integers, path, message);
  llmprof_sqlite_close(db);
}

/* `bytes` over what is at `at`, and back again. */
static void expect_with(const image *made, unsigned char *at, const char *bytes,
                        size_t size, const char *message, bool texts_only) {
  unsigned char kept[16];
  memcpy(kept, at, size);
  memcpy(at, bytes, size);
  expect(made, message, texts_only);
  memcpy(at, kept, size);
}

#define EXPECT(made, at, bytes, message) \
  expect_with(made, at, bytes, sizeof(bytes) - 1, message, false)

/* Seen only by who wants the text columns. */
#define EXPECT_TEXTS(made, at, bytes, message) \
  expect_with(made, at, bytes, sizeof(bytes) - 1, message, true)

TEST(broken_tree) {
  image made = make(many_rows);
  unsigned char *root = page_of(&made, 2), *first = cell_of(&made, 2, 0);
  size_t leaf = get2(first + 2);
  assert_int_equal(root[0], 5);
  assert_int_equal(leaf, 3);
  const char *outside = ": corrupt (page 2: points outside of the file)";
  const char *in_use = ": corrupt (page 2: points to a page in use)";
  EXPECT(&made, root + 8, "\0\0\0\0", outside);
  EXPECT(&made, root + 8, "\0\0\0\1", outside);
  EXPECT(&made, root + 8, "\xff\xff\xff\xff", outside);
  EXPECT(&made, root + 8, "\0\0\0\2", in_use);
  EXPECT(&made, first, "\0\0\0\0", outside);
  EXPECT(&made, first, "\x7f\0\0\3", outside);
  EXPECT(&made, first, "\0\0\0\2", ": corrupt (page 2: too deep in its tree)");
  EXPECT(&made, root + 12, "\0\0", outside);     /* into the header */
  EXPECT(&made, root + 12, "\x01\xfe", outside); /* over the end */
  EXPECT(&made, root + 3, "\xff\xff", ": corrupt (page 2: too many cells)");
  unsigned char *page = page_of(&made, leaf);
  EXPECT(&made, page, "\x0a", ": corrupt (page 3: no page of a table)");
  EXPECT(&made, page, "\x00", ": corrupt (page 3: no page of a table)");
  EXPECT(&made, page + 3, "\xff\xff", ": corrupt (page 3: too many cells)");
  EXPECT(&made, page + 3, "\x00\xfd", ": corrupt (page 3: too many cells)");
  free(made.bytes);
}

TEST(broken_rows) {
  image made = make(many_rows);
  const char *row = ": corrupt (page 3: a broken row)";
  unsigned char *page = page_of(&made, 3), *cell = cell_of(&made, 3, 0);
  EXPECT(&made, page + 8, "\0\0", row);
  EXPECT(&made, page + 8, "\0\x08", row);
  EXPECT(&made, page + 8, "\x01\xfd", row);
  EXPECT(&made, page + 8, "\xff\xff", row);
  /* cell: size, rowid, header size, four types, values */
  assert_int_equal(cell[2], 5);
  EXPECT(&made, cell, "\xff\xff\xff\xff\xff\xff\xff\xff\xff", row);
  EXPECT(&made, cell, "\xff\xff\xff\xff\x7f", row);
  EXPECT(&made, cell, "\0", row);
  EXPECT(&made, cell + 2, "\x7f", row);
  EXPECT(&made, cell + 2, "\xff\xff\xff\xff\xff\xff\xff\xff\xff", row);
  EXPECT(&made, cell + 3, "\x0a", row); /* reserved types */
  EXPECT(&made, cell + 4, "\x0b", row);
  EXPECT_TEXTS(&made, cell + 5, "\x0a", row);
  EXPECT(&made, cell + 3, "\x7d", row); /* texts beyond the end */
  EXPECT_TEXTS(&made, cell + 5, "\x7d", row);
  EXPECT(&made, cell + 3, "\xff\xff\xff\xff\xff\xff\xff\xff\xff", row);
  EXPECT_TEXTS(&made, cell + 6, "\xff",
               row); /* a type longer than the header */
  free(made.bytes);
}

TEST(broken_overflow) {
  image made = make("CREATE TABLE t (a INTEGER, b INTEGER, c TEXT, d REAL);"
                    "INSERT INTO t VALUES (1, 2, hex(zeroblob(700)), 3)");
  unsigned char *cell = cell_of(&made, 2, 0), *pointer = page_of(&made, 3) - 4;
  assert_memory_equal(pointer, "\0\0\0\3", 4);
  assert_memory_equal(cell, "\x8b\0\1", 3); /* size, rowid */
  EXPECT_TEXTS(&made, pointer, "\0\0\0\0",
               ": corrupt (page 2: points outside of the file)");
  EXPECT_TEXTS(&made, pointer, "\0\0\0\1",
               ": corrupt (page 2: points outside of the file)");
  EXPECT_TEXTS(&made, page_of(&made, 3), "\0\0\0\0",
               ": corrupt (page 3: points outside of the file)");
  EXPECT_TEXTS(&made, page_of(&made, 3), "\0\0\xff\xff",
               ": corrupt (page 3: points outside of the file)");
  EXPECT_TEXTS(&made, cell, "\xff\x7f",
               ": corrupt (page 2: a row longer than the file)");
  free(made.bytes);
}

/* Pages that point to each other in a ring hold fewer pages than the file. */
TEST(cycles) {
  image made = make(few_rows);
  unsigned char *root = page_of(&made, 2);
  memset(root, 0, PAGE);
  memcpy(root, "\5\0\0\0\1\0\0\0\0\0\0\2\1\xf0", 14); /* one cell, at 496 */
  memcpy(root + 496, "\0\0\0\2\1", 5);
  expect(&made, ": corrupt (page 2: points to a page in use)", false);
  free(made.bytes);
}

TEST(depth) {
  image made = make(many_rows);
  assert_in_range(made.size, 26 * PAGE, 1 << 16);
  for (size_t number = 2; number < 25; number++) {
    unsigned char *page = page_of(&made, number);
    memset(page, 0, PAGE);
    page[0] = 5;
    page[11] = (unsigned char)(number + 1);
  }
  expect(&made, ": corrupt (page 22: too deep in its tree)", false);
  free(made.bytes);
}

/* ---- shortened ---- */

/* Writers that leave the page count out make SQLite believe the size. */
static void forget_page_count(image *made) {
  made->bytes[27] ^= 1;
}

TEST(prefixes) {
  image made = make(few_rows);
  size_t size = made.size;
  for (int counted = 0; counted < 2; counted++) {
    for (made.size = 0; made.size <= size; made.size++) survive(&made);
    made.size = size;
    forget_page_count(&made);
  }
  free(made.bytes);
}

TEST(shrinking_file) {
  image made = make(many_rows);
  llmprof_error err = {0};
  llmprof_scan *scan;
  const char *path = test_file("shrinks.sqlite", made.bytes, made.size);
  llmprof_sqlite *db = llmprof_sqlite_open(path, &err);
  assert_non_null(db);
  assert_true(llmprof_scan_open(db, &spec, &scan, &err));
  assert_true(llmprof_scan_is_paged(scan));
  assert_int_equal(truncate(path, 3 * PAGE), 0);
  assert_int_equal(scan_rows(scan, spec.texts, &err), -1);
  assert_int_equal(err.code, LLMPROF_TRUNCATED);
  assert_non_null(strstr(err.message, ": truncated: it ends before byte "));
  llmprof_scan_close(scan);
  llmprof_sqlite_close(db);
  free(made.bytes);
}

/* ---- odd, but sound ---- */

/* SQLite never writes a NaN, and reads it as NULL. */
TEST(stored_nan) {
  image made = make("CREATE TABLE t (a INTEGER, b INTEGER, c TEXT, d REAL);"
                    "INSERT INTO t VALUES (0.5, 1, 'text', 0.5)");
  unsigned char *values = cell_of(&made, 2, 0) + 7;
  assert_memory_equal(values, "\x3f\xe0\0\0\0\0\0\0text\x3f\xe0", 14);
  memcpy(values, "\x7f\xff", 2);
  memcpy(values + 12, "\x7f\xff", 2);
  const char *path = test_file("nan.sqlite", made.bytes, made.size);
  for (int pages = 0; pages < 2; pages++) {
    llmprof_error err = {0};
    llmprof_scan *scan;
    int64_t got[2];
    size_t size;
    llmprof_sqlite *db = llmprof_sqlite_open(path, &err);
    assert_true(llmprof_scan_open_as(db, &spec, pages, &scan, &err));
    assert_int_equal(llmprof_scan_next(scan, got, &err), 1);
    assert_int_equal(got[0], 1);
    assert_true(got[1] == LLMPROF_ABSENT);
    assert_string_equal(llmprof_scan_text(scan, 0, &size), "text");
    assert_null(llmprof_scan_text(scan, 1, &size));
    assert_true(isnan(llmprof_scan_double(scan, 1)));
    llmprof_scan_close(scan);
    llmprof_sqlite_close(db);
  }
  free(made.bytes);
}

/* ---- changed anywhere ---- */

TEST(flipped_bytes) {
  static const unsigned char flips[] = {0x01, 0x80};
  const char *const sources[] = {table, few_rows};
  for (size_t s = 0; s < sizeof sources / sizeof *sources; s++) {
    image made = make(sources[s]);
    for (size_t i = 0; i < made.size; i++) {
      for (size_t k = 0; k < sizeof flips; k++) {
        made.bytes[i] ^= flips[k];
        survive(&made);
        made.bytes[i] ^= flips[k];
      }
    }
    free(made.bytes);
  }
}

/* Bytes of a fixed sequence over the pages of the table. */
TEST(noise) {
  image made = make(many_rows);
  unsigned char *kept = malloc(made.size);
  assert_non_null(kept);
  memcpy(kept, made.bytes, made.size);
  uint32_t next = 1;
  for (int round = 0; round < 2000; round++) {
    memcpy(made.bytes, kept, made.size);
    for (int i = 0; i < 12; i++) {
      next = next * 1664525 + 1013904223;
      size_t at = PAGE + (next >> 8) % (made.size - PAGE);
      if (round % 2) at = PAGE + at % 40; /* the root's header and pointers */
      made.bytes[at] = (unsigned char)(next >> 3);
    }
    survive(&made);
  }
  free(kept);
  free(made.bytes);
}

/* Scans of files that no honest writer made. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exports.h"
#include "sqlite/scan.h"

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
      long at_once = scan_at_once(db, &same);
      if (rows >= 0 && at_once >= 0) assert_int_equal(at_once, rows);
      assert_in_range(at_once + 1, 0, broken->size);
    }
    assert_in_range(rows + 1, 0, broken->size);
    if (rows >= 0) continue;
    assert_true(err.code == LLMPROF_SYNTAX || err.code == LLMPROF_IO ||
                err.code == LLMPROF_TRUNCATED);
    assert_memory_equal(err.message, path, strlen(path));
  }
  llmprof_sqlite_close(db);
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

/* Neither way gives all rows. */
static void expect_corrupt(const image *broken) {
  llmprof_error one = {0}, other = {0};
  const char *path = test_file("broken.sqlite", broken->bytes, broken->size);
  llmprof_sqlite *db = llmprof_sqlite_open(path, NULL);
  assert_non_null(db);
  assert_int_equal(scan_table(db, &spec, &one), -1);
  assert_int_equal(scan_at_once(db, &other), -1);
  llmprof_sqlite_close(db);
  test_error_of(&one, LLMPROF_SYNTAX, path,
                ": corrupt (database disk image is malformed)");
  test_error_of(&other, LLMPROF_SYNTAX, path,
                ": corrupt (database disk image is malformed)");
}

/* `bytes` over what is at `at`, and back again. */
static void with_bytes(const image *made, unsigned char *at, const char *bytes,
                       size_t size, void (*see)(const image *broken)) {
  unsigned char kept[16];
  memcpy(kept, at, size);
  memcpy(at, bytes, size);
  see(made);
  memcpy(at, kept, size);
}

#define CORRUPT(made, at, bytes) \
  with_bytes(made, at, bytes, sizeof(bytes) - 1, expect_corrupt)
#define SURVIVE(made, at, bytes) \
  with_bytes(made, at, bytes, sizeof(bytes) - 1, survive)

TEST(broken_tree) {
  image made = make(many_rows);
  unsigned char *root = page_of(&made, 2), *first = cell_of(&made, 2, 0);
  size_t leaf = get2(first + 2);
  assert_int_equal(root[0], 5);
  assert_int_equal(leaf, 3);
  CORRUPT(&made, root + 8, "\0\0\0\0");
  SURVIVE(&made, root + 8, "\0\0\0\1"); /* the schema is a table, too */
  CORRUPT(&made, root + 8, "\xff\xff\xff\xff");
  CORRUPT(&made, root + 8, "\0\0\0\2");
  CORRUPT(&made, first, "\0\0\0\0");
  CORRUPT(&made, first, "\x7f\0\0\3");
  CORRUPT(&made, first, "\0\0\0\2");
  CORRUPT(&made, root + 12, "\0\0");     /* into the header */
  CORRUPT(&made, root + 12, "\x01\xfe"); /* over the end */
  CORRUPT(&made, root + 3, "\xff\xff");
  unsigned char *page = page_of(&made, leaf);
  CORRUPT(&made, page, "\x0a");
  CORRUPT(&made, page, "\x00");
  CORRUPT(&made, page + 3, "\xff\xff");
  CORRUPT(&made, page + 3, "\x00\xfd");
  free(made.bytes);
}

TEST(broken_rows) {
  image made = make(many_rows);
  unsigned char *page = page_of(&made, 3), *cell = cell_of(&made, 3, 0);
  SURVIVE(&made, page + 8, "\0\0");
  SURVIVE(&made, page + 8, "\0\x08");
  SURVIVE(&made, page + 8, "\x01\xfd");
  SURVIVE(&made, page + 8, "\xff\xff");
  /* cell: size, rowid, header size, four types, values */
  assert_int_equal(cell[2], 5);
  SURVIVE(&made, cell, "\xff\xff\xff\xff\xff\xff\xff\xff\xff");
  SURVIVE(&made, cell, "\xff\xff\xff\xff\x7f");
  SURVIVE(&made, cell, "\0");
  SURVIVE(&made, cell + 2, "\x7f");
  SURVIVE(&made, cell + 2, "\xff\xff\xff\xff\xff\xff\xff\xff\xff");
  SURVIVE(&made, cell + 3, "\x0a"); /* reserved types */
  SURVIVE(&made, cell + 4, "\x0b");
  SURVIVE(&made, cell + 5, "\x0a");
  SURVIVE(&made, cell + 3, "\x7d"); /* texts beyond the end */
  SURVIVE(&made, cell + 5, "\x7d");
  SURVIVE(&made, cell + 3, "\xff\xff\xff\xff\xff\xff\xff\xff\xff");
  SURVIVE(&made, cell + 6, "\xff"); /* a type longer than the header */
  free(made.bytes);
}

TEST(broken_overflow) {
  image made = make("CREATE TABLE t (a INTEGER, b INTEGER, c TEXT, d REAL);"
                    "INSERT INTO t VALUES (1, 2, hex(zeroblob(700)), 3)");
  unsigned char *cell = cell_of(&made, 2, 0), *pointer = page_of(&made, 3) - 4;
  assert_memory_equal(pointer, "\0\0\0\3", 4);
  assert_memory_equal(cell, "\x8b\0\1", 3); /* size, rowid */
  SURVIVE(&made, pointer, "\0\0\0\0");
  SURVIVE(&made, pointer, "\0\0\0\1");
  SURVIVE(&made, page_of(&made, 3), "\0\0\0\0");
  SURVIVE(&made, page_of(&made, 3), "\0\0\xff\xff");
  SURVIVE(&made, cell, "\xff\x7f");
  free(made.bytes);
}

/* Pages that point to each other in a ring hold fewer pages than the file. */
TEST(cycles) {
  image made = make(few_rows);
  unsigned char *root = page_of(&made, 2);
  memset(root, 0, PAGE);
  memcpy(root, "\5\0\0\0\1\0\0\0\0\0\0\2\1\xf0", 14); /* one cell, at 496 */
  memcpy(root + 496, "\0\0\0\2\1", 5);
  expect_corrupt(&made);
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
  expect_corrupt(&made);
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
  const char *path = test_file("shrinks.sqlite", made.bytes, made.size);
  llmprof_sqlite *db = llmprof_sqlite_open(path, &err);
  assert_non_null(db);
  assert_int_equal(truncate(path, 3 * PAGE), 0);
  assert_int_equal(scan_at_once(db, &err), -1);
  assert_int_equal(scan_table(db, &spec, &err), -1);
  llmprof_sqlite_close(db);
  free(made.bytes);
}

/* Pages above one leaf lead to it again and again, at each depth twice: more
 * rows than there are bytes. */
TEST(a_million_ways) {
  image made = make(many_rows);
  llmprof_error err = {0};
  for (size_t number = 2; number < 21; number++) {
    unsigned char *page = page_of(&made, number);
    memset(page, 0, PAGE);
    memcpy(page, "\5\0\0\0\1\1\xf0\0\0\0\0\0\1\xf0", 14);
    page[11] = (unsigned char)(number + 1);
    page[PAGE - 16 + 3] = (unsigned char)(number + 1);
    page[PAGE - 16 + 4] = 1;
  }
  const char *path = test_file("broken.sqlite", made.bytes, made.size);
  llmprof_sqlite *db = llmprof_sqlite_open(path, NULL);
  assert_non_null(db);
  assert_int_equal(scan_table(db, &integers, &err), -1);
  test_error_of(&err, LLMPROF_SYNTAX, path, ": corrupt (more rows than bytes)");
  llmprof_sqlite_close(db);
  free(made.bytes);
}

/* A page of a tree whose 85 pointers all lead to one below it. */
static void point_to(unsigned char *page, size_t number) {
  memset(page, 0, PAGE);
  memcpy(page, "\5\0\0\0\124\1\373", 7);
  page[10] = page[PAGE - 3] = (unsigned char)(number >> 8);
  page[11] = page[PAGE - 2] = (unsigned char)number;
  page[PAGE - 1] = 1;
  for (size_t i = 0; i < 84; i++) memcpy(page + 12 + 2 * i, "\1\373", 2);
}

/* Fewer rows than bytes, and each has the same long text. */
TEST(one_text_in_many_places) {
  image made = make("CREATE TABLE t (a INTEGER, b INTEGER, c TEXT, d REAL);"
                    "INSERT INTO t VALUES (1, 2, hex(zeroblob(50000)), 0.5);");
  size_t pages = made.size / PAGE;
  made.size += 2 * PAGE;
  made.bytes = realloc(made.bytes, made.size);
  assert_non_null(made.bytes);
  made.bytes[30] = (unsigned char)((pages + 2) >> 8);
  made.bytes[31] = (unsigned char)(pages + 2);
  memcpy(page_of(&made, pages + 1), page_of(&made, 2), PAGE);
  point_to(page_of(&made, pages + 2), pages + 1);
  point_to(page_of(&made, 2), pages + 2);
  const char *path = test_file("broken.sqlite", made.bytes, made.size);
  llmprof_error err = {0};
  llmprof_sqlite *db = llmprof_sqlite_open(path, NULL);
  assert_non_null(db);
  assert_int_equal(scan_table(db, &spec, &err), -1);
  test_error_of(&err, LLMPROF_SYNTAX, path,
                ": corrupt (a page is in several places)");
  llmprof_sqlite_close(db);
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

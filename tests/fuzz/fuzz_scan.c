/* A database, or (without SQLite's magic in front) what follows a sound first
 * page: a byte that chooses the page size, then the pages of the table. What
 * the page reader reads without complaint must be what SQL reads, if SQL does
 * not complain either. */
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "pool.h"
#include "sqlite/scan.h"

enum {
  LAYOUTS = 4,
  MAX_PAGE = 4096
};

static const struct layout {
  int page_size, reserved;
} layouts[LAYOUTS] = {{512, 0}, {512, 32}, {1024, 3}, {MAX_PAGE, 0}};

static char path[FUZZ_PATH];
static int fd = -1;
static unsigned char first_page[LAYOUTS][MAX_PAGE];

static void remove_file(void) {
  unlink(path);
}

/* The schema, on page 1; a page count that SQLite will not believe, so that
 * the size of the file counts. */
static void make_first_page(struct layout form, unsigned char *page) {
  sqlite3 *db = NULL;
  char sql[64];
  int reserved = form.reserved;
  FUZZ_CHECK(ftruncate(fd, 0) == 0 && sqlite3_open(path, &db) == SQLITE_OK);
  sqlite3_file_control(db, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved);
  snprintf(sql, sizeof sql, "PRAGMA page_size = %d", form.page_size);
  FUZZ_CHECK(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK);
  FUZZ_CHECK(sqlite3_exec(db,
                          "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, "
                          "b INTEGER, c TEXT, d REAL, x, e INTEGER)",
                          NULL, NULL, NULL) == SQLITE_OK);
  FUZZ_CHECK(sqlite3_close(db) == SQLITE_OK);
  FUZZ_CHECK(pread(fd, page, (size_t)form.page_size, 0) == form.page_size);
  page[27] ^= 1;
}

static void start(void) {
  fuzz_pool_use();
  fuzz_scratch(path);
  fd = mkstemp(path);
  FUZZ_CHECK(fd >= 0 && atexit(remove_file) == 0);
  for (int i = 0; i < LAYOUTS; i++) make_first_page(layouts[i], first_page[i]);
}

static void write_file(const uint8_t *data, size_t size) {
  off_t at = 0;
  FUZZ_CHECK(ftruncate(fd, 0) == 0);
  if (size && (size < 16 || memcmp(data, "SQLite format 3", 16) != 0)) {
    int i = data[0] % LAYOUTS;
    at = layouts[i].page_size;
    FUZZ_CHECK(pwrite(fd, first_page[i], (size_t)at, 0) == at);
    data++, size--;
  }
  FUZZ_CHECK(pwrite(fd, data, size, at) == (ssize_t)size);
}

/* ---- reading ---- */

static const char *const columns[] = {"e", "id", "b", "a", "lost", "c", "d"};
static const llmprof_scan_spec spec = {"t", columns, 5, 2};
static const llmprof_scan_spec integers = {"t", columns, 5, 0}; /* by pages */

static void hash(uint64_t *sum, const void *bytes, size_t size) {
  const unsigned char *at = bytes;
  for (size_t i = 0; i < size; i++) *sum = (*sum ^ at[i]) * 0x100000001b3u;
}

static void hash_row(uint64_t *sum, const llmprof_scan *scan,
                     const int64_t *values, const llmprof_scan_spec *wanted) {
  hash(sum, values, (size_t)wanted->ints * sizeof *values);
  for (int i = 0; i < wanted->texts; i++) {
    size_t size;
    const char *text = llmprof_scan_text(scan, i, &size);
    double number = llmprof_scan_double(scan, i);
    if (number != number) number = -1; /* NaNs differ in their bits */
    hash(sum, &number, sizeof number);
    hash(sum, &size, sizeof size);
    if (text) hash(sum, text, size + 1);
  }
}

/* True when every row could be read; *sum stands for what is in them. */
static bool read_rows(llmprof_sqlite *db, const llmprof_scan_spec *wanted,
                      uint64_t *sum) {
  llmprof_error err;
  llmprof_scan *scan;
  int64_t values[LLMPROF_SCAN_INTS];
  if (!llmprof_scan_open(db, wanted, &scan, &err)) return false;
  if (!scan) return true;
  int got;
  while ((got = llmprof_scan_next(scan, values, &err)) == 1)
    hash_row(sum, scan, values, wanted);
  llmprof_scan_close(scan);
  return got == 0;
}

static bool hash_rows(void *user, const int64_t *values, size_t rows,
                      llmprof_error *err) {
  (void)err;
  hash(user, values, rows * (size_t)integers.ints * sizeof *values);
  return true;
}

static void compare(llmprof_sqlite *db) {
  uint64_t sum = 1, same = 1;
  llmprof_scan *scan = NULL;
  bool ok = llmprof_scan_open(db, &integers, &scan, NULL) &&
            (!scan || llmprof_scan_rows(scan, hash_rows, &sum, NULL));
  llmprof_scan_close(scan);
  if (read_rows(db, &integers, &same) && ok) FUZZ_CHECK(sum == same);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (fd < 0) start();
  write_file(data, size);
  llmprof_sqlite *db = llmprof_sqlite_open(path, NULL);
  if (!db) return 0;
  uint64_t sum = 1;
  read_rows(db, &spec, &sum);
  compare(db);
  llmprof_sqlite_close(db);
  return 0;
}

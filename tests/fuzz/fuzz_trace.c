/* A sound export, changed: each three bytes of the input are a place in the
 * file, low byte first, and what to put there. A byte that is left says how
 * much of it is then read. */
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "part.h"
#include "pool.h"

#define EXPORT "tests/fixtures/export.sql"

enum {
  MAX_SIZE = 1 << 16 /* places reach no further */
};

static char path[FUZZ_PATH];
static int fd = -1;
static uint8_t sound[MAX_SIZE];
static size_t sound_size;

static void remove_file(void) {
  unlink(path);
}

static char *read_sql(void) {
  static char sql[MAX_SIZE];
  FILE *file = fopen(EXPORT, "rb");
  FUZZ_CHECK(file);
  size_t size = fread(sql, 1, sizeof sql - 1, file);
  FUZZ_CHECK(feof(file) && fclose(file) == 0);
  sql[size] = '\0';
  return sql;
}

/* A page count that SQLite will not believe, so that the size of the file
 * counts. */
static void start(void) {
  fuzz_pool_use();
  fuzz_scratch(path);
  fd = mkstemp(path);
  FUZZ_CHECK(fd >= 0 && atexit(remove_file) == 0);
  sqlite3 *db = NULL;
  FUZZ_CHECK(sqlite3_open(path, &db) == SQLITE_OK);
  FUZZ_CHECK(sqlite3_exec(db, "PRAGMA page_size = 512", 0, 0, 0) == SQLITE_OK);
  FUZZ_CHECK(sqlite3_exec(db, read_sql(), NULL, NULL, NULL) == SQLITE_OK);
  FUZZ_CHECK(sqlite3_close(db) == SQLITE_OK);
  ssize_t got = pread(fd, sound, sizeof sound, 0);
  FUZZ_CHECK(got > 0 && got < MAX_SIZE);
  sound_size = (size_t)got;
  sound[27] ^= 1;
}

static void write_changed(const uint8_t *data, size_t size) {
  static uint8_t changed[MAX_SIZE];
  memcpy(changed, sound, sound_size);
  for (; size >= 3; data += 3, size -= 3)
    changed[(size_t)(data[0] | data[1] << 8) % sound_size] = data[2];
  FUZZ_CHECK(pwrite(fd, changed, sound_size, 0) == (ssize_t)sound_size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (fd < 0) start();
  write_changed(data, size);
  llmprof_error err = {0};
  size_t part = size % 3 == 1 ? fuzz_part(data[size - 1]) : FUZZ_ALL;
  bool ok = fuzz_read_export(path, part, &err);
  FUZZ_CHECK(ok || memcmp(err.message, path, strlen(path)) == 0);
  FUZZ_CHECK(size >= 3 || ok);
  return 0;
}

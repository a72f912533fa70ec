/* A sound cache of an export, changed, which is seen. Of each four bytes of the
 * input the second and third are a place in the file, low byte first, and the
 * fourth what to put there. The first byte says how much of the trace is then
 * read. */
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache/cache.h"
#include "cache/cache_file.h"
#include "cache/cache_folder.h"
#include "fuzz.h"
#include "os/fs.h"
#include "part.h"
#include "pool.h"

#define EXPORT "tests/fixtures/export.sql"

enum {
  MAX_SIZE = 1 << 16 /* places reach no further */
};

static char folder[FUZZ_PATH], export[FUZZ_PATH + 16], columns[FUZZ_PATH + 64];
static uint8_t sound[MAX_SIZE], changed[MAX_SIZE];
static size_t sound_size;

static void remove_folder(void) {
  llmprof_fs_remove_tree(folder, NULL);
}

static void fill_export(void) {
  static char sql[MAX_SIZE];
  FILE *file = fopen(EXPORT, "rb");
  FUZZ_CHECK(file);
  size_t size = fread(sql, 1, sizeof sql - 1, file);
  FUZZ_CHECK(feof(file) && fclose(file) == 0);
  sql[size] = '\0';
  sqlite3 *db = NULL;
  FUZZ_CHECK(sqlite3_open(export, &db) == SQLITE_OK);
  FUZZ_CHECK(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK);
  FUZZ_CHECK(sqlite3_close(db) == SQLITE_OK);
  usleep(120000); /* what was written just now is not kept */
}

static bool open_and_read(size_t part, bool save) {
  const llmprof_cache_options options = {folder, 0, 1 << 30};
  llmprof_error err = {0};
  llmprof_trace *trace = llmprof_cache_open(export, &options, &err);
  FUZZ_CHECK(trace);
  bool ok = fuzz_read(trace, part, &err);
  FUZZ_CHECK(ok || err.code != LLMPROF_OK);
  if (save) FUZZ_CHECK(llmprof_cache_save(trace, &err));
  llmprof_trace_close(trace);
  return ok;
}

static void read_sound(void) {
  char name[LLMPROF_CACHE_NAME + 1];
  FUZZ_CHECK(llmprof_cache_name(export, name));
  snprintf(columns, sizeof columns, "%s/%s%s", folder, name,
           LLMPROF_CACHE_COLUMNS);
  FILE *file = fopen(columns, "rb");
  FUZZ_CHECK(file);
  sound_size = fread(sound, 1, sizeof sound, file);
  FUZZ_CHECK(feof(file) && fclose(file) == 0);
}

static void start(void) {
  fuzz_pool_use();
  fuzz_scratch(folder);
  FUZZ_CHECK(mkdtemp(folder) && atexit(remove_folder) == 0);
  snprintf(export, sizeof export, "%s/run.sqlite", folder);
  fill_export();
  FUZZ_CHECK(open_and_read(FUZZ_ALL, true) && open_and_read(FUZZ_ALL, true));
  read_sound();
}

static size_t place(const uint8_t *data) {
  return (size_t)(data[1] | data[2] << 8);
}

static void write_file(const uint8_t *data, size_t size) {
  memcpy(changed, sound, sound_size);
  for (; size >= 4; data += 4, size -= 4)
    changed[place(data) % sound_size] = data[3];
  llmprof_error err = {0};
  FUZZ_CHECK(llmprof_fs_write_soon(columns, changed, sound_size, &err) &&
             chmod(columns, 0600) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (!*folder) start();
  write_file(data + (size > 0), size - (size > 0));
  FUZZ_CHECK(open_and_read(size ? fuzz_part(data[0] / 2) : FUZZ_ALL, false));
  return 0;
}

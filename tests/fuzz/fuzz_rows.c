/* Rows of an export, in tables as nsys makes them: each begins with a byte that
 * says of which. The first byte says what is done with the file: it is read,
 * scrubbed and read, or merged with itself and read; and how much is read. */
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "llmprof/merge.h"
#include "llmprof/scrub.h"
#include "part.h"
#include "take.h"

enum {
  WAYS = 4,
  MOST_ROWS = 40,
  MOST_COLUMNS = 14,
};

typedef struct row_table {
  const char *name;
  int columns;
  int constant; /* column with one of two values that make sense, or -1 */
  int64_t usual;
} row_table;

static const row_table tables[] = {
    {"CUPTI_ACTIVITY_KIND_KERNEL", 14, -1, 0},
    {"CUPTI_ACTIVITY_KIND_RUNTIME", 5, -1, 0},
    {"NVTX_EVENTS", 10, 2, 59},
    {"NVTX_EVENTS", 10, 2, 60},
    {"CUPTI_ACTIVITY_KIND_MEMCPY", 10, 8, 1},
    {"StringIds", 2, -1, 0},
    {"PROCESSES", 2, -1, 0},
    {"ThreadNames", 2, -1, 0},
    {"TARGET_INFO_SESSION_START_TIME", 1, -1, 0},
    {"META_DATA_CAPTURE", 2, -1, 0},
    {"DIAGNOSTIC_EVENT", 2, -1, 0},
};

enum {
  TABLES = sizeof tables / sizeof *tables
};

static const char ddl[] =
    "PRAGMA page_size = 512; PRAGMA journal_mode = off;"
    "PRAGMA synchronous = off;"
    "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER,"
    " deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId"
    " INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER,"
    " mangledName INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER,"
    " graphNodeId INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER,"
    " globalTid INTEGER, correlationId INTEGER, nameId INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER,"
    " deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId"
    " INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER, srcKind"
    " INTEGER);"
    "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER,"
    " text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER,"
    " domainId INTEGER, category INTEGER, int64Value INTEGER);"
    "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);"
    "CREATE TABLE PROCESSES (globalPid INTEGER, name TEXT);"
    "CREATE TABLE ThreadNames (globalTid INTEGER, nameId INTEGER);"
    "CREATE TABLE META_DATA_CAPTURE (name TEXT, value TEXT);"
    "CREATE TABLE DIAGNOSTIC_EVENT (severity INTEGER, text TEXT);"
    "INSERT INTO StringIds VALUES (0, ''), (1, 'decode'), (2, 'k<int>'),"
    " (3, 'cudaLaunchKernel_v7000'), (4, '/home/me/x --key y');"
    "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000);";

static size_t part; /* what is read of each file */
static char folder[FUZZ_PATH];
static char path[FUZZ_PATH + 16], made[FUZZ_PATH + 16];
static unsigned char *empty; /* the file without rows */
static sqlite3_int64 empty_size;

static void remove_files(void) {
  unlink(path);
  unlink(made);
  rmdir(folder);
  sqlite3_free(empty);
}

static void start(void) {
  if (empty) return;
  fuzz_scratch(folder);
  FUZZ_CHECK(mkdtemp(folder) && atexit(remove_files) == 0);
  snprintf(path, sizeof path, "%s/rows.sqlite", folder);
  snprintf(made, sizeof made, "%s/made.sqlite", folder);
  sqlite3 *db = NULL;
  FUZZ_CHECK(sqlite3_open(":memory:", &db) == SQLITE_OK);
  FUZZ_CHECK(sqlite3_exec(db, ddl, NULL, NULL, NULL) == SQLITE_OK);
  empty = sqlite3_serialize(db, "main", &empty_size, 0);
  FUZZ_CHECK(empty && sqlite3_close(db) == SQLITE_OK);
}

/* ---- rows ---- */

static void bind_value(sqlite3_stmt *statement, int column, taken *input) {
  static const char *const texts[] = {"decode", "a/b=c", "\xff\xfe", "-x"};
  switch (take_below(input, 12)) {
  case 0:
    sqlite3_bind_null(statement, column);
    break;
  case 1:
    sqlite3_bind_double(statement, column, take_double(input));
    break;
  case 2:
    sqlite3_bind_text(statement, column, texts[take_below(input, 4)], -1,
                      SQLITE_STATIC);
    break;
  case 3:
    sqlite3_bind_blob(statement, column, "\0\1", 2, SQLITE_STATIC);
    break;
  default:
    sqlite3_bind_int64(statement, column, take_number(input));
  }
}

static sqlite3_stmt *prepare(sqlite3 *db, const row_table *table) {
  char sql[128];
  int at = snprintf(sql, sizeof sql, "INSERT OR IGNORE INTO %s VALUES (?",
                    table->name);
  for (int i = 1; i < table->columns; i++)
    at += snprintf(sql + at, sizeof sql - (size_t)at, ",?");
  snprintf(sql + at, sizeof sql - (size_t)at, ")");
  sqlite3_stmt *statement = NULL;
  FUZZ_CHECK(sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK);
  return statement;
}

static void add_row(sqlite3 *db, sqlite3_stmt **statements, taken *input) {
  uint32_t which = take_below(input, TABLES);
  const row_table *table = &tables[which];
  if (!statements[which]) statements[which] = prepare(db, table);
  sqlite3_stmt *statement = statements[which];
  for (int i = 0; i < table->columns; i++) {
    if (i == table->constant && take_byte(input) & 7)
      sqlite3_bind_int64(statement, i + 1, table->usual);
    else
      bind_value(statement, i + 1, input);
  }
  sqlite3_step(statement);
  sqlite3_reset(statement);
}

static void write_file(sqlite3 *db) {
  sqlite3_int64 size;
  unsigned char *bytes = sqlite3_serialize(db, "main", &size, 0);
  FILE *file = fopen(path, "wb");
  FUZZ_CHECK(bytes && file);
  FUZZ_CHECK(fwrite(bytes, 1, (size_t)size, file) == (size_t)size);
  FUZZ_CHECK(fclose(file) == 0);
  sqlite3_free(bytes);
}

static void make_file(taken *input) {
  sqlite3 *db = NULL;
  sqlite3_stmt *statements[TABLES] = {NULL};
  unsigned char *copy = sqlite3_malloc64((sqlite3_uint64)empty_size);
  FUZZ_CHECK(copy && sqlite3_open(":memory:", &db) == SQLITE_OK);
  memcpy(copy, empty, (size_t)empty_size);
  FUZZ_CHECK(sqlite3_deserialize(db, "main", copy, empty_size, empty_size,
                                 SQLITE_DESERIALIZE_FREEONCLOSE |
                                     SQLITE_DESERIALIZE_RESIZEABLE) ==
             SQLITE_OK);
  sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);
  for (int i = 0; i < MOST_ROWS && input->size; i++)
    add_row(db, statements, input);
  sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
  for (size_t i = 0; i < TABLES; i++) sqlite3_finalize(statements[i]);
  write_file(db);
  FUZZ_CHECK(sqlite3_close(db) == SQLITE_OK);
}

/* ---- readers and writers ---- */

static bool check_read(const char *file) {
  llmprof_error err = {0};
  bool ok = fuzz_read_export(file, part, &err);
  FUZZ_CHECK(ok || err.message[0]);
  return ok;
}

/* What could be read can be read when it is scrubbed. */
static void check_scrub(void) {
  llmprof_error err = {0};
  bool sound = check_read(path);
  bool done = llmprof_trace_scrub(path, made, NULL, &err);
  FUZZ_CHECK(done || err.message[0]);
  if (done && sound) FUZZ_CHECK(check_read(made));
}

static void check_merge(void) {
  const char *const both[] = {path, path};
  llmprof_error err = {0};
  bool done = llmprof_trace_merge(both, 2, made, &err);
  FUZZ_CHECK(done || err.message[0]);
  if (done) check_read(made);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  taken input = {bytes, size};
  start();
  uint32_t first = take_byte(&input), what = first % WAYS;
  part = fuzz_part(first / WAYS);
  make_file(&input);
  if (what == 0)
    check_scrub();
  else if (what == 1)
    check_merge();
  else
    check_read(path);
  return 0;
}

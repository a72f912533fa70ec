/* Rows of an export, in tables as nsys makes them: each begins with a byte that
 * says of which. The first byte says what is done with the file: it is read,
 * scrubbed and read, or merged with itself and read; how much is read; and
 * whether there are tables without rows, too: for each table SQLite compiles
 * SQL every time that a file is opened. */
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "nsys/merge.h"
#include "nsys/scrub.h"
#include "part.h"
#include "pool.h"
#include "take.h"

enum {
  WAYS = 4,
  MOST_ROWS = 40,
  MOST_COLUMNS = 14,
};

typedef struct row_table {
  const char *name;
  const char *columns; /* as SQL has them; NULL: those of the one before */
  int count;           /* of columns */
  int constant; /* column with one of two values that make sense, or -1 */
  int64_t usual;
} row_table;

static const row_table tables[] = {
    {"CUPTI_ACTIVITY_KIND_KERNEL",
     "start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,"
     " streamId INTEGER, correlationId INTEGER, globalPid INTEGER,"
     " demangledName INTEGER, shortName INTEGER, mangledName INTEGER,"
     " gridX INTEGER, gridY INTEGER, gridZ INTEGER, graphNodeId INTEGER",
     14, -1, 0},
    {"CUPTI_ACTIVITY_KIND_RUNTIME",
     "start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER,"
     " nameId INTEGER",
     5, -1, 0},
    {"NVTX_EVENTS",
     "start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid"
     " INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER,"
     " category INTEGER, int64Value INTEGER",
     10, 2, 59},
    {"NVTX_EVENTS", NULL, 10, 2, 60},
    {"CUPTI_ACTIVITY_KIND_MEMCPY",
     "start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,"
     " streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes"
     " INTEGER, copyKind INTEGER, srcKind INTEGER",
     10, 8, 1},
    {"StringIds", "id INTEGER PRIMARY KEY, value TEXT", 2, -1, 0},
    {"PROCESSES", "globalPid INTEGER, name TEXT", 2, -1, 0},
    {"ThreadNames", "globalTid INTEGER, nameId INTEGER", 2, -1, 0},
    {"TARGET_INFO_SESSION_START_TIME", "utcEpochNs INTEGER", 1, -1, 0},
    {"META_DATA_CAPTURE", "name TEXT, value TEXT", 2, -1, 0},
    {"DIAGNOSTIC_EVENT", "severity INTEGER, text TEXT", 2, -1, 0},
};

enum {
  TABLES = sizeof tables / sizeof *tables,
  STRINGS = 5,
  START_TIME = 8,
  ALWAYS = 1 << STRINGS | 1 << START_TIME, /* what has rows already */
  EVERY = (1 << TABLES) - 1,
};

static size_t part; /* what is read of each file */
static char folder[FUZZ_PATH];
static char path[FUZZ_PATH + 16], made[FUZZ_PATH + 16];

static void remove_files(void) {
  unlink(path);
  unlink(made);
  rmdir(folder);
}

static void start(void) {
  if (folder[0]) return;
  fuzz_pool_use();
  fuzz_scratch(folder);
  FUZZ_CHECK(mkdtemp(folder) && atexit(remove_files) == 0);
  snprintf(path, sizeof path, "%s/rows.sqlite", folder);
  snprintf(made, sizeof made, "%s/made.sqlite", folder);
}

/* ---- files without rows ---- */

typedef struct image {
  unsigned char *bytes;
  sqlite3_int64 size;
} image;

static void run(sqlite3 *db, const char *sql) {
  FUZZ_CHECK(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK);
}

static void create_tables(sqlite3 *db, uint32_t wanted) {
  char sql[512];
  run(db, "PRAGMA page_size = 512; PRAGMA journal_mode = off");
  for (size_t i = 0; i < TABLES; i++) {
    if (!(wanted >> i & 1) || !tables[i].columns) continue;
    snprintf(sql, sizeof sql, "CREATE TABLE %s (%s)", tables[i].name,
             tables[i].columns);
    run(db, sql);
  }
  run(db, "INSERT INTO StringIds VALUES (0, ''), (1, 'decode'), (2, 'k<int>'),"
          " (3, 'cudaLaunchKernel_v7000'), (4, '/home/me/x --key y');"
          "INSERT INTO TARGET_INFO_SESSION_START_TIME"
          " VALUES (1700000000000000000)");
}

/* A file with the tables of `wanted`, a bit each; made once. */
static const image *image_of(uint32_t wanted) {
  static image images[EVERY + 1];
  image *found = &images[wanted];
  if (found->bytes) return found;
  sqlite3 *db = NULL;
  FUZZ_CHECK(sqlite3_open(":memory:", &db) == SQLITE_OK);
  create_tables(db, wanted);
  unsigned char *bytes = sqlite3_serialize(db, "main", &found->size, 0);
  found->bytes = malloc((size_t)found->size);
  FUZZ_CHECK(bytes && found->bytes);
  memcpy(found->bytes, bytes, (size_t)found->size);
  sqlite3_free(bytes);
  FUZZ_CHECK(sqlite3_close(db) == SQLITE_OK);
  return found;
}

static sqlite3 *open_image(const image *start) {
  sqlite3 *db = NULL;
  unsigned char *copy = sqlite3_malloc64((sqlite3_uint64)start->size);
  FUZZ_CHECK(copy && sqlite3_open(":memory:", &db) == SQLITE_OK);
  memcpy(copy, start->bytes, (size_t)start->size);
  FUZZ_CHECK(sqlite3_deserialize(db, "main", copy, start->size, start->size,
                                 SQLITE_DESERIALIZE_FREEONCLOSE |
                                     SQLITE_DESERIALIZE_RESIZEABLE) ==
             SQLITE_OK);
  return db;
}

/* ---- rows ---- */

typedef struct cell {
  int type; /* of SQLite's */
  int64_t number;
  double real;
  const char *text;
} cell;

typedef struct row {
  uint32_t table;
  cell cells[MOST_COLUMNS];
} row;

static cell take_cell(taken *input) {
  static const char *const texts[] = {"decode", "a/b=c", "\xff\xfe", "-x"};
  switch (take_below(input, 12)) {
  case 0:
    return (cell){.type = SQLITE_NULL};
  case 1:
    return (cell){.type = SQLITE_FLOAT, .real = take_double(input)};
  case 2:
    return (cell){.type = SQLITE_TEXT, .text = texts[take_below(input, 4)]};
  case 3:
    return (cell){.type = SQLITE_BLOB};
  default:
    return (cell){.type = SQLITE_INTEGER, .number = take_number(input)};
  }
}

static void take_row(row *r, taken *input) {
  r->table = take_below(input, TABLES);
  const row_table *table = &tables[r->table];
  for (int i = 0; i < table->count; i++) {
    bool usual = i == table->constant && take_byte(input) & 7;
    r->cells[i] = usual ? (cell){.type = SQLITE_INTEGER, .number = table->usual}
                        : take_cell(input);
  }
}

static sqlite3_stmt *prepare(sqlite3 *db, const row_table *table) {
  char sql[128];
  int at = snprintf(sql, sizeof sql, "INSERT OR IGNORE INTO %s VALUES (?",
                    table->name);
  for (int i = 1; i < table->count; i++)
    at += snprintf(sql + at, sizeof sql - (size_t)at, ",?");
  snprintf(sql + at, sizeof sql - (size_t)at, ")");
  sqlite3_stmt *statement = NULL;
  FUZZ_CHECK(sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK);
  return statement;
}

static void bind_cell(sqlite3_stmt *statement, int column, const cell *c) {
  switch (c->type) {
  case SQLITE_NULL:
    sqlite3_bind_null(statement, column);
    break;
  case SQLITE_FLOAT:
    sqlite3_bind_double(statement, column, c->real);
    break;
  case SQLITE_TEXT:
    sqlite3_bind_text(statement, column, c->text, -1, SQLITE_STATIC);
    break;
  case SQLITE_BLOB:
    sqlite3_bind_blob(statement, column, "\0\1", 2, SQLITE_STATIC);
    break;
  default:
    sqlite3_bind_int64(statement, column, c->number);
  }
}

static void add_row(sqlite3 *db, sqlite3_stmt **statements, const row *r) {
  const row_table *table = &tables[r->table];
  sqlite3_stmt **statement = &statements[r->table];
  if (!*statement) *statement = prepare(db, table);
  for (int i = 0; i < table->count; i++)
    bind_cell(*statement, i + 1, &r->cells[i]);
  sqlite3_step(*statement);
  sqlite3_reset(*statement);
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

static void make_file(taken *input, bool whole) {
  static row rows[MOST_ROWS];
  sqlite3_stmt *statements[TABLES] = {NULL};
  uint32_t wanted = whole ? EVERY : ALWAYS;
  int count = 0;
  while (count < MOST_ROWS && input->size) {
    take_row(&rows[count], input);
    uint32_t table = rows[count++].table;
    wanted |= 1u << (tables[table].columns ? table : table - 1);
  }
  sqlite3 *db = open_image(image_of(wanted));
  run(db, "BEGIN");
  for (int i = 0; i < count; i++) add_row(db, statements, &rows[i]);
  run(db, "COMMIT");
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
  bool done = llmprof_trace_scrub(path, made, NULL, &err);
  FUZZ_CHECK(done || err.message[0]);
  if (done && !check_read(made)) FUZZ_CHECK(!check_read(path));
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
  size_t blocks = fuzz_pool_blocks();
  uint32_t first = take_byte(&input), what = first % WAYS;
  part = fuzz_part(first / WAYS);
  make_file(&input, first / WAYS / (read_parts() + 1) % 2);
  if (what == 0)
    check_scrub();
  else if (what == 1)
    check_merge();
  else
    check_read(path);
  FUZZ_CHECK(fuzz_pool_blocks() == blocks);
  return 0;
}

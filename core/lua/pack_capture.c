/* llmprof_pack_capture FOLDER FILE: pack a recorded capture, as
 * core/sqlite/packed.h describes it. Built and run while building; installed
 * nowhere, so a failure is said and ends it. */
#include <dirent.h>
#include <errno.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

typedef struct bytes {
  unsigned char *at;
  size_t size, cap;
} bytes;

static void stop(const char *what, const char *why) {
  fprintf(stderr, "%s: %s\n", what, why);
  exit(EXIT_FAILURE);
}

static void put(bytes *to, const void *from, size_t size) {
  if (to->size + size > to->cap) {
    to->cap = 2 * (to->size + size);
    to->at = realloc(to->at, to->cap);
    if (!to->at) stop("llmprof_pack_capture", "out of memory");
  }
  if (size) memcpy(to->at + to->size, from, size);
  to->size += size;
}

static void put_number(bytes *to, uint64_t number) {
  unsigned char byte;
  for (; number > 127; number >>= 7) {
    byte = (unsigned char)(number & 127) | 128;
    put(to, &byte, 1);
  }
  byte = (unsigned char)number;
  put(to, &byte, 1);
}

/* Small numbers of either sign in few bytes; differences wrap around. */
static void put_difference(bytes *to, uint64_t difference) {
  put_number(to, difference << 1 ^ (difference >> 63 ? UINT64_MAX : 0));
}

static void put_text(bytes *to, const void *text, size_t size) {
  put_number(to, size);
  put(to, text, size);
}

/* ---- databases ---- */

static sqlite3_stmt *prepare(sqlite3 *db, char *sql) {
  sqlite3_stmt *query = NULL;
  if (!sql || sqlite3_prepare_v2(db, sql, -1, &query, NULL) != SQLITE_OK)
    stop(sql ? sql : "sqlite3_mprintf", sqlite3_errmsg(db));
  sqlite3_free(sql);
  return query;
}

static bool next(sqlite3 *db, sqlite3_stmt *query) {
  int got = sqlite3_step(query);
  if (got != SQLITE_ROW && got != SQLITE_DONE)
    stop("sqlite3_step", sqlite3_errmsg(db));
  return got == SQLITE_ROW;
}

static void put_cell(bytes *to, sqlite3_stmt *query, int type,
                     uint64_t *before) {
  uint64_t number;
  double real;
  switch (type) {
  case SQLITE_INTEGER:
    number = (uint64_t)sqlite3_column_int64(query, 0);
    put_difference(to, number - *before);
    *before = number;
    break;
  case SQLITE_FLOAT:
    real = sqlite3_column_double(query, 0);
    put(to, &real, sizeof real);
    break;
  case SQLITE_TEXT:
    put_text(to, sqlite3_column_text(query, 0),
             (size_t)sqlite3_column_bytes(query, 0));
    break;
  case SQLITE_BLOB:
    put_text(to, sqlite3_column_blob(query, 0),
             (size_t)sqlite3_column_bytes(query, 0));
    break;
  default:
    break;
  }
}

/* A column: the types of its cells, then the cells. Integers are the difference
 * to the one before. */
static void put_column(bytes *to, sqlite3 *db, const char *table,
                       const char *column) {
  bytes cells = {0}, types = {0};
  sqlite3_stmt *query =
      prepare(db, sqlite3_mprintf("SELECT \"%w\" FROM \"%w\" ORDER BY rowid",
                                  column, table));
  uint64_t before = 0;
  while (next(db, query)) {
    unsigned char type = (unsigned char)sqlite3_column_type(query, 0);
    put(&types, &type, 1);
    put_cell(&cells, query, type, &before);
  }
  sqlite3_finalize(query);
  put_text(to, types.at, types.size);
  put_text(to, cells.at, cells.size);
  free(types.at);
  free(cells.at);
}

static void put_table(bytes *to, sqlite3 *db, const char *table) {
  sqlite3_stmt *query =
      prepare(db, sqlite3_mprintf("SELECT count(*) FROM \"%w\"", table));
  next(db, query);
  put_number(to, (uint64_t)sqlite3_column_int64(query, 0));
  sqlite3_finalize(query);
  query = prepare(
      db, sqlite3_mprintf("SELECT name FROM pragma_table_info(%Q)", table));
  bytes columns = {0};
  uint64_t count = 0;
  for (; next(db, query); count++)
    put_column(&columns, db, table,
               (const char *)sqlite3_column_text(query, 0));
  sqlite3_finalize(query);
  put_number(to, count);
  put(to, columns.at, columns.size);
  free(columns.at);
}

/* Statements that make it, those of tables with their rows; an empty one ends.
 */
static void put_database(bytes *to, const char *path) {
  sqlite3 *db;
  if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
    stop(path, sqlite3_errmsg(db));
  sqlite3_stmt *query = prepare(
      db, sqlite3_mprintf("SELECT type, name, sql FROM sqlite_master WHERE sql "
                          "IS NOT NULL AND name NOT LIKE 'sqlite_%%' "
                          "ORDER BY type != 'table', rowid"));
  while (next(db, query)) {
    put_text(to, sqlite3_column_text(query, 2),
             (size_t)sqlite3_column_bytes(query, 2));
    bool is_table =
        strcmp((const char *)sqlite3_column_text(query, 0), "table") == 0;
    put_text(to, is_table ? (const void *)sqlite3_column_text(query, 1) : "",
             is_table ? (size_t)sqlite3_column_bytes(query, 1) : 0);
    if (is_table)
      put_table(to, db, (const char *)sqlite3_column_text(query, 1));
  }
  put_text(to, "", 0);
  sqlite3_finalize(query);
  sqlite3_close(db);
}

/* ---- files ---- */

static void put_file(bytes *to, const char *path) {
  bytes text = {0};
  unsigned char room[1 << 16];
  FILE *file = fopen(path, "rb");
  if (!file) stop(path, strerror(errno));
  size_t count;
  while ((count = fread(room, 1, sizeof room, file))) put(&text, room, count);
  if (ferror(file)) stop(path, "cannot be read");
  fclose(file);
  put_text(to, text.at, text.size);
  free(text.at);
}

static void put_folder(bytes *to, const char *root, const char *below) {
  char *path = sqlite3_mprintf("%s/%s", root, below);
  struct dirent **entries;
  int count = path ? scandir(path, &entries, NULL, alphasort) : -1;
  if (count < 0) stop(root, strerror(errno));
  for (int i = 0; i < count; i++) {
    const char *entry = entries[i]->d_name;
    char *name = sqlite3_mprintf("%s%s%s", below, *below ? "/" : "", entry);
    char *full = sqlite3_mprintf("%s/%s", root, name);
    struct stat info;
    if (!name || !full || stat(full, &info) != 0) stop(entry, strerror(errno));
    if (S_ISDIR(info.st_mode)) {
      if (*entry != '.') put_folder(to, root, name);
    } else {
      size_t size = strlen(name);
      unsigned char is_database =
          size > 7 && strcmp(name + size - 7, ".sqlite") == 0;
      put_text(to, name, size);
      put(to, &is_database, 1);
      if (is_database) {
        put_database(to, full);
      } else {
        put_file(to, full);
      }
    }
    sqlite3_free(full);
    sqlite3_free(name);
    free(entries[i]);
  }
  free(entries);
  sqlite3_free(path);
}

int main(int argc, char **argv) {
  if (argc != 3) stop("usage", "llmprof_pack_capture FOLDER FILE");
  bytes all = {0};
  put_folder(&all, argv[1], "");
  put_text(&all, "", 0);
  gzFile file = gzopen(argv[2], "wb9");
  if (!file || gzwrite(file, all.at, (unsigned)all.size) != (int)all.size ||
      gzclose(file) != Z_OK)
    stop(argv[2], "cannot be written");
  free(all.at);
  return EXIT_SUCCESS;
}

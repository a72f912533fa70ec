#include "sqlite/packed.h"

#include <sqlite3.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "os/fs.h"
#include "os/source.h"
#include "sqlite/sqlite_file.h"

/* What is read, from `at` on; `broken` once it ends too early. */
typedef struct stream {
  const unsigned char *at, *end;
  bool broken;
} stream;

typedef struct span {
  const char *bytes;
  size_t size;
} span;

typedef struct packed_column {
  stream types, cells;
  uint64_t before; /* the last integer: the next is a difference to it */
} packed_column;

/* A capture that is being written. */
typedef struct unpacking {
  const char *name, *path;
  stream rest;
  sqlite3 *db;
  sqlite3_stmt *row;
  llmprof_error *err;
} unpacking;

static bool fail_broken(const unpacking *u) {
  return llmprof_fail(u->err, LLMPROF_SYNTAX, "%s: not a packed capture",
                      u->name);
}

static bool fail_sql(const unpacking *u, int status) {
  if (status == SQLITE_NOMEM) return llmprof_fail_nomem(u->err);
  return llmprof_fail(u->err, LLMPROF_IO, "%s: cannot be written: %s", u->path,
                      u->db ? sqlite3_errmsg(u->db) : sqlite3_errstr(status));
}

/* ---- parts of the stream ---- */

static uint64_t take_number(stream *s) {
  uint64_t number = 0;
  for (unsigned shift = 0; shift < 64 && s->at < s->end; shift += 7) {
    unsigned char byte = *s->at++;
    number |= (uint64_t)(byte & 127) << shift;
    if (byte < 128) return number;
  }
  s->broken = true;
  return 0;
}

static uint64_t take_difference(stream *s) {
  uint64_t number = take_number(s);
  return number >> 1 ^ (number & 1 ? UINT64_MAX : 0);
}

/* Borrowed. */
static span take_text(stream *s) {
  uint64_t size = take_number(s);
  if (size > (uint64_t)(s->end - s->at)) {
    s->broken = true;
    size = 0;
  }
  span text = {(const char *)s->at, (size_t)size};
  s->at += size;
  return text;
}

static stream take_stream(stream *s) {
  span part = take_text(s);
  const unsigned char *begin = (const unsigned char *)part.bytes;
  return (stream){begin, begin + part.size, false};
}

static int take_byte(stream *s) {
  if (s->at == s->end) {
    s->broken = true;
    return 0;
  }
  return *s->at++;
}

/* ---- databases ---- */

static int bind_cell(sqlite3_stmt *row, int index, packed_column *column) {
  double real;
  span text;
  switch (take_byte(&column->types)) {
  case SQLITE_INTEGER:
    column->before += take_difference(&column->cells);
    return sqlite3_bind_int64(row, index, (sqlite3_int64)column->before);
  case SQLITE_FLOAT:
    if (column->cells.end - column->cells.at < (ptrdiff_t)sizeof real)
      return SQLITE_CORRUPT;
    memcpy(&real, column->cells.at, sizeof real);
    column->cells.at += sizeof real;
    return sqlite3_bind_double(row, index, real);
  case SQLITE_TEXT:
    text = take_text(&column->cells);
    return sqlite3_bind_text64(row, index, text.bytes, text.size, SQLITE_STATIC,
                               SQLITE_UTF8);
  case SQLITE_BLOB:
    text = take_text(&column->cells);
    return sqlite3_bind_blob64(row, index, text.bytes, text.size,
                               SQLITE_STATIC);
  case SQLITE_NULL:
    return sqlite3_bind_null(row, index);
  default:
    return SQLITE_CORRUPT;
  }
}

static bool write_row(unpacking *u, packed_column *columns, size_t count) {
  for (size_t i = 0; i < count; i++) {
    int status = bind_cell(u->row, (int)i + 1, &columns[i]);
    if (status == SQLITE_CORRUPT || columns[i].types.broken ||
        columns[i].cells.broken)
      return fail_broken(u);
    if (status != SQLITE_OK) return fail_sql(u, status);
  }
  int status = sqlite3_step(u->row);
  if (status != SQLITE_DONE) return fail_sql(u, status);
  sqlite3_reset(u->row);
  return true;
}

/* INSERT INTO "name" VALUES (?,?...) */
static bool prepare_row(unpacking *u, span table, size_t count) {
  llmprof_buffer sql = {0};
  char *quoted = sqlite3_mprintf("INSERT INTO \"%.*w\" VALUES (",
                                 (int)table.size, table.bytes);
  if (!quoted) return llmprof_fail_nomem(u->err);
  llmprof_buffer_puts(&sql, quoted);
  sqlite3_free(quoted);
  for (size_t i = 0; i < count; i++) llmprof_buffer_puts(&sql, i ? ",?" : "?");
  llmprof_buffer_puts(&sql, ")");
  int status = sql.failed ? SQLITE_NOMEM
                          : sqlite3_prepare_v2(u->db, sql.bytes, (int)sql.size,
                                               &u->row, NULL);
  llmprof_buffer_free(&sql);
  return status == SQLITE_OK || fail_sql(u, status);
}

static bool write_rows(unpacking *u, span table) {
  uint64_t rows = take_number(&u->rest);
  uint64_t count = take_number(&u->rest);
  if (u->rest.broken || !count || count > (uint64_t)(u->rest.end - u->rest.at))
    return fail_broken(u);
  packed_column *columns = llmprof_zalloc((size_t)count, sizeof *columns);
  if (!columns) return llmprof_fail_nomem(u->err);
  for (uint64_t i = 0; i < count; i++) {
    columns[i].types = take_stream(&u->rest);
    columns[i].cells = take_stream(&u->rest);
  }
  bool ok =
      u->rest.broken ? fail_broken(u) : prepare_row(u, table, (size_t)count);
  for (uint64_t i = 0; ok && i < rows; i++)
    ok = write_row(u, columns, (size_t)count);
  sqlite3_finalize(u->row);
  u->row = NULL;
  llmprof_free(columns);
  return ok;
}

static bool run_sql(unpacking *u, const char *sql, size_t size) {
  sqlite3_stmt *statement = NULL;
  int status = sqlite3_prepare_v2(u->db, sql, (int)size, &statement, NULL);
  if (status == SQLITE_OK) status = sqlite3_step(statement);
  sqlite3_finalize(statement);
  return status == SQLITE_DONE || status == SQLITE_ROW || fail_sql(u, status);
}

static bool run(unpacking *u, const char *sql) {
  return run_sql(u, sql, strlen(sql));
}

static bool write_tables(unpacking *u) {
  for (;;) {
    span sql = take_text(&u->rest);
    if (u->rest.broken) return fail_broken(u);
    if (!sql.size) return true;
    span table = take_text(&u->rest);
    if (u->rest.broken) return fail_broken(u);
    if (!run_sql(u, sql.bytes, sql.size)) return false;
    if (table.size && !write_rows(u, table)) return false;
  }
}

/* It is not there yet: nothing has to be rolled back. */
static bool write_database(unpacking *u) {
  int status = sqlite3_open_v2(u->path, &u->db,
                               SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
                                   SQLITE_OPEN_EXCLUSIVE,
                               llmprof_sqlite_vfs());
  bool ok = status == SQLITE_OK || fail_sql(u, status);
  ok = ok && run(u, "PRAGMA journal_mode = OFF") &&
       run(u, "PRAGMA synchronous = OFF") && run(u, "BEGIN") &&
       write_tables(u) && run(u, "COMMIT");
  sqlite3_close(u->db);
  u->db = NULL;
  return ok;
}

/* ---- files ---- */

/* Nothing but a name below the folder. */
static bool is_below(const char *name) {
  return *name != '/' && !strstr(name, "..");
}

static bool make_parent(unpacking *u, char *path) {
  char *slash = strrchr(path, '/');
  *slash = '\0';
  bool ok = llmprof_fs_mkdirs(path, u->err);
  *slash = '/';
  return ok;
}

static bool write_file(unpacking *u, const char *folder, span name) {
  llmprof_buffer path = {0};
  llmprof_buffer_printf(&path, "%s/%.*s", folder, (int)name.size, name.bytes);
  bool is_database = take_byte(&u->rest) == 1, ok;
  if (path.failed) {
    ok = llmprof_fail_nomem(u->err);
  } else if (!is_below(path.bytes + strlen(folder) + 1)) {
    ok = fail_broken(u);
  } else {
    u->path = path.bytes;
    ok = make_parent(u, path.bytes);
    if (ok && is_database) {
      ok = write_database(u);
    } else if (ok) {
      span text = take_text(&u->rest);
      ok = u->rest.broken ? fail_broken(u)
                          : llmprof_fs_write_soon(path.bytes, text.bytes,
                                                  text.size, u->err);
    }
  }
  llmprof_buffer_free(&path);
  return ok;
}

static bool inflate_all(const char *name, const void *bytes, size_t size,
                        llmprof_buffer *out, llmprof_error *err) {
  llmprof_source *source = llmprof_source_bytes(name, bytes, size, err);
  if (!source) return false;
  const char *piece;
  size_t count = 0;
  bool ok;
  while ((ok = llmprof_source_next(source, &piece, &count, err)) && count)
    llmprof_buffer_add(out, piece, count);
  llmprof_source_close(source);
  if (ok && out->failed) ok = llmprof_fail_nomem(err);
  return ok;
}

bool llmprof_unpack_capture(const char *name, const void *bytes, size_t size,
                            const char *folder, llmprof_error *err) {
  llmprof_buffer all = {0};
  bool ok = inflate_all(name, bytes, size, &all, err);
  const unsigned char *begin = (const unsigned char *)all.bytes;
  unpacking u = {.name = name,
                 .rest = {begin, begin + all.size, all.size == 0},
                 .err = err};
  while (ok) {
    span file = take_text(&u.rest);
    if (u.rest.broken) ok = fail_broken(&u);
    if (!file.size) break;
    ok = write_file(&u, folder, file);
  }
  llmprof_buffer_free(&all);
  return ok;
}

#include "sqlite/sqlite.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/bounds.h"
#include "base/buffer.h"
#include "base/interrupt.h"
#include "os/fs_open.h"
#include "sqlite/sqlite_file.h"

enum {
  MAX_VALUE = 64 << 20,       /* bytes of one text: what is longer is no name */
  STEPS_BETWEEN_LOOKS = 1000, /* of SQLite's machine */
};

struct llmprof_sqlite {
  sqlite3 *handle;
  char *path;
  llmprof_query *kept;     /* asked again and again; NULL before */
  llmprof_watch watch;     /* of the last query that began */
  pthread_mutex_t reading; /* SQLite may seek before it reads */
};

struct llmprof_query {
  sqlite3_stmt *statement;
  char *path; /* for messages; the database may be closed first */
};

/* ---- is it a database at all? ---- */

static bool fail_not_database(const char *path, llmprof_error *err) {
  return llmprof_fail(err, LLMPROF_SYNTAX, "%s: not an SQLite database", path);
}

/* SQLite finds a short file only when it reads the missing page; the header
 * knows at once. Its fields are big-endian. */
static bool check_header(const char *path, const unsigned char *header,
                         int64_t size, llmprof_error *err) {
  if (memcmp(header, "SQLite format 3", 16) != 0)
    return fail_not_database(path, err);
  int64_t page = header[16] << 8 | header[17];
  if (page == 1) page = 65536;
  int64_t pages = (int64_t)header[28] << 24 | header[29] << 16 |
                  header[30] << 8 | header[31];
  bool counted = memcmp(header + 24, header + 92, 4) == 0;
  if (counted && pages * page > size)
    return llmprof_fail(err, LLMPROF_TRUNCATED,
                        "%s: truncated: %lld of %lld bytes are there", path,
                        (long long)size, (long long)(pages * page));
  return true;
}

/* *logged: the file is in WAL mode, its last changes may be in another. */
static bool check_file(const char *path, bool *logged, llmprof_error *err) {
  struct stat info;
  int fd = llmprof_fs_open(path, &info, err);
  if (fd < 0) return false;
  unsigned char header[100];
  ssize_t got = pread(fd, header, sizeof header, 0);
  int problem = errno;
  close(fd);
  if (got < 0) return llmprof_fail_errno(err, problem, "%s", path);
  if (got < (ssize_t)sizeof header) return fail_not_database(path, err);
  *logged = header[18] == 2 || header[19] == 2;
  return check_header(path, header, info.st_size, err);
}

/* A journal beside the file means that a writer died: the file alone is not
 * the database, and immutable=1 would not look. One that has to be there and is
 * not was left behind when the file was copied. */
static bool check_journal(const char *path, const char *suffix, bool needed,
                          llmprof_error *err) {
  llmprof_buffer name = {0};
  llmprof_buffer_printf(&name, "%s%s", path, suffix);
  struct stat info;
  bool there = !name.failed && stat(name.bytes, &info) == 0;
  bool failed = name.failed;
  llmprof_buffer_free(&name);
  if (failed) return llmprof_fail_nomem(err);
  if (!there && needed)
    return llmprof_fail(err, LLMPROF_SYNTAX,
                        "%s: its last changes may be in %s%s, which is not "
                        "there: copy that, too, or make the file whole with "
                        "'PRAGMA journal_mode = DELETE'",
                        path, path, suffix);
  if (!there || info.st_size == 0) return true;
  return llmprof_fail(err, LLMPROF_SYNTAX,
                      "%s: its writer did not finish (%s%s is there); export "
                      "again",
                      path, path, suffix);
}

/* ---- opening ---- */

static sqlite3_vfs long_names;

static void register_long_names(void) {
  const sqlite3_vfs *usual = sqlite3_vfs_find(NULL);
  if (!usual) return;
  long_names = *usual;
  long_names.zName = "llmprof";
  long_names.mxPathname = PATH_MAX;
  if (sqlite3_vfs_register(&long_names, 0) != SQLITE_OK)
    long_names.zName = NULL;
}

/* SQLite's own has no names beyond 504 bytes. */
const char *llmprof_sqlite_vfs(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, register_long_names);
  return long_names.zName;
}

/* file: URI, with the characters that mean something there escaped. */
void llmprof_sqlite_put_uri(llmprof_buffer *uri, const char *path) {
  llmprof_buffer_puts(uri, "file:");
  for (const char *c = path; *c; c++) {
    if (strchr("%?#", *c))
      llmprof_buffer_printf(uri, "%%%02X", (unsigned char)*c);
    else
      llmprof_buffer_putc(uri, *c);
  }
  llmprof_buffer_puts(uri, "?mode=ro&immutable=1");
}

void llmprof_sqlite_put_name(llmprof_buffer *sql, const char *name) {
  llmprof_buffer_putc(sql, '"');
  for (; *name; name++) {
    if (*name == '"') llmprof_buffer_putc(sql, '"');
    llmprof_buffer_putc(sql, *name);
  }
  llmprof_buffer_putc(sql, '"');
}

static bool fail_sqlite(llmprof_error *err, const char *path, sqlite3 *handle,
                        int rc) {
  const char *why = handle ? sqlite3_errmsg(handle) : sqlite3_errstr(rc);
  switch (rc & 0xff) {
  case SQLITE_NOMEM:
    return llmprof_fail_nomem(err);
  case SQLITE_NOTADB:
    return fail_not_database(path, err);
  case SQLITE_CORRUPT:
    return llmprof_fail(err, LLMPROF_SYNTAX, "%s: corrupt (%s)", path, why);
  case SQLITE_INTERRUPT:
    return llmprof_interrupted()
               ? llmprof_fail(err, LLMPROF_INTERRUPTED, "%s: interrupted", path)
               : llmprof_fail_bound(err, path, LLMPROF_BOUND_SECONDS);
  case SQLITE_ERROR:
    return llmprof_fail(err, LLMPROF_SYNTAX, "%s: %s", path, why);
  default:
    return llmprof_fail(err, LLMPROF_IO, "%s: %s", path, why);
  }
}

/* Asked by SQLite now and then while it works: a query can be stopped. */
static int shall_stop(void *db) {
  llmprof_error ignored;
  return !llmprof_watch_look(&((llmprof_sqlite *)db)->watch, "", &ignored);
}

static bool open_handle(llmprof_sqlite *db, llmprof_error *err) {
  llmprof_buffer uri = {0};
  llmprof_sqlite_put_uri(&uri, db->path);
  if (uri.failed) {
    llmprof_buffer_free(&uri);
    return llmprof_fail_nomem(err);
  }
  int rc = sqlite3_open_v2(uri.bytes, &db->handle,
                           SQLITE_OPEN_READONLY | SQLITE_OPEN_URI |
                               SQLITE_OPEN_NOMUTEX,
                           llmprof_sqlite_vfs());
  llmprof_buffer_free(&uri);
  if (rc == SQLITE_OK) {
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_progress_handler(db->handle, STEPS_BETWEEN_LOOKS, shall_stop, db);
    sqlite3_limit(db->handle, SQLITE_LIMIT_LENGTH, MAX_VALUE);
    rc = sqlite3_exec(
        db->handle, "PRAGMA cell_size_check = ON; SELECT 1 FROM sqlite_master",
        NULL, NULL, NULL); /* reads the schema */
  }
  return rc == SQLITE_OK || fail_sqlite(err, db->path, db->handle, rc);
}

bool llmprof_sqlite_check_file(const char *path, llmprof_error *err) {
  bool logged = false;
  return check_file(path, &logged, err) &&
         check_journal(path, "-journal", false, err) &&
         check_journal(path, "-wal", logged, err);
}

llmprof_sqlite *llmprof_sqlite_open(const char *path, llmprof_error *err) {
  if (!llmprof_sqlite_check_file(path, err)) return NULL;
  llmprof_sqlite *db = llmprof_zalloc(1, sizeof *db);
  if (db) pthread_mutex_init(&db->reading, NULL);
  if (db) db->path = llmprof_strdup(path);
  if (!db || !db->path) {
    llmprof_fail_nomem(err);
  } else if (open_handle(db, err)) {
    return db;
  }
  llmprof_sqlite_close(db);
  return NULL;
}

void llmprof_sqlite_close(llmprof_sqlite *db) {
  if (!db) return;
  llmprof_query_free(db->kept);
  sqlite3_close_v2(db->handle); /* waits for open statements */
  pthread_mutex_destroy(&db->reading);
  llmprof_free(db->path);
  llmprof_free(db);
}

/* ---- the file itself ---- */

const char *llmprof_sqlite_path(const llmprof_sqlite *db) {
  return db->path;
}

static sqlite3_file *file_of(llmprof_sqlite *db, llmprof_error *err) {
  sqlite3_file *file = NULL;
  int rc = sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_FILE_POINTER,
                                &file);
  if (rc == SQLITE_OK && file && file->pMethods) return file;
  llmprof_fail(err, LLMPROF_IO, "%s: SQLite has no file open", db->path);
  return NULL;
}

int64_t llmprof_sqlite_file_size(llmprof_sqlite *db, llmprof_error *err) {
  sqlite3_int64 size = -1;
  sqlite3_file *file = file_of(db, err);
  if (!file) return -1;
  int rc = file->pMethods->xFileSize(file, &size);
  if (rc == SQLITE_OK) return size;
  fail_sqlite(err, db->path, NULL, rc);
  return -1;
}

bool llmprof_sqlite_file_read(llmprof_sqlite *db, int64_t offset, void *bytes,
                              size_t size, llmprof_error *err) {
  sqlite3_file *file = file_of(db, err);
  if (!file) return false;
  pthread_mutex_lock(&db->reading);
  int rc = file->pMethods->xRead(file, bytes, (int)size, offset);
  pthread_mutex_unlock(&db->reading);
  if (rc == SQLITE_OK) return true;
  if (rc == SQLITE_IOERR_SHORT_READ)
    return llmprof_fail(err, LLMPROF_TRUNCATED,
                        "%s: truncated: it ends before byte %lld", db->path,
                        (long long)(offset + (int64_t)size));
  return fail_sqlite(err, db->path, NULL, rc);
}

/* ---- queries ---- */

llmprof_query *llmprof_sqlite_query(llmprof_sqlite *db, const char *sql,
                                    llmprof_error *err) {
  llmprof_query *query = llmprof_zalloc(1, sizeof *query);
  if (query) query->path = llmprof_strdup(db->path);
  if (!query || !query->path) {
    llmprof_query_free(query);
    return llmprof_fail_nomem(err), NULL;
  }
  const char *rest;
  db->watch = (llmprof_watch){0};
  int rc = sqlite3_prepare_v2(db->handle, sql, -1, &query->statement, &rest);
  if (rc != SQLITE_OK) {
    fail_sqlite(err, db->path, db->handle, rc);
  } else if (!query->statement) {
    llmprof_fail(err, LLMPROF_SYNTAX, "%s: empty SQL statement", db->path);
  } else if (rest[strspn(rest, " \t\r\n;")]) {
    llmprof_fail(err, LLMPROF_SYNTAX, "%s: one SQL statement at a time",
                 db->path);
  } else {
    return query;
  }
  llmprof_query_free(query);
  return NULL;
}

void llmprof_query_free(llmprof_query *query) {
  if (!query) return;
  sqlite3_finalize(query->statement);
  llmprof_free(query->path);
  llmprof_free(query);
}

llmprof_query *llmprof_sqlite_keep_query(llmprof_sqlite *db, const char *sql,
                                         llmprof_error *err) {
  if (!db->kept)
    db->kept = llmprof_sqlite_query(db, sql, err);
  else
    sqlite3_reset(db->kept->statement);
  db->watch = (llmprof_watch){0};
  return db->kept;
}

int llmprof_query_parameters(const llmprof_query *query) {
  return sqlite3_bind_parameter_count(query->statement);
}

bool llmprof_query_bind_int(llmprof_query *query, int index, int64_t value) {
  return sqlite3_bind_int64(query->statement, index, value) == SQLITE_OK;
}

bool llmprof_query_bind_double(llmprof_query *query, int index, double value) {
  return sqlite3_bind_double(query->statement, index, value) == SQLITE_OK;
}

bool llmprof_query_bind_text(llmprof_query *query, int index, const char *bytes,
                             size_t size) {
  return sqlite3_bind_text64(query->statement, index, bytes, size,
                             SQLITE_TRANSIENT, SQLITE_UTF8) == SQLITE_OK;
}

bool llmprof_query_bind_null(llmprof_query *query, int index) {
  return sqlite3_bind_null(query->statement, index) == SQLITE_OK;
}

int llmprof_query_step(llmprof_query *query, llmprof_error *err) {
  int rc = sqlite3_step(query->statement);
  if (rc == SQLITE_ROW) return 1;
  if (rc == SQLITE_DONE) return 0;
  fail_sqlite(err, query->path, sqlite3_db_handle(query->statement), rc);
  return -1;
}

int llmprof_query_columns(const llmprof_query *query) {
  return sqlite3_column_count(query->statement);
}

const char *llmprof_query_name(const llmprof_query *query, int column) {
  return sqlite3_column_name(query->statement, column);
}

llmprof_sql_type llmprof_query_type(const llmprof_query *query, int column) {
  switch (sqlite3_column_type(query->statement, column)) {
  case SQLITE_INTEGER:
    return LLMPROF_SQL_INT;
  case SQLITE_FLOAT:
    return LLMPROF_SQL_DOUBLE;
  case SQLITE_TEXT:
  case SQLITE_BLOB:
    return LLMPROF_SQL_TEXT;
  default:
    return LLMPROF_SQL_NULL;
  }
}

int64_t llmprof_query_int(const llmprof_query *query, int column) {
  return sqlite3_column_int64(query->statement, column);
}

double llmprof_query_double(const llmprof_query *query, int column) {
  return sqlite3_column_double(query->statement, column);
}

const char *llmprof_query_text(const llmprof_query *query, int column,
                               size_t *size) {
  const void *bytes =
      sqlite3_column_type(query->statement, column) == SQLITE_BLOB
          ? sqlite3_column_blob(query->statement, column)
          : (const void *)sqlite3_column_text(query->statement, column);
  *size = (size_t)sqlite3_column_bytes(query->statement, column);
  return bytes ? bytes : "";
}

void llmprof_query_ints(const llmprof_query *query, int64_t *values,
                        int count) {
  for (int i = 0; i < count; i++) {
    values[i] = sqlite3_column_int64(query->statement, i);
    if (values[i] == 0 &&
        sqlite3_column_type(query->statement, i) == SQLITE_NULL)
      values[i] = LLMPROF_ABSENT;
  }
}

uint64_t llmprof_sqlite_pages(llmprof_sqlite *db) {
  int hits = 0, misses = 0, most;
  sqlite3_db_status(db->handle, SQLITE_DBSTATUS_CACHE_HIT, &hits, &most, 1);
  sqlite3_db_status(db->handle, SQLITE_DBSTATUS_CACHE_MISS, &misses, &most, 1);
  return (uint64_t)hits + (uint64_t)misses;
}

/* ---- schema ---- */

int llmprof_sqlite_has(llmprof_sqlite *db, const char *table,
                       const char *column, llmprof_error *err) {
  llmprof_query *query = llmprof_sqlite_query(
      db,
      column ? "SELECT count(*) FROM pragma_table_info(?1) "
               "WHERE name = ?2 COLLATE NOCASE"
             : "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND "
               "name = ?1 COLLATE NOCASE AND rootpage > 0",
      err);
  if (!query) return -1;
  int answer = -1;
  if (!llmprof_query_bind_text(query, 1, table, strlen(table)) ||
      (column && !llmprof_query_bind_text(query, 2, column, strlen(column)))) {
    llmprof_fail_nomem(err);
  } else if (llmprof_query_step(query, err) == 1) {
    answer = llmprof_query_int(query, 0) > 0;
  }
  llmprof_query_free(query);
  return answer;
}

bool llmprof_sqlite_table_with(llmprof_sqlite *db, const char *column,
                               llmprof_buffer *name, llmprof_error *err) {
  llmprof_query *query = llmprof_sqlite_query(
      db,
      "SELECT m.name FROM sqlite_master m, pragma_table_info(m.name) c "
      "WHERE m.type = 'table' AND m.rootpage > 0"
      " AND c.name IN ('start', 'end', ?1)"
      "GROUP BY m.name HAVING count(*) = 3 ORDER BY m.name",
      err);
  if (!query) return false;
  int got = -1;
  if (!llmprof_query_bind_text(query, 1, column, strlen(column)))
    llmprof_fail_nomem(err);
  else
    got = llmprof_query_step(query, err);
  size_t unused;
  if (got == 1)
    llmprof_buffer_puts(name, llmprof_query_text(query, 0, &unused));
  llmprof_query_free(query);
  if (name->failed) return llmprof_fail_nomem(err);
  return got >= 0;
}

bool llmprof_sqlite_check_stored(llmprof_sqlite *db, llmprof_error *err) {
  llmprof_query *query = llmprof_sqlite_query(
      db,
      "SELECT m.name FROM sqlite_master m, pragma_table_xinfo(m.name) c "
      "WHERE m.type = 'table' AND c.hidden IN (2, 3)",
      err);
  if (!query) return false;
  size_t size;
  int got = llmprof_query_step(query, err);
  if (got == 1)
    llmprof_fail(err, LLMPROF_UNSUPPORTED,
                 "%s: %.100s has a computed column, which no export has",
                 db->path, llmprof_query_text(query, 0, &size));
  llmprof_query_free(query);
  return got == 0;
}

#include "nsys/export_edit.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bounds.h"
#include "base/interrupt.h"
#include "os/fs.h"
#include "sqlite/sqlite.h"
#include "sqlite/sqlite_file.h"

const char *const llmprof_edit_string_columns[] = {
    "nameId",      "textId",       "jsonTextId",  "demangledName", "shortName",
    "mangledName", "schemaNameId", "entryNameId", "symbol",        "module",
    "file",        "function",     NULL,
};

/* Why the file in the making could not be written; 0: it could. */
static int unwritable(llmprof_edit *edit, int rc) {
  if (rc == SQLITE_FULL) return ENOSPC;
  int code = edit->db ? sqlite3_extended_errcode(edit->db) : rc;
  bool is_write = code == SQLITE_IOERR_WRITE || code == SQLITE_IOERR_FSYNC ||
                  code == SQLITE_IOERR_TRUNCATE;
  int reason = is_write ? sqlite3_system_errno(edit->db) : 0;
  return is_write && !reason ? EIO : reason;
}

bool llmprof_edit_fail(llmprof_edit *edit, int rc) {
  if (rc == SQLITE_NOMEM) return llmprof_fail_nomem(edit->err);
  if (rc == SQLITE_INTERRUPT)
    return llmprof_interrupted() ? llmprof_fail_interrupted(edit->err)
                                 : llmprof_fail_bound(edit->err, edit->name,
                                                      LLMPROF_BOUND_SECONDS);
  int reason = unwritable(edit, rc);
  if (reason) return llmprof_fail_errno(edit->err, reason, "%s", edit->target);
  return llmprof_fail(edit->err, LLMPROF_SYNTAX, "%s: cannot be %s: %s",
                      edit->name, edit->action,
                      edit->db ? sqlite3_errmsg(edit->db) : sqlite3_errstr(rc));
}

bool llmprof_edit_run(llmprof_edit *edit, const char *sql) {
  int rc = sqlite3_exec(edit->db, sql, NULL, NULL, NULL);
  return rc == SQLITE_OK || llmprof_edit_fail(edit, rc);
}

bool llmprof_edit_run_built(llmprof_edit *edit, llmprof_buffer *sql) {
  bool ok = sql->failed ? llmprof_fail_nomem(edit->err)
                        : !sql->size || llmprof_edit_run(edit, sql->bytes);
  llmprof_buffer_free(sql);
  return ok;
}

bool llmprof_edit_has(llmprof_edit *edit, const char *schema, const char *table,
                      const char *column) {
  int rc = sqlite3_table_column_metadata(edit->db, schema, table, column, NULL,
                                         NULL, NULL, NULL, NULL);
  if (rc == SQLITE_NOMEM) edit->nomem = true;
  return rc == SQLITE_OK;
}

static bool matches(const char *pattern, const char *name) {
  size_t size = strlen(pattern);
  if (size && pattern[size - 1] == '*')
    return strncmp(pattern, name, size - 1) == 0;
  return strcmp(pattern, name) == 0;
}

bool llmprof_edit_matches(const char *const *patterns, size_t count,
                          const char *name) {
  for (size_t i = 0; i < count; i++) {
    if (matches(patterns[i], name)) return true;
  }
  return false;
}

bool llmprof_edit_each(llmprof_edit *edit, const char *sql,
                       const char *parameter, llmprof_edit_row take,
                       void *user) {
  sqlite3_stmt *rows = NULL;
  int rc = sqlite3_prepare_v2(edit->db, sql, -1, &rows, NULL);
  if (rc == SQLITE_OK && parameter)
    rc = sqlite3_bind_text(rows, 1, parameter, -1, SQLITE_STATIC);
  bool ok = true;
  while (ok && rc == SQLITE_OK && (rc = sqlite3_step(rows)) == SQLITE_ROW) {
    ok = take(edit, rows, user);
    rc = SQLITE_OK;
  }
  if (ok && rc != SQLITE_DONE) ok = llmprof_edit_fail(edit, rc);
  sqlite3_finalize(rows);
  return ok;
}

const char *llmprof_edit_text(sqlite3_stmt *row, int i) {
  return (const char *)sqlite3_column_text(row, i);
}

static bool add_number(llmprof_edit *edit, sqlite3_stmt *row, void *count) {
  (void)edit;
  *(size_t *)count += (size_t)sqlite3_column_int64(row, 0);
  return true;
}

bool llmprof_edit_count(llmprof_edit *edit, llmprof_buffer *sql,
                        size_t *count) {
  bool ok = sql->failed
                ? llmprof_fail_nomem(edit->err)
                : llmprof_edit_each(edit, sql->bytes, NULL, add_number, count);
  llmprof_buffer_free(sql);
  return ok;
}

/* ---- a file in the making ---- */

/* It lies in a folder that only its user can enter, beside where it is to go,
 * and which is swept up when we are killed. */
typedef struct making {
  llmprof_buffer folder, path;
  llmprof_lock *lock;
} making;

/* Asked by SQLite now and then while it works. */
static int shall_stop(void *edit) {
  llmprof_error ignored;
  return !llmprof_watch_look(&((llmprof_edit *)edit)->watch, "", &ignored);
}

/* No value of an export is larger; one that SQL makes up may be. */
enum {
  LARGEST_VALUE = 64 * 1024 * 1024,
  STEPS_BETWEEN_LOOKS = 1000,
};

/* No code that a stranger put into the schema runs; no journal: a file that
 * cannot be finished is thrown away. */
static bool open_making(llmprof_edit *edit, const char *path) {
  int rc = sqlite3_open_v2(path, &edit->db,
                           SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
                               SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX,
                           llmprof_sqlite_vfs());
  if (rc != SQLITE_OK) return llmprof_edit_fail(edit, rc);
  sqlite3_db_config(edit->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
  sqlite3_db_config(edit->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
  sqlite3_limit(edit->db, SQLITE_LIMIT_LENGTH, LARGEST_VALUE);
  sqlite3_progress_handler(edit->db, STEPS_BETWEEN_LOOKS, shall_stop, edit);
  return llmprof_edit_run(edit, "PRAGMA journal_mode = OFF; "
                                "PRAGMA synchronous = OFF; "
                                "PRAGMA secure_delete = ON");
}

static bool is_database(const char *path, llmprof_error *err) {
  llmprof_sqlite *probe = llmprof_sqlite_open(path, err);
  llmprof_sqlite_close(probe);
  return probe != NULL;
}

bool llmprof_edit_attach(llmprof_edit *edit, const char *path) {
  if (!is_database(path, edit->err)) return false; /* it would be made */
  llmprof_buffer uri = {0};
  llmprof_sqlite_put_uri(&uri, path);
  sqlite3_stmt *attach = NULL;
  int rc = uri.failed ? SQLITE_NOMEM
                      : sqlite3_prepare_v2(edit->db, "ATTACH ?1 AS more", -1,
                                           &attach, NULL);
  if (rc == SQLITE_OK)
    rc = sqlite3_bind_text(attach, 1, uri.bytes, -1, SQLITE_STATIC);
  if (rc == SQLITE_OK) rc = sqlite3_step(attach);
  sqlite3_finalize(attach);
  llmprof_buffer_free(&uri);
  return rc == SQLITE_DONE || llmprof_edit_fail(edit, rc);
}

/* The folder that holds a path: "." when it names none. */
static bool put_folder(llmprof_buffer *folder, const char *path) {
  const char *slash = strrchr(path, '/');
  if (!slash)
    llmprof_buffer_puts(folder, ".");
  else
    llmprof_buffer_add(folder, path, (size_t)(slash - path) + (slash == path));
  return !folder->failed;
}

static bool begin_making(making *m, const char *to, llmprof_error *err) {
  llmprof_buffer parent = {0};
  size_t swept;
  bool ok = put_folder(&parent, to) || llmprof_fail_nomem(err);
  ok = ok && llmprof_fs_sweep(parent.bytes, &swept, err) &&
       llmprof_fs_private_dir(parent.bytes, &m->folder, &m->lock, err);
  llmprof_buffer_free(&parent);
  if (ok) llmprof_buffer_printf(&m->path, "%s/file", m->folder.bytes);
  return ok && (!m->path.failed || llmprof_fail_nomem(err));
}

static void end_making(making *m) {
  if (m->lock) llmprof_fs_remove_tree(m->folder.bytes, NULL);
  llmprof_lock_free(m->lock);
  llmprof_buffer_free(&m->folder);
  llmprof_buffer_free(&m->path);
}

/* Replacing the export by its copy would lose what was not meant to go, and a
 * device or pipe is written to, not replaced. */
static bool check_target(const char *from, const char *to, llmprof_error *err) {
  struct stat a, b;
  if (stat(to, &b) != 0) return true;
  if (stat(from, &a) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
    return llmprof_fail(err, LLMPROF_DENIED,
                        "%s: is the export itself; write to another file", to);
  return S_ISREG(b.st_mode) ||
         llmprof_fail(err, LLMPROF_DENIED,
                      "%s: not replaced: it is no regular file", to);
}

/* What may read the export may read what was made of it; a copy of a read-only
 * one can be written. */
static bool give_mode(const char *from, const char *path, llmprof_error *err) {
  struct stat info;
  if (stat(from, &info) != 0 && errno == ENOENT) return true; /* no file */
  if (stat(from, &info) == 0 &&
      chmod(path, (info.st_mode & 0777) | S_IWUSR) == 0)
    return true;
  return llmprof_fail_errno(err, errno, "%s", path);
}

static bool finish_making(const char *from, const char *path, const char *to,
                          llmprof_error *err) {
  return give_mode(from, path, err) && llmprof_fs_sync(path, err) &&
         llmprof_fs_rename(path, to, err);
}

static bool begin_file(const char *from, const making *m, llmprof_edit *edit,
                       llmprof_edit_start start) {
  if (start == LLMPROF_EDIT_COPY &&
      !(llmprof_fs_copy(from, m->path.bytes, edit->err) &&
        give_mode(from, m->path.bytes, edit->err)))
    return false;
  return open_making(edit, m->path.bytes) &&
         (start != LLMPROF_EDIT_BESIDE || llmprof_edit_attach(edit, from));
}

bool llmprof_edit_make(llmprof_edit_start start, const char *from,
                       const char *to, const char *action,
                       llmprof_edit_function change, void *user,
                       llmprof_error *err) {
  llmprof_edit edit = {
      .name = from, .target = to, .action = action, .err = err};
  making m = {0};
  bool ok = check_target(from, to, err) &&
            (start == LLMPROF_EDIT_NEW || is_database(from, err)) &&
            begin_making(&m, to, err) && begin_file(from, &m, &edit, start) &&
            change(&edit, user);
  sqlite3_close(edit.db);
  if (edit.nomem) ok = llmprof_fail_nomem(err);
  ok = ok && finish_making(from, m.path.bytes, to, err);
  end_making(&m);
  return ok;
}

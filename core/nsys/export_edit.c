#include "nsys/export_edit.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "llmprof/fs.h"
#include "llmprof/sqlite.h"
#include "os/fs_draft.h"

const char *const llmprof_edit_string_columns[] = {
    "nameId",        "textId",      "jsonTextId",
    "demangledName", "shortName",   "mangledName",
    "schemaNameId",  "entryNameId", NULL,
};

bool llmprof_edit_fail(llmprof_edit *edit, int rc) {
  if (rc == SQLITE_NOMEM) return llmprof_fail_nomem(edit->err);
  return llmprof_fail(edit->err,
                      rc == SQLITE_FULL ? LLMPROF_IO : LLMPROF_SYNTAX,
                      "%s: cannot be %s: %s", edit->name, edit->action,
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
  return sqlite3_table_column_metadata(edit->db, schema, table, column, NULL,
                                       NULL, NULL, NULL, NULL) == SQLITE_OK;
}

void llmprof_edit_quote(llmprof_buffer *sql, const char *name) {
  llmprof_buffer_putc(sql, '"');
  for (; *name; name++) {
    if (*name == '"') llmprof_buffer_putc(sql, '"');
    llmprof_buffer_putc(sql, *name);
  }
  llmprof_buffer_putc(sql, '"');
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

/* ---- the copy ---- */

/* No code that a stranger put into the schema runs; no journal: a copy that
 * fails is thrown away. */
static bool open_copy(llmprof_edit *edit, const char *path) {
  int rc = sqlite3_open_v2(path, &edit->db,
                           SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
  if (rc != SQLITE_OK) return llmprof_edit_fail(edit, rc);
  sqlite3_db_config(edit->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
  sqlite3_db_config(edit->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
  return llmprof_edit_run(edit, "PRAGMA journal_mode = OFF; "
                                "PRAGMA synchronous = OFF; "
                                "PRAGMA secure_delete = ON");
}

/* A file in the folder of `to` that nobody can guess the name of. */
static bool temporary_beside(const char *to, llmprof_buffer *path,
                             llmprof_error *err) {
  char name[FS_TEMP_SIZE];
  if (!llmprof_fs_temp_name(name, err)) return false;
  const char *slash = strrchr(to, '/');
  if (slash) llmprof_buffer_add(path, to, (size_t)(slash - to) + 1);
  llmprof_buffer_puts(path, name);
  return !path->failed || llmprof_fail_nomem(err);
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

/* A copy of a read-only export is read-only, too. */
static bool make_writable(const char *path, llmprof_error *err) {
  struct stat info;
  if (stat(path, &info) == 0 && chmod(path, info.st_mode | S_IWUSR) == 0)
    return true;
  return llmprof_fail_errno(err, errno, "%s", path);
}

bool llmprof_edit_copy(const char *from, const char *to, const char *action,
                       llmprof_edit_function change, void *user,
                       llmprof_error *err) {
  if (!check_target(from, to, err)) return false;
  llmprof_sqlite *probe = llmprof_sqlite_open(from, err); /* is it one? */
  if (!probe) return false;
  llmprof_sqlite_close(probe);
  llmprof_buffer path = {0};
  bool ok = temporary_beside(to, &path, err) &&
            llmprof_fs_copy(from, path.bytes, err);
  if (ok) {
    llmprof_edit edit = {.name = from, .action = action, .err = err};
    ok = make_writable(path.bytes, err) && open_copy(&edit, path.bytes) &&
         change(&edit, user);
    sqlite3_close(edit.db);
    ok = ok && llmprof_fs_rename(path.bytes, to, err);
    if (!ok) unlink(path.bytes);
  }
  llmprof_buffer_free(&path);
  return ok;
}

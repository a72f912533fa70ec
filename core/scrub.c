/* What is kept is listed, not what goes: a later nsys may write more about the
 * machine, and that must not slip through. Tables of events are told from
 * others by their names; of the tables that describe, rows are kept by name.
 * In the end strings that nothing refers to are deleted and the file is
 * rebuilt, so that no free page holds what was there. */
#include "llmprof/scrub.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs_internal.h"
#include "llmprof/alloc.h"
#include "llmprof/buffer.h"
#include "llmprof/fs.h"
#include "llmprof/sqlite.h"

/* Tables that are kept; a trailing * stands for any ending. */
static const char *const kept_tables[] = {
    "ENUM_*",
    "CUPTI_ACTIVITY_KIND_*",
    "NVTX_*",
    "CUDA_GRAPH_*",
    "CUDA_GPU_MEMORY_*",
    "CUDA_UM_*",
    "OSRT_API",
    "CUDNN_EVENTS",
    "CUBLAS_EVENTS",
    "GPU_METRICS",
    "PROFILER_OVERHEAD",
    "StringIds",
    "ThreadNames",
    "PROCESSES",
    "ANALYSIS_DETAILS",
    "DIAGNOSTIC_EVENT",
    "META_DATA_EXPORT",
    "EXPORT_META_DATA",
    "META_DATA_CAPTURE",
    "TARGET_INFO_GPU",
    "TARGET_INFO_CUDA_*",
    "TARGET_INFO_GPU_METRICS",
    "TARGET_INFO_SESSION_START_TIME",
    "TARGET_INFO_SYSTEM_ENV",
    "TARGET_INFO_NVTX_CUDA_DEVICE",
};

/* Rows that go, by table; run only where the table is there. */
static const struct {
  const char *table, *sql;
} deletions[] = {
    {"META_DATA_CAPTURE",
     "DELETE FROM META_DATA_CAPTURE WHERE NOT (name GLOB '*COLLECT_*' OR "
     "name GLOB '*CUDA_GRAPH_TRACE*' OR name GLOB '*CUDA_FLUSH*' OR "
     "name GLOB '*CUDA_SKIP*' OR name GLOB '*CUDA_TRACE_SCOPE*' OR "
     "name GLOB '*_TRIGGER' OR name = 'CAPTURE_EVENT_TYPE')"},
    {"META_DATA_EXPORT",
     "DELETE FROM META_DATA_EXPORT WHERE NOT (name GLOB 'EXPORT_PRODUCT_*' OR "
     "name GLOB 'EXPORT_SCHEMA_*' OR name IN ('EXPORT_PLATFORM', "
     "'EXPORT_ARCH', 'EXPORT_TIME_UTC', 'EXPORT_PARAM_LAZY', "
     "'EXPORT_PARAM_TIME_NORMALIZE', 'EXPORT_PARAM_TIME_SHIFT'))"},
    {"EXPORT_META_DATA",
     "DELETE FROM EXPORT_META_DATA WHERE NOT (name GLOB 'EXPORT_PRODUCT_*' OR "
     "name GLOB 'EXPORT_SCHEMA_*')"},
    {"TARGET_INFO_SYSTEM_ENV",
     "DELETE FROM TARGET_INFO_SYSTEM_ENV WHERE name NOT IN ('CpuCores', "
     "'CpuArchitecture', 'CpuDescription', 'NvDriverVersion', "
     "'CudaDriverVersion', 'OsDescription')"},
    {"DIAGNOSTIC_EVENT",
     "DELETE FROM DIAGNOSTIC_EVENT WHERE text GLOB '*/*' AND severity < 2"},
    {"DIAGNOSTIC_EVENT", "UPDATE DIAGNOSTIC_EVENT SET text = 'a message that "
                         "named a path' WHERE text GLOB '*/*'"},
};

/* Global ids of processes with events, from the columns that hold them. */
#define OF_PROCESS  "SELECT globalPid FROM %s"
#define OF_THREAD   "SELECT globalTid & ~0xFFFFFF FROM %s"
#define THREAD_SELF "SELECT globalTid FROM %s"

static const char *const process_tables[] = {
    "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY",
    "CUPTI_ACTIVITY_KIND_MEMSET", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"};
static const char *const thread_tables[] = {"CUPTI_ACTIVITY_KIND_RUNTIME",
                                            "NVTX_EVENTS"};

typedef struct scrubber {
  sqlite3 *db;
  const char *name; /* for messages */
  llmprof_scrub_report report;
  llmprof_error *err;
} scrubber;

static bool fail(scrubber *s, int rc) {
  if (rc == SQLITE_NOMEM) return llmprof_fail_nomem(s->err);
  return llmprof_fail(s->err, rc == SQLITE_FULL ? LLMPROF_IO : LLMPROF_SYNTAX,
                      "%s: cannot be scrubbed: %s", s->name,
                      sqlite3_errmsg(s->db));
}

static bool run(scrubber *s, const char *sql) {
  int rc = sqlite3_exec(s->db, sql, NULL, NULL, NULL);
  return rc == SQLITE_OK || fail(s, rc);
}

/* Run, and count the rows that changed. */
static bool change(scrubber *s, const char *sql, size_t *count) {
  if (!run(s, sql)) return false;
  *count += (size_t)sqlite3_changes64(s->db);
  return true;
}

/* Run a statement made in a buffer, which is freed. */
static bool change_built(scrubber *s, llmprof_buffer *sql, size_t *count) {
  bool ok =
      sql->failed ? llmprof_fail_nomem(s->err) : change(s, sql->bytes, count);
  llmprof_buffer_free(sql);
  return ok;
}

static void add_quoted(llmprof_buffer *sql, const char *name) {
  llmprof_buffer_putc(sql, '"');
  for (; *name; name++) {
    if (*name == '"') llmprof_buffer_putc(sql, '"');
    llmprof_buffer_putc(sql, *name);
  }
  llmprof_buffer_putc(sql, '"');
}

/* ---- tables ---- */

static bool matches(const char *pattern, const char *name) {
  size_t size = strlen(pattern);
  if (size && pattern[size - 1] == '*')
    return strncmp(pattern, name, size - 1) == 0;
  return strcmp(pattern, name) == 0;
}

static bool is_kept(const char *type, const char *name) {
  if (strcmp(type, "table") != 0) return false;
  for (size_t i = 0; i < sizeof kept_tables / sizeof *kept_tables; i++) {
    if (matches(kept_tables[i], name)) return true;
  }
  return false;
}

/* Everything in the schema that is not listed goes: tables, views, triggers
 * and what a stranger may have put there. */
static bool drop_others(scrubber *s) {
  sqlite3_stmt *list;
  int rc = sqlite3_prepare_v2(
      s->db,
      "SELECT type, name FROM sqlite_master WHERE name NOT GLOB 'sqlite_*' "
      "AND type IN ('table', 'view', 'trigger')",
      -1, &list, NULL);
  if (rc != SQLITE_OK) return fail(s, rc);
  llmprof_buffer sql = {0};
  while ((rc = sqlite3_step(list)) == SQLITE_ROW) {
    const char *type = (const char *)sqlite3_column_text(list, 0);
    const char *name = (const char *)sqlite3_column_text(list, 1);
    if (!type || !name || is_kept(type, name)) continue;
    llmprof_buffer_printf(&sql, "DROP %s IF EXISTS ", type);
    add_quoted(&sql, name);
    llmprof_buffer_puts(&sql, ";");
    s->report.tables++;
  }
  sqlite3_finalize(list);
  if (rc != SQLITE_DONE) {
    llmprof_buffer_free(&sql);
    return fail(s, rc);
  }
  size_t ignored = 0;
  return !sql.size || change_built(s, &sql, &ignored);
}

static bool has_table(scrubber *s, const char *table) {
  return sqlite3_table_column_metadata(s->db, NULL, table, NULL, NULL, NULL,
                                       NULL, NULL, NULL) == SQLITE_OK;
}

static bool has_column(scrubber *s, const char *table, const char *column) {
  return sqlite3_table_column_metadata(s->db, NULL, table, column, NULL, NULL,
                                       NULL, NULL, NULL) == SQLITE_OK;
}

static bool delete_rows(scrubber *s) {
  for (size_t i = 0; i < sizeof deletions / sizeof *deletions; i++) {
    if (has_table(s, deletions[i].table) &&
        !change(s, deletions[i].sql, &s->report.rows))
      return false;
  }
  return true;
}

/* ---- processes and threads without events ---- */

static void add_union(llmprof_buffer *sql, scrubber *s,
                      const char *const *tables, size_t count,
                      const char *column, const char *format, bool *first) {
  for (size_t i = 0; i < count; i++) {
    if (!has_column(s, tables[i], column)) continue;
    if (!*first) llmprof_buffer_puts(sql, " UNION ");
    *first = false;
    const char *at = strstr(format, "%s");
    llmprof_buffer_add(sql, format, (size_t)(at - format));
    llmprof_buffer_puts(sql, tables[i]);
  }
}

static bool delete_idle(scrubber *s, const char *table, const char *column,
                        bool threads) {
  if (!has_column(s, table, column)) return true;
  llmprof_buffer sql = {0};
  bool first = true;
  llmprof_buffer_printf(&sql, "DELETE FROM %s WHERE %s NOT IN (", table,
                        column);
  if (!threads)
    add_union(&sql, s, process_tables,
              sizeof process_tables / sizeof *process_tables, "globalPid",
              OF_PROCESS, &first);
  add_union(&sql, s, thread_tables,
            sizeof thread_tables / sizeof *thread_tables, "globalTid",
            threads ? THREAD_SELF : OF_THREAD, &first);
  if (first) llmprof_buffer_puts(&sql, "SELECT NULL WHERE 0");
  llmprof_buffer_puts(&sql, ")");
  return change_built(s, &sql, &s->report.rows);
}

/* A process's name may be a path. */
static bool strip_paths(scrubber *s) {
  if (!has_column(s, "PROCESSES", "name")) return true;
  return change(s,
                "UPDATE PROCESSES SET name = replace(name, "
                "rtrim(name, replace(name, '/', '')), '') "
                "WHERE name GLOB '*/*'",
                &s->report.rows);
}

/* ---- strings ---- */

/* Columns that hold StringIds ids, by name, wherever they are. */
static const char *const string_columns[] = {
    "nameId",    "textId",      "jsonTextId",   "demangledName",
    "shortName", "mangledName", "schemaNameId", "entryNameId",
};

static bool delete_strings(scrubber *s) {
  if (!has_column(s, "StringIds", "id")) return true;
  sqlite3_stmt *list;
  int rc = sqlite3_prepare_v2(s->db,
                              "SELECT name FROM sqlite_master WHERE type = "
                              "'table' AND name <> 'StringIds'",
                              -1, &list, NULL);
  if (rc != SQLITE_OK) return fail(s, rc);
  llmprof_buffer sql = {0};
  llmprof_buffer_puts(&sql, "DELETE FROM StringIds WHERE id NOT IN (SELECT 0");
  while ((rc = sqlite3_step(list)) == SQLITE_ROW) {
    const char *table = (const char *)sqlite3_column_text(list, 0);
    for (size_t i = 0; i < sizeof string_columns / sizeof *string_columns;
         i++) {
      if (!table || !has_column(s, table, string_columns[i])) continue;
      llmprof_buffer_printf(&sql, " UNION SELECT %s FROM ", string_columns[i]);
      add_quoted(&sql, table);
      llmprof_buffer_printf(&sql, " WHERE %s NOT NULL", string_columns[i]);
    }
  }
  sqlite3_finalize(list);
  llmprof_buffer_puts(&sql, ")");
  if (rc != SQLITE_DONE) {
    llmprof_buffer_free(&sql);
    return fail(s, rc);
  }
  return change_built(s, &sql, &s->report.strings);
}

/* ---- the copy ---- */

static bool scrub_file(const char *path, const char *name,
                       llmprof_scrub_report *report, llmprof_error *err) {
  scrubber s = {.name = name, .err = err};
  int rc = sqlite3_open_v2(path, &s.db,
                           SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
  bool ok = rc == SQLITE_OK || fail(&s, rc);
  if (ok) {
    sqlite3_db_config(s.db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(s.db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
  }
  ok = ok &&
       run(&s, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; "
               "PRAGMA secure_delete = ON") &&
       drop_others(&s) && delete_rows(&s) &&
       delete_idle(&s, "PROCESSES", "globalPid", false) &&
       delete_idle(&s, "ThreadNames", "globalTid", true) && strip_paths(&s) &&
       delete_strings(&s) && run(&s, "VACUUM");
  sqlite3_close(s.db);
  if (ok && report) *report = s.report;
  return ok;
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

/* Replacing the export by its copy would lose what was not meant to go. */
static bool check_apart(const char *from, const char *to, llmprof_error *err) {
  struct stat a, b;
  if (stat(from, &a) != 0 || stat(to, &b) != 0 || a.st_dev != b.st_dev ||
      a.st_ino != b.st_ino)
    return true;
  return llmprof_fail(err, LLMPROF_DENIED,
                      "%s: is the export itself; write to another file", to);
}

/* A copy of a read-only export is read-only, too. */
static bool make_writable(const char *path, llmprof_error *err) {
  struct stat info;
  if (stat(path, &info) == 0 && chmod(path, info.st_mode | S_IWUSR) == 0)
    return true;
  return llmprof_fail_errno(err, errno, "%s", path);
}

bool llmprof_trace_scrub(const char *from, const char *to,
                         llmprof_scrub_report *report, llmprof_error *err) {
  if (!check_apart(from, to, err)) return false;
  llmprof_sqlite *probe = llmprof_sqlite_open(from, err); /* is it one? */
  if (!probe) return false;
  llmprof_sqlite_close(probe);
  llmprof_buffer path = {0};
  bool ok = temporary_beside(to, &path, err) &&
            llmprof_fs_copy(from, path.bytes, err);
  if (ok) {
    ok = make_writable(path.bytes, err) &&
         scrub_file(path.bytes, from, report, err) &&
         llmprof_fs_rename(path.bytes, to, err);
    if (!ok) unlink(path.bytes);
  }
  llmprof_buffer_free(&path);
  return ok;
}

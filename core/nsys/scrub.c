/* What is kept is listed, not what goes: a later nsys may write more about the
 * machine, and that must not slip through. Tables of events are told from
 * others by their names; of the tables that describe, rows are kept by name.
 * In the end strings that nothing refers to are deleted and the file is
 * rebuilt, so that no free page holds what was there. */
#include "llmprof/scrub.h"

#include <string.h>

#include "nsys/export_edit.h"

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

/* Rows that go, by table, and values; run only where the table is there, and
 * its column when one is named. */
static const struct {
  const char *table, *column, *sql;
} deletions[] = {
    {"META_DATA_CAPTURE", NULL,
     "DELETE FROM META_DATA_CAPTURE WHERE NOT (name GLOB '*COLLECT_*' OR "
     "name GLOB '*CUDA_GRAPH_TRACE*' OR name GLOB '*CUDA_FLUSH*' OR "
     "name GLOB '*CUDA_SKIP*' OR name GLOB '*CUDA_TRACE_SCOPE*' OR "
     "name GLOB '*_TRIGGER' OR name = 'CAPTURE_EVENT_TYPE')"},
    {"META_DATA_EXPORT", NULL,
     "DELETE FROM META_DATA_EXPORT WHERE NOT (name GLOB 'EXPORT_PRODUCT_*' OR "
     "name GLOB 'EXPORT_SCHEMA_*' OR name IN ('EXPORT_PLATFORM', "
     "'EXPORT_ARCH', 'EXPORT_TIME_UTC', 'EXPORT_PARAM_LAZY', "
     "'EXPORT_PARAM_TIME_NORMALIZE', 'EXPORT_PARAM_TIME_SHIFT'))"},
    {"EXPORT_META_DATA", NULL,
     "DELETE FROM EXPORT_META_DATA WHERE NOT (name GLOB 'EXPORT_PRODUCT_*' OR "
     "name GLOB 'EXPORT_SCHEMA_*')"},
    {"TARGET_INFO_SYSTEM_ENV", NULL,
     "DELETE FROM TARGET_INFO_SYSTEM_ENV WHERE name NOT IN ('CpuCores', "
     "'CpuArchitecture', 'CpuDescription', 'NvDriverVersion', "
     "'CudaDriverVersion', 'OsDescription')"},
    {"DIAGNOSTIC_EVENT", NULL,
     "DELETE FROM DIAGNOSTIC_EVENT WHERE text GLOB '*/*' AND severity < 2"},
    {"DIAGNOSTIC_EVENT", NULL,
     "UPDATE DIAGNOSTIC_EVENT SET text = 'a message that "
     "named a path' WHERE text GLOB '*/*'"},
    {"TARGET_INFO_GPU", "uuid",
     "UPDATE TARGET_INFO_GPU SET uuid = NULL WHERE uuid NOT NULL"},
    {"TARGET_INFO_GPU", "busLocation",
     "UPDATE TARGET_INFO_GPU SET busLocation = NULL WHERE busLocation NOT "
     "NULL"},
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
  llmprof_edit *edit;
  llmprof_scrub_report *report;
} scrubber;

/* Run, and count the rows that changed. */
static bool change(scrubber *s, const char *sql, size_t *count) {
  if (!llmprof_edit_run(s->edit, sql)) return false;
  *count += (size_t)sqlite3_changes64(s->edit->db);
  return true;
}

/* Run a statement made in a buffer, which is freed. */
static bool change_built(scrubber *s, llmprof_buffer *sql, size_t *count) {
  bool ok = llmprof_edit_run_built(s->edit, sql);
  if (ok) *count += (size_t)sqlite3_changes64(s->edit->db);
  return ok;
}

static bool fail(scrubber *s, int rc) {
  return llmprof_edit_fail(s->edit, rc);
}

static bool has_column(scrubber *s, const char *table, const char *column) {
  return llmprof_edit_has(s->edit, "main", table, column);
}

/* ---- tables ---- */

static bool is_kept(const char *type, const char *name) {
  return strcmp(type, "table") == 0 &&
         llmprof_edit_matches(kept_tables,
                              sizeof kept_tables / sizeof *kept_tables, name);
}

/* Everything in the schema that is not listed goes: tables, views, triggers
 * and what a stranger may have put there. */
static bool drop_others(scrubber *s) {
  sqlite3_stmt *list;
  int rc = sqlite3_prepare_v2(
      s->edit->db,
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
    llmprof_edit_quote(&sql, name);
    llmprof_buffer_puts(&sql, ";");
    s->report->tables++;
  }
  sqlite3_finalize(list);
  if (rc != SQLITE_DONE) {
    llmprof_buffer_free(&sql);
    return fail(s, rc);
  }
  return llmprof_edit_run_built(s->edit, &sql);
}

static bool delete_rows(scrubber *s) {
  for (size_t i = 0; i < sizeof deletions / sizeof *deletions; i++) {
    if (has_column(s, deletions[i].table, deletions[i].column) &&
        !change(s, deletions[i].sql, &s->report->rows))
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
  return change_built(s, &sql, &s->report->rows);
}

/* A process's name may be a path. */
static bool strip_paths(scrubber *s) {
  if (!has_column(s, "PROCESSES", "name")) return true;
  return change(s,
                "UPDATE PROCESSES SET name = replace(name, "
                "rtrim(name, replace(name, '/', '')), '') "
                "WHERE name GLOB '*/*'",
                &s->report->rows);
}

/* ---- strings ---- */

static bool delete_strings(scrubber *s) {
  if (!has_column(s, "StringIds", "id")) return true;
  sqlite3_stmt *list;
  int rc = sqlite3_prepare_v2(s->edit->db,
                              "SELECT name FROM sqlite_master WHERE type = "
                              "'table' AND name <> 'StringIds'",
                              -1, &list, NULL);
  if (rc != SQLITE_OK) return fail(s, rc);
  llmprof_buffer sql = {0};
  llmprof_buffer_puts(&sql, "DELETE FROM StringIds WHERE id NOT IN (SELECT 0");
  while ((rc = sqlite3_step(list)) == SQLITE_ROW) {
    const char *table = (const char *)sqlite3_column_text(list, 0);
    for (const char *const *column = llmprof_edit_string_columns; *column;
         column++) {
      if (!table || !has_column(s, table, *column)) continue;
      llmprof_buffer_printf(&sql, " UNION SELECT %s FROM ", *column);
      llmprof_edit_quote(&sql, table);
      llmprof_buffer_printf(&sql, " WHERE %s NOT NULL", *column);
    }
  }
  sqlite3_finalize(list);
  llmprof_buffer_puts(&sql, ")");
  if (rc != SQLITE_DONE) {
    llmprof_buffer_free(&sql);
    return fail(s, rc);
  }
  return change_built(s, &sql, &s->report->strings);
}

/* ---- the copy ---- */

static bool scrub(llmprof_edit *edit, void *user) {
  scrubber s = {edit, user};
  return drop_others(&s) && delete_rows(&s) &&
         delete_idle(&s, "PROCESSES", "globalPid", false) &&
         delete_idle(&s, "ThreadNames", "globalTid", true) && strip_paths(&s) &&
         delete_strings(&s) && llmprof_edit_run(edit, "VACUUM");
}

bool llmprof_trace_scrub(const char *from, const char *to,
                         llmprof_scrub_report *report, llmprof_error *err) {
  llmprof_scrub_report counted = {0};
  bool ok = llmprof_edit_copy(from, to, "scrubbed", scrub, &counted, err);
  if (ok && report) *report = counted;
  return ok;
}

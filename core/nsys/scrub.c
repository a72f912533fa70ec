/* What is kept is listed, not what goes: a later nsys may write more about the
 * machine, and that must not slip through. A new file is filled from the
 * export, so that at no moment there is a copy of what is not to stay, and no
 * free page holds it. Tables of events are told from others by their names; a
 * text is taken from listed columns only, and of the tables that describe, by
 * the rules of scrub_rules.h. Of the export's own SQL nothing is used. */
#include "nsys/scrub.h"

#include <string.h>

#include "nsys/nsys_samples.h"
#include "nsys/scrub_rules.h"
#include "sqlite/sqlite_file.h"

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
    NSYS_SAMPLES_TABLE,
    NSYS_STACKS_TABLE,
    "COMPOSITE_EVENTS",
    "SAMPLING_CALLCHAINS",
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

/* Columns whose texts are kept, or what a function of SQL makes of them; in
 * others, but for those that are declared to hold numbers, a text becomes "".
 */
static const struct {
  const char *table, *column, *function;
} text_columns[] = {
    {"ENUM_*", "name", ""},
    {"ENUM_*", "label", ""},
    {"StringIds", "value", ""},
    {"NVTX_EVENTS", "text", ""},
    {"NVTX_EVENTS", "jsonText", ""},
    {"NVTX_EVENTS", "binaryData", ""},
    {"NVTX_PAYLOAD_*", "name", ""},
    {"NVTX_PAYLOAD_*", "description", ""},
    {"PROCESSES", "name", "scrub_program"},
    {"DIAGNOSTIC_EVENT", "text", "scrub_message"},
    {"META_DATA_CAPTURE", "name", ""},
    {"META_DATA_CAPTURE", "value", ""},
    {"META_DATA_EXPORT", "name", ""},
    {"META_DATA_EXPORT", "value", ""},
    {"EXPORT_META_DATA", "name", ""},
    {"EXPORT_META_DATA", "value", ""},
    {"TARGET_INFO_SYSTEM_ENV", "name", ""},
    {"TARGET_INFO_SYSTEM_ENV", "value", ""},
    {"TARGET_INFO_SESSION_START_TIME", "utcTime", ""},
    {"TARGET_INFO_GPU", "name", ""},
    {"TARGET_INFO_GPU", "chipName", ""},
    {"TARGET_INFO_GPU_METRICS", "typeName", ""},
    {"TARGET_INFO_GPU_METRICS", "metricName", ""},
};

#define SETTINGS(table) \
  { table, {"name", "value"}, "scrub_keeps('" table "', name, value)" }

/* Rows that are kept of a table that has these columns; none of one that lacks
 * them. */
static const struct {
  const char *table, *columns[2], *condition;
} kept_rows[] = {
    SETTINGS("META_DATA_CAPTURE"),
    SETTINGS("META_DATA_EXPORT"),
    SETTINGS("EXPORT_META_DATA"),
    SETTINGS("TARGET_INFO_SYSTEM_ENV"),
    {"DIAGNOSTIC_EVENT",
     {"severity", "text"},
     "severity >= 2 OR scrub_message(text) = text"},
};

/* Processes and threads stay when these columns say that they have events. */
static const char *const process_tables[] = {
    "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY",
    "CUPTI_ACTIVITY_KIND_MEMSET", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"};
static const char *const thread_tables[] = {"CUPTI_ACTIVITY_KIND_RUNTIME",
                                            "NVTX_EVENTS", "COMPOSITE_EVENTS"};

/* Columns of string ids whose strings may hold where something lies. */
static const char *const place_columns[] = {"symbol", "module"};

typedef struct scrubber {
  llmprof_edit *edit;
  llmprof_scrub_report *report;
} scrubber;

static bool has_column(scrubber *s, const char *table, const char *column) {
  return llmprof_edit_has(s->edit, "main", table, column);
}

static bool had_column(scrubber *s, const char *table, const char *column) {
  return llmprof_edit_has(s->edit, "more", table, column);
}

/* ---- a table of the copy ---- */

typedef struct table_copy {
  const char *name;
  scrubber *scrubber;
  llmprof_buffer declared, names, values; /* lists of SQL */
  bool changes; /* some value is not the column's own */
} table_copy;

static void add_comma(llmprof_buffer *list) {
  if (list->size) llmprof_buffer_puts(list, ", ");
}

/* Of a declared type as much as decides how SQLite stores values. */
static const char *type_of(const char *declared) {
  static const char *const types[] = {"INTEGER", "REAL", "TEXT", "BLOB"};
  for (size_t i = 0; i < COUNT(types); i++) {
    if (sqlite3_strnicmp(declared, types[i], 3) == 0) return types[i];
  }
  return "";
}

/* The function that makes what is kept of a column's texts, "" for them as they
 * are; NULL: none is kept. */
static const char *function_of(const char *table, const char *column) {
  for (size_t i = 0; i < COUNT(text_columns); i++) {
    if (strcmp(text_columns[i].column, column) == 0 &&
        llmprof_edit_matches(&text_columns[i].table, 1, table))
      return text_columns[i].function;
  }
  return NULL;
}

/* ---- columns ---- */

static bool add_column(llmprof_edit *edit, sqlite3_stmt *row, void *user) {
  table_copy *t = user;
  const char *column = llmprof_edit_text(row, 0);
  const char *declared = llmprof_edit_text(row, 1);
  if (!column) return llmprof_fail_nomem(edit->err);
  const char *type = type_of(declared ? declared : "");
  const char *function = function_of(t->name, column);
  if (!function && (*type == 'I' || *type == 'R')) function = "";
  t->changes |= !function || *function;
  add_comma(&t->declared);
  llmprof_sqlite_put_name(&t->declared, column);
  llmprof_buffer_printf(&t->declared, " %s%s", type,
                        sqlite3_column_int(row, 2) ? " PRIMARY KEY" : "");
  add_comma(&t->names);
  llmprof_sqlite_put_name(&t->names, column);
  add_comma(&t->values);
  if (function) {
    llmprof_buffer_printf(&t->values, "%s(", function);
  } else { /* "" for a text or a blob */
    llmprof_buffer_puts(&t->values, "iif(typeof(");
    llmprof_sqlite_put_name(&t->values, column);
    llmprof_buffer_puts(&t->values, ") IN ('text', 'blob'), '', ");
  }
  llmprof_sqlite_put_name(&t->values, column);
  llmprof_buffer_puts(&t->values, ")");
  return true;
}

/* Columns that are computed are not stored: an export has none. */
static bool add_columns(table_copy *t) {
  llmprof_edit *edit = t->scrubber->edit;
  return llmprof_edit_each(
             edit,
             "SELECT name, type, pk = 1 AND type = 'INTEGER' AND (SELECT "
             "count(*) FROM pragma_table_xinfo(?1, 'more') WHERE pk > 0) = 1 "
             "FROM pragma_table_xinfo(?1, 'more') WHERE hidden = 0",
             t->name, add_column, t) &&
         (!(t->declared.failed || t->names.failed || t->values.failed) ||
          llmprof_fail_nomem(edit->err));
}

/* Which rows: NULL for all; "0" where a column that would tell is not there. */
static const char *condition_of(scrubber *s, const char *table) {
  for (size_t i = 0; i < COUNT(kept_rows); i++) {
    if (strcmp(kept_rows[i].table, table) != 0) continue;
    for (size_t c = 0; c < COUNT(kept_rows[i].columns); c++) {
      if (!had_column(s, table, kept_rows[i].columns[c])) return "0";
    }
    return kept_rows[i].condition;
  }
  return NULL;
}

static bool make_table(table_copy *t) {
  llmprof_buffer sql = {0};
  llmprof_buffer_puts(&sql, "CREATE TABLE main.");
  llmprof_sqlite_put_name(&sql, t->name);
  llmprof_buffer_printf(&sql, "(%s)", t->declared.bytes);
  return llmprof_edit_run_built(t->scrubber->edit, &sql);
}

static bool fill_table(table_copy *t, const char *condition) {
  llmprof_buffer sql = {0};
  llmprof_buffer_puts(&sql, "INSERT INTO main.");
  llmprof_sqlite_put_name(&sql, t->name);
  llmprof_buffer_printf(&sql, "(%s) SELECT %s FROM more.", t->names.bytes,
                        t->values.bytes);
  llmprof_sqlite_put_name(&sql, t->name);
  if (condition) llmprof_buffer_printf(&sql, " WHERE %s", condition);
  return llmprof_edit_run_built(t->scrubber->edit, &sql);
}

/* Count the rows that were left out or are not what they were. */
static bool count_rows(table_copy *t, const char *condition) {
  llmprof_buffer sql = {0};
  llmprof_buffer_puts(&sql, "SELECT count(*) FROM more.");
  llmprof_sqlite_put_name(&sql, t->name);
  llmprof_buffer_printf(&sql, " WHERE NOT ifnull(%s, 0) OR (%s) IS NOT (%s)",
                        condition ? condition : "1", t->values.bytes,
                        t->names.bytes);
  return llmprof_edit_count(t->scrubber->edit, &sql,
                            &t->scrubber->report->rows);
}

/* Copy a table's rows, those of the condition where there is one. */
static bool copy_rows(scrubber *s, const char *name, const char *condition) {
  table_copy t = {.name = name, .scrubber = s};
  bool ok = add_columns(&t);
  if (ok && t.names.size) {
    bool whole = !condition && !t.changes;
    ok = make_table(&t) && fill_table(&t, condition) &&
         (whole || count_rows(&t, condition));
  }
  llmprof_buffer_free(&t.declared);
  llmprof_buffer_free(&t.names);
  llmprof_buffer_free(&t.values);
  return ok;
}

/* ---- tables ---- */

/* The view that is made anew. */
static bool is_our_view(scrubber *s, const char *type, const char *name) {
  return strcmp(type, "view") == 0 && strcmp(name, "GPU_METRICS") == 0 &&
         had_column(s, NSYS_SAMPLES_TABLE, NULL);
}

/* Tables whose rows depend on what was copied of the others. */
static const char *const last_tables[] = {"PROCESSES", "ThreadNames",
                                          "StringIds"};

static bool copy_table(llmprof_edit *edit, sqlite3_stmt *row, void *user) {
  scrubber *s = user;
  const char *type = llmprof_edit_text(row, 0);
  const char *name = llmprof_edit_text(row, 1);
  if (!type || !name) return llmprof_fail_nomem(edit->err);
  bool is_kept = strcmp(type, "table") == 0 &&
                 llmprof_edit_matches(kept_tables, COUNT(kept_tables), name);
  if (!is_kept) s->report->tables += !is_our_view(s, type, name);
  return !is_kept ||
         llmprof_edit_matches(last_tables, COUNT(last_tables), name) ||
         copy_rows(s, name, condition_of(s, name));
}

static bool copy_tables(scrubber *s) {
  return llmprof_edit_each(
      s->edit,
      "SELECT type, name FROM more.sqlite_master WHERE name NOT GLOB "
      "'sqlite_*' AND type IN ('table', 'view', 'trigger')",
      NULL, copy_table, s);
}

/* ---- processes and threads without events ---- */

static void add_union(llmprof_buffer *sql, scrubber *s,
                      const char *const *tables, size_t count,
                      const char *column, const char *what) {
  for (size_t i = 0; i < count; i++)
    if (has_column(s, tables[i], column))
      llmprof_buffer_printf(sql, " UNION SELECT %s FROM %s", what, tables[i]);
}

static bool copy_active(scrubber *s, const char *table, const char *column,
                        bool threads) {
  if (!had_column(s, table, NULL)) return true;
  llmprof_buffer condition = {0};
  llmprof_buffer_printf(&condition, "%s IN (SELECT NULL WHERE 0", column);
  if (!threads)
    add_union(&condition, s, process_tables, COUNT(process_tables), "globalPid",
              "globalPid");
  add_union(&condition, s, thread_tables, COUNT(thread_tables), "globalTid",
            threads ? "globalTid" : "globalTid & ~0xFFFFFF");
  llmprof_buffer_puts(&condition, ")");
  bool known = had_column(s, table, column);
  bool ok = condition.failed
                ? llmprof_fail_nomem(s->edit->err)
                : copy_rows(s, table, known ? condition.bytes : NULL);
  llmprof_buffer_free(&condition);
  return ok;
}

/* ---- strings ---- */

static bool names_a_place(const char *column) {
  return llmprof_edit_matches(place_columns, COUNT(place_columns), column);
}

/* "SELECT ..." of the ids that tables refer to, by columns that name a place or
 * by the others. */
typedef struct references {
  scrubber *scrubber;
  bool places;
  llmprof_buffer sql;
} references;

static bool add_references(llmprof_edit *edit, sqlite3_stmt *row, void *user) {
  references *r = user;
  const char *table = llmprof_edit_text(row, 0);
  if (!table) return llmprof_fail_nomem(edit->err);
  for (const char *const *column = llmprof_edit_string_columns; *column;
       column++) {
    if (names_a_place(*column) != r->places ||
        !has_column(r->scrubber, table, *column))
      continue;
    llmprof_buffer_printf(&r->sql, " UNION SELECT %s FROM main.", *column);
    llmprof_sqlite_put_name(&r->sql, table);
    llmprof_buffer_printf(&r->sql, " WHERE %s NOT NULL", *column);
  }
  return true;
}

/* Strings that tables other than ThreadNames refer to, as far as they are not
 * there: those of functions and libraries without the places they name. */
static bool copy_referred(scrubber *s, bool places) {
  references r = {.scrubber = s, .places = places};
  llmprof_buffer_printf(&r.sql,
                        "INSERT INTO main.StringIds SELECT id, %s FROM "
                        "more.StringIds WHERE id NOT IN (SELECT id FROM "
                        "main.StringIds) AND id IN (SELECT 0",
                        places ? "scrub_place(value)" : "value");
  bool ok = llmprof_edit_each(s->edit,
                              "SELECT name FROM main.sqlite_master WHERE type "
                              "= 'table' AND name NOT IN ('StringIds', "
                              "'ThreadNames')",
                              NULL, add_references, &r);
  llmprof_buffer_puts(&r.sql, ")");
  if (ok) return llmprof_edit_run_built(s->edit, &r.sql);
  llmprof_buffer_free(&r.sql);
  return false;
}

/* Names of threads: one may be called after its process's command. */
static bool copy_thread_names(scrubber *s) {
  return !has_column(s, "ThreadNames", "nameId") ||
         llmprof_edit_run(s->edit,
                          "INSERT INTO main.StringIds SELECT id, "
                          "scrub_thread(value) FROM more.StringIds WHERE id IN "
                          "(SELECT nameId FROM main.ThreadNames) AND id NOT IN "
                          "(SELECT id FROM main.StringIds)");
}

static bool count_changed(scrubber *s) {
  llmprof_buffer sql = {0};
  llmprof_buffer_puts(&sql,
                      "SELECT count(*) FROM main.StringIds AS ours, "
                      "more.StringIds AS theirs WHERE ours.id = theirs.id AND "
                      "ours.value <> theirs.value");
  return llmprof_edit_count(s->edit, &sql, &s->report->rows);
}

static bool count_strings(scrubber *s) {
  llmprof_buffer sql = {0};
  llmprof_buffer_puts(&sql, "SELECT (SELECT count(*) FROM more.StringIds) - "
                            "(SELECT count(*) FROM main.StringIds)");
  return llmprof_edit_count(s->edit, &sql, &s->report->strings);
}

static bool copy_strings(scrubber *s) {
  if (!had_column(s, "StringIds", "id") || !had_column(s, "StringIds", "value"))
    return true;
  return llmprof_edit_run(s->edit, "CREATE TABLE main.StringIds("
                                   "id INTEGER PRIMARY KEY, value TEXT)") &&
         copy_referred(s, false) && copy_referred(s, true) &&
         copy_thread_names(s) && count_changed(s) && count_strings(s);
}

/* ---- the copy ---- */

static bool scrub(llmprof_edit *edit, void *user) {
  scrubber s = {edit, user};
  int rc = llmprof_scrub_functions(edit->db);
  if (rc != SQLITE_OK) return llmprof_edit_fail(edit, rc);
  return llmprof_edit_run(edit, "BEGIN") && copy_tables(&s) &&
         copy_active(&s, "PROCESSES", "globalPid", false) &&
         copy_active(&s, "ThreadNames", "globalTid", true) &&
         copy_strings(&s) && llmprof_nsys_make_view(edit) &&
         llmprof_edit_run(edit, "COMMIT");
}

bool llmprof_trace_scrub(const char *from, const char *to,
                         llmprof_scrub_report *report, llmprof_error *err) {
  llmprof_scrub_report counted = {0};
  bool ok = llmprof_edit_make(LLMPROF_EDIT_BESIDE, from, to, "scrubbed", scrub,
                              &counted, err);
  if (ok && report) *report = counted;
  return ok;
}

/* Rows of events are appended table by table, with times moved and string ids
 * translated; of the tables that describe, rows that are new are added. The
 * other file is attached as "more" and only read. */
#include "nsys/merge.h"

#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "llmprof/error.h"
#include "nsys/nsys_samples.h"
#include "sqlite/sqlite_file.h"

/* Every row of these is taken. */
static const char *const event_tables[] = {
    "CUPTI_ACTIVITY_KIND_*", "NVTX_EVENTS",      "CUDA_GRAPH_*",
    "CUDA_GPU_MEMORY_*",     "CUDA_UM_*",        "OSRT_API",
    "CUDNN_EVENTS",          "CUBLAS_EVENTS",    "GPU_METRICS",
    "PROFILER_OVERHEAD",     "DIAGNOSTIC_EVENT", "COMPOSITE_EVENTS",
    "SAMPLING_CALLCHAINS",   NSYS_SAMPLES_TABLE, NSYS_STACKS_TABLE,
};

/* Tables whose "id" is that of a sample: counted in each file by itself. */
static const char *const sample_tables[] = {"COMPOSITE_EVENTS",
                                            "SAMPLING_CALLCHAINS"};

/* Rows of these that the first file does not have. */
static const char *const description_tables[] = {
    "PROCESSES",
    "ThreadNames",
    "TARGET_INFO_CUDA_*",
};

static const char *const time_columns[] = {"start", "end", "timestamp"};

typedef struct inputs {
  const char *const *paths;
  size_t count;
} inputs;

/* ---- times ---- */

static bool take_number(llmprof_edit *edit, sqlite3_stmt *row, void *user) {
  (void)edit;
  if (sqlite3_column_type(row, 0) != SQLITE_NULL)
    *(int64_t *)user = sqlite3_column_int64(row, 0);
  return true;
}

/* Nanoseconds from the first session's start to the other's. */
static bool read_offset(llmprof_edit *edit, const char *path, int64_t *offset) {
  static const char *const table = "TARGET_INFO_SESSION_START_TIME";
  *offset = LLMPROF_ABSENT;
  if (llmprof_edit_has(edit, "main", table, "utcEpochNs") &&
      llmprof_edit_has(edit, "more", table, "utcEpochNs") &&
      !llmprof_edit_each(
          edit,
          "SELECT more.TARGET_INFO_SESSION_START_TIME.utcEpochNs - "
          "main.TARGET_INFO_SESSION_START_TIME.utcEpochNs "
          "FROM more.TARGET_INFO_SESSION_START_TIME, "
          "main.TARGET_INFO_SESSION_START_TIME LIMIT 1",
          NULL, take_number, offset))
    return false;
  return *offset != LLMPROF_ABSENT ||
         llmprof_fail(edit->err, LLMPROF_UNSUPPORTED,
                      "%s: does not say when its session began", path);
}

/* ---- strings ---- */

/* temp.moved: from the other file's string ids to the first's. */
static bool move_strings(llmprof_edit *edit) {
  if (!llmprof_edit_run(edit, "CREATE TEMP TABLE moved(id INTEGER PRIMARY KEY, "
                              "now INTEGER)"))
    return false;
  if (!llmprof_edit_has(edit, "main", "StringIds", "value") ||
      !llmprof_edit_has(edit, "more", "StringIds", "value"))
    return true;
  return llmprof_edit_run(
      edit, "INSERT INTO main.StringIds(id, value) "
            "SELECT (SELECT ifnull(max(id), 0) FROM main.StringIds) + "
            "row_number() OVER (ORDER BY id), value FROM more.StringIds "
            "WHERE value NOT IN (SELECT value FROM main.StringIds "
            "WHERE value NOT NULL); "
            "INSERT INTO moved SELECT theirs.id, min(ours.id) "
            "FROM more.StringIds AS theirs, main.StringIds AS ours "
            "WHERE ours.value = theirs.value GROUP BY theirs.id");
}

/* ---- tables ---- */

/* What is added to values of the other file. */
typedef struct shifts {
  int64_t time;   /* ns */
  int64_t sample; /* ids of samples */
  int64_t stack;  /* of stacks of launches */
} shifts;

/* A table being appended: the columns to fill and what from. */
typedef struct columns {
  const char *table;
  shifts by;
  llmprof_buffer names, values;
} columns;

static bool is_string_column(const char *name) {
  for (const char *const *known = llmprof_edit_string_columns; *known; known++)
    if (strcmp(*known, name) == 0) return true;
  return false;
}

static void add_value(columns *c, const char *name) {
  if (is_string_column(name)) {
    llmprof_buffer_puts(&c->values, "(SELECT now FROM moved WHERE id = t.");
    llmprof_sqlite_put_name(&c->values, name);
    llmprof_buffer_putc(&c->values, ')');
    return;
  }
  llmprof_buffer_puts(&c->values, "t.");
  llmprof_sqlite_put_name(&c->values, name);
  if (llmprof_edit_matches(time_columns, COUNT(time_columns), name))
    llmprof_buffer_printf(&c->values, " + (%" PRId64 ")", c->by.time);
  if (strcmp(name, "id") == 0 &&
      llmprof_edit_matches(sample_tables, COUNT(sample_tables), c->table))
    llmprof_buffer_printf(&c->values, " + (%" PRId64 ")", c->by.sample);
  bool of_stacks = strcmp(c->table, NSYS_STACKS_TABLE) == 0 &&
                   (strcmp(name, "id") == 0 || strcmp(name, "parent") == 0);
  if (of_stacks || strcmp(name, "sourceStackId") == 0)
    llmprof_buffer_printf(&c->values, " + (%" PRId64 ")", c->by.stack);
}

static bool add_column(llmprof_edit *edit, sqlite3_stmt *row, void *user) {
  columns *c = user;
  const char *name = llmprof_edit_text(row, 0);
  if (!name || !llmprof_edit_has(edit, "main", c->table, name)) return true;
  if (c->names.size) {
    llmprof_buffer_putc(&c->names, ',');
    llmprof_buffer_putc(&c->values, ',');
  }
  llmprof_sqlite_put_name(&c->names, name);
  add_value(c, name);
  return true;
}

static void add_insert(llmprof_buffer *sql, const columns *c, bool only_new) {
  llmprof_buffer_puts(sql, "INSERT INTO main.");
  llmprof_sqlite_put_name(sql, c->table);
  llmprof_buffer_printf(sql, "(%s) SELECT %s FROM more.", c->names.bytes,
                        c->values.bytes);
  llmprof_sqlite_put_name(sql, c->table);
  llmprof_buffer_puts(sql, " AS t");
  if (only_new) {
    llmprof_buffer_printf(sql, " EXCEPT SELECT %s FROM main.", c->names.bytes);
    llmprof_sqlite_put_name(sql, c->table);
  }
}

/* A table that only the other file has is made as it is there. */
static bool make_table(llmprof_edit *edit, const char *table) {
  if (llmprof_edit_has(edit, "main", table, NULL)) return true;
  llmprof_buffer sql = {0};
  llmprof_buffer_puts(&sql, "CREATE TABLE main.");
  llmprof_sqlite_put_name(&sql, table);
  llmprof_buffer_puts(&sql, " AS SELECT * FROM more.");
  llmprof_sqlite_put_name(&sql, table);
  llmprof_buffer_puts(&sql, " WHERE 0");
  return llmprof_edit_run_built(edit, &sql);
}

static bool append_table(llmprof_edit *edit, sqlite3_stmt *row, void *user) {
  const char *table = llmprof_edit_text(row, 0);
  if (!table) return llmprof_fail_nomem(edit->err);
  bool is_event =
      llmprof_edit_matches(event_tables, COUNT(event_tables), table);
  if (!is_event && !llmprof_edit_matches(description_tables,
                                         COUNT(description_tables), table))
    return true;
  columns c = {.table = table, .by = *(const shifts *)user};
  llmprof_buffer sql = {0};
  bool ok =
      make_table(edit, table) &&
      llmprof_edit_each(edit, "SELECT name FROM pragma_table_info(?1, 'more')",
                        table, add_column, &c);
  if (ok && (c.names.failed || c.values.failed))
    ok = llmprof_fail_nomem(edit->err);
  if (ok && c.names.size) add_insert(&sql, &c, !is_event);
  llmprof_buffer_free(&c.names);
  llmprof_buffer_free(&c.values);
  return llmprof_edit_run_built(edit, &sql) && ok;
}

/* ---- files ---- */

/* So much that ids of a table of the other file count on from the first's. */
#define SHIFT(table)                                   \
  "SELECT ifnull((SELECT max(id) + 1 FROM main." table \
  "), 0) - ifnull((SELECT min(id) FROM more." table "), 0)"

static bool read_shift(llmprof_edit *edit, const char *table, const char *sql,
                       int64_t *shift) {
  *shift = 0;
  if (!llmprof_edit_has(edit, "main", table, "id") ||
      !llmprof_edit_has(edit, "more", table, "id"))
    return true;
  return llmprof_edit_each(edit, sql, NULL, take_number, shift);
}

static bool append_file(llmprof_edit *edit, const char *path) {
  shifts by;
  return llmprof_edit_attach(edit, path) && read_offset(edit, path, &by.time) &&
         read_shift(edit, "COMPOSITE_EVENTS", SHIFT("COMPOSITE_EVENTS"),
                    &by.sample) &&
         read_shift(edit, NSYS_STACKS_TABLE, SHIFT(NSYS_STACKS_TABLE),
                    &by.stack) &&
         move_strings(edit) &&
         llmprof_edit_each(
             edit,
             "SELECT name FROM more.sqlite_master WHERE type = 'table' AND "
             "name NOT NULL ORDER BY name",
             NULL, append_table, &by) &&
         llmprof_edit_run(edit, "DROP TABLE temp.moved; DETACH more");
}

static bool append_files(llmprof_edit *edit, void *user) {
  const inputs *all = user;
  bool ok = llmprof_nsys_drop_view(edit);
  for (size_t i = 1; ok && i < all->count; i++) {
    edit->name = all->paths[i];
    ok = append_file(edit, all->paths[i]);
  }
  return ok && llmprof_nsys_make_view(edit);
}

bool llmprof_trace_merge(const char *const *from, size_t count, const char *to,
                         llmprof_error *err) {
  inputs all = {from, count};
  return llmprof_edit_make(LLMPROF_EDIT_COPY, from[0], to, "merged",
                           append_files, &all, err);
}

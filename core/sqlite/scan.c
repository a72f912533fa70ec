/* A table is scanned by a SELECT, or by the page reader as far as that takes
 * it. */
#include "sqlite/scan.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/bounds.h"
#include "llmprof/alloc.h"
#include "llmprof/error.h"
#include "sqlite/scan_internal.h"
#include "sqlite/sqlite_file.h"

struct llmprof_scan {
  llmprof_sqlite *db;
  llmprof_scan_spec spec;
  llmprof_scan_table table;
  llmprof_query *query; /* of the rows behind those by pages; NULL: not begun */
  llmprof_watch watch;
  uint64_t rows, most; /* that were given; there cannot be more */
  uint64_t bytes;      /* that the query read, at least */
  bool stopped;        /* by take */
  llmprof_scan_take_rows take;
  void *user;
};

/* ---- the schema ---- */

/* Columns of the query below. A type with "int" in it is an integer to SQLite;
 * an index for the primary key means that it is not the rowid. */
enum {
  SCHEMA_ROOT,
  SCHEMA_PLACE,
  SCHEMA_NAME,
  SCHEMA_INTEGER,
  SCHEMA_KEY,
  SCHEMA_HIDDEN,
};

static const char schema_sql[] =
    "SELECT m.rootpage, c.cid, c.name, c.type LIKE '%int%',"
    " c.pk AND c.type LIKE 'integer' AND NOT EXISTS"
    "  (SELECT 1 FROM pragma_index_list(m.name) i WHERE i.origin = 'pk'),"
    " c.hidden <> 0 "
    "FROM sqlite_master m LEFT JOIN pragma_table_xinfo"
    "  (CASE WHEN m.rootpage > 0 THEN m.name END) c "
    "WHERE m.type IN ('table', 'view') AND m.name = ?1 COLLATE NOCASE";

static void note_column(const llmprof_query *query,
                        const llmprof_scan_spec *spec,
                        llmprof_scan_table *table) {
  size_t size;
  const char *name = llmprof_query_text(query, SCHEMA_NAME, &size);
  for (int i = 0; i < spec->ints + spec->texts; i++) {
    if (strcasecmp(spec->columns[i], name) != 0) continue;
    if (!llmprof_query_int(query, SCHEMA_INTEGER)) table->plain = false;
    table->place[i] = llmprof_query_int(query, SCHEMA_KEY)
                          ? LLMPROF_COLUMN_ROWID
                          : (int)llmprof_query_int(query, SCHEMA_PLACE);
  }
}

static void note_row(const llmprof_query *query, const llmprof_scan_spec *spec,
                     llmprof_scan_table *table) {
  table->root = (uint32_t)llmprof_query_int(query, SCHEMA_ROOT);
  table->computed = !table->root;
  if (llmprof_query_type(query, SCHEMA_PLACE) == LLMPROF_SQL_NULL) {
    table->plain = false; /* not understood; SQL will say why */
    return;
  }
  if (llmprof_query_int(query, SCHEMA_HIDDEN)) /* not in every record */
    table->plain = false;
  note_column(query, spec, table);
}

bool llmprof_scan_read_schema(llmprof_sqlite *db, const llmprof_scan_spec *spec,
                              llmprof_scan_table *table, llmprof_error *err) {
  *table = (llmprof_scan_table){.plain = spec->texts == 0};
  for (int i = 0; i < spec->ints + spec->texts; i++)
    table->place[i] = LLMPROF_COLUMN_LACKING;
  llmprof_query *query = llmprof_sqlite_keep_query(db, schema_sql, err);
  if (!query) return false;
  int got = -1;
  if (!llmprof_query_bind_text(query, 1, spec->table, strlen(spec->table)))
    llmprof_fail_nomem(err);
  else
    while ((got = llmprof_query_step(query, err)) == 1)
      note_row(query, spec, table);
  if (got == 0 && table->computed)
    return llmprof_fail(err, LLMPROF_UNSUPPORTED,
                        "%s: %s is a view or a virtual table, not a table",
                        llmprof_sqlite_path(db), spec->table);
  return got == 0;
}

/* ---- scanning ---- */

bool llmprof_scan_open(llmprof_sqlite *db, const llmprof_scan_spec *spec,
                       llmprof_scan **scan, llmprof_error *err) {
  llmprof_scan_table table;
  *scan = NULL;
  if (!llmprof_scan_read_schema(db, spec, &table, err)) return false;
  if (!table.root) return true;
  *scan = llmprof_zalloc(1, sizeof **scan);
  if (!*scan) return llmprof_fail_nomem(err);
  **scan = (llmprof_scan){.db = db, .spec = *spec, .table = table};
  return true;
}

void llmprof_scan_close(llmprof_scan *scan) {
  if (!scan) return;
  llmprof_query_free(scan->query);
  llmprof_free(scan);
}

bool llmprof_scan_has(const llmprof_scan *scan, int column) {
  return scan->table.place[column] != LLMPROF_COLUMN_LACKING;
}

/* May there be this number of rows more? */
static bool goes_on(llmprof_scan *scan, size_t rows, llmprof_error *err) {
  const char *path = llmprof_sqlite_path(scan->db);
  uint64_t most = llmprof_bound_get(LLMPROF_BOUND_ROWS);
  scan->rows += rows;
  if (most && scan->rows > most)
    return llmprof_fail_bound(err, path, LLMPROF_BOUND_ROWS);
  return llmprof_watch_go_on(&scan->watch, rows, path, err);
}

/* Without those that were given already. */
static bool begin_query(llmprof_scan *scan, llmprof_error *err) {
  const llmprof_scan_spec *spec = &scan->spec;
  llmprof_buffer sql = {0};
  int64_t size = llmprof_sqlite_file_size(scan->db, err);
  if (size < 0) return false;
  scan->most = (uint64_t)size;
  llmprof_sqlite_pages(scan->db); /* those from here on count */
  llmprof_buffer_puts(&sql, "SELECT ");
  for (int i = 0; i < spec->ints + spec->texts; i++) {
    if (i) llmprof_buffer_putc(&sql, ',');
    if (llmprof_scan_has(scan, i))
      llmprof_sqlite_put_name(&sql, spec->columns[i]);
    else
      llmprof_buffer_puts(&sql, "NULL");
  }
  llmprof_buffer_puts(&sql, " FROM ");
  llmprof_sqlite_put_name(&sql, spec->table);
  /* or an index that has all the columns would give its own order */
  llmprof_buffer_puts(&sql, " NOT INDEXED");
  if (scan->rows)
    llmprof_buffer_printf(&sql, " LIMIT -1 OFFSET %" PRIu64, scan->rows);
  if (sql.failed)
    llmprof_fail_nomem(err);
  else
    scan->query = llmprof_sqlite_query(scan->db, sql.bytes, err);
  llmprof_buffer_free(&sql);
  return scan->query != NULL;
}

/* Each row has some bytes of the file: with more of them its pages are in a
 * circle. A page is fetched a few times, and some are for a row; texts count
 * apart, as SQLite may read them past its pages. */
static bool is_sound(llmprof_scan *scan, llmprof_error *err) {
  size_t size;
  for (int i = 0; i < scan->spec.texts; i++) {
    if (llmprof_query_type(scan->query, scan->spec.ints + i) ==
        LLMPROF_SQL_TEXT) {
      llmprof_scan_text(scan, i, &size);
      scan->bytes += size;
    }
  }
  if (scan->rows % 16 == 0) scan->bytes += 512 * llmprof_sqlite_pages(scan->db);
  const char *what = scan->rows > scan->most ? "more rows than bytes"
                     : scan->bytes / 32 > scan->most + 128 * scan->rows
                         ? "a page is in several places"
                         : NULL;
  return !what || llmprof_fail(err, LLMPROF_SYNTAX, "%s: corrupt (%s)",
                               llmprof_sqlite_path(scan->db), what);
}

int llmprof_scan_next(llmprof_scan *scan, int64_t *values, llmprof_error *err) {
  if ((!scan->query && !begin_query(scan, err)) || !goes_on(scan, 1, err))
    return -1;
  int got = llmprof_query_step(scan->query, err);
  if (got != 1) return got;
  llmprof_query_ints(scan->query, values, scan->spec.ints);
  return is_sound(scan, err) ? 1 : -1;
}

static bool take_counted(void *user, const int64_t *values, size_t rows,
                         llmprof_error *err) {
  llmprof_scan *scan = user;
  if (!goes_on(scan, rows, err)) return false;
  scan->stopped = !scan->take(scan->user, values, rows, err);
  return !scan->stopped;
}

bool llmprof_scan_rows(llmprof_scan *scan, llmprof_scan_take_rows take,
                       void *user, llmprof_error *err) {
  int64_t values[LLMPROF_SCAN_INTS];
  scan->take = take;
  scan->user = user;
  int got = llmprof_scan_pages(scan->db, &scan->spec, &scan->table,
                               take_counted, scan, err);
  if (got || scan->stopped) return got > 0;
  while ((got = llmprof_scan_next(scan, values, err)) == 1)
    if (!take(user, values, 1, err)) return false;
  return got == 0;
}

const char *llmprof_scan_text(const llmprof_scan *scan, int i, size_t *size) {
  int column = scan->spec.ints + i;
  if (llmprof_query_type(scan->query, column) == LLMPROF_SQL_NULL) {
    *size = 0;
    return NULL;
  }
  return llmprof_query_text(scan->query, column, size);
}

double llmprof_scan_double(const llmprof_scan *scan, int i) {
  int column = scan->spec.ints + i;
  if (llmprof_query_type(scan->query, column) == LLMPROF_SQL_NULL) return NAN;
  return llmprof_query_double(scan->query, column);
}

typedef struct each_row {
  const llmprof_scan *scan;
  llmprof_scan_take take;
  void *user;
} each_row;

static bool take_each(void *user, const int64_t *values, size_t rows,
                      llmprof_error *err) {
  const each_row *each = user;
  for (; rows; rows--, values += each->scan->spec.ints) {
    if (!each->take(each->user, each->scan, values))
      return llmprof_fail_nomem(err);
  }
  return true;
}

bool llmprof_scan_each(llmprof_sqlite *db, const llmprof_scan_spec *spec,
                       llmprof_scan_take take, void *user, bool *has,
                       llmprof_error *err) {
  llmprof_scan *scan;
  if (!llmprof_scan_open(db, spec, &scan, err)) return false;
  if (has) *has = scan != NULL;
  each_row each = {scan, take, user};
  bool ok = !scan || llmprof_scan_rows(scan, take_each, &each, err);
  llmprof_scan_close(scan);
  return ok;
}

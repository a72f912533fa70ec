/* Looks the table up in the schema and lets the page reader or SQL scan it. */
#include "sqlite/scan.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/bounds.h"
#include "llmprof/alloc.h"
#include "llmprof/error.h"
#include "sqlite/scan_internal.h"
#include "sqlite/sqlite_file.h"

struct llmprof_scan {
  llmprof_scan_pages *pages; /* one of the two */
  llmprof_scan_sql *sql;
  bool has[LLMPROF_SCAN_INTS + LLMPROF_SCAN_TEXTS];
  llmprof_sqlite *db; /* for its path */
  llmprof_watch watch;
  uint64_t rows;
};

/* ---- the schema ---- */

/* Columns of the query below. Affinity follows SQLite's rules, in their order;
 * an index for the primary key means that it is not the rowid. */
enum {
  SCHEMA_ROOT,
  SCHEMA_PLACE,
  SCHEMA_NAME,
  SCHEMA_AFFINITY,
  SCHEMA_KEY,
  SCHEMA_HIDDEN,
  SCHEMA_DEFAULT,
};

enum {
  AFFINITY_OTHER,
  AFFINITY_INTEGER,
  AFFINITY_TEXT,
  AFFINITY_REAL,
};

static const char schema_sql[] =
    "SELECT m.rootpage, c.cid, c.name,"
    " CASE WHEN c.type LIKE '%int%' THEN 1"
    "  WHEN c.type LIKE '%char%' OR c.type LIKE '%clob%'"
    "   OR c.type LIKE '%text%' THEN 2"
    "  WHEN c.type LIKE '%blob%' THEN 0"
    "  WHEN c.type LIKE '%real%' OR c.type LIKE '%floa%'"
    "   OR c.type LIKE '%doub%' THEN 3 ELSE 0 END,"
    " c.pk AND c.type LIKE 'integer' AND NOT EXISTS"
    "  (SELECT 1 FROM pragma_index_list(m.name) i WHERE i.origin = 'pk'),"
    " c.hidden <> 0, c.dflt_value "
    "FROM sqlite_master m LEFT JOIN pragma_table_xinfo"
    "  (CASE WHEN m.rootpage > 0 THEN m.name END) c "
    "WHERE m.type IN ('table', 'view') AND m.name = ?1 COLLATE NOCASE";

/* The value of a default that is NULL or a plain whole number. */
static bool read_default(const llmprof_query *query, int64_t *value) {
  enum {
    DIGITS = 18 /* fit into any int64_t */
  };
  size_t size;
  const char *text = llmprof_query_text(query, SCHEMA_DEFAULT, &size);
  *value = LLMPROF_ABSENT;
  if (llmprof_query_type(query, SCHEMA_DEFAULT) == LLMPROF_SQL_NULL)
    return true;
  size_t digits = size - (size && *text == '-');
  const char *first = text + (size - digits);
  if (!digits || digits > DIGITS || strspn(first, "0123456789") != digits)
    return false;
  *value = strtoll(text, NULL, 10);
  return true;
}

/* Can the page reader give what SQL gives for a column like this? */
static bool is_plain(const llmprof_query *query, bool text, int64_t *beyond) {
  int64_t affinity = llmprof_query_int(query, SCHEMA_AFFINITY);
  if (!read_default(query, beyond)) return false;
  return text ? *beyond == LLMPROF_ABSENT &&
                    (affinity == AFFINITY_TEXT || affinity == AFFINITY_REAL)
              : affinity == AFFINITY_INTEGER;
}

static void note_column(const llmprof_query *query,
                        const llmprof_scan_spec *spec,
                        llmprof_scan_table *table) {
  size_t size;
  const char *name = llmprof_query_text(query, SCHEMA_NAME, &size);
  for (int i = 0; i < spec->ints + spec->texts; i++) {
    if (strcasecmp(spec->columns[i], name) != 0) continue;
    int64_t beyond;
    table->plain = is_plain(query, i >= spec->ints, &beyond) && table->plain;
    if (i < spec->ints) table->beyond[i] = beyond;
    table->real[i] = llmprof_query_int(query, SCHEMA_AFFINITY) == AFFINITY_REAL;
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

static bool read_schema(llmprof_sqlite *db, const llmprof_scan_spec *spec,
                        llmprof_scan_table *table, llmprof_error *err) {
  *table = (llmprof_scan_table){.plain = true};
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

static bool start(llmprof_scan *scan, llmprof_sqlite *db,
                  const llmprof_scan_spec *spec,
                  const llmprof_scan_table *table, bool pages,
                  llmprof_error *err) {
  if (pages && !llmprof_scan_pages_open(db, spec, table, &scan->pages, err))
    return false;
  if (!scan->pages) scan->sql = llmprof_scan_sql_open(db, spec, table, err);
  return scan->pages || scan->sql;
}

bool llmprof_scan_open_as(llmprof_sqlite *db, const llmprof_scan_spec *spec,
                          bool pages, llmprof_scan **scan, llmprof_error *err) {
  llmprof_scan_table table;
  *scan = NULL;
  if (!read_schema(db, spec, &table, err)) return false;
  if (!table.root) return true;
  llmprof_scan *made = llmprof_zalloc(1, sizeof *made);
  if (!made) return llmprof_fail_nomem(err);
  made->db = db;
  for (int i = 0; i < spec->ints + spec->texts; i++)
    made->has[i] = table.place[i] != LLMPROF_COLUMN_LACKING;
  if (start(made, db, spec, &table, pages, err)) {
    *scan = made;
    return true;
  }
  llmprof_scan_close(made);
  return false;
}

bool llmprof_scan_open(llmprof_sqlite *db, const llmprof_scan_spec *spec,
                       llmprof_scan **scan, llmprof_error *err) {
  return llmprof_scan_open_as(db, spec, true, scan, err);
}

void llmprof_scan_close(llmprof_scan *scan) {
  if (!scan) return;
  llmprof_scan_pages_close(scan->pages);
  llmprof_scan_sql_close(scan->sql);
  llmprof_free(scan);
}

bool llmprof_scan_is_paged(const llmprof_scan *scan) {
  return scan->pages != NULL;
}

bool llmprof_scan_has(const llmprof_scan *scan, int column) {
  return scan->has[column];
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

int llmprof_scan_next(llmprof_scan *scan, int64_t *values, llmprof_error *err) {
  if (!goes_on(scan, 1, err)) return -1;
  return scan->pages ? llmprof_scan_pages_next(scan->pages, values, err)
                     : llmprof_scan_sql_next(scan->sql, values, err);
}

static bool may_go_on(void *scan, size_t rows, llmprof_error *err) {
  return goes_on(scan, rows, err);
}

/* All rows; in parts, where that can be. */
static bool give(llmprof_scan *scan, const llmprof_scan_taker *taker,
                 bool parts, llmprof_error *err) {
  int64_t values[LLMPROF_SCAN_INTS];
  bool begun = false;
  if (parts && llmprof_scan_parts(scan->pages, taker, &begun, err)) return true;
  if (begun) return false;
  int got;
  while ((got = llmprof_scan_next(scan, values, err)) == 1) {
    if (!taker->take(taker->user, values, 1, err)) return false;
  }
  return got == 0;
}

bool llmprof_scan_rows(llmprof_scan *scan, llmprof_scan_take_rows take,
                       void *user, llmprof_error *err) {
  const llmprof_scan_taker taker = {
      .take = take, .may = may_go_on, .user = user, .scan = scan};
  return give(scan, &taker, scan->pages != NULL, err);
}

const char *llmprof_scan_text(const llmprof_scan *scan, int i, size_t *size) {
  return scan->pages ? llmprof_scan_pages_text(scan->pages, i, size)
                     : llmprof_scan_sql_text(scan->sql, i, size);
}

double llmprof_scan_double(const llmprof_scan *scan, int i) {
  return scan->pages ? llmprof_scan_pages_double(scan->pages, i)
                     : llmprof_scan_sql_double(scan->sql, i);
}

bool llmprof_scan_each(llmprof_sqlite *db, const llmprof_scan_spec *spec,
                       llmprof_scan_take take, void *user, bool *has,
                       llmprof_error *err) {
  llmprof_scan *scan;
  if (!llmprof_scan_open(db, spec, &scan, err)) return false;
  if (has) *has = scan != NULL;
  if (!scan) return true;
  int64_t values[LLMPROF_SCAN_INTS];
  int got;
  while ((got = llmprof_scan_next(scan, values, err)) == 1) {
    if (!take(user, scan, values)) {
      llmprof_fail_nomem(err);
      got = -1;
      break;
    }
  }
  llmprof_scan_close(scan);
  return got == 0;
}

#include "scan.h"

#include <math.h>

#include "llmprof/alloc.h"
#include "llmprof/buffer.h"

struct llmprof_scan {
  llmprof_query *query;
  int ints;
  size_t hint;
};

/* The name is one of ours or was found in the schema: quoting is enough. */
static void add_quoted(llmprof_buffer *sql, const char *name) {
  llmprof_buffer_putc(sql, '"');
  for (; *name; name++) {
    if (*name == '"') llmprof_buffer_putc(sql, '"');
    llmprof_buffer_putc(sql, *name);
  }
  llmprof_buffer_putc(sql, '"');
}

static bool add_column(llmprof_sqlite *db, llmprof_buffer *sql,
                       const char *table, const char *column,
                       llmprof_error *err) {
  int has = llmprof_sqlite_has_column(db, table, column, err);
  if (has < 0) return false;
  if (has)
    add_quoted(sql, column);
  else
    llmprof_buffer_puts(sql, "NULL");
  return true;
}

static bool build(llmprof_sqlite *db, const llmprof_scan_spec *spec,
                  llmprof_buffer *sql, llmprof_error *err) {
  llmprof_buffer_puts(sql, "SELECT ");
  for (int i = 0; i < spec->ints + spec->texts; i++) {
    if (i) llmprof_buffer_putc(sql, ',');
    if (!add_column(db, sql, spec->table, spec->columns[i], err)) return false;
  }
  llmprof_buffer_puts(sql, " FROM ");
  add_quoted(sql, spec->table);
  return !sql->failed || llmprof_fail_nomem(err);
}

/* Tables that nsys writes are appended to, so the last rowid is the count. A
 * hostile rowid must not make us reserve more than the file could hold. */
static bool guess_rows(llmprof_sqlite *db, const char *table, size_t *hint,
                       llmprof_error *err) {
  enum {
    SMALLEST_ROW = 16
  };
  llmprof_buffer sql = {0};
  llmprof_buffer_puts(&sql, "SELECT max(rowid), (SELECT page_count * page_size "
                            "FROM pragma_page_count, pragma_page_size) FROM ");
  add_quoted(&sql, table);
  llmprof_query *query = sql.failed ? (llmprof_fail_nomem(err), NULL)
                                    : llmprof_sqlite_query(db, sql.bytes, err);
  llmprof_buffer_free(&sql);
  if (!query) return false;
  bool ok = llmprof_query_step(query, err) == 1;
  if (ok) {
    int64_t rows = llmprof_query_int(query, 0);
    int64_t most = llmprof_query_int(query, 1) / SMALLEST_ROW;
    if (rows > most) rows = most;
    *hint = rows > 0 ? (size_t)rows : 0;
  }
  llmprof_query_free(query);
  return ok;
}

bool llmprof_scan_open(llmprof_sqlite *db, const llmprof_scan_spec *spec,
                       llmprof_scan **scan, llmprof_error *err) {
  *scan = NULL;
  int has = llmprof_sqlite_has_table(db, spec->table, err);
  if (has <= 0) return has == 0;
  llmprof_scan *made = llmprof_zalloc(1, sizeof *made);
  if (!made) return llmprof_fail_nomem(err);
  made->ints = spec->ints;
  llmprof_buffer sql = {0};
  if (build(db, spec, &sql, err) &&
      guess_rows(db, spec->table, &made->hint, err))
    made->query = llmprof_sqlite_query(db, sql.bytes, err);
  llmprof_buffer_free(&sql);
  if (!made->query) {
    llmprof_scan_close(made);
    return false;
  }
  *scan = made;
  return true;
}

void llmprof_scan_close(llmprof_scan *scan) {
  if (!scan) return;
  llmprof_query_free(scan->query);
  llmprof_free(scan);
}

size_t llmprof_scan_hint(const llmprof_scan *scan) {
  return scan->hint;
}

int llmprof_scan_next(llmprof_scan *scan, int64_t *values, llmprof_error *err) {
  int got = llmprof_query_step(scan->query, err);
  if (got == 1) llmprof_query_ints(scan->query, values, scan->ints);
  return got;
}

const char *llmprof_scan_text(const llmprof_scan *scan, int i, size_t *size) {
  int column = scan->ints + i;
  if (llmprof_query_type(scan->query, column) == LLMPROF_SQL_NULL) {
    *size = 0;
    return NULL;
  }
  return llmprof_query_text(scan->query, column, size);
}

double llmprof_scan_double(const llmprof_scan *scan, int i) {
  int column = scan->ints + i;
  if (llmprof_query_type(scan->query, column) == LLMPROF_SQL_NULL) return NAN;
  return llmprof_query_double(scan->query, column);
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

/* A table scanned by a prepared SELECT. */
#include <math.h>

#include "base/buffer.h"
#include "llmprof/alloc.h"
#include "sqlite/scan_internal.h"
#include "sqlite/sqlite_file.h"

struct llmprof_scan_sql {
  llmprof_query *query;
  int ints;
};

static llmprof_query *prepare(llmprof_sqlite *db, const llmprof_scan_spec *spec,
                              const llmprof_scan_table *table,
                              llmprof_error *err) {
  llmprof_buffer sql = {0};
  llmprof_buffer_puts(&sql, "SELECT ");
  for (int i = 0; i < spec->ints + spec->texts; i++) {
    if (i) llmprof_buffer_putc(&sql, ',');
    if (table->place[i] == LLMPROF_COLUMN_LACKING)
      llmprof_buffer_puts(&sql, "NULL");
    else
      llmprof_sqlite_put_name(&sql, spec->columns[i]);
  }
  llmprof_buffer_puts(&sql, " FROM ");
  llmprof_sqlite_put_name(&sql, spec->table);
  /* or an index that has all the columns would give its own order */
  llmprof_buffer_puts(&sql, " NOT INDEXED");
  llmprof_query *query = sql.failed ? (llmprof_fail_nomem(err), NULL)
                                    : llmprof_sqlite_query(db, sql.bytes, err);
  llmprof_buffer_free(&sql);
  return query;
}

llmprof_scan_sql *llmprof_scan_sql_open(llmprof_sqlite *db,
                                        const llmprof_scan_spec *spec,
                                        const llmprof_scan_table *table,
                                        llmprof_error *err) {
  llmprof_scan_sql *scan = llmprof_zalloc(1, sizeof *scan);
  if (!scan) return llmprof_fail_nomem(err), NULL;
  scan->ints = spec->ints;
  scan->query = prepare(db, spec, table, err);
  if (scan->query) return scan;
  llmprof_scan_sql_close(scan);
  return NULL;
}

void llmprof_scan_sql_close(llmprof_scan_sql *scan) {
  if (!scan) return;
  llmprof_query_free(scan->query);
  llmprof_free(scan);
}

int llmprof_scan_sql_next(llmprof_scan_sql *scan, int64_t *values,
                          llmprof_error *err) {
  int got = llmprof_query_step(scan->query, err);
  if (got == 1) llmprof_query_ints(scan->query, values, scan->ints);
  return got;
}

const char *llmprof_scan_sql_text(const llmprof_scan_sql *scan, int i,
                                  size_t *size) {
  int column = scan->ints + i;
  if (llmprof_query_type(scan->query, column) == LLMPROF_SQL_NULL) {
    *size = 0;
    return NULL;
  }
  return llmprof_query_text(scan->query, column, size);
}

double llmprof_scan_sql_double(const llmprof_scan_sql *scan, int i) {
  int column = scan->ints + i;
  if (llmprof_query_type(scan->query, column) == LLMPROF_SQL_NULL) return NAN;
  return llmprof_query_double(scan->query, column);
}

#include "sqlite/scan_value.h"

#include <math.h>

void llmprof_scan_value_clear(llmprof_scan_value *value) {
  value->type = LLMPROF_SQL_NULL;
  llmprof_buffer_clear(&value->bytes);
}

void llmprof_scan_value_free(llmprof_scan_value *value) {
  llmprof_buffer_free(&value->bytes);
}

bool llmprof_scan_value_set_bytes(llmprof_scan_value *value, const void *bytes,
                                  size_t size) {
  llmprof_buffer_add(&value->bytes, bytes, size);
  value->type = LLMPROF_SQL_TEXT;
  return !value->bytes.failed;
}

/* A stored NaN is a NULL. */
void llmprof_scan_value_set_real(llmprof_scan_value *value, double real) {
  value->real = real;
  value->type = isnan(real) ? LLMPROF_SQL_NULL : LLMPROF_SQL_DOUBLE;
}

void llmprof_scan_value_set_integer(llmprof_scan_value *value, int64_t integer,
                                    bool real) {
  value->integer = integer;
  value->real = (double)integer;
  value->type = real ? LLMPROF_SQL_DOUBLE : LLMPROF_SQL_INT;
}

static bool bind(llmprof_query *query, const llmprof_scan_value *value) {
  switch (value->type) {
  case LLMPROF_SQL_TEXT:
    return llmprof_query_bind_text(query, 1, value->bytes.bytes,
                                   value->bytes.size);
  case LLMPROF_SQL_INT:
    return llmprof_query_bind_int(query, 1, value->integer);
  case LLMPROF_SQL_DOUBLE:
    return llmprof_query_bind_double(query, 1, value->real);
  default:
    return llmprof_query_bind_null(query, 1);
  }
}

/* A query that stands on a row with the value in column 0. */
static llmprof_query *echo(llmprof_sqlite *db, const llmprof_scan_value *value,
                           llmprof_error *err) {
  llmprof_query *query = llmprof_sqlite_query(db, "SELECT ?1", err);
  if (!query) return NULL;
  bool bound = bind(query, value) || llmprof_fail_nomem(err);
  if (bound && llmprof_query_step(query, err) == 1) return query;
  llmprof_query_free(query);
  return NULL;
}

bool llmprof_scan_value_text(llmprof_sqlite *db, llmprof_scan_value *value,
                             const char **bytes, size_t *size,
                             llmprof_error *err) {
  bool number =
      value->type == LLMPROF_SQL_INT || value->type == LLMPROF_SQL_DOUBLE;
  if (number && !value->bytes.size) {
    llmprof_query *query = echo(db, value, err);
    if (!query) return false;
    size_t length;
    const char *text = llmprof_query_text(query, 0, &length);
    llmprof_buffer_add(&value->bytes, text, length);
    llmprof_query_free(query);
    if (value->bytes.failed) return llmprof_fail_nomem(err);
  }
  bool null = value->type == LLMPROF_SQL_NULL;
  *bytes = null ? NULL : value->bytes.bytes;
  *size = null ? 0 : value->bytes.size;
  return true;
}

bool llmprof_scan_value_double(llmprof_sqlite *db,
                               const llmprof_scan_value *value, double *real,
                               llmprof_error *err) {
  *real = value->type == LLMPROF_SQL_NULL ? NAN : value->real;
  if (value->type != LLMPROF_SQL_TEXT) return true;
  llmprof_query *query = echo(db, value, err);
  if (query) *real = llmprof_query_double(query, 0);
  llmprof_query_free(query);
  return query != NULL;
}

bool llmprof_scan_value_integer(llmprof_sqlite *db,
                                const llmprof_scan_value *value,
                                int64_t *integer, llmprof_error *err) {
  llmprof_query *query = echo(db, value, err);
  if (query) llmprof_query_ints(query, integer, 1);
  llmprof_query_free(query);
  return query != NULL;
}

/* A value as a record stores it, for columns that may hold anything. What
 * SQLite would convert is converted by SQLite, so that it comes out as SQL
 * gives it. Private to the core. */
#ifndef LLMPROF_SCAN_VALUE_H
#define LLMPROF_SCAN_VALUE_H

#include "base/buffer.h"
#include "sqlite/sqlite.h"

/* Serial types: what a record's header says of a value. */
enum {
  LLMPROF_SERIAL_NULL,
  LLMPROF_SERIAL_REAL = 7,
  LLMPROF_SERIAL_RESERVED = 10, /* and 11 */
  LLMPROF_SERIAL_BYTES = 12,    /* and up: blobs even, texts odd */
};

/* Zero-initialise it; NULL at first. */
typedef struct llmprof_scan_value {
  llmprof_sql_type type;
  int64_t integer;
  double real;          /* of integers too */
  llmprof_buffer bytes; /* of text, or a number written out */
} llmprof_scan_value;

void llmprof_scan_value_clear(llmprof_scan_value *value); /* to NULL */
void llmprof_scan_value_free(llmprof_scan_value *value);

/* Each sets a cleared value; false when out of memory. */
bool llmprof_scan_value_set_bytes(llmprof_scan_value *value, const void *bytes,
                                  size_t size);
void llmprof_scan_value_set_real(llmprof_scan_value *value, double real);
void llmprof_scan_value_set_integer(llmprof_scan_value *value, int64_t integer,
                                    bool real);

/* sqlite3_column_text, _double and _int64 of the value; false on failure. The
 * text lives until the value is cleared. */
bool llmprof_scan_value_text(llmprof_sqlite *db, llmprof_scan_value *value,
                             const char **bytes, size_t *size,
                             llmprof_error *err);
bool llmprof_scan_value_double(llmprof_sqlite *db,
                               const llmprof_scan_value *value, double *real,
                               llmprof_error *err);
bool llmprof_scan_value_integer(llmprof_sqlite *db,
                                const llmprof_scan_value *value,
                                int64_t *integer, llmprof_error *err);

#endif

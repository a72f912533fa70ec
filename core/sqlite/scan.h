/* Scanning a table's columns, as fast as the file allows. Private to the
 * core: this is what loads millions of events. */
#ifndef LLMPROF_SCAN_H
#define LLMPROF_SCAN_H

#include "sqlite/sqlite.h"

typedef struct llmprof_scan llmprof_scan;

/* What to read: first `ints` integer columns, then `texts` text columns. A
 * column that the table lacks reads as NULL in every row. NULL is
 * LLMPROF_ABSENT. */
typedef struct llmprof_scan_spec {
  const char *table;
  const char *const *columns;
  int ints, texts;
} llmprof_scan_spec;

/* Columns of a kind at most. */
enum {
  LLMPROF_SCAN_INTS = 24,
  LLMPROF_SCAN_TEXTS = 8,
};

/* On true, *scan is NULL when the table does not exist. Rows come in rowid
 * order. The names in the spec must outlive the scan. UNSUPPORTED: a view or a
 * virtual table has its name, and a file could have anything computed by that.
 * Names are as SQLite has them, of any case. */
bool llmprof_scan_open(llmprof_sqlite *db, const llmprof_scan_spec *spec,
                       llmprof_scan **scan, llmprof_error *err);
void llmprof_scan_close(llmprof_scan *scan);

/* Whether the table has this column of the spec. */
bool llmprof_scan_has(const llmprof_scan *scan, int column);

/* values[i] is integer column i of the next row: 1, at the end 0, on failure
 * -1. */
int llmprof_scan_next(llmprof_scan *scan, int64_t *values, llmprof_error *err);

/* Gives all rows to `take`, in their order, a batch at a time, the values of a
 * row behind those of the one before; instead of llmprof_scan_next. Without
 * texts they are decoded on several threads; take is called by one at a time,
 * which may be another than the caller's, and `scan` then stands on no row. It
 * fills err when it fails; false without an error stops. */
typedef bool (*llmprof_scan_take_rows)(void *user, const int64_t *values,
                                       size_t rows, llmprof_error *err);
bool llmprof_scan_rows(llmprof_scan *scan, llmprof_scan_take_rows take,
                       void *user, llmprof_error *err);

/* Text column i of the current row, NULL for NULL; valid until the next. */
const char *llmprof_scan_text(const llmprof_scan *scan, int i, size_t *size);

/* The same as a number, NaN for NULL. */
double llmprof_scan_double(const llmprof_scan *scan, int i);

/* Open, give each row to `take`, close. take returns false when out of memory;
 * without texts it is called as llmprof_scan_take_rows is. *has (may be NULL)
 * says whether the table exists. */
typedef bool (*llmprof_scan_take)(void *user, const llmprof_scan *scan,
                                  const int64_t *values);
bool llmprof_scan_each(llmprof_sqlite *db, const llmprof_scan_spec *spec,
                       llmprof_scan_take take, void *user, bool *has,
                       llmprof_error *err);

#endif

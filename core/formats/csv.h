/* CSV: read the tables that nsys and ncu print, row by row.
 *
 * Tokenising is libcsv's (RFC 4180, strict quoting). This module adds what
 * the profilers' output needs: lines before the table are skipped by rule,
 * the header may come again, a units row may follow it, and errors name the
 * file, the line and its text. Input that is gzip is unpacked. Memory depends
 * on the longest row only. */
#ifndef LLMPROF_CSV_H
#define LLMPROF_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llmprof/error.h"

typedef struct llmprof_csv llmprof_csv;

typedef struct llmprof_csv_options {
  /* The header is the first row that contains this field; everything before
   * it is preamble. NULL: the first row that is not noise is the header. */
  const char *header_has;
  /* Rows may end behind this field of the header: the others are empty then.
   * NULL, or none: they have as many as the header. */
  const char *may_end_behind;
  /* The row after the header holds units (ncu's raw page) and is left out. */
  bool units_row;
} llmprof_csv_options;

/* One field; bytes are NUL-terminated and valid until the next call. */
typedef struct llmprof_csv_field {
  const char *bytes;
  size_t size;
} llmprof_csv_field;

typedef struct llmprof_csv_row {
  const llmprof_csv_field *fields;
  size_t count;
  size_t line; /* where the row starts, 1-based */
} llmprof_csv_row;

/* NULL on failure: the file cannot be read (NOTFOUND, DENIED, IO), holds no
 * header (EMPTY) or memory is out. options may be NULL. */
llmprof_csv *llmprof_csv_open(const char *path,
                              const llmprof_csv_options *options,
                              llmprof_error *err);

/* As open, over bytes in memory, which are borrowed until close. `name`
 * stands for the path in messages. */
llmprof_csv *llmprof_csv_open_bytes(const char *name, const void *bytes,
                                    size_t size,
                                    const llmprof_csv_options *options,
                                    llmprof_error *err);
void llmprof_csv_close(llmprof_csv *csv);

/* The header row, which lives as long as csv does. */
const llmprof_csv_row *llmprof_csv_header(const llmprof_csv *csv);

/* The next data row in *row: 1, at the end: 0, on failure: -1. Rows equal to
 * the header are skipped. Fields stay valid until the next call. */
int llmprof_csv_next(llmprof_csv *csv, llmprof_csv_row *row,
                     llmprof_error *err);

typedef enum llmprof_number {
  LLMPROF_NUMBER_OK,
  LLMPROF_NUMBER_ABSENT, /* empty, "n/a", "(!) n/a", "no data", any NaN */
  LLMPROF_NUMBER_TEXT,   /* not a number */
} llmprof_number;

/* Read "1,234,567.89", "-3", "1e-3": thousands separators must stand every
 * three digits. inf is text: nothing measured is infinite. */
llmprof_number llmprof_csv_number(const char *text, size_t size, double *value);

#endif

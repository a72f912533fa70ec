/* The two ways to scan a table: SQL reads anything; the page reader is several
 * times faster and takes plain integers, of which the big tables are. */
#ifndef LLMPROF_SCAN_INTERNAL_H
#define LLMPROF_SCAN_INTERNAL_H

#include "sqlite/scan.h"

/* A wanted column: where it is in a record, or one of the others. */
enum {
  LLMPROF_COLUMN_LACKING = -1,
  LLMPROF_COLUMN_ROWID = -2, /* INTEGER PRIMARY KEY */
};

/* What the schema says of a table. */
typedef struct llmprof_scan_table {
  uint32_t root; /* page; 0: no such table */
  bool computed; /* a view or a virtual table has the name */
  bool plain;    /* records may hold the wanted columns just as SQL would give
                    them */
  int place[LLMPROF_SCAN_INTS + LLMPROF_SCAN_TEXTS];
} llmprof_scan_table;

/* UNSUPPORTED: it is no table. */
bool llmprof_scan_read_schema(llmprof_sqlite *db, const llmprof_scan_spec *spec,
                              llmprof_scan_table *table, llmprof_error *err);

/* Gives rows as llmprof_scan_rows does, by pages: 1: all of them; 0: the rest,
 * or the whole table, is for SQL; -1: failure. */
int llmprof_scan_pages(llmprof_sqlite *db, const llmprof_scan_spec *spec,
                       const llmprof_scan_table *table,
                       llmprof_scan_take_rows take, void *user,
                       llmprof_error *err);

#endif

/* The two ways to scan a table: SQL reads anything; the page reader is several
 * times faster and takes the plain tables, which are the big ones. */
#ifndef LLMPROF_SCAN_INTERNAL_H
#define LLMPROF_SCAN_INTERNAL_H

#include "sqlite/btree.h"
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
  bool plain;    /* records hold the wanted columns just as SQL would give
                    them */
  int place[LLMPROF_SCAN_INTS + LLMPROF_SCAN_TEXTS];
  bool real[LLMPROF_SCAN_INTS + LLMPROF_SCAN_TEXTS]; /* whole numbers too */
  int64_t beyond[LLMPROF_SCAN_INTS]; /* in rows written before it was added */
} llmprof_scan_table;

/* llmprof_scan_open, with or without the page reader. */
bool llmprof_scan_open_as(llmprof_sqlite *db, const llmprof_scan_spec *spec,
                          bool pages, llmprof_scan **scan, llmprof_error *err);

/* Whether the page reader does it. */
bool llmprof_scan_is_paged(const llmprof_scan *scan);

/* The functions of scan.h, by SQL. */
typedef struct llmprof_scan_sql llmprof_scan_sql;
llmprof_scan_sql *llmprof_scan_sql_open(llmprof_sqlite *db,
                                        const llmprof_scan_spec *spec,
                                        const llmprof_scan_table *table,
                                        llmprof_error *err);
void llmprof_scan_sql_close(llmprof_scan_sql *scan);
int llmprof_scan_sql_next(llmprof_scan_sql *scan, int64_t *values,
                          llmprof_error *err);
const char *llmprof_scan_sql_text(const llmprof_scan_sql *scan, int i,
                                  size_t *size);
double llmprof_scan_sql_double(const llmprof_scan_sql *scan, int i);

/* The same by pages. On true, *scan is NULL when the file or the table is of a
 * kind for SQL. */
typedef struct llmprof_scan_pages llmprof_scan_pages;
bool llmprof_scan_pages_open(llmprof_sqlite *db, const llmprof_scan_spec *spec,
                             const llmprof_scan_table *table,
                             llmprof_scan_pages **scan, llmprof_error *err);
void llmprof_scan_pages_close(llmprof_scan_pages *scan);
int llmprof_scan_pages_next(llmprof_scan_pages *scan, int64_t *values,
                            llmprof_error *err);
const char *llmprof_scan_pages_text(llmprof_scan_pages *scan, int i,
                                    size_t *size);
double llmprof_scan_pages_double(llmprof_scan_pages *scan, int i);

/* ---- pages by number, for several threads: scan_parts.c ---- */

llmprof_btree *llmprof_scan_pages_tree(llmprof_scan_pages *scan);
int llmprof_scan_pages_ints(const llmprof_scan_pages *scan);

/* How records look that a thread has decoded; llmprof_free, NULL when out of
 * memory. */
typedef struct llmprof_scan_shapes llmprof_scan_shapes;
llmprof_scan_shapes *llmprof_scan_shapes_new(void);

/* All rows of a leaf, where the straight way will do for each; on any thread,
 * which has its own shapes. False when it will not: then these two read them
 * one by one. */
bool llmprof_scan_pages_plain(const llmprof_scan_pages *scan,
                              llmprof_scan_shapes *shapes,
                              const llmprof_leaf *leaf, int64_t *values);

bool llmprof_scan_pages_go_to(llmprof_scan_pages *scan, uint32_t number,
                              llmprof_error *err);
int llmprof_scan_pages_next_here(llmprof_scan_pages *scan, int64_t *values,
                                 llmprof_error *err);

/* As llmprof_scan_rows, but for what counts rows. False with *begun false: it
 * is to be read one row after the other, and nothing was taken. */
typedef struct llmprof_scan_taker {
  llmprof_scan_take_rows take;
  bool (*may)(void *scan, size_t rows, llmprof_error *err); /* before it */
  void *user, *scan;
} llmprof_scan_taker;
bool llmprof_scan_parts(llmprof_scan_pages *pages,
                        const llmprof_scan_taker *taker, bool *begun,
                        llmprof_error *err);

#endif

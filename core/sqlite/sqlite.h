/* SQLite: read-only queries. The file is opened as one that nobody changes
 * (mode=ro, immutable=1), its schema is not trusted to call anything. */
#ifndef LLMPROF_SQLITE_H
#define LLMPROF_SQLITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llmprof/error.h"

typedef struct llmprof_sqlite llmprof_sqlite;
typedef struct llmprof_query llmprof_query;

/* NULL on failure: no such file (NOTFOUND), no permission (DENIED), not an
 * SQLite database (SYNTAX), shorter than its header says or left behind by an
 * interrupted writer (SYNTAX). */
llmprof_sqlite *llmprof_sqlite_open(const char *path, llmprof_error *err);

/* Queries that are still open stay valid and are freed on their own. */
void llmprof_sqlite_close(llmprof_sqlite *db);

/* Is there such a table, in the strict sense (no view, no virtual table), or,
 * where it is not NULL, such a column of it: 1 yes, 0 no, -1 failure. */
int llmprof_sqlite_has(llmprof_sqlite *db, const char *table,
                       const char *column, llmprof_error *err);

/* UNSUPPORTED when a table has a column that is computed when it is read, which
 * exports have not: a file could have anything computed by that. */
bool llmprof_sqlite_check_stored(llmprof_sqlite *db, llmprof_error *err);

/* Prepare one statement; NULL on failure (SYNTAX names the SQL error). */
llmprof_query *llmprof_sqlite_query(llmprof_sqlite *db, const char *sql,
                                    llmprof_error *err);
void llmprof_query_free(llmprof_query *query);

/* Parameters, 1-based; text is copied. False when the index does not exist or
 * memory is out. */
int llmprof_query_parameters(const llmprof_query *query);
bool llmprof_query_bind_int(llmprof_query *query, int index, int64_t value);
bool llmprof_query_bind_double(llmprof_query *query, int index, double value);
bool llmprof_query_bind_text(llmprof_query *query, int index, const char *bytes,
                             size_t size);
bool llmprof_query_bind_null(llmprof_query *query, int index);

/* The next row: 1, no more: 0, failure: -1. */
int llmprof_query_step(llmprof_query *query, llmprof_error *err);

/* The first `count` columns of the current row as integers, NULL as
 * LLMPROF_ABSENT: what a loop over millions of rows wants. */
void llmprof_query_ints(const llmprof_query *query, int64_t *values, int count);

typedef enum llmprof_sql_type {
  LLMPROF_SQL_NULL,
  LLMPROF_SQL_INT,
  LLMPROF_SQL_DOUBLE,
  LLMPROF_SQL_TEXT, /* blobs read as text */
} llmprof_sql_type;

/* Columns of the current row, 0-based. Text lives until the next step. */
int llmprof_query_columns(const llmprof_query *query);
const char *llmprof_query_name(const llmprof_query *query, int column);
llmprof_sql_type llmprof_query_type(const llmprof_query *query, int column);
int64_t llmprof_query_int(const llmprof_query *query, int column);
double llmprof_query_double(const llmprof_query *query, int column);
const char *llmprof_query_text(const llmprof_query *query, int column,
                               size_t *size);

#endif

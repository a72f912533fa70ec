/* What scanning wants of a database: a query that is asked for each table, and
 * the bytes of its file, for reading pages without SQLite. Private to the
 * core. */
#ifndef LLMPROF_SQLITE_FILE_H
#define LLMPROF_SQLITE_FILE_H

#include "base/buffer.h"
#include "sqlite/sqlite.h"

/* What llmprof_sqlite_open says of a file before it reads more than its first
 * page: a database, whole, and no journal beside it. */
bool llmprof_sqlite_check_file(const char *path, llmprof_error *err);

/* For sqlite3_open_v2: a file may have any path that the system has. */
const char *llmprof_sqlite_vfs(void);

/* Append the URI that opens a file only for reading, as it lies there. */
void llmprof_sqlite_put_uri(llmprof_buffer *uri, const char *path);

/* Append a name as SQL has it, in quotes. */
void llmprof_sqlite_put_name(llmprof_buffer *sql, const char *name);

/* The one query that the database prepares once, keeps and frees; `sql` is
 * always the same. Ready to be bound and stepped. */
llmprof_query *llmprof_sqlite_keep_query(llmprof_sqlite *db, const char *sql,
                                         llmprof_error *err);

/* Pages that queries asked for since this was last called. */
uint64_t llmprof_sqlite_pages(llmprof_sqlite *db);

const char *llmprof_sqlite_path(const llmprof_sqlite *db);

/* The first table that has start, end and this column; empty: none. */
bool llmprof_sqlite_table_with(llmprof_sqlite *db, const char *column,
                               llmprof_buffer *name, llmprof_error *err);

/* In bytes, -1 on failure. */
int64_t llmprof_sqlite_file_size(llmprof_sqlite *db, llmprof_error *err);

/* Reads through SQLite's own handle, so it is surely the same file. False
 * also when the file ends before offset + size. */
bool llmprof_sqlite_file_read(llmprof_sqlite *db, int64_t offset, void *bytes,
                              size_t size, llmprof_error *err);

#endif

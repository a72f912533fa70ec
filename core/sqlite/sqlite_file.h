/* The bytes of the file that a database has open, for reading its pages
 * without SQLite. Private to the core. */
#ifndef LLMPROF_SQLITE_FILE_H
#define LLMPROF_SQLITE_FILE_H

#include "llmprof/buffer.h"
#include "llmprof/sqlite.h"

/* Append the URI that opens a file only for reading, as it lies there. */
void llmprof_sqlite_put_uri(llmprof_buffer *uri, const char *path);

const char *llmprof_sqlite_path(const llmprof_sqlite *db);

/* In bytes, -1 on failure. */
int64_t llmprof_sqlite_file_size(llmprof_sqlite *db, llmprof_error *err);

/* Reads through SQLite's own handle, so it is surely the same file. False
 * also when the file ends before offset + size. */
bool llmprof_sqlite_file_read(llmprof_sqlite *db, int64_t offset, void *bytes,
                              size_t size, llmprof_error *err);

#endif

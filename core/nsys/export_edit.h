/* Changing a copy of an export: what scrubbing and merging share. */
#ifndef LLMPROF_EXPORT_EDIT_H
#define LLMPROF_EXPORT_EDIT_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/bounds.h"
#include "base/buffer.h"
#include "llmprof/error.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

typedef struct llmprof_edit {
  sqlite3 *db;
  const char *name;   /* of the file it is a copy of, for messages */
  const char *target; /* where the copy is to go, for messages */
  const char *action; /* "cannot be ...", for messages */
  llmprof_error *err;
  bool nomem; /* a question had no answer for want of memory: the edit fails */
  llmprof_watch watch;
} llmprof_edit;

/* Change the copy; false when that failed, with edit->err filled. */
typedef bool (*llmprof_edit_function)(llmprof_edit *edit, void *user);

/* How a file to be made of `from` begins. */
typedef enum llmprof_edit_start {
  LLMPROF_EDIT_COPY,   /* as a copy of it */
  LLMPROF_EDIT_BESIDE, /* empty, with the export attached as "more" */
  LLMPROF_EDIT_NEW,    /* empty: `from`, which may be a file of any kind or no
                          file, is only what it tells of */
} llmprof_edit_start;

/* Begin a file, change it, and put it at `to`, whole or not at all; DENIED when
 * `to` is `from`. */
bool llmprof_edit_make(llmprof_edit_start start, const char *from,
                       const char *to, const char *action,
                       llmprof_edit_function change, void *user,
                       llmprof_error *err);

/* Attach another export as "more", only to be read. */
bool llmprof_edit_attach(llmprof_edit *edit, const char *path);

/* Takes a row; false when that failed, with edit->err filled. */
typedef bool (*llmprof_edit_row)(llmprof_edit *edit, sqlite3_stmt *row,
                                 void *user);

/* Give each row of a query to `take`; ?1 is the text `parameter`, if any. */
bool llmprof_edit_each(llmprof_edit *edit, const char *sql,
                       const char *parameter, llmprof_edit_row take,
                       void *user);

/* The text of column i; NULL where it is NULL, or when out of memory. */
const char *llmprof_edit_text(sqlite3_stmt *row, int i);

/* Add up the numbers that a query in a buffer gives, one in each row; frees the
 * buffer. */
bool llmprof_edit_count(llmprof_edit *edit, llmprof_buffer *sql, size_t *count);

/* false, with SQLite's message for a failure rc. */
bool llmprof_edit_fail(llmprof_edit *edit, int rc);

bool llmprof_edit_run(llmprof_edit *edit, const char *sql);

/* Run what is in a buffer, and free it; an empty one is nothing to do. */
bool llmprof_edit_run_built(llmprof_edit *edit, llmprof_buffer *sql);

/* Is there a column of that name; column NULL: is there a table. schema is
 * "main" or the name of an attached file. */
bool llmprof_edit_has(llmprof_edit *edit, const char *schema, const char *table,
                      const char *column);

/* Is the name one of the patterns; a trailing * stands for any ending. */
bool llmprof_edit_matches(const char *const *patterns, size_t count,
                          const char *name);

/* Columns that hold StringIds ids, by name, wherever they are; NULL ends. */
extern const char *const llmprof_edit_string_columns[];

#endif

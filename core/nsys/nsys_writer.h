/* What the files that write exports share. Private to the module. */
#ifndef LLMPROF_NSYS_WRITER_H
#define LLMPROF_NSYS_WRITER_H

#include "llmprof/trace_builder.h"
#include "nsys/export_edit.h"
#include "nsys/nsys_write.h"

enum {
  NSYS_COLUMNS = 32, /* of a table, at most */
};

/* What its rows have in common: a column that is the same in all of them is
 * added when they are there, with a default, so that no row holds it. */
typedef struct nsys_facts {
  const char *table;
  const char *const *columns;
  size_t count, rows;
  uint32_t differs; /* bit i: column i is no number, or not always the same */
  uint32_t strings; /* bit i: it holds strings, by their ids */
  int64_t first[NSYS_COLUMNS]; /* of the first row; ABSENT: NULL */
} nsys_facts;

/* Tables are written twice: first to know what they have in common, and how
 * often each string is referred to. */
typedef struct nsys_writer {
  llmprof_edit *edit;
  llmprof_trace *trace;
  const char *product, *version;
  const llmprof_strings *strings;
  bool looking;   /* the first time, in which nothing is written */
  uint32_t *uses; /* by string: how often it is referred to */
  uint32_t *ids;  /* by string: its id in StringIds, 0 where nothing refers to
                   * it; those in most rows are smallest */
  nsys_facts *facts; /* of tables, in their order */
  size_t fact_count, fact_cap, table;
  bool stacks; /* of operations are known */
  const char *op_columns[LLMPROF_OP_KINDS][NSYS_COLUMNS];
  llmprof_nsys_counts counts;
} nsys_writer;

/* A table that is being written. Values of a row are put in the order of the
 * columns; a failure is kept and told when the row ends. */
typedef struct nsys_sheet {
  nsys_writer *writer;
  sqlite3_stmt *insert; /* NULL while looking */
  uint32_t common;      /* columns that no row holds */
  size_t fact;
  int at, bound, rc;
} nsys_sheet;

/* columns: "start INTEGER", ..., which live as long as the writer. */
bool nsys_sheet_open(nsys_sheet *sheet, nsys_writer *writer, const char *table,
                     const char *const *columns, size_t count);
bool nsys_sheet_end_row(nsys_sheet *sheet);
void nsys_sheet_close(nsys_sheet *sheet); /* after a failed open, too */

/* When all rows are there: the columns that they have in common. */
bool nsys_add_common(nsys_writer *writer);

/* Texts must live until the row ends. */
void nsys_put_null(nsys_sheet *sheet);
void nsys_put_integer(nsys_sheet *sheet, int64_t value); /* ABSENT: NULL */
void nsys_put_u32(nsys_sheet *sheet, uint32_t value);    /* NONE: NULL */
void nsys_put_real(nsys_sheet *sheet, double value);     /* NaN: NULL */
void nsys_put_part(nsys_sheet *sheet, const char *text, size_t size);
void nsys_put_bytes(nsys_sheet *sheet, const void *bytes, size_t size);
void nsys_put_chars(nsys_sheet *sheet, const char *text); /* NULL: NULL */

/* A string of the trace: its text, or its id in StringIds. */
void nsys_put_text(nsys_sheet *sheet, uint32_t string);
void nsys_put_string_id(nsys_sheet *sheet, uint32_t string);

/* A process or thread by its row: nsys's global id; NONE: NULL. */
void nsys_put_process(nsys_sheet *sheet, uint32_t row);
void nsys_put_thread(nsys_sheet *sheet, uint32_t row);

/* Tables; the parts of the trace are loaded. */
bool nsys_write_ops(nsys_writer *writer);
bool nsys_write_stacks(nsys_writer *writer);
bool nsys_write_calls(nsys_writer *writer);
bool nsys_write_ranges(nsys_writer *writer);
bool nsys_write_samples(nsys_writer *writer);
bool nsys_write_cpu_samples(nsys_writer *writer);
bool nsys_write_target(nsys_writer *writer);

#endif

/* What the files that write exports share. Private to the module. */
#ifndef LLMPROF_NSYS_WRITER_H
#define LLMPROF_NSYS_WRITER_H

#include "llmprof/trace_builder.h"
#include "nsys/export_edit.h"
#include "nsys/nsys_write.h"

typedef struct nsys_writer {
  llmprof_edit *edit;
  llmprof_trace *trace;
  const char *product, *version;
  const llmprof_strings *strings;
  bool *referred; /* by string: something refers to it, by its number + 1 */
  bool stacks;    /* of operations are known */
  llmprof_nsys_counts counts;
} nsys_writer;

/* A table that is being written. Values of a row are put in the order of the
 * columns; after a failure nothing more is written. */
typedef struct nsys_sheet {
  nsys_writer *writer;
  sqlite3_stmt *insert;
  int at; /* columns of the row that are put */
  int rc; /* SQLite's, of the first failure */
} nsys_sheet;

/* Write a table of the columns "start" (of integers), "name TEXT", ...: put()
 * puts and ends the rows that item `item` of what is in `from` makes. */
typedef void (*nsys_put_item)(nsys_sheet *sheet, const void *from, size_t item);
bool nsys_write_table(nsys_writer *writer, const char *table,
                      const char *const *columns, size_t count,
                      nsys_put_item put, const void *from, size_t items);
void nsys_end_row(nsys_sheet *sheet);

/* Texts must live until the row ends. */
void nsys_put_null(nsys_sheet *sheet);
void nsys_put_nulls(nsys_sheet *sheet, int count);
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

/* Frames as tables of text, piece by piece: rows by the million never stand in
 * memory as text. For programs CSV and JSON, for people lines that are aligned.
 */
#ifndef LLMPROF_SHEET_H
#define LLMPROF_SHEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/buffer.h"
#include "llmprof/error.h"
#include "llmprof/frame.h"
#include "text/text.h"

/* A column of the frame and how it is shown. Strings are text, aligned left,
 * and made fit for a line; the rest are numbers. */
typedef struct llmprof_sheet_column {
  size_t column;
  llmprof_slice title; /* borrowed */
  bool whole;          /* integers stay so: no digits, no scale */
  bool name;           /* whole, and for people without separators, too */
  int digits;          /* after the point */
  double scale;        /* what numbers are multiplied with */
  bool exact;          /* halves of the binary value to even, and no separators;
                          else halves away from zero */
  bool raw;            /* in JSON reals as the shortest text that reads back as
                          the same number, in CSV nine digits of it, whatever
                          the rest says; integers are whole */
} llmprof_sheet_column;

typedef enum llmprof_sheet_format {
  LLMPROF_SHEET_CSV,
  LLMPROF_SHEET_JSON,
  LLMPROF_SHEET_LINES,
} llmprof_sheet_format;

typedef struct llmprof_sheet_options {
  llmprof_sheet_format format;
  bool guard;          /* CSV: no text is a formula of a spreadsheet */
  bool keep_invisible; /* CSV: characters without a shape stay, for who compares
                          bytes; else their codes are shown */
  size_t width;        /* lines: columns of the terminal, for a last column of
                          text; 0: not known */
} llmprof_sheet_options;

typedef struct llmprof_sheet llmprof_sheet;

/* The frame outlives it; columns[count] are copied, at least one. NULL on
 * failure: a column cannot be loaded, NOMEM, INTERRUPTED. */
llmprof_sheet *llmprof_sheet_new(llmprof_frame *frame,
                                 const llmprof_sheet_column *columns,
                                 size_t count,
                                 const llmprof_sheet_options *options,
                                 llmprof_error *err);
void llmprof_sheet_free(llmprof_sheet *sheet);

/* Append the next piece, whole lines; nothing at the end. */
bool llmprof_sheet_next(llmprof_sheet *sheet, llmprof_buffer *out,
                        llmprof_error *err);

/* Write all pieces that are left into a stream, of which errors say the name.
 */
bool llmprof_sheet_send(llmprof_sheet *sheet, FILE *stream, const char *name,
                        llmprof_error *err);

/* Write all pieces that are left into a file, as llmprof_fs_write does or,
 * soon, llmprof_fs_write_soon. */
bool llmprof_sheet_save(llmprof_sheet *sheet, const char *path, bool soon,
                        llmprof_error *err);

#endif

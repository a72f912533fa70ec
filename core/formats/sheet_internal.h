/* What the writers of sheets share. */
#ifndef LLMPROF_SHEET_INTERNAL_H
#define LLMPROF_SHEET_INTERNAL_H

#include "frame/cells.h"
#include "llmprof/sheet.h"

/* Some rows of a frame on their way into CSV. */
typedef struct llmprof_csv_rows llmprof_csv_rows;

/* Threads that write rows. */
typedef struct llmprof_sheet_crowd llmprof_sheet_crowd;

/* Whether all rows are known to have the same cell, and which. */
typedef struct llmprof_sheet_alike {
  int64_t cell;
  bool is;
} llmprof_sheet_alike;

struct llmprof_sheet {
  llmprof_frame *frame;
  llmprof_sheet_column *columns;
  size_t count;
  llmprof_sheet_options options;
  size_t *widths;      /* lines: by column, of the widest cell */
  llmprof_buffer cell; /* the one that is being written */
  llmprof_buffer other;
  llmprof_csv_rows *rows;     /* CSV: NULL at first */
  llmprof_sheet_alike *alike; /* CSV: by column */
  llmprof_sheet_crowd *crowd; /* NULL at first */
  size_t row;                 /* the next one */
  bool begun, done;
};

static inline const llmprof_column *
llmprof_sheet_cells(const llmprof_sheet *sheet, size_t column) {
  return llmprof_frame_peek(sheet->frame, sheet->columns[column].column);
}

static inline bool llmprof_sheet_is_text(const llmprof_sheet *sheet,
                                         size_t column) {
  return llmprof_sheet_cells(sheet, column)->type == LLMPROF_STRING_ID;
}

static inline llmprof_slice llmprof_sheet_text(const llmprof_sheet *sheet,
                                               size_t column, int64_t id) {
  llmprof_slice text;
  const llmprof_strings *strings =
      llmprof_column_strings(sheet->frame, llmprof_sheet_cells(sheet, column));
  text.bytes = llmprof_strings_get(strings, (uint32_t)id, &text.size);
  return text;
}

/* Append the cell of a column of numbers. */
void llmprof_sheet_put_number(const llmprof_sheet *sheet, llmprof_buffer *out,
                              size_t column, int64_t cell, bool for_people);

/* Append rows as CSV from sheet->row on, up to `end` or until `most` bytes are
 * there; failures are those of the buffers. */
void llmprof_sheet_put_csv(llmprof_sheet *sheet, llmprof_buffer *out,
                           size_t end, size_t most);
void llmprof_sheet_put_csv_titles(llmprof_sheet *sheet, llmprof_buffer *out);
/* Before any of these: find out about its columns. */
bool llmprof_sheet_look(llmprof_sheet *sheet, llmprof_error *err);
void llmprof_csv_rows_free(llmprof_csv_rows *rows); /* or NULL */

#endif

/* Columns of a CSV file as a frame: what is asked for, and nothing else. */
#ifndef LLMPROF_CSV_FRAME_H
#define LLMPROF_CSV_FRAME_H

#include <stdint.h>

#include "llmprof/csv.h"
#include "llmprof/frame.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A field of each row as a column. Of LLMPROF_STRING_ID an empty field is
 * absent, of LLMPROF_F64 what is no number, of LLMPROF_I64 what is no integer,
 * too. */
typedef struct llmprof_csv_column {
  const char *name;
  uint32_t field; /* from 0; less than the header's count */
  llmprof_column_type type;
} llmprof_csv_column;

/* The rows that llmprof_csv_next() would give, with these columns, whose fields
 * do not descend, and "line", where each row starts. Strings go into the pool,
 * which outlives the frame. On failure *frame holds the rows before the one
 * that is broken, or is NULL where there is no memory for them. */
bool llmprof_csv_frame(llmprof_csv *csv, const llmprof_csv_column *columns,
                       size_t count, llmprof_strings *strings,
                       llmprof_frame **frame, llmprof_error *err);

#ifdef __cplusplus
}
#endif

#endif

/* A frame in the making, row by row: columns of whole numbers and of strings,
 * then columns of reals. Private to the core. */
#ifndef LLMPROF_ROW_TABLE_H
#define LLMPROF_ROW_TABLE_H

#include "llmprof/frame.h"

typedef struct llmprof_row_column {
  const char *name, *unit; /* the unit, or NULL; both outlive the frame */
  bool is_text;            /* cells are ids of strings */
} llmprof_row_column;

/* Zeros but for the first three. */
typedef struct llmprof_row_table {
  const llmprof_row_column *columns;
  size_t column_count, real_count;
  int64_t *cells; /* row by row; LLMPROF_ABSENT */
  double *reals;  /* the same; NaN: absent */
  size_t cell_cap, real_cap, rows;
} llmprof_row_table;

void llmprof_row_table_free(llmprof_row_table *table);

/* Add a row; its reals, which are absent at first, or NULL when out of memory.
 */
double *llmprof_row_table_add(llmprof_row_table *table, const int64_t *cells);

/* Reals that have the name of a column before them are left out. */
llmprof_frame *llmprof_row_table_frame(const llmprof_row_table *table,
                                       const llmprof_row_column *reals,
                                       const llmprof_strings *strings,
                                       llmprof_error *err);

#endif

/* Lines of CSV that need no parser: what profilers print, nearly always. */
#ifndef LLMPROF_CSV_SPLIT_H
#define LLMPROF_CSV_SPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A field of a line: its bytes as they stand there, without quotes around
 * them. */
typedef struct llmprof_csv_piece {
  uint32_t start, size;
  bool doubled; /* its quotes are doubled */
} llmprof_csv_piece;

typedef struct llmprof_csv_pieces {
  llmprof_csv_piece *items; /* freed by the caller, with llmprof_free */
  size_t count, cap;
} llmprof_csv_pieces;

typedef enum llmprof_csv_plain {
  LLMPROF_CSV_PLAIN,
  LLMPROF_CSV_INTRICATE, /* blanks beside commas, a quote that is left open or
                            stands within a field: ask libcsv */
  LLMPROF_CSV_NOMEM,
} llmprof_csv_plain;

/* Split a line, which has no line break and is no blank one, where libcsv would
 * split it. */
llmprof_csv_plain llmprof_csv_split(const char *line, size_t size,
                                    llmprof_csv_pieces *pieces);

/* Make a piece of the line a string of its own, in place; returns its size. The
 * byte behind the line is the line's, too. */
size_t llmprof_csv_finish(char *line, const llmprof_csv_piece *piece);

/* A decimal number with or without separators whose nearest double takes one
 * division: its value in *value. False: anything else, which may be a number,
 * too. */
bool llmprof_csv_plain_number(const char *text, size_t size, double *value);

#endif

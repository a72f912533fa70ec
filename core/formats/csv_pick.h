/* Some fields of lines of CSV whose fields are all quoted. */
#ifndef LLMPROF_CSV_PICK_H
#define LLMPROF_CSV_PICK_H

#include "formats/csv_split.h"

/* Find the fields wanted[count] of a line, numbers from 0 that ascend, where
 * llmprof_csv_split() finds them: pieces[i] is that of wanted[i], *fields is
 * how many the line has. The line has no line break. False: not all of its
 * fields are quoted, its quoting is broken, or it is too short; ask
 * llmprof_csv_split(). */
bool llmprof_csv_pick(const char *line, size_t size, const uint32_t *wanted,
                      size_t count, llmprof_csv_piece *pieces, size_t *fields);

#endif

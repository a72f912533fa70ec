/* What the files of this room share: rows of a frame by key and start, and
 * columns made for a frame. Private to the module. */
#ifndef LLMPROF_RANKS_TIMELINE_H
#define LLMPROF_RANKS_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame/cells.h"
#include "frame/times.h"
#include "llmprof/frame.h"

/* Rows with a key and a start, ordered by key, start and row. */
typedef struct timeline {
  size_t count;
  uint32_t *rows;
  int64_t *keys, *starts; /* by row of the frame; owned */
} timeline;

/* key SIZE_MAX: all rows have key 0. timeline_free also after a failure. */
bool timeline_make(timeline *line, llmprof_frame *frame, size_t start,
                   size_t key, llmprof_error *err);
void timeline_free(timeline *line);

/* The first place i in line->rows with a row of this key that starts after
 * `time`, or of a later key; line->count when there is none. */
size_t timeline_after(const timeline *line, int64_t key, int64_t time);

/* Add a column from cells, which are copied, as name and unit are; an empty
 * unit is none. Strings are ids of the frame's pool. */
bool timeline_keep(llmprof_frame *frame, const char *name, const char *unit,
                   bool strings, const int64_t *cells, llmprof_error *err);

/* A loaded column's cells; UNSUPPORTED when they are reals. */
bool timeline_cells(const llmprof_frame *frame, const llmprof_column *column,
                    int64_t *cells, llmprof_error *err);

/* Loaded columns; false when one cannot be loaded. A number of SIZE_MAX gives
 * NULL. */
bool timeline_columns(llmprof_frame *frame, const size_t *numbers, size_t count,
                      const llmprof_column **columns, llmprof_error *err);

#endif

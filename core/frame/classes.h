/* Classes: what was going on, when rows of several kinds overlap. Each row is
 * an interval [start, end) in ns of a class, and a moment in rows of several
 * classes counts for the first of these.
 *
 * Nothing is merged ahead: asking about a window looks at the rows in it, and
 * at no more than a few hundred before. */
#ifndef LLMPROF_CLASSES_H
#define LLMPROF_CLASSES_H

#include <stdint.h>

#include "frame/interval.h"
#include "llmprof/error.h"
#include "llmprof/frame.h"

enum {
  LLMPROF_CLASSES = 8, /* at most */
  LLMPROF_NO_CLASS = UINT8_MAX
};

typedef struct llmprof_classes llmprof_classes;

typedef struct llmprof_class_columns {
  size_t start, end;
  size_t word; /* of strings, which say the class */
} llmprof_class_columns;

/* class_of[id] is the class of each string of the column's pool, less than
 * `count`, or LLMPROF_NO_CLASS: such rows, and those that lack something, are
 * left out. The frame outlives what is returned; NULL on failure. */
llmprof_classes *llmprof_classes_new(llmprof_frame *frame,
                                     const llmprof_class_columns *columns,
                                     const uint8_t *class_of, size_t count,
                                     llmprof_error *err);
void llmprof_classes_free(llmprof_classes *classes);

/* How many classes there are. */
size_t llmprof_classes_count(const llmprof_classes *classes);

/* ns of [from, to) by class into totals, without those that `busy` covers;
 * NULL: all of them. */
void llmprof_classes_within(const llmprof_classes *classes,
                            const llmprof_intervals *busy, int64_t from,
                            int64_t to, int64_t totals[LLMPROF_CLASSES]);

#endif

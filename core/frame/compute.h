/* Formulas over columns of numbers, row by row, and means of them that are
 * weighted. What is computed from an absent number is absent, and so is what is
 * not finite. What loops over rows ends with INTERRUPTED when
 * llmprof_interrupted(). */
#ifndef LLMPROF_COMPUTE_H
#define LLMPROF_COMPUTE_H

#include <stdbool.h>
#include <stddef.h>

#include "llmprof/error.h"
#include "llmprof/frame.h"

/* A formula is a list of steps over a stack of numbers, empty at first, of
 * which one is left. Those of two numbers take b, then a below it, from the
 * stack. */
typedef enum llmprof_step_kind {
  LLMPROF_STEP_NUMBER,   /* push `number` */
  LLMPROF_STEP_COLUMN,   /* push the cell of column `column` */
  LLMPROF_STEP_TIMES,    /* a * b */
  LLMPROF_STEP_OVER,     /* a / b; absent where b is 0 */
  LLMPROF_STEP_PLUS,     /* a + b */
  LLMPROF_STEP_TOGETHER, /* the same; the one that is there where one is not */
  LLMPROF_STEP_LEAST,    /* the smaller; the one that is there */
  LLMPROF_STEP_MOST,     /* the greater; the one that is there */
  LLMPROF_STEP_OR,       /* a, or b where a is absent */
  LLMPROF_STEP_WHERE,    /* a where b is there */
  LLMPROF_STEP_UNLESS,   /* a where b is absent */
  LLMPROF_STEP_ABOVE,    /* a where it is more than b */
} llmprof_step_kind;

typedef struct llmprof_step {
  llmprof_step_kind kind;
  double number;
  size_t column; /* of numbers; a string counts as its id, to ask whether it is
                    there */
} llmprof_step;

enum {
  LLMPROF_STEPS_DEEP = 32 /* numbers on the stack at most */
};

/* Add column `name`, which is new, by a formula: reals or, where type is
 * LLMPROF_I64, the nearest integers, halves up. The unit is borrowed.
 * UNSUPPORTED: the steps do not leave one number, or are too deep. */
bool llmprof_frame_compute(llmprof_frame *frame, const char *name,
                           const char *unit, llmprof_column_type type,
                           const llmprof_step *steps, size_t count,
                           llmprof_error *err);

/* Sums over rows of a column's numbers, each times its weight, and of these
 * weights, where the number is there. Added up from the first row on, without
 * rounding while all are integers. */
typedef struct llmprof_weighed {
  double sum, weight;
} llmprof_weighed;

/* Of columns[count] into weighed[count]. The weight of a row is that column's,
 * 1 where it is absent; SIZE_MAX: 1 everywhere. */
bool llmprof_frame_weigh(llmprof_frame *frame, const size_t *columns,
                         size_t count, size_t weight, llmprof_weighed *weighed,
                         llmprof_error *err);

#endif

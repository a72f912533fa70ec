/* Steps: what the GPU did for each pass of a model.
 *
 * A step is a row of one frame, a GPU operation a row of another that says
 * which step it is of; an asynchronous step's work counts for it wherever and
 * whenever it runs. */
#ifndef LLMPROF_STEP_TABLE_H
#define LLMPROF_STEP_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "llmprof/error.h"
#include "llmprof/frame.h"

/* What an operation is, as its column `work` says. */
typedef enum llmprof_work {
  LLMPROF_COMPUTE,       /* a kernel that computes, or a whole graph */
  LLMPROF_COMMUNICATION, /* a kernel of a collective */
  LLMPROF_MOVE,          /* a copy or a set */
} llmprof_work;

/* The columns that the measures are taken from. */
typedef struct llmprof_step_columns {
  size_t step_rank;  /* of steps: whose they are */
  size_t step_start; /* of steps: their order */
  size_t step;       /* of operations: row of steps, or absent */
  size_t start, end, work;
  size_t launched; /* of operations: when it was launched, or SIZE_MAX */
  size_t graphed;  /* of operations: 1 for those of a CUDA graph */
  size_t rank;     /* of operations: whose they are, as step_rank has it, or
                      SIZE_MAX: none but those of steps count */
} llmprof_step_columns;

/* Add columns to steps. Times are ns; of a step without operations all but
 * the counts and sums are absent.
 *
 *   launched       when its first launch was called
 *   before         when the last of the steps before it on its rank ended;
 *                  absent for the first of a rank
 *   first, last    when its first operation began and its last one ended
 *   begin          when the GPU could begin it: the last of the steps before
 *                  it on its rank where it was launched by then or overlaps,
 *                  else first
 *   length         last - begin
 *   interval       from the last of the steps before it to its own; absent
 *                  for the first of a rank
 *   free           when the last operation of its rank ended that began before
 *                  its first one, of a step or of none, but no later than that
 *                  begins; absent for the first of a rank
 *   idle           from then to its first; absent for the first of a rank
 *   busy           any operation of it ran
 *   gpu_time       sum of its operations
 *   kernels, moves, collectives   operations of each kind; collectives are
 *                  kernels, too
 *   graphed        kernels that CUDA graphs launched
 *   graphs         launches of graphs, where it is known when they were
 *   move_time      sum of copies and sets
 *   comm_time      a collective of it ran
 *   comm_hidden    of that, one of its computing kernels ran, too */
bool llmprof_steps_measure(llmprof_frame *steps, llmprof_frame *ops,
                           const llmprof_step_columns *columns,
                           llmprof_error *err);

#endif

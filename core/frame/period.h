/* Periods: rows of a frame that come back at regular distances, such as the
 * kernel that picks each token of an LLM's decode.
 *
 * Rows are told apart by group (frame.h), a kernel by its name and grid say,
 * and taken in order of their start. A distance is the time in ns from one row
 * of a group to the next; it is regular when it is within half of the median of
 * the seven regular ones before it. A run is a row of regular distances. */
#ifndef LLMPROF_PERIOD_H
#define LLMPROF_PERIOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame/group_by.h"
#include "llmprof/error.h"
#include "llmprof/frame.h"

/* A group's runs, together. */
typedef struct llmprof_rhythm {
  uint32_t group;
  uint32_t row;       /* of the frame: the group's first */
  uint32_t distances; /* in all runs */
  uint32_t runs;
  uint32_t longest; /* distances in the longest run */
  int64_t period;   /* ns: the median distance */
  int64_t span;     /* ns that the runs last */
  double spread;    /* median of how far a distance is off its run's
                       median, as a share of that median */
} llmprof_rhythm;

/* The groups that have a run of at least `least` distances, in order of
 * group. *rhythms is the caller's to free with llmprof_free. */
bool llmprof_rhythms_find(llmprof_frame *frame, size_t start_column,
                          const llmprof_groups *groups, uint32_t least,
                          llmprof_rhythm **rhythms, size_t *count,
                          llmprof_error *err);

/* What begins with a row of one group and ends before the next: rows by
 * start, of every group. Two of them are alike as far as they hold the same
 * groups equally often: rows that pair off over the rows of the longer. */
typedef struct llmprof_cycle {
  uint32_t first;     /* row of the frame: the group's */
  uint32_t next;      /* the group's next row; UINT32_MAX in the last cycle */
  uint32_t rows;      /* how many, `first` counted */
  double likeness;    /* 0..1, to the neighbour that is more alike; the last
                         cycle ends with the frame, not with a row of the group,
                         and is nobody's neighbour */
  double head;        /* 0..1: likeness to the cycle before of as many rows as
                         that one has; 0 when this one is shorter */
  uint32_t head_last; /* row of the frame: the last of those, or UINT32_MAX */
} llmprof_cycle;

/* The cycles of a group, in order. *cycles is the caller's to free with
 * llmprof_free. */
bool llmprof_cycles_find(llmprof_frame *frame, size_t start_column,
                         const llmprof_groups *groups, uint32_t group,
                         llmprof_cycle **cycles, size_t *count,
                         llmprof_error *err);

#endif

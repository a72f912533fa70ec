/* What the files of the column module share: values by how they are read. */
#ifndef LLMPROF_VALUES_INTERNAL_H
#define LLMPROF_VALUES_INTERNAL_H

#include "column/values.h"

/* How values are read: some that follow each other, any. */
typedef struct llmprof_values_way {
  void (*read)(const llmprof_values *values, size_t first, size_t count,
               int64_t *out);
  /* In place of row numbers, or LLMPROF_ABSENT, their values. */
  void (*pick)(const llmprof_values *values, int64_t *rows, size_t count);
  bool (*bounds)(const llmprof_values *values, llmprof_values_bounds *bounds);
} llmprof_values_way;

#endif

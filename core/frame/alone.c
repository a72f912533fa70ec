#include "frame/alone.h"

#include <math.h>

#include "frame/cells.h"
#include "llmprof/alloc.h"

/* What columns of the result hold. */
typedef enum content {
  CELLS, /* those of the column itself */
  REALS, /* the same as reals */
  COUNTS,
  NONE, /* no deviation of one value */
} content;

static content content_of(const llmprof_frame *frame,
                          const llmprof_aggregate *a) {
  switch (a->statistic) {
  case LLMPROF_COUNT:
  case LLMPROF_DISTINCT:
    return COUNTS;
  case LLMPROF_STDDEV:
    return NONE;
  case LLMPROF_SUM:
  case LLMPROF_MIN:
  case LLMPROF_MAX:
    return CELLS;
  default:
    return llmprof_frame_peek(frame, a->column)->type == LLMPROF_F64 ? CELLS
                                                                     : REALS;
  }
}

/* NULL when out of memory. */
static void *fill(const llmprof_frame *frame, content held, size_t number) {
  size_t rows = llmprof_frame_rows(frame);
  const llmprof_column *column =
      number == SIZE_MAX ? NULL : llmprof_frame_peek(frame, number);
  void *data = llmprof_alloc(rows, sizeof(int64_t));
  int64_t *counts = data;
  double *reals = data;
  for (size_t row = 0; data && row < rows; row++) {
    if (held == COUNTS)
      counts[row] = !column || llmprof_cell(column, row) != LLMPROF_ABSENT;
    else
      reals[row] = held == NONE ? NAN : llmprof_real_at(column, row);
  }
  return data;
}

/* A column of the result that holds the same, or SIZE_MAX. */
static size_t find_same(const llmprof_frame *frame,
                        const llmprof_aggregate *aggregates, size_t i) {
  content held = content_of(frame, &aggregates[i]);
  for (size_t j = 0; j < i; j++) {
    if (content_of(frame, &aggregates[j]) == held &&
        (held == NONE || aggregates[j].column == aggregates[i].column))
      return j;
  }
  return SIZE_MAX;
}

/* keys: how many columns come before those of the aggregates. */
static bool add(llmprof_frame *result, size_t keys, const llmprof_frame *frame,
                const llmprof_aggregate *aggregates, size_t i,
                llmprof_error *err) {
  const llmprof_aggregate *a = &aggregates[i];
  content held = content_of(frame, a);
  size_t same = held == CELLS ? SIZE_MAX : find_same(frame, aggregates, i);
  const char *unit = a->statistic <= LLMPROF_DISTINCT
                         ? NULL
                         : llmprof_frame_peek(frame, a->column)->unit;
  llmprof_column_type type = held == COUNTS ? LLMPROF_I64 : LLMPROF_F64;
  if (held != CELLS && same == SIZE_MAX)
    return llmprof_frame_give(result, a->name, unit, type,
                              fill(frame, held, a->column), err);
  llmprof_column column = held == CELLS
                              ? *llmprof_frame_peek(frame, a->column)
                              : *llmprof_frame_peek(result, keys + same);
  column.name = a->name;
  column.unit = unit;
  return llmprof_frame_add(result, &column, NULL, NULL) ||
         llmprof_fail_nomem(err);
}

llmprof_frame *llmprof_aggregate_alone(llmprof_frame *frame, const size_t *keys,
                                       size_t key_count,
                                       const llmprof_aggregate *aggregates,
                                       size_t count, llmprof_error *err) {
  llmprof_frame *result = llmprof_frame_new(llmprof_frame_rows(frame),
                                            llmprof_frame_strings(frame));
  bool ok = result || llmprof_fail_nomem(err);
  for (size_t k = 0; ok && k < key_count; k++)
    ok = llmprof_frame_add(result, llmprof_frame_peek(frame, keys[k]), NULL,
                           NULL) ||
         llmprof_fail_nomem(err);
  for (size_t i = 0; ok && i < count; i++)
    ok = (aggregates[i].column == SIZE_MAX ||
          llmprof_frame_column(frame, aggregates[i].column, err)) &&
         add(result, key_count, frame, aggregates, i, err);
  if (ok) return result;
  llmprof_frame_free(result);
  return NULL;
}

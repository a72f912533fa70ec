#include "frame/alone.h"

#include <math.h>

#include "base/crew.h"
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

typedef struct filling {
  const llmprof_column *column; /* or NULL */
  content held;
  void *data;
} filling;

static void fill_some(void *user, size_t first, size_t end) {
  const filling *f = user;
  int64_t *counts = f->data;
  double *reals = f->data;
  for (size_t row = first; row < end; row++) {
    if (f->held == COUNTS)
      counts[row] =
          !f->column || llmprof_cell(f->column, row) != LLMPROF_ABSENT;
    else
      reals[row] = f->held == NONE ? NAN : llmprof_real_at(f->column, row);
  }
}

/* NULL when out of memory. */
static void *fill(const llmprof_frame *frame, content held, size_t number) {
  size_t rows = llmprof_frame_rows(frame);
  filling f = {.held = held, .data = llmprof_alloc(rows, sizeof(int64_t))};
  if (number != SIZE_MAX) f.column = llmprof_frame_peek(frame, number);
  if (f.data) llmprof_crew_rows(rows, fill_some, &f);
  return f.data;
}

/* What every row of the result has. False on failure; *alike: they have it. */
static bool find_alike(llmprof_frame *frame, content held, size_t number,
                       int64_t *cell, bool *alike, llmprof_error *err) {
  llmprof_cell_span bounds;
  *alike = false;
  if (llmprof_frame_rows(frame) < LLMPROF_BLOCK) return true;
  *cell = held == NONE ? LLMPROF_ABSENT : 1;
  *alike = held == NONE || number == SIZE_MAX;
  if (*alike) return true;
  if (held == COUNTS) {
    bool ok = llmprof_frame_bounds(frame, number, &bounds, err);
    *alike = ok && !bounds.absent;
    return ok;
  }
  if (!llmprof_frame_alike(frame, number, cell, alike, err)) return false;
  if (*alike && *cell != LLMPROF_ABSENT)
    *cell = llmprof_real_cell(
        llmprof_real_at(llmprof_frame_peek(frame, number), 0));
  return true;
}

/* A column of its own. */
static bool give(llmprof_frame *result, llmprof_frame *frame, content held,
                 const llmprof_column *like, size_t number,
                 llmprof_error *err) {
  int64_t cell;
  bool alike;
  if (!find_alike(frame, held, number, &cell, &alike, err)) return false;
  return alike ? llmprof_frame_fill(result, like->name, like->unit, like->type,
                                    cell, err)
               : llmprof_frame_give(result, like->name, like->unit, like->type,
                                    fill(frame, held, number), err);
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
static bool add(llmprof_frame *result, size_t keys, llmprof_frame *frame,
                const llmprof_aggregate *aggregates, size_t i,
                llmprof_error *err) {
  const llmprof_aggregate *a = &aggregates[i];
  content held = content_of(frame, a);
  size_t same = held == CELLS ? SIZE_MAX : find_same(frame, aggregates, i);
  const char *unit = a->statistic <= LLMPROF_DISTINCT
                         ? NULL
                         : llmprof_frame_peek(frame, a->column)->unit;
  const llmprof_column own = {.name = a->name,
                              .unit = unit,
                              .type =
                                  held == COUNTS ? LLMPROF_I64 : LLMPROF_F64};
  if (held == CELLS)
    return llmprof_frame_add_same(result, a->name, unit, frame, a->column, err);
  if (same == SIZE_MAX) return give(result, frame, held, &own, a->column, err);
  return llmprof_frame_add_same(result, a->name, unit, result, keys + same,
                                err);
}

/* What it is grouped by, as it is. */
static bool add_key(llmprof_frame *result, llmprof_frame *frame, size_t key,
                    llmprof_error *err) {
  const llmprof_column *there = llmprof_frame_peek(frame, key);
  return llmprof_frame_add_same(result, there->name, there->unit, frame, key,
                                err);
}

llmprof_frame *llmprof_aggregate_alone(llmprof_frame *frame, const size_t *keys,
                                       size_t key_count,
                                       const llmprof_aggregate *aggregates,
                                       size_t count, llmprof_error *err) {
  llmprof_frame *result = llmprof_frame_new(llmprof_frame_rows(frame),
                                            llmprof_frame_strings(frame));
  bool ok = result || llmprof_fail_nomem(err);
  for (size_t k = 0; ok && k < key_count; k++)
    ok = add_key(result, frame, keys[k], err);
  for (size_t i = 0; ok && i < count; i++)
    ok = (aggregates[i].column == SIZE_MAX ||
          llmprof_frame_column(frame, aggregates[i].column, err)) &&
         add(result, key_count, frame, aggregates, i, err);
  if (ok) return result;
  llmprof_frame_free(result);
  return NULL;
}

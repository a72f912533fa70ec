/* Rows joined to intervals of time that enclose them. Rows are visited by
 * start, which costs a sort only where they are not in that order; each
 * interval begins by bisection and ends with the first row that starts after
 * it, so that intervals of any number cost no more than the rows in them. */
#include "frame/within.h"
#include "base/alloc.h"
#include "base/bisect.h"
#include "base/interrupt.h"
#include "frame/visit.h"

typedef struct join {
  llmprof_visit rows;
  llmprof_visit_block block; /* of rows, from the place `first` on */
  size_t first;
  const llmprof_column *key; /* NULL without */
  uint32_t *found;
  size_t count, cap;
} join;

/* The first place whose row starts at `time` or later. */
static size_t place_of(const llmprof_visit *rows, int64_t time) {
  size_t low = 0, high = rows->rows;
  LLMPROF_BISECT(low, high, at,
                 llmprof_cell(rows->start, llmprof_visit_row(rows, at)) < time);
  return low;
}

/* Where in the block a place is, which is read if need be. */
static size_t at_hand(join *j, size_t place) {
  if (place < j->first || place - j->first >= j->block.count) {
    llmprof_visit_read(&j->rows, place, &j->block);
    j->first = place;
  }
  return place - j->first;
}

static bool keep(join *j, uint32_t row, llmprof_error *err) {
  if (j->count == UINT32_MAX - 1)
    return llmprof_fail(err, LLMPROF_LIMIT,
                        "more than 4294967294 rows within intervals");
  if (!llmprof_grow(&j->found, &j->cap, j->count + 1, sizeof *j->found))
    return llmprof_fail_nomem(err);
  j->found[j->count++] = row;
  return true;
}

static bool take_interval(join *j, const llmprof_keyed_interval *s,
                          llmprof_error *err) {
  int64_t from = s->start == LLMPROF_ABSENT ? LLMPROF_ABSENT + 1 : s->start;
  size_t place = place_of(&j->rows, from);
  for (; place < j->rows.rows; place++) {
    size_t i = at_hand(j, place);
    uint32_t row = (uint32_t)llmprof_visit_row(&j->rows, place);
    if (j->block.starts[i] > s->end) break;
    if (llmprof_interrupted_at(place)) return llmprof_fail_interrupted(err);
    int64_t end = j->block.ends[i];
    if (end == LLMPROF_ABSENT || end > s->end) continue;
    if (j->key && llmprof_cell(j->key, row) != s->key) continue;
    if (!keep(j, row, err)) return false;
  }
  return true;
}

llmprof_frame *llmprof_frame_within(llmprof_frame *frame, size_t start_column,
                                    size_t end_column, size_t key_column,
                                    const llmprof_keyed_interval *intervals,
                                    size_t count, llmprof_error *err) {
  join j = {.key = NULL};
  bool keyed = key_column != SIZE_MAX;
  if (keyed) j.key = llmprof_frame_column(frame, key_column, err);
  bool ok = (j.key || !keyed) &&
            llmprof_visit_make(&j.rows, frame, start_column, end_column, err);
  for (size_t i = 0; ok && i < count; i++)
    ok = take_interval(&j, &intervals[i], err);
  if (ok && !j.found) { /* none */
    j.found = llmprof_alloc(0, sizeof *j.found);
    ok = j.found || llmprof_fail_nomem(err);
  }
  if (ok) return llmprof_frame_take(frame, j.found, j.count, err);
  llmprof_free(j.found);
  return NULL;
}

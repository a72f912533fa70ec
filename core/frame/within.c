/* Rows joined to intervals of time that enclose them. Rows are visited by
 * start, which costs a sort only where they are not in that order; each
 * interval begins by bisection and ends with the first row that starts after
 * it, so that intervals of any number cost no more than the rows in them. */
#include "frame/within.h"
#include "base/alloc.h"
#include "base/interrupt.h"
#include "frame/cells.h"

typedef struct join {
  const llmprof_column *start, *end, *key; /* key: NULL without */
  const uint32_t *order; /* rows by start; NULL where they are so */
  size_t rows;
  uint32_t *found;
  size_t count, cap;
} join;

static uint32_t row_at(const join *j, size_t place) {
  return j->order ? j->order[place] : (uint32_t)place;
}

/* The first place whose row starts at `time` or later. */
static size_t place_of(const join *j, int64_t time) {
  size_t low = 0, high = j->rows;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (llmprof_cell(j->start, row_at(j, middle)) < time)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static bool is_within(const join *j, const llmprof_keyed_interval *s,
                      uint32_t row) {
  int64_t end = llmprof_cell(j->end, row);
  if (end == LLMPROF_ABSENT || end > s->end) return false;
  return !j->key || llmprof_cell(j->key, row) == s->key;
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
  for (size_t place = place_of(j, from); place < j->rows; place++) {
    uint32_t row = row_at(j, place);
    if (llmprof_cell(j->start, row) > s->end) break;
    if (llmprof_interrupted_at(place)) return llmprof_fail_interrupted(err);
    if (is_within(j, s, row) && !keep(j, row, err)) return false;
  }
  return true;
}

static bool join_init(join *j, llmprof_frame *frame, const size_t *columns,
                      llmprof_error *err) {
  const llmprof_column **into[] = {&j->start, &j->end, &j->key};
  for (int i = 0; i < 3; i++) {
    if (columns[i] == SIZE_MAX) continue;
    *into[i] = llmprof_frame_column(frame, columns[i], err);
    if (!*into[i]) return false;
  }
  return llmprof_frame_order(frame, columns[0], &j->order, err);
}

llmprof_frame *llmprof_frame_within(llmprof_frame *frame, size_t start_column,
                                    size_t end_column, size_t key_column,
                                    const llmprof_keyed_interval *intervals,
                                    size_t count, llmprof_error *err) {
  join j = {.rows = llmprof_frame_rows(frame)};
  const size_t columns[] = {start_column, end_column, key_column};
  bool ok = join_init(&j, frame, columns, err);
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

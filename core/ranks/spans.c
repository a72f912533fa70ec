#include "ranks/spans.h"

#include "base/interrupt.h"
#include "frame/cells.h"
#include "llmprof/alloc.h"
#include "ranks/timeline.h"

/* ---- until the next ---- */

bool llmprof_spans_until(llmprof_frame *spans, size_t start, size_t key,
                         const char *name, llmprof_error *err) {
  timeline line;
  int64_t *until = NULL;
  bool ok = timeline_make(&line, spans, start, key, err);
  if (ok) {
    until = llmprof_absent_cells(llmprof_frame_rows(spans));
    ok = until || llmprof_fail_nomem(err);
  }
  for (size_t i = 0; ok && i < line.count; i++) {
    uint32_t row = line.rows[i];
    bool last =
        i + 1 == line.count || line.keys[line.rows[i + 1]] != line.keys[row];
    until[row] = last ? INT64_MAX : line.starts[line.rows[i + 1]];
  }
  timeline_free(&line);
  return ok && llmprof_frame_give(spans, name, "ns", LLMPROF_I64, until, err);
}

/* ---- which span a row is in ---- */

/* Where a time lies among the starts of its key: what a row was found in,
 * mostly the next one is in, too. */
typedef struct place {
  int64_t key, from, until; /* such times; none while until is not behind */
  int64_t end;              /* of the last span that began by then, */
  uint32_t row;             /* or UINT32_MAX */
} place;

static void find_place(place *p, const timeline *line,
                       const llmprof_column *end, int64_t key, int64_t time) {
  size_t after = timeline_after(line, key, time);
  *p = (place){key, time, time, INT64_MIN, UINT32_MAX};
  if (!after || line->keys[line->rows[after - 1]] != key) return;
  p->row = line->rows[after - 1];
  p->from = line->starts[p->row];
  p->until = INT64_MAX;
  if (after < line->count && line->keys[line->rows[after]] == key)
    p->until = line->starts[line->rows[after]];
  p->end = llmprof_cell(end, p->row);
}

static inline uint32_t span_at(place *p, const timeline *line,
                               const llmprof_column *end, int64_t key,
                               int64_t time) {
  if (p->key != key || time < p->from || time >= p->until)
    find_place(p, line, end, key, time);
  return p->end > time ? p->row : UINT32_MAX;
}

/* The spans of a block's rows. Without a key column all keys are 0. */
static void assign_some(place *near, const timeline *line,
                        const llmprof_column *end, const int64_t *times,
                        const int64_t *keys, size_t count, uint32_t *found) {
  for (size_t i = 0; i < count; i++) {
    bool there = times[i] != LLMPROF_ABSENT && keys[i] != LLMPROF_ABSENT;
    found[i] = there ? span_at(near, line, end, keys[i], times[i]) : UINT32_MAX;
  }
}

static bool assign(llmprof_frame *rows, const llmprof_column *time,
                   const llmprof_column *key, const timeline *line,
                   const llmprof_column *end, uint32_t *found,
                   llmprof_error *err) {
  int64_t times[LLMPROF_BLOCK], keys[LLMPROF_BLOCK] = {0};
  place near = {0};
  size_t count = llmprof_frame_rows(rows);
  for (size_t row = 0; row < count; row += LLMPROF_BLOCK) {
    if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
    size_t some = llmprof_block(row, count);
    llmprof_cells(time, row, some, times);
    if (key) llmprof_cells(key, row, some, keys);
    assign_some(&near, line, end, times, keys, some, found + row);
  }
  return true;
}

bool llmprof_spans_assign(llmprof_frame *rows, size_t time, size_t key,
                          llmprof_frame *spans,
                          const llmprof_span_columns *columns, const char *name,
                          llmprof_error *err) {
  const llmprof_column *of_row[2], *end;
  timeline line = {0};
  uint32_t *found = llmprof_alloc(llmprof_frame_rows(rows), sizeof *found);
  bool ok = (found || llmprof_fail_nomem(err)) &&
            timeline_columns(rows, (size_t[]){time, key}, 2, of_row, err) &&
            timeline_columns(spans, &columns->end, 1, &end, err) &&
            timeline_make(&line, spans, columns->start, columns->key, err) &&
            assign(rows, of_row[0], of_row[1], &line, end, found, err);
  timeline_free(&line);
  if (ok) return llmprof_frame_give(rows, name, NULL, LLMPROF_U32, found, err);
  llmprof_free(found);
  return false;
}

/* ---- from spans to rows, and back ---- */

/* The row of spans that a cell names; SIZE_MAX when it is none. */
static size_t span_of(const llmprof_column *span, size_t row, size_t spans) {
  int64_t number = llmprof_cell(span, row);
  bool there = number >= 0 && (uint64_t)number < spans;
  return there ? (size_t)number : SIZE_MAX;
}

/* The rows of spans that cells name, as keys: the column as it is where each
 * names one. NULL on failure. */
static const llmprof_values *keys_of(llmprof_frame *rows, size_t span,
                                     size_t spans, llmprof_error *err) {
  const llmprof_column *of = llmprof_frame_column(rows, span, err);
  size_t count = llmprof_frame_rows(rows);
  llmprof_cell_span bounds;
  if (!of || !llmprof_frame_bounds(rows, span, &bounds, err)) return NULL;
  if (bounds.low >= 0 && (uint64_t)bounds.high < spans) return of->values;
  uint32_t *index = llmprof_alloc(count, sizeof *index);
  for (size_t row = 0; index && row < count; row++) {
    size_t at = span_of(of, row, spans);
    index[row] = at == SIZE_MAX ? UINT32_MAX : (uint32_t)at;
  }
  const llmprof_values *keys = NULL;
  if (index && llmprof_frame_own(rows, index))
    keys = llmprof_frame_array(rows, LLMPROF_U32, index);
  if (!keys) llmprof_fail_nomem(err);
  return keys;
}

bool llmprof_spans_look_up(llmprof_frame *rows, size_t span,
                           llmprof_frame *spans, size_t column,
                           const char *name, llmprof_error *err) {
  const llmprof_column *from = llmprof_frame_column(spans, column, err);
  const llmprof_values *keys =
      from ? keys_of(rows, span, llmprof_frame_rows(spans), err) : NULL;
  if (!keys) return false;
  llmprof_column added = *from;
  added.name = name;
  added.strings = llmprof_column_strings(spans, from);
  added.values = llmprof_frame_lookup(rows, keys, from->values);
  return (added.values && llmprof_frame_add(rows, &added, NULL, NULL)) ||
         llmprof_fail_nomem(err);
}

bool llmprof_spans_gather(llmprof_frame *spans, llmprof_frame *rows,
                          size_t span, size_t value, llmprof_span_figure figure,
                          const char *name, llmprof_error *err) {
  const llmprof_column *of = llmprof_frame_column(rows, span, err);
  const llmprof_column *from = llmprof_frame_column(rows, value, err);
  if (!of || !from) return false;
  size_t there = llmprof_frame_rows(spans);
  int64_t *made = llmprof_absent_cells(there);
  if (!made) return llmprof_fail_nomem(err);
  for (size_t row = 0; row < llmprof_frame_rows(rows); row++) {
    size_t at = span_of(of, row, there);
    int64_t cell = llmprof_cell(from, row);
    if (at == SIZE_MAX || cell == LLMPROF_ABSENT) continue;
    if (made[at] == LLMPROF_ABSENT)
      made[at] = cell;
    else if (figure == LLMPROF_SPAN_TOTAL)
      made[at] = llmprof_time_sum(made[at], cell);
    else if (cell < made[at])
      made[at] = cell;
  }
  return llmprof_frame_give(spans, name, from->unit, LLMPROF_I64, made, err);
}

/* ---- how much of a span intervals cover ---- */

static bool cover(llmprof_frame *spans, const llmprof_column *const *columns,
                  const llmprof_intervals *const *sets, size_t count,
                  int64_t *covered, llmprof_error *err) {
  size_t rows = llmprof_frame_rows(spans);
  for (size_t row = 0; row < rows; row++) {
    if (llmprof_interrupted_at(row)) return llmprof_fail_interrupted(err);
    int64_t start = llmprof_cell(columns[0], row);
    int64_t end = llmprof_cell(columns[1], row);
    int64_t key = columns[2] ? llmprof_cell(columns[2], row) : 0;
    if (start == LLMPROF_ABSENT || end == LLMPROF_ABSENT) continue;
    bool known = key >= 0 && (uint64_t)key < count;
    covered[row] = known ? llmprof_intervals_covered(sets[key], start, end) : 0;
  }
  return true;
}

bool llmprof_spans_cover(llmprof_frame *spans,
                         const llmprof_span_columns *columns,
                         const llmprof_intervals *const *sets, size_t count,
                         const char *name, llmprof_error *err) {
  const llmprof_column *loaded[3];
  size_t numbers[] = {columns->start, columns->end, columns->key};
  int64_t *covered = llmprof_absent_cells(llmprof_frame_rows(spans));
  bool ok = (covered || llmprof_fail_nomem(err)) &&
            timeline_columns(spans, numbers, 3, loaded, err) &&
            cover(spans, loaded, sets, count, covered, err);
  if (ok)
    return llmprof_frame_give(spans, name, "ns", LLMPROF_I64, covered, err);
  llmprof_free(covered);
  return false;
}

bool llmprof_spans_rest(llmprof_frame *spans, size_t start, size_t end,
                        size_t covered, const char *name, llmprof_error *err) {
  const llmprof_column *columns[3];
  size_t numbers[] = {start, end, covered}, rows = llmprof_frame_rows(spans);
  if (!timeline_columns(spans, numbers, 3, columns, err)) return false;
  int64_t *rest = llmprof_absent_cells(rows);
  if (!rest) return llmprof_fail_nomem(err);
  for (size_t row = 0; row < rows; row++) {
    int64_t from = llmprof_cell(columns[0], row);
    int64_t to = llmprof_cell(columns[1], row);
    int64_t taken = llmprof_cell(columns[2], row);
    if (from == LLMPROF_ABSENT || to == LLMPROF_ABSENT ||
        taken == LLMPROF_ABSENT)
      continue;
    int64_t length = to > from ? llmprof_time_between(from, to) : 0;
    rest[row] = length > taken ? llmprof_time_between(taken, length) : 0;
  }
  return llmprof_frame_give(spans, name, "ns", LLMPROF_I64, rest, err);
}

/* What lies between rows in time. Rows are visited by start; of each group the
 * row that ended last so far is known. */
#include <string.h>

#include "base/interrupt.h"
#include "frame/cells.h"
#include "frame/group_by.h"
#include "frame/relate.h"
#include "llmprof/alloc.h"

typedef struct gaps {
  const llmprof_column *start, *end;
  const uint32_t *order; /* rows by start; NULL where they are so */
  size_t rows;
  int64_t *last_end;       /* by group; ABSENT: no row yet */
  uint32_t *last_row;      /* by group */
  int64_t *before, *after; /* NULL: not wanted */
  uint32_t *previous;
} gaps;

static void gaps_free(gaps *g) {
  llmprof_free(g->last_end);
  llmprof_free(g->last_row);
  llmprof_free(g->before);
  llmprof_free(g->after);
  llmprof_free(g->previous);
}

static int64_t *absent_cells(size_t count) {
  int64_t *cells = llmprof_alloc(count, sizeof *cells);
  for (size_t i = 0; cells && i < count; i++) cells[i] = LLMPROF_ABSENT;
  return cells;
}

/* Cells of a column, where it is wanted. */
static bool make_cells(gaps *g, const llmprof_gap_names *names) {
  if (names->before) g->before = absent_cells(g->rows);
  if (names->after) g->after = absent_cells(g->rows);
  if (names->previous)
    g->previous = llmprof_alloc(g->rows, sizeof *g->previous);
  for (size_t row = 0; g->previous && row < g->rows; row++)
    g->previous[row] = UINT32_MAX;
  return !g->before == !names->before && !g->after == !names->after &&
         !g->previous == !names->previous;
}

static bool gaps_init(gaps *g, llmprof_frame *frame, size_t start, size_t end,
                      size_t groups, const llmprof_gap_names *names,
                      llmprof_error *err) {
  g->rows = llmprof_frame_rows(frame);
  g->start = llmprof_frame_column(frame, start, err);
  g->end = g->start ? llmprof_frame_column(frame, end, err) : NULL;
  if (!g->end || !llmprof_frame_order(frame, start, &g->order, err))
    return false;
  g->last_end = absent_cells(groups);
  g->last_row = llmprof_alloc(groups, sizeof *g->last_row);
  return (g->last_end && g->last_row && make_cells(g, names)) ||
         llmprof_fail_nomem(err);
}

static int64_t hole(int64_t from, int64_t to) {
  int64_t length;
  if (to <= from) return 0;
  return __builtin_sub_overflow(to, from, &length) ? INT64_MAX : length;
}

/* Times mostly lie there as they are. */
static inline int64_t time_at(const llmprof_column *column, uint32_t row) {
  bool bare = column->type == LLMPROF_I64 && !column->index && !column->values;
  return bare ? ((const int64_t *)column->data)[row]
              : llmprof_cell(column, row);
}

/* A row that starts no earlier than those visited before it. */
static void visit(gaps *g, uint32_t row, uint32_t group) {
  int64_t start = time_at(g->start, row), end = time_at(g->end, row);
  if (start == LLMPROF_ABSENT || end == LLMPROF_ABSENT) return;
  int64_t last = g->last_end[group];
  if (last != LLMPROF_ABSENT) {
    uint32_t before = g->last_row[group];
    if (g->before) g->before[row] = hole(last, start);
    if (g->after) g->after[before] = hole(last, start);
    if (g->previous) g->previous[row] = before;
    if (end < last) {
      if (g->after) g->after[row] = 0; /* the one before goes on */
      return;
    }
  }
  g->last_end[group] = end;
  g->last_row[group] = row;
}

static bool are_short(const int64_t *times, size_t rows) {
  bool ok = true;
  for (size_t row = 0; row < rows; row++)
    ok &= times[row] < UINT32_MAX; /* none is less than 0 but absent ones */
  return ok;
}

/* Into the first half of where they are. */
static void *shorten(int64_t *times, size_t rows) {
  char *to = (char *)times;
  for (size_t row = 0; row < rows; row++) {
    uint32_t time =
        times[row] == LLMPROF_ABSENT ? UINT32_MAX : (uint32_t)times[row];
    memcpy(to + row * sizeof time, &time, sizeof time);
  }
  void *fitting = llmprof_resize(to, rows, sizeof(uint32_t));
  return fitting ? fitting : to;
}

/* Hand a column over to the frame where it is wanted. */
static bool give_times(llmprof_frame *frame, const char *name, int64_t **times,
                       llmprof_error *err) {
  size_t rows = llmprof_frame_rows(frame);
  int64_t *given = *times;
  if (!name) return true;
  *times = NULL;
  if (!are_short(given, rows))
    return llmprof_frame_give(frame, name, "ns", LLMPROF_I64, given, err);
  return llmprof_frame_give(frame, name, "ns", LLMPROF_U32,
                            shorten(given, rows), err);
}

static bool give_rows(llmprof_frame *frame, const char *name, uint32_t **rows,
                      llmprof_error *err) {
  uint32_t *given = *rows;
  if (!name) return true;
  *rows = NULL;
  return llmprof_frame_give(frame, name, NULL, LLMPROF_U32, given, err);
}

bool llmprof_frame_gaps(llmprof_frame *frame, size_t start, size_t end,
                        const llmprof_groups *groups,
                        const llmprof_gap_names *names, llmprof_error *err) {
  gaps g = {0};
  bool ok = gaps_init(&g, frame, start, end, groups->count, names, err);
  for (size_t place = 0; ok && place < g.rows; place++) {
    uint32_t row = g.order ? g.order[place] : (uint32_t)place;
    if (llmprof_interrupted_at(place)) ok = llmprof_fail_interrupted(err);
    if (ok) visit(&g, row, groups->of_row[row]);
  }
  ok = ok && give_times(frame, names->before, &g.before, err) &&
       give_times(frame, names->after, &g.after, err) &&
       give_rows(frame, names->previous, &g.previous, err);
  gaps_free(&g);
  return ok;
}

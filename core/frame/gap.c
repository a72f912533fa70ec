/* What lies between rows in time. Rows are visited by start; of each group the
 * row that ended last so far is known. */
#include "base/interrupt.h"
#include "frame/group_by.h"
#include "frame/relate.h"
#include "frame/times.h"
#include "frame/visit.h"
#include "llmprof/alloc.h"

typedef struct gaps {
  llmprof_visit rows;
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

/* Cells of a column, where it is wanted. */
static bool make_cells(gaps *g, const llmprof_gap_names *names) {
  if (names->before) g->before = llmprof_absent_cells(g->rows.rows);
  if (names->after) g->after = llmprof_absent_cells(g->rows.rows);
  if (names->previous)
    g->previous = llmprof_alloc(g->rows.rows, sizeof *g->previous);
  for (size_t row = 0; g->previous && row < g->rows.rows; row++)
    g->previous[row] = UINT32_MAX;
  return !g->before == !names->before && !g->after == !names->after &&
         !g->previous == !names->previous;
}

static bool gaps_init(gaps *g, llmprof_frame *frame, size_t start, size_t end,
                      size_t groups, const llmprof_gap_names *names,
                      llmprof_error *err) {
  if (!llmprof_visit_make(&g->rows, frame, start, end, err)) return false;
  g->last_end = llmprof_absent_cells(groups);
  g->last_row = llmprof_alloc(groups, sizeof *g->last_row);
  return (g->last_end && g->last_row && make_cells(g, names)) ||
         llmprof_fail_nomem(err);
}

static int64_t hole(int64_t from, int64_t to) {
  return to <= from ? 0 : llmprof_time_between(from, to);
}

/* A row that starts no earlier than those visited before it. */
static void visit(gaps *g, uint32_t row, uint32_t group, int64_t start,
                  int64_t end) {
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

/* Hand a column over to the frame where it is wanted. */
static bool give_times(llmprof_frame *frame, const char *name, int64_t **times,
                       llmprof_error *err) {
  int64_t *given = *times;
  if (!name) return true;
  *times = NULL;
  return llmprof_frame_give(frame, name, "ns", LLMPROF_I64, given, err);
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
  for (size_t place = 0; ok && place < g.rows.rows; place += LLMPROF_BLOCK) {
    llmprof_visit_block b;
    llmprof_visit_read(&g.rows, place, &b);
    for (size_t i = 0; i < b.count; i++) {
      size_t row = llmprof_visit_row(&g.rows, place + i);
      visit(&g, (uint32_t)row, groups->of_row[row], b.starts[i], b.ends[i]);
    }
    if (llmprof_interrupted()) ok = llmprof_fail_interrupted(err);
  }
  ok = ok && give_times(frame, names->before, &g.before, err) &&
       give_times(frame, names->after, &g.after, err) &&
       give_rows(frame, names->previous, &g.previous, err);
  gaps_free(&g);
  return ok;
}

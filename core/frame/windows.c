/* Rows are visited by start; of each group it is known until when its rows so
 * far lasted, and in which window that lies. */
#include "base/interrupt.h"
#include "frame/group_by.h"
#include "frame/interval.h"
#include "frame/times.h"
#include "frame/visit.h"
#include "llmprof/alloc.h"

typedef struct windows {
  const llmprof_interval *items;
  size_t count;
  int64_t *until; /* by group; ABSENT, the least number: no row yet */
  size_t *near;   /* by group, the first window that ends after that */
  int64_t *covered;
} windows;

static void add(int64_t *total, int64_t from, int64_t to) {
  *total = llmprof_time_sum(*total, llmprof_time_between(from, to));
}

/* [from, to) of a group, in which none of its rows before lasted. */
static void add_time(windows *w, uint32_t group, int64_t from, int64_t to) {
  size_t *near = &w->near[group];
  int64_t *covered = w->covered + group * w->count;
  while (*near < w->count && w->items[*near].end <= from) ++*near;
  for (size_t i = *near; i < w->count && w->items[i].start < to; i++) {
    int64_t start = w->items[i].start > from ? w->items[i].start : from;
    int64_t end = w->items[i].end < to ? w->items[i].end : to;
    if (end > start) add(&covered[i], start, end);
  }
}

static void visit(windows *w, uint32_t group, int64_t start, int64_t end) {
  if (start == LLMPROF_ABSENT || end == LLMPROF_ABSENT) return;
  if (w->until[group] > start) start = w->until[group];
  if (end <= start) return;
  add_time(w, group, start, end);
  w->until[group] = end;
}

static bool visit_all(windows *w, const llmprof_visit *v,
                      const llmprof_groups *groups, llmprof_error *err) {
  for (size_t place = 0; place < v->rows; place += LLMPROF_BLOCK) {
    if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
    llmprof_visit_block b;
    llmprof_visit_read(v, place, &b);
    for (size_t i = 0; i < b.count; i++)
      visit(w, groups->of_row[llmprof_visit_row(v, place + i)], b.starts[i],
            b.ends[i]);
  }
  return true;
}

bool llmprof_intervals_in_windows(llmprof_frame *frame, size_t start_column,
                                  size_t end_column,
                                  const llmprof_groups *groups,
                                  const llmprof_interval *items, size_t count,
                                  int64_t *covered, llmprof_error *err) {
  llmprof_visit v;
  if (!llmprof_visit_make(&v, frame, start_column, end_column, err))
    return false;
  windows w = {.items = items,
               .count = count,
               .until = llmprof_absent_cells(groups->count),
               .near = llmprof_zalloc(groups->count, sizeof *w.near),
               .covered = covered};
  for (size_t i = 0; i < groups->count * count; i++) covered[i] = 0;
  bool ok = ((w.until && w.near) || llmprof_fail_nomem(err)) &&
            visit_all(&w, &v, groups, err);
  llmprof_free(w.until);
  llmprof_free(w.near);
  return ok;
}

#include "frame/interval.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "frame/group_by.h"
#include "frame/times.h"
#include "frame/visit.h"

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

void llmprof_intervals_free(llmprof_intervals *set) {
  llmprof_free(set->items);
  *set = (llmprof_intervals){0};
}

static int by_start(const void *left, const void *right) {
  const llmprof_interval *a = left, *b = right;
  return (a->start > b->start) - (a->start < b->start);
}

/* GPU events come nearly in order, so looking first mostly saves the sort. */
static void sort_by_start(llmprof_interval *items, size_t count) {
  for (size_t i = 1; i < count; i++) {
    if (items[i - 1].start > items[i].start) {
      qsort(items, count, sizeof *items, by_start);
      return;
    }
  }
}

size_t llmprof_intervals_merge(llmprof_interval *items, size_t count) {
  sort_by_start(items, count);
  size_t kept = 0;
  for (size_t i = 0; i < count; i++) {
    llmprof_interval next = items[i];
    if (next.end <= next.start) continue;
    if (kept && next.start <= items[kept - 1].end) {
      if (next.end > items[kept - 1].end) items[kept - 1].end = next.end;
    } else {
      items[kept++] = next;
    }
  }
  return kept;
}

/* An empty set with room for this many: what is not written to takes no memory,
 * and a set that grows is copied. */
static bool make_room(llmprof_intervals *set, size_t count,
                      llmprof_error *err) {
  set->count = 0;
  set->items = llmprof_alloc(count, sizeof *set->items);
  return set->items || llmprof_fail_nomem(err);
}

/* Add to sorted intervals one that does not start before the last of them. */
static void add_interval(llmprof_intervals *set, int64_t start, int64_t end) {
  llmprof_interval *last = set->count ? &set->items[set->count - 1] : NULL;
  if (!last || start > last->end)
    set->items[set->count++] = (llmprof_interval){start, end};
  else if (end > last->end)
    last->end = end;
}

/* Sets live long: room that is left is given back. */
static void trim(llmprof_intervals *set) {
  if (!set->count) {
    llmprof_free(set->items);
    set->items = NULL;
    return;
  }
  llmprof_interval *items =
      llmprof_resize(set->items, set->count, sizeof *items);
  if (items) set->items = items;
}

static bool is_interval(int64_t start, int64_t end) {
  return start != LLMPROF_ABSENT && end != LLMPROF_ABSENT && end > start;
}

bool llmprof_intervals_of_frame(llmprof_intervals *set, llmprof_frame *frame,
                                size_t start_column, size_t end_column,
                                llmprof_error *err) {
  *set = (llmprof_intervals){0};
  llmprof_visit v;
  if (!llmprof_visit_make(&v, frame, start_column, end_column, err) ||
      !make_room(set, v.rows, err))
    return false;
  for (size_t row = 0; row < v.rows; row += LLMPROF_BLOCK) {
    llmprof_visit_block b;
    llmprof_visit_read(&v, row, &b);
    for (size_t i = 0; i < b.count; i++)
      if (is_interval(b.starts[i], b.ends[i]))
        add_interval(set, b.starts[i], b.ends[i]);
  }
  trim(set);
  return true;
}

/* Intervals of a group come by start, so only what lies past the last end
 * seen is new. */
static void cover(llmprof_extent *extent, int64_t start, int64_t end) {
  if (!is_interval(start, end)) return;
  if (extent->first == LLMPROF_ABSENT) {
    *extent = (llmprof_extent){llmprof_time_between(start, end), start, end};
  } else if (end > extent->last) {
    extent->busy = llmprof_time_sum(
        extent->busy, llmprof_time_between(larger(start, extent->last), end));
    extent->last = end;
  }
}

bool llmprof_intervals_by_group(llmprof_frame *frame, size_t start_column,
                                size_t end_column, const llmprof_groups *groups,
                                llmprof_extent *extents, llmprof_error *err) {
  llmprof_visit v;
  if (!llmprof_visit_make(&v, frame, start_column, end_column, err))
    return false;
  for (size_t g = 0; g < groups->count; g++)
    extents[g] = (llmprof_extent){0, LLMPROF_ABSENT, LLMPROF_ABSENT};
  for (size_t place = 0; place < v.rows; place += LLMPROF_BLOCK) {
    llmprof_visit_block b;
    llmprof_visit_read(&v, place, &b);
    for (size_t i = 0; i < b.count; i++) {
      size_t row = llmprof_visit_row(&v, place + i);
      cover(&extents[groups->of_row[row]], b.starts[i], b.ends[i]);
    }
  }
  return true;
}

size_t llmprof_intervals_after(const llmprof_intervals *set, int64_t time) {
  size_t low = 0, high = set->count;
  LLMPROF_BISECT(low, high, at, set->items[at].end <= time);
  return low;
}

int64_t llmprof_intervals_covered(const llmprof_intervals *set, int64_t from,
                                  int64_t to) {
  if (to <= from) return 0;
  int64_t total = 0;
  for (size_t i = llmprof_intervals_after(set, from);
       i < set->count && set->items[i].start < to; i++)
    total = llmprof_time_sum(
        total, llmprof_time_between(larger(set->items[i].start, from),
                                    smaller(set->items[i].end, to)));
  return total;
}

static bool add_gap(llmprof_intervals *gaps, size_t *cap, int64_t start,
                    int64_t end, int64_t shortest) {
  if (end <= start || llmprof_time_between(start, end) < shortest) return true;
  if (!llmprof_grow(&gaps->items, cap, gaps->count + 1, sizeof *gaps->items))
    return false;
  gaps->items[gaps->count++] = (llmprof_interval){start, end};
  return true;
}

bool llmprof_intervals_gaps(llmprof_intervals *gaps,
                            const llmprof_intervals *set, int64_t from,
                            int64_t to, int64_t shortest, llmprof_error *err) {
  *gaps = (llmprof_intervals){0};
  size_t cap = 0;
  bool ok = true;
  for (size_t i = llmprof_intervals_after(set, from);
       ok && i < set->count && set->items[i].start < to; i++) {
    ok = add_gap(gaps, &cap, from, set->items[i].start, shortest);
    from = larger(from, set->items[i].end);
  }
  ok = ok && add_gap(gaps, &cap, from, to, shortest);
  if (ok) return true;
  llmprof_intervals_free(gaps);
  return llmprof_fail_nomem(err);
}

int64_t llmprof_intervals_overlap(const llmprof_intervals *a,
                                  const llmprof_intervals *b) {
  int64_t total = 0;
  for (size_t i = 0; i < a->count; i++)
    total = llmprof_time_sum(total, llmprof_intervals_covered(
                                        b, a->items[i].start, a->items[i].end));
  return total;
}

bool llmprof_intervals_join(llmprof_intervals *set, const llmprof_intervals *a,
                            const llmprof_intervals *b, llmprof_error *err) {
  size_t i = 0, j = 0;
  if (!make_room(set, a->count + b->count, err)) return false;
  while (i < a->count || j < b->count) {
    bool from_a = j == b->count ||
                  (i < a->count && a->items[i].start <= b->items[j].start);
    llmprof_interval next = from_a ? a->items[i++] : b->items[j++];
    add_interval(set, next.start, next.end);
  }
  trim(set);
  return true;
}

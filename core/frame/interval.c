#include "llmprof/interval.h"

#include <stdlib.h>

#include "frame/cells.h"
#include "frame/sort.h"
#include "llmprof/alloc.h"

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* Sums stop at INT64_MAX: only a broken file has times that far apart. */
static int64_t add(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* From start to a later end. */
static int64_t length(int64_t start, int64_t end) {
  int64_t time;
  return __builtin_sub_overflow(end, start, &time) ? INT64_MAX : time;
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

/* The intervals of a block of rows, behind `count` others; returns how many
 * there are then. */
static size_t add_block(llmprof_interval *items, size_t count,
                        const llmprof_column *start, const llmprof_column *end,
                        size_t first, size_t rows) {
  int64_t starts[LLMPROF_BLOCK], ends[LLMPROF_BLOCK];
  llmprof_cells(start, first, rows, starts);
  llmprof_cells(end, first, rows, ends);
  for (size_t i = 0; i < rows; i++) {
    if (starts[i] != INT64_MIN && ends[i] != INT64_MIN)
      items[count++] = (llmprof_interval){starts[i], ends[i]};
  }
  return count;
}

bool llmprof_intervals_of_frame(llmprof_intervals *set, llmprof_frame *frame,
                                size_t start_column, size_t end_column,
                                llmprof_error *err) {
  *set = (llmprof_intervals){0};
  const llmprof_column *start = llmprof_frame_column(frame, start_column, err);
  if (!start) return false;
  const llmprof_column *end = llmprof_frame_column(frame, end_column, err);
  if (!end) return false;
  size_t rows = llmprof_frame_rows(frame), count = 0;
  set->items = llmprof_alloc(rows, sizeof *set->items);
  if (!set->items) return llmprof_fail_nomem(err);
  for (size_t row = 0; row < rows; row += LLMPROF_BLOCK)
    count =
        add_block(set->items, count, start, end, row, llmprof_block(row, rows));
  set->count = llmprof_intervals_merge(set->items, count);
  return true;
}

/* Rows by start; one that lacks its start comes first and is skipped. */
static uint32_t *rows_by_start(const llmprof_column *start, size_t rows) {
  uint32_t *order = llmprof_alloc(rows, sizeof *order);
  int64_t *keys = llmprof_alloc(rows, sizeof *keys);
  bool ok = order && keys;
  for (size_t row = 0; ok && row < rows; row++) {
    order[row] = (uint32_t)row;
    keys[row] = llmprof_cell(start, row);
  }
  ok = ok && llmprof_sort_rows_i64(order, rows, keys);
  llmprof_free(keys);
  if (ok) return order;
  llmprof_free(order);
  return NULL;
}

/* Intervals of a group come by start, so only what lies past the last end
 * seen is new. */
static void cover(llmprof_extent *extent, int64_t start, int64_t end) {
  if (start == INT64_MIN || end == INT64_MIN || end <= start) return;
  if (extent->first == INT64_MIN) {
    *extent = (llmprof_extent){length(start, end), start, end};
  } else if (end > extent->last) {
    extent->busy = add(extent->busy, length(larger(start, extent->last), end));
    extent->last = end;
  }
}

static void cover_in_order(llmprof_extent *extents, const uint32_t *of_row,
                           const llmprof_column *start,
                           const llmprof_column *end, size_t rows) {
  int64_t starts[LLMPROF_BLOCK], ends[LLMPROF_BLOCK];
  for (size_t row = 0; row < rows; row += LLMPROF_BLOCK) {
    size_t count = llmprof_block(row, rows);
    llmprof_cells(start, row, count, starts);
    llmprof_cells(end, row, count, ends);
    for (size_t i = 0; i < count; i++)
      cover(&extents[of_row[row + i]], starts[i], ends[i]);
  }
}

bool llmprof_intervals_by_group(llmprof_frame *frame, size_t start_column,
                                size_t end_column, const llmprof_groups *groups,
                                llmprof_extent *extents, llmprof_error *err) {
  const llmprof_column *start = llmprof_frame_column(frame, start_column, err);
  if (!start) return false;
  const llmprof_column *end = llmprof_frame_column(frame, end_column, err);
  if (!end) return false;
  size_t rows = llmprof_frame_rows(frame);
  for (size_t g = 0; g < groups->count; g++)
    extents[g] = (llmprof_extent){0, INT64_MIN, INT64_MIN};
  if (llmprof_frame_ascends(frame, start_column)) {
    cover_in_order(extents, groups->of_row, start, end, rows);
    return true;
  }
  uint32_t *order = rows_by_start(start, rows);
  if (!order) return llmprof_fail_nomem(err);
  for (size_t i = 0; i < rows; i++)
    cover(&extents[groups->of_row[order[i]]], llmprof_cell(start, order[i]),
          llmprof_cell(end, order[i]));
  llmprof_free(order);
  return true;
}

/* The first interval that ends after `time`. */
static size_t first_after(const llmprof_intervals *set, int64_t time) {
  size_t low = 0, high = set->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (set->items[middle].end > time)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

int64_t llmprof_intervals_covered(const llmprof_intervals *set, int64_t from,
                                  int64_t to) {
  if (to <= from) return 0;
  int64_t total = 0;
  for (size_t i = first_after(set, from);
       i < set->count && set->items[i].start < to; i++)
    total = add(total, length(larger(set->items[i].start, from),
                              smaller(set->items[i].end, to)));
  return total;
}

static bool add_gap(llmprof_intervals *gaps, size_t *cap, int64_t start,
                    int64_t end, int64_t shortest) {
  if (end <= start || length(start, end) < shortest) return true;
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
  for (size_t i = first_after(set, from);
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
  if (!a->count || !b->count) return 0;
  size_t i = first_after(a, b->items[0].start);
  size_t j = i < a->count ? first_after(b, a->items[i].start) : b->count;
  while (i < a->count && j < b->count) {
    llmprof_interval x = a->items[i], y = b->items[j];
    int64_t start = larger(x.start, y.start), end = smaller(x.end, y.end);
    if (end > start) total = add(total, length(start, end));
    if (x.end < y.end)
      i++;
    else
      j++;
  }
  return total;
}

/* Append to sorted intervals, the last of which it may continue. */
static void append(llmprof_intervals *set, llmprof_interval next) {
  llmprof_interval *last = set->count ? &set->items[set->count - 1] : NULL;
  if (last && next.start <= last->end)
    last->end = larger(last->end, next.end);
  else
    set->items[set->count++] = next;
}

bool llmprof_intervals_join(llmprof_intervals *set, const llmprof_intervals *a,
                            const llmprof_intervals *b, llmprof_error *err) {
  *set = (llmprof_intervals){0};
  if (a->count > SIZE_MAX - b->count) return llmprof_fail_nomem(err);
  set->items = llmprof_alloc(a->count + b->count, sizeof *set->items);
  if (!set->items) return llmprof_fail_nomem(err);
  size_t i = 0, j = 0;
  while (i < a->count || j < b->count) {
    bool from_a = j == b->count ||
                  (i < a->count && a->items[i].start <= b->items[j].start);
    append(set, from_a ? a->items[i++] : b->items[j++]);
  }
  return true;
}

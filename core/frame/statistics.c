/* Statistics of groups. The present values of a column are scattered, those of
 * a group together: as 32-bit distances from the lowest where they span no
 * more, as times nearly always do, else as cells. Distances are summed up
 * exactly, squares too, and their medians are selected; what is wider apart, or
 * real, is sorted, as it is where percentiles are wanted. */
#include "frame/statistics.h"

#include <math.h>
#include <string.h>

#include "base/bisect.h"
#include "base/interrupt.h"
#include "base/thread_pool.h"
#include "frame/cells.h"
#include "frame/group_by.h"
#include "frame/select.h"
#include "frame/sort.h"
#include "llmprof/alloc.h"

/* ---- values by group ---- */

typedef struct by_group {
  const llmprof_column *column;
  size_t groups;
  uint32_t *start; /* by group; start[groups] is the end */
  uint32_t *near;  /* value - low, or NULL */
  int64_t *cells;  /* where near is NULL */
  int64_t low, high;
} by_group;

static size_t size_of(const by_group *v, size_t group) {
  return v->start[group + 1] - v->start[group];
}

static void by_group_free(by_group *v) {
  llmprof_free(v->start);
  llmprof_free(v->near);
  llmprof_free(v->cells);
}

static size_t largest_group(const by_group *v) {
  size_t largest = 0;
  for (size_t g = 0; g < v->groups; g++) {
    size_t size = size_of(v, g);
    if (size > largest) largest = size;
  }
  return largest;
}

/* ---- where each group's values go ---- */

/* Values are scattered in parts of the rows, each on a thread. */
typedef struct filling {
  by_group *values;
  const llmprof_groups *groups;
  size_t rows;
  uint32_t *fill; /* by part and group: where the next value goes */
  bool *outside;  /* by part: a value is beyond low and high */
} filling;

static uint32_t *fill_of(const filling *f, size_t part) {
  return f->fill + part * f->groups->count;
}

/* As if no value was absent. Of a group those of the first part come first. */
static void begin_groups(const filling *f) {
  const llmprof_groups *groups = f->groups;
  uint32_t sum = 0;
  for (size_t g = 0; g < groups->count; g++) {
    f->values->start[g] = sum;
    for (size_t part = 0; part < groups->parts; part++) {
      fill_of(f, part)[g] = sum;
      sum += groups->part_rows[part * groups->count + g];
    }
  }
}

/* What was scattered moves together where values were absent. */
static void close_gaps(const filling *f) {
  const llmprof_groups *groups = f->groups;
  by_group *v = f->values;
  size_t size = v->near ? sizeof *v->near : sizeof *v->cells;
  char *bytes = v->near ? (char *)v->near : (char *)v->cells;
  uint32_t from = 0, to = 0;
  for (size_t g = 0; g < groups->count; g++) {
    v->start[g] = to;
    for (size_t part = 0; part < groups->parts; part++) {
      uint32_t count = fill_of(f, part)[g] - from;
      if (from != to)
        memmove(bytes + to * size, bytes + from * size, count * size);
      to += count;
      from += groups->part_rows[part * groups->count + g];
    }
  }
  v->start[groups->count] = to;
}

/* ---- scattering ---- */

static bool scatter_near(by_group *v, const int64_t *cells, size_t count,
                         const uint32_t *of_row, uint32_t *fill) {
  uint32_t *near = v->near;
  uint64_t low = (uint64_t)v->low, width = (uint64_t)v->high - low;
  bool outside = false;
  for (size_t i = 0; i < count; i++) {
    if (cells[i] == LLMPROF_ABSENT) continue;
    uint64_t above = (uint64_t)cells[i] - low;
    outside |= above > width;
    near[fill[of_row[i]]++] = (uint32_t)above;
  }
  return !outside;
}

static bool scatter_cells(by_group *v, const int64_t *cells, size_t count,
                          const uint32_t *of_row, uint32_t *fill) {
  for (size_t i = 0; i < count; i++) {
    if (cells[i] != LLMPROF_ABSENT) v->cells[fill[of_row[i]]++] = cells[i];
  }
  return true;
}

static bool scatter_part(void *user, size_t worker, size_t part,
                         llmprof_error *err) {
  (void)worker;
  const filling *f = user;
  by_group *v = f->values;
  int64_t cells[LLMPROF_BLOCK];
  size_t end = llmprof_part_begin(f->rows, f->groups->parts, part + 1);
  bool inside = true;
  for (size_t row = llmprof_part_begin(f->rows, f->groups->parts, part);
       inside && row < end; row += LLMPROF_BLOCK) {
    size_t count = llmprof_block(row, end);
    llmprof_cells(v->column, row, count, cells);
    inside = (v->near ? scatter_near : scatter_cells)(
        v, cells, count, f->groups->of_row + row, fill_of(f, part));
    if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
  }
  f->outside[part] = !inside;
  return true;
}

static bool make_room(by_group *v, size_t rows, llmprof_error *err) {
  uint64_t width = (uint64_t)v->high - (uint64_t)v->low;
  if (v->column->type != LLMPROF_F64 && width < UINT32_MAX)
    v->near = llmprof_alloc(rows, sizeof *v->near);
  else
    v->cells = llmprof_alloc(rows, sizeof *v->cells);
  return v->near || v->cells || llmprof_fail_nomem(err);
}

/* Bounds that are known, where no cell is absent: those below 0 might make sums
 * too large that are not. */
static bool are_known(by_group *v) {
  llmprof_values_bounds bounds;
  if (!llmprof_values_find_bounds(v->column->values, &bounds) || bounds.nulls ||
      bounds.low < 0)
    return false;
  v->low = bounds.low;
  v->high = bounds.high;
  return true;
}

/* *inside: no value is beyond low and high. */
static bool scatter(const filling *f, bool *inside, llmprof_error *err) {
  size_t parts = f->groups->parts;
  const llmprof_parallel_loop loop = {
      .parts = parts, .work = scatter_part, .user = (void *)f};
  begin_groups(f);
  if (!make_room(f->values, f->rows, err) ||
      !llmprof_parallel_for(&loop, parts, err))
    return false;
  *inside = true;
  for (size_t part = 0; part < parts; part++) *inside &= !f->outside[part];
  return true;
}

/* Bounds that are not known are first taken for those of a time of less than
 * four seconds, as nearly all are: to find them is to read the column twice. */
static bool scatter_all(const filling *f, llmprof_frame *frame, size_t number,
                        llmprof_error *err) {
  by_group *v = f->values;
  llmprof_cell_span span;
  bool inside;
  if (!are_known(v)) v->high = UINT32_MAX - 1;
  if (!scatter(f, &inside, err)) return false;
  if (inside) return true;
  if (!llmprof_frame_span(frame, number, &span, err)) return false;
  v->low = span.low;
  v->high = span.high;
  llmprof_free(v->near);
  v->near = NULL;
  return scatter(f, &inside, err);
}

static bool by_group_load(by_group *v, llmprof_frame *frame, size_t number,
                          const llmprof_groups *groups, llmprof_error *err) {
  size_t parts = groups->parts;
  *v = (by_group){.groups = groups->count,
                  .column = llmprof_frame_column(frame, number, err)};
  if (!v->column) return false;
  const filling f = {.values = v,
                     .groups = groups,
                     .rows = llmprof_frame_rows(frame),
                     .fill = llmprof_alloc(parts * v->groups, sizeof *f.fill),
                     .outside = llmprof_alloc(parts, sizeof *f.outside)};
  v->start = llmprof_alloc(v->groups + 1, sizeof *v->start);
  bool ok = (v->start && f.fill && f.outside) || llmprof_fail_nomem(err);
  ok = ok && scatter_all(&f, frame, number, err);
  if (ok) close_gaps(&f);
  llmprof_free(f.fill);
  llmprof_free(f.outside);
  return ok;
}

/* ---- values of one group, sorted ---- */

/* Values as integers or reals: near and from, or cells. */
typedef struct numbers {
  const uint32_t *near;
  int64_t low; /* of near */
  const int64_t *cells;
  size_t count;
  bool real;
} numbers;

static int64_t cell_at(const numbers *v, size_t i) {
  return v->near ? v->low + (int64_t)v->near[i] : v->cells[i];
}

static double value_at(const numbers *v, size_t i) {
  int64_t cell = cell_at(v, i);
  return v->real ? llmprof_cell_real(cell) : (double)cell;
}

static double percentile(const numbers *v, double wanted) {
  double rank = wanted / 100 * (double)(v->count - 1);
  size_t below = (size_t)rank;
  if (below + 1 >= v->count) return value_at(v, v->count - 1);
  double low = value_at(v, below), high = value_at(v, below + 1);
  return low + (rank - (double)below) * (high - low);
}

static double median_of(const numbers *v) {
  double upper = value_at(v, v->count / 2);
  if (v->count % 2) return upper;
  return (value_at(v, v->count / 2 - 1) + upper) / 2;
}

/* ---- any values, sorted ---- */

static bool total_of(const numbers *v, int64_t *total) {
  *total = 0;
  for (size_t i = 0; i < v->count; i++) {
    if (__builtin_add_overflow(*total, v->cells[i], total)) return false;
  }
  return true;
}

static double real_total_of(const numbers *v) {
  double total = 0;
  for (size_t i = 0; i < v->count; i++) total += value_at(v, i);
  return total;
}

static double stddev_of(const numbers *v, double mean) {
  if (v->count < 2) return 0;
  double squares = 0;
  for (size_t i = 0; i < v->count; i++) {
    double off = value_at(v, i) - mean;
    squares += off * off;
  }
  return sqrt(squares / (double)(v->count - 1));
}

/* Total and extremes, in the column's own type; the total as a double. */
static bool add_up(const numbers *v, llmprof_summary *summary, double *total) {
  if (v->real) {
    summary->real_min = value_at(v, 0);
    summary->real_max = value_at(v, v->count - 1);
    *total = summary->real_total = real_total_of(v);
    return true;
  }
  summary->min = v->cells[0];
  summary->max = v->cells[v->count - 1];
  if (!total_of(v, &summary->total)) return false;
  *total = (double)summary->total;
  return true;
}

static bool summarize_sorted(const numbers *v, llmprof_summary *summary) {
  double total;
  if (!add_up(v, summary, &total)) return false;
  summary->mean = total / (double)v->count;
  summary->stddev = stddev_of(v, summary->mean);
  return true;
}

/* ---- values near each other ---- */

__extension__ typedef unsigned __int128 llmprof_uint128;

/* Of fewer than 2^32 values of less than 2^32 each. */
typedef struct sums {
  uint64_t total;
  uint32_t low, high; /* UINT32_MAX and 0 at first */
  llmprof_uint128 squares;
} sums;

/* The sample's standard deviation, 0 of one value: from n * sum of squares -
 * square of the sum. */
static double sums_stddev(const sums *s, size_t count) {
  if (count < 2) return 0;
  llmprof_uint128 spread = (llmprof_uint128)count * s->squares -
                           (llmprof_uint128)s->total * s->total;
  double n = (double)count;
  double real =
      ldexp((double)(uint64_t)(spread >> 64), 64) + (double)(uint64_t)spread;
  return sqrt(real / (n * (n - 1)));
}

enum {
  SUMMED = 1 << 16, /* values whose squares fit into 64 bits together */
  SHORT = 1 << 24   /* if each is less than this */
};

static void add_values(sums *s, const uint32_t *values, size_t count) {
  uint32_t low = s->low, high = s->high;
  uint64_t total = 0, squares = 0;
  for (size_t i = 0; i < count; i++) {
    total += values[i];
    squares += (uint64_t)values[i] * values[i];
    low = values[i] < low ? values[i] : low;
    high = values[i] > high ? values[i] : high;
  }
  s->total += total;
  s->low = low;
  s->high = high;
  if (high < SHORT)
    s->squares += squares;
  else /* they may not have fitted */
    for (size_t i = 0; i < count; i++)
      s->squares += (uint64_t)values[i] * values[i];
}

/* Of distances from the column's lowest value. */
static sums sums_of(const uint32_t *values, size_t count) {
  sums s = {.low = UINT32_MAX};
  for (size_t i = 0; i < count; i += SUMMED) {
    size_t part = count - i < SUMMED ? count - i : SUMMED;
    add_values(&s, values + i, part);
  }
  return s;
}

static double select_median(const by_group *b, uint32_t *values, size_t count,
                            const sums *s) {
  uint32_t two[2];
  llmprof_select_u32(values, count, (count - 1) / 2, s->low, s->high, two);
  double lower = (double)(b->low + (int64_t)two[0]);
  if (count % 2) return lower;
  return (lower + (double)(b->low + (int64_t)two[1])) / 2;
}

static bool summarize_near(const by_group *b, const uint32_t *values,
                           size_t count, sums *s, llmprof_summary *summary) {
  *s = sums_of(values, count);
  int64_t base;
  if (__builtin_mul_overflow(b->low, (int64_t)count, &base) ||
      s->total > INT64_MAX ||
      __builtin_add_overflow(base, (int64_t)s->total, &summary->total))
    return false;
  summary->min = b->low + (int64_t)s->low;
  summary->max = b->low + (int64_t)s->high;
  summary->mean = (double)summary->total / (double)count;
  summary->stddev = sums_stddev(s, count);
  return true;
}

/* ---- a group ---- */

enum {
  EACH = 1 << 16, /* values that are worth a part of the work */
  TOGETHER = 64   /* summaries that are handed on at a time */
};

/* What is wanted of each group. */
typedef struct task {
  by_group values;
  const double *wanted; /* percentiles */
  size_t wanted_count;
  size_t largest, workers, parts;
  int64_t *scratch; /* by worker, room to sort the largest group; NULL where
                       nothing is sorted */
  llmprof_summaries_taker take;
  void *user;
} task;

static numbers sort_group(const task *t, size_t first, size_t count,
                          void *scratch) {
  const by_group *b = &t->values;
  numbers v = {
      .low = b->low, .count = count, .real = b->column->type == LLMPROF_F64};
  if (b->near) {
    llmprof_sort_u32(b->near + first, count, scratch);
    v.near = b->near + first;
  } else {
    llmprof_sort_i64(b->cells + first, count, scratch);
    v.cells = b->cells + first;
  }
  return v;
}

static bool near_group(const task *t, size_t first, size_t count,
                       llmprof_summary *summary) {
  const by_group *b = &t->values;
  sums s;
  if (!summarize_near(b, b->near + first, count, &s, summary)) return false;
  if (!t->scratch)
    summary->median = select_median(b, b->near + first, count, &s);
  return true;
}

static bool summarize_any(const task *t, size_t first, size_t count,
                          void *scratch, llmprof_summary *summary) {
  bool near = t->values.near;
  if (near && !near_group(t, first, count, summary)) return false;
  if (!scratch) return true;
  numbers v = sort_group(t, first, count, scratch);
  if (!near && !summarize_sorted(&v, summary)) return false;
  summary->median = median_of(&v);
  for (size_t i = 0; i < t->wanted_count; i++)
    summary->percentiles[i] = percentile(&v, t->wanted[i]);
  return true;
}

static bool fail_range(const llmprof_column *column, llmprof_error *err) {
  return llmprof_fail(err, LLMPROF_RANGE, "total of column '%s' is too large",
                      column->name);
}

static bool summarize_group(const task *t, size_t group, void *scratch,
                            llmprof_summary *summary, llmprof_error *err) {
  size_t first = t->values.start[group];
  size_t count = size_of(&t->values, group);
  *summary = (llmprof_summary){.count = count};
  if (!count) return true;
  return summarize_any(t, first, count, scratch, summary) ||
         fail_range(t->values.column, err);
}

/* sorts: also values that are near each other. */
static bool task_init(task *t, llmprof_frame *frame, size_t number,
                      const llmprof_groups *groups, bool sorts,
                      llmprof_error *err) {
  if (!by_group_load(&t->values, frame, number, groups, err)) return false;
  if (t->values.near && !sorts) return true;
  t->largest = largest_group(&t->values);
  t->scratch = llmprof_alloc(t->workers * t->largest, sizeof *t->scratch);
  return t->scratch || llmprof_fail_nomem(err);
}

static void task_free(task *t) {
  by_group_free(&t->values);
  llmprof_free(t->scratch);
}

/* The first group whose values begin at one of these or behind. */
static size_t group_from(const by_group *b, size_t value) {
  size_t low = 0, high = b->groups;
  LLMPROF_BISECT(low, high, at, b->start[at] < value);
  return low;
}

/* The groups that begin in a part of the values. */
static bool summarize_part(void *user, size_t worker, size_t part,
                           llmprof_error *err) {
  const task *t = user;
  int64_t *scratch = t->scratch ? t->scratch + worker * t->largest : NULL;
  size_t end = part + 1 < t->parts ? group_from(&t->values, (part + 1) * EACH)
                                   : t->values.groups;
  llmprof_summary some[TOGETHER];
  for (size_t g = group_from(&t->values, part * EACH), count; g < end;
       g += count) {
    count = end - g < TOGETHER ? end - g : TOGETHER;
    if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
    for (size_t i = 0; i < count; i++)
      if (!summarize_group(t, g + i, scratch, &some[i], err)) return false;
    t->take(t->user, g, some, count);
  }
  return true;
}

bool llmprof_summarize(llmprof_frame *frame, size_t number,
                       const llmprof_groups *groups, const double *wanted,
                       size_t wanted_count, llmprof_summaries_taker take,
                       void *user, llmprof_error *err) {
  size_t parts = llmprof_frame_rows(frame) / EACH + 1;
  task t = {.wanted = wanted,
            .wanted_count = wanted_count,
            .workers = llmprof_thread_pool_size(parts),
            .parts = parts,
            .take = take,
            .user = user};
  llmprof_parallel_loop loop = {
      .parts = parts, .work = summarize_part, .user = &t};
  bool ok = task_init(&t, frame, number, groups, wanted_count > 0, err) &&
            llmprof_parallel_for(&loop, t.workers, err);
  task_free(&t);
  return ok;
}

/* ---- distinct values ---- */

static int64_t count_distinct(const numbers *v) {
  int64_t distinct = v->count > 0;
  for (size_t i = 1; i < v->count; i++)
    distinct += cell_at(v, i) != cell_at(v, i - 1);
  return distinct;
}

bool llmprof_distinct(llmprof_frame *frame, size_t number,
                      const llmprof_groups *groups, int64_t *distinct,
                      llmprof_error *err) {
  task t = {.workers = 1};
  bool ok = task_init(&t, frame, number, groups, true, err);
  for (size_t g = 0; ok && g < groups->count; g++) {
    numbers v =
        sort_group(&t, t.values.start[g], size_of(&t.values, g), t.scratch);
    distinct[g] = count_distinct(&v);
    if (llmprof_interrupted()) ok = llmprof_fail_interrupted(err);
  }
  task_free(&t);
  return ok;
}

/* ---- totals alone ---- */

static bool add_totals(llmprof_summary *summaries, const int64_t *cells,
                       size_t count, const uint32_t *of_row) {
  bool fits = true;
  for (size_t i = 0; i < count; i++) {
    if (cells[i] == LLMPROF_ABSENT) continue;
    llmprof_summary *s = &summaries[of_row[i]];
    int64_t cell = cells[i];
    if (!s->count++) s->min = s->max = cell;
    if (cell < s->min) s->min = cell;
    if (cell > s->max) s->max = cell;
    fits = !__builtin_add_overflow(s->total, cell, &s->total) && fits;
  }
  return fits;
}

bool llmprof_totals(llmprof_frame *frame, size_t number,
                    const llmprof_groups *groups, llmprof_summary *summaries,
                    llmprof_error *err) {
  const llmprof_column *column = llmprof_frame_column(frame, number, err);
  if (!column) return false;
  size_t rows = llmprof_frame_rows(frame);
  for (size_t g = 0; g < groups->count; g++)
    summaries[g] = (llmprof_summary){0};
  for (size_t row = 0; row < rows; row += LLMPROF_BLOCK) {
    int64_t cells[LLMPROF_BLOCK];
    size_t count = llmprof_block(row, rows);
    llmprof_cells(column, row, count, cells);
    if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
    if (!add_totals(summaries, cells, count, groups->of_row + row))
      return fail_range(column, err);
  }
  return true;
}

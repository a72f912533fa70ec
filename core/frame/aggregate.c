/* Groups as a frame: one row each, a column per statistic. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "frame/cells.h"
#include "frame/group_by.h"
#include "frame/statistics.h"
#include "llmprof/alloc.h"
#include "llmprof/frame.h"

/* What is being made: column `c` of the result is data[c], reals or, where
 * is_real[c] is not set, integers. */
typedef struct making {
  llmprof_frame *frame; /* aggregated */
  llmprof_groups groups;
  const llmprof_aggregate *aggregates;
  size_t count;
  void **data; /* owned until they are the result's */
  bool *is_real;
} making;

static void making_free(making *m) {
  for (size_t i = 0; m->data && i < m->count; i++) llmprof_free(m->data[i]);
  llmprof_free(m->data);
  llmprof_free(m->is_real);
  llmprof_groups_free(&m->groups);
}

static llmprof_column_type type_of(const making *m,
                                   const llmprof_aggregate *a) {
  return llmprof_frame_peek(m->frame, a->column)->type;
}

/* Statistics that are counts need no numbers. */
static bool is_count(const llmprof_aggregate *a) {
  return a->statistic <= LLMPROF_DISTINCT;
}

static bool keeps_type(const llmprof_aggregate *a) {
  return a->statistic == LLMPROF_SUM || a->statistic == LLMPROF_MIN ||
         a->statistic == LLMPROF_MAX;
}

static bool allocate(making *m, llmprof_error *err) {
  m->data = llmprof_zalloc(m->count, sizeof *m->data);
  m->is_real = llmprof_zalloc(m->count, sizeof *m->is_real);
  if (!m->data || !m->is_real) return llmprof_fail_nomem(err);
  for (size_t i = 0; i < m->count; i++) {
    const llmprof_aggregate *a = &m->aggregates[i];
    m->is_real[i] =
        !is_count(a) && (!keeps_type(a) || type_of(m, a) == LLMPROF_F64);
    m->data[i] = llmprof_zalloc(m->groups.count, sizeof(int64_t));
    if (!m->data[i]) return llmprof_fail_nomem(err);
  }
  return true;
}

/* ---- counts ---- */

static void count_present(const making *m, size_t number, int64_t *data) {
  const llmprof_column *column = llmprof_frame_peek(m->frame, number);
  for (size_t row = 0; row < llmprof_frame_rows(m->frame); row++)
    data[m->groups.of_row[row]] += llmprof_cell(column, row) != LLMPROF_ABSENT;
}

/* Into data that is 0 so far. */
static bool fill_count(const making *m, const llmprof_aggregate *a,
                       int64_t *data, llmprof_error *err) {
  if (a->statistic == LLMPROF_DISTINCT)
    return llmprof_distinct(m->frame, a->column, &m->groups, data, err);
  if (a->column != SIZE_MAX)
    count_present(m, a->column, data);
  else
    for (size_t g = 0; g < m->groups.count; g++) data[g] = m->groups.rows[g];
  return true;
}

/* ---- statistics: all of one column at once ---- */

/* Where a summary holds the statistic. */
static size_t place_of(const llmprof_aggregate *a, size_t percentile) {
  static const size_t places[] = {
      [LLMPROF_COUNT] = offsetof(llmprof_summary, count),
      [LLMPROF_SUM] = offsetof(llmprof_summary, total),
      [LLMPROF_MIN] = offsetof(llmprof_summary, min),
      [LLMPROF_MAX] = offsetof(llmprof_summary, max),
      [LLMPROF_MEAN] = offsetof(llmprof_summary, mean),
      [LLMPROF_MEDIAN] = offsetof(llmprof_summary, median),
      [LLMPROF_STDDEV] = offsetof(llmprof_summary, stddev),
      [LLMPROF_PERCENTILE] = offsetof(llmprof_summary, percentiles),
  };
  return places[a->statistic] + percentile * sizeof(double);
}

/* Of groups with fewer values there is none. */
static size_t least_of(const llmprof_aggregate *a) {
  if (a->statistic == LLMPROF_COUNT) return 0;
  return a->statistic == LLMPROF_STDDEV ? 2 : 1;
}

/* The percentiles that are wanted of a column; how many: no more are kept than
 * there is room for. */
static size_t wanted_of(const making *m, size_t column, double *wanted) {
  size_t count = 0;
  for (size_t i = 0; i < m->count; i++) {
    const llmprof_aggregate *a = &m->aggregates[i];
    if (a->column != column || a->statistic != LLMPROF_PERCENTILE) continue;
    if (count < LLMPROF_PERCENTILES) wanted[count] = a->percentile;
    count++;
  }
  return count;
}

static bool check_percentiles(const making *m, llmprof_error *err) {
  double wanted[LLMPROF_PERCENTILES];
  for (size_t i = 0; i < m->count; i++) {
    if (m->aggregates[i].statistic == LLMPROF_PERCENTILE &&
        wanted_of(m, m->aggregates[i].column, wanted) > LLMPROF_PERCENTILES)
      return llmprof_fail(err, LLMPROF_LIMIT, "at most %d percentiles",
                          LLMPROF_PERCENTILES);
  }
  return true;
}

/* Integers or reals, of 8 bytes each; where there are too few values: none. */
static void spread_cells(void *data, const llmprof_summary *summaries,
                         size_t count, size_t place, size_t least,
                         const void *none) {
  for (size_t g = 0; g < count; g++) {
    const char *cell = (const char *)&summaries[g] + place;
    memcpy((char *)data + g * sizeof(int64_t),
           summaries[g].count < least ? none : cell, sizeof(int64_t));
  }
}

typedef struct spreading {
  making *m;
  size_t column;
} spreading;

/* Of groups from `first` on. */
static void spread(void *user, size_t first, const llmprof_summary *summaries,
                   size_t count) {
  static const double not_a_number = NAN;
  static const int64_t absent = LLMPROF_ABSENT;
  const spreading *s = user;
  size_t percentile = 0;
  for (size_t i = 0; i < s->m->count; i++) {
    const llmprof_aggregate *a = &s->m->aggregates[i];
    if (a->column != s->column || a->statistic == LLMPROF_DISTINCT) continue;
    size_t turn = a->statistic == LLMPROF_PERCENTILE ? percentile++ : 0;
    spread_cells((int64_t *)s->m->data[i] + first, summaries, count,
                 place_of(a, turn), least_of(a),
                 s->m->is_real[i] ? (const void *)&not_a_number : &absent);
  }
}

/* Is one of these wanted of the column? The first and the last of some. */
static bool is_wanted(const making *m, size_t column, llmprof_statistic first,
                      llmprof_statistic last) {
  for (size_t i = 0; i < m->count; i++) {
    const llmprof_aggregate *a = &m->aggregates[i];
    if (a->column == column && a->statistic >= first && a->statistic <= last)
      return true;
  }
  return false;
}

/* Is no more wanted of these integers than totals and extremes? */
static bool are_totals(const making *m, size_t column) {
  return type_of(m, &(llmprof_aggregate){.column = column}) != LLMPROF_F64 &&
         !is_wanted(m, column, LLMPROF_MEDIAN, LLMPROF_MEDIAN) &&
         !is_wanted(m, column, LLMPROF_STDDEV, LLMPROF_PERCENTILE);
}

static bool fill_totals(making *m, size_t column, llmprof_error *err) {
  size_t groups = m->groups.count;
  llmprof_summary *summaries = llmprof_alloc(groups, sizeof *summaries);
  bool ok = summaries
                ? llmprof_totals(m->frame, column, &m->groups, summaries, err)
                : llmprof_fail_nomem(err);
  for (size_t g = 0; ok && g < groups; g++)
    summaries[g].mean = (double)summaries[g].total / (double)summaries[g].count;
  if (ok) spread(&(spreading){m, column}, 0, summaries, groups);
  llmprof_free(summaries);
  return ok;
}

static bool fill_statistics(making *m, size_t column, llmprof_error *err) {
  double wanted[LLMPROF_PERCENTILES];
  size_t count = wanted_of(m, column, wanted);
  if (!llmprof_frame_column(m->frame, column, err)) return false;
  if (are_totals(m, column)) return fill_totals(m, column, err);
  return llmprof_summarize(m->frame, column, &m->groups, wanted, count, spread,
                           &(spreading){m, column}, err);
}

/* Was the column's turn with an earlier aggregate? */
static bool is_done(const making *m, size_t i) {
  for (size_t j = 0; j < i; j++) {
    if (!is_count(&m->aggregates[j]) &&
        m->aggregates[j].column == m->aggregates[i].column)
      return true;
  }
  return false;
}

/* Is its count one of the column's statistics, which are wanted, too? */
static bool is_among(const making *m, const llmprof_aggregate *a) {
  return a->statistic == LLMPROF_COUNT && a->column != SIZE_MAX &&
         is_wanted(m, a->column, LLMPROF_SUM, LLMPROF_PERCENTILE);
}

static bool fill(making *m, llmprof_error *err) {
  for (size_t i = 0; i < m->count; i++) {
    const llmprof_aggregate *a = &m->aggregates[i];
    bool ok = true;
    if (is_among(m, a)) continue;
    if (is_count(a))
      ok = fill_count(m, a, m->data[i], err);
    else if (!is_done(m, i))
      ok = fill_statistics(m, a->column, err);
    if (!ok) return false;
  }
  return true;
}

/* So that their types are known. */
static bool load_columns(const making *m, llmprof_error *err) {
  for (size_t i = 0; i < m->count; i++) {
    size_t column = m->aggregates[i].column;
    if (column != SIZE_MAX && !llmprof_frame_column(m->frame, column, err))
      return false;
  }
  return true;
}

/* ---- the result ---- */

/* A key column: the cells of each group's first row. */
static bool add_key(llmprof_frame *result, const making *m,
                    const uint32_t *first_row, size_t key) {
  llmprof_column column = *llmprof_frame_peek(m->frame, key);
  column.values = llmprof_frame_pick(result, first_row, column.values);
  return column.values && llmprof_frame_add(result, &column, NULL, NULL);
}

static bool add_aggregate(llmprof_frame *result, making *m, size_t i,
                          llmprof_error *err) {
  const llmprof_aggregate *a = &m->aggregates[i];
  const char *unit =
      is_count(a) ? NULL : llmprof_frame_peek(m->frame, a->column)->unit;
  void *data = m->data[i];
  m->data[i] = NULL;
  return llmprof_frame_give(result, a->name, unit,
                            m->is_real[i] ? LLMPROF_F64 : LLMPROF_I64, data,
                            err);
}

static llmprof_frame *make_result(making *m, const size_t *keys,
                                  size_t key_count, llmprof_error *err) {
  llmprof_frame *result =
      llmprof_frame_new(m->groups.count, llmprof_frame_strings(m->frame));
  if (!result) return llmprof_fail_nomem(err), NULL;
  uint32_t *first_row = m->groups.first_row;
  m->groups.first_row = NULL;
  bool ok = llmprof_frame_own(result, first_row);
  for (size_t k = 0; ok && k < key_count; k++)
    ok = add_key(result, m, first_row, keys[k]);
  for (size_t i = 0; ok && i < m->count; i++)
    ok = add_aggregate(result, m, i, err);
  if (ok) return result;
  llmprof_frame_free(result);
  return llmprof_fail_nomem(err), NULL;
}

llmprof_frame *llmprof_frame_aggregate(llmprof_frame *frame, const size_t *keys,
                                       size_t key_count,
                                       const llmprof_aggregate *aggregates,
                                       size_t count, llmprof_error *err) {
  making m = {.frame = frame, .aggregates = aggregates, .count = count};
  llmprof_frame *result = NULL;
  if (check_percentiles(&m, err) && load_columns(&m, err) &&
      llmprof_groups_make(&m.groups, frame, keys, key_count, err) &&
      allocate(&m, err) && fill(&m, err))
    result = make_result(&m, keys, key_count, err);
  making_free(&m);
  return result;
}

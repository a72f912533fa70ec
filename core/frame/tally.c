#include "frame/tally.h"

#include "llmprof/alloc.h"
#include "llmprof/interrupt.h"

enum {
  CLOSE = 1 << 14 /* values at most: their groups stay in the second cache */
};

void llmprof_tally_free(llmprof_tally *t) {
  llmprof_free(t->groups);
  t->groups = NULL;
}

/* Small numbers that lie there as they are, or NULL. */
static const uint32_t *bare(const llmprof_column *column) {
  bool ok = !column->index &&
            (column->type == LLMPROF_U32 || column->type == LLMPROF_STRING_ID);
  return ok ? column->data : NULL;
}

/* ---- groups ---- */

/* Of a block of rows: where each one's group is. */
static void find_places(const llmprof_tally *t, size_t row, size_t count,
                        uint32_t *places) {
  const uint32_t *keys = bare(t->key);
  if (keys) {
    uint32_t before = (uint32_t)t->low - 1;
    for (size_t i = 0; i < count; i++)
      places[i] = keys[row + i] == UINT32_MAX ? 0 : keys[row + i] - before;
    return;
  }
  int64_t cells[LLMPROF_BLOCK];
  llmprof_cells(t->key, row, count, cells);
  for (size_t i = 0; i < count; i++)
    places[i] =
        cells[i] == LLMPROF_ABSENT ? 0 : (uint32_t)(cells[i] - t->low) + 1;
}

static void count_block(const llmprof_tally *t, llmprof_groups *groups,
                        const uint32_t *places, size_t count, size_t row) {
  for (size_t i = 0; i < count; i++) {
    uint32_t *group = &t->groups[places[i]];
    if (!*group) {
      groups->first_row[groups->count] = (uint32_t)(row + i);
      *group = (uint32_t)++groups->count;
    }
    groups->rows[*group - 1]++;
  }
}

static bool count_rows(const llmprof_tally *t, llmprof_groups *groups,
                       llmprof_error *err) {
  for (size_t row = 0; row < t->rows; row += LLMPROF_BLOCK) {
    uint32_t places[LLMPROF_BLOCK];
    size_t count = llmprof_block(row, t->rows);
    find_places(t, row, count, places);
    count_block(t, groups, places, count, row);
    if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
  }
  return true;
}

static bool allocate(llmprof_tally *t, llmprof_groups *groups, size_t most,
                     llmprof_error *err) {
  t->groups = llmprof_zalloc(most, sizeof *t->groups);
  groups->first_row = llmprof_alloc(most, sizeof *groups->first_row);
  groups->rows = llmprof_zalloc(most, sizeof *groups->rows);
  return (t->groups && groups->first_row && groups->rows) ||
         llmprof_fail_nomem(err);
}

/* Bounds of the key's values. Ids of strings are those of a pool: no need to
 * look at each. */
static bool find_bounds(const llmprof_tally *t, llmprof_frame *frame,
                        size_t key, llmprof_cell_span *span,
                        llmprof_error *err) {
  if (t->key->type != LLMPROF_STRING_ID)
    return llmprof_frame_bounds(frame, key, span, err);
  size_t ids = llmprof_strings_count(llmprof_column_strings(frame, t->key));
  *span = (llmprof_cell_span){.low = 0, .high = (int64_t)ids - 1};
  return ids < CLOSE || llmprof_frame_bounds(frame, key, span, err);
}

bool llmprof_tally_make(llmprof_tally *t, llmprof_groups *groups,
                        llmprof_frame *frame, size_t key, llmprof_error *err) {
  *t = (llmprof_tally){.key = llmprof_frame_column(frame, key, err),
                       .rows = llmprof_frame_rows(frame)};
  *groups = (llmprof_groups){0};
  llmprof_cell_span span;
  if (!t->key || !find_bounds(t, frame, key, &span, err)) return false;
  uint64_t reach = (uint64_t)span.high - (uint64_t)span.low;
  if (span.low > span.high || reach >= CLOSE) return true;
  t->low = span.low;
  return allocate(t, groups, (size_t)reach + 2, err) &&
         count_rows(t, groups, err);
}

/* ---- totals ---- */

/* Fewer than 2^32 values of less than 2^32 each. */
typedef struct sums {
  uint64_t total;
  uint32_t low, high, count;
} sums;

static void add_block(sums *all, const uint32_t *values, size_t count,
                      const uint32_t *of_row) {
  for (size_t i = 0; i < count; i++) {
    if (values[i] == UINT32_MAX) continue;
    sums *s = &all[of_row[i]];
    s->total += values[i];
    s->low = values[i] < s->low ? values[i] : s->low;
    s->high = values[i] > s->high ? values[i] : s->high;
    s->count++;
  }
}

static bool summarize(const sums *all, size_t groups,
                      llmprof_summary *summaries) {
  bool fits = true;
  for (size_t g = 0; g < groups; g++) {
    const sums *s = &all[g];
    fits = fits && s->total <= INT64_MAX;
    summaries[g] = (llmprof_summary){.count = s->count};
    if (!s->count || !fits) continue;
    summaries[g].total = (int64_t)s->total;
    summaries[g].min = s->low;
    summaries[g].max = s->high;
  }
  return fits;
}

/* The group of each row of a block. */
static void find_groups(const llmprof_tally *t, size_t row, size_t count,
                        uint32_t *of_row) {
  find_places(t, row, count, of_row);
  for (size_t i = 0; i < count; i++) of_row[i] = t->groups[of_row[i]] - 1;
}

static bool add_all(const llmprof_tally *t, const llmprof_column *column,
                    sums *all, llmprof_error *err) {
  const uint32_t *values = bare(column);
  for (size_t row = 0; row < t->rows; row += LLMPROF_BLOCK) {
    uint32_t of_row[LLMPROF_BLOCK], small[LLMPROF_BLOCK];
    int64_t cells[LLMPROF_BLOCK];
    size_t count = llmprof_block(row, t->rows);
    find_groups(t, row, count, of_row);
    if (!values) {
      llmprof_cells(column, row, count, cells);
      for (size_t i = 0; i < count; i++)
        small[i] = cells[i] == LLMPROF_ABSENT ? UINT32_MAX : (uint32_t)cells[i];
    }
    if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
    add_block(all, values ? values + row : small, count, of_row);
  }
  return true;
}

bool llmprof_tally_totals(const llmprof_tally *t, llmprof_frame *frame,
                          size_t number, size_t groups,
                          llmprof_summary *summaries, llmprof_error *err) {
  const llmprof_column *column = llmprof_frame_column(frame, number, err);
  if (!column) return false;
  sums *all = llmprof_zalloc(groups, sizeof *all);
  if (!all) return llmprof_fail_nomem(err);
  for (size_t g = 0; g < groups; g++) all[g].low = UINT32_MAX;
  bool ok = add_all(t, column, all, err);
  if (ok && !summarize(all, groups, summaries))
    ok = llmprof_fail(err, LLMPROF_RANGE, "total of column '%s' is too large",
                      column->name);
  llmprof_free(all);
  return ok;
}

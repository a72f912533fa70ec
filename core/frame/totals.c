#include "frame/totals.h"

#include "frame/cells.h"
#include "frame/exact.h"
#include "llmprof/alloc.h"
#include "llmprof/interrupt.h"

/* Of one group, all exact. */
typedef struct tally {
  llmprof_exact sums;
  uint64_t count;
  uint32_t low, high;
} tally;

bool llmprof_can_total(const llmprof_column *column) {
  return column->type == LLMPROF_U32;
}

static inline void add(tally *t, uint32_t value) {
  if (value == UINT32_MAX) return;
  t->count++;
  t->sums.total += value;
  t->sums.squares += (uint64_t)value * value;
  t->low = value < t->low ? value : t->low;
  t->high = value > t->high ? value : t->high;
}

static void add_block(const llmprof_column *column, const uint32_t *of_row,
                      size_t first, size_t count, tally *tallies) {
  const uint32_t *data = column->data, *index = column->index;
  for (size_t row = first; !index && row < first + count; row++)
    add(&tallies[of_row[row]], data[row]);
  for (size_t row = first; index && row < first + count; row++)
    if (index[row] != UINT32_MAX) add(&tallies[of_row[row]], data[index[row]]);
}

static bool finish(const tally *t, llmprof_summary *summary) {
  *summary = (llmprof_summary){.count = (size_t)t->count};
  if (!t->count) return true;
  if (t->sums.total > INT64_MAX) return false;
  summary->total = (int64_t)t->sums.total;
  summary->min = t->low;
  summary->max = t->high;
  summary->mean = (double)summary->total / (double)t->count;
  summary->stddev = llmprof_exact_stddev(&t->sums, summary->count);
  return true;
}

static bool add_all(const llmprof_column *column, size_t rows,
                    const uint32_t *of_row, tally *tallies,
                    llmprof_error *err) {
  for (size_t row = 0; row < rows; row += LLMPROF_BLOCK) {
    if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
    add_block(column, of_row, row, llmprof_block(row, rows), tallies);
  }
  return true;
}

bool llmprof_total(llmprof_frame *frame, size_t number,
                   const llmprof_groups *groups, llmprof_summary *summaries,
                   llmprof_error *err) {
  const llmprof_column *column = llmprof_frame_column(frame, number, err);
  if (!column) return false;
  tally *tallies = llmprof_zalloc(groups->count, sizeof *tallies);
  if (!tallies) return llmprof_fail_nomem(err);
  for (size_t g = 0; g < groups->count; g++) tallies[g].low = UINT32_MAX;
  bool ok =
      add_all(column, llmprof_frame_rows(frame), groups->of_row, tallies, err);
  for (size_t g = 0; ok && g < groups->count; g++)
    ok = finish(&tallies[g], &summaries[g]) ||
         llmprof_fail(err, LLMPROF_RANGE, "total of column '%s' is too large",
                      column->name);
  llmprof_free(tallies);
  return ok;
}

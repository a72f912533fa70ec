/* Grouping combines the key columns one at a time: the group so far and the
 * next key make the next group, through a table of all pairs where that is
 * small, else by hashing. */
#include "frame/cells.h"
#include "frame/intern.h"
#include "llmprof/alloc.h"
#include "llmprof/interrupt.h"

enum {
  DENSE = 1 << 16 /* slots that are always worth their memory */
};

/* ---- groups ---- */

void llmprof_groups_free(llmprof_groups *groups) {
  llmprof_free(groups->of_row);
  llmprof_free(groups->first_row);
  llmprof_free(groups->rows);
  *groups = (llmprof_groups){0};
}

/* Slots for each pair of a group so far and a key's value or absence, 0 when
 * that is more than pays. */
static size_t dense_slots(size_t groups, llmprof_cell_span s, size_t rows,
                          size_t *width) {
  uint64_t most = DENSE + rows / 4;
  uint64_t values = s.low > s.high ? 0 : (uint64_t)s.high - (uint64_t)s.low + 1;
  *width = (size_t)values + 1;
  if (values >= most || groups > most / *width) return 0;
  return groups * *width;
}

/* The groups of a block of rows, through the table of pairs. */
static uint32_t refine_block(const int64_t *cells, size_t count, int64_t low,
                             size_t width, uint32_t *next, uint32_t *of_row,
                             uint32_t groups) {
  for (size_t i = 0; i < count; i++) {
    size_t place =
        cells[i] == LLMPROF_ABSENT ? 0 : (size_t)(cells[i] - low) + 1;
    uint32_t *slot = &next[of_row[i] * width + place];
    if (!*slot) *slot = ++groups;
    of_row[i] = *slot - 1;
  }
  return groups;
}

/* Few values close together, as ids and names are: a slot for each pair. */
static bool refine_dense(llmprof_groups *groups, const llmprof_column *key,
                         size_t rows, int64_t low, size_t slots, size_t width,
                         llmprof_error *err) {
  uint32_t *next = llmprof_zalloc(slots, sizeof *next); /* group + 1, or 0 */
  if (!next) return llmprof_fail_nomem(err);
  uint32_t made = 0;
  size_t row = 0;
  for (; row < rows && !llmprof_interrupted(); row += LLMPROF_BLOCK) {
    int64_t cells[LLMPROF_BLOCK];
    size_t count = llmprof_block(row, rows);
    llmprof_cells(key, row, count, cells);
    made = refine_block(cells, count, low, width, next, groups->of_row + row,
                        made);
  }
  llmprof_free(next);
  groups->count = made;
  return row >= rows || llmprof_fail_interrupted(err);
}

/* Any values: {group so far, value} -> next group. */
static bool refine_sparse(llmprof_groups *groups, const llmprof_column *key,
                          size_t rows, llmprof_error *err) {
  llmprof_intern pairs;
  llmprof_intern_init(&pairs, 2 * sizeof(int64_t));
  bool ok = true;
  for (size_t row = 0; ok && row < rows; row++) {
    int64_t pair[2] = {groups->of_row[row], llmprof_cell(key, row)};
    if (llmprof_interrupted_at(row))
      ok = llmprof_fail_interrupted(err);
    else
      ok = llmprof_intern_add(&pairs, pair, &groups->of_row[row]) ||
           llmprof_fail_nomem(err);
  }
  groups->count = pairs.count;
  llmprof_intern_free(&pairs);
  return ok;
}

static bool refine(llmprof_groups *groups, llmprof_frame *frame, size_t number,
                   llmprof_error *err) {
  const llmprof_column *key = llmprof_frame_column(frame, number, err);
  size_t rows = llmprof_frame_rows(frame);
  llmprof_cell_span s;
  if (!key || !llmprof_frame_span(frame, number, &s, err)) return false;
  bool constant = s.absent ? s.absent == rows : s.low == s.high;
  if (constant || !rows) return true;
  size_t width, slots = dense_slots(groups->count, s, rows, &width);
  return slots ? refine_dense(groups, key, rows, s.low, slots, width, err)
               : refine_sparse(groups, key, rows, err);
}

static bool count_groups(llmprof_groups *groups, size_t rows) {
  groups->first_row = llmprof_alloc(groups->count, sizeof *groups->first_row);
  groups->rows = llmprof_zalloc(groups->count, sizeof *groups->rows);
  if (!groups->first_row || !groups->rows) return false;
  for (size_t row = 0; row < rows; row++) {
    uint32_t group = groups->of_row[row];
    if (!groups->rows[group]++) groups->first_row[group] = (uint32_t)row;
  }
  return true;
}

bool llmprof_groups_make(llmprof_groups *groups, llmprof_frame *frame,
                         const size_t *keys, size_t key_count,
                         llmprof_error *err) {
  size_t rows = llmprof_frame_rows(frame);
  *groups = (llmprof_groups){.count = rows > 0};
  groups->of_row = llmprof_zalloc(rows, sizeof *groups->of_row);
  bool ok = groups->of_row || llmprof_fail_nomem(err);
  for (size_t k = 0; ok && k < key_count; k++)
    ok = refine(groups, frame, keys[k], err);
  ok = ok && (count_groups(groups, rows) || llmprof_fail_nomem(err));
  if (!ok) llmprof_groups_free(groups);
  return ok;
}

/* Grouping combines the key columns one at a time: the group so far and the
 * next key make the next group. An ascending first key needs a look at the row
 * before; else there is a table of all pairs where that is small, or hashing.
 * Once each row is a group of its own, no further key matters. */
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

/* The same of the first key, whose cells lie there as they are. */
static uint32_t part_block(const uint32_t *cells, size_t count, uint32_t low,
                           uint32_t *next, uint32_t *of_row, uint32_t groups) {
  for (size_t i = 0; i < count; i++) {
    size_t place = cells[i] == UINT32_MAX ? 0 : (size_t)(cells[i] - low) + 1;
    if (!next[place]) next[place] = ++groups;
    of_row[i] = next[place] - 1;
  }
  return groups;
}

static bool lies_bare(const llmprof_column *key) {
  return !key->index &&
         (key->type == LLMPROF_U32 || key->type == LLMPROF_STRING_ID);
}

/* Few values close together, as ids and names are: a slot for each pair. */
static bool refine_dense(llmprof_groups *groups, const llmprof_column *key,
                         size_t rows, int64_t low, size_t slots, size_t width,
                         llmprof_error *err) {
  uint32_t *next = llmprof_zalloc(slots, sizeof *next); /* group + 1, or 0 */
  if (!next) return llmprof_fail_nomem(err);
  uint32_t made = 0;
  size_t row = 0;
  const uint32_t *bare =
      groups->count == 1 && lies_bare(key) ? key->data : NULL;
  for (; row < rows && !llmprof_interrupted(); row += LLMPROF_BLOCK) {
    int64_t cells[LLMPROF_BLOCK];
    size_t count = llmprof_block(row, rows);
    if (bare) {
      made = part_block(bare + row, count, (uint32_t)low, next,
                        groups->of_row + row, made);
      continue;
    }
    llmprof_cells(key, row, count, cells);
    made = refine_block(cells, count, low, width, next, groups->of_row + row,
                        made);
  }
  llmprof_free(next);
  groups->count = made;
  return row >= rows || llmprof_fail_interrupted(err);
}

/* ---- any values ---- */

/* A pair of a group so far and a value, and the group that it makes. */
typedef struct pair {
  int64_t value;
  uint32_t before, next; /* next: group + 1, or 0 */
} pair;

typedef struct pairs {
  pair *slots;
  size_t slot_count, count; /* slot_count: a power of two */
} pairs;

static pair *find_pair(const pairs *p, uint32_t before, int64_t value) {
  size_t mask = p->slot_count - 1;
  size_t at = (size_t)llmprof_hash_pair(before, (uint64_t)value) & mask;
  pair *slot = &p->slots[at];
  while (slot->next && (slot->value != value || slot->before != before)) {
    at = (at + 1) & mask;
    slot = &p->slots[at];
  }
  return slot;
}

/* Room for one pair more. */
static bool grow_pairs(pairs *p) {
  if (p->count < p->slot_count / 2) return true;
  pairs grown = {.slot_count = p->slot_count ? p->slot_count * 2 : 64,
                 .count = p->count};
  grown.slots = llmprof_zalloc(grown.slot_count, sizeof *grown.slots);
  if (!grown.slots) return false;
  for (size_t i = 0; i < p->slot_count; i++) {
    const pair *old = &p->slots[i];
    if (old->next) *find_pair(&grown, old->before, old->value) = *old;
  }
  llmprof_free(p->slots);
  *p = grown;
  return true;
}

static bool add_pair(pairs *p, uint32_t *group, int64_t value) {
  pair *slot = p->count ? find_pair(p, *group, value) : NULL;
  if (!slot || !slot->next) {
    if (!grow_pairs(p)) return false;
    slot = find_pair(p, *group, value);
    *slot = (pair){value, *group, (uint32_t)++p->count};
  }
  *group = slot->next - 1;
  return true;
}

static bool refine_sparse(llmprof_groups *groups, const llmprof_column *key,
                          size_t rows, llmprof_error *err) {
  pairs p = {0};
  bool ok = true;
  for (size_t row = 0; ok && row < rows; row += LLMPROF_BLOCK) {
    int64_t cells[LLMPROF_BLOCK];
    size_t count = llmprof_block(row, rows);
    llmprof_cells(key, row, count, cells);
    for (size_t i = 0; ok && i < count; i++)
      ok = add_pair(&p, &groups->of_row[row + i], cells[i]) ||
           llmprof_fail_nomem(err);
    if (ok && llmprof_interrupted()) ok = llmprof_fail_interrupted(err);
  }
  groups->count = p.count;
  llmprof_free(p.slots);
  return ok;
}

/* ---- ascending values ---- */

/* Of one group so far: a new one wherever the value changes. */
static bool part_ascending(llmprof_groups *groups, const llmprof_column *key,
                           size_t rows, llmprof_error *err) {
  uint32_t made = 0;
  int64_t before = LLMPROF_ABSENT;
  for (size_t row = 0; row < rows; row += LLMPROF_BLOCK) {
    int64_t cells[LLMPROF_BLOCK];
    size_t count = llmprof_block(row, rows);
    llmprof_cells(key, row, count, cells);
    for (size_t i = 0; i < count; i++) {
      made += cells[i] != before;
      before = cells[i];
      groups->of_row[row + i] = made - 1;
    }
    if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
  }
  groups->count = made;
  return true;
}

/* By row in order of the key: the first row with its cell. */
static bool find_first_rows(const llmprof_column *key, size_t rows,
                            const uint32_t *order, uint32_t *first_rows,
                            llmprof_error *err) {
  uint32_t first = order[0];
  int64_t before = llmprof_cell(key, first);
  for (size_t i = 0; i < rows; i++) {
    if (llmprof_interrupted_at(i)) return llmprof_fail_interrupted(err);
    int64_t cell = llmprof_cell(key, order[i]);
    if (cell != before) first = order[i];
    before = cell;
    first_rows[order[i]] = first;
  }
  return true;
}

/* The same of a few ascending stretches, which are merged. */
static bool part_in_order(llmprof_groups *groups, llmprof_frame *frame,
                          size_t number, const llmprof_column *key,
                          llmprof_error *err) {
  size_t rows = llmprof_frame_rows(frame);
  const uint32_t *order;
  if (!llmprof_frame_order(frame, number, &order, err)) return false;
  uint32_t *of_row = groups->of_row, made = 0;
  if (!find_first_rows(key, rows, order, of_row, err)) return false;
  for (size_t row = 0; row < rows;
       row++) /* a first row comes before the rest */
    of_row[row] = of_row[row] == row ? made++ : of_row[of_row[row]];
  groups->count = made;
  return true;
}

/* ---- keys ---- */

static bool refine(llmprof_groups *groups, llmprof_frame *frame, size_t number,
                   llmprof_error *err) {
  const llmprof_column *key = llmprof_frame_column(frame, number, err);
  size_t rows = llmprof_frame_rows(frame);
  llmprof_cell_span s;
  if (groups->count == rows) return true;
  if (!key || !llmprof_frame_bounds(frame, number, &s, err)) return false;
  if (s.low > s.high || (!s.absent && s.low == s.high)) return true;
  size_t width, slots = dense_slots(groups->count, s, rows, &width);
  if (slots) return refine_dense(groups, key, rows, s.low, slots, width, err);
  if (groups->count == 1 && llmprof_frame_ascends(frame, number))
    return part_ascending(groups, key, rows, err);
  const uint32_t *runs;
  if (groups->count == 1 && llmprof_frame_runs(frame, number, &runs))
    return part_in_order(groups, frame, number, key, err);
  return refine_sparse(groups, key, rows, err);
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

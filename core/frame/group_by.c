/* Group-by, with two operators. Key columns are combined one at a time: the
 * group so far and the next key's cell make the next group. Where there can be
 * only few such pairs, each has a slot (perfect hash), else they are hashed; an
 * ascending first key of many values needs neither. Groups are numbered by
 * first appearance. Once each row is a group of its own, no further key
 * matters. */
#include "frame/group_by.h"
#include "base/interrupt.h"
#include "frame/cells.h"
#include "frame/intern.h"
#include "llmprof/alloc.h"

enum {
  FEW = 1 << 16 /* slots that are always worth their memory */
};

void llmprof_groups_free(llmprof_groups *groups) {
  llmprof_free(groups->of_row);
  llmprof_free(groups->first_row);
  llmprof_free(groups->rows);
  *groups = (llmprof_groups){0};
}

/* ---- perfect hash ---- */

/* How many slots that takes, 0 when they are not few. */
static size_t count_slots(size_t groups, llmprof_cell_span s, size_t rows,
                          size_t *width) {
  uint64_t most = rows > FEW / 2 ? 2 * (uint64_t)rows : FEW;
  uint64_t values = s.low > s.high ? 0 : (uint64_t)s.high - (uint64_t)s.low + 1;
  *width = (size_t)values + 1;
  if (values >= most || groups > most / *width) return 0;
  return groups * *width;
}

/* A slot for each pair of a group so far and a value of the key, or none: the
 * group + 1, or 0. */
static bool group_by_perfect_hash(llmprof_groups *groups,
                                  const llmprof_column *key, size_t rows,
                                  int64_t low, size_t slots, size_t width,
                                  llmprof_error *err) {
  uint32_t *next = llmprof_zalloc(slots, sizeof *next), made = 0;
  if (!next) return llmprof_fail_nomem(err);
  for (size_t row = 0; row < rows; row += LLMPROF_BLOCK) {
    int64_t cells[LLMPROF_BLOCK];
    size_t count = llmprof_block(row, rows);
    uint32_t *of_row = groups->of_row + row;
    if (llmprof_interrupted()) break;
    llmprof_cells(key, row, count, cells);
    for (size_t i = 0; i < count; i++) {
      bool absent = cells[i] == LLMPROF_ABSENT;
      size_t value = absent ? 0 : (size_t)(cells[i] - low) + 1;
      uint32_t *slot = &next[of_row[i] * width + value];
      if (!*slot) *slot = ++made;
      of_row[i] = *slot - 1;
    }
  }
  groups->count = made;
  llmprof_free(next);
  return !llmprof_interrupted() || llmprof_fail_interrupted(err);
}

/* ---- hash ---- */

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

static bool group_by_hash(llmprof_groups *groups, const llmprof_column *key,
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

/* Of one group so far: a new one wherever the value changes, with no table. */
static bool group_by_changes(llmprof_groups *groups, const llmprof_column *key,
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

/* ---- keys ---- */

static bool add_key(llmprof_groups *groups, llmprof_frame *frame, size_t number,
                    llmprof_error *err) {
  const llmprof_column *key = llmprof_frame_column(frame, number, err);
  size_t width, rows = llmprof_frame_rows(frame);
  llmprof_cell_span s;
  if (!key) return false;
  if (groups->count == rows) return true; /* nothing to tell apart */
  if (!llmprof_frame_bounds(frame, number, &s, err)) return false;
  if (s.low > s.high || (!s.absent && s.low == s.high)) return true;
  size_t slots = count_slots(groups->count, s, rows, &width);
  if (slots)
    return group_by_perfect_hash(groups, key, rows, s.low, slots, width, err);
  return groups->count == 1 && llmprof_frame_ascends(frame, number)
             ? group_by_changes(groups, key, rows, err)
             : group_by_hash(groups, key, rows, err);
}

static bool count_rows(llmprof_groups *groups, size_t rows,
                       llmprof_error *err) {
  groups->first_row = llmprof_alloc(groups->count, sizeof *groups->first_row);
  groups->rows = llmprof_zalloc(groups->count, sizeof *groups->rows);
  if (!groups->first_row || !groups->rows) return llmprof_fail_nomem(err);
  if (groups->count == 1) {
    groups->first_row[0] = 0;
    groups->rows[0] = (uint32_t)rows;
    return true;
  }
  for (size_t row = 0; row < rows; row++) {
    uint32_t group = groups->of_row[row];
    if (!groups->rows[group]++) groups->first_row[group] = (uint32_t)row;
  }
  return true;
}

static bool number_rows(llmprof_groups *groups, llmprof_frame *frame,
                        const size_t *keys, size_t key_count,
                        llmprof_error *err) {
  size_t rows = llmprof_frame_rows(frame);
  *groups = (llmprof_groups){.count = rows > 0};
  groups->of_row = llmprof_zalloc(rows, sizeof *groups->of_row);
  bool ok = groups->of_row || llmprof_fail_nomem(err);
  for (size_t k = 0; ok && k < key_count; k++)
    ok = add_key(groups, frame, keys[k], err);
  return ok;
}

bool llmprof_groups_make(llmprof_groups *groups, llmprof_frame *frame,
                         const size_t *keys, size_t key_count,
                         llmprof_error *err) {
  bool ok = number_rows(groups, frame, keys, key_count, err) &&
            count_rows(groups, llmprof_frame_rows(frame), err);
  if (!ok) llmprof_groups_free(groups);
  return ok;
}

bool llmprof_groups_count(llmprof_frame *frame, const size_t *keys,
                          size_t key_count, size_t *count, llmprof_error *err) {
  llmprof_groups groups;
  bool ok = number_rows(&groups, frame, keys, key_count, err);
  *count = groups.count;
  llmprof_groups_free(&groups);
  return ok;
}

/* ---- columns about groups ---- */

/* Rows reach them through the numbers of their groups. */
static bool add_columns(llmprof_frame *frame, llmprof_groups *groups,
                        const llmprof_column *columns, size_t count,
                        llmprof_error *err) {
  uint32_t *of_row = groups->of_row;
  bool ok = llmprof_frame_own(frame, of_row);
  groups->of_row = NULL;
  for (size_t c = 0; ok && c < count; c++) {
    llmprof_column column = columns[c];
    column.values = llmprof_frame_pick(frame, of_row, column.values);
    ok = column.values && llmprof_frame_add(frame, &column, NULL, NULL);
  }
  return ok || llmprof_fail_nomem(err);
}

bool llmprof_frame_extend(llmprof_frame *frame, const size_t *keys,
                          size_t key_count, size_t groups,
                          const llmprof_column *columns, size_t count,
                          llmprof_error *err) {
  llmprof_groups made;
  if (!llmprof_groups_make(&made, frame, keys, key_count, err)) return false;
  bool ok = made.count == groups
                ? add_columns(frame, &made, columns, count, err)
                : llmprof_fail(err, LLMPROF_RANGE, "%zu groups, not %zu",
                               made.count, groups);
  llmprof_groups_free(&made);
  return ok;
}

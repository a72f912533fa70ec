/* Grouping combines the key columns one at a time: the group so far and the
 * next key make the next group. An ascending first key needs a look at the row
 * before; else there is a table of all pairs where that is small, or hashing.
 * Once each row is a group of its own, no further key matters.
 *
 * Of many rows parts are numbered on several threads, each by first appearance
 * within it; the numbers of the parts, taken in order, make those of all. */
#include "base/crew.h"
#include "frame/cells.h"
#include "frame/intern.h"
#include "frame/joint.h"
#include "llmprof/alloc.h"
#include "llmprof/interrupt.h"

enum {
  DENSE = 1 << 16, /* slots that are always worth their memory */
  PART = 1 << 18   /* rows that are worth a thread; whole blocks */
};

/* Parts of so many rows, each with a table of so many slots. */
static size_t parts_of(size_t rows, size_t slots) {
  return slots <= DENSE ? llmprof_crew_size(rows / PART) : 1;
}

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
  uint64_t most = DENSE + 2 * rows;
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

/* The same of the first key. */
static uint32_t first_block(const int64_t *cells, size_t count, int64_t low,
                            uint32_t *next, uint32_t *of_row, uint32_t groups) {
  for (size_t i = 0; i < count; i++) {
    size_t place =
        cells[i] == LLMPROF_ABSENT ? 0 : (size_t)(cells[i] - low) + 1;
    if (!next[place]) next[place] = ++groups;
    of_row[i] = next[place] - 1;
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

typedef struct dense {
  const llmprof_column *key;
  int64_t low;
  size_t rows, slots, width, parts;
  bool first;       /* rows have no group so far */
  uint32_t *of_row; /* by row, its group: so far, within its part, of all */
  uint32_t *next;   /* by part and slot, the group + 1, or 0 */
  uint32_t *made;   /* by part, groups in it */
  uint32_t *of_all; /* by part and group in it, that of all */
} dense;

static bool number_part(void *user, size_t worker, size_t part,
                        llmprof_error *err) {
  (void)worker;
  const dense *d = user;
  size_t end = llmprof_part_begin(d->rows, d->parts, part + 1);
  uint32_t made = 0, *next = d->next + part * d->slots;
  const uint32_t *bare = d->first && lies_bare(d->key) ? d->key->data : NULL;
  for (size_t row = llmprof_part_begin(d->rows, d->parts, part); row < end;
       row += LLMPROF_BLOCK) {
    int64_t cells[LLMPROF_BLOCK];
    size_t count = llmprof_block(row, end);
    uint32_t *of_row = d->of_row + row;
    if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
    if (bare) {
      made =
          part_block(bare + row, count, (uint32_t)d->low, next, of_row, made);
      continue;
    }
    llmprof_cells(d->key, row, count, cells);
    made = d->first ? first_block(cells, count, d->low, next, of_row, made)
                    : refine_block(cells, count, d->low, d->width, next, of_row,
                                   made);
  }
  d->made[part] = made;
  return true;
}

/* What the groups of a part are among all, of which there were `made`; returns
 * how many there are now. Those of the first are the first of all. */
static uint32_t join_part(const dense *d, size_t part, uint32_t made) {
  uint32_t *all = d->next, *own = d->next + part * d->slots;
  uint32_t *of_all = d->of_all + part * d->slots;
  for (size_t slot = 0; slot < d->slots; slot++)
    if (own[slot]) of_all[own[slot] - 1] = (uint32_t)slot;
  for (uint32_t group = 0; group < d->made[part]; group++) {
    uint32_t *slot = &all[of_all[group]];
    if (!*slot) *slot = ++made;
    of_all[group] = *slot - 1;
  }
  return made;
}

/* Of the parts behind the first. */
static bool renumber_part(void *user, size_t worker, size_t part,
                          llmprof_error *err) {
  (void)worker;
  (void)err;
  const dense *d = user;
  const uint32_t *of_all = d->of_all + (part + 1) * d->slots;
  size_t end = llmprof_part_begin(d->rows, d->parts, part + 2);
  for (size_t row = llmprof_part_begin(d->rows, d->parts, part + 1); row < end;
       row++)
    d->of_row[row] = of_all[d->of_row[row]];
  return true;
}

static bool number_parts(dense *d, size_t *groups, llmprof_error *err) {
  llmprof_crew number = {.parts = d->parts, .work = number_part, .user = d};
  llmprof_crew renumber = {
      .parts = d->parts - 1, .work = renumber_part, .user = d};
  if (!llmprof_crew_run(&number, d->parts, err)) return false;
  uint32_t made = d->made[0];
  for (size_t part = 1; part < d->parts; part++)
    made = join_part(d, part, made);
  *groups = made;
  return llmprof_crew_run(&renumber, d->parts - 1, err);
}

/* Few values close together, as ids and names are: a slot for each pair. */
static bool refine_dense(llmprof_groups *groups, const llmprof_column *key,
                         size_t rows, bool first, int64_t low, size_t slots,
                         size_t width, llmprof_error *err) {
  size_t parts = parts_of(rows, slots);
  dense d = {.key = key,
             .low = low,
             .rows = rows,
             .slots = slots,
             .width = width,
             .parts = parts,
             .first = first,
             .of_row = groups->of_row};
  d.next = llmprof_zalloc(parts * slots, sizeof *d.next);
  d.made = llmprof_zalloc(parts, sizeof *d.made);
  if (parts > 1) d.of_all = llmprof_alloc(parts * slots, sizeof *d.of_all);
  bool there = d.next && d.made && (d.of_all || parts == 1);
  bool ok =
      there ? number_parts(&d, &groups->count, err) : llmprof_fail_nomem(err);
  llmprof_free(d.next);
  llmprof_free(d.made);
  llmprof_free(d.of_all);
  return ok;
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

/* All rows are one group so far, and nothing says so yet. */
static void number_none(llmprof_groups *groups, size_t rows, bool *first) {
  for (size_t row = 0; *first && row < rows; row++) groups->of_row[row] = 0;
  *first = false;
}

/* *first: rows have no group so far, which are then not written. */
static bool refine(llmprof_groups *groups, llmprof_frame *frame, size_t number,
                   bool *first, llmprof_error *err) {
  const llmprof_column *key = llmprof_frame_column(frame, number, err);
  size_t rows = llmprof_frame_rows(frame);
  llmprof_cell_span s;
  if (!key || !llmprof_frame_bounds(frame, number, &s, err)) return false;
  if (s.low > s.high || (!s.absent && s.low == s.high)) return true;
  size_t width, slots = dense_slots(groups->count, s, rows, &width);
  bool is_first = *first;
  const uint32_t *runs;
  if (slots) {
    *first = false;
    return refine_dense(groups, key, rows, is_first, s.low, slots, width, err);
  }
  number_none(groups, rows, first);
  if (groups->count == 1 && llmprof_frame_ascends(frame, number))
    return part_ascending(groups, key, rows, err);
  if (groups->count == 1 && llmprof_frame_runs(frame, number, &runs))
    return part_in_order(groups, frame, number, key, err);
  return refine_sparse(groups, key, rows, err);
}

/* Several keys at once, where they share an index and its items are few: these
 * keys are marked as done. */
static bool refine_together(llmprof_groups *groups, llmprof_frame *frame,
                            const size_t *keys, size_t key_count, bool *done,
                            bool *first, llmprof_error *err) {
  size_t width, rows = llmprof_frame_rows(frame);
  llmprof_joint joint;
  if (!llmprof_joint_make(&joint, frame, keys, key_count, done, err))
    return false;
  const llmprof_cell_span s = {0, (int64_t)joint.count - 1, 0};
  size_t slots = joint.count ? dense_slots(groups->count, s, rows, &width) : 0;
  bool ok = true, is_first = *first;
  for (size_t k = 0; !slots && k < key_count; k++) done[k] = false;
  if (slots) {
    *first = false;
    ok = refine_dense(groups, &joint.column, rows, is_first, 0, slots, width,
                      err);
  }
  llmprof_joint_free(&joint);
  return ok;
}

/* ---- how many rows each has ---- */

typedef struct counting {
  const uint32_t *of_row;
  size_t rows, groups, parts;
  uint32_t *first_row, *counts; /* by part and group */
} counting;

static bool count_part(void *user, size_t worker, size_t part,
                       llmprof_error *err) {
  (void)worker;
  (void)err;
  const counting *c = user;
  uint32_t *first_row = c->first_row + part * c->groups;
  uint32_t *counts = c->counts + part * c->groups;
  size_t end = llmprof_part_begin(c->rows, c->parts, part + 1);
  for (size_t row = llmprof_part_begin(c->rows, c->parts, part); row < end;
       row++) {
    uint32_t group = c->of_row[row];
    if (!counts[group]++) first_row[group] = (uint32_t)row;
  }
  return true;
}

static void add_part(const counting *c, size_t part) {
  const uint32_t *counts = c->counts + part * c->groups;
  for (size_t group = 0; group < c->groups; group++) {
    if (counts[group] && !c->counts[group])
      c->first_row[group] = c->first_row[part * c->groups + group];
    c->counts[group] += counts[group];
  }
}

/* The first part's become those of all. */
static bool count_groups(llmprof_groups *groups, size_t rows,
                         llmprof_error *err) {
  counting c = {.of_row = groups->of_row,
                .rows = rows,
                .groups = groups->count,
                .parts = parts_of(rows, groups->count)};
  size_t cells = c.parts * groups->count;
  groups->first_row = c.first_row = llmprof_alloc(cells, sizeof *c.first_row);
  groups->rows = c.counts = llmprof_zalloc(cells, sizeof *c.counts);
  if (!c.first_row || !c.counts) return llmprof_fail_nomem(err);
  llmprof_crew crew = {.parts = c.parts, .work = count_part, .user = &c};
  if (!llmprof_crew_run(&crew, c.parts, err)) return false;
  for (size_t part = 1; part < c.parts; part++) add_part(&c, part);
  return true;
}

/* Numbered by row, and how many there are; not which rows they have. */
static bool number_rows(llmprof_groups *groups, llmprof_frame *frame,
                        const size_t *keys, size_t key_count, bool *first,
                        llmprof_error *err) {
  size_t rows = llmprof_frame_rows(frame);
  *groups = (llmprof_groups){.count = rows > 0};
  groups->of_row = llmprof_alloc(rows, sizeof *groups->of_row);
  bool *done = llmprof_zalloc(key_count, 2 * sizeof *done);
  bool *now = done + key_count, ok = groups->of_row && done;
  if (!ok) llmprof_fail_nomem(err);
  for (size_t k = 0; ok && k < key_count; k++) {
    if (done[k]) continue;
    if (groups->count == rows) {
      /* nothing to tell apart, but their cells are asked for */
      ok = llmprof_frame_column(frame, keys[k], err) != NULL;
      continue;
    }
    size_t left = key_count - k;
    ok = refine_together(groups, frame, keys + k, left, now, first, err) &&
         (now[0] || refine(groups, frame, keys[k], first, err));
    for (size_t i = 0; i < left; i++) done[k + i] |= now[i];
  }
  llmprof_free(done);
  return ok;
}

bool llmprof_groups_make(llmprof_groups *groups, llmprof_frame *frame,
                         const size_t *keys, size_t key_count,
                         llmprof_error *err) {
  size_t rows = llmprof_frame_rows(frame);
  bool first = true;
  bool ok = number_rows(groups, frame, keys, key_count, &first, err);
  if (ok) number_none(groups, rows, &first);
  ok = ok && count_groups(groups, rows, err);
  if (!ok) llmprof_groups_free(groups);
  return ok;
}

bool llmprof_groups_count(llmprof_frame *frame, const size_t *keys,
                          size_t key_count, size_t *count, llmprof_error *err) {
  llmprof_groups groups;
  bool first = true;
  bool ok = number_rows(&groups, frame, keys, key_count, &first, err);
  *count = groups.count;
  llmprof_groups_free(&groups);
  return ok;
}

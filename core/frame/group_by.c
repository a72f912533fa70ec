/* Group-by, with two operators. Key columns are combined one at a time: the
 * group so far and the next key's cell make the next group. Where there can be
 * only few such pairs, each has a slot (perfect hash), else they are hashed; an
 * ascending first key of many values needs neither. Groups are numbered by
 * first appearance. Once each row is a group of its own, no further key
 * matters.
 *
 * Slots are given in parts of the rows, each on a thread. A row keeps its slot
 * until the next key, or until all keys are there: what group a slot is comes
 * out when all parts are done. */
#include "frame/group_by.h"

#include <string.h>

#include "base/interrupt.h"
#include "base/thread_pool.h"
#include "frame/cells.h"
#include "frame/intern.h"
#include "llmprof/alloc.h"

enum {
  FEW = 1 << 16, /* slots that are always worth their memory; slots and groups
                    that each part may have of its own */
  PART = 1 << 18 /* rows that are worth a thread */
};

void llmprof_groups_free(llmprof_groups *groups) {
  llmprof_free(groups->of_row);
  llmprof_free(groups->first_row);
  llmprof_free(groups->rows);
  llmprof_free(groups->part_rows);
  *groups = (llmprof_groups){0};
}

/* Groups so far. */
typedef struct numbering {
  uint32_t *codes; /* by row: its group, or its slot; unset while there is one
                      group */
  uint32_t *group_of; /* by slot: its group + 1; NULL: codes are groups */
  size_t rows, count;
} numbering;

static inline uint32_t group_at(const numbering *n, size_t row) {
  if (n->count == 1) return 0;
  uint32_t code = n->codes[row];
  return n->group_of ? n->group_of[code] - 1 : code;
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

/* A slot for each pair of a group so far and a value of the key, or none. */
typedef struct slotting {
  const numbering *before;
  const llmprof_column *key;
  int64_t low;
  size_t width, slots, parts;
  uint32_t *place; /* by part and slot: its turn, from 1 on; 0: did not come */
  uint32_t *came;  /* by part but the first: slots in that order */
  size_t *count;   /* by part: how many came */
} slotting;

static bool slot_part(void *user, size_t worker, size_t part,
                      llmprof_error *err) {
  (void)worker;
  const slotting *s = user;
  const numbering n = *s->before;
  uint32_t *place = s->place + part * s->slots, made = 0;
  uint32_t *came = part ? s->came + (part - 1) * s->slots : NULL;
  int64_t cells[LLMPROF_BLOCK];
  size_t end = llmprof_part_begin(n.rows, s->parts, part + 1);
  for (size_t row = llmprof_part_begin(n.rows, s->parts, part); row < end;
       row += LLMPROF_BLOCK) {
    size_t count = llmprof_block(row, end);
    if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
    llmprof_cells(s->key, row, count, cells);
    for (size_t i = 0; i < count; i++) {
      bool absent = cells[i] == LLMPROF_ABSENT;
      size_t value = absent ? 0 : (size_t)(cells[i] - s->low) + 1;
      size_t slot = group_at(&n, row + i) * s->width + value;
      n.codes[row + i] = (uint32_t)slot;
      if (place[slot]) continue;
      if (came) came[made] = (uint32_t)slot;
      place[slot] = ++made;
    }
  }
  s->count[part] = made;
  return true;
}

/* The first part's places are groups; those of later parts follow. */
static void join_parts(const slotting *s, numbering *n) {
  uint32_t made = (uint32_t)s->count[0];
  for (size_t part = 1; part < s->parts; part++) {
    const uint32_t *came = s->came + (part - 1) * s->slots;
    for (size_t i = 0; i < s->count[part]; i++)
      if (!s->place[came[i]]) s->place[came[i]] = ++made;
  }
  llmprof_free(n->group_of);
  n->group_of = s->place;
  n->count = made;
}

static bool group_by_perfect_hash(numbering *n, const llmprof_column *key,
                                  int64_t low, size_t slots, size_t width,
                                  llmprof_error *err) {
  slotting s = {n, key, low, width, slots, .parts = 1};
  if (slots <= FEW) s.parts = llmprof_thread_pool_size(n->rows / PART);
  s.place = llmprof_zalloc(s.parts * slots, sizeof *s.place);
  s.came = llmprof_alloc((s.parts - 1) * slots, sizeof *s.came);
  s.count = llmprof_alloc(s.parts, sizeof *s.count);
  llmprof_parallel_loop loop = {
      .parts = s.parts, .work = slot_part, .user = &s};
  bool ok = (s.place && s.came && s.count) || llmprof_fail_nomem(err);
  ok = ok && llmprof_parallel_for(&loop, s.parts, err);
  if (ok)
    join_parts(&s, n);
  else
    llmprof_free(s.place);
  llmprof_free(s.came);
  llmprof_free(s.count);
  return ok;
}

/* ---- hash ---- */

/* Codes are groups from now on. */
static void be_groups(numbering *n, size_t count) {
  llmprof_free(n->group_of);
  n->group_of = NULL;
  n->count = count;
}

/* Pairs of a group so far and a value are interned, which numbers them. */
static bool group_by_hash(numbering *n, const llmprof_column *key,
                          llmprof_error *err) {
  llmprof_intern pairs;
  llmprof_intern_init(&pairs, 2 * sizeof(int64_t));
  bool ok = true;
  for (size_t row = 0; ok && row < n->rows; row += LLMPROF_BLOCK) {
    int64_t cells[LLMPROF_BLOCK];
    size_t count = llmprof_block(row, n->rows);
    llmprof_cells(key, row, count, cells);
    for (size_t i = 0; ok && i < count; i++) {
      const int64_t pair[] = {cells[i], group_at(n, row + i)};
      ok = llmprof_intern_add(&pairs, pair, &n->codes[row + i]) ||
           llmprof_fail_nomem(err);
    }
    if (ok && llmprof_interrupted()) ok = llmprof_fail_interrupted(err);
  }
  be_groups(n, pairs.count);
  llmprof_intern_free(&pairs);
  return ok;
}

/* ---- ascending values ---- */

/* Of one group so far: a new one wherever the value changes, with no table. */
static bool group_by_changes(numbering *n, const llmprof_column *key,
                             llmprof_error *err) {
  uint32_t made = 0;
  int64_t before = LLMPROF_ABSENT;
  for (size_t row = 0; row < n->rows; row += LLMPROF_BLOCK) {
    int64_t cells[LLMPROF_BLOCK];
    size_t count = llmprof_block(row, n->rows);
    llmprof_cells(key, row, count, cells);
    for (size_t i = 0; i < count; i++) {
      made += cells[i] != before;
      before = cells[i];
      n->codes[row + i] = made - 1;
    }
    if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
  }
  be_groups(n, made);
  return true;
}

/* ---- keys ---- */

static bool add_key(numbering *n, llmprof_frame *frame, size_t number,
                    llmprof_error *err) {
  const llmprof_column *key = llmprof_frame_column(frame, number, err);
  size_t width;
  llmprof_cell_span s;
  if (!key) return false;
  if (n->count == n->rows) return true; /* nothing to tell apart */
  if (!llmprof_frame_bounds(frame, number, &s, err)) return false;
  if (s.low > s.high || (!s.absent && s.low == s.high)) return true;
  size_t slots = count_slots(n->count, s, n->rows, &width);
  if (slots) return group_by_perfect_hash(n, key, s.low, slots, width, err);
  return n->count == 1 && llmprof_frame_ascends(frame, number)
             ? group_by_changes(n, key, err)
             : group_by_hash(n, key, err);
}

static void numbering_free(numbering *n) {
  llmprof_free(n->codes);
  llmprof_free(n->group_of);
}

static bool number_rows(numbering *n, llmprof_frame *frame, const size_t *keys,
                        size_t key_count, llmprof_error *err) {
  size_t rows = llmprof_frame_rows(frame);
  *n = (numbering){.rows = rows, .count = rows > 0};
  n->codes = llmprof_alloc(rows, sizeof *n->codes);
  bool ok = n->codes || llmprof_fail_nomem(err);
  for (size_t k = 0; ok && k < key_count; k++)
    ok = add_key(n, frame, keys[k], err);
  if (!ok) numbering_free(n);
  return ok;
}

/* ---- groups ---- */

/* Rows by group, counted in parts. */
typedef struct counting {
  const numbering *n;
  llmprof_groups *groups;
  uint32_t *first; /* by part and group: its first row there */
} counting;

static bool count_part(void *user, size_t worker, size_t part,
                       llmprof_error *err) {
  (void)worker;
  const counting *c = user;
  const numbering n = *c->n;
  uint32_t *rows = c->groups->part_rows + part * n.count;
  uint32_t *first = c->first + part * n.count;
  size_t begin = llmprof_part_begin(n.rows, c->groups->parts, part);
  size_t end = llmprof_part_begin(n.rows, c->groups->parts, part + 1);
  if (n.count == 1) {
    memset(n.codes + begin, 0, (end - begin) * sizeof *n.codes);
    first[0] = (uint32_t)begin;
    rows[0] = (uint32_t)(end - begin);
    return true;
  }
  for (size_t row = begin; row < end; row++) {
    if (llmprof_interrupted_at(row)) return llmprof_fail_interrupted(err);
    uint32_t group = group_at(&n, row);
    n.codes[row] = group;
    if (!rows[group]++) first[group] = (uint32_t)row;
  }
  return true;
}

static void add_parts(const counting *c) {
  llmprof_groups *groups = c->groups;
  for (size_t part = 0; part < groups->parts; part++) {
    const uint32_t *rows = groups->part_rows + part * groups->count;
    const uint32_t *first = c->first + part * groups->count;
    for (size_t g = 0; g < groups->count; g++) {
      if (!groups->rows[g]) groups->first_row[g] = first[g];
      groups->rows[g] += rows[g];
    }
  }
}

static bool count_rows(llmprof_groups *groups, const numbering *n,
                       llmprof_error *err) {
  size_t count = n->count;
  groups->count = count;
  groups->parts = count <= FEW ? llmprof_thread_pool_size(n->rows / PART) : 1;
  groups->first_row = llmprof_alloc(count, sizeof *groups->first_row);
  groups->rows = llmprof_zalloc(count, sizeof *groups->rows);
  groups->part_rows =
      llmprof_zalloc(groups->parts * count, sizeof *groups->part_rows);
  counting c = {n, groups,
                llmprof_alloc(groups->parts * count, sizeof *c.first)};
  llmprof_parallel_loop loop = {
      .parts = groups->parts, .work = count_part, .user = &c};
  bool ok =
      (groups->first_row && groups->rows && groups->part_rows && c.first) ||
      llmprof_fail_nomem(err);
  ok = ok && llmprof_parallel_for(&loop, groups->parts, err);
  if (ok) add_parts(&c);
  llmprof_free(c.first);
  return ok;
}

bool llmprof_groups_make(llmprof_groups *groups, llmprof_frame *frame,
                         const size_t *keys, size_t key_count,
                         llmprof_error *err) {
  numbering n;
  *groups = (llmprof_groups){0};
  if (!number_rows(&n, frame, keys, key_count, err)) return false;
  groups->of_row = n.codes;
  bool ok = count_rows(groups, &n, err);
  llmprof_free(n.group_of);
  if (!ok) llmprof_groups_free(groups);
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

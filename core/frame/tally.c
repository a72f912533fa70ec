#include "frame/tally.h"

#include "base/crew.h"
#include "llmprof/alloc.h"
#include "llmprof/interrupt.h"

enum {
  CLOSE = 1 << 14, /* values at most: their groups stay in the second cache */
  PART = 1 << 18   /* rows that are worth a thread; whole blocks */
};

void llmprof_tally_free(llmprof_tally *t) {
  llmprof_joint_free(&t->joint);
  llmprof_free(t->groups);
  llmprof_free(t->of_item);
  t->groups = t->of_item = NULL;
}

/* Small numbers that lie there as they are, or NULL. */
static const uint32_t *bare(const llmprof_column *column) {
  bool ok = !column->index &&
            (column->type == LLMPROF_U32 || column->type == LLMPROF_STRING_ID);
  return ok ? column->data : NULL;
}

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
  if (t->joint.count) {
    const uint32_t *index = t->key->index + row, *numbers = t->joint.numbers;
    for (size_t i = 0; i < count; i++)
      places[i] =
          index[i] == UINT32_MAX ? 0 : (uint32_t)(numbers[index[i]] + 1);
    return;
  }
  int64_t cells[LLMPROF_BLOCK];
  llmprof_cells(t->key, row, count, cells);
  for (size_t i = 0; i < count; i++)
    places[i] =
        cells[i] == LLMPROF_ABSENT ? 0 : (uint32_t)(cells[i] - t->low) + 1;
}

void llmprof_tally_groups(const llmprof_tally *t, size_t row, size_t count,
                          uint32_t *of_row) {
  if (t->of_item) {
    const uint32_t *index = t->key->index + row;
    for (size_t i = 0; i < count; i++)
      of_row[i] = t->of_item[(uint32_t)(index[i] + 1)];
    return;
  }
  find_places(t, row, count, of_row);
  for (size_t i = 0; i < count; i++) of_row[i] = t->groups[of_row[i]] - 1;
}

/* ---- counting ---- */

/* Parts of the rows are counted on several threads, each by first appearance
 * within it; taken in order they make the groups of all. */
typedef struct counting {
  const llmprof_tally *tally;
  size_t parts, most; /* most: places that there are */
  uint32_t *rows;     /* by part and place: how many, */
  uint32_t *first;    /* the first of them, where there is any */
  uint32_t *met;      /* by part: places by first appearance, */
  size_t *met_count;  /* and how many */
} counting;

static void count_block(const counting *c, size_t part, const uint32_t *places,
                        size_t count, size_t row) {
  uint32_t *rows = c->rows + part * c->most;
  for (size_t i = 0; i < count; i++) {
    size_t place = places[i];
    if (rows[place]++) continue;
    c->first[part * c->most + place] = (uint32_t)(row + i);
    c->met[part * c->most + c->met_count[part]++] = (uint32_t)place;
  }
}

static bool count_part(void *user, size_t worker, size_t part,
                       llmprof_error *err) {
  (void)worker;
  const counting *c = user;
  size_t rows = c->tally->rows,
         end = llmprof_part_begin(rows, c->parts, part + 1);
  for (size_t row = llmprof_part_begin(rows, c->parts, part); row < end;
       row += LLMPROF_BLOCK) {
    uint32_t places[LLMPROF_BLOCK];
    size_t count = llmprof_block(row, end);
    find_places(c->tally, row, count, places);
    count_block(c, part, places, count, row);
    if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
  }
  return true;
}

static void join_part(const counting *c, size_t part, llmprof_tally *t,
                      llmprof_groups *groups) {
  for (size_t i = 0; i < c->met_count[part]; i++) {
    size_t place = c->met[part * c->most + i];
    uint32_t *group = &t->groups[place];
    if (!*group) {
      groups->first_row[groups->count] = c->first[part * c->most + place];
      *group = (uint32_t)++groups->count;
    }
    groups->rows[*group - 1] += c->rows[part * c->most + place];
  }
}

static bool counting_init(counting *c) {
  size_t cells = c->parts * c->most;
  c->rows = llmprof_zalloc(cells, sizeof *c->rows);
  c->first = llmprof_alloc(cells, sizeof *c->first);
  c->met = llmprof_alloc(cells, sizeof *c->met);
  c->met_count = llmprof_zalloc(c->parts, sizeof *c->met_count);
  return c->rows && c->first && c->met && c->met_count;
}

static void counting_free(counting *c) {
  llmprof_free(c->rows);
  llmprof_free(c->first);
  llmprof_free(c->met);
  llmprof_free(c->met_count);
}

static bool count_rows(llmprof_tally *t, llmprof_groups *groups, size_t most,
                       llmprof_error *err) {
  counting c = {
      .tally = t, .parts = llmprof_crew_size(t->rows / PART), .most = most};
  llmprof_crew crew = {.parts = c.parts, .work = count_part, .user = &c};
  bool ok = counting_init(&c) ? llmprof_crew_run(&crew, c.parts, err)
                              : llmprof_fail_nomem(err);
  for (size_t part = 0; ok && part < c.parts; part++)
    join_part(&c, part, t, groups);
  counting_free(&c);
  return ok;
}

/* ---- making ---- */

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

static bool number_items(llmprof_tally *t, llmprof_error *err) {
  const llmprof_joint *joint = &t->joint;
  if (!joint->count) return true;
  t->of_item = llmprof_alloc(joint->items + 1, sizeof *t->of_item);
  if (!t->of_item) return llmprof_fail_nomem(err);
  t->of_item[0] = t->groups[0] - 1;
  for (size_t i = 0; i < joint->items; i++)
    t->of_item[i + 1] = t->groups[(uint32_t)(joint->numbers[i] + 1)] - 1;
  return true;
}

static bool tally_of(llmprof_tally *t, llmprof_groups *groups,
                     llmprof_cell_span span, llmprof_error *err) {
  uint64_t reach = (uint64_t)span.high - (uint64_t)span.low;
  if (span.low > span.high || reach >= CLOSE) return true;
  t->low = span.low;
  t->values = (size_t)reach + 1;
  return allocate(t, groups, (size_t)reach + 2, err) &&
         count_rows(t, groups, (size_t)reach + 2, err) && number_items(t, err);
}

/* All keys as one. */
static bool join_keys(llmprof_tally *t, llmprof_frame *frame,
                      const size_t *keys, size_t key_count,
                      llmprof_error *err) {
  bool *joined = llmprof_alloc(key_count, sizeof *joined);
  if (!joined) return llmprof_fail_nomem(err);
  bool ok = llmprof_joint_make(&t->joint, frame, keys, key_count, joined, err);
  bool all = true;
  for (size_t k = 0; ok && k < key_count; k++) all = all && joined[k];
  if (!all) llmprof_joint_free(&t->joint);
  llmprof_free(joined);
  return ok;
}

bool llmprof_tally_make(llmprof_tally *t, llmprof_groups *groups,
                        llmprof_frame *frame, const size_t *keys,
                        size_t key_count, llmprof_error *err) {
  *t = (llmprof_tally){.rows = llmprof_frame_rows(frame)};
  *groups = (llmprof_groups){0};
  if (!key_count) return true;
  if (!join_keys(t, frame, keys, key_count, err)) return false;
  llmprof_cell_span span = {.low = 0, .high = (int64_t)t->joint.count - 1};
  if (t->joint.count) {
    t->key = &t->joint.column;
  } else {
    if (key_count > 1) return true;
    t->key = llmprof_frame_column(frame, keys[0], err);
    if (!t->key || !find_bounds(t, frame, keys[0], &span, err)) return false;
  }
  return tally_of(t, groups, span, err);
}

/* ---- as an index tells them ---- */

bool llmprof_tally_has_rows(llmprof_frame *frame, const size_t *keys,
                            size_t key_count, bool *may, llmprof_error *err) {
  *may = key_count > 1;
  if (key_count != 1) return true;
  const llmprof_column *key = llmprof_frame_column(frame, keys[0], err);
  if (key) *may = bare(key) || llmprof_frame_items(frame, keys[0]);
  return key != NULL;
}

/* By item of the joint, or by value of the key from 0 on. */
bool llmprof_tally_rows(const llmprof_tally *t, llmprof_row_groups *rows) {
  bool joined = t->joint.count;
  rows->index = joined ? t->key->index : bare(t->key);
  if (!rows->index || t->low < 0 || t->low > CLOSE) return false;
  size_t low = joined ? 0 : (size_t)t->low;
  rows->items = joined ? t->joint.items : low + t->values;
  rows->of_item = llmprof_alloc(rows->items, sizeof *rows->of_item);
  if (!rows->of_item) return false;
  rows->of_none = joined ? t->of_item[0] : t->groups[0] - 1;
  for (size_t i = 0; i < rows->items; i++)
    rows->of_item[i] = i < low  ? UINT32_MAX
                       : joined ? t->of_item[i + 1]
                                : t->groups[i - low + 1] - 1;
  return true;
}

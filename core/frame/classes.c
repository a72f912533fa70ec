/* Rows are visited by start. Of every BLOCK of them it is kept how far the
 * rows before reach, by class: all of these have started, so that is all there
 * is to know of them. A window is swept from the block on in which it begins.
 */
#include "frame/classes.h"

#include "base/bisect.h"
#include "base/interrupt.h"
#include "frame/group_by.h"
#include "frame/times.h"
#include "frame/visit.h"
#include "llmprof/alloc.h"

enum {
  BLOCK = LLMPROF_BLOCK
};

struct llmprof_classes {
  llmprof_visit rows;
  size_t count;
  uint8_t *class_of; /* by place in the order of rows */
  int64_t *reach;    /* by block and class, until when rows before it last */
  int64_t *covered;  /* by block, ns in which one of the rows before it lasts */
};

void llmprof_classes_free(llmprof_classes *classes) {
  if (!classes) return;
  llmprof_free(classes->class_of);
  llmprof_free(classes->reach);
  llmprof_free(classes->covered);
  llmprof_free(classes);
}

size_t llmprof_classes_count(const llmprof_classes *classes) {
  return classes->count;
}

/* ---- making them ---- */

static void add(int64_t *total, int64_t from, int64_t to) {
  *total = llmprof_time_sum(*total, llmprof_time_between(from, to));
}

/* A row lasts from its start, which is not absent in what is reached, on. */
static void extend(int64_t *reach, uint8_t class, int64_t end) {
  if (class != LLMPROF_NO_CLASS && end > reach[class]) reach[class] = end;
}

/* ns in which a row lasts, and until when, of those that were added so far. */
typedef struct cover {
  int64_t until, ns;
} cover;

static void add_cover(cover *sum, int64_t start, int64_t end) {
  if (start < sum->until) start = sum->until;
  if (end <= start) return;
  add(&sum->ns, start, end);
  sum->until = end;
}

static void read_block(llmprof_classes *c, size_t place,
                       const llmprof_column *word, const uint8_t *class_of,
                       int64_t *reach, cover *sum) {
  llmprof_visit_block block;
  int64_t words[BLOCK];
  llmprof_visit_read(&c->rows, place, &block);
  llmprof_visit_cells(&c->rows, word, place, words);
  for (size_t i = 0; i < block.count; i++) {
    bool whole = block.starts[i] != LLMPROF_ABSENT &&
                 block.ends[i] > block.starts[i] && words[i] != LLMPROF_ABSENT;
    uint8_t class = whole ? class_of[words[i]] : LLMPROF_NO_CLASS;
    c->class_of[place + i] = class;
    if (class == LLMPROF_NO_CLASS) continue;
    extend(reach, class, block.ends[i]);
    add_cover(sum, block.starts[i], block.ends[i]);
  }
}

static bool read_rows(llmprof_classes *c, const llmprof_column *word,
                      const uint8_t *class_of, llmprof_error *err) {
  int64_t reach[LLMPROF_CLASSES], *kept = c->reach;
  cover sum = {INT64_MIN, 0};
  for (size_t k = 0; k < c->count; k++) reach[k] = INT64_MIN;
  for (size_t place = 0; place < c->rows.rows; place += BLOCK) {
    if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
    for (size_t k = 0; k < c->count; k++) *kept++ = reach[k];
    c->covered[place / BLOCK] = sum.ns;
    read_block(c, place, word, class_of, reach, &sum);
  }
  return true;
}

static bool fill(llmprof_classes *c, llmprof_frame *frame,
                 const llmprof_class_columns *columns, const uint8_t *class_of,
                 llmprof_error *err) {
  const llmprof_column *word = llmprof_frame_column(frame, columns->word, err);
  if (!word ||
      !llmprof_visit_make(&c->rows, frame, columns->start, columns->end, err))
    return false;
  size_t blocks = c->rows.rows / BLOCK + 1;
  c->class_of = llmprof_alloc(c->rows.rows, sizeof *c->class_of);
  c->reach = llmprof_alloc(blocks, c->count * sizeof *c->reach);
  c->covered = llmprof_alloc(blocks, sizeof *c->covered);
  if (!c->class_of || !c->reach || !c->covered) return llmprof_fail_nomem(err);
  return read_rows(c, word, class_of, err);
}

llmprof_classes *llmprof_classes_new(llmprof_frame *frame,
                                     const llmprof_class_columns *columns,
                                     const uint8_t *class_of, size_t count,
                                     llmprof_error *err) {
  llmprof_classes *classes = llmprof_zalloc(1, sizeof *classes);
  if (!classes) return llmprof_fail_nomem(err), NULL;
  classes->count = count;
  if (fill(classes, frame, columns, class_of, err)) return classes;
  llmprof_classes_free(classes);
  return NULL;
}

/* ---- a window ---- */

typedef struct sweep {
  const llmprof_classes *classes;
  const llmprof_intervals *busy;
  size_t next; /* the first of them that ends after `now` */
  int64_t now, to;
  int64_t reach[LLMPROF_CLASSES];
  int64_t *totals;
} sweep;

static int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* [from, to) without what is busy. Calls go on in time. */
static void add_idle(sweep *s, int64_t *total, int64_t from, int64_t to) {
  size_t count = s->busy ? s->busy->count : 0;
  while (s->next < count && from < to) {
    llmprof_interval busy = s->busy->items[s->next];
    if (busy.start >= to) break;
    if (busy.start > from) add(total, from, busy.start);
    if (busy.end > from) from = busy.end;
    if (busy.end <= to) s->next++;
    if (busy.end >= to) return;
  }
  if (from < to) add(total, from, to);
}

/* Go on until a time before which no further row begins. */
static void advance(sweep *s, int64_t until) {
  if (until <= s->now) return;
  while (s->now < until) {
    size_t class = 0;
    while (class < s->classes->count && s->reach[class] <= s->now) class ++;
    if (class == s->classes->count) break;
    int64_t end = smaller(s->reach[class], until);
    add_idle(s, &s->totals[class], s->now, end);
    s->now = end;
  }
  s->now = until;
}

/* Returns false at the end of the window. */
static bool sweep_block(sweep *s, size_t place) {
  const uint8_t *class_of = s->classes->class_of + place;
  llmprof_visit_block block;
  llmprof_visit_read(&s->classes->rows, place, &block);
  for (size_t i = 0; i < block.count; i++) {
    if (block.starts[i] >= s->to) return false;
    if (class_of[i] == LLMPROF_NO_CLASS) continue;
    advance(s, block.starts[i]);
    extend(s->reach, class_of[i], block.ends[i]);
  }
  return true;
}

/* The place of the last block that begins before a time, or the first. */
static size_t block_before(const llmprof_visit *v, int64_t time) {
  size_t low = 1, high = (v->rows + BLOCK - 1) / BLOCK;
  LLMPROF_BISECT(low, high, at,
                 llmprof_cell(v->start, llmprof_visit_row(v, at * BLOCK)) <
                     time);
  return (low - 1) * BLOCK;
}

void llmprof_classes_within(const llmprof_classes *classes,
                            const llmprof_intervals *busy, int64_t from,
                            int64_t to, int64_t totals[LLMPROF_CLASSES]) {
  sweep s = {classes, busy, 0, from, to, {0}, totals};
  for (size_t k = 0; k < classes->count; k++) totals[k] = 0;
  size_t place = block_before(&classes->rows, from);
  if (to <= from || place >= classes->rows.rows) return;
  if (busy) s.next = llmprof_intervals_after(busy, from);
  for (size_t k = 0; k < classes->count; k++)
    s.reach[k] = classes->reach[place / BLOCK * classes->count + k];
  while (place < classes->rows.rows && sweep_block(&s, place)) place += BLOCK;
  advance(&s, to);
}

/* ---- outside of all classes ---- */

/* The rows of a block, and before each what all of those before it cover. */
typedef struct block {
  const llmprof_classes *classes; /* NULL: nothing was read */
  size_t place, count, near; /* near: where the last question was answered */
  int64_t until;             /* when the next block begins */
  int64_t starts[BLOCK];
  cover before[BLOCK + 1];
} block;

static cover cover_before(const llmprof_classes *c, size_t number) {
  cover sum = {INT64_MIN, c->covered[number]};
  for (size_t k = 0; k < c->count; k++) {
    int64_t reach = c->reach[number * c->count + k];
    if (reach > sum.until) sum.until = reach;
  }
  return sum;
}

static void load_block(block *s, const llmprof_classes *c, size_t place) {
  llmprof_visit_block rows;
  llmprof_visit_read(&c->rows, place, &rows);
  cover sum = cover_before(c, place / BLOCK);
  for (size_t i = 0; i < rows.count; i++) {
    s->starts[i] = rows.starts[i];
    s->before[i] = sum;
    if (c->class_of[place + i] != LLMPROF_NO_CLASS)
      add_cover(&sum, rows.starts[i], rows.ends[i]);
  }
  s->before[rows.count] = sum;
  size_t next = place + rows.count;
  s->until =
      next < c->rows.rows
          ? llmprof_cell(c->rows.start, llmprof_visit_row(&c->rows, next))
          : INT64_MAX;
  s->classes = c;
  s->place = place;
  s->count = rows.count;
  s->near = 0;
}

/* ns before a time in which a row lasts. */
static int64_t covered_until(block *s, const llmprof_classes *c, int64_t time) {
  if (!c->rows.rows) return 0;
  if (s->classes != c || time > s->until || (s->place && s->starts[0] >= time))
    load_block(s, c, block_before(&c->rows, time));
  while (s->near < s->count && s->starts[s->near] < time) s->near++;
  while (s->near && s->starts[s->near - 1] >= time) s->near--;
  cover sum = s->before[s->near];
  int64_t later = 0;
  if (sum.until > time) add(&later, time, sum.until);
  return sum.ns > later ? sum.ns - later : 0;
}

typedef struct outside {
  llmprof_visit rows;
  const llmprof_column *begin, *key;
  int64_t *last; /* by group, when its rows so far ended; ABSENT: none yet */
  int64_t *made;
  block from, to;
} outside;

/* Since when nothing of its group ran; ABSENT where that is not so. */
static int64_t idle_since(const outside *o, size_t row, int64_t start,
                          int64_t last) {
  if (last == LLMPROF_ABSENT) return llmprof_cell(o->begin, row);
  return last < start ? last : LLMPROF_ABSENT;
}

static int64_t outside_of(outside *o, const llmprof_classes *c, int64_t from,
                          int64_t to) {
  int64_t time = 0;
  if (to <= from) return 0;
  add(&time, from, to);
  int64_t covered =
      covered_until(&o->to, c, to) - covered_until(&o->from, c, from);
  return time > covered ? time - covered : 0;
}

/* A row that starts no earlier than those visited before it. */
static void visit(outside *o, const llmprof_classes *classes, size_t row,
                  int64_t start, int64_t end, int64_t *last) {
  if (start == LLMPROF_ABSENT || end == LLMPROF_ABSENT) return;
  int64_t from = idle_since(o, row, start, *last);
  if (from != LLMPROF_ABSENT && classes)
    o->made[row] = outside_of(o, classes, from, start);
  if (end > *last) *last = end;
}

static bool visit_all(outside *o, llmprof_classes *const *classes, size_t count,
                      const uint32_t *group_of, llmprof_error *err) {
  for (size_t place = 0; place < o->rows.rows; place += BLOCK) {
    llmprof_visit_block b;
    int64_t keys[BLOCK];
    llmprof_visit_read(&o->rows, place, &b);
    llmprof_visit_cells(&o->rows, o->key, place, keys);
    for (size_t i = 0; i < b.count; i++) {
      size_t row = llmprof_visit_row(&o->rows, place + i);
      int64_t key = keys[i] < (int64_t)count ? keys[i] : -1;
      visit(o, key < 0 ? NULL : classes[key], row, b.starts[i], b.ends[i],
            &o->last[group_of[row]]);
    }
    if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
  }
  return true;
}

static bool outside_init(outside *o, llmprof_frame *frame,
                         const llmprof_outside_columns *columns, size_t groups,
                         llmprof_error *err) {
  o->begin = llmprof_frame_column(frame, columns->begin, err);
  o->key = o->begin ? llmprof_frame_column(frame, columns->key, err) : NULL;
  if (!o->key ||
      !llmprof_visit_make(&o->rows, frame, columns->start, columns->end, err))
    return false;
  o->last = llmprof_absent_cells(groups);
  o->made = llmprof_absent_cells(llmprof_frame_rows(frame));
  return (o->last && o->made) || llmprof_fail_nomem(err);
}

/* A column of the cells, stored in as few bytes as they take. */
static bool give(llmprof_frame *frame, const char *name, const int64_t *cells,
                 llmprof_error *err) {
  llmprof_column column = {.name = name, .unit = "ns", .type = LLMPROF_I64};
  llmprof_values *values = llmprof_values_new();
  bool ok = values != NULL;
  for (size_t row = 0; ok && row < llmprof_frame_rows(frame); row++)
    ok = llmprof_values_append(values, cells[row]);
  ok = ok && llmprof_values_end(values);
  if (!ok) llmprof_values_free(values);
  return (ok && (column.values = llmprof_frame_keep(frame, values)) &&
          llmprof_frame_add(frame, &column, NULL, NULL)) ||
         llmprof_fail_nomem(err);
}

bool llmprof_classes_outside(llmprof_frame *frame,
                             const llmprof_outside_columns *columns,
                             const llmprof_groups *groups,
                             llmprof_classes *const *classes, size_t count,
                             const char *name, llmprof_error *err) {
  outside *o = llmprof_zalloc(1, sizeof *o);
  bool ok = (o || llmprof_fail_nomem(err)) &&
            outside_init(o, frame, columns, groups->count, err) &&
            visit_all(o, classes, count, groups->of_row, err);
  int64_t *made = o ? o->made : NULL;
  if (o) llmprof_free(o->last);
  llmprof_free(o);
  ok = ok && give(frame, name, made, err);
  llmprof_free(made);
  return ok;
}

/* Rows are visited by start. Of every BLOCK of them it is kept how far the
 * rows before reach, by class: all of these have started, so that is all there
 * is to know of them. A window is swept from the block on in which it begins.
 */
#include "frame/classes.h"

#include "base/bisect.h"
#include "base/interrupt.h"
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
};

void llmprof_classes_free(llmprof_classes *classes) {
  if (!classes) return;
  llmprof_free(classes->class_of);
  llmprof_free(classes->reach);
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

static void read_block(llmprof_classes *c, size_t place,
                       const llmprof_column *word, const uint8_t *class_of,
                       int64_t *reach) {
  llmprof_visit_block block;
  int64_t words[BLOCK];
  llmprof_visit_read(&c->rows, place, &block);
  llmprof_visit_cells(&c->rows, word, place, words);
  for (size_t i = 0; i < block.count; i++) {
    bool whole = block.starts[i] != LLMPROF_ABSENT &&
                 block.ends[i] > block.starts[i] && words[i] != LLMPROF_ABSENT;
    uint8_t class = whole ? class_of[words[i]] : LLMPROF_NO_CLASS;
    c->class_of[place + i] = class;
    extend(reach, class, block.ends[i]);
  }
}

static bool read_rows(llmprof_classes *c, const llmprof_column *word,
                      const uint8_t *class_of, llmprof_error *err) {
  int64_t reach[LLMPROF_CLASSES], *kept = c->reach;
  for (size_t k = 0; k < c->count; k++) reach[k] = INT64_MIN;
  for (size_t place = 0; place < c->rows.rows; place += BLOCK) {
    if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
    for (size_t k = 0; k < c->count; k++) *kept++ = reach[k];
    read_block(c, place, word, class_of, reach);
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
  if (!c->class_of || !c->reach) return llmprof_fail_nomem(err);
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

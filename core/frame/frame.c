#include "llmprof/frame.h"

#include <string.h>

#include "base/alloc.h"
#include "base/interrupt.h"
#include "frame/frame_slots.h"
#include "frame/sort.h"

llmprof_frame *llmprof_frame_new(size_t rows, const llmprof_strings *strings) {
  llmprof_frame *frame = llmprof_zalloc(1, sizeof *frame);
  if (!frame) return NULL;
  frame->rows = rows;
  frame->strings = strings;
  return frame;
}

void llmprof_frame_free(llmprof_frame *frame) {
  if (!frame) return;
  for (size_t i = 0; i < frame->kept_count; i++)
    llmprof_values_free(frame->kept[i]);
  llmprof_free(frame->kept);
  for (size_t i = 0; i < frame->owned_count; i++) llmprof_free(frame->owned[i]);
  llmprof_free(frame->owned);
  llmprof_free(frame->slots);
  llmprof_free(frame);
}

size_t llmprof_frame_rows(const llmprof_frame *frame) {
  return frame->rows;
}

const llmprof_strings *llmprof_frame_strings(const llmprof_frame *frame) {
  return frame->strings;
}

size_t llmprof_frame_columns(const llmprof_frame *frame) {
  return frame->count;
}

size_t llmprof_frame_find(const llmprof_frame *frame, const char *name) {
  for (size_t i = 0; i < frame->count; i++)
    if (strcmp(frame->slots[i].column.name, name) == 0) return i;
  return SIZE_MAX;
}

const llmprof_column *llmprof_frame_peek(const llmprof_frame *frame,
                                         size_t column) {
  return &frame->slots[column].column;
}

const llmprof_column *llmprof_frame_column(llmprof_frame *frame, size_t column,
                                           llmprof_error *err) {
  llmprof_slot *s = &frame->slots[column];
  if (s->load) {
    llmprof_column loaded = s->column;
    if (!s->load(frame, &loaded, s->user, err)) return NULL;
    s = &frame->slots[column]; /* the loader may have added columns */
    s->column = loaded;
    s->load = NULL;
  }
  return &s->column;
}

bool llmprof_frame_own(llmprof_frame *frame, void *memory) {
  if (!llmprof_grow(&frame->owned, &frame->owned_cap, frame->owned_count + 1,
                    sizeof *frame->owned)) {
    llmprof_free(memory);
    return false;
  }
  frame->owned[frame->owned_count++] = memory;
  return true;
}

const llmprof_values *llmprof_frame_keep(llmprof_frame *frame,
                                         llmprof_values *values) {
  if (!values) return NULL;
  if (!llmprof_grow(&frame->kept, &frame->kept_cap, frame->kept_count + 1,
                    sizeof *frame->kept)) {
    llmprof_values_free(values);
    return NULL;
  }
  return frame->kept[frame->kept_count++] = values;
}

/* Of the bits of reals. */
static void real_cells(const int64_t *const *in, size_t count, int64_t *out) {
  for (size_t i = 0; i < count; i++) {
    double value;
    memcpy(&value, &in[0][i], sizeof value);
    out[i] = llmprof_real_cell(value);
  }
}

const llmprof_values *llmprof_frame_array(llmprof_frame *frame,
                                          llmprof_column_type type,
                                          const void *data) {
  if (type == LLMPROF_I64)
    return llmprof_frame_keep(frame, llmprof_values_numbers(data));
  if (type == LLMPROF_F64) {
    const llmprof_values *bits = llmprof_frame_array(frame, LLMPROF_I64, data);
    return bits ? llmprof_frame_keep(
                      frame, llmprof_values_computed(real_cells, &bits, 1))
                : NULL;
  }
  return llmprof_frame_keep(frame, llmprof_values_ids(data));
}

const llmprof_values *llmprof_frame_lookup(llmprof_frame *frame,
                                           const llmprof_values *key,
                                           const llmprof_values *of) {
  return key && of ? llmprof_frame_keep(frame, llmprof_values_lookup(key, of))
                   : NULL;
}

const llmprof_values *llmprof_frame_pick(llmprof_frame *frame,
                                         const uint32_t *rows,
                                         const llmprof_values *of) {
  return llmprof_frame_lookup(
      frame, llmprof_frame_array(frame, LLMPROF_U32, rows), of);
}

bool llmprof_frame_add(llmprof_frame *frame, const llmprof_column *column,
                       llmprof_column_loader load, void *user) {
  char *name = llmprof_strdup(column->name);
  if (!name || !llmprof_frame_own(frame, name) ||
      !llmprof_grow(&frame->slots, &frame->cap, frame->count + 1,
                    sizeof *frame->slots))
    return false;
  llmprof_slot *added = &frame->slots[frame->count++];
  *added = (llmprof_slot){.column = *column, .load = load, .user = user};
  added->column.name = name;
  return true;
}

bool llmprof_frame_give(llmprof_frame *frame, const char *name,
                        const char *unit, llmprof_column_type type, void *data,
                        llmprof_error *err) {
  llmprof_column column = {.name = name, .unit = unit, .type = type};
  if (!data || !llmprof_frame_own(frame, data) ||
      !(column.values = llmprof_frame_array(frame, type, data)) ||
      !llmprof_frame_add(frame, &column, NULL, NULL))
    return llmprof_fail_nomem(err);
  return true;
}

bool llmprof_frame_alias(llmprof_frame *frame, size_t number, const char *name,
                         llmprof_error *err) {
  const llmprof_column *loaded = llmprof_frame_column(frame, number, err);
  if (!loaded) return false;
  llmprof_column column = *loaded;
  column.name = name;
  return llmprof_frame_add(frame, &column, NULL, NULL) ||
         llmprof_fail_nomem(err);
}

/* ---- order ---- */

/* What is known of a column; NULL when there is no memory to know it. */
static llmprof_cell_facts *facts_of(llmprof_frame *frame, size_t column) {
  llmprof_slot *s = &frame->slots[column];
  if (s->facts) return s->facts;
  llmprof_cell_facts *facts = llmprof_zalloc(1, sizeof *facts);
  if (!facts || !llmprof_frame_own(frame, facts)) return NULL;
  return s->facts = facts;
}

static bool is_spanned(const llmprof_slot *s) {
  return s->facts && s->facts->spanned;
}

/* Note where the cells of a block fall; false once there are too many runs. */
static bool count_falls(llmprof_cell_facts *facts, const int64_t *cells,
                        size_t count, int64_t before, size_t row) {
  unsigned falls = 0, absent = 0;
  for (size_t i = 0; i < count; i++) {
    falls += cells[i] < (i ? cells[i - 1] : before);
    absent += cells[i] == LLMPROF_ABSENT;
  }
  if (absent || facts->runs + falls >= LLMPROF_MANY_RUNS) return false;
  for (size_t i = 0; falls && i < count; i++)
    if (cells[i] < (i ? cells[i - 1] : before))
      facts->run[facts->runs++] = (uint32_t)(row + i);
  return true;
}

static void count_runs(llmprof_cell_facts *facts, const llmprof_column *column,
                       size_t rows) {
  int64_t cells[LLMPROF_BLOCK], before = LLMPROF_ABSENT + 1;
  llmprof_values_bounds bounds;
  facts->runs = 1;
  facts->run[0] = 0;
  if (llmprof_values_find_bounds(column->values, &bounds) && bounds.ascend)
    return;
  for (size_t row = 0; row < rows; row += LLMPROF_BLOCK) {
    size_t count = llmprof_block(row, rows);
    llmprof_cells(column, row, count, cells);
    if (!count_falls(facts, cells, count, before, row)) {
      facts->runs = LLMPROF_MANY_RUNS;
      return;
    }
    before = cells[count - 1];
  }
}

/* The frame below whose column has these very cells, or NULL. */
static llmprof_frame *same_below(const llmprof_frame *frame,
                                 const llmprof_slot *s, size_t *number) {
  if (!s->below || frame->view_rows || s->below->rows != frame->rows)
    return NULL;
  *number = s->there;
  return s->below;
}

/* Those with the runs counted; NULL: the data cannot be had. */
static const llmprof_cell_facts *count_facts(llmprof_frame *frame,
                                             size_t number) {
  llmprof_slot *s = &frame->slots[number];
  llmprof_frame *below = same_below(frame, s, &number);
  if (below) return count_facts(below, number);
  if (s->facts && s->facts->runs) return s->facts;
  const llmprof_column *column = llmprof_frame_column(frame, number, NULL);
  llmprof_cell_facts *facts = column ? facts_of(frame, number) : NULL;
  if (facts) count_runs(facts, column, frame->rows);
  return facts;
}

bool llmprof_frame_ascends(llmprof_frame *frame, size_t number) {
  const llmprof_cell_facts *facts = count_facts(frame, number);
  return facts && facts->runs == 1;
}

unsigned llmprof_frame_runs(llmprof_frame *frame, size_t number,
                            const uint32_t **first) {
  const llmprof_cell_facts *facts = count_facts(frame, number);
  if (!facts || facts->runs >= LLMPROF_MANY_RUNS) return 0;
  *first = facts->run;
  return facts->runs;
}

static void keep_span(llmprof_frame *frame, size_t number,
                      llmprof_cell_span span) {
  llmprof_cell_facts *facts = facts_of(frame, number);
  if (!facts) return;
  facts->span = span;
  facts->spanned = true;
}

bool llmprof_frame_span(llmprof_frame *frame, size_t number,
                        llmprof_cell_span *span, llmprof_error *err) {
  llmprof_slot *s = &frame->slots[number];
  llmprof_frame *below = same_below(frame, s, &number);
  if (below) return llmprof_frame_span(below, number, span, err);
  const llmprof_column *column = llmprof_frame_column(frame, number, err);
  if (!column) return false;
  if (is_spanned(&frame->slots[number])) {
    *span = frame->slots[number].facts->span;
    return true;
  }
  *span = llmprof_span_cells(column, frame->rows);
  keep_span(frame, number, *span);
  return true;
}

/* Bounds of the cells, from those of all values. */
static bool bound_values(const llmprof_values *values, size_t rows,
                         llmprof_cell_span *bounds) {
  llmprof_values_bounds all;
  if (!llmprof_values_find_bounds(values, &all)) return false;
  *bounds = (llmprof_cell_span){all.low, all.high, all.nulls ? rows : 0};
  return true;
}

bool llmprof_frame_bounds(llmprof_frame *frame, size_t number,
                          llmprof_cell_span *bounds, llmprof_error *err) {
  const llmprof_column *column = llmprof_frame_column(frame, number, err);
  llmprof_slot *s = &frame->slots[number];
  if (!column) return false;
  if (s->below && !is_spanned(s)) {
    if (!llmprof_frame_bounds(s->below, s->there, bounds, err)) return false;
    if (bounds->absent > frame->rows) bounds->absent = frame->rows;
    return true;
  }
  if (!is_spanned(s) && bound_values(column->values, frame->rows, bounds))
    return true;
  return llmprof_frame_span(frame, number, bounds, err);
}

static bool fill_order(uint32_t *order, const llmprof_column *column,
                       size_t rows) {
  int64_t *keys = llmprof_alloc(rows, sizeof *keys);
  if (!keys) return false;
  for (size_t row = 0; row < rows; row += LLMPROF_BLOCK)
    llmprof_cells(column, row, llmprof_block(row, rows), keys + row);
  for (size_t row = 0; row < rows; row++) order[row] = (uint32_t)row;
  bool ok = llmprof_sort_rows_i64(order, rows, keys);
  llmprof_free(keys);
  return ok;
}

bool llmprof_frame_order(llmprof_frame *frame, size_t number,
                         const uint32_t **rows, llmprof_error *err) {
  llmprof_slot *s = &frame->slots[number];
  llmprof_frame *below = same_below(frame, s, &number);
  if (below) return llmprof_frame_order(below, number, rows, err);
  const llmprof_column *column = llmprof_frame_column(frame, number, err);
  if (!column) return false;
  *rows = s->by;
  if (s->by || llmprof_frame_ascends(frame, number)) return true;
  uint32_t *order = llmprof_alloc(frame->rows, sizeof *order);
  if (!order || !llmprof_frame_own(frame, order))
    return llmprof_fail_nomem(err);
  if (!fill_order(order, column, frame->rows)) return llmprof_fail_nomem(err);
  *rows = s->by = order;
  return true;
}

/* ---- views ---- */

/* A view's column: the values of the frame below, of the view's rows. */
static bool load_view_column(llmprof_frame *view, llmprof_column *column,
                             void *below, llmprof_error *err) {
  llmprof_frame *frame = below;
  size_t number = llmprof_frame_find(frame, column->name);
  const llmprof_column *from = llmprof_frame_column(frame, number, err);
  if (!from) return false;
  column->type = from->type;
  column->strings = from->strings;
  column->values = from->values;
  if (view->view_rows)
    column->values = llmprof_frame_lookup(view, view->view_rows, from->values);
  else if (view->view_first)
    column->values = llmprof_frame_keep(
        view, llmprof_values_from(from->values, view->view_first));
  return column->values || llmprof_fail_nomem(err);
}

static bool reserve(llmprof_frame *view, size_t columns) {
  return llmprof_grow(&view->slots, &view->cap, view->count + columns,
                      sizeof *view->slots);
}

/* There is room for it. Its name is that of the frame below, which lives
 * longer. */
static void add_view_column(llmprof_frame *view, llmprof_frame *frame,
                            size_t column) {
  const llmprof_slot *there = &frame->slots[column];
  view->slots[view->count++] = (llmprof_slot){.column = there->column,
                                              .load = load_view_column,
                                              .user = frame,
                                              .below = frame,
                                              .there = column};
}

llmprof_frame *llmprof_frame_view(llmprof_frame *frame, size_t rows) {
  llmprof_frame *view = llmprof_frame_new(rows, frame->strings);
  if (!view || !reserve(view, frame->count)) {
    llmprof_frame_free(view);
    return NULL;
  }
  for (size_t c = 0; c < frame->count; c++) add_view_column(view, frame, c);
  return view;
}

llmprof_frame *llmprof_frame_take(llmprof_frame *frame, uint32_t *rows,
                                  size_t count, llmprof_error *err) {
  llmprof_frame *view = llmprof_frame_view(frame, count);
  if (!view) {
    llmprof_free(rows);
    return llmprof_fail_nomem(err), NULL;
  }
  if (llmprof_frame_own(view, rows))
    view->view_rows = llmprof_frame_array(view, LLMPROF_U32, rows);
  if (view->view_rows) return view;
  llmprof_frame_free(view);
  return llmprof_fail_nomem(err), NULL;
}

llmprof_frame *llmprof_frame_slice(llmprof_frame *frame, size_t first,
                                   size_t count, llmprof_error *err) {
  llmprof_frame *view = llmprof_frame_view(frame, count);
  if (!view) return llmprof_fail_nomem(err), NULL;
  view->view_first = first;
  return view;
}

llmprof_frame *llmprof_frame_select(llmprof_frame *frame, const size_t *columns,
                                    size_t count, llmprof_error *err) {
  llmprof_frame *view = llmprof_frame_new(frame->rows, frame->strings);
  if (!view || !reserve(view, count)) {
    llmprof_frame_free(view);
    return llmprof_fail_nomem(err), NULL;
  }
  for (size_t c = 0; c < count; c++) add_view_column(view, frame, columns[c]);
  return view;
}

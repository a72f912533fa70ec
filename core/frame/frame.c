#include "llmprof/frame.h"

#include <string.h>

#include "frame/sort.h"
#include "llmprof/alloc.h"
#include "llmprof/interrupt.h"

/* A column and how to get its data. */
typedef struct slot {
  llmprof_column column;
  llmprof_column_loader load; /* NULL once the data is there */
  void *user;
} slot;

struct llmprof_frame {
  size_t rows;
  const llmprof_strings *strings;
  slot *slots;
  size_t count, cap;
  void **owned;
  size_t owned_count, owned_cap;
  const uint32_t *view_rows; /* of a view: its rows in the frame below */
};

llmprof_frame *llmprof_frame_new(size_t rows, const llmprof_strings *strings) {
  llmprof_frame *frame = llmprof_zalloc(1, sizeof *frame);
  if (!frame) return NULL;
  frame->rows = rows;
  frame->strings = strings;
  return frame;
}

void llmprof_frame_free(llmprof_frame *frame) {
  if (!frame) return;
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
  for (size_t i = 0; i < frame->count; i++) {
    if (strcmp(frame->slots[i].column.name, name) == 0) return i;
  }
  return SIZE_MAX;
}

const llmprof_column *llmprof_frame_peek(const llmprof_frame *frame,
                                         size_t column) {
  return &frame->slots[column].column;
}

const llmprof_column *llmprof_frame_column(llmprof_frame *frame, size_t column,
                                           llmprof_error *err) {
  slot *s = &frame->slots[column];
  if (s->load) {
    llmprof_column loaded = s->column;
    if (!s->load(frame, &loaded, s->user, err)) return NULL;
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

bool llmprof_frame_add(llmprof_frame *frame, const llmprof_column *column,
                       llmprof_column_loader load, void *user) {
  char *name = llmprof_strdup(column->name);
  if (!name || !llmprof_frame_own(frame, name) ||
      !llmprof_grow(&frame->slots, &frame->cap, frame->count + 1,
                    sizeof *frame->slots))
    return false;
  slot *added = &frame->slots[frame->count++];
  *added = (slot){*column, load, user};
  added->column.name = name;
  return true;
}

/* ---- views ---- */

/* A view's column: the data of the frame below, reached through the view's
 * rows. Columns below that share an index share the composed one. */
static bool load_view_column(llmprof_frame *view, llmprof_column *column,
                             void *below, llmprof_error *err) {
  llmprof_frame *frame = below;
  size_t number = llmprof_frame_find(frame, column->name);
  const llmprof_column *from = llmprof_frame_column(frame, number, err);
  if (!from) return false;
  column->data = from->data;
  column->index = view->view_rows ? view->view_rows : from->index;
  if (!from->index || !view->view_rows) return true;
  for (size_t c = 0; c < view->count; c++) {
    const slot *other = &view->slots[c];
    size_t same = llmprof_frame_find(frame, other->column.name);
    if (!other->load && frame->slots[same].column.index == from->index) {
      column->index = other->column.index;
      return true;
    }
  }
  uint32_t *composed = llmprof_alloc(view->rows, sizeof *composed);
  if (!composed || !llmprof_frame_own(view, composed))
    return llmprof_fail_nomem(err);
  for (size_t i = 0; i < view->rows; i++)
    composed[i] = from->index[view->view_rows[i]];
  column->index = composed;
  return true;
}

static bool add_view_column(llmprof_frame *view, llmprof_frame *frame,
                            size_t column) {
  return llmprof_frame_add(view, &frame->slots[column].column, load_view_column,
                           frame);
}

llmprof_frame *llmprof_frame_take(llmprof_frame *frame, uint32_t *rows,
                                  size_t count, llmprof_error *err) {
  llmprof_frame *view = llmprof_frame_new(count, frame->strings);
  if (!view) {
    llmprof_free(rows);
    return llmprof_fail_nomem(err), NULL;
  }
  view->view_rows = rows;
  bool ok = llmprof_frame_own(view, rows);
  for (size_t c = 0; ok && c < frame->count; c++)
    ok = add_view_column(view, frame, c);
  if (ok) return view;
  llmprof_frame_free(view);
  return llmprof_fail_nomem(err), NULL;
}

llmprof_frame *llmprof_frame_slice(llmprof_frame *frame, size_t first,
                                   size_t count, llmprof_error *err) {
  uint32_t *rows = llmprof_alloc(count, sizeof *rows);
  if (!rows) return llmprof_fail_nomem(err), NULL;
  for (size_t i = 0; i < count; i++) rows[i] = (uint32_t)(first + i);
  return llmprof_frame_take(frame, rows, count, err);
}

llmprof_frame *llmprof_frame_select(llmprof_frame *frame, const size_t *columns,
                                    size_t count, llmprof_error *err) {
  llmprof_frame *view = llmprof_frame_new(frame->rows, frame->strings);
  bool ok = view != NULL;
  for (size_t c = 0; ok && c < count; c++)
    ok = add_view_column(view, frame, columns[c]);
  if (ok) return view;
  llmprof_frame_free(view);
  return llmprof_fail_nomem(err), NULL;
}

/* ---- selecting rows ---- */

/* A condition with its values in ascending order. */
typedef struct test {
  const llmprof_column *column;
  llmprof_compare compare;
  int64_t *values; /* owned */
  size_t count;
} test;

static bool is_any_of(const test *t, int64_t value) {
  size_t low = 0, high = t->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (t->values[middle] < value)
      low = middle + 1;
    else
      high = middle;
  }
  return low < t->count && t->values[low] == value;
}

static bool satisfies(const test *t, int64_t value) {
  int64_t to = t->count ? t->values[0] : INT64_MIN;
  bool present = value != INT64_MIN;
  switch (t->compare) {
  case LLMPROF_EQ:
    return is_any_of(t, value);
  case LLMPROF_NE:
    return !is_any_of(t, value) && (present || !t->count);
  case LLMPROF_LT:
    return present && value < to;
  case LLMPROF_LE:
    return present && value <= to;
  case LLMPROF_GT:
    return present && value > to;
  case LLMPROF_GE:
    return present && value >= to;
  }
  return false;
}

static bool test_init(test *t, llmprof_frame *frame,
                      const llmprof_condition *condition, llmprof_error *err) {
  t->column = llmprof_frame_column(frame, condition->column, err);
  if (!t->column) return false;
  t->compare = condition->compare;
  t->count = condition->count;
  t->values = llmprof_alloc(t->count, sizeof *t->values);
  int64_t *scratch = llmprof_alloc(t->count, sizeof *scratch);
  bool ok = t->values && scratch;
  if (ok && t->count) {
    memcpy(t->values, condition->values, t->count * sizeof *t->values);
    llmprof_sort_i64(t->values, t->count, scratch);
  }
  llmprof_free(scratch);
  return ok || llmprof_fail_nomem(err);
}

static bool passes(const test *tests, size_t count, size_t row) {
  for (size_t i = 0; i < count; i++) {
    if (!satisfies(&tests[i], llmprof_cell(tests[i].column, row))) return false;
  }
  return true;
}

/* Row numbers that pass all tests. */
static uint32_t *matching_rows(const llmprof_frame *frame, const test *tests,
                               size_t count, size_t *found,
                               llmprof_error *err) {
  uint32_t *rows = llmprof_alloc(frame->rows, sizeof *rows);
  if (!rows) return llmprof_fail_nomem(err), NULL;
  *found = 0;
  for (size_t row = 0; row < frame->rows; row++) {
    if (llmprof_interrupted_at(row)) {
      llmprof_free(rows);
      return llmprof_fail_interrupted(err), NULL;
    }
    if (passes(tests, count, row)) rows[(*found)++] = (uint32_t)row;
  }
  uint32_t *trimmed = llmprof_resize(rows, *found, sizeof *rows);
  return trimmed ? trimmed : rows;
}

llmprof_frame *llmprof_frame_where(llmprof_frame *frame,
                                   const llmprof_condition *conditions,
                                   size_t count, llmprof_error *err) {
  test *tests = llmprof_zalloc(count, sizeof *tests);
  bool ok = tests || llmprof_fail_nomem(err);
  for (size_t i = 0; ok && i < count; i++)
    ok = test_init(&tests[i], frame, &conditions[i], err);
  size_t found = 0;
  uint32_t *rows = ok ? matching_rows(frame, tests, count, &found, err) : NULL;
  for (size_t i = 0; tests && i < count; i++) llmprof_free(tests[i].values);
  llmprof_free(tests);
  return rows ? llmprof_frame_take(frame, rows, found, err) : NULL;
}

#include "llmprof/frame.h"

#include <string.h>

#include "llmprof/alloc.h"

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

/* ---- selecting rows ---- */

static bool is_any_of(const llmprof_condition *condition, int64_t value) {
  for (size_t i = 0; i < condition->count; i++) {
    if (condition->values[i] == value) return true;
  }
  return false;
}

static bool satisfies(const llmprof_condition *condition, int64_t value) {
  int64_t to = condition->count ? condition->values[0] : INT64_MIN;
  bool present = value != INT64_MIN;
  switch (condition->compare) {
  case LLMPROF_EQ:
    return is_any_of(condition, value);
  case LLMPROF_NE:
    return !is_any_of(condition, value) && (present || !condition->count);
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

/* Row numbers that satisfy all conditions, a failure being out of memory. */
static uint32_t *matching_rows(const llmprof_frame *frame,
                               const llmprof_condition *conditions,
                               size_t count, size_t *found) {
  uint32_t *rows = llmprof_alloc(frame->rows, sizeof *rows);
  if (!rows) return NULL;
  *found = 0;
  for (size_t row = 0; row < frame->rows; row++) {
    bool all = true;
    for (size_t c = 0; all && c < count; c++) {
      const slot *s = &frame->slots[conditions[c].column];
      all = satisfies(&conditions[c], llmprof_cell(&s->column, row));
    }
    if (all) rows[(*found)++] = (uint32_t)row;
  }
  uint32_t *trimmed = llmprof_resize(rows, *found, sizeof *rows);
  return trimmed ? trimmed : rows;
}

/* A view's column: the data of the frame below, reached through the view's
 * rows. Columns below that share an index share the composed one. */
static bool load_view_column(llmprof_frame *view, llmprof_column *column,
                             void *below, llmprof_error *err) {
  llmprof_frame *frame = below;
  size_t number = llmprof_frame_find(frame, column->name);
  const llmprof_column *from = llmprof_frame_column(frame, number, err);
  if (!from) return false;
  column->data = from->data;
  column->index = view->view_rows;
  if (!from->index) return true;
  for (size_t c = 0; c < view->count; c++) {
    if (!view->slots[c].load && frame->slots[c].column.index == from->index) {
      column->index = view->slots[c].column.index;
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

llmprof_frame *llmprof_frame_where(llmprof_frame *frame,
                                   const llmprof_condition *conditions,
                                   size_t count, llmprof_error *err) {
  for (size_t c = 0; c < count; c++) {
    if (!llmprof_frame_column(frame, conditions[c].column, err)) return NULL;
  }
  size_t found = 0;
  uint32_t *rows = matching_rows(frame, conditions, count, &found);
  llmprof_frame *view = rows ? llmprof_frame_new(found, frame->strings) : NULL;
  if (!view) {
    llmprof_free(rows);
    return llmprof_fail_nomem(err), NULL;
  }
  view->view_rows = rows;
  bool ok = llmprof_frame_own(view, rows);
  for (size_t c = 0; ok && c < frame->count; c++)
    ok = llmprof_frame_add(view, &frame->slots[c].column, load_view_column,
                           frame);
  if (ok) return view;
  llmprof_frame_free(view);
  return llmprof_fail_nomem(err), NULL;
}

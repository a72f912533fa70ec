/* Frames that have a ledger, and views of the rows of some of its accounts. */
#include "frame/ledger.h"

#include "frame/frame_slots.h"
#include "llmprof/alloc.h"
#include "llmprof/interrupt.h"

bool llmprof_frame_set_ledger(llmprof_frame *frame,
                              const llmprof_ledger *ledger, size_t first,
                              size_t count, size_t first_row,
                              llmprof_error *err) {
  frame->accounts = llmprof_frame_slice(ledger->frame, first, count, err);
  if (!frame->accounts) return false;
  frame->part = (llmprof_ledger_part){ledger, first, count, first_row, NULL};
  for (size_t c = 0; c < frame->count; c++) frame->slots[c].of_ledger = true;
  return true;
}

void llmprof_frame_share_by(llmprof_frame *frame, llmprof_account_loader load,
                            void *user) {
  llmprof_slot *s = &frame->slots[frame->count - 1];
  s->share = load;
  s->share_user = user;
  s->of_ledger = s->was_added = true;
}

const llmprof_book *llmprof_frame_book(const llmprof_frame *frame,
                                       size_t column) {
  const llmprof_slot *s = &frame->slots[column];
  const llmprof_ledger *ledger = frame->part.ledger;
  if (!ledger) return NULL;
  if (s->below) return llmprof_frame_book(s->below, s->there);
  return s->of_ledger ? ledger->book(ledger->user, s->column.name) : NULL;
}

const bool *llmprof_frame_chosen(const llmprof_frame *frame) {
  return frame->part.chosen;
}

const llmprof_account *llmprof_frame_account(const llmprof_frame *frame,
                                             size_t *first) {
  *first = frame->part.first;
  return frame->part.ledger->accounts + *first;
}

/* ---- by row ---- */

static size_t width_of(llmprof_column_type type) {
  return type == LLMPROF_I64 || type == LLMPROF_F64 ? sizeof(int64_t)
                                                    : sizeof(uint32_t);
}

/* Cells by account of the ledger: what lies before those of the frame is
 * nobody's. */
static void copy_cells(void *made, const llmprof_ledger_part *part,
                       const llmprof_column *shared) {
  size_t width = width_of(shared->type);
  for (size_t a = 0; a < part->count; a++) {
    char *cell = (char *)made + (part->first + a) * width;
    size_t item = shared->index ? shared->index[a] : a;
    if (item == UINT32_MAX) {
      int64_t absent =
          width == sizeof(uint32_t) ? (int64_t)UINT32_MAX : LLMPROF_ABSENT;
      memcpy(cell, &absent, width);
      continue;
    }
    memcpy(cell, (const char *)shared->data + item * width, width);
  }
}

bool llmprof_frame_by_row(llmprof_frame *frame, llmprof_column *column,
                          const llmprof_column *shared, llmprof_error *err) {
  const llmprof_ledger_part *part = &frame->part;
  const uint32_t *of_row = part->ledger->index(part->ledger->user, err);
  if (!of_row) return false;
  void *made = llmprof_zalloc(part->ledger->count, width_of(shared->type));
  if (!made || !llmprof_frame_own(frame, made)) return llmprof_fail_nomem(err);
  copy_cells(made, part, shared);
  column->type = shared->type;
  column->strings = shared->strings;
  column->data = made;
  column->index = of_row + part->first_row;
  llmprof_frame_set_items(frame, llmprof_frame_find(frame, column->name),
                          part->ledger->count);
  return true;
}

/* ---- choices ---- */

static size_t rows_of(const llmprof_ledger_part *part) {
  size_t rows = 0;
  for (size_t a = 0; a < part->count; a++)
    rows += part->chosen[a] ? part->ledger->accounts[part->first + a].rows : 0;
  return rows;
}

/* What a choice of a choice leaves. */
static void cut(bool *chosen, const llmprof_ledger_part *before) {
  for (size_t a = 0; before->chosen && a < before->count; a++)
    chosen[a] = chosen[a] && before->chosen[a];
}

llmprof_frame *llmprof_frame_choose(llmprof_frame *frame, bool *chosen,
                                    llmprof_error *err) {
  llmprof_ledger_part part = frame->part;
  cut(chosen, &part);
  part.chosen = chosen;
  llmprof_frame *view = llmprof_frame_view(frame, rows_of(&part));
  if (!view) {
    llmprof_free(chosen);
    return llmprof_fail_nomem(err), NULL;
  }
  view->part = part;
  view->is_choice = true;
  view->below_accounts = frame->accounts ? frame : frame->below_accounts;
  if (llmprof_frame_own(view, chosen)) return view;
  llmprof_frame_free(view);
  return llmprof_fail_nomem(err), NULL;
}

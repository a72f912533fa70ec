/* Texts of a column as numbers: each different one is asked about once. */
#include "frame/cells.h"
#include "llmprof/alloc.h"
#include "llmprof/interrupt.h"

enum {
  NOT_ASKED = UINT32_MAX - 1
};

/* What is known of each string of the pool. */
typedef struct asking {
  const llmprof_strings *strings;
  uint32_t *numbers;
  llmprof_text_number number;
  const void *user;
} asking;

static void ask(asking *a, uint32_t id) {
  size_t size;
  if (a->numbers[id] != NOT_ASKED) return;
  const char *text = llmprof_strings_get(a->strings, id, &size);
  a->numbers[id] = a->number(a->user, text, size);
}

/* By row the string, which is the column's own data where it has no index. */
static bool ask_rows(asking *a, const llmprof_column *column, size_t rows,
                     uint32_t *ids, llmprof_error *err) {
  int64_t cells[LLMPROF_BLOCK];
  for (size_t row = 0; row < rows; row += LLMPROF_BLOCK) {
    if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
    size_t count = llmprof_block(row, rows);
    llmprof_cells(column, row, count, cells);
    for (size_t i = 0; i < count; i++) {
      bool there = cells[i] != LLMPROF_ABSENT;
      if (there) ask(a, (uint32_t)cells[i]);
      if (ids) ids[row + i] = there ? (uint32_t)cells[i] : UINT32_MAX;
    }
  }
  return true;
}

static bool add(llmprof_frame *frame, asking *a, const llmprof_column *column,
                uint32_t *ids, const char *name, llmprof_error *err) {
  size_t strings = llmprof_strings_count(a->strings);
  for (size_t id = 0; id < strings; id++) {
    if (a->numbers[id] == NOT_ASKED) a->numbers[id] = UINT32_MAX;
  }
  llmprof_column made = {.name = name,
                         .type = LLMPROF_U32,
                         .data = a->numbers,
                         .index = ids ? ids : column->data};
  bool owned = llmprof_frame_own(frame, a->numbers);
  owned = (!ids || llmprof_frame_own(frame, ids)) && owned;
  if (!owned || !llmprof_frame_add(frame, &made, NULL, NULL))
    return llmprof_fail_nomem(err);
  llmprof_frame_set_items(frame, llmprof_frame_columns(frame) - 1, strings);
  return true;
}

bool llmprof_frame_number(llmprof_frame *frame, size_t column,
                          llmprof_text_number number, const void *user,
                          const char *name, llmprof_error *err) {
  const llmprof_column *text = llmprof_frame_column(frame, column, err);
  if (!text) return false;
  if (text->type != LLMPROF_STRING_ID)
    return llmprof_fail(err, LLMPROF_UNSUPPORTED, "column '%s' holds no text",
                        text->name);
  asking a = {llmprof_column_strings(frame, text), NULL, number, user};
  size_t rows = llmprof_frame_rows(frame),
         strings = llmprof_strings_count(a.strings);
  uint32_t *ids = text->index ? llmprof_alloc(rows, sizeof *ids) : NULL;
  a.numbers = llmprof_alloc(strings, sizeof *a.numbers);
  bool ok = (a.numbers && (ids || !text->index)) || llmprof_fail_nomem(err);
  for (size_t id = 0; ok && id < strings; id++) a.numbers[id] = NOT_ASKED;
  if (ok && ask_rows(&a, text, rows, ids, err))
    return add(frame, &a, text, ids, name, err);
  llmprof_free(a.numbers);
  llmprof_free(ids);
  return false;
}

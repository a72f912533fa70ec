/* Texts of a column as numbers: each different one is asked about once, on all
 * threads. */
#include "base/crew.h"
#include "frame/cells.h"
#include "frame/strings_laid.h"
#include "llmprof/alloc.h"
#include "llmprof/interrupt.h"

enum {
  NOT_WANTED,
  WANTED,
  PART = 8 * LLMPROF_BLOCK, /* strings that are asked about at a time */
  FEW = 64 /* that go by between two looks: rules take 1 ms of a long one */
};

/* What is known of each string of the pool; at first, whether a row has it. */
typedef struct asking {
  const llmprof_strings *strings;
  size_t count;
  uint32_t *numbers;
  const llmprof_text_telling *telling;
  uint32_t *said; /* in the memo; NULL: there is none, or it is not worth it */
} asking;

/* ---- what was said before ---- */

enum {
  MANY = PART /* strings of a pool that are kept in mind */
};

#define UNASKED (UINT32_MAX - 1)

typedef struct llmprof_text_said said_of;

void llmprof_text_memo_free(llmprof_text_memo *memo) {
  for (int i = 0; i < LLMPROF_TEXT_MEMOS; i++)
    llmprof_free(memo->said[i].numbers);
  *memo = (llmprof_text_memo){0};
}

/* That of the pool, else of the one that was not asked about for longest, comes
 * first. */
static said_of *find_said(llmprof_text_memo *memo, uint64_t pool) {
  int at = 0;
  while (at < LLMPROF_TEXT_MEMOS - 1 && memo->said[at].pool != pool) at++;
  said_of found = memo->said[at];
  for (; at; at--) memo->said[at] = memo->said[at - 1];
  if (found.pool != pool) found.count = 0;
  found.pool = pool;
  memo->said[0] = found;
  return &memo->said[0];
}

/* Strings of a pool only become more. */
static bool recall(asking *a, llmprof_error *err) {
  if (!a->telling->memo || a->count < MANY) return true;
  said_of *said =
      find_said(a->telling->memo, llmprof_strings_serial(a->strings));
  if (!llmprof_grow(&said->numbers, &said->cap, a->count,
                    sizeof *said->numbers))
    return llmprof_fail_nomem(err);
  while (said->count < a->count) said->numbers[said->count++] = UNASKED;
  a->said = said->numbers;
  return true;
}

static uint32_t say(const asking *a, size_t id) {
  size_t size;
  const char *text = llmprof_strings_get(a->strings, (uint32_t)id, &size);
  return a->telling->number(a->telling->user, text, size);
}

static uint32_t number_of(const asking *a, size_t id) {
  if (!a->said) return say(a, id);
  if (a->said[id] == UNASKED) a->said[id] = say(a, id);
  return a->said[id];
}

static uint32_t mark_of(const asking *a, uint32_t number) {
  if (!a->telling->marks || number == UINT32_MAX) return number;
  return number == a->telling->mark;
}

/* ---- rows ---- */

/* By row the string, which is the column's own data where it has no index. */
static bool want_rows(const asking *a, const llmprof_column *column,
                      size_t rows, uint32_t *ids, llmprof_error *err) {
  int64_t cells[LLMPROF_BLOCK];
  for (size_t row = 0; row < rows; row += LLMPROF_BLOCK) {
    if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
    size_t count = llmprof_block(row, rows);
    llmprof_cells(column, row, count, cells);
    for (size_t i = 0; i < count; i++) {
      bool there = cells[i] != LLMPROF_ABSENT;
      if (there) a->numbers[cells[i]] = WANTED;
      if (ids) ids[row + i] = there ? (uint32_t)cells[i] : UINT32_MAX;
    }
  }
  return true;
}

static bool ask_part(void *user, size_t worker, size_t part,
                     llmprof_error *err) {
  (void)worker;
  const asking *a = user;
  size_t first = part * PART, end = first + PART;
  for (size_t id = first; id < a->count && id < end; id++) {
    if (id % FEW == 0 && llmprof_interrupted())
      return llmprof_fail_interrupted(err);
    a->numbers[id] =
        a->numbers[id] == WANTED ? mark_of(a, number_of(a, id)) : UINT32_MAX;
  }
  return true;
}

static bool ask(asking *a, llmprof_error *err) {
  llmprof_crew crew = {
      .parts = a->count / PART + 1, .work = ask_part, .user = a};
  return llmprof_crew_run(&crew, llmprof_crew_size(crew.parts), err);
}

static bool add(llmprof_frame *frame, const asking *a,
                const llmprof_column *column, uint32_t *ids, const char *name,
                llmprof_error *err) {
  llmprof_column made = {.name = name,
                         .type = LLMPROF_U32,
                         .data = a->numbers,
                         .index = ids ? ids : column->data};
  bool owned = llmprof_frame_own(frame, a->numbers);
  owned = (!ids || llmprof_frame_own(frame, ids)) && owned;
  if (!owned || !llmprof_frame_add(frame, &made, NULL, NULL))
    return llmprof_fail_nomem(err);
  llmprof_frame_set_items(frame, llmprof_frame_columns(frame) - 1, a->count);
  return true;
}

bool llmprof_frame_number(llmprof_frame *frame, size_t column,
                          const llmprof_text_telling *telling, const char *name,
                          llmprof_error *err) {
  const llmprof_column *text = llmprof_frame_column(frame, column, err);
  if (!text) return false;
  if (text->type != LLMPROF_STRING_ID)
    return llmprof_fail(err, LLMPROF_UNSUPPORTED, "column '%s' holds no text",
                        text->name);
  asking a = {.strings = llmprof_column_strings(frame, text),
              .telling = telling};
  a.count = llmprof_strings_count(a.strings);
  size_t rows = llmprof_frame_rows(frame);
  uint32_t *ids = text->index ? llmprof_alloc(rows, sizeof *ids) : NULL;
  a.numbers = llmprof_zalloc(a.count, sizeof *a.numbers);
  bool ok = (a.numbers && (ids || !text->index)) || llmprof_fail_nomem(err);
  if (ok && recall(&a, err) && want_rows(&a, text, rows, ids, err) &&
      ask(&a, err))
    return add(frame, &a, text, ids, name, err);
  llmprof_free(a.numbers);
  llmprof_free(ids);
  return false;
}

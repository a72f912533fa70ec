/* Cells are rendered once into an arena, which tells how wide the columns
 * are; then the table is put together. */
#include "text/markdown.h"

#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/value.h"

enum {
  MIN_WIDTH = 3,   /* ":-:" */
  MAX_WIDTH = 100, /* of alignment: one long cell must not widen every row */
};

typedef struct renderer {
  const llmprof_markdown_table *table;
  llmprof_buffer arena, shortened;
  size_t *ends; /* of cells in the arena: the titles, then row by row */
  size_t cell_count;
  size_t *widths;       /* of the columns */
  llmprof_value *notes; /* text that was shortened -> its footnote, from 0 */
  llmprof_buffer *note_lines;
  bool nomem;
} renderer;

/* ---- footnotes ---- */

static void add_marker(renderer *r, llmprof_buffer *out, size_t index) {
  const char *prefix = r->table->note_prefix;
  llmprof_buffer_printf(out, "[^%s%zu]", prefix ? prefix : "k",
                        r->table->first_note + index);
}

/* Index of the text's footnote, which is written when it is new. */
static size_t note_for(renderer *r, llmprof_slice text, bool code) {
  const llmprof_value *known =
      llmprof_value_get(r->notes, text.bytes, text.size);
  if (known) return (size_t)llmprof_value_int(known);
  size_t index = llmprof_value_count(r->notes);
  r->nomem |= !llmprof_value_set(r->notes, text.bytes, text.size,
                                 llmprof_value_new_int((int64_t)index));
  add_marker(r, r->note_lines, index);
  llmprof_buffer_puts(r->note_lines, ": ");
  if (code)
    llmprof_markdown_code(r->note_lines, text.bytes, text.size);
  else
    llmprof_markdown_escape(r->note_lines, text.bytes, text.size);
  llmprof_buffer_putc(r->note_lines, '\n');
  return index;
}

/* ---- cells ---- */

static void add_text(renderer *r, llmprof_slice text, bool code) {
  if (code)
    llmprof_markdown_code(&r->arena, text.bytes, text.size);
  else
    llmprof_markdown_inline(&r->arena, text.bytes, text.size);
}

static llmprof_slice shortened(renderer *r, llmprof_slice text, size_t max) {
  llmprof_buffer_clear(&r->shortened);
  llmprof_text_truncate(&r->shortened, text.bytes, text.size, max,
                        LLMPROF_MIDDLE);
  r->nomem |= r->shortened.failed;
  return (llmprof_slice){r->shortened.bytes, r->shortened.size};
}

/* The text of cell `index`, in the arena. */
static llmprof_slice cell_at(const renderer *r, size_t index) {
  size_t start = index ? r->ends[index - 1] : 0;
  return (llmprof_slice){r->arena.bytes + start, r->ends[index] - start};
}

/* What was added to the arena since the last cell is the next one. */
static bool end_cell(renderer *r, size_t column) {
  if (r->nomem || r->arena.failed) return false;
  if (!r->arena.bytes) llmprof_buffer_puts(&r->arena, "");
  r->ends[r->cell_count] = r->arena.size;
  llmprof_slice cell = cell_at(r, r->cell_count++);
  size_t width = llmprof_text_width(cell.bytes, cell.size);
  if (width > MAX_WIDTH) width = MAX_WIDTH;
  if (width > r->widths[column]) r->widths[column] = width;
  return !r->arena.failed;
}

static bool render_title(renderer *r, size_t column) {
  r->widths[column] = MIN_WIDTH;
  add_text(r, r->table->columns[column].title, false);
  return end_cell(r, column);
}

static bool render_cell(renderer *r, size_t column, llmprof_slice text) {
  const llmprof_markdown_column *c = &r->table->columns[column];
  if (c->max && llmprof_text_width(text.bytes, text.size) > c->max) {
    add_text(r, shortened(r, text, c->max), c->code);
    llmprof_buffer_putc(&r->arena, ' ');
    add_marker(r, &r->arena, note_for(r, text, c->code));
  } else {
    add_text(r, text, c->code);
  }
  return end_cell(r, column);
}

static bool render_cells(renderer *r) {
  const llmprof_markdown_table *t = r->table;
  const llmprof_slice *cell = t->cells;
  for (size_t i = 0; i < t->column_count; i++) {
    if (!render_title(r, i)) return false;
  }
  for (size_t row = 0; row < t->row_count; row++) {
    for (size_t i = 0; i < t->column_count; i++) {
      if (!render_cell(r, i, *cell++)) return false;
    }
  }
  return true;
}

/* ---- putting it together ---- */

/* The row of rendered cells that starts at cell `first`. */
static void add_row(llmprof_buffer *out, const renderer *r, size_t first) {
  for (size_t i = 0; i < r->table->column_count; i++) {
    llmprof_slice cell = cell_at(r, first + i);
    llmprof_buffer_puts(out, i ? " | " : "| ");
    llmprof_text_pad(out, cell.bytes, cell.size, r->widths[i],
                     r->table->columns[i].align);
  }
  llmprof_buffer_puts(out, " |\n");
}

static void add_delimiters(llmprof_buffer *out, const renderer *r) {
  for (size_t i = 0; i < r->table->column_count; i++) {
    llmprof_align align = r->table->columns[i].align;
    llmprof_buffer_puts(out, i ? " | " : "| ");
    llmprof_buffer_putc(out, align == LLMPROF_RIGHT ? '-' : ':');
    llmprof_buffer_fill(out, '-', r->widths[i] - 2);
    llmprof_buffer_putc(out, align == LLMPROF_LEFT ? '-' : ':');
  }
  llmprof_buffer_puts(out, " |\n");
}

static void add_table(llmprof_buffer *out, const renderer *r) {
  size_t columns = r->table->column_count;
  add_row(out, r, 0);
  add_delimiters(out, r);
  for (size_t row = 1; row <= r->table->row_count; row++)
    add_row(out, r, row * columns);
}

static void renderer_free(renderer *r) {
  llmprof_buffer_free(&r->arena);
  llmprof_buffer_free(&r->shortened);
  llmprof_free(r->ends);
  llmprof_free(r->widths);
  llmprof_value_free(r->notes);
}

bool llmprof_markdown_render(llmprof_buffer *out, llmprof_buffer *notes,
                             const llmprof_markdown_table *table,
                             size_t *note_count, llmprof_error *err) {
  size_t columns = table->column_count;
  renderer r = {.table = table, .note_lines = notes};
  r.ends = llmprof_alloc((table->row_count + 1) * columns, sizeof *r.ends);
  r.widths = llmprof_alloc(columns, sizeof *r.widths);
  r.notes = llmprof_value_new_map();
  bool ok = r.ends && r.widths && r.notes && render_cells(&r);
  if (ok) add_table(out, &r);
  ok = ok && !out->failed && !notes->failed;
  *note_count = r.notes ? llmprof_value_count(r.notes) : 0;
  renderer_free(&r);
  return ok || llmprof_fail_nomem(err);
}

/* Cells are rendered once into an arena, which tells how wide the columns
 * are; then the table is put together. */
#include "text/markdown.h"

#include <stdint.h>
#include <string.h>

#include "base/alloc.h"

enum {
  MIN_WIDTH = 3,   /* ":-:" */
  MAX_WIDTH = 100, /* of alignment: one long cell must not widen every row */
};

/* A text that was shortened; its number is its place. */
typedef struct note {
  llmprof_slice text;
  uint64_t hash;
} note;

typedef struct renderer {
  const llmprof_markdown_table *table;
  llmprof_buffer arena, shortened;
  size_t *ends; /* of cells in the arena: the titles, then row by row */
  size_t cell_count;
  size_t *widths; /* of the columns */
  note *notes;
  size_t note_count, note_cap;
  size_t *slots; /* hash table: index into notes plus 1, or 0 */
  size_t slot_count;
  llmprof_buffer *note_lines;
  bool nomem;
} renderer;

/* ---- footnotes ---- */

/* 64-bit FNV-1a */
static uint64_t hash_of(llmprof_slice text) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (size_t i = 0; i < text.size; i++)
    hash = (hash ^ (unsigned char)text.bytes[i]) * 0x100000001B3u;
  return hash;
}

/* The slot that holds the text, or the empty one where it belongs. */
static size_t *find_slot(renderer *r, llmprof_slice text, uint64_t hash) {
  size_t at = (size_t)hash & (r->slot_count - 1);
  for (;; at = (at + 1) & (r->slot_count - 1)) {
    if (!r->slots[at]) return &r->slots[at];
    const note *known = &r->notes[r->slots[at] - 1];
    if (known->hash == hash && known->text.size == text.size &&
        memcmp(known->text.bytes, text.bytes, text.size) == 0)
      return &r->slots[at];
  }
}

/* Twice the slots, so that at least half of them are empty. */
static bool grow_slots(renderer *r) {
  size_t count = r->slot_count ? r->slot_count * 2 : 64;
  size_t *slots = llmprof_zalloc(count, sizeof *slots);
  if (!slots) return false;
  llmprof_free(r->slots);
  r->slots = slots;
  r->slot_count = count;
  for (size_t i = 0; i < r->note_count; i++)
    *find_slot(r, r->notes[i].text, r->notes[i].hash) = i + 1;
  return true;
}

static void add_marker(renderer *r, llmprof_buffer *out, size_t index) {
  const char *prefix = r->table->note_prefix;
  llmprof_buffer_printf(out, "[^%s%zu]", prefix ? prefix : "k",
                        r->table->first_note + index);
}

/* Index of the text's footnote, which is written when it is new. */
static size_t note_for(renderer *r, llmprof_slice text, bool code) {
  if ((r->note_count + 1) * 2 > r->slot_count && !grow_slots(r)) goto nomem;
  uint64_t hash = hash_of(text);
  size_t *slot = find_slot(r, text, hash);
  if (*slot) return *slot - 1;
  if (!llmprof_grow(&r->notes, &r->note_cap, r->note_count + 1,
                    sizeof *r->notes))
    goto nomem;
  r->notes[r->note_count++] = (note){text, hash};
  *slot = r->note_count;
  add_marker(r, r->note_lines, r->note_count - 1);
  llmprof_buffer_puts(r->note_lines, ": ");
  if (code)
    llmprof_markdown_code(r->note_lines, text.bytes, text.size);
  else
    llmprof_markdown_escape(r->note_lines, text.bytes, text.size);
  llmprof_buffer_putc(r->note_lines, '\n');
  return r->note_count - 1;
nomem:
  r->nomem = true;
  return 0;
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
  llmprof_free(r->notes);
  llmprof_free(r->slots);
}

bool llmprof_markdown_render(llmprof_buffer *out, llmprof_buffer *notes,
                             const llmprof_markdown_table *table,
                             size_t *note_count, llmprof_error *err) {
  size_t columns = table->column_count;
  renderer r = {.table = table, .note_lines = notes};
  r.ends = llmprof_alloc((table->row_count + 1) * columns, sizeof *r.ends);
  r.widths = llmprof_alloc(columns, sizeof *r.widths);
  bool ok = r.ends && r.widths && render_cells(&r);
  if (ok) add_table(out, &r);
  ok = ok && !out->failed && !notes->failed;
  *note_count = r.note_count;
  renderer_free(&r);
  return ok || llmprof_fail_nomem(err);
}

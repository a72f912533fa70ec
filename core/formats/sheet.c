#include "formats/sheet.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/interrupt.h"
#include "formats/json.h"
#include "frame/cells.h"
#include "os/fs.h"
#include "os/fs_temp_file.h"
#include "text/format.h"
#include "text/lex.h"

enum {
  PIECE = 1 << 18,  /* bytes, about */
  LEAST_WIDTH = 20, /* columns of a last column of text */
  WIDEST = 4096,    /* columns that one long cell may take of every row */
  JSON_DIGITS = 15, /* up to here what is printed is the shortest, too */
};

struct llmprof_sheet {
  llmprof_frame *frame;
  llmprof_sheet_column *columns;
  size_t count;
  llmprof_sheet_options options;
  const llmprof_column **data; /* by column */
  int64_t *cells;              /* by column, of the block in which `row` lies */
  size_t *widths;              /* lines: by column, of the widest cell */
  llmprof_buffer cell;         /* the one that is being written */
  llmprof_buffer other;
  size_t row; /* the next one */
  bool begun, done;
};

/* ---- cells ---- */

static const llmprof_column *column_of(const llmprof_sheet *s, size_t i) {
  return s->data[i];
}

/* Before each row. */
static void read_block(llmprof_sheet *s) {
  if (s->row % LLMPROF_BLOCK) return;
  size_t count = llmprof_block(s->row, llmprof_frame_rows(s->frame));
  for (size_t i = 0; i < s->count; i++)
    llmprof_cells(s->data[i], s->row, count, s->cells + i * LLMPROF_BLOCK);
}

static int64_t cell_of(const llmprof_sheet *s, size_t i) {
  return s->cells[i * LLMPROF_BLOCK + s->row % LLMPROF_BLOCK];
}

static bool is_text(const llmprof_sheet *s, size_t i) {
  return column_of(s, i)->type == LLMPROF_STRING_ID;
}

static llmprof_slice text_of(const llmprof_sheet *s, size_t i, int64_t id) {
  llmprof_slice text;
  const llmprof_strings *strings =
      llmprof_column_strings(s->frame, column_of(s, i));
  text.bytes = llmprof_strings_get(strings, (uint32_t)id, &text.size);
  return text;
}

static void put_raw(llmprof_buffer *out, double value) {
  char text[32];
  snprintf(text, sizeof text, "%.15g", value);
  if (strtod(text, NULL) != value) snprintf(text, sizeof text, "%.17g", value);
  char *point = strpbrk(text, ",");
  if (point) *point = '.'; /* of any locale */
  llmprof_buffer_puts(out, text);
}

/* The same for a sheet that people open, with the digits that are measured at
 * most: nine, and whole numbers in full. */
static void put_measured(llmprof_buffer *out, double value) {
  bool whole = fabs(value) >= 1e9 && fabs(value) < 1e18;
  char text[32];
  snprintf(text, sizeof text, whole ? "%.0f" : "%.9g", value);
  char *point = strpbrk(text, ",");
  if (point) *point = '.';
  llmprof_buffer_puts(out, text);
}

/* Is a cell of it an integer with nothing done to it? */
static bool is_plain(const llmprof_sheet *s, size_t i) {
  const llmprof_sheet_column *column = &s->columns[i];
  return column_of(s, i)->type != LLMPROF_F64 &&
         (column->raw || column->whole ||
          (column->scale == 1 && !column->exact));
}

static double scaled(const llmprof_sheet *s, size_t i, int64_t value) {
  bool real = column_of(s, i)->type == LLMPROF_F64;
  return (real ? llmprof_cell_real(value) : (double)value) *
         s->columns[i].scale;
}

/* Append the cell of a column of numbers. */
static void put_number(const llmprof_sheet *s, llmprof_buffer *out, size_t i,
                       int64_t value, bool for_people) {
  const llmprof_sheet_column *column = &s->columns[i];
  llmprof_format format = {
      .digits = column->digits,
      .separator =
          for_people && !(is_plain(s, i) && column->name) ? "," : NULL};
  if (is_plain(s, i))
    llmprof_format_integer(out, LLMPROF_PLAIN, value, &format);
  else if (column->raw)
    put_raw(out, llmprof_cell_real(value));
  else if (column->exact)
    llmprof_buffer_printf(out, "%.*f", column->digits, scaled(s, i, value));
  else
    llmprof_format_number(out, LLMPROF_PLAIN, scaled(s, i, value), &format);
}

/* ---- CSV ---- */

/* Is the text a number? Of such nobody makes a formula. */
static bool is_number(llmprof_slice text) {
  if (memchr(text.bytes, 'n', text.size) || memchr(text.bytes, 'N', text.size))
    return false;
  char *end;
  strtod(text.bytes, &end);
  while (end > text.bytes && *end && strchr(" \t\r\n\v\f", *end)) end++;
  return end == text.bytes + text.size && end > text.bytes;
}

static bool is_formula(llmprof_slice text) {
  return text.size && memchr("=+@\t\r-", *text.bytes, 6) && !is_number(text);
}

/* What of a field makes more of it than its bytes. */
static void look(llmprof_slice text, bool *unclean, bool *quoted) {
  for (size_t i = 0; i < text.size; i++) {
    unsigned char c = (unsigned char)text.bytes[i];
    *unclean |= c < ' ' || c >= 127;
    *quoted |= c == ',' || c == '"' || c == '\n';
  }
}

static void put_quoted(llmprof_buffer *out, llmprof_slice text) {
  llmprof_buffer_putc(out, '"');
  for (size_t i = 0, plain = 0; i <= text.size; i++) {
    if (i < text.size && text.bytes[i] != '"') continue;
    llmprof_buffer_add(out, text.bytes + plain, i - plain);
    llmprof_buffer_putc(out, '"');
    if (i < text.size) llmprof_buffer_putc(out, '"');
    plain = i + 1;
  }
}

static void put_field(llmprof_sheet *s, llmprof_buffer *out,
                      llmprof_slice text) {
  bool unclean = false, quoted = false;
  if (s->options.guard && is_formula(text)) {
    llmprof_buffer_clear(&s->other);
    llmprof_buffer_putc(&s->other, '\'');
    llmprof_buffer_add(&s->other, text.bytes, text.size);
    text = (llmprof_slice){s->other.bytes, s->other.size};
  }
  look(text, &unclean, &quoted);
  if (unclean) {
    llmprof_buffer_clear(&s->cell);
    if (s->options.keep_invisible)
      llmprof_text_clean_exact(&s->cell, text.bytes, text.size);
    else
      llmprof_text_clean_lines(&s->cell, text.bytes, text.size);
    text = (llmprof_slice){s->cell.bytes, s->cell.size};
  }
  if (quoted)
    put_quoted(out, text);
  else
    llmprof_buffer_add(out, text.bytes, text.size);
}

static void put_csv_row(llmprof_sheet *s, llmprof_buffer *out) {
  for (size_t i = 0; i < s->count; i++) {
    int64_t value = cell_of(s, i);
    if (i) llmprof_buffer_putc(out, ',');
    if (value == LLMPROF_ABSENT) continue;
    if (is_text(s, i))
      put_field(s, out, text_of(s, i, value));
    else if (s->columns[i].raw && !is_plain(s, i))
      put_measured(out, llmprof_cell_real(value));
    else
      put_number(s, out, i, value, false);
  }
  llmprof_buffer_putc(out, '\n');
}

static void put_csv_titles(llmprof_sheet *s, llmprof_buffer *out) {
  bool guard = s->options.guard;
  s->options.guard = false;
  for (size_t i = 0; i < s->count; i++) {
    if (i) llmprof_buffer_putc(out, ',');
    put_field(s, out, s->columns[i].title);
  }
  s->options.guard = guard;
  llmprof_buffer_putc(out, '\n');
}

/* ---- JSON ---- */

/* The number in the cell as the shortest that reads back as the same. */
static void put_shortest(llmprof_sheet *s, llmprof_buffer *out) {
  const char *text = s->cell.bytes, *point = memchr(text, '.', s->cell.size);
  size_t size = s->cell.size;
  if (!point) {
    llmprof_buffer_add(out, text, size);
    return;
  }
  if (size > JSON_DIGITS || text + size - point > 5) {
    llmprof_lex_put_double(out, strtod(text, NULL));
    return;
  }
  while (text[size - 1] == '0' && text[size - 2] != '.') size--;
  llmprof_buffer_add(out, text, size);
}

static void put_json_cell(llmprof_sheet *s, llmprof_buffer *out, size_t i) {
  int64_t value = cell_of(s, i);
  if (value == LLMPROF_ABSENT) {
    llmprof_buffer_puts(out, "null");
  } else if (is_text(s, i)) {
    llmprof_slice text = text_of(s, i, value);
    llmprof_json_put_any(out, text.bytes, text.size);
  } else {
    llmprof_buffer_clear(&s->cell);
    put_number(s, &s->cell, i, value, false);
    if (!s->cell.failed) put_shortest(s, out);
  }
}

static void put_json_row(llmprof_sheet *s, llmprof_buffer *out) {
  llmprof_buffer_puts(out, s->row ? ",\n  {" : "\n  {");
  for (size_t i = 0; i < s->count; i++) {
    llmprof_buffer_puts(out, i ? ",\n    " : "\n    ");
    llmprof_json_put_any(out, s->columns[i].title.bytes,
                         s->columns[i].title.size);
    llmprof_buffer_puts(out, ": ");
    put_json_cell(s, out, i);
  }
  llmprof_buffer_puts(out, "\n  }");
}

/* ---- lines ---- */

/* What people see of a cell. */
static llmprof_slice shown(llmprof_sheet *s, size_t i) {
  int64_t value = cell_of(s, i);
  llmprof_buffer_clear(&s->cell);
  if (value != LLMPROF_ABSENT && is_text(s, i)) {
    llmprof_slice text = text_of(s, i, value);
    llmprof_text_clean(&s->cell, text.bytes, text.size);
  } else if (value != LLMPROF_ABSENT) {
    put_number(s, &s->cell, i, value, true);
  }
  return (llmprof_slice){s->cell.size ? s->cell.bytes : "", s->cell.size};
}

static void widen(llmprof_sheet *s, size_t i, size_t width) {
  if (width > WIDEST) width = WIDEST;
  if (width > s->widths[i]) s->widths[i] = width;
}

/* What the terminal leaves of its width for a last column of text. */
static void cut_last(llmprof_sheet *s) {
  size_t used = 0, last = s->count - 1, room = LEAST_WIDTH;
  if (!s->options.width || !is_text(s, last)) return;
  for (size_t i = 0; i < last; i++) used += s->widths[i] + 2;
  if (s->options.width > used + room) room = s->options.width - used;
  s->options.width = room;
  if (s->widths[last] > room) s->widths[last] = room;
}

static bool measure(llmprof_sheet *s, llmprof_error *err) {
  s->widths = llmprof_zalloc(s->count, sizeof *s->widths);
  if (!s->widths) return llmprof_fail_nomem(err);
  for (size_t i = 0; i < s->count; i++)
    widen(s, i,
          llmprof_text_width(s->columns[i].title.bytes,
                             s->columns[i].title.size));
  for (; s->row < llmprof_frame_rows(s->frame); s->row++) {
    if (llmprof_interrupted_at(s->row)) return llmprof_fail_interrupted(err);
    read_block(s);
    for (size_t i = 0; i < s->count; i++) {
      llmprof_slice cell = shown(s, i);
      widen(s, i,
            is_text(s, i) ? llmprof_text_width(cell.bytes, cell.size)
                          : cell.size);
    }
  }
  s->row = 0;
  cut_last(s);
  return !s->cell.failed || llmprof_fail_nomem(err);
}

static void put_aligned(llmprof_sheet *s, llmprof_buffer *out, size_t i,
                        llmprof_slice cell) {
  llmprof_align align = is_text(s, i) ? LLMPROF_LEFT : LLMPROF_RIGHT;
  if (i) llmprof_buffer_fill(out, ' ', 2);
  llmprof_text_pad(out, cell.bytes, cell.size, s->widths[i], align);
}

static void end_line(llmprof_buffer *out) {
  while (out->size && out->bytes[out->size - 1] == ' ') out->size--;
  llmprof_buffer_putc(out, '\n');
}

static void put_line(llmprof_sheet *s, llmprof_buffer *out) {
  for (size_t i = 0; i < s->count; i++) {
    llmprof_slice cell = shown(s, i);
    if (i + 1 == s->count && s->options.width && is_text(s, i)) {
      llmprof_buffer_clear(&s->other);
      llmprof_text_truncate(&s->other, cell.bytes, cell.size, s->options.width,
                            LLMPROF_MIDDLE);
      cell =
          (llmprof_slice){s->other.size ? s->other.bytes : "", s->other.size};
    }
    put_aligned(s, out, i, cell);
  }
  end_line(out);
}

static void put_titles(llmprof_sheet *s, llmprof_buffer *out) {
  for (size_t i = 0; i < s->count; i++)
    put_aligned(s, out, i, s->columns[i].title);
  end_line(out);
}

/* ---- all of it ---- */

static void begin(llmprof_sheet *s, llmprof_buffer *out) {
  s->begun = true;
  if (s->options.format == LLMPROF_SHEET_CSV)
    put_csv_titles(s, out);
  else if (s->options.format == LLMPROF_SHEET_LINES)
    put_titles(s, out);
  else
    llmprof_buffer_putc(out, '[');
}

static void end(llmprof_sheet *s, llmprof_buffer *out) {
  s->done = true;
  if (s->options.format != LLMPROF_SHEET_JSON) return;
  llmprof_buffer_puts(out, s->row ? "\n]\n" : "]\n");
}

static void put_row(llmprof_sheet *s, llmprof_buffer *out) {
  read_block(s);
  if (s->options.format == LLMPROF_SHEET_CSV)
    put_csv_row(s, out);
  else if (s->options.format == LLMPROF_SHEET_LINES)
    put_line(s, out);
  else
    put_json_row(s, out);
}

static bool has_failed(const llmprof_sheet *s, const llmprof_buffer *out) {
  return out->failed || s->cell.failed || s->other.failed;
}

bool llmprof_sheet_next(llmprof_sheet *s, llmprof_buffer *out,
                        llmprof_error *err) {
  size_t rows = llmprof_frame_rows(s->frame), most = out->size + PIECE;
  if (s->done) return true;
  if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
  if (!s->begun) begin(s, out);
  for (; s->row < rows && out->size < most && !has_failed(s, out); s->row++)
    put_row(s, out);
  if (s->row == rows) end(s, out);
  return !has_failed(s, out) || llmprof_fail_nomem(err);
}

bool llmprof_sheet_send(llmprof_sheet *s, FILE *stream, const char *name,
                        llmprof_error *err) {
  llmprof_buffer text = {0};
  bool ok = true;
  while (ok && !s->done) {
    llmprof_buffer_clear(&text);
    ok = llmprof_sheet_next(s, &text, err) &&
         (fwrite(text.bytes, 1, text.size, stream) == text.size ||
          llmprof_fail_errno(err, errno, "%s", name));
  }
  llmprof_buffer_free(&text);
  return ok;
}

bool llmprof_sheet_save(llmprof_sheet *s, const char *path, bool soon,
                        llmprof_error *err) {
  fs_temp_file file;
  llmprof_buffer text = {0};
  if (!llmprof_fs_temp_file_open(&file, path, NULL, err)) return false;
  file.soon = soon;
  bool ok = true;
  while (ok && !s->done) {
    llmprof_buffer_clear(&text);
    ok = llmprof_sheet_next(s, &text, err) &&
         llmprof_fs_write_fd(file.fd, file.path, text.bytes, text.size, err);
  }
  llmprof_buffer_free(&text);
  if (ok) return llmprof_fs_temp_file_commit(&file, err);
  llmprof_fs_temp_file_discard(&file);
  return false;
}

static bool start(llmprof_sheet *s, const llmprof_sheet_column *columns,
                  llmprof_error *err) {
  s->columns = llmprof_memdup(columns, s->count * sizeof *columns);
  s->data = llmprof_zalloc(s->count, sizeof *s->data);
  s->cells = llmprof_alloc(s->count, LLMPROF_BLOCK * sizeof *s->cells);
  if (!s->columns || !s->data || !s->cells) return llmprof_fail_nomem(err);
  for (size_t i = 0; i < s->count; i++) {
    s->data[i] = llmprof_frame_column(s->frame, columns[i].column, err);
    if (!s->data[i]) return false;
  }
  return s->options.format != LLMPROF_SHEET_LINES || measure(s, err);
}

llmprof_sheet *llmprof_sheet_new(llmprof_frame *frame,
                                 const llmprof_sheet_column *columns,
                                 size_t count,
                                 const llmprof_sheet_options *options,
                                 llmprof_error *err) {
  llmprof_sheet *s = llmprof_zalloc(1, sizeof *s);
  if (!s) return llmprof_fail_nomem(err), NULL;
  s->frame = frame;
  s->count = count;
  s->options = *options;
  if (start(s, columns, err)) return s;
  llmprof_sheet_free(s);
  return NULL;
}

void llmprof_sheet_free(llmprof_sheet *s) {
  if (!s) return;
  llmprof_buffer_free(&s->cell);
  llmprof_buffer_free(&s->other);
  llmprof_free(s->widths);
  llmprof_free(s->cells);
  llmprof_free(s->data);
  llmprof_free(s->columns);
  llmprof_free(s);
}

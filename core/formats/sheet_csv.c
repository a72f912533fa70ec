/* Cells are fetched by the column, some rows at a time: those of a frame that
 * was sorted lie all over memory, and so many of them are on their way at once.
 * Numbers are written into room that was made for all of a row. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/room.h"
#include "formats/sheet_internal.h"
#include "llmprof/alloc.h"
#include "text/digits.h"

enum {
  ROWS = 64
};

typedef enum cell_kind {
  TEXT,
  INTEGER, /* as it is */
  FIXED,   /* with digits behind the point */
  OTHER,
} cell_kind;

/* A column whose cells differ. */
typedef struct fetched {
  size_t column;
  const llmprof_column *from;
  size_t until; /* of `shared`: what stands before it ends there */
  cell_kind kind;
  bool real;
  bool same; /* written as those of the column before, which differ, too */
  int digits;
  double scale;
  int64_t cells[ROWS];
  llmprof_slice texts[ROWS]; /* TEXT: of cells that are there */
} fetched;

struct llmprof_csv_rows {
  size_t first, count;
  llmprof_buffer shared; /* what is the same in all of the rows, in order */
  size_t room;           /* bytes that they take at most, unless texts do not go
                            as they are */
  size_t differ;         /* columns */
  fetched columns[];
};

/* ---- fields ---- */

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
    llmprof_text_clean_lines(&s->cell, text.bytes, text.size);
    text = (llmprof_slice){s->cell.bytes, s->cell.size};
  }
  if (quoted)
    put_quoted(out, text);
  else
    llmprof_buffer_add(out, text.bytes, text.size);
}

/* Bytes of a word, each with its highest bit set if it is... */
#define ALL(byte) ((uint64_t)0x0101010101010101 * (byte))

static uint64_t same(uint64_t word, uint8_t byte) {
  uint64_t off = word ^ ALL(byte);
  return (off - ALL(1)) & ~off;
}

/* Do eight bytes go into a field as they are? May say no where they do. */
static bool is_plain_word(uint64_t word) {
  uint64_t control = (word - ALL(' ')) & ~word, high = word | (word + ALL(1));
  return !((control | high | same(word, ',') | same(word, '"')) & ALL(0x80));
}

static bool is_plain(llmprof_slice text) {
  uint64_t word;
  size_t i = 0;
  for (; i + sizeof word <= text.size; i += sizeof word) {
    memcpy(&word, text.bytes + i, sizeof word);
    if (!is_plain_word(word)) return false;
  }
  word = ALL(' ');
  memcpy(&word, text.bytes + i, text.size - i);
  return is_plain_word(word);
}

/* ---- rows on their way ---- */

static cell_kind kind_of(const llmprof_sheet_column *column, bool integer) {
  if (column->raw) return integer ? INTEGER : OTHER;
  if (integer && (column->whole || (column->scale == 1 && !column->exact)))
    return column->digits ? FIXED : INTEGER;
  return column->exact ? OTHER : FIXED;
}

/* How cells of the column are written. */
static void describe(const llmprof_sheet *s, size_t i, fetched *f) {
  const llmprof_sheet_column *column = &s->columns[i];
  bool integer;
  f->column = i;
  f->from = llmprof_sheet_cells(s, i);
  integer = f->from->type != LLMPROF_F64;
  f->kind =
      f->from->type == LLMPROF_STRING_ID ? TEXT : kind_of(column, integer);
  f->real = !integer;
  f->digits = column->digits;
  f->scale = integer && column->whole ? 1 : column->scale;
}

static bool are_alike(const int64_t *cells, size_t count) {
  int64_t off = 0;
  for (size_t r = 1; r < count; r++) off |= cells[r] ^ cells[0];
  return !off;
}

/* Fetch the cells, of the column before if it is the same: that is slow where
 * rows are sorted. Are they all the same? */
static bool fetch(const llmprof_sheet *s, size_t first, size_t count,
                  fetched *f, const fetched *before) {
  if (s->alike[f->column].is) {
    f->cells[0] = s->alike[f->column].cell;
    return true;
  }
  if (before && before->from->type == f->from->type &&
      before->from->data == f->from->data &&
      before->from->plus == f->from->plus &&
      before->from->index == f->from->index) {
    memcpy(f->cells, before->cells, count * sizeof *f->cells);
    return false;
  }
  llmprof_cells(f->from, first, count, f->cells);
  return are_alike(f->cells, count);
}

/* Bytes of all of them. */
static size_t fetch_texts(const llmprof_sheet *s, fetched *f, size_t count) {
  const llmprof_strings *strings = llmprof_column_strings(s->frame, f->from);
  size_t bytes = 0;
  for (size_t r = 0; r < count; r++) {
    llmprof_slice *text = &f->texts[r];
    if (f->cells[r] == LLMPROF_ABSENT) continue;
    text->bytes =
        llmprof_strings_get(strings, (uint32_t)f->cells[r], &text->size);
    __builtin_prefetch(text->bytes);
    bytes += text->size;
  }
  return bytes;
}

/* Is the column written as the one before, which is right before it? */
static bool are_same(const fetched *a, const fetched *b) {
  return b->column + 1 == a->column && a->kind != TEXT && a->kind == b->kind &&
         a->real == b->real && a->digits == b->digits && a->scale == b->scale;
}

/* ---- cells ---- */

/* Where the next byte goes. */
typedef struct pen {
  llmprof_buffer *out;
  char *at;
  size_t room; /* bytes that there is room for when it is set down */
  size_t last; /* bytes of the field before */
} pen;

static void lift(pen *p) {
  p->out->size = (size_t)(p->at - p->out->bytes);
}

static bool set_down(pen *p) {
  if (!llmprof_buffer_reserve(p->out, p->room)) return false;
  p->at = p->out->bytes + p->out->size;
  return true;
}

static void put_bytes(pen *p, const char *bytes, size_t size) {
  memcpy(p->at, bytes, size);
  p->at += size;
}

static bool put_text(pen *p, llmprof_sheet *s, llmprof_slice text) {
  if (!s->options.guard && is_plain(text)) {
    put_bytes(p, text.bytes, text.size);
    return true;
  }
  lift(p);
  put_field(s, p->out, text);
  return set_down(p);
}

static bool put_slowly(pen *p, const llmprof_sheet *s, size_t i, int64_t cell) {
  lift(p);
  llmprof_sheet_put_number(s, p->out, i, cell, false);
  return set_down(p);
}

static bool put_fixed(pen *p, const llmprof_sheet *s, const fetched *f,
                      int64_t cell) {
  double value = (f->real ? llmprof_cell_real(cell) : (double)cell) * f->scale;
  const double whole = 4503599627370496.0; /* below, and what is as large */
  double size = fabs(value);
  uint64_t number = size < whole ? (uint64_t)size : 0;
  if ((double)number == size) {
    p->at = llmprof_put_whole(p->at, value < 0, number, f->digits);
    return true;
  }
  if (!llmprof_scale_easily(value, f->digits, &number))
    return put_slowly(p, s, f->column, cell);
  p->at = llmprof_put_fixed(p->at, value < 0, number, f->digits);
  return true;
}

static void put_integer(pen *p, int64_t cell) {
  uint64_t magnitude = cell < 0 ? 0 - (uint64_t)cell : (uint64_t)cell;
  p->at = llmprof_put_whole(p->at, cell < 0, magnitude, 0);
}

static bool put_cell(pen *p, llmprof_sheet *s, const fetched *f, size_t r) {
  int64_t cell = f->cells[r];
  if (cell == LLMPROF_ABSENT) return true;
  switch (f->kind) {
  case TEXT:
    return put_text(p, s, f->texts[r]);
  case INTEGER:
    return put_integer(p, cell), true;
  case FIXED:
    return put_fixed(p, s, f, cell);
  case OTHER:
    break;
  }
  return put_slowly(p, s, f->column, cell);
}

/* The number of the column before once more: that of a group of one row is its
 * mean, its median, its least and its largest. */
static bool put_again(pen *p, const fetched *f, size_t r) {
  char text[LLMPROF_FIXED_ROOM / 2];
  if (!f->same || f->cells[r] != f[-1].cells[r] || p->last > sizeof text ||
      f->cells[r] == LLMPROF_ABSENT)
    return false;
  memcpy(text, p->at - 1 - p->last, sizeof text);
  memcpy(p->at, text, sizeof text);
  p->at += p->last;
  return true;
}

/* ---- rows ---- */

/* The cell that all rows have. */
static bool share(llmprof_csv_rows *rows, llmprof_sheet *s, fetched *f) {
  size_t size = f->kind == TEXT ? fetch_texts(s, f, 1) : 0;
  pen p = {.out = &rows->shared, .room = size + LLMPROF_FIXED_ROOM};
  if (!set_down(&p) || !put_cell(&p, s, f, 0)) return false;
  lift(&p);
  return true;
}

static bool fetch_columns(llmprof_csv_rows *rows, llmprof_sheet *s) {
  size_t texts = 0;
  llmprof_buffer_clear(&rows->shared);
  rows->differ = 0;
  for (size_t i = 0; i < s->count; i++) {
    fetched *f = &rows->columns[rows->differ];
    if (i) llmprof_buffer_putc(&rows->shared, ',');
    describe(s, i, f);
    if (fetch(s, rows->first, rows->count, f, rows->differ ? f - 1 : NULL)) {
      if (!share(rows, s, f)) return false;
      continue;
    }
    if (f->kind == TEXT) texts += fetch_texts(s, f, rows->count);
    f->until = rows->shared.size;
    f->same = rows->differ && are_same(f, f - 1);
    rows->differ++;
  }
  llmprof_buffer_putc(&rows->shared, '\n');
  rows->room = texts + rows->count * (rows->shared.size +
                                      rows->differ * LLMPROF_FIXED_ROOM);
  return !rows->shared.failed;
}

/* The rows from s->row on; NULL when out of memory. */
static const llmprof_csv_rows *fetch_rows(llmprof_sheet *s) {
  size_t left = llmprof_frame_rows(s->frame) - s->row;
  llmprof_csv_rows *rows = s->rows;
  if (!rows)
    rows = s->rows =
        llmprof_zalloc(1, sizeof *rows + s->count * sizeof rows->columns[0]);
  if (!rows) return NULL;
  rows->first = s->row;
  rows->count = left < ROWS ? left : ROWS;
  return fetch_columns(rows, s) ? rows : NULL;
}

void llmprof_csv_rows_free(llmprof_csv_rows *rows) {
  if (!rows) return;
  llmprof_buffer_free(&rows->shared);
  llmprof_free(rows);
}

static bool put_row(pen *p, llmprof_sheet *s, const llmprof_csv_rows *rows,
                    size_t r) {
  const char *shared = rows->shared.bytes;
  size_t from = 0;
  for (size_t k = 0; k < rows->differ; k++) {
    const fetched *f = &rows->columns[k];
    put_bytes(p, shared + from, f->until - from);
    from = f->until;
    if (put_again(p, f, r)) continue;
    size_t begin = (size_t)(p->at - p->out->bytes);
    if (!put_cell(p, s, f, r)) return false;
    p->last = (size_t)(p->at - p->out->bytes) - begin;
  }
  put_bytes(p, shared + from, rows->shared.size - from);
  return true;
}

static bool put_rows(llmprof_sheet *s, llmprof_buffer *out, size_t end) {
  const llmprof_csv_rows *rows = fetch_rows(s);
  if (!rows) {
    out->failed = true;
    return false;
  }
  pen p = {.out = out, .room = rows->room};
  if (!set_down(&p)) return false;
  for (size_t r = 0; r < rows->count && s->row < end; r++, s->row++)
    if (!put_row(&p, s, rows, r)) return false;
  *p.at = '\0';
  lift(&p);
  return true;
}

void llmprof_sheet_put_csv(llmprof_sheet *s, llmprof_buffer *out, size_t end,
                           size_t most) {
  while (s->row < end && out->size < most && put_rows(s, out, end)) continue;
}

bool llmprof_sheet_look(llmprof_sheet *s, llmprof_error *err) {
  s->alike = llmprof_zalloc(s->count, sizeof *s->alike);
  if (!s->alike) return llmprof_fail_nomem(err);
  for (size_t i = 0; i < s->count; i++)
    if (!llmprof_frame_alike(s->frame, s->columns[i].column, &s->alike[i].cell,
                             &s->alike[i].is, err))
      return false;
  return true;
}

void llmprof_sheet_put_csv_titles(llmprof_sheet *s, llmprof_buffer *out) {
  bool guard = s->options.guard;
  s->options.guard = false;
  for (size_t i = 0; i < s->count; i++) {
    if (i) llmprof_buffer_putc(out, ',');
    put_field(s, out, s->columns[i].title);
  }
  s->options.guard = guard;
  llmprof_buffer_putc(out, '\n');
}

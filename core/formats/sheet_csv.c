/* Cells are fetched by the column, some rows at a time: those of a frame that
 * was sorted lie all over memory, and so many of them are on their way at once.
 * They are written by the column, too, and rows are put together from that:
 * what was written just now is slow to read. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/room.h"
#include "formats/sheet_internal.h"
#include "llmprof/alloc.h"
#include "text/digits.h"
#include "text/shown.h"

enum {
  ROWS = 64,
  NEAR = 24 /* bytes that are copied at once, whatever is behind a field */
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
  int digits;
  double scale;
  int64_t cells[ROWS];
  llmprof_slice fields[ROWS]; /* `bytes` NULL: it takes more than copying */
  char numbers[ROWS][LLMPROF_FIXED_ROOM];
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

/* Of a text that is no shorter than a word. */
static bool are_plain_words(llmprof_slice text) {
  const char *last = text.bytes + text.size - sizeof(uint64_t);
  uint64_t word;
  for (const char *at = text.bytes; at < last; at += sizeof word) {
    memcpy(&word, at, sizeof word);
    if (!is_plain_word(word)) return false;
  }
  memcpy(&word, last, sizeof word);
  return is_plain_word(word);
}

static bool is_plain(llmprof_slice text) {
  uint64_t word = ALL(' ');
  if (text.size >= sizeof word) return are_plain_words(text);
  memcpy(&word, text.bytes, text.size);
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

/* ---- fields of a column ---- */

static char *write_integer(char *at, int64_t cell) {
  uint64_t magnitude = cell < 0 ? 0 - (uint64_t)cell : (uint64_t)cell;
  return llmprof_put_whole(at, cell < 0, magnitude, 0);
}

/* NULL where that is not easy. */
static char *write_fixed(char *at, const fetched *f, int64_t cell) {
  double value = (f->real ? llmprof_cell_real(cell) : (double)cell) * f->scale;
  const double whole = 4503599627370496.0; /* below, and what is as large */
  double size = fabs(value);
  uint64_t number = size < whole ? (uint64_t)size : 0;
  if ((double)number == size)
    return llmprof_put_whole(at, value < 0, number, f->digits);
  if (!llmprof_scale_easily(value, f->digits, &number)) return NULL;
  return llmprof_put_fixed(at, value < 0, number, f->digits);
}

static llmprof_slice write_number(const fetched *f, int64_t cell, char *room) {
  char *end = room;
  if (cell != LLMPROF_ABSENT)
    end = f->kind == INTEGER ? write_integer(room, cell)
          : f->kind == FIXED ? write_fixed(room, f, cell)
                             : NULL;
  return end ? (llmprof_slice){room, (size_t)(end - room)}
             : (llmprof_slice){NULL, 0};
}

static bool are_same(const fetched *a, const fetched *b) {
  return a->kind == b->kind && a->real == b->real && a->digits == b->digits &&
         a->scale == b->scale;
}

/* before: the column before, or NULL: the number of a group of one row is its
 * mean, its median, its least and its largest. */
static void write_numbers(fetched *f, const fetched *before, size_t count) {
  bool same = before && are_same(f, before);
  for (size_t r = 0; r < count; r++)
    f->fields[r] = same && f->cells[r] == before->cells[r]
                       ? before->fields[r]
                       : write_number(f, f->cells[r], f->numbers[r]);
}

static void fetch_texts(const llmprof_sheet *s, fetched *f, size_t count) {
  const llmprof_strings *strings = llmprof_column_strings(s->frame, f->from);
  for (size_t r = 0; r < count; r++) {
    llmprof_slice *text = &f->fields[r];
    *text = (llmprof_slice){"", 0};
    if (f->cells[r] == LLMPROF_ABSENT) continue;
    text->bytes =
        llmprof_strings_get(strings, (uint32_t)f->cells[r], &text->size);
    __builtin_prefetch(text->bytes);
  }
}

/* Bytes of all of them. */
static size_t write_texts(const llmprof_sheet *s, fetched *f, size_t count) {
  size_t bytes = 0;
  fetch_texts(s, f, count);
  for (size_t r = 0; r < count; r++) {
    llmprof_slice *text = &f->fields[r];
    bytes += text->size;
    if (text->size && (s->options.guard || !is_plain(*text)))
      *text = (llmprof_slice){NULL, 0};
  }
  return bytes;
}

/* Bytes of texts. */
static size_t write_fields(const llmprof_sheet *s, fetched *f,
                           const fetched *before, size_t count) {
  if (f->kind == TEXT) return write_texts(s, f, count);
  write_numbers(f, before, count);
  return 0;
}

static void put_slowly(llmprof_sheet *s, llmprof_buffer *out, const fetched *f,
                       size_t r) {
  int64_t cell = f->cells[r];
  if (f->kind == TEXT)
    put_field(s, out, llmprof_sheet_text(s, f->column, cell));
  else
    llmprof_sheet_put_number(s, out, f->column, cell, false);
}

/* ---- rows ---- */

/* The cell that all rows have. */
static void share(llmprof_csv_rows *rows, llmprof_sheet *s, fetched *f) {
  write_fields(s, f, NULL, 1);
  if (f->fields[0].bytes)
    llmprof_buffer_add(&rows->shared, f->fields[0].bytes, f->fields[0].size);
  else
    put_slowly(s, &rows->shared, f, 0);
}

static bool fetch_columns(llmprof_csv_rows *rows, llmprof_sheet *s) {
  size_t texts = 0;
  llmprof_buffer_clear(&rows->shared);
  rows->differ = 0;
  for (size_t i = 0; i < s->count; i++) {
    fetched *f = &rows->columns[rows->differ];
    if (i) llmprof_buffer_putc(&rows->shared, ',');
    describe(s, i, f);
    const fetched *before = rows->differ ? f - 1 : NULL;
    if (fetch(s, rows->first, rows->count, f, before)) {
      share(rows, s, f);
      continue;
    }
    texts += write_fields(s, f, before, rows->count);
    f->until = rows->shared.size;
    rows->differ++;
  }
  llmprof_buffer_putc(&rows->shared, '\n');
  rows->room =
      texts + NEAR +
      rows->count * (rows->shared.size + rows->differ * LLMPROF_FIXED_ROOM);
  return llmprof_buffer_reserve(&rows->shared, NEAR);
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

/* Where the next byte goes. */
typedef struct pen {
  llmprof_buffer *out;
  char *at;
  size_t room; /* bytes that there is room for when it is set down */
} pen;

static void lift(pen *p) {
  p->out->size = (size_t)(p->at - p->out->bytes);
}

static bool set_down(pen *p) {
  if (!llmprof_buffer_reserve(p->out, p->room)) return false;
  p->at = p->out->bytes + p->out->size;
  return true;
}

/* Of bytes that NEAR more may be read behind. */
static void put_near(pen *p, const char *bytes, size_t size) {
  memcpy(p->at, bytes, NEAR);
  if (size > NEAR) memcpy(p->at + NEAR, bytes + NEAR, size - NEAR);
  p->at += size;
}

/* Of any bytes, most often of a few words. */
static void put_text(pen *p, const char *bytes, size_t size) {
  char *at = p->at;
  p->at += size;
  if (size < sizeof(uint64_t) || size > 8 * sizeof(uint64_t)) {
    memcpy(at, bytes, size);
    return;
  }
  char *last = p->at - sizeof(uint64_t);
  const char *from = bytes + size - sizeof(uint64_t);
  for (; at < last; at += sizeof(uint64_t), bytes += sizeof(uint64_t))
    memcpy(at, bytes, sizeof(uint64_t));
  memcpy(last, from, sizeof(uint64_t));
}

static bool put_cell(pen *p, llmprof_sheet *s, const fetched *f, size_t r) {
  llmprof_slice field = f->fields[r];
  if (!field.bytes) {
    lift(p);
    put_slowly(s, p->out, f, r);
    return set_down(p);
  }
  if (f->kind == TEXT)
    put_text(p, field.bytes, field.size);
  else
    put_near(p, field.bytes, field.size);
  return true;
}

static bool put_row(pen *p, llmprof_sheet *s, const llmprof_csv_rows *rows,
                    size_t r) {
  const char *shared = rows->shared.bytes;
  size_t from = 0;
  for (size_t k = 0; k < rows->differ; k++) {
    const fetched *f = &rows->columns[k];
    put_near(p, shared + from, f->until - from);
    from = f->until;
    if (!put_cell(p, s, f, r)) return false;
  }
  put_near(p, shared + from, rows->shared.size - from);
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

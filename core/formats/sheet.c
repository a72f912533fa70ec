#include "formats/sheet_internal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/crew.h"
#include "base/room.h"
#include "formats/json_text.h"
#include "llmprof/alloc.h"
#include "llmprof/fs.h"
#include "llmprof/interrupt.h"
#include "os/fs_draft.h"
#include "text/lex.h"

enum {
  PIECE = 1 << 18,  /* bytes, about */
  MANY = 1 << 14,   /* rows that are written on several threads, */
  PART = 512,       /* so many of them by one at a time */
  ROOMS = 16,       /* parts that may be written and not passed on yet */
  LEAST_ROOM = 20,  /* columns of a last column of text */
  WIDEST = 4096,    /* columns that one long cell may take of every row */
  JSON_DIGITS = 15, /* up to here what is printed is the shortest, too */
};

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
  int64_t value = llmprof_cell(llmprof_sheet_cells(s, i), s->row);
  if (value == LLMPROF_ABSENT) {
    llmprof_buffer_puts(out, "null");
  } else if (llmprof_sheet_is_text(s, i)) {
    llmprof_slice text = llmprof_sheet_text(s, i, value);
    llmprof_json_put_any(out, text.bytes, text.size);
  } else {
    llmprof_buffer_clear(&s->cell);
    llmprof_sheet_put_number(s, &s->cell, i, value, false);
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
  int64_t value = llmprof_cell(llmprof_sheet_cells(s, i), s->row);
  llmprof_buffer_clear(&s->cell);
  if (value != LLMPROF_ABSENT && llmprof_sheet_is_text(s, i)) {
    llmprof_slice text = llmprof_sheet_text(s, i, value);
    llmprof_text_clean(&s->cell, text.bytes, text.size);
  } else if (value != LLMPROF_ABSENT) {
    llmprof_sheet_put_number(s, &s->cell, i, value, true);
  }
  return (llmprof_slice){s->cell.size ? s->cell.bytes : "", s->cell.size};
}

static void widen(llmprof_sheet *s, size_t i, size_t width) {
  if (width > WIDEST) width = WIDEST;
  if (width > s->widths[i]) s->widths[i] = width;
}

/* What the terminal leaves of its width for a last column of text. */
static void cut_last(llmprof_sheet *s) {
  size_t used = 0, last = s->count - 1, room = LEAST_ROOM;
  if (!s->options.width || !llmprof_sheet_is_text(s, last)) return;
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
    for (size_t i = 0; i < s->count; i++) {
      llmprof_slice cell = shown(s, i);
      widen(s, i,
            llmprof_sheet_is_text(s, i)
                ? llmprof_text_width(cell.bytes, cell.size)
                : cell.size);
    }
  }
  s->row = 0;
  cut_last(s);
  return !s->cell.failed || llmprof_fail_nomem(err);
}

static void put_aligned(llmprof_sheet *s, llmprof_buffer *out, size_t i,
                        llmprof_slice cell) {
  llmprof_align align =
      llmprof_sheet_is_text(s, i) ? LLMPROF_LEFT : LLMPROF_RIGHT;
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
    if (i + 1 == s->count && s->options.width && llmprof_sheet_is_text(s, i)) {
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
    llmprof_sheet_put_csv_titles(s, out);
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

static bool has_failed(const llmprof_sheet *s, const llmprof_buffer *out) {
  return out->failed || s->cell.failed || s->other.failed;
}

static bool put_rows(llmprof_sheet *s, llmprof_buffer *out, size_t end,
                     size_t most, llmprof_error *err) {
  bool json = s->options.format == LLMPROF_SHEET_JSON;
  if (s->options.format == LLMPROF_SHEET_CSV)
    llmprof_sheet_put_csv(s, out, end, most);
  for (; !has_failed(s, out) && s->row < end && out->size < most; s->row++) {
    if (json)
      put_json_row(s, out);
    else
      put_line(s, out);
  }
  return !has_failed(s, out) || llmprof_fail_nomem(err);
}

/* ---- where it goes ---- */

/* Text is put into `out`, and goes on from there where there is a file or a
 * stream. */
typedef struct outlet {
  llmprof_buffer *out;
  const fs_draft *file; /* or NULL */
  FILE *stream;         /* or NULL */
  const char *name;     /* of the stream */
} outlet;

static bool goes_on(const outlet *to) {
  return to->file || to->stream;
}

static bool put_into_stream(const outlet *to, const llmprof_buffer *text,
                            llmprof_error *err) {
  size_t size = text->size;
  return !size || fwrite(text->bytes, 1, size, to->stream) == size ||
         llmprof_fail_errno(err, errno, "%s", to->name);
}

/* Pass on what is in a buffer, which may be `out` itself. */
static bool pass_on(const outlet *to, llmprof_buffer *text,
                    llmprof_error *err) {
  bool written = true;
  if (text->failed) return llmprof_fail_nomem(err);
  if (!goes_on(to) && text == to->out) return true;
  if (to->file)
    written = llmprof_fs_write_fd(to->file->fd, to->file->path, text->bytes,
                                  text->size, err);
  else if (to->stream)
    written = put_into_stream(to, text, err);
  else
    llmprof_buffer_add(to->out, text->bytes, text->size);
  llmprof_buffer_clear(text);
  return written && (!to->out->failed || llmprof_fail_nomem(err));
}

/* ---- on several threads ---- */

/* Each worker has a sheet of its own over the same frame. */
struct llmprof_sheet_crowd {
  size_t row, end, workers;
  llmprof_sheet *sheets;
  llmprof_buffer texts[ROOMS]; /* of part i: i % ROOMS */
  const outlet *to;
};

static bool write_part(void *user, size_t worker, size_t part,
                       llmprof_error *err) {
  llmprof_sheet_crowd *c = user;
  llmprof_sheet *s = &c->sheets[worker];
  llmprof_buffer *text = &c->texts[part % ROOMS];
  s->row = c->row + part * PART;
  llmprof_buffer_clear(text);
  if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
  size_t rows = c->end - s->row < PART ? c->end - s->row : PART;
  return put_rows(s, text, s->row + rows, SIZE_MAX, err);
}

static bool take_part(void *user, size_t worker, size_t part,
                      llmprof_error *err) {
  (void)worker;
  llmprof_sheet_crowd *c = user;
  return pass_on(c->to, &c->texts[part % ROOMS], err);
}

static void crowd_free(llmprof_sheet_crowd *c) {
  for (size_t i = 0; c && c->sheets && i < c->workers; i++) {
    llmprof_buffer_free(&c->sheets[i].cell);
    llmprof_buffer_free(&c->sheets[i].other);
    llmprof_csv_rows_free(c->sheets[i].rows);
  }
  for (size_t i = 0; c && i < ROOMS; i++) llmprof_buffer_free(&c->texts[i]);
  if (c) llmprof_free(c->sheets);
  llmprof_free(c);
}

static llmprof_sheet_crowd *crowd_new(const llmprof_sheet *s, size_t workers) {
  llmprof_sheet_crowd *c = llmprof_zalloc(1, sizeof *c);
  if (!c) return NULL;
  c->workers = workers;
  c->sheets = llmprof_zalloc(workers, sizeof *c->sheets);
  for (size_t i = 0; c->sheets && i < workers; i++) {
    c->sheets[i] = *s;
    c->sheets[i].cell = c->sheets[i].other = (llmprof_buffer){0};
    c->sheets[i].rows = NULL;
  }
  if (c->sheets) return c;
  crowd_free(c);
  return NULL;
}

/* The rows up to `end`. */
static bool write_parts(llmprof_sheet *s, const outlet *to, size_t workers,
                        size_t end, llmprof_error *err) {
  if (!s->crowd) s->crowd = crowd_new(s, workers);
  llmprof_sheet_crowd *c = s->crowd;
  if (!c) return llmprof_fail_nomem(err);
  size_t parts = (end - s->row + PART - 1) / PART;
  const llmprof_crew crew = {parts, write_part, take_part, c, ROOMS};
  c->row = s->row;
  c->end = end;
  c->to = to;
  s->row = end;
  return llmprof_crew_run(&crew, workers < c->workers ? workers : c->workers,
                          err);
}

/* All rows at once where they go on, since threads are slow to begin. */
static bool go_on(llmprof_sheet *s, const outlet *to, llmprof_error *err) {
  llmprof_buffer *out = to->out;
  size_t rows = llmprof_frame_rows(s->frame), least = out->size + PIECE;
  if (llmprof_interrupted()) return llmprof_fail_interrupted(err);
  if (!s->begun) begin(s, out);
  size_t workers = llmprof_crew_size(MANY / PART), left = rows - s->row;
  if (workers > 1 && left >= MANY) {
    size_t end = goes_on(to) ? rows : s->row + MANY;
    if (!pass_on(to, out, err) || !write_parts(s, to, workers, end, err))
      return false;
  } else {
    if (left > PART && !llmprof_buffer_reserve(out, 2 * PIECE))
      return llmprof_fail_nomem(err);
    if (!put_rows(s, out, rows, least, err)) return false;
  }
  if (s->row == rows) end(s, out);
  return pass_on(to, out, err);
}

bool llmprof_sheet_next(llmprof_sheet *s, llmprof_buffer *out,
                        llmprof_error *err) {
  const outlet to = {.out = out};
  return s->done || go_on(s, &to, err);
}

/* where: without `out`. */
static bool put_all(llmprof_sheet *s, outlet where, llmprof_error *err) {
  llmprof_buffer text = {0};
  bool ok = true;
  where.out = &text;
  while (ok && !s->done) ok = go_on(s, &where, err);
  llmprof_buffer_free(&text);
  return ok;
}

bool llmprof_sheet_send(llmprof_sheet *s, FILE *stream, const char *name,
                        llmprof_error *err) {
  return put_all(s, (outlet){.stream = stream, .name = name}, err);
}

bool llmprof_sheet_save(llmprof_sheet *s, const char *path, bool soon,
                        llmprof_error *err) {
  fs_draft file;
  if (!llmprof_fs_draft_open(&file, path, NULL, err)) return false;
  file.soon = soon;
  if (put_all(s, (outlet){.file = &file}, err))
    return llmprof_fs_draft_commit(&file, err);
  llmprof_fs_draft_discard(&file);
  return false;
}

static bool start(llmprof_sheet *s, const llmprof_sheet_column *columns,
                  llmprof_error *err) {
  s->columns = llmprof_memdup(columns, s->count * sizeof *columns);
  if (!s->columns) return llmprof_fail_nomem(err);
  for (size_t i = 0; i < s->count; i++) {
    if (!llmprof_frame_column(s->frame, columns[i].column, err)) return false;
  }
  if (s->options.format == LLMPROF_SHEET_CSV) return llmprof_sheet_look(s, err);
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
  llmprof_csv_rows_free(s->rows);
  crowd_free(s->crowd);
  llmprof_free(s->alike);
  llmprof_free(s->widths);
  llmprof_free(s->columns);
  llmprof_free(s);
}

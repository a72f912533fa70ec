/* Lines are split here and handed to libcsv one at a time: that is what gives
 * every row a line number and lets whole lines be skipped as tool messages.
 * libcsv calls back per field; fields gather in `arena` until the row ends. */
#include "formats/csv.h"

#include <csv.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "os/source.h"

enum {
  MAX_ROW_SIZE = 64 * 1024 * 1024, /* a quote left open must not eat a disk */
  QUOTED_LINE = 120,               /* of a broken line, in a message */
};

/* A row being gathered: its field i is arena[ends[i-1]+1 .. ends[i]). */
typedef struct gathered {
  llmprof_buffer arena;
  size_t *ends;
  size_t count, cap;
  llmprof_csv_field *fields; /* filled by publish() */
  size_t fields_cap;
  size_t line;
} gathered;

struct llmprof_csv {
  char *name;
  llmprof_source *source;
  const char *input; /* the current piece of it */
  size_t input_size, input_pos;
  llmprof_buffer line; /* the current line, without its ending */
  size_t line_number;
  llmprof_buffer opening; /* the first line of a row that spans several */

  struct csv_parser parser;
  bool parser_ready;
  bool in_row;      /* a quoted field spans lines */
  bool row_done;    /* libcsv saw the end of a row */
  size_t row_bytes; /* fed to libcsv for this row */
  bool nomem;

  gathered row, header;
  llmprof_csv_row header_row;
  llmprof_csv_options options;
  char *header_has;
};

static bool starts_with(const char *line, size_t size, const char *prefix) {
  size_t n = strlen(prefix);
  return size >= n && memcmp(line, prefix, n) == 0;
}

/* A tool's message outside a quoted field, or a blank line, is no data. */
static bool is_noise(const char *line, size_t size) {
  static const char *const prefixes[] = {
      "==",           "NOTICE:",  "WARNING:", "Generating ",
      "Processing [", "SKIPPED:", "ERROR:",
  };
  while (size && strchr(" \t\r\n", line[size - 1])) size--;
  if (!size) return true;
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
    if (starts_with(line, size, prefixes[i])) return true;
  }
  return false;
}

/* ---- gathering fields ---- */

static void gathered_clear(gathered *g) {
  llmprof_buffer_clear(&g->arena);
  g->count = 0;
}

static void gathered_free(gathered *g) {
  llmprof_buffer_free(&g->arena);
  llmprof_free(g->ends);
  llmprof_free(g->fields);
  *g = (gathered){0};
}

static void on_field(void *bytes, size_t size, void *user) {
  llmprof_csv *csv = user;
  gathered *g = &csv->row;
  if (!llmprof_grow(&g->ends, &g->cap, g->count + 1, sizeof *g->ends)) {
    csv->nomem = true;
    return;
  }
  llmprof_buffer_add(&g->arena, bytes, size);
  g->ends[g->count++] = g->arena.size;
  llmprof_buffer_putc(&g->arena, '\0');
  csv->nomem |= g->arena.failed;
}

static void on_row(int terminator, void *user) {
  (void)terminator;
  llmprof_csv *csv = user;
  csv->row_done = true;
}

/* Point the fields into the arena, which no longer moves. */
static bool publish(gathered *g, llmprof_csv_row *row) {
  if (!llmprof_grow(&g->fields, &g->fields_cap, g->count, sizeof *g->fields))
    return false;
  size_t start = 0;
  for (size_t i = 0; i < g->count; i++) {
    g->fields[i].bytes = g->arena.bytes + start;
    g->fields[i].size = g->ends[i] - start;
    start = g->ends[i] + 1;
  }
  *row = (llmprof_csv_row){g->fields, g->count, g->line};
  return true;
}

/* ---- reading lines ---- */

/* 1: more input, 0: end, -1: failure. */
static int refill(llmprof_csv *csv, llmprof_error *err) {
  csv->input_pos = 0;
  if (!llmprof_source_next(csv->source, &csv->input, &csv->input_size, err))
    return -1;
  return csv->input_size > 0;
}

/* The next line, '\n' or "\r\n" cut off: 1, 0 at the end, -1. */
static int next_line(llmprof_csv *csv, llmprof_error *err) {
  llmprof_buffer_clear(&csv->line);
  bool any = false;
  for (;;) {
    if (csv->input_pos == csv->input_size) {
      int more = refill(csv, err);
      if (more < 0) return -1;
      if (!more) break;
    }
    const char *from = csv->input + csv->input_pos;
    size_t left = csv->input_size - csv->input_pos;
    const char *newline = memchr(from, '\n', left);
    size_t take = newline ? (size_t)(newline - from) : left;
    llmprof_buffer_add(&csv->line, from, take);
    csv->input_pos += take + (newline != NULL);
    any = true;
    if (csv->line.failed) {
      llmprof_fail_nomem(err);
      return -1;
    }
    if (csv->line.size > MAX_ROW_SIZE) {
      llmprof_fail_at(err, LLMPROF_LIMIT, csv->name, csv->line_number + 1, 0,
                      "line is longer than %d MiB", MAX_ROW_SIZE >> 20);
      return -1;
    }
    if (newline) break;
  }
  if (!any) return 0;
  csv->line_number++;
  if (csv->line.size && csv->line.bytes[csv->line.size - 1] == '\r')
    csv->line.bytes[--csv->line.size] = '\0';
  return 1;
}

static int fail_text(llmprof_csv *csv, const llmprof_buffer *text, size_t line,
                     const char *what, llmprof_error *err) {
  bool cut = text->size > QUOTED_LINE;
  llmprof_fail_at(err, LLMPROF_SYNTAX, csv->name, line, 0, "%s: %.*s%s", what,
                  (int)(cut ? QUOTED_LINE : text->size),
                  text->size ? text->bytes : "", cut ? "..." : "");
  return -1;
}

static int fail_line(llmprof_csv *csv, size_t line, const char *what,
                     llmprof_error *err) {
  return fail_text(csv, &csv->line, line, what, err);
}

/* ---- rows ---- */

static void *hook_realloc(void *ptr, size_t size) {
  return llmprof_resize(ptr, size, 1);
}

static int is_newline(unsigned char c) {
  return c == '\n';
}

static bool parser_start(llmprof_csv *csv) {
  if (csv->parser_ready) csv_free(&csv->parser);
  csv->parser_ready = csv_init(&csv->parser, CSV_STRICT) == 0;
  if (!csv->parser_ready) return false;
  csv_set_realloc_func(&csv->parser, hook_realloc);
  csv_set_free_func(&csv->parser, llmprof_free);
  csv_set_term_func(&csv->parser, is_newline);
  csv->in_row = false;
  return true;
}

static bool feed(llmprof_csv *csv, const char *bytes, size_t size) {
  csv->row_bytes += size;
  return csv_parse(&csv->parser, bytes, size, on_field, on_row, csv) == size &&
         !csv->nomem;
}

static int fail_feed(llmprof_csv *csv, llmprof_error *err) {
  if (csv->nomem || csv_error(&csv->parser) == CSV_ENOMEM) {
    llmprof_fail_nomem(err);
    return -1;
  }
  return fail_line(csv, csv->line_number, "broken quoting", err);
}

/* Feed the current line: 1 if it ends a row, 0 if a quoted field goes on. */
static int feed_line(llmprof_csv *csv, llmprof_error *err) {
  if (!csv->in_row) {
    gathered_clear(&csv->row);
    csv->row.line = csv->line_number;
    csv->row_bytes = 0;
  }
  csv->row_done = false;
  if (!feed(csv, csv->line.bytes, csv->line.size) || !feed(csv, "\n", 1))
    return fail_feed(csv, err);
  if (csv->row_done) {
    csv->in_row = false;
    return 1;
  }
  if (!csv->in_row) {
    llmprof_buffer_clear(&csv->opening);
    llmprof_buffer_add(&csv->opening, csv->line.bytes, csv->line.size);
    csv->nomem |= csv->opening.failed;
    if (csv->nomem) return fail_feed(csv, err);
  }
  csv->in_row = true;
  if (csv->row_bytes > MAX_ROW_SIZE)
    return fail_text(csv, &csv->opening, csv->row.line,
                     "quoted field is too long", err);
  return 0;
}

static int unclosed(llmprof_csv *csv, llmprof_error *err) {
  return fail_text(csv, &csv->opening, csv->row.line,
                   "quoted field is never closed", err);
}

/* The next row, repeated headers included, in csv->row: 1, 0 at the end. */
static int raw_row(llmprof_csv *csv, llmprof_error *err) {
  for (;;) {
    int got = next_line(csv, err);
    if (got < 0) return -1;
    if (!got) break;
    if (!csv->in_row && is_noise(csv->line.bytes, csv->line.size)) continue;
    got = feed_line(csv, err);
    if (got != 0) return got;
  }
  return csv->in_row ? unclosed(csv, err) : 0;
}

static bool has_field(const llmprof_csv_row *row, const char *wanted) {
  size_t size = strlen(wanted);
  for (size_t i = 0; i < row->count; i++) {
    if (row->fields[i].size == size &&
        memcmp(row->fields[i].bytes, wanted, size) == 0)
      return true;
  }
  return false;
}

/* Keep the row just read as header. */
static bool keep_header(llmprof_csv *csv, llmprof_error *err) {
  csv->header = csv->row;
  csv->row = (gathered){0};
  return publish(&csv->header, &csv->header_row) || llmprof_fail_nomem(err);
}

/* The current line as a row: 1 if it is the header, 0 if not, -1. Preamble
 * need not be CSV, so with a wanted field only lines that hold it are parsed,
 * and one that does not parse, or leaves a quote open, is preamble too. */
static int try_header(llmprof_csv *csv, llmprof_csv_row *row,
                      llmprof_error *err) {
  const char *wanted = csv->header_has;
  if (wanted &&
      !memmem(csv->line.bytes, csv->line.size, wanted, strlen(wanted)))
    return 0;
  int got = feed_line(csv, err);
  if (wanted && got <= 0 && !csv->nomem) {
    if (parser_start(csv)) return 0;
    llmprof_fail_nomem(err);
    return -1;
  }
  if (got <= 0) return got;
  if (!publish(&csv->row, row)) {
    llmprof_fail_nomem(err);
    return -1;
  }
  return !wanted || has_field(row, wanted);
}

static bool read_header(llmprof_csv *csv, llmprof_error *err) {
  llmprof_csv_row row;
  int got;
  while ((got = next_line(csv, err)) > 0) {
    if (!csv->in_row && is_noise(csv->line.bytes, csv->line.size)) continue;
    int found = try_header(csv, &row, err);
    if (found < 0) return false;
    if (found) return keep_header(csv, err);
  }
  if (got < 0) return false;
  if (csv->in_row) return unclosed(csv, err) == 0;
  if (csv->header_has)
    return llmprof_fail(err, LLMPROF_EMPTY, "%s: no CSV header with \"%s\"",
                        csv->name, csv->header_has);
  return llmprof_fail(err, LLMPROF_EMPTY, "%s: empty, no CSV header",
                      csv->name);
}

/* Fields of a row at least. */
static size_t least_of(const llmprof_csv *csv) {
  const char *last = csv->options.may_end_behind;
  for (size_t i = 0; last && i < csv->header_row.count; i++)
    if (strcmp(csv->header_row.fields[i].bytes, last) == 0) return i + 1;
  return csv->header_row.count;
}

static int check_count(llmprof_csv *csv, llmprof_error *err) {
  size_t want = csv->header_row.count, count = csv->row.count;
  if (count < want && count >= least_of(csv)) {
    while (csv->row.count < want && !csv->nomem) on_field(NULL, 0, csv);
    return csv->nomem ? (llmprof_fail_nomem(err), -1) : 1;
  }
  if (count == want) return 1;
  char what[80];
  snprintf(what, sizeof what, "%zu fields where the header has %zu", count,
           want);
  return fail_line(csv, csv->row.line, what, err);
}

static bool skip_units(llmprof_csv *csv, llmprof_error *err) {
  int got = raw_row(csv, err);
  return got == 0 || (got > 0 && check_count(csv, err) > 0);
}

static bool is_header(const llmprof_csv *csv, const llmprof_csv_row *row) {
  if (row->count != csv->header_row.count) return false;
  for (size_t i = 0; i < row->count; i++) {
    const llmprof_csv_field *field = &row->fields[i];
    const llmprof_csv_field *title = &csv->header_row.fields[i];
    if (title->size != field->size ||
        memcmp(title->bytes, field->bytes, field->size) != 0)
      return false;
  }
  return true;
}

int llmprof_csv_next(llmprof_csv *csv, llmprof_csv_row *row,
                     llmprof_error *err) {
  for (;;) {
    int got = raw_row(csv, err);
    if (got > 0) got = check_count(csv, err);
    if (got <= 0) return got;
    if (!publish(&csv->row, row)) {
      llmprof_fail_nomem(err);
      return -1;
    }
    if (!is_header(csv, row)) return 1;
  }
}

/* ---- opening ---- */

static llmprof_csv *csv_new(const char *name,
                            const llmprof_csv_options *options,
                            llmprof_error *err) {
  llmprof_csv *csv = llmprof_zalloc(1, sizeof *csv);
  if (!csv) return llmprof_fail_nomem(err), NULL;
  csv->name = llmprof_strdup(name);
  bool ok = csv->name && parser_start(csv);
  if (options) csv->options = *options;
  if (csv->options.header_has) {
    csv->header_has = llmprof_strdup(csv->options.header_has);
    ok = ok && csv->header_has;
  }
  if (ok) return csv;
  llmprof_csv_close(csv);
  return llmprof_fail_nomem(err), NULL;
}

static llmprof_csv *start(llmprof_csv *csv, llmprof_error *err) {
  if (read_header(csv, err) &&
      (!csv->options.units_row || skip_units(csv, err)))
    return csv;
  llmprof_csv_close(csv);
  return NULL;
}

/* The source becomes the csv's. */
static llmprof_csv *open_source(const char *name, llmprof_source *source,
                                const llmprof_csv_options *options,
                                llmprof_error *err) {
  if (!source) return NULL;
  llmprof_csv *csv = csv_new(name, options, err);
  if (!csv) return llmprof_source_close(source), NULL;
  csv->source = source;
  return start(csv, err);
}

llmprof_csv *llmprof_csv_open(const char *path,
                              const llmprof_csv_options *options,
                              llmprof_error *err) {
  return open_source(path, llmprof_source_open(path, err), options, err);
}

llmprof_csv *llmprof_csv_open_bytes(const char *name, const void *bytes,
                                    size_t size,
                                    const llmprof_csv_options *options,
                                    llmprof_error *err) {
  return open_source(name, llmprof_source_bytes(name, bytes, size, err),
                     options, err);
}

void llmprof_csv_close(llmprof_csv *csv) {
  if (!csv) return;
  llmprof_source_close(csv->source);
  if (csv->parser_ready) csv_free(&csv->parser);
  gathered_free(&csv->row);
  gathered_free(&csv->header);
  llmprof_buffer_free(&csv->line);
  llmprof_buffer_free(&csv->opening);
  llmprof_free(csv->name);
  llmprof_free(csv->header_has);
  llmprof_free(csv);
}

const llmprof_csv_row *llmprof_csv_header(const llmprof_csv *csv) {
  return &csv->header_row;
}

/* ---- numbers ---- */

static bool is_absent(const char *text, size_t size) {
  static const char *const words[] = {"n/a",      "(!) n/a",  "no data",
                                      "NaN",      "nan",      "-nan",
                                      "nan(ind)", "-nan(ind)"};
  if (!size) return true;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (strlen(words[i]) == size && memcmp(words[i], text, size) == 0)
      return true;
  }
  return false;
}

/* Copy without separators; 0 unless each stands before three digits. */
static size_t strip_separators(const char *text, size_t size, char *out,
                               size_t room) {
  size_t used = 0;
  bool seen_comma = false, fraction = false;
  size_t digits = 0; /* since the start or the last comma */
  for (size_t i = 0; i < size; i++) {
    char c = text[i];
    if (c == ',') {
      if (fraction || digits == 0 || digits > 3 || (seen_comma && digits != 3))
        return 0;
      seen_comma = true;
      digits = 0;
      continue;
    }
    if (isdigit((unsigned char)c)) {
      digits += !fraction;
    } else if (!strchr("+-.eE", c) || !c) {
      return 0; /* strtod would take hex, inf and nan */
    } else if (c == '.' || c == 'e' || c == 'E') {
      if (seen_comma && !fraction && digits != 3) return 0;
      fraction = true;
    }
    if (used + 1 >= room) return 0;
    out[used++] = c;
  }
  if (seen_comma && !fraction && digits != 3) return 0;
  out[used] = '\0';
  return used;
}

llmprof_number llmprof_csv_number(const char *text, size_t size,
                                  double *value) {
  while (size && isspace((unsigned char)*text)) text++, size--;
  while (size && isspace((unsigned char)text[size - 1])) size--;
  if (is_absent(text, size)) return LLMPROF_NUMBER_ABSENT;
  char plain[64];
  if (!strip_separators(text, size, plain, sizeof plain))
    return LLMPROF_NUMBER_TEXT;
  char *end;
  double got = strtod(plain, &end);
  if (*end || end == plain || got > 1.7976931348623157e308 ||
      got < -1.7976931348623157e308)
    return LLMPROF_NUMBER_TEXT;
  *value = got;
  return LLMPROF_NUMBER_OK;
}

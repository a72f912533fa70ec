/* Written here and not by libyaml's emitter, which quotes more than it must,
 * escapes what lies beyond U+FFFF and takes memory past llmprof/alloc.h. The
 * tests hold every quoting decision against libyaml's reader. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "formats/yaml_scalar.h"
#include "llmprof/path.h"
#include "llmprof/yaml.h"
#include "text/lex.h"

enum {
  INDENT = 2,
  LONGEST_KEY = 1000 /* libyaml looks for the ':' within 1024 characters */
};

typedef struct writer {
  llmprof_buffer *out;
  llmprof_error *err;
} writer;

/* ---- strings ---- */

/* Shown as it stands: no control character, nothing that libyaml takes for a
 * line break (NEL, LS, PS) or a byte order mark. */
static bool is_printable(uint32_t code) {
  if (code < 0xA0) return code >= 0x20 && code < 0x7F;
  return code != 0x2028 && code != 0x2029 && code != 0xFEFF && code != 0xFFFE &&
         code != 0xFFFF;
}

/* All characters printable or in `also`. */
static bool all_printable(const char *text, size_t size, const char *also) {
  for (size_t at = 0, length; at < size; at += length) {
    length = llmprof_lex_utf8(text + at, size - at);
    uint32_t code = llmprof_lex_code_point(text + at, length);
    if (!is_printable(code) &&
        !(code && code < 0x80 && strchr(also, (int)code)))
      return false;
  }
  return true;
}

static bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

/* A blank or the end of the text at `at`. */
static bool breaks_at(const char *text, size_t size, size_t at) {
  return at == size || is_blank(text[at]);
}

static bool starts_plain(const char *text, size_t size) {
  if (strchr(",[]{}#&*!|>'\"%@` \t", *text)) return false;
  if (strchr("-?:", *text) && breaks_at(text, size, 1)) return false;
  bool marker =
      size >= 3 && (memcmp(text, "---", 3) == 0 || memcmp(text, "...", 3) == 0);
  return !marker || !breaks_at(text, size, 3);
}

/* Whether the text can stand without quotes wherever a string can. */
static bool is_plain(const char *text, size_t size) {
  if (llmprof_yaml_type(text, size) != LLMPROF_STRING ||
      (size == 2 && memcmp(text, "<<", 2) == 0) ||
      !all_printable(text, size, "\t") || !starts_plain(text, size) ||
      is_blank(text[size - 1]))
    return false;
  for (size_t i = 0; i < size; i++) {
    if (text[i] == ':' && breaks_at(text, size, i + 1)) return false;
    if (text[i] == '#' && is_blank(text[i - 1])) return false; /* i > 0 */
  }
  return true;
}

static void put_escaped(llmprof_buffer *out, uint32_t code) {
  static const char letters[0x80] = {
      [0] = '0',    ['\a'] = 'a', ['\b'] = 'b', ['\t'] = 't',
      ['\n'] = 'n', ['\v'] = 'v', ['\f'] = 'f', ['\r'] = 'r',
      [0x1B] = 'e', ['"'] = '"',  ['\\'] = '\\'};
  if (code < 0x80 && letters[code])
    llmprof_buffer_printf(out, "\\%c", letters[code]);
  else if (code < 0x100)
    llmprof_buffer_printf(out, "\\x%02" PRIx32, code);
  else
    llmprof_buffer_printf(out, "\\u%04" PRIx32, code);
}

static void put_quoted(llmprof_buffer *out, const char *text, size_t size) {
  llmprof_buffer_putc(out, '"');
  for (size_t at = 0, length; at < size; at += length) {
    length = llmprof_lex_utf8(text + at, size - at);
    uint32_t code = llmprof_lex_code_point(text + at, length);
    if (is_printable(code) && code != '"' && code != '\\')
      llmprof_buffer_add(out, text + at, length);
    else
      put_escaped(out, code);
  }
  llmprof_buffer_putc(out, '"');
}

/* Lines, at least one of which has text. */
static bool is_literal(const char *text, size_t size) {
  return memchr(text, '\n', size) && all_printable(text, size, "\t\n") &&
         strspn(text, "\n \t") < size;
}

static void put_literal(llmprof_buffer *out, const char *text, size_t size,
                        size_t column) {
  bool ends = text[size - 1] == '\n',
       ends_twice = ends && text[size - 2] == '\n';
  llmprof_buffer_putc(out, '|');
  /* Where the first line hides it, the indentation is given. */
  if (strchr(" \t\n", *text)) llmprof_buffer_printf(out, "%d", INDENT);
  if (!ends || ends_twice) llmprof_buffer_putc(out, ends ? '+' : '-');
  for (size_t at = 0; at < size;) {
    const char *newline = memchr(text + at, '\n', size - at);
    size_t line = newline ? (size_t)(newline - text) - at : size - at;
    llmprof_buffer_putc(out, '\n');
    if (line) llmprof_buffer_fill(out, ' ', column);
    llmprof_buffer_add(out, text + at, line);
    at += line + 1;
  }
}

static void put_key(llmprof_buffer *out, const char *key, size_t size) {
  if (is_plain(key, size))
    llmprof_buffer_add(out, key, size);
  else
    put_quoted(out, key, size);
}

/* ---- values ---- */

static bool is_scalar(const llmprof_value *value) {
  llmprof_type type = llmprof_value_type(value);
  return (type != LLMPROF_LIST && type != LLMPROF_MAP) ||
         !llmprof_value_count(value);
}

static bool write_string(writer *w, const llmprof_value *value, size_t column,
                         const llmprof_path *path) {
  size_t size;
  const char *text = llmprof_value_string(value, &size);
  if (!llmprof_lex_is_utf8(text, size))
    return llmprof_path_fail(w->err, LLMPROF_RANGE,
                             "YAML takes only UTF-8: string", path);
  if (is_plain(text, size))
    llmprof_buffer_add(w->out, text, size);
  else if (is_literal(text, size))
    put_literal(w->out, text, size, column);
  else
    put_quoted(w->out, text, size);
  return true;
}

static void put_double(llmprof_buffer *out, double number) {
  if (isnan(number))
    llmprof_buffer_puts(out, ".nan");
  else if (isinf(number))
    llmprof_buffer_puts(out, number < 0 ? "-.inf" : ".inf");
  else
    llmprof_lex_put_double(out, number);
}

/* On the line begun, and end it; `column` is where a literal block goes. */
static bool write_scalar(writer *w, const llmprof_value *value, size_t column,
                         const llmprof_path *path) {
  switch (llmprof_value_type(value)) {
  case LLMPROF_NULL:
    llmprof_buffer_puts(w->out, "null");
    break;
  case LLMPROF_BOOL:
    llmprof_buffer_puts(w->out, llmprof_value_bool(value) ? "true" : "false");
    break;
  case LLMPROF_INT:
    llmprof_buffer_printf(w->out, "%" PRId64, llmprof_value_int(value));
    break;
  case LLMPROF_DOUBLE:
    put_double(w->out, llmprof_value_double(value));
    break;
  case LLMPROF_STRING:
    if (!write_string(w, value, column, path)) return false;
    break;
  case LLMPROF_LIST:
    llmprof_buffer_puts(w->out, "[]");
    break;
  case LLMPROF_MAP:
    llmprof_buffer_puts(w->out, "{}");
    break;
  }
  llmprof_buffer_putc(w->out, '\n');
  return true;
}

static bool write_items(writer *w, const llmprof_value *value, size_t column,
                        const llmprof_path *up, size_t depth);

/* After "-": a list or map starts on the same line. */
static bool write_item(writer *w, const llmprof_value *value, size_t column,
                       const llmprof_path *path, size_t depth) {
  llmprof_buffer_puts(w->out, "- ");
  column += INDENT;
  return is_scalar(value) ? write_scalar(w, value, column, path)
                          : write_items(w, value, column, path, depth + 1);
}

static bool write_entry(writer *w, const llmprof_value *value, size_t column,
                        const llmprof_path *path, size_t depth) {
  if (!llmprof_lex_is_utf8(path->key, path->size))
    return llmprof_path_fail(w->err, LLMPROF_RANGE,
                             "YAML takes only UTF-8: key", path);
  size_t mark = w->out->size;
  put_key(w->out, path->key, path->size);
  if (w->out->size - mark > LONGEST_KEY && !w->out->failed) {
    w->out->size = mark;
    llmprof_buffer_puts(w->out, "? ");
    put_key(w->out, path->key, path->size);
    llmprof_buffer_putc(w->out, '\n');
    llmprof_buffer_fill(w->out, ' ', column);
  }
  llmprof_buffer_putc(w->out, ':');
  column += INDENT;
  if (is_scalar(value)) {
    llmprof_buffer_putc(w->out, ' ');
    return write_scalar(w, value, column, path);
  }
  llmprof_buffer_putc(w->out, '\n');
  llmprof_buffer_fill(w->out, ' ', column);
  return write_items(w, value, column, path, depth + 1);
}

/* A list or map that holds something; the cursor is at its column. */
static bool write_items(writer *w, const llmprof_value *value, size_t column,
                        const llmprof_path *up, size_t depth) {
  bool map = llmprof_value_type(value) == LLMPROF_MAP;
  if (depth > LLMPROF_MAX_DEPTH)
    return llmprof_path_fail(w->err, LLMPROF_LIMIT, "nested too deep", up);
  for (size_t i = 0; i < llmprof_value_count(value); i++) {
    const llmprof_value *item = llmprof_value_at(value, i);
    llmprof_path path = {.up = up, .index = i + 1};
    if (map) path.key = llmprof_value_key(value, i, &path.size);
    if (i) llmprof_buffer_fill(w->out, ' ', column);
    if (!(map ? write_entry : write_item)(w, item, column, &path, depth))
      return false;
  }
  return true;
}

bool llmprof_yaml_write(const llmprof_value *value, llmprof_buffer *out,
                        llmprof_error *err) {
  writer w = {out, err};
  bool ok = is_scalar(value) ? write_scalar(&w, value, INDENT, NULL)
                             : write_items(&w, value, 0, NULL, 1);
  if (!ok) return false;
  return !out->failed || llmprof_fail_nomem(err);
}

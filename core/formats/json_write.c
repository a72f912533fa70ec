/* Written here and not by cJSON, which holds integers as doubles and cuts
 * strings at a NUL. */
#include <inttypes.h>
#include <math.h>

#include "base/interrupt.h"
#include "formats/json.h"
#include "text/lex.h"
#include "text/path.h"
#include "text/text.h"

typedef struct writer {
  llmprof_buffer *out;
  unsigned indent;
  llmprof_error *err;
  size_t written; /* values */
} writer;

static void put_escaped(llmprof_buffer *out, uint32_t code) {
  static const char letters[0x20] = {
      ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'};
  if (code == '"' || code == '\\')
    llmprof_buffer_printf(out, "\\%c", (int)code);
  else if (code < sizeof letters && letters[code])
    llmprof_buffer_printf(out, "\\%c", letters[code]);
  else if (code > 0xFFFF)
    llmprof_buffer_printf(out, "\\u%04" PRIx32 "\\u%04" PRIx32,
                          0xD800 + ((code - 0x10000) >> 10),
                          0xDC00 + ((code - 0x10000) & 0x3FF));
  else
    llmprof_buffer_printf(out, "\\u%04" PRIx32, code);
}

/* Besides what JSON requires, invisible characters: people read these files. */
static bool is_escaped(uint32_t code) {
  if (code >= ' ' && code <= '~') return code == '"' || code == '\\';
  return llmprof_text_is_control(code);
}

/* ASCII that stands as it is. */
static bool is_plain(char c) {
  return c >= ' ' && c <= '~' && c != '"' && c != '\\';
}

/* A string with its quotes; the bytes are UTF-8. */
static void put_string(llmprof_buffer *out, const char *bytes, size_t size) {
  size_t plain = 0; /* where the run of bytes as they stand began */
  llmprof_buffer_putc(out, '"');
  for (size_t at = 0, taken; at < size; at += taken) {
    uint32_t code;
    taken = 1;
    if (is_plain(bytes[at])) continue;
    taken = llmprof_utf8_decode(bytes + at, size - at, &code);
    if (!is_escaped(code)) continue;
    llmprof_buffer_add(out, bytes + plain, at - plain);
    put_escaped(out, code);
    plain = at + taken;
  }
  llmprof_buffer_add(out, bytes + plain, size - plain);
  llmprof_buffer_putc(out, '"');
}

void llmprof_json_put_any(llmprof_buffer *out, const char *bytes, size_t size) {
  if (llmprof_lex_is_utf8(bytes, size)) {
    put_string(out, bytes, size);
    return;
  }
  llmprof_buffer clean = {0};
  llmprof_text_clean(&clean, bytes, size);
  if (clean.failed)
    out->failed = true;
  else
    put_string(out, clean.bytes, clean.size);
  llmprof_buffer_free(&clean);
}

static bool write_string(writer *w, const llmprof_value *value,
                         const llmprof_path *path) {
  size_t size;
  const char *bytes = llmprof_value_string(value, &size);
  if (!llmprof_lex_is_utf8(bytes, size))
    return llmprof_path_fail(w->err, LLMPROF_RANGE,
                             "JSON takes only UTF-8: string", path);
  put_string(w->out, bytes, size);
  return true;
}

static bool write_double(writer *w, double number, const llmprof_path *path) {
  if (isnan(number))
    return llmprof_path_fail(w->err, LLMPROF_RANGE, "JSON has no NaN: number",
                             path);
  if (isinf(number))
    return llmprof_path_fail(w->err, LLMPROF_RANGE,
                             "JSON has no infinity: number", path);
  llmprof_lex_put_double(w->out, number);
  return true;
}

static void break_line(writer *w, size_t depth) {
  if (!w->indent) return;
  llmprof_buffer_putc(w->out, '\n');
  llmprof_buffer_fill(w->out, ' ', depth * w->indent);
}

static bool write_value(writer *w, const llmprof_value *value,
                        const llmprof_path *path, size_t depth);

static bool write_entry(writer *w, const llmprof_value *map, size_t index,
                        const llmprof_path *up, size_t depth) {
  llmprof_path path = {.up = up};
  path.key = llmprof_value_key(map, index, &path.size);
  if (!llmprof_lex_is_utf8(path.key, path.size))
    return llmprof_path_fail(w->err, LLMPROF_RANGE,
                             "JSON takes only UTF-8: key", &path);
  put_string(w->out, path.key, path.size);
  llmprof_buffer_puts(w->out, w->indent ? ": " : ":");
  return write_value(w, llmprof_value_at(map, index), &path, depth);
}

static bool write_items(writer *w, const llmprof_value *value,
                        const llmprof_path *up, size_t depth) {
  bool map = llmprof_value_type(value) == LLMPROF_MAP;
  size_t count = llmprof_value_count(value);
  if (depth > LLMPROF_MAX_DEPTH)
    return llmprof_path_fail(w->err, LLMPROF_LIMIT, "nested too deep", up);
  llmprof_buffer_putc(w->out, map ? '{' : '[');
  for (size_t i = 0; i < count; i++) {
    llmprof_path path = {.up = up, .index = i + 1};
    if (i) llmprof_buffer_putc(w->out, ',');
    break_line(w, depth);
    if (!(map ? write_entry(w, value, i, up, depth)
              : write_value(w, llmprof_value_at(value, i), &path, depth)))
      return false;
  }
  if (count) break_line(w, depth - 1);
  llmprof_buffer_putc(w->out, map ? '}' : ']');
  return true;
}

static bool write_value(writer *w, const llmprof_value *value,
                        const llmprof_path *path, size_t depth) {
  if (llmprof_interrupted_at(w->written++))
    return llmprof_fail_interrupted(w->err);
  switch (llmprof_value_type(value)) {
  case LLMPROF_NULL:
    llmprof_buffer_puts(w->out, "null");
    return true;
  case LLMPROF_BOOL:
    llmprof_buffer_puts(w->out, llmprof_value_bool(value) ? "true" : "false");
    return true;
  case LLMPROF_INT:
    llmprof_buffer_printf(w->out, "%" PRId64, llmprof_value_int(value));
    return true;
  case LLMPROF_DOUBLE:
    return write_double(w, llmprof_value_double(value), path);
  case LLMPROF_STRING:
    return write_string(w, value, path);
  case LLMPROF_LIST:
  case LLMPROF_MAP:
    break;
  }
  return write_items(w, value, path, depth + 1);
}

bool llmprof_json_write(const llmprof_value *value, unsigned indent,
                        llmprof_buffer *out, llmprof_error *err) {
  writer w = {.out = out, .indent = indent, .err = err};
  if (!write_value(&w, value, NULL, 0)) return false;
  return !out->failed || llmprof_fail_nomem(err);
}

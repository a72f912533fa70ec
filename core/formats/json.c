/* The text is read once, from left to right. cJSON decodes the strings that
 * have escapes; the rest is what it would let pass or lose: the grammar to the
 * letter, exact integers, the length of strings, places for messages. */
#include "formats/json.h"

#include <cjson/cJSON.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bounds.h"
#include "base/interrupt.h"
#include "os/fs.h"
#include "text/lex.h"

enum {
  MOST_DEPTH = 200,
  MOST_SIZE = 256 * 1024 * 1024,
  MOST_NODES = 32 * 1024 * 1024,
};

typedef struct reader {
  const char *name;
  const char *bytes;
  size_t size, at;
  size_t nodes;
  llmprof_buffer texts; /* keys of the maps around, and the string at hand */
  llmprof_error *err;
} reader;

/* ---- messages ---- */

__attribute__((format(printf, 4, 5))) static bool
fail_at(const reader *r, llmprof_code code, size_t offset, const char *fmt,
        ...) {
  char what[256];
  va_list args;
  va_start(args, fmt);
  vsnprintf(what, sizeof what, fmt, args);
  va_end(args);
  size_t line, column;
  llmprof_lex_place(r->bytes, offset, &line, &column);
  return llmprof_fail_at(r->err, code, r->name, line, column, "%s", what);
}

static bool expected(const reader *r, const char *wanted) {
  if (r->at == r->size)
    return fail_at(r, LLMPROF_SYNTAX, r->at, "expected %s, found the end",
                   wanted);
  char quoted[LLMPROF_LEX_QUOTED];
  size_t length = llmprof_lex_utf8(r->bytes + r->at, r->size - r->at);
  llmprof_lex_quote(quoted, r->bytes + r->at, length ? length : 1);
  return fail_at(r, LLMPROF_SYNTAX, r->at, "expected %s, found %s", wanted,
                 quoted);
}

/* Pass the value on; NULL is out of memory. */
static llmprof_value *made(const reader *r, llmprof_value *value) {
  if (!value) llmprof_fail_nomem(r->err);
  return value;
}

/* ---- words and numbers ---- */

static int peek(const reader *r) {
  return r->at < r->size ? (unsigned char)r->bytes[r->at] : -1;
}

static bool at_digit(const reader *r) {
  return r->at < r->size && llmprof_lex_is_digit(r->bytes[r->at]);
}

static bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static void skip_space(reader *r) {
  while (r->at < r->size && is_space(r->bytes[r->at])) r->at++;
}

static bool take_word(reader *r, const char *word) {
  size_t size = strlen(word);
  if (r->size - r->at < size || memcmp(r->bytes + r->at, word, size) != 0)
    return expected(r, "a value");
  r->at += size;
  return true;
}

static bool skip_digits(reader *r) {
  if (!at_digit(r)) return expected(r, "a digit");
  while (at_digit(r)) r->at++;
  return true;
}

static bool skip_number(reader *r, bool *is_integer) {
  size_t start = r->at;
  *is_integer = true;
  if (peek(r) == '-') r->at++;
  if (peek(r) == '0' && r->at + 1 < r->size &&
      llmprof_lex_is_digit(r->bytes[r->at + 1]))
    return fail_at(r, LLMPROF_SYNTAX, start, "number with a leading zero");
  if (!skip_digits(r)) return false;
  if (peek(r) == '.') {
    *is_integer = false;
    r->at++;
    if (!skip_digits(r)) return false;
  }
  if (peek(r) == 'e' || peek(r) == 'E') {
    *is_integer = false;
    r->at++;
    if (peek(r) == '+' || peek(r) == '-') r->at++;
    if (!skip_digits(r)) return false;
  }
  return true;
}

static llmprof_value *read_number(reader *r) {
  bool is_integer;
  size_t start = r->at;
  if (!skip_number(r, &is_integer)) return NULL;
  const char *text = r->bytes + start;
  int64_t integer;
  double number;
  if (is_integer) {
    if (llmprof_lex_int(text, r->at - start, 10, &integer))
      return made(r, llmprof_value_new_int(integer));
    fail_at(r, LLMPROF_RANGE, start, "integer does not fit into 64 bits");
    return NULL;
  }
  llmprof_code code = llmprof_lex_double(text, r->at - start, &number);
  if (code == LLMPROF_OK) return made(r, llmprof_value_new_double(number));
  if (code == LLMPROF_NOMEM) return made(r, NULL);
  fail_at(r, LLMPROF_RANGE, start, "number is too large for a double");
  return NULL;
}

/* ---- strings ---- */

/* Four hex digits after "\u", or -1. */
static long hex4(const reader *r, size_t at) {
  int64_t code;
  if (r->size - at < 4) return -1;
  for (size_t i = at; i < at + 4; i++) {
    if (!r->bytes[i] || !strchr("0123456789abcdefABCDEF", r->bytes[i]))
      return -1;
  }
  return llmprof_lex_int(r->bytes + at, 4, 16, &code) ? (long)code : -1;
}

/* At "\u": adds the bytes that the code point takes in UTF-8. */
static bool check_unicode(reader *r, size_t *decoded) {
  size_t start = r->at;
  long code = hex4(r, start + 2);
  if (code < 0)
    return fail_at(r, LLMPROF_SYNTAX, start, "\\u without four hex digits");
  r->at += 6;
  if (code < 0xD800 || code > 0xDFFF) {
    *decoded += code < 0x80 ? 1 : code < 0x800 ? 2 : 3;
    return true;
  }
  bool pair = code < 0xDC00 && r->size - r->at >= 6 &&
              memcmp(r->bytes + r->at, "\\u", 2) == 0;
  long low = pair ? hex4(r, r->at + 2) : -1;
  if (low < 0xDC00 || low > 0xDFFF)
    return fail_at(r, LLMPROF_SYNTAX, start, "half of a surrogate pair");
  r->at += 6;
  *decoded += 4;
  return true;
}

static bool check_escape(reader *r, size_t *decoded) {
  if (r->size - r->at < 2) return true; /* check_string sees the end */
  char c = r->bytes[r->at + 1];
  if (c == 'u') return check_unicode(r, decoded);
  if (!c || !strchr("\"\\/bfnrt", c))
    return fail_at(r, LLMPROF_SYNTAX, r->at, "unknown escape in string");
  r->at += 2;
  ++*decoded;
  return true;
}

/* One character as it stands. */
static bool check_plain(reader *r, size_t *decoded) {
  unsigned char c = (unsigned char)r->bytes[r->at];
  if (c < 0x20)
    return fail_at(r, LLMPROF_SYNTAX, r->at,
                   "control character in string: write \\u%04x", c);
  size_t length = llmprof_lex_utf8(r->bytes + r->at, r->size - r->at);
  if (!length) return fail_at(r, LLMPROF_SYNTAX, r->at, "string is not UTF-8");
  r->at += length;
  *decoded += length;
  return true;
}

/* Past the string at a quote: *decoded is its size without escapes. */
static bool check_string(reader *r, size_t *decoded) {
  size_t start = r->at++;
  *decoded = 0;
  for (;;) {
    int c = peek(r);
    if (c < 0 || (c == '\\' && r->at + 1 == r->size))
      return fail_at(r, LLMPROF_SYNTAX, start, "string is never closed");
    if (c == '"') break;
    if (!(c == '\\' ? check_escape(r, decoded) : check_plain(r, decoded)))
      return false;
  }
  r->at++;
  return true;
}

static void *allocate(size_t size) {
  return llmprof_alloc(size, 1);
}

static void set_hooks(void) {
  cJSON_InitHooks(&(cJSON_Hooks){allocate, llmprof_free});
}

/* Behind the texts: a string with escapes, as it stands with its quotes. */
static void add_decoded(reader *r, const char *quoted, size_t size,
                        size_t decoded) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, set_hooks);
  cJSON *string = cJSON_ParseWithLengthOpts(quoted, size, NULL, false);
  if (string)
    llmprof_buffer_add(&r->texts, string->valuestring, decoded);
  else
    r->texts.failed = true; /* nothing else can be wrong after the check */
  cJSON_Delete(string);
}

/* Put the string at a quote behind the texts, with a NUL: it begins where they
 * ended. */
static bool read_string(reader *r, size_t *size) {
  const char *quoted = r->bytes + r->at;
  if (!check_string(r, size)) return false;
  size_t length = (size_t)(r->bytes + r->at - quoted);
  if (length == *size + 2)
    llmprof_buffer_add(&r->texts, quoted + 1, *size);
  else
    add_decoded(r, quoted, length, *size);
  llmprof_buffer_putc(&r->texts, '\0');
  return !r->texts.failed || llmprof_fail_nomem(r->err);
}

/* ---- values ---- */

static llmprof_value *read_value(reader *r, size_t depth);

/* An entry of a map, unless its key is there already. */
static bool read_entry(reader *r, llmprof_value *map, size_t depth) {
  size_t size, before = r->texts.size;
  skip_space(r);
  size_t start = r->at;
  if (peek(r) != '"') return expected(r, "a key in double quotes");
  if (!read_string(r, &size)) return false;
  if (llmprof_value_get(map, r->texts.bytes + before, size)) {
    char quoted[LLMPROF_LEX_QUOTED];
    llmprof_lex_quote(quoted, r->texts.bytes + before, size);
    return fail_at(r, LLMPROF_SYNTAX, start, "duplicate key %s", quoted);
  }
  skip_space(r);
  if (peek(r) != ':') return expected(r, "':'");
  r->at++;
  llmprof_value *value = read_value(r, depth);
  if (!value) return false;
  bool ok = llmprof_value_set(map, r->texts.bytes + before, size, value);
  r->texts.size = before;
  return ok || llmprof_fail_nomem(r->err);
}

static bool read_item(reader *r, llmprof_value *list, size_t depth) {
  llmprof_value *value = read_value(r, depth);
  return value &&
         (llmprof_value_append(list, value) || llmprof_fail_nomem(r->err));
}

/* At '{' or '['. */
static bool read_items(reader *r, llmprof_value *into, size_t depth, bool map) {
  char close = map ? '}' : ']';
  if (depth > MOST_DEPTH)
    return fail_at(r, LLMPROF_LIMIT, r->at, "nested deeper than %d levels",
                   MOST_DEPTH);
  r->at++;
  skip_space(r);
  if (peek(r) == close) {
    r->at++;
    return true;
  }
  for (;;) {
    if (!(map ? read_entry(r, into, depth) : read_item(r, into, depth)))
      return false;
    skip_space(r);
    int c = peek(r);
    if (c != ',' && c != close)
      return expected(r, map ? "',' or '}'" : "',' or ']'");
    r->at++;
    if (c == close) return true;
  }
}

static llmprof_value *read_holder(reader *r, size_t depth, bool map) {
  llmprof_value *value =
      made(r, map ? llmprof_value_new_map() : llmprof_value_new_list());
  if (value && read_items(r, value, depth, map)) return value;
  llmprof_value_free(value);
  return NULL;
}

static llmprof_value *read_text(reader *r) {
  size_t size, before = r->texts.size;
  if (!read_string(r, &size)) return NULL;
  r->texts.size = before;
  return made(r, llmprof_value_new_string(r->texts.bytes + before, size));
}

static llmprof_value *read_value(reader *r, size_t depth) {
  skip_space(r);
  if (llmprof_interrupted_at(r->nodes))
    return llmprof_fail_interrupted(r->err), NULL;
  if (++r->nodes > MOST_NODES)
    return fail_at(r, LLMPROF_LIMIT, r->at, "more than %d values", MOST_NODES),
           NULL;
  switch (peek(r)) {
  case '{':
    return read_holder(r, depth + 1, true);
  case '[':
    return read_holder(r, depth + 1, false);
  case '"':
    return read_text(r);
  case 't':
    return take_word(r, "true") ? made(r, llmprof_value_new_bool(true)) : NULL;
  case 'f':
    return take_word(r, "false") ? made(r, llmprof_value_new_bool(false))
                                 : NULL;
  case 'n':
    return take_word(r, "null") ? made(r, llmprof_value_new_null()) : NULL;
  default:
    if (peek(r) == '-' || at_digit(r)) return read_number(r);
    return expected(r, "a value"), NULL;
  }
}

/* ---- in and out ---- */

static llmprof_value *read_all(reader *r) {
  llmprof_value *value = read_value(r, 0);
  skip_space(r);
  if (!value || r->at == r->size) return value;
  expected(r, "nothing after the value");
  llmprof_value_free(value);
  return NULL;
}

llmprof_value *llmprof_json_parse(const char *bytes, size_t size,
                                  const char *name, llmprof_error *err) {
  reader r = {.name = name, .bytes = bytes, .size = size, .err = err};
  if (size > MOST_SIZE) return llmprof_fail_size(err, name, MOST_SIZE), NULL;
  if (size >= 3 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0) r.at = 3;
  llmprof_value *value = read_all(&r);
  llmprof_buffer_free(&r.texts);
  return value;
}

llmprof_value *llmprof_json_load(const char *path, llmprof_error *err) {
  llmprof_buffer text = {0};
  llmprof_value *value = NULL;
  if (llmprof_fs_read(path, MOST_SIZE, &text, err))
    value = llmprof_json_parse(text.bytes, text.size, path, err);
  llmprof_buffer_free(&text);
  return value;
}

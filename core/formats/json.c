/* Reading takes three steps. The text is checked against the grammar; then
 * cJSON builds its tree; then tree and text are walked in step, the tree for
 * structure and decoded strings, the text for what cJSON cannot hold: exact
 * integers, the length of strings, places. Since the text is known to be
 * valid, the walk finds the next number or string by looking for its first
 * character. */
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
  CJSON_LONGEST_NUMBER = 63 /* cJSON reads no number beyond */
};

_Static_assert((int)MOST_DEPTH <= (int)CJSON_NESTING_LIMIT,
               "cJSON must take every depth that passes the check");

typedef struct reader {
  const char *name;
  const char *bytes;
  size_t size, at;
  size_t nodes, taken;
  bool has_long; /* a number that cJSON would not read */
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

/* ---- checking the grammar ---- */

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

static bool check_word(reader *r, const char *word) {
  size_t size = strlen(word);
  if (r->size - r->at < size || memcmp(r->bytes + r->at, word, size) != 0)
    return expected(r, "a value");
  r->at += size;
  return true;
}

static bool check_digits(reader *r) {
  if (!at_digit(r)) return expected(r, "a digit");
  while (at_digit(r)) r->at++;
  return true;
}

static bool check_number(reader *r, bool *is_integer) {
  size_t start = r->at;
  *is_integer = true;
  if (peek(r) == '-') r->at++;
  if (peek(r) == '0' && r->at + 1 < r->size &&
      llmprof_lex_is_digit(r->bytes[r->at + 1]))
    return fail_at(r, LLMPROF_SYNTAX, start, "number with a leading zero");
  if (!check_digits(r)) return false;
  if (peek(r) == '.') {
    *is_integer = false;
    r->at++;
    if (!check_digits(r)) return false;
  }
  if (peek(r) == 'e' || peek(r) == 'E') {
    *is_integer = false;
    r->at++;
    if (peek(r) == '+' || peek(r) == '-') r->at++;
    if (!check_digits(r)) return false;
  }
  r->has_long |= r->at - start > CJSON_LONGEST_NUMBER;
  return true;
}

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

/* At a quote: *decoded is the string's size without escapes. */
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

static bool check_value(reader *r, size_t depth);

/* `name` with its colon. */
static bool check_key(reader *r) {
  size_t decoded;
  skip_space(r);
  if (peek(r) != '"') return expected(r, "a key in double quotes");
  if (!check_string(r, &decoded)) return false;
  skip_space(r);
  if (peek(r) != ':') return expected(r, "':'");
  r->at++;
  return true;
}

/* At '{' or '['. */
static bool check_items(reader *r, size_t depth, bool map) {
  char close = map ? '}' : ']';
  const char *wanted = map ? "',' or '}'" : "',' or ']'";
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
    if (map && !check_key(r)) return false;
    if (!check_value(r, depth)) return false;
    skip_space(r);
    int c = peek(r);
    if (c != ',' && c != close) return expected(r, wanted);
    r->at++;
    if (c == close) return true;
  }
}

static bool check_value(reader *r, size_t depth) {
  size_t decoded;
  bool is_integer;
  skip_space(r);
  if (llmprof_interrupted_at(r->nodes)) return llmprof_fail_interrupted(r->err);
  if (++r->nodes > MOST_NODES)
    return fail_at(r, LLMPROF_LIMIT, r->at, "more than %d values", MOST_NODES);
  switch (peek(r)) {
  case '{':
    return check_items(r, depth + 1, true);
  case '[':
    return check_items(r, depth + 1, false);
  case '"':
    return check_string(r, &decoded);
  case 't':
    return check_word(r, "true");
  case 'f':
    return check_word(r, "false");
  case 'n':
    return check_word(r, "null");
  default:
    if (peek(r) != '-' && !at_digit(r)) return expected(r, "a value");
    return check_number(r, &is_integer);
  }
}

/* The bytes of a byte order mark. */
static size_t mark_size(const reader *r) {
  return r->size >= 3 && memcmp(r->bytes, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
}

static bool check(reader *r) {
  r->at = mark_size(r);
  if (!check_value(r, 0)) return false;
  skip_space(r);
  return r->at == r->size || expected(r, "nothing after the value");
}

/* ---- cJSON ---- */

/* What is asked to stop gets no more, which ends cJSON. */
static void *hook_malloc(size_t size) {
  return llmprof_interrupted() ? NULL : llmprof_alloc(size, 1);
}

static void set_hooks(void) {
  cJSON_InitHooks(&(cJSON_Hooks){hook_malloc, llmprof_free});
}

/* Move to the next string or number of a text that passed the check. */
static void seek(reader *r) {
  while (r->at < r->size && r->bytes[r->at] != '"' && r->bytes[r->at] != '-' &&
         !llmprof_lex_is_digit(r->bytes[r->at]))
    r->at++;
}

/* Writes a 0 over each number that is too long for cJSON, whose values nobody
 * reads. `bytes` is the text of the reader. */
static void shorten(reader r, char *bytes) {
  bool is_integer;
  size_t size;
  for (r.at = 0; seek(&r), r.at < r.size;) {
    size_t start = r.at;
    if (bytes[start] == '"') {
      check_string(&r, &size);
      continue;
    }
    check_number(&r, &is_integer);
    if (r.at - start <= CJSON_LONGEST_NUMBER) continue;
    memset(bytes + start, ' ', r.at - start);
    bytes[start] = '0';
  }
}

/* NULL when out of memory: nothing else can go wrong after the check. cJSON
 * knows the mark only before texts that are long enough. */
static cJSON *build(const reader *r) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, set_hooks);
  size_t skip = mark_size(r);
  char *copy = r->has_long ? llmprof_memdup(r->bytes, r->size) : NULL;
  if (r->has_long && !copy) return NULL;
  if (copy) shorten(*r, copy);
  const char *bytes = copy ? copy : r->bytes;
  cJSON *tree =
      cJSON_ParseWithLengthOpts(bytes + skip, r->size - skip, NULL, false);
  llmprof_free(copy);
  return tree;
}

/* ---- from cJSON's tree to ours ---- */

static llmprof_value *made(const reader *r, llmprof_value *value) {
  if (!value) llmprof_fail_nomem(r->err);
  return value;
}

static llmprof_value *take_number(reader *r) {
  bool is_integer;
  seek(r);
  size_t start = r->at;
  check_number(r, &is_integer);
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

static llmprof_value *take(reader *r, const cJSON *node);

/* Put the next entry into the map, unless its key is there already. */
static bool take_entry(reader *r, const cJSON *node, llmprof_value *map) {
  size_t size;
  seek(r);
  size_t start = r->at;
  check_string(r, &size);
  if (llmprof_value_get(map, node->string, size)) {
    char quoted[LLMPROF_LEX_QUOTED];
    llmprof_lex_quote(quoted, node->string, size);
    return fail_at(r, LLMPROF_SYNTAX, start, "duplicate key %s", quoted);
  }
  llmprof_value *value = take(r, node);
  if (!value) return false;
  return llmprof_value_set(map, node->string, size, value) ||
         llmprof_fail_nomem(r->err);
}

static bool take_item(reader *r, const cJSON *node, llmprof_value *list) {
  llmprof_value *value = take(r, node);
  if (!value) return false;
  return llmprof_value_append(list, value) || llmprof_fail_nomem(r->err);
}

static llmprof_value *take_items(reader *r, const cJSON *node, bool map) {
  llmprof_value *value =
      made(r, map ? llmprof_value_new_map() : llmprof_value_new_list());
  bool ok = value;
  for (const cJSON *child = node->child; ok && child; child = child->next)
    ok = map ? take_entry(r, child, value) : take_item(r, child, value);
  if (ok) return value;
  llmprof_value_free(value);
  return NULL;
}

static llmprof_value *take(reader *r, const cJSON *node) {
  size_t size;
  if (llmprof_interrupted_at(r->taken++))
    return llmprof_fail_interrupted(r->err), NULL;
  if (cJSON_IsNumber(node)) return take_number(r);
  if (cJSON_IsObject(node)) return take_items(r, node, true);
  if (cJSON_IsArray(node)) return take_items(r, node, false);
  if (cJSON_IsBool(node))
    return made(r, llmprof_value_new_bool(cJSON_IsTrue(node)));
  if (cJSON_IsNull(node)) return made(r, llmprof_value_new_null());
  seek(r);
  check_string(r, &size);
  return made(r, llmprof_value_new_string(node->valuestring, size));
}

/* ---- in and out ---- */

llmprof_value *llmprof_json_parse(const char *bytes, size_t size,
                                  const char *name, llmprof_error *err) {
  reader r = {.name = name, .bytes = bytes, .size = size, .err = err};
  if (size > MOST_SIZE) return llmprof_fail_size(err, name, MOST_SIZE), NULL;
  if (!check(&r)) return NULL;
  cJSON *tree = build(&r);
  if (!tree) return llmprof_fail_nomem(err), NULL;
  r.at = 0;
  llmprof_value *value = take(&r, tree);
  cJSON_Delete(tree);
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

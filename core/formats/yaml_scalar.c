#include "formats/yaml_scalar.h"

#include <math.h>
#include <string.h>

#include "text/lex.h"

static bool is_one_of(const char *text, size_t size, const char *const *words) {
  for (; *words; words++) {
    if (strlen(*words) == size && memcmp(*words, text, size) == 0) return true;
  }
  return false;
}

/* The run of characters out of `set` at the start. */
static size_t run(const char *text, size_t size, const char *set) {
  size_t n = 0;
  while (n < size && text[n] && strchr(set, text[n])) n++;
  return n;
}

static size_t digits(const char *text, size_t size) {
  return run(text, size, "0123456789");
}

static size_t sign(const char *text, size_t size) {
  return size && (*text == '-' || *text == '+');
}

static bool is_based(const char *text, size_t size, const char *prefix,
                     const char *set) {
  return size > 2 && memcmp(text, prefix, 2) == 0 &&
         run(text + 2, size - 2, set) == size - 2;
}

static bool is_hex(const char *text, size_t size) {
  return is_based(text, size, "0x", "0123456789abcdefABCDEF");
}

static bool is_octal(const char *text, size_t size) {
  return is_based(text, size, "0o", "01234567");
}

static bool is_int(const char *text, size_t size) {
  size_t at = sign(text, size);
  if (at < size && at + digits(text + at, size - at) == size) return true;
  return is_hex(text, size) || is_octal(text, size);
}

static bool is_inf(const char *text, size_t size) {
  static const char *const words[] = {".inf", ".Inf", ".INF", NULL};
  size_t at = sign(text, size);
  return is_one_of(text + at, size - at, words);
}

static bool is_nan(const char *text, size_t size) {
  static const char *const words[] = {".nan", ".NaN", ".NAN", NULL};
  return is_one_of(text, size, words);
}

/* [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )? */
static bool is_double(const char *text, size_t size) {
  size_t at = sign(text, size);
  size_t whole = digits(text + at, size - at), fraction = 0;
  at += whole;
  if (at < size && text[at] == '.') {
    at++;
    fraction = digits(text + at, size - at);
    at += fraction;
  }
  if (!whole && !fraction) return false;
  if (at < size && (text[at] == 'e' || text[at] == 'E')) {
    at++;
    at += sign(text + at, size - at);
    size_t exponent = digits(text + at, size - at);
    if (!exponent) return false;
    at += exponent;
  }
  return at == size;
}

llmprof_type llmprof_yaml_type(const char *text, size_t size) {
  static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
  static const char *const bools[] = {"true",  "True",  "TRUE", "false",
                                      "False", "FALSE", NULL};
  if (is_one_of(text, size, nulls)) return LLMPROF_NULL;
  if (is_one_of(text, size, bools)) return LLMPROF_BOOL;
  if (is_int(text, size)) return LLMPROF_INT;
  if (is_double(text, size) || is_inf(text, size) || is_nan(text, size))
    return LLMPROF_DOUBLE;
  return LLMPROF_STRING;
}

llmprof_code llmprof_yaml_int(const char *text, size_t size, int64_t *value) {
  unsigned base = is_hex(text, size) ? 16 : is_octal(text, size) ? 8 : 10;
  size_t prefix = base == 10 ? 0 : 2;
  return llmprof_lex_int(text + prefix, size - prefix, base, value)
             ? LLMPROF_OK
             : LLMPROF_RANGE;
}

llmprof_code llmprof_yaml_double(const char *text, size_t size, double *value) {
  if (is_nan(text, size)) {
    *value = (double)NAN;
  } else if (is_inf(text, size)) {
    *value = *text == '-' ? -(double)INFINITY : (double)INFINITY;
  } else {
    return llmprof_lex_double(text, size, value);
  }
  return LLMPROF_OK;
}

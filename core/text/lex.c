#include "text/lex.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llmprof/alloc.h"

void llmprof_lex_place(const char *bytes, size_t offset, size_t *line,
                       size_t *column) {
  const char *from = bytes, *end = bytes + offset, *newline;
  *line = 1;
  while (from < end && (newline = memchr(from, '\n', (size_t)(end - from)))) {
    from = newline + 1;
    (*line)++;
  }
  *column = (size_t)(end - from) + 1;
}

/* ---- UTF-8 ---- */

static bool in_range(char byte, unsigned low, unsigned high) {
  unsigned char c = (unsigned char)byte;
  return c >= low && c <= high;
}

/* The second byte's range rules out overlong forms, surrogates and what lies
 * beyond U+10FFFF. */
size_t llmprof_lex_utf8(const char *at, size_t left) {
  if (!left) return 0;
  unsigned char lead = (unsigned char)*at;
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  size_t size = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (left < size) return 0;
  unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (!in_range(at[1], low, high)) return 0;
  for (size_t i = 2; i < size; i++) {
    if (!in_range(at[i], 0x80, 0xBF)) return 0;
  }
  return size;
}

bool llmprof_lex_is_utf8(const char *bytes, size_t size) {
  for (size_t at = 0, length; at < size; at += length) {
    length = llmprof_lex_utf8(bytes + at, size - at);
    if (!length) return false;
  }
  return true;
}

const char *llmprof_lex_quote(char *out, const char *bytes, size_t size) {
  enum {
    CUT = 60
  };
  size_t used = 0, at = 0;
  out[used++] = '"';
  while (at < size && used < CUT) {
    size_t length = llmprof_lex_utf8(bytes + at, size - at);
    unsigned char c = (unsigned char)bytes[at];
    if (!length || c < 0x20 || c == 0x7F) {
      used += (size_t)snprintf(out + used, 5, "\\x%02x", c);
      at++;
      continue;
    }
    memcpy(out + used, bytes + at, length);
    used += length;
    at += length;
  }
  snprintf(out + used, LLMPROF_LEX_QUOTED - used, at < size ? "...\"" : "\"");
  return out;
}

/* ---- numbers ---- */

size_t llmprof_lex_digits_at_end(const char *text, size_t size) {
  size_t count = 0;
  while (count < size && llmprof_lex_is_digit(text[size - count - 1])) count++;
  return count;
}

static unsigned digit_value(char c) {
  if (llmprof_lex_is_digit(c)) return (unsigned)(c - '0');
  return (unsigned)((c | 0x20) - 'a') + 10;
}

bool llmprof_lex_int(const char *digits, size_t size, unsigned base,
                     int64_t *value) {
  bool negative = size && *digits == '-';
  if (size && (*digits == '-' || *digits == '+')) digits++, size--;
  uint64_t limit = (uint64_t)INT64_MAX + negative, sum = 0;
  for (size_t i = 0; i < size; i++) {
    unsigned digit = digit_value(digits[i]);
    if (sum > (limit - digit) / base) return false;
    sum = sum * base + digit;
  }
  /* Negating INT64_MAX + 1 as unsigned keeps INT64_MIN defined. */
  *value = (int64_t)(negative ? 0 - sum : sum);
  return true;
}

static bool to_double(const char *text, double *value) {
  locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (!plain) return false;
  *value = strtod_l(text, NULL, plain);
  freelocale(plain);
  return true;
}

llmprof_code llmprof_lex_double(const char *text, size_t size, double *value) {
  char small[64];
  char *copy = small;
  if (size >= sizeof small) copy = llmprof_alloc(size + 1, 1);
  if (!copy) return LLMPROF_NOMEM;
  memcpy(copy, text, size);
  copy[size] = '\0';
  bool read = to_double(copy, value);
  if (copy != small) llmprof_free(copy);
  if (!read) return LLMPROF_NOMEM;
  return isfinite(*value) ? LLMPROF_OK : LLMPROF_RANGE;
}

/* The locale's decimal point, whatever it is, becomes a dot. */
static void use_dot(char *text) {
  char *point = text + strspn(text, "+-0123456789eE");
  size_t size = strcspn(point, "0123456789");
  if (!size) return;
  *point = '.';
  if (size > 1) memmove(point + 1, point + size, strlen(point + size) + 1);
}

void llmprof_lex_put_double(llmprof_buffer *out, double number) {
  char text[64];
  double again = 0;
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, number);
    use_dot(text);
    if (to_double(text, &again) && again == number) break;
  }
  size_t mantissa = strcspn(text, "e");
  llmprof_buffer_add(out, text, mantissa);
  if (!memchr(text, '.', mantissa)) llmprof_buffer_puts(out, ".0");
  llmprof_buffer_puts(out, text + mantissa);
}

/* What the readers and writers of JSON and YAML share: places in a text,
 * UTF-8, numbers that survive both ways in any locale. */
#ifndef LLMPROF_CORE_LEX_H
#define LLMPROF_CORE_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "llmprof/error.h"

/* Line and column, 1-based, column in bytes, of the byte at `offset`. */
void llmprof_lex_place(const char *bytes, size_t offset, size_t *line,
                       size_t *column);

/* Length of the well-formed UTF-8 sequence at `at` (no surrogates, nothing
 * overlong), 0 when there is none. `left` bytes can be read. */
size_t llmprof_lex_utf8(const char *at, size_t left);

/* Whether all of the text is well-formed. */
bool llmprof_lex_is_utf8(const char *bytes, size_t size);

enum {
  LLMPROF_LEX_QUOTED = 96
};

/* An excerpt fit for a message: quoted, on one line, cut after some 60 bytes.
 * Returns out, which has room for LLMPROF_LEX_QUOTED. */
const char *llmprof_lex_quote(char *out, const char *bytes, size_t size);

/* Is it a decimal digit, in any locale? */
static inline bool llmprof_lex_is_digit(char c) {
  return c >= '0' && c <= '9';
}

/* How many decimal digits a text ends with. */
size_t llmprof_lex_digits_at_end(const char *text, size_t size);

/* Digits of the base (2 to 16) with an optional sign; the caller has checked
 * that they are that. False when the number does not fit. */
bool llmprof_lex_int(const char *digits, size_t size, unsigned base,
                     int64_t *value);

/* A decimal number, checked by the caller to be one, rounded to the nearest
 * double in any locale: LLMPROF_OK, _RANGE when it is too large, _NOMEM. */
llmprof_code llmprof_lex_double(const char *text, size_t size, double *value);

/* A finite number so that it reads back as the same double and never as an
 * integer: "1.0", "0.1", "1.0e+30". */
void llmprof_lex_put_double(llmprof_buffer *out, double number);

#endif

/* Numbers for people: "1,234.50", "1.24 ms", "139.80 GiB", "35.2%".
 *
 * Rounding is half away from zero on the exact value: 0.125 is 0.13 and 1245
 * us are 1.25 ms, but 2.675, which is a little less as a double, is 2.67. Where
 * the digits shown are more than a double has, it is printf's. The result does
 * not depend on the locale. Values must be finite; what is absent is the
 * caller's to say. */
#ifndef LLMPROF_FORMAT_H
#define LLMPROF_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"

typedef enum llmprof_quantity {
  LLMPROF_PLAIN,    /* no unit */
  LLMPROF_DURATION, /* of nanoseconds: ns, us, ms, s */
  LLMPROF_BYTES,    /* B, kB, MB, ... by 1000 */
  LLMPROF_BINARY,   /* B, KiB, MiB, ... by 1024 */
  LLMPROF_SI,       /* prefixes by 1000: none, k, M, G, T, P, E */
  LLMPROF_PERCENT,  /* of a fraction: 0.5 is 50% */
} llmprof_quantity;

/* One unit of a quantity; lives as long as the program. */
typedef struct llmprof_unit {
  const char *name;   /* as chosen by callers: "us", "GiB", "T", "" */
  const char *symbol; /* as shown, when another one: "\u00B5s" */
  int power10;        /* one of it is 10^power10 */
  int power2;         /* ... times 2^power2 of the base unit */
  int digits;         /* after the point, unless the caller says */
} llmprof_unit;

enum {
  LLMPROF_OWN_DIGITS = -1, /* the unit's own */
  LLMPROF_MAX_DIGITS = 20,
};

/* How to show a value. Zero-initialise it ({0}) and set what differs. */
typedef struct llmprof_format {
  const llmprof_unit *unit; /* NULL: the one that fits the value */
  int digits;               /* 0 to LLMPROF_MAX_DIGITS, or OWN_DIGITS */
  const char *separator;    /* between thousands; NULL: none */
  const char *suffix;       /* after the unit's name: "/s", "FLOP/s" */
  bool bare;                /* leave out the unit and the suffix */
} llmprof_format;

/* The units of a quantity, smallest first; *count of them. */
const llmprof_unit *llmprof_units(llmprof_quantity quantity, int *count);

/* By its name; NULL when the quantity has no such unit. */
const llmprof_unit *llmprof_unit_named(llmprof_quantity quantity,
                                       const char *name);

/* The unit that fits a value: the smallest in which it still reads as less
 * than the next one once it is rounded to `digits`. Give a whole column the
 * unit of its largest value and its figures have the same digits. NULL when
 * the value is not finite or digits are out of range. */
const llmprof_unit *llmprof_unit_for(llmprof_quantity quantity, double value,
                                     int digits);

/* Append the value: a number of nanoseconds, bytes, or whatever `suffix`
 * counts. False, with nothing appended, when it is not finite or digits are
 * out of range. A value that rounds to zero has no sign. */
bool llmprof_format_number(llmprof_buffer *out, llmprof_quantity quantity,
                           double value, const llmprof_format *format);

/* The same with all the digits of 64 bits; in units by 1024, and with more
 * digits behind the point than 64 bits hold, only as many as a double has. */
bool llmprof_format_integer(llmprof_buffer *out, llmprof_quantity quantity,
                            int64_t value, const llmprof_format *format);

/* Append number / 10^places with `places` digits behind the point, up to
 * LLMPROF_MAX_DIGITS. */
void llmprof_put_fixed(llmprof_buffer *out, bool negative, uint64_t number,
                       int places);

#endif

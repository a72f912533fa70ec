/* A value is first written out exactly, which a binary fraction always can
 * be: it has as many decimal places as bits behind the point. Units that are
 * powers of ten then only move the point, and rounding is done on digits. */
#include "text/format.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "text/digits.h"

enum {
  /* Below, a value is 0 in every unit and with as many digits as allowed. */
  TINY_EXPONENT = -90,
  SLACK = 32,    /* zeros that moving the point may need on either side */
  INTEGER = 310, /* digits of DBL_MAX, and one for a carry */
  PLACES = DBL_MANT_DIG - TINY_EXPONENT,
  ROOM = SLACK + INTEGER + PLACES + SLACK,
};

/* The digits of |value|: `point` of them are in front of the point. */
typedef struct decimal {
  char digits[ROOM];
  int first, count, point;
  bool negative;
} decimal;

/* ---- units ---- */

static const llmprof_unit plain_units[] = {{"", NULL, 0, 0, 0}};
static const llmprof_unit percent_units[] = {{"%", NULL, -2, 0, 1}};
static const llmprof_unit duration_units[] = {
    {"ns", NULL, 0, 0, 0},
    {"us", "\xC2\xB5s", 3, 0, 2},
    {"ms", NULL, 6, 0, 2},
    {"s", NULL, 9, 0, 2},
};
static const llmprof_unit byte_units[] = {
    {"B", NULL, 0, 0, 0},   {"kB", NULL, 3, 0, 2},  {"MB", NULL, 6, 0, 2},
    {"GB", NULL, 9, 0, 2},  {"TB", NULL, 12, 0, 2}, {"PB", NULL, 15, 0, 2},
    {"EB", NULL, 18, 0, 2},
};
static const llmprof_unit binary_units[] = {
    {"B", NULL, 0, 0, 0},    {"KiB", NULL, 0, 10, 2}, {"MiB", NULL, 0, 20, 2},
    {"GiB", NULL, 0, 30, 2}, {"TiB", NULL, 0, 40, 2}, {"PiB", NULL, 0, 50, 2},
    {"EiB", NULL, 0, 60, 2},
};
static const llmprof_unit si_units[] = {
    {"", NULL, 0, 0, 2},   {"k", NULL, 3, 0, 2},  {"M", NULL, 6, 0, 2},
    {"G", NULL, 9, 0, 2},  {"T", NULL, 12, 0, 2}, {"P", NULL, 15, 0, 2},
    {"E", NULL, 18, 0, 2},
};

#define LIST(units) \
  { units, (int)(sizeof(units) / sizeof *(units)) }

static const struct {
  const llmprof_unit *units;
  int count;
} quantities[] = {
    [LLMPROF_PLAIN] = LIST(plain_units),
    [LLMPROF_DURATION] = LIST(duration_units),
    [LLMPROF_BYTES] = LIST(byte_units),
    [LLMPROF_BINARY] = LIST(binary_units),
    [LLMPROF_SI] = LIST(si_units),
    [LLMPROF_PERCENT] = LIST(percent_units),
};

const llmprof_unit *llmprof_units(llmprof_quantity quantity, int *count) {
  *count = quantities[quantity].count;
  return quantities[quantity].units;
}

const llmprof_unit *llmprof_unit_named(llmprof_quantity quantity,
                                       const char *name) {
  int count;
  const llmprof_unit *units = llmprof_units(quantity, &count);
  for (int i = 0; i < count; i++) {
    if (strcmp(units[i].name, name) == 0) return &units[i];
  }
  return NULL;
}

/* ---- decimals ---- */

/* Decimal places that write the value out in full. */
static int exact_places(double value) {
  int exponent;
  frexp(value, &exponent);
  return exponent < DBL_MANT_DIG ? DBL_MANT_DIG - exponent : 0;
}

/* Take over `places` digits at the end of the text and those in front. */
static void take_digits(decimal *d, const char *text, int size, int places) {
  int integer = (int)strspn(text, "0123456789");
  memset(d->digits, '0', sizeof d->digits);
  memcpy(d->digits + SLACK, text, (size_t)integer);
  memcpy(d->digits + SLACK + integer, text + size - places, (size_t)places);
  d->first = SLACK;
  d->count = integer + places;
  d->point = integer;
}

/* Write out a finite value. */
static void expand(decimal *d, double value) {
  int exponent;
  frexp(value, &exponent);
  d->negative = value < 0;
  if (exponent < TINY_EXPONENT) value = 0;
  int places = value != 0 ? exact_places(value) : 0;
  char text[INTEGER + PLACES + 8]; /* sign, point (of any locale), NUL */
  int size = snprintf(text, sizeof text, "%.*f", places, fabs(value));
  take_digits(d, text, size, places);
}

static void expand_integer(decimal *d, int64_t value) {
  uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  char text[24];
  int size = snprintf(text, sizeof text, "%" PRIu64, magnitude);
  d->negative = value < 0;
  take_digits(d, text, size, 0);
}

/* Divide by 10^power10. The array is zeros on both sides of the digits. */
static void move_point(decimal *d, int power10) {
  d->point -= power10;
  if (d->point < 1) {
    d->first -= 1 - d->point;
    d->count += 1 - d->point;
    d->point = 1;
  }
}

/* Cut to `places` behind the point, half away from zero. */
static void round_to(decimal *d, int places) {
  int kept = d->point + places;
  char *digits = d->digits + d->first;
  bool up = kept < d->count && digits[kept] >= '5';
  d->count = kept;
  for (int i = kept - 1; up && i >= 0; i--) {
    up = digits[i] == '9';
    digits[i] = up ? '0' : (char)(digits[i] + 1);
  }
  if (!up) return;
  d->digits[--d->first] = '1'; /* the carry out of 999 */
  d->count++;
  d->point++;
}

/* No zeros in front, but one when nothing else is there. */
static void strip(decimal *d) {
  while (d->point > 1 && d->digits[d->first] == '0') {
    d->first++;
    d->count--;
    d->point--;
  }
}

/* From the base unit to `unit`; a power of two was divided by before. */
static void convert(decimal *d, const llmprof_unit *unit, int places) {
  move_point(d, unit->power10);
  round_to(d, places);
  strip(d);
}

static void convert_number(decimal *d, double value, const llmprof_unit *unit,
                           int places) {
  expand(d, ldexp(value, -unit->power2));
  convert(d, unit, places);
}

static bool is_zero(const decimal *d) {
  for (int i = 0; i < d->count; i++) {
    if (d->digits[d->first + i] != '0') return false;
  }
  return true;
}

/* True when the part before the point is at least `limit`, of 4 digits. */
static bool reaches(const decimal *d, int limit) {
  int integer = 0;
  for (int i = 0; i < d->point && integer < limit; i++)
    integer = integer * 10 + (d->digits[d->first + i] - '0');
  return integer >= limit;
}

/* ---- formats ---- */

static int places_of(const llmprof_unit *unit, int digits) {
  return digits == LLMPROF_OWN_DIGITS ? unit->digits : digits;
}

static bool digits_valid(int digits) {
  return digits == LLMPROF_OWN_DIGITS ||
         (digits >= 0 && digits <= LLMPROF_MAX_DIGITS);
}

const llmprof_unit *llmprof_unit_for(llmprof_quantity quantity, double value,
                                     int digits) {
  if (!isfinite(value) || !digits_valid(digits)) return NULL;
  int count;
  const llmprof_unit *unit = llmprof_units(quantity, &count);
  int limit = quantity == LLMPROF_BINARY ? 1024 : 1000;
  for (; count > 1; unit++, count--) {
    decimal d;
    convert_number(&d, value, unit, places_of(unit, digits));
    if (!reaches(&d, limit)) break;
  }
  return unit;
}

static void append(llmprof_buffer *out, const decimal *d,
                   const char *separator) {
  const char *digits = d->digits + d->first;
  if (d->negative && !is_zero(d)) llmprof_buffer_putc(out, '-');
  for (int i = 0; i < d->point; i++) {
    if (i && separator && (d->point - i) % 3 == 0)
      llmprof_buffer_puts(out, separator);
    llmprof_buffer_putc(out, digits[i]);
  }
  if (d->count == d->point) return;
  llmprof_buffer_putc(out, '.');
  llmprof_buffer_add(out, digits + d->point, (size_t)(d->count - d->point));
}

static void append_unit(llmprof_buffer *out, const llmprof_unit *unit,
                        const char *suffix) {
  const char *symbol = unit->symbol ? unit->symbol : unit->name;
  if (!suffix) suffix = "";
  if (!*symbol && !*suffix) return;
  if (strcmp(symbol, "%") != 0) llmprof_buffer_putc(out, ' ');
  llmprof_buffer_puts(out, symbol);
  llmprof_buffer_puts(out, suffix);
}

static const llmprof_unit *unit_of(llmprof_quantity quantity, double value,
                                   const llmprof_format *format) {
  if (!isfinite(value) || !digits_valid(format->digits)) return NULL;
  if (format->unit) return format->unit;
  return llmprof_unit_for(quantity, value, format->digits);
}

static bool append_value(llmprof_buffer *out, const decimal *d,
                         const llmprof_unit *unit,
                         const llmprof_format *format) {
  append(out, d, format->separator);
  if (!format->bare) append_unit(out, unit, format->suffix);
  return true;
}

/* ---- most values ---- */

enum {
  EASY_SIZE = 64
};

const char llmprof_digit_pairs[200] = "00010203040506070809"
                                      "10111213141516171819"
                                      "20212223242526272829"
                                      "30313233343536373839"
                                      "40414243444546474849"
                                      "50515253545556575859"
                                      "60616263646566676869"
                                      "70717273747576777879"
                                      "80818283848586878889"
                                      "90919293949596979899";

static size_t put_thousands(char *text, size_t at, uint64_t number,
                            char separator) {
  for (int digit = 0; number || !digit; digit++, number /= 10) {
    if (digit && digit % 3 == 0) text[--at] = separator;
    text[--at] = (char)('0' + number % 10);
  }
  return at;
}

/* Append number / 10^places. */
static void append_fixed(llmprof_buffer *out, bool negative, uint64_t number,
                         int places, char separator) {
  char text[EASY_SIZE];
  size_t at = sizeof text;
  if (!separator) {
    char *end = llmprof_put_fixed(text, negative, number, places);
    llmprof_buffer_add(out, text, (size_t)(end - text));
    return;
  }
  negative = negative && number;
  for (int digit = 0; digit < places; digit++, number /= 10)
    text[--at] = (char)('0' + number % 10);
  if (places) text[--at] = '.';
  at = put_thousands(text, at, number, separator);
  if (negative) text[--at] = '-';
  llmprof_buffer_add(out, text + at, sizeof text - at);
}

bool llmprof_scale_easily(double value, int power, uint64_t *number) {
  static const double powers[LLMPROF_EASY_PLACES + 1] = {
      1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
      1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  const double exact = 4503599627370496.0; /* below, halves are doubles */
  if (power < 0 || power > LLMPROF_EASY_PLACES) return false;
  double size = fabs(value), product = size * powers[power];
  if (!(product < exact)) return false;
  if ((double)(uint64_t)size == size) { /* and so is the product */
    *number = (uint64_t)product;
    return true;
  }
  double lost = fma(size, powers[power], -product);
  double part = product - floor(product);
  *number = (uint64_t)product + (part > 0.5 || (part == 0.5 && lost >= 0));
  return true;
}

/* Is the value appended without writing it out exactly? */
static bool append_easily(llmprof_buffer *out, double value,
                          const llmprof_unit *unit,
                          const llmprof_format *format) {
  const char *separator = format->separator ? format->separator : "";
  int places = places_of(unit, format->digits);
  uint64_t number;
  if (unit->power2 || (*separator && separator[1]) ||
      !llmprof_scale_easily(value, places - unit->power10, &number))
    return false;
  append_fixed(out, value < 0, number, places, *separator);
  if (!format->bare) append_unit(out, unit, format->suffix);
  return true;
}

/* Is the integer appended as it is, without a point and in no larger unit? */
static bool append_integer(llmprof_buffer *out, int64_t value,
                           const llmprof_unit *unit,
                           const llmprof_format *format) {
  const char *separator = format->separator ? format->separator : "";
  if (unit->power10 || unit->power2 || places_of(unit, format->digits) ||
      (*separator && separator[1]))
    return false;
  uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  append_fixed(out, value < 0, magnitude, 0, *separator);
  if (!format->bare) append_unit(out, unit, format->suffix);
  return true;
}

bool llmprof_format_number(llmprof_buffer *out, llmprof_quantity quantity,
                           double value, const llmprof_format *format) {
  const llmprof_unit *unit = unit_of(quantity, value, format);
  if (!unit) return false;
  if (append_easily(out, value, unit, format)) return true;
  decimal d;
  convert_number(&d, value, unit, places_of(unit, format->digits));
  return append_value(out, &d, unit, format);
}

bool llmprof_format_integer(llmprof_buffer *out, llmprof_quantity quantity,
                            int64_t value, const llmprof_format *format) {
  const llmprof_unit *unit = unit_of(quantity, (double)value, format);
  if (!unit) return false;
  if (append_integer(out, value, unit, format)) return true;
  if (unit->power2)
    return llmprof_format_number(out, quantity, (double)value, format);
  const int64_t easy = INT64_C(1) << 52;
  if (value > -easy && value < easy &&
      append_easily(out, (double)value, unit, format))
    return true;
  decimal d;
  expand_integer(&d, value);
  convert(&d, unit, places_of(unit, format->digits));
  return append_value(out, &d, unit, format);
}

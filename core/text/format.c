/* A value is made an integer of the last digit that is shown: what a double
 * loses on the way is known exactly (fma), and units that are powers of ten
 * divide integers. Only numbers that are too large for that are printf's. */
#include "text/format.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
  EASY_PLACES = 15,                     /* a power of ten that is a double */
  FIXED_SIZE = LLMPROF_MAX_DIGITS + 24, /* bytes of any number as text */
  LONGEST = DBL_MAX_10_EXP + LLMPROF_MAX_DIGITS + 16 /* bytes of any number */
};

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

/* ---- numbers of the last digit ---- */

/* The digits of number / 10^places, and where they begin. */
static const char *write_fixed(char room[FIXED_SIZE], uint64_t number,
                               int places) {
  char *at = room + FIXED_SIZE - 1;
  *at = '\0';
  for (int i = 0; number || i <= places; i++, number /= 10) {
    if (places && i == places) *--at = '.';
    *--at = (char)('0' + number % 10);
  }
  return at;
}

void llmprof_put_fixed(llmprof_buffer *out, bool negative, uint64_t number,
                       int places) {
  char room[FIXED_SIZE];
  if (negative && number) llmprof_buffer_putc(out, '-');
  llmprof_buffer_puts(out, write_fixed(room, number, places));
}

static uint64_t power_of_ten(int power) {
  uint64_t product = 1;
  while (power-- > 0) product *= 10;
  return product;
}

/* number * 10^power, halves up. */
static bool scale_integer(uint64_t number, int power, uint64_t *scaled) {
  if (power < -18 || power > 18) return false;
  uint64_t by = power_of_ten(power < 0 ? -power : power);
  *scaled = power < 0 ? number / by + (number % by >= by / 2) : number * by;
  return power < 0 || number <= UINT64_MAX / by;
}

/* The nearest integer to value * 10^power, halves away from zero; false where
 * that cannot be told from the product and what was lost in it. */
static bool scale_easily(double value, int power, uint64_t *number) {
  static const double powers[EASY_PLACES + 1] = {
      1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
      1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  const double exact = 4503599627370496.0; /* below, halves are doubles */
  double size = fabs(value);
  if (power < 0) /* what is behind the point makes no half of an integer */
    return size < 0x1p63 && scale_integer((uint64_t)size, power, number);
  if (power > EASY_PLACES) return false;
  double product = size * powers[power];
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

/* ---- formats ---- */

static int places_of(const llmprof_unit *unit, int digits) {
  return digits == LLMPROF_OWN_DIGITS ? unit->digits : digits;
}

static bool digits_valid(int digits) {
  return digits == LLMPROF_OWN_DIGITS ||
         (digits >= 0 && digits <= LLMPROF_MAX_DIGITS);
}

/* Is the value, rounded, at least `limit` of a unit? */
static bool reaches(double value, const llmprof_unit *unit, int places,
                    int limit) {
  uint64_t number;
  value = ldexp(fabs(value), -unit->power2);
  if (scale_easily(value, places - unit->power10, &number))
    return (double)number >= limit * pow(10, places);
  return value >= limit * pow(10, unit->power10);
}

const llmprof_unit *llmprof_unit_for(llmprof_quantity quantity, double value,
                                     int digits) {
  if (!isfinite(value) || !digits_valid(digits)) return NULL;
  int count;
  const llmprof_unit *unit = llmprof_units(quantity, &count);
  int limit = quantity == LLMPROF_BINARY ? 1024 : 1000;
  while (count-- > 1 && reaches(value, unit, places_of(unit, digits), limit))
    unit++;
  return unit;
}

/* Append a text of digits, `places` of them behind a point, of any locale. */
static void append(llmprof_buffer *out, bool negative, const char *text,
                   int places, const char *separator) {
  size_t size = strlen(text), integer = strspn(text, "0123456789");
  size_t at = separator && *separator ? (integer - 1) % 3 + 1 : integer;
  if (negative && strpbrk(text, "123456789")) llmprof_buffer_putc(out, '-');
  llmprof_buffer_add(out, text, at);
  for (; at < integer; at += 3) {
    llmprof_buffer_puts(out, separator);
    llmprof_buffer_add(out, text + at, 3);
  }
  if (!places) return;
  llmprof_buffer_putc(out, '.');
  llmprof_buffer_add(out, text + size - places, (size_t)places);
}

static void append_unit(llmprof_buffer *out, const llmprof_unit *unit,
                        const llmprof_format *format) {
  const char *symbol = unit->symbol ? unit->symbol : unit->name;
  const char *suffix = format->suffix ? format->suffix : "";
  if (format->bare || (!*symbol && !*suffix)) return;
  if (strcmp(symbol, "%") != 0) llmprof_buffer_putc(out, ' ');
  llmprof_buffer_puts(out, symbol);
  llmprof_buffer_puts(out, suffix);
}

/* Append number / 10^places with its unit. */
static bool append_fixed(llmprof_buffer *out, bool negative, uint64_t number,
                         const llmprof_unit *unit, int places,
                         const llmprof_format *format) {
  char room[FIXED_SIZE];
  append(out, negative, write_fixed(room, number, places), places,
         format->separator);
  append_unit(out, unit, format);
  return true;
}

static const llmprof_unit *unit_of(llmprof_quantity quantity, double value,
                                   const llmprof_format *format) {
  if (!isfinite(value) || !digits_valid(format->digits)) return NULL;
  if (format->unit) return format->unit;
  return llmprof_unit_for(quantity, value, format->digits);
}

bool llmprof_format_number(llmprof_buffer *out, llmprof_quantity quantity,
                           double value, const llmprof_format *format) {
  const llmprof_unit *unit = unit_of(quantity, value, format);
  if (!unit) return false;
  int places = places_of(unit, format->digits);
  uint64_t number;
  double scaled = ldexp(value, -unit->power2);
  if (scale_easily(scaled, places - unit->power10, &number))
    return append_fixed(out, value < 0, number, unit, places, format);
  char text[LONGEST];
  if (unit->power10) scaled /= pow(10, unit->power10);
  snprintf(text, sizeof text, "%.*f", places, fabs(scaled));
  append(out, value < 0, text, places, format->separator);
  append_unit(out, unit, format);
  return true;
}

bool llmprof_format_integer(llmprof_buffer *out, llmprof_quantity quantity,
                            int64_t value, const llmprof_format *format) {
  const llmprof_unit *unit = unit_of(quantity, (double)value, format);
  if (!unit) return false;
  int places = places_of(unit, format->digits);
  uint64_t number = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  if (!unit->power2 && scale_integer(number, places - unit->power10, &number))
    return append_fixed(out, value < 0, number, unit, places, format);
  return llmprof_format_number(out, quantity, (double)value, format);
}

/* A double from 1e-4 to below 1e15 is mantissa / 2^shift, the shift 3 to 66.
 * Its first `count` digits are that times a power of ten up to 20, of which
 * 128 bits hold every bit: what is below the point says how they are rounded,
 * and whether the double is the nearest to them. */
#include "text/decimal.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "text/digits.h"

__extension__ typedef unsigned __int128 wide;

enum {
  MANTISSA_BITS = 53,
  LEAST_POWER = -4, /* of ten, of the first digit */
  MOST_POWER = 14,
  FEWEST_DIGITS = 15, /* of every double */
  MOST_DIGITS = 17    /* tell all of them apart */
};

static const uint64_t tens[] = {1,
                                10,
                                100,
                                1000,
                                10000,
                                100000,
                                1000000,
                                10000000,
                                100000000,
                                1000000000,
                                10000000000,
                                100000000000,
                                1000000000000,
                                10000000000000,
                                100000000000000,
                                1000000000000000,
                                10000000000000000,
                                100000000000000000};

/* Each double is the first one that is not below its power of ten. */
static const double powers[] = {1e-4, 1e-3, 1e-2, 1e-1, 1e0,  1e1, 1e2,
                                1e3,  1e4,  1e5,  1e6,  1e7,  1e8, 1e9,
                                1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

typedef struct decimal {
  uint64_t digits;
  int power; /* of ten, of the first digit */
} decimal;

/* The power of ten of the first digit of a size between the bounds. */
static int power_of(double size) {
  int power = LEAST_POWER;
  while (size >= powers[power + 1 - LEAST_POWER]) power++;
  return power;
}

static wide ten_to(int power) {
  int most = MOST_DIGITS;
  return power <= most ? tens[power] : (wide)tens[most] * tens[power - most];
}

/* mantissa / 2^shift rounded to `count` digits, halves to the even one. Returns
 * whether these read back as it: they are off by less than half of what its
 * neighbours are, which are as far below as above but for powers of two, and
 * of these the fewest digits are exact. */
static bool round_to(uint64_t mantissa, int shift, int count, decimal *made) {
  wide scale = ten_to(count - 1 - made->power), exact = mantissa * scale;
  wide half = (wide)1 << (shift - 1), below = exact & (half * 2 - 1);
  made->digits = (uint64_t)(exact >> shift);
  bool up = below > half || (below == half && made->digits % 2);
  made->digits += up;
  if (made->digits == tens[count]) {
    made->digits /= 10;
    made->power++;
  }
  wide off = 2 * (up ? half * 2 - below : below);
  return off < scale || (off == scale && mantissa % 2 == 0);
}

/* Its digits, without zeros at their end. */
static char *put(char *at, decimal number, int count) {
  char digits[MOST_DIGITS + 3];
  llmprof_put_digits(digits, number.digits);
  int whole = number.power + 1, least = whole < 1 ? 1 : whole;
  while (count > least && digits[count - 1] == '0') count--;
  if (whole > 0) {
    memcpy(at, digits, (size_t)whole);
    at += whole;
  } else {
    *at++ = '0';
  }
  *at++ = '.';
  for (int i = whole; i < 0; i++) *at++ = '0';
  if (whole < 0) whole = 0;
  if (count == whole) *at++ = '0';
  memcpy(at, digits + whole, (size_t)(count - whole));
  return at + (count - whole);
}

char *llmprof_decimal_put(char *at, double number) {
  double size = fabs(number);
  int exponent, count = FEWEST_DIGITS;
  if (!(size >= powers[0] && size < powers[MOST_POWER + 1 - LEAST_POWER]))
    return NULL;
  uint64_t mantissa = (uint64_t)ldexp(frexp(size, &exponent), MANTISSA_BITS);
  int shift = MANTISSA_BITS - exponent, power = power_of(size);
  decimal made = {0, power};
  while (!round_to(mantissa, shift, count, &made) && count < MOST_DIGITS) {
    made.power = power;
    count++;
  }
  if (made.power > MOST_POWER) return NULL;
  if (signbit(number)) *at++ = '-';
  return put(at, made, count);
}

#include "text/decimal.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

/* What the C library says, with ".0" behind what would be an integer. */
static const char *expected_of(double number) {
  static char text[64];
  for (int digits = 15; digits <= 17; digits++) {
    (void)snprintf(text, sizeof text, "%.*g", digits, number);
    if (strtod(text, NULL) == number) break;
  }
  if (!strchr(text, '.')) strcat(text, ".0");
  return text;
}

static void assert_put(double number) {
  char text[LLMPROF_DECIMAL_SIZE + 1], *end = llmprof_decimal_put(text, number);
  assert_non_null(end);
  assert_true(end - text <= LLMPROF_DECIMAL_SIZE);
  *end = '\0';
  assert_string_equal(text, expected_of(number));
}

TEST(examples) {
  static const double numbers[] = {1,
                                   2,
                                   0.5,
                                   0.1,
                                   0.3,
                                   1.0 / 3,
                                   2.0 / 3,
                                   100,
                                   123456789,
                                   0.001,
                                   1e-4,
                                   1e14,
                                   1e14 - 0.5,
                                   99999999999999.984,
                                   0.00012207031250000003,
                                   5e-324 + 1,
                                   9007199254740993.0 / 16,
                                   1.7976931348623157,
                                   0.3 - 0.2,
                                   4.35,
                                   2.5};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    assert_put(numbers[i]);
    assert_put(-numbers[i]);
  }
}

/* Numbers of every power of two and of ten, and those beside them. */
TEST(powers) {
  for (int power = -13; power < 49; power++) {
    double number = ldexp(1, power);
    assert_put(number);
    assert_put(nextafter(number, 0));
    assert_put(nextafter(number, 1e15));
  }
  for (int power = -4; power < 15; power++) {
    double number = pow(10, power);
    assert_put(nextafter(number, 1e15));
    if (power > -4) assert_put(nextafter(number, 0));
  }
}

/* Any bits, few digits, halves of the last one. */
TEST(dice) {
  uint64_t dice = 88172645463325252;
  for (int i = 0; i < 200000; i++) {
    dice ^= dice << 13;
    dice ^= dice >> 7;
    dice ^= dice << 17;
    int power = (int)(dice % 62) - 13;
    assert_put(ldexp(1 + (double)(dice >> 12) / 4503599627370496.0, power));
    assert_put((double)(1 + (dice >> 40)) / pow(10, i % 7));
    assert_put((double)(1 + (dice >> (16 + i % 20))) / 64);
  }
}

TEST(others) {
  static const double numbers[] = {
      0, 1e15, 9.9999e-5, 1e300, 1e-300, INFINITY, NAN, 999999999999999.94};
  char text[LLMPROF_DECIMAL_SIZE];
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    assert_null(llmprof_decimal_put(text, numbers[i]));
    assert_null(llmprof_decimal_put(text, -numbers[i]));
  }
}

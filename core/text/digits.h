/* Decimal digits, written where there is room for them: what most numbers
 * need. Private to the core. */
#ifndef LLMPROF_CORE_DIGITS_H
#define LLMPROF_CORE_DIGITS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "text/format.h"

enum {
  LLMPROF_EASY_PLACES = 15, /* a power of ten that is a double */
  LLMPROF_FIXED_SIZE = LLMPROF_MAX_DIGITS + 24 /* bytes of any number below */
};

/* The nearest integer to value * 10^power, halves away from zero; false where
 * that cannot be told from the product and what was lost in it. */
bool llmprof_scale_easily(double value, int power, uint64_t *number);

/* "00" to "99", one behind the other. */
extern const char llmprof_digit_pairs[200];

static inline char *llmprof_put_pair(char *at, uint64_t number) {
  memcpy(at, llmprof_digit_pairs + number * 2, 2);
  return at + 2;
}

/* At most four digits. */
static inline char *llmprof_put_four(char *at, uint64_t number) {
  if (number >= 100) {
    uint64_t high = number / 100;
    if (high < 10)
      *at++ = (char)('0' + high);
    else
      at = llmprof_put_pair(at, high);
    return llmprof_put_pair(at, number % 100);
  }
  if (number >= 10) return llmprof_put_pair(at, number);
  *at++ = (char)('0' + number);
  return at;
}

/* Four digits, with zeros in front. */
static inline char *llmprof_put_next_four(char *at, uint64_t number) {
  return llmprof_put_pair(llmprof_put_pair(at, number / 100), number % 100);
}

/* The digits of a number; returns the end. */
static inline char *llmprof_put_digits(char *at, uint64_t number) {
  uint64_t fours[5];
  int count = 0;
  for (; number >= 10000; number /= 10000) fours[count++] = number % 10000;
  at = llmprof_put_four(at, number);
  while (count) at = llmprof_put_next_four(at, fours[--count]);
  return at;
}

/* Write number / 10^places with `places` digits behind the point, up to
 * LLMPROF_MAX_DIGITS, into LLMPROF_FIXED_SIZE bytes; returns the end. */
static inline char *llmprof_put_fixed(char *at, bool negative, uint64_t number,
                                      int places) {
  char behind[LLMPROF_MAX_DIGITS];
  if (negative && number) *at++ = '-';
  for (int i = places; i-- > 0; number /= 10)
    behind[i] = (char)('0' + number % 10);
  at = llmprof_put_digits(at, number);
  if (!places) return at;
  *at++ = '.';
  for (int i = 0; i < places; i++) *at++ = behind[i];
  return at;
}

#endif

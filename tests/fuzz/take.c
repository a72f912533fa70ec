#include "take.h"

#include <string.h>

#include "fuzz.h"

uint8_t take_byte(taken *input) {
  if (!input->size) return 0;
  input->size--;
  return *input->bytes++;
}

uint32_t take_below(taken *input, uint32_t limit) {
  uint32_t value = take_byte(input);
  if (limit > 256) value = value << 8 | take_byte(input);
  return value % limit;
}

int64_t take_number(taken *input) {
  static const int64_t edges[] = {
      -1,
      INT32_MAX,
      INT32_MIN,
      UINT32_MAX,
      (int64_t)UINT32_MAX + 1,
      INT64_C(1) << 53,
      INT64_C(1) << 62,
      INT64_MAX,
      INT64_MAX - 1,
      -INT64_MAX,
      INT64_MIN,
      16777216,
      INT64_C(1) << 56,
  };
  enum {
    EDGES = sizeof edges / sizeof *edges,
    LARGE = 200, /* from here on a second byte counts */
    SMALL = 256 - EDGES,
  };
  uint8_t first = take_byte(input);
  if (first < LARGE) return first;
  if (first < SMALL) return (first - LARGE) * 1000 + take_byte(input);
  return edges[first - SMALL];
}

double take_double(taken *input) {
  uint8_t bytes[sizeof(double)];
  double value;
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = take_byte(input);
  memcpy(&value, bytes, sizeof value);
  return value;
}

char *take_rest(taken *input, size_t *size) {
  *size = input->size;
  char *rest = malloc(input->size ? input->size : 1);
  FUZZ_CHECK(rest);
  if (input->size) memcpy(rest, input->bytes, input->size);
  input->size = 0;
  return rest;
}

/* Radix select: count the values by their leading digits, go on with those
 * that share the digits of the k-th. */
#include "frame/select.h"

#include <stdbool.h>
#include <string.h>

#include "frame/sort.h"

enum {
  FEW = 32,    /* sorted without scratch space */
  MANY = 4096, /* for fewer it pays to count fewer digits */
  FEW_DIGITS = 256,
  DIGITS = 2048
};

/* Values that are left, all within [low, high], and the rank wanted of them. */
typedef struct left {
  uint32_t *values;
  size_t count, k;
  uint32_t low, high;
  int shift; /* the digit of v is (v - low) >> shift */
} left;

/* The least value with a digit above `digit`. */
static uint32_t least_above(const left *l, uint32_t digit) {
  uint32_t least = l->high;
  for (size_t i = 0; i < l->count; i++) {
    uint32_t value = l->values[i];
    if ((value - l->low) >> l->shift > digit && value < least) least = value;
  }
  return least;
}

/* The digit of the k-th value; k becomes its rank among those. */
static uint32_t digit_of_kth(left *l, size_t *same) {
  uint32_t histogram[DIGITS];
  uint32_t digit = 0;
  memset(histogram, 0,
         (((l->high - l->low) >> l->shift) + 1) * sizeof *histogram);
  for (size_t i = 0; i < l->count; i++)
    histogram[(l->values[i] - l->low) >> l->shift]++;
  while (histogram[digit] <= l->k) l->k -= histogram[digit++];
  *same = histogram[digit];
  return digit;
}

static void keep_digit(left *l, uint32_t digit) {
  size_t kept = 0;
  for (size_t i = 0; i < l->count; i++) {
    uint32_t value = l->values[i];
    l->values[kept] = value;
    kept += (value - l->low) >> l->shift == digit;
  }
  l->count = kept;
  l->low += digit << l->shift;
  uint32_t width = (UINT32_C(1) << l->shift) - 1;
  if (l->high - l->low > width) l->high = l->low + width;
}

/* As few digits as pay for this number of values. */
static int shift_for(const left *l) {
  uint32_t digits = l->count < MANY ? FEW_DIGITS : DIGITS;
  int shift = 0;
  while ((l->high - l->low) >> shift >= digits) shift++;
  return shift;
}

/* Keep what has the digit of the k-th. Where that is the last of them, the
 * value that follows is among the others: into *above. */
static void narrow(left *l, bool *parted, uint32_t *above) {
  size_t same, k = l->k;
  l->shift = shift_for(l);
  uint32_t digit = digit_of_kth(l, &same);
  size_t below = k - l->k;
  if (l->k + 1 == same && below + same < l->count) {
    *above = least_above(l, digit);
    *parted = true;
  }
  keep_digit(l, digit);
}

void llmprof_select_u32(uint32_t *values, size_t count, size_t k, uint32_t low,
                        uint32_t high, uint32_t two[2]) {
  left l = {values, count, k, low, high, 0};
  bool parted = false;
  uint32_t above = 0;
  while (l.count > FEW && l.low < l.high) narrow(&l, &parted, &above);
  if (l.low < l.high) llmprof_sort_u32(l.values, l.count, NULL);
  two[0] = l.low < l.high ? l.values[l.k] : l.low;
  if (l.k + 1 < l.count)
    two[1] = l.low < l.high ? l.values[l.k + 1] : l.low;
  else
    two[1] = parted ? above : two[0];
}

/* Values from the input, one after the other: zeros when it has ended. */
#ifndef FUZZ_TAKE_H
#define FUZZ_TAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct taken {
  const uint8_t *bytes;
  size_t size; /* what is left */
} taken;

uint8_t take_byte(taken *input);
uint32_t take_below(taken *input, uint32_t limit); /* limit is not 0 */

/* Mostly small, now and then one at which sums and products overflow. */
int64_t take_number(taken *input);

/* All eight bytes of a double, not-a-numbers too. */
double take_double(taken *input);

/* What is left, as a block of exactly its size that the caller frees: reading
 * past its end is seen. */
char *take_rest(taken *input, size_t *size);

#endif

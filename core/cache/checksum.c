#include "cache/checksum.h"

#include <string.h>

#define PRIME_1 0x9e3779b185ebca87u
#define PRIME_2 0xc2b2ae3d27d4eb4fu

enum {
  LANES = 4 /* multiplications under way at once */
};

static inline uint64_t turn(uint64_t value, int bits) {
  return value << bits | value >> (64 - bits);
}

/* Each step can be undone, so that no change of one word is ever lost. */
static inline uint64_t mix(uint64_t lane, uint64_t word) {
  return turn((lane ^ word) * PRIME_1, 29);
}

uint64_t llmprof_checksum(const void *bytes, size_t size) {
  const unsigned char *at = bytes;
  uint64_t lanes[LANES] = {PRIME_1, PRIME_2, ~PRIME_1, ~PRIME_2};
  uint64_t words[LANES], sum = size;
  for (; size >= sizeof words; at += sizeof words, size -= sizeof words) {
    memcpy(words, at, sizeof words);
    for (int i = 0; i < LANES; i++) lanes[i] = mix(lanes[i], words[i]);
  }
  memset(words, 0, sizeof words);
  if (size) memcpy(words, at, size);
  for (int i = 0; i < LANES; i++) sum = mix(sum, mix(lanes[i], words[i]));
  sum = (sum ^ sum >> 32) * PRIME_2;
  return sum ^ sum >> 29;
}

#include "text/digest.h"

#include <stdint.h>
#include <string.h>

enum {
  BLOCK = 64,
  LENGTH_AT = BLOCK - 8, /* the last block ends with the length in bits */
  ROUNDS = 64,
};

/* Fractional parts of the cube roots of the first 64 primes. */
static const uint32_t constants[ROUNDS] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t x, unsigned by) {
  return x >> by | x << (32 - by);
}

static uint32_t load(const unsigned char *at) {
  return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 |
         at[3];
}

static void store(unsigned char *at, uint32_t x) {
  for (int i = 0; i < 4; i++) at[i] = (unsigned char)(x >> (24 - 8 * i));
}

/* The block's 16 words, stretched to one for each round. */
static void schedule(uint32_t words[ROUNDS], const unsigned char *block) {
  for (int i = 0; i < 16; i++) words[i] = load(block + 4 * i);
  for (int i = 16; i < ROUNDS; i++) {
    uint32_t a = words[i - 15], b = words[i - 2];
    uint32_t s0 = rotate(a, 7) ^ rotate(a, 18) ^ a >> 3;
    uint32_t s1 = rotate(b, 17) ^ rotate(b, 19) ^ b >> 10;
    words[i] = words[i - 16] + s0 + words[i - 7] + s1;
  }
}

/* v: a to h of the standard. */
static void one_round(uint32_t v[8], uint32_t word) {
  uint32_t a = v[0], e = v[4];
  uint32_t s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
  uint32_t s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
  uint32_t t1 = v[7] + s1 + ((e & v[5]) ^ (~e & v[6])) + word;
  uint32_t t2 = s0 + ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
  memmove(v + 1, v, 7 * sizeof *v);
  v[4] += t1;
  v[0] = t1 + t2;
}

static void compress(uint32_t state[8], const unsigned char *block) {
  uint32_t words[ROUNDS], v[8];
  schedule(words, block);
  memcpy(v, state, sizeof v);
  for (int i = 0; i < ROUNDS; i++) one_round(v, words[i] + constants[i]);
  for (int i = 0; i < 8; i++) state[i] += v[i];
}

/* What is left of the message, a 1 bit, zeros, and the length. */
static void finish(uint32_t state[8], const unsigned char *rest, size_t left,
                   uint64_t bits) {
  unsigned char last[2 * BLOCK] = {0};
  size_t size = left < LENGTH_AT ? BLOCK : 2 * BLOCK;
  if (left) memcpy(last, rest, left);
  last[left] = 0x80;
  store(last + size - 8, (uint32_t)(bits >> 32));
  store(last + size - 4, (uint32_t)bits);
  for (size_t at = 0; at < size; at += BLOCK) compress(state, last + at);
}

void llmprof_sha256(const void *bytes, size_t size,
                    unsigned char digest[LLMPROF_SHA256_SIZE]) {
  uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  const unsigned char *at = bytes;
  size_t left = size;
  for (; left >= BLOCK; at += BLOCK, left -= BLOCK) compress(state, at);
  finish(state, at, left, (uint64_t)size * 8);
  for (int i = 0; i < 8; i++) store(digest + 4 * i, state[i]);
}

/* ---- Base64 ---- */

static const char letters[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* One group of four: of three bytes, or of the one or two at the end. */
static void put_group(char *to, const unsigned char *at, size_t count) {
  uint32_t bits = (uint32_t)at[0] << 16;
  if (count > 1) bits |= (uint32_t)at[1] << 8;
  if (count > 2) bits |= at[2];
  for (size_t i = 0; i < 4; i++)
    to[i] = i <= count ? letters[bits >> (18 - 6 * i) & 0x3f] : '=';
}

void llmprof_base64(llmprof_buffer *out, const void *bytes, size_t size) {
  enum {
    AT_ONCE = 48
  };
  const unsigned char *at = bytes;
  for (size_t i = 0, count; i < size; i += count) {
    char groups[AT_ONCE / 3 * 4], *to = groups;
    count = size - i < AT_ONCE ? size - i : AT_ONCE;
    for (size_t j = 0; j < count; j += 3, to += 4)
      put_group(to, at + i + j, count - j < 3 ? count - j : 3);
    llmprof_buffer_add(out, groups, (size_t)(to - groups));
  }
}

/* Repeats are found by a table of where six bytes were seen last, without
 * looking any further: what comes again came lately, and shorter repeats cost
 * more than the digits that they mostly are. On an export of events that takes
 * a third of the time of zlib's level 1, and makes less than its level 3. */
#include "os/deflate.h"

#include <endian.h>
#include <string.h>

#include "llmprof/alloc.h"
#include "os/huffman.h"

enum {
  WINDOW = 32 * 1024,
  SHORTEST = 6, /* 3 would do for the format */
  LONGEST = 258,
  HASH_BITS = 15,
  AHEAD = 8,      /* bytes that the hash reads */
  NOTED = 8,      /* places of a repeat that are noted, too: its first ones */
  LITERALS = 256, /* and the end of a block, which is that number */
  LENGTH_CODES = 286,
  DISTANCE_CODES = 30,
  SIZE_CODES = 19,
  LONGEST_SIZE_CODE = 7,
  BLOCK = 32 * 1024,   /* tokens */
  PART = 1 << 30,      /* bytes at once, so that places have 32 bits */
  MOST_STORED = 65535, /* bytes of a block that is not packed */
  STORED_HEADER = 5,
  SLACK = 16, /* the last bits are written as a word */
};

/* A literal, or the size of a repeat and how far back it is. */
typedef struct token {
  uint16_t length; /* 0: a literal */
  uint16_t value;  /* literal, or the distance - 1 */
} token;

struct llmprof_deflate {
  uint32_t places[1 << HASH_BITS]; /* + 1; 0: none */
  token tokens[BLOCK];
  size_t token_count;
  uint32_t lengths[LENGTH_CODES], distances[DISTANCE_CODES]; /* how often */
  llmprof_huffman length_code, distance_code;
};

/* ---- codes of lengths and distances ---- */

/* Of a number from 0, in groups of `group` codes that take one more bit each:
 * its code, the bits beside it, and the number at which these are 0. */
typedef struct coded {
  uint16_t code, base;
  uint8_t bits;
} coded;

static inline coded code_of(uint32_t number, int group_bits) {
  if (number < 2u << group_bits)
    return (coded){(uint16_t)number, (uint16_t)number, 0};
  int top = 31 - __builtin_clz(number), bits = top - group_bits;
  uint32_t code = ((uint32_t)bits << group_bits) + (number >> bits);
  return (coded){(uint16_t)code, (uint16_t)(number >> bits << bits),
                 (uint8_t)bits};
}

/* Of a length; 258 has a code of its own. */
static inline coded length_coded(uint32_t length) {
  coded c = code_of(length - 3, 2);
  if (length == LONGEST) c = (coded){28, LONGEST - 3, 0};
  c.code = (uint16_t)(c.code + LITERALS + 1);
  return c;
}

static inline coded distance_coded(uint32_t distance) {
  return code_of(distance, 1);
}

/* ---- bits ---- */

typedef struct bits {
  uint64_t held;
  int count; /* below 8 after a drain */
  unsigned char *at;
} bits;

static inline void put(bits *b, uint64_t value, int count) {
  b->held |= value << b->count;
  b->count += count;
}

/* At least every 56 bits. */
static inline void drain(bits *b) {
  uint64_t word = htole64(b->held);
  memcpy(b->at, &word, sizeof word);
  b->at += b->count >> 3;
  b->held >>= b->count & ~7;
  b->count &= 7;
}

static void fill_byte(bits *b) {
  put(b, 0, -b->count & 7);
  drain(b);
}

/* ---- how long the codes are: the head of a block ---- */

/* Lengths of codes, one after the other: runs of one length in few symbols. */
typedef struct sizes {
  uint8_t symbol[LENGTH_CODES + DISTANCE_CODES];
  uint8_t extra[LENGTH_CODES + DISTANCE_CODES];
  size_t count;
  size_t length_codes, distance_codes; /* how many are told */
  llmprof_huffman code;
} sizes;

static const uint8_t size_order[SIZE_CODES] = {
    16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
static const uint8_t size_extra[SIZE_CODES] = {[16] = 2, [17] = 3, [18] = 7};

static void add_size(sizes *s, uint8_t symbol, size_t extra) {
  s->symbol[s->count] = symbol;
  s->extra[s->count++] = (uint8_t)extra;
}

static void add_zeros(sizes *s, size_t run) {
  while (run) {
    size_t part = run < 138 ? run : 138;
    if (part < 3)
      add_size(s, 0, 0), part = 1;
    else if (part < 11)
      add_size(s, 17, part - 3);
    else
      add_size(s, 18, part - 11);
    run -= part;
  }
}

static void add_same(sizes *s, uint8_t length, size_t run) {
  add_size(s, length, 0);
  for (run--; run;) {
    size_t part = run < 6 ? run : 6;
    if (part < 3)
      add_size(s, length, 0), part = 1;
    else
      add_size(s, 16, part - 3);
    run -= part;
  }
}

static size_t told(const llmprof_huffman *h, size_t count, size_t least) {
  while (count > least && !h->length[count - 1]) count--;
  return count;
}

static void make_sizes(sizes *s, const llmprof_huffman *length_code,
                       const llmprof_huffman *distance_code) {
  uint8_t all[LENGTH_CODES + DISTANCE_CODES];
  uint32_t often[SIZE_CODES] = {0};
  s->count = 0;
  s->length_codes = told(length_code, LENGTH_CODES, LITERALS + 1);
  s->distance_codes = told(distance_code, DISTANCE_CODES, 1);
  size_t count = s->length_codes + s->distance_codes;
  memcpy(all, length_code->length, s->length_codes);
  memcpy(all + s->length_codes, distance_code->length, s->distance_codes);
  for (size_t i = 0, run; i < count; i += run) {
    for (run = 1; i + run < count && all[i + run] == all[i];) run++;
    if (all[i])
      add_same(s, all[i], run);
    else
      add_zeros(s, run);
  }
  for (size_t i = 0; i < s->count; i++) often[s->symbol[i]]++;
  llmprof_huffman_make(&s->code, often, SIZE_CODES, LONGEST_SIZE_CODE);
}

static size_t size_codes(const sizes *s) {
  size_t count = SIZE_CODES;
  while (count > 4 && !s->code.length[size_order[count - 1]]) count--;
  return count;
}

static void put_sizes(bits *b, const sizes *s) {
  size_t codes = size_codes(s);
  put(b, s->length_codes - 257, 5);
  put(b, s->distance_codes - 1, 5);
  put(b, codes - 4, 4);
  drain(b);
  for (size_t i = 0; i < codes; i++) {
    put(b, s->code.length[size_order[i]], 3);
    drain(b);
  }
  for (size_t i = 0; i < s->count; i++) {
    uint8_t symbol = s->symbol[i];
    put(b, s->code.code[symbol], s->code.length[symbol]);
    put(b, s->extra[i], size_extra[symbol]);
    drain(b);
  }
}

/* ---- blocks ---- */

/* Bits that the block takes, packed. */
static uint64_t cost(const llmprof_deflate *d, const sizes *s) {
  uint64_t sum = 3 + 14 + 3 * size_codes(s);
  for (size_t i = 0; i < s->count; i++)
    sum += s->code.length[s->symbol[i]] + size_extra[s->symbol[i]];
  for (uint32_t i = 0; i < LENGTH_CODES; i++)
    sum += (uint64_t)d->lengths[i] * d->length_code.length[i];
  for (uint32_t length = 11; length < LONGEST; length++) {
    coded c = length_coded(length); /* each code once, at its base */
    if (length - 3 == c.base) sum += (uint64_t)d->lengths[c.code] * c.bits;
  }
  for (uint32_t i = 0; i < DISTANCE_CODES; i++)
    sum += (uint64_t)d->distances[i] *
           (d->distance_code.length[i] + (i < 4 ? 0 : i / 2 - 1));
  return sum;
}

static inline void put_repeat(bits *b, const llmprof_deflate *d, token t) {
  coded c = length_coded(t.length);
  put(b, d->length_code.code[c.code], d->length_code.length[c.code]);
  put(b, t.length - 3u - c.base, c.bits);
  c = distance_coded(t.value);
  put(b, d->distance_code.code[c.code], d->distance_code.length[c.code]);
  put(b, t.value - (uint32_t)c.base, c.bits);
}

static void put_tokens(bits *out, const llmprof_deflate *d) {
  bits b = *out;
  for (size_t i = 0; i < d->token_count; i++) {
    token t = d->tokens[i];
    if (t.length)
      put_repeat(&b, d, t);
    else
      put(&b, d->length_code.code[t.value], d->length_code.length[t.value]);
    drain(&b);
  }
  put(&b, d->length_code.code[LITERALS], d->length_code.length[LITERALS]);
  drain(&b);
  *out = b;
}

/* As it is, in parts, of which none is the last of the stream. */
static void put_stored(bits *b, const uint8_t *bytes, size_t size) {
  while (size) {
    size_t part = size < MOST_STORED ? size : MOST_STORED;
    put(b, 0, 3);
    fill_byte(b);
    put(b, part, 16);
    put(b, ~part & 0xffff, 16);
    drain(b);
    memcpy(b->at, bytes, part);
    b->at += part;
    bytes += part;
    size -= part;
  }
}

static uint64_t stored_cost(size_t size) {
  return 8 * (size + STORED_HEADER * (size / MOST_STORED + 1));
}

/* The tokens so far, which stand for these bytes. */
static void end_block(llmprof_deflate *d, bits *b, const uint8_t *bytes,
                      size_t size) {
  sizes s;
  d->lengths[LITERALS] = 1;
  llmprof_huffman_make(&d->length_code, d->lengths, LENGTH_CODES,
                       LLMPROF_HUFFMAN_LONGEST);
  llmprof_huffman_make(&d->distance_code, d->distances, DISTANCE_CODES,
                       LLMPROF_HUFFMAN_LONGEST);
  make_sizes(&s, &d->length_code, &d->distance_code);
  if (cost(d, &s) < stored_cost(size)) {
    put(b, 2 << 1, 3); /* codes of its own, not the last block */
    put_sizes(b, &s);
    put_tokens(b, d);
  } else {
    put_stored(b, bytes, size);
  }
  d->token_count = 0;
  memset(d->lengths, 0, sizeof d->lengths);
  memset(d->distances, 0, sizeof d->distances);
}

/* Up to a full byte: an empty block that is stored. */
static void end_piece(bits *b) {
  put(b, 0, 3);
  fill_byte(b);
  put(b, 0xffff0000, 32);
  drain(b);
}

/* ---- repeats ---- */

/* Where the place is noted at which the bytes at `at` were seen. */
static inline uint32_t *note_of(llmprof_deflate *d, const uint8_t *at) {
  uint64_t word;
  memcpy(&word, at, sizeof word);
  word = le64toh(word) << 8 * (AHEAD - SHORTEST);
  return &d->places[word * UINT64_C(0x9e3779b185ebca87) >> (64 - HASH_BITS)];
}

static inline uint32_t same_bytes(const uint8_t *a, const uint8_t *b,
                                  uint32_t most) {
  uint32_t same = 0;
  while (same + 8 <= most) {
    uint64_t x, y;
    memcpy(&x, a + same, sizeof x);
    memcpy(&y, b + same, sizeof y);
    if (x != y)
      return same + (uint32_t)__builtin_ctzll(le64toh(x) ^ le64toh(y)) / 8;
    same += 8;
  }
  while (same < most && a[same] == b[same]) same++;
  return same;
}

/* How long the bytes at `place` are those of where they were seen; 0: not. */
static inline uint32_t find(llmprof_deflate *d, const uint8_t *bytes,
                            uint32_t place, uint32_t most, uint32_t *from) {
  uint32_t *noted = note_of(d, bytes + place), before = *noted;
  *noted = place + 1;
  if (!before || place - --before > WINDOW) return 0;
  *from = before;
  return same_bytes(bytes + before, bytes + place, most);
}

static inline void add_literal(llmprof_deflate *d, uint8_t byte) {
  d->tokens[d->token_count++] = (token){0, byte};
  d->lengths[byte]++;
}

static inline void add_repeat(llmprof_deflate *d, uint32_t length,
                              uint32_t distance) {
  d->tokens[d->token_count++] =
      (token){(uint16_t)length, (uint16_t)(distance - 1)};
  d->lengths[length_coded(length).code]++;
  d->distances[distance_coded(distance - 1).code]++;
}

/* The token at `at`, and how many bytes it stands for. */
static inline uint32_t add_token(llmprof_deflate *d, const uint8_t *bytes,
                                 uint32_t at, uint32_t end) {
  uint32_t most = end - at < LONGEST ? end - at : LONGEST, from = 0;
  uint32_t length = most < AHEAD ? 0 : find(d, bytes, at, most, &from);
  if (length < SHORTEST) {
    add_literal(d, bytes[at]);
    return 1;
  }
  add_repeat(d, length, at - from);
  uint32_t noted = length < NOTED ? length : NOTED;
  if (end - at < NOTED + AHEAD) noted = 0;
  for (uint32_t i = at + 1; i < at + noted; i++) *note_of(d, bytes + i) = i + 1;
  return length;
}

static void pack_part(llmprof_deflate *d, bits *b, const uint8_t *bytes,
                      uint32_t size) {
  uint32_t begun = 0, at = 0;
  memset(d->places, 0, sizeof d->places);
  while (at < size) {
    at += add_token(d, bytes, at, size);
    if (d->token_count < BLOCK && at < size) continue;
    end_block(d, b, bytes + begun, at - begun);
    begun = at;
  }
}

/* ---- in all ---- */

llmprof_deflate *llmprof_deflate_new(void) {
  return llmprof_zalloc(1, sizeof(llmprof_deflate));
}

void llmprof_deflate_free(llmprof_deflate *deflate) {
  llmprof_free(deflate);
}

/* No block takes more than it would stored. */
size_t llmprof_deflate_bound(size_t size) {
  return size + STORED_HEADER * (size / BLOCK + size / MOST_STORED + 4) + SLACK;
}

size_t llmprof_deflate_pack(llmprof_deflate *d, const void *bytes, size_t size,
                            void *packed) {
  bits b = {.at = packed};
  for (size_t at = 0, part; at < size; at += part) {
    part = size - at < PART ? size - at : PART;
    pack_part(d, &b, (const uint8_t *)bytes + at, (uint32_t)part);
  }
  end_piece(&b);
  return (size_t)(b.at - (unsigned char *)packed);
}

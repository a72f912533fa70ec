/* Profilers quote every field. Of such a line 64 bytes at a time are told apart
 * by their quotes alone: what lies between an odd one and an even one is text,
 * and what does not has to be a comma between two quotes. A doubled quote
 * closes a text and opens it again, which changes nothing. */
#include "formats/csv_pick.h"

#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum {
  WIDTH = 64
};

/* What is known at the end of a block. */
typedef struct scan {
  uint64_t inside; /* all ones within quotes */
  uint64_t quote;  /* 1: the last byte was one */
  uint64_t wrong;  /* not 0: no such line */
} scan;

/* Bit i: block[i] is c. */
#ifdef __SSE2__
static uint64_t find(const char *block, char c) {
  uint64_t found = 0;
  __m128i wanted = _mm_set1_epi8(c);
  for (int i = 0; i < WIDTH; i += 16) {
    __m128i bytes = _mm_loadu_si128((const __m128i *)(block + i));
    unsigned bits = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, wanted));
    found |= (uint64_t)bits << i;
  }
  return found;
}
#else
static uint64_t find(const char *block, char c) {
  uint64_t found = 0;
  for (int i = 0; i < WIDTH; i++) found |= (uint64_t)(block[i] == c) << i;
  return found;
}
#endif

/* Bit i: an odd number of the bits up to i are set. */
static uint64_t odd(uint64_t bits) {
  for (int by = 1; by < WIDTH; by *= 2) bits ^= bits << by;
  return bits;
}

/* The commas between fields of a block, of which `valid` bytes are the line's.
 */
static uint64_t commas_between(const char *block, uint64_t valid, scan *s) {
  uint64_t quotes = find(block, '"') & valid;
  uint64_t commas = find(block, ',') & valid;
  uint64_t inside = odd(quotes) ^ s->inside;
  uint64_t between = commas & ~inside;
  s->wrong |= ~inside & ~quotes & ~commas & valid;
  s->wrong |= between & ~(quotes << 1 | s->quote);
  s->inside = 0 - (inside >> (WIDTH - 1));
  s->quote = quotes >> (WIDTH - 1);
  return between;
}

/* Which commas bound the fields that are wanted, and where they lie. */
typedef struct bounds {
  const uint32_t *wanted;
  size_t count, at; /* fields wanted, and how many have been begun */
  size_t commas;    /* seen so far */
  bool open;        /* the field before `at` has no end yet */
  llmprof_csv_piece *pieces;
} bounds;

/* The number of the comma that is looked for. */
static size_t next_comma(const bounds *b) {
  if (b->open) return b->wanted[b->at - 1];
  return b->at < b->count ? b->wanted[b->at] - (size_t)1 : SIZE_MAX;
}

static void begin(bounds *b, size_t start) {
  b->pieces[b->at++] = (llmprof_csv_piece){.start = (uint32_t)start};
  b->open = true;
}

/* A comma, or the end of the line, that is looked for: it ends one field, and
 * begins the next if that is wanted, too. */
static void reach(bounds *b, size_t place) {
  if (b->open) {
    llmprof_csv_piece *piece = &b->pieces[b->at - 1];
    piece->size = (uint32_t)(place - 1) - piece->start;
    bool next =
        b->at < b->count && b->wanted[b->at] == b->wanted[b->at - 1] + 1;
    b->open = false;
    if (!next) return;
  }
  begin(b, place + 2);
}

/* Each comma of a block that is looked for. */
static void follow(bounds *b, uint64_t between, size_t offset) {
  size_t passed = 0, count = (size_t)__builtin_popcountll(between);
  for (;;) {
    size_t skip = next_comma(b);
    if (skip == SIZE_MAX || skip - b->commas >= count) break;
    for (skip -= b->commas; passed < skip; passed++) between &= between - 1;
    reach(b, offset + (size_t)__builtin_ctzll(between));
  }
  b->commas += count;
}

static void mark_doubled(const char *line, llmprof_csv_piece *piece) {
  piece->doubled = memchr(line + piece->start, '"', piece->size) != NULL;
}

bool llmprof_csv_pick(const char *line, size_t size, const uint32_t *wanted,
                      size_t count, llmprof_csv_piece *pieces, size_t *fields) {
  if (size < 2 || size >= UINT32_MAX || line[0] != '"' || line[size - 1] != '"')
    return false;
  scan s = {0};
  bounds b = {.wanted = wanted, .count = count, .pieces = pieces};
  if (count && wanted[0] == 0) begin(&b, 1);
  size_t at = 0;
  for (; size - at >= WIDTH; at += WIDTH)
    follow(&b, commas_between(line + at, UINT64_MAX, &s), at);
  if (at < size) {
    char rest[WIDTH] = {0};
    memcpy(rest, line + at, size - at);
    uint64_t valid = (UINT64_C(1) << (size - at)) - 1;
    follow(&b, commas_between(rest, valid, &s), at);
  }
  /* inside is carried past the end: odd() goes on over the zeros behind it */
  if (s.wrong || s.inside) return false;
  *fields = b.commas + 1;
  if (b.open && next_comma(&b) == b.commas) reach(&b, size);
  if (b.open || b.at < count) return false;
  for (size_t i = 0; i < count; i++) mark_doubled(line, &pieces[i]);
  return true;
}

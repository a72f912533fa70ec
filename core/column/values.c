/* Values that are stored: blocks of 1024, each in the encoding that takes
 * least.
 *
 * A block is what is read, encoded and decoded at once, so that nothing larger
 * has to be at hand while values are added, and a few long ones widen their own
 * block alone. Codes of blocks lie behind each other in chunks, which stay
 * where they are while more are added. */
#include <string.h>

#include "base/alloc.h"
#include "column/values_internal.h"

typedef enum encoding {
  CONSTANT,   /* all are the base; no codes */
  BASE_DELTA, /* the base and a code of 1, 2 or 4 bytes */
  PLAIN,      /* 8 bytes each, LLMPROF_ABSENT among them */
  ENCODINGS,
} encoding;

typedef struct block {
  int64_t base;   /* the least value; LLMPROF_ABSENT: there is none */
  int64_t high;   /* the largest */
  uint64_t codes; /* where they begin, as if chunks lay behind each other */
  uint8_t encoding, width;
  uint8_t nulls; /* 1: some are absent, as the largest code of a width */
  uint8_t ascends;
  uint8_t unused[4];
} block;

enum {
  CHUNK = 1 << 15 /* bytes: codes of a few blocks */
};

typedef struct stored {
  llmprof_values values;
  size_t count;
  block *blocks;
  unsigned char **chunks; /* of CHUNK bytes each, but the last */
  size_t block_cap, chunk_cap, chunk_count;
  size_t code_count; /* bytes, with what is left over at the ends of chunks */
  bool is_borrowed;  /* blocks and codes are somebody else's */
} stored;

static const llmprof_values_way by_block;

static size_t block_count(size_t values) {
  return (values + LLMPROF_BLOCK - 1) / LLMPROF_BLOCK;
}

static stored *as_stored(llmprof_values *values) {
  return (stored *)values;
}

static const stored *to_stored(const llmprof_values *values) {
  return (const stored *)values;
}

/* ---- decoding ---- */

/* NULL where all values of a block are one. */
static inline const void *codes_of(const stored *s, const block *b) {
  return b->encoding == CONSTANT
             ? NULL
             : s->chunks[b->codes / CHUNK] + b->codes % CHUNK;
}

/* A code and the base; without overflow, as both are of this block. */
static inline int64_t sum(int64_t base, uint64_t code) {
  return (int64_t)((uint64_t)base + code);
}

#define READ_CODES(type)                                                   \
  static void read_##type(const block *b, const void *codes, size_t first, \
                          size_t count, int64_t *out) {                    \
    const type *code = (const type *)codes + first;                        \
    int64_t base = b->base;                                                \
    if (!b->nulls) {                                                       \
      for (size_t i = 0; i < count; i++) out[i] = sum(base, code[i]);      \
      return;                                                              \
    }                                                                      \
    for (size_t i = 0; i < count; i++)                                     \
      out[i] = code[i] == (type)-1 ? LLMPROF_ABSENT : sum(base, code[i]);  \
  }
READ_CODES(uint8_t)
READ_CODES(uint16_t)
READ_CODES(uint32_t)

static void read_block(const block *b, const void *codes, size_t first,
                       size_t count, int64_t *out) {
  if (b->encoding == CONSTANT)
    for (size_t i = 0; i < count; i++) out[i] = b->base;
  else if (b->encoding == PLAIN)
    memcpy(out, (const int64_t *)codes + first, count * sizeof *out);
  else if (b->width == 1)
    read_uint8_t(b, codes, first, count, out);
  else if (b->width == 2)
    read_uint16_t(b, codes, first, count, out);
  else
    read_uint32_t(b, codes, first, count, out);
}

static inline int64_t from_code(const block *b, uint64_t code, uint64_t null) {
  return b->nulls && code == null ? LLMPROF_ABSENT : sum(b->base, code);
}

static inline int64_t get_from(const block *b, const void *codes, size_t at) {
  if (b->encoding == BASE_DELTA) {
    if (b->width == 1)
      return from_code(b, ((const uint8_t *)codes)[at], UINT8_MAX);
    if (b->width == 2)
      return from_code(b, ((const uint16_t *)codes)[at], UINT16_MAX);
    return from_code(b, ((const uint32_t *)codes)[at], UINT32_MAX);
  }
  return b->encoding == CONSTANT ? b->base : ((const int64_t *)codes)[at];
}

static inline int64_t get(const stored *s, size_t row) {
  const block *b = &s->blocks[row / LLMPROF_BLOCK];
  return get_from(b, codes_of(s, b), row % LLMPROF_BLOCK);
}

static void read_stored(const llmprof_values *values, size_t first,
                        size_t count, int64_t *out) {
  const stored *s = to_stored(values);
  while (count) {
    size_t at = first % LLMPROF_BLOCK, rest = LLMPROF_BLOCK - at;
    size_t some = count < rest ? count : rest;
    const block *b = &s->blocks[first / LLMPROF_BLOCK];
    read_block(b, codes_of(s, b), at, some, out);
    first += some;
    count -= some;
    out += some;
  }
}

/* In place of rows, up to the first that is of another block than the one that
 * begins at row `first`: how many. */
#define PICK(name, type, value)                                                \
  static size_t pick_##name(const block *b, const void *codes, uint64_t first, \
                            int64_t *rows, size_t count) {                     \
    const type *code = codes;                                                  \
    int64_t base = b->base;                                                    \
    (void)base;                                                                \
    size_t i = 0;                                                              \
    for (; i < count; i++) {                                                   \
      uint64_t at = (uint64_t)rows[i] - first;                                 \
      if (at >= LLMPROF_BLOCK) break;                                          \
      rows[i] = value;                                                         \
    }                                                                          \
    return i;                                                                  \
  }
PICK(bytes, uint8_t, sum(base, code[at]))
PICK(shorts, uint16_t, sum(base, code[at]))
PICK(longs, uint32_t, sum(base, code[at]))
PICK(any, void, get_from(b, code, at))

static size_t pick_block(const stored *s, int64_t *rows, size_t count) {
  uint64_t number = (uint64_t)rows[0] / LLMPROF_BLOCK;
  uint64_t first = number * LLMPROF_BLOCK;
  const block *b = &s->blocks[number];
  const void *codes = codes_of(s, b);
  if (b->nulls || b->encoding != BASE_DELTA)
    return pick_any(b, codes, first, rows, count);
  if (b->width == 1) return pick_bytes(b, codes, first, rows, count);
  if (b->width == 2) return pick_shorts(b, codes, first, rows, count);
  return pick_longs(b, codes, first, rows, count);
}

/* Keys lead to rows beside each other mostly. */
static void pick_stored(const llmprof_values *values, int64_t *rows,
                        size_t count) {
  for (size_t i = 0; i < count;)
    i += rows[i] == LLMPROF_ABSENT
             ? 1
             : pick_block(to_stored(values), rows + i, count - i);
}

static bool bound_stored(const llmprof_values *values,
                         llmprof_values_bounds *bounds) {
  const stored *s = to_stored(values);
  *bounds = (llmprof_values_bounds){INT64_MAX, INT64_MIN, false, true};
  for (size_t row = 0; row < s->count; row += LLMPROF_BLOCK) {
    const block *b = &s->blocks[row / LLMPROF_BLOCK];
    bounds->nulls |= b->nulls;
    bounds->ascend &= b->ascends && (!row || b->base >= b[-1].high);
    if (b->base == LLMPROF_ABSENT) continue;
    if (b->base < bounds->low) bounds->low = b->base;
    if (b->high > bounds->high) bounds->high = b->high;
  }
  return true;
}

static const llmprof_values_way by_block = {read_stored, pick_stored,
                                            bound_stored};

/* ---- reading, of any kind ---- */

int64_t llmprof_values_get(const llmprof_values *values, size_t row) {
  int64_t value;
  if (values->way == &by_block) return get(to_stored(values), row);
  values->way->read(values, row, 1, &value);
  return value;
}

void llmprof_values_read(const llmprof_values *values, size_t first,
                         size_t count, int64_t *out) {
  values->way->read(values, first, count, out);
}

void llmprof_values_gather(const llmprof_values *values, const uint32_t *rows,
                           size_t count, int64_t *out) {
  for (size_t i = 0; i < count; i++)
    out[i] = rows[i] == UINT32_MAX ? LLMPROF_ABSENT : (int64_t)rows[i];
  values->way->pick(values, out, count);
}

bool llmprof_values_find_bounds(const llmprof_values *values,
                                llmprof_values_bounds *bounds) {
  return values->way->bounds && values->way->bounds(values, bounds);
}

size_t llmprof_values_count(const llmprof_values *values) {
  return to_stored(values)->count;
}

int64_t *llmprof_values_all(const llmprof_values *values) {
  size_t count = llmprof_values_count(values);
  int64_t *all = llmprof_alloc(count, sizeof *all);
  for (size_t row = 0; all && row < count; row += LLMPROF_BLOCK)
    read_stored(values, row, llmprof_block(row, count), all + row);
  return all;
}

void llmprof_cursor_load(llmprof_cursor *cursor, size_t row) {
  size_t count = to_stored(cursor->of)->count;
  cursor->first = row - row % LLMPROF_BLOCK;
  cursor->end = cursor->first + llmprof_block(cursor->first, count);
  read_stored(cursor->of, cursor->first, cursor->end - cursor->first,
              cursor->block);
}

/* ---- encoding ---- */

/* What a block's values are like. */
typedef struct likeness {
  int64_t low, high; /* of those that are there; low > high: none is */
  bool nulls, ascends;
} likeness;

static bool are_alike(const int64_t *values, size_t count) {
  return memcmp(values, values + 1, (count - 1) * sizeof *values) == 0;
}

static bool ascend(const int64_t *values, size_t count) {
  size_t i = 1;
  while (i < count && values[i - 1] <= values[i]) i++;
  return i == count;
}

/* The least of those that are there. */
static int64_t least_of(const int64_t *values, size_t count) {
  int64_t low = INT64_MAX;
  for (size_t i = 0; i < count; i++)
    if (values[i] != LLMPROF_ABSENT && values[i] < low) low = values[i];
  return low;
}

/* Absent is the least number. */
static likeness look(const int64_t *values, size_t count) {
  int64_t low = values[0], high = values[count - 1];
  bool alike = are_alike(values, count);
  if (low != LLMPROF_ABSENT && (alike || ascend(values, count)))
    return (likeness){low, high, false, true};
  if (alike) return (likeness){INT64_MAX, INT64_MIN, true, false};
  for (size_t i = 0; i < count; i++) {
    low = values[i] < low ? values[i] : low;
    high = values[i] > high ? values[i] : high;
  }
  if (low != LLMPROF_ABSENT) return (likeness){low, high, false, false};
  return (likeness){least_of(values, count), high, true, false};
}

/* Bytes of a code for so much above the base; the largest may be absent. */
static uint8_t width_of(const likeness *l) {
  uint64_t most = (uint64_t)l->high - (uint64_t)l->low;
  if (most < UINT8_MAX) return 1;
  if (most < UINT16_MAX) return 2;
  return most < UINT32_MAX ? 4 : 8;
}

#define WRITE_CODES(type)                                                      \
  static void write_##type(const block *b, void *codes, const int64_t *values, \
                           size_t count) {                                     \
    type *code = codes;                                                        \
    uint64_t base = (uint64_t)b->base;                                         \
    for (size_t i = 0; i < count; i++)                                         \
      code[i] = (type)((uint64_t)values[i] - base);                            \
    for (size_t i = 0; b->nulls && i < count; i++)                             \
      if (values[i] == LLMPROF_ABSENT) code[i] = (type)-1;                     \
  }
WRITE_CODES(uint8_t)
WRITE_CODES(uint16_t)
WRITE_CODES(uint32_t)

static size_t aligned(size_t size) {
  return (size + sizeof(int64_t) - 1) / sizeof(int64_t) * sizeof(int64_t);
}

/* Bytes that a block's codes take. */
static size_t codes_size(const block *b, size_t count) {
  if (b->encoding == CONSTANT) return 0;
  return aligned(count * b->width);
}

static void write_codes(const block *b, void *codes, const int64_t *values,
                        size_t count) {
  if (b->encoding == CONSTANT) return;
  if (b->encoding == PLAIN) {
    memcpy(codes, values, count * sizeof *values);
  } else if (b->width == 1) {
    write_uint8_t(b, codes, values, count);
  } else if (b->width == 2) {
    write_uint16_t(b, codes, values, count);
  } else {
    write_uint32_t(b, codes, values, count);
  }
}

static bool is_constant(const likeness *l) {
  return l->low > l->high || (l->low == l->high && !l->nulls);
}

/* How a block is encoded. */
static block choose(const int64_t *values, size_t count) {
  likeness l = look(values, count);
  block b = {.base = l.low > l.high ? LLMPROF_ABSENT : l.low,
             .high = l.low > l.high ? LLMPROF_ABSENT : l.high,
             .nulls = l.nulls,
             .ascends = l.ascends};
  if (is_constant(&l)) return b;
  b.width = width_of(&l);
  b.encoding = b.width == 8 ? PLAIN : BASE_DELTA;
  return b;
}

static bool add_chunk(stored *s, size_t left) {
  if (!llmprof_grow(&s->chunks, &s->chunk_cap, s->chunk_count + 1,
                    sizeof *s->chunks))
    return false;
  unsigned char *chunk = llmprof_alloc(CHUNK, 1);
  if (!chunk) return false;
  if (left) memset(s->chunks[s->chunk_count - 1] + CHUNK - left, 0, left);
  s->chunks[s->chunk_count++] = chunk;
  s->code_count += left;
  return true;
}

/* Room for a block, whose codes may not go on in another chunk; what lies
 * between them and the next is zero. */
static bool make_room(stored *s, size_t number, size_t size) {
  if (!llmprof_grow(&s->blocks, &s->block_cap, number + 1, sizeof *s->blocks))
    return false;
  size_t left = s->chunk_count * CHUNK - s->code_count;
  if (size > left && !add_chunk(s, left)) return false;
  const int64_t zero = 0;
  size_t end = s->code_count % CHUNK + size;
  if (size)
    memcpy(s->chunks[s->chunk_count - 1] + end - sizeof zero, &zero,
           sizeof zero);
  return true;
}

/* The block for the first value: columns that get none cost nothing. */
static bool begin(llmprof_values *values) {
  values->open = llmprof_alloc(LLMPROF_BLOCK, sizeof *values->open);
  if (values->open) values->opened = 0;
  return values->open != NULL;
}

bool llmprof_values_seal(llmprof_values *values) {
  stored *s = as_stored(values);
  if (!values->open) return begin(values);
  size_t number = s->count / LLMPROF_BLOCK, count = values->opened;
  block b = choose(values->open, count);
  size_t size = codes_size(&b, count);
  if (!make_room(s, number, size)) return false;
  b.codes = s->code_count;
  if (size)
    write_codes(&b, s->chunks[b.codes / CHUNK] + b.codes % CHUNK, values->open,
                count);
  s->blocks[number] = b;
  s->code_count += size;
  s->count += count;
  values->opened = 0;
  return true;
}

/* ---- storing ---- */

bool llmprof_values_repeat(llmprof_values *values, int64_t value,
                           size_t count) {
  while (count) {
    size_t room;
    int64_t *at = llmprof_values_room(values, &room);
    if (!at) return false;
    if (room > count) room = count;
    for (size_t i = 0; i < room; i++) at[i] = value;
    values->opened += room;
    count -= room;
  }
  return true;
}

llmprof_values *llmprof_values_new(void) {
  stored *s = llmprof_zalloc(1, sizeof *s);
  if (!s) return NULL;
  s->values.way = &by_block;
  s->values.opened = LLMPROF_BLOCK;
  return &s->values;
}

void llmprof_values_free(llmprof_values *values) {
  if (!values) return;
  stored *s = values->way == &by_block ? as_stored(values) : NULL;
  for (size_t i = 0; s && !s->is_borrowed && i < s->chunk_count; i++)
    llmprof_free(s->chunks[i]);
  if (s) llmprof_free(s->chunks);
  if (s && !s->is_borrowed) llmprof_free(s->blocks);
  llmprof_free(values->open);
  llmprof_free(values);
}

/* Room that was not needed goes; what cannot be moved stays. */
static void *trim(void *items, size_t count, size_t size) {
  void *less = items ? llmprof_resize(items, count, size) : NULL;
  return less ? less : items;
}

bool llmprof_values_end(llmprof_values *values) {
  stored *s = as_stored(values);
  if (!values->open) return true;
  if (values->opened && !llmprof_values_seal(values)) return false;
  llmprof_free(values->open);
  values->open = NULL;
  size_t last = s->chunk_count - 1, blocks = block_count(s->count);
  if (s->chunk_count)
    s->chunks[last] = trim(s->chunks[last], s->code_count - last * CHUNK, 1);
  s->blocks = trim(s->blocks, blocks, sizeof *s->blocks);
  return true;
}

/* ---- as bytes ---- */

bool llmprof_values_put(const llmprof_values *values,
                        llmprof_values_snapshot *snapshot) {
  const stored *s = to_stored(values);
  unsigned char *codes = llmprof_alloc(s->code_count, 1);
  if (!codes) return false;
  for (size_t at = 0; at < s->code_count; at += CHUNK) {
    size_t left = s->code_count - at;
    memcpy(codes + at, s->chunks[at / CHUNK], left < CHUNK ? left : CHUNK);
  }
  *snapshot = (llmprof_values_snapshot){
      s->blocks, codes, block_count(s->count) * sizeof(block), s->code_count};
  return true;
}

size_t llmprof_values_size(const llmprof_values *values) {
  const stored *s = to_stored(values);
  return block_count(s->count) * sizeof(block) + s->code_count;
}

/* Can a block of `count` values be decoded from `size` bytes? */
static bool is_sound(const block *b, size_t count, size_t size) {
  if (b->encoding >= ENCODINGS) return false;
  if (b->encoding == CONSTANT) return true;
  bool is_width = b->encoding == BASE_DELTA
                      ? b->width == 1 || b->width == 2 || b->width == 4
                      : b->width == 8;
  return is_width && b->codes % sizeof(int64_t) == 0 && b->codes <= size &&
         codes_size(b, count) <= size - b->codes;
}

/* Chunks within what lies behind each other. */
static bool lay_chunks(stored *s, const unsigned char *codes) {
  s->chunk_count = (s->code_count + CHUNK - 1) / CHUNK;
  s->chunks = llmprof_alloc(s->chunk_count, sizeof *s->chunks);
  for (size_t i = 0; s->chunks && i < s->chunk_count; i++, codes += CHUNK)
    memcpy(&s->chunks[i], &codes, sizeof codes);
  return s->chunks != NULL;
}

llmprof_values *llmprof_values_take(const llmprof_values_snapshot *snapshot,
                                    size_t count) {
  const block *blocks = snapshot->blocks;
  size_t number = block_count(count);
  if (snapshot->blocks_size != number * sizeof *blocks) return NULL;
  for (size_t i = 0; i < number; i++) {
    size_t some = llmprof_block(i * LLMPROF_BLOCK, count);
    if (!is_sound(&blocks[i], some, snapshot->codes_size)) return NULL;
  }
  stored *s = llmprof_zalloc(1, sizeof *s);
  if (!s) return NULL;
  *s = (stored){.values = {.way = &by_block},
                .count = count,
                .code_count = snapshot->codes_size,
                .is_borrowed = true};
  memcpy(&s->blocks, &snapshot->blocks, sizeof s->blocks);
  if (lay_chunks(s, snapshot->codes)) return &s->values;
  llmprof_free(s);
  return NULL;
}

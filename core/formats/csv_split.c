/* A raw page of ncu has 1,391 fields a line and 12 KB: libcsv, which looks at
 * each byte through calls, takes twenty times as long as finding the quotes. */
#include "formats/csv_split.h"

#include <string.h>

#include "llmprof/alloc.h"

enum {
  INTRICATE = -1
};

static bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

/* Each returns where the field ends, behind its quote if it has any. */

static ptrdiff_t quoted(const char *line, size_t size, size_t at,
                        llmprof_csv_piece *piece) {
  size_t from = at + 1;
  *piece = (llmprof_csv_piece){.start = (uint32_t)from};
  for (;;) {
    const char *quote = memchr(line + from, '"', size - from);
    if (!quote) return INTRICATE;
    size_t end = (size_t)(quote - line);
    if (end + 1 < size && line[end + 1] == '"') {
      piece->doubled = true;
      from = end + 2;
      continue;
    }
    piece->size = (uint32_t)end - piece->start;
    return (ptrdiff_t)end + 1;
  }
}

static ptrdiff_t bare(const char *line, size_t size, size_t at,
                      llmprof_csv_piece *piece) {
  const char *comma = memchr(line + at, ',', size - at);
  size_t end = comma ? (size_t)(comma - line) : size;
  *piece = (llmprof_csv_piece){(uint32_t)at, (uint32_t)(end - at), false};
  if (end == at) return (ptrdiff_t)end;
  if (is_blank(line[at]) || is_blank(line[end - 1]) ||
      memchr(line + at, '"', end - at))
    return INTRICATE;
  return (ptrdiff_t)end;
}

llmprof_csv_plain llmprof_csv_split(const char *line, size_t size,
                                    llmprof_csv_pieces *pieces) {
  size_t at = 0;
  pieces->count = 0;
  if (size >= UINT32_MAX || memchr(line, '\n', size))
    return LLMPROF_CSV_INTRICATE;
  for (;;) {
    if (!llmprof_grow(&pieces->items, &pieces->cap, pieces->count + 1,
                      sizeof *pieces->items))
      return LLMPROF_CSV_NOMEM;
    llmprof_csv_piece *piece = &pieces->items[pieces->count++];
    ptrdiff_t end = at < size && line[at] == '"' ? quoted(line, size, at, piece)
                                                 : bare(line, size, at, piece);
    if (end < 0) return LLMPROF_CSV_INTRICATE;
    if ((size_t)end == size) return LLMPROF_CSV_PLAIN;
    if (line[end] != ',') return LLMPROF_CSV_INTRICATE;
    at = (size_t)end + 1;
  }
}

size_t llmprof_csv_finish(char *line, const llmprof_csv_piece *piece) {
  char *bytes = line + piece->start;
  size_t size = piece->size;
  if (piece->doubled) {
    size = 0;
    for (size_t i = 0; i < piece->size; i++) {
      bytes[size++] = bytes[i];
      i += bytes[i] == '"';
    }
  }
  bytes[size] = '\0';
  return size;
}

/* ---- numbers ---- */

enum {
  DIGITS = 15 /* of them any integer is a double, and so is its power of ten */
};

static const double powers[DIGITS + 1] = {1e0,  1e1,  1e2,  1e3, 1e4,  1e5,
                                          1e6,  1e7,  1e8,  1e9, 1e10, 1e11,
                                          1e12, 1e13, 1e14, 1e15};

/* Digits of which every three have a comma before them, or none has; returns
 * where they end, 0 where they are not so. */
static size_t read_whole(const char *text, size_t size, size_t at,
                         uint64_t *number, size_t *digits) {
  size_t since = 0;
  bool parted = false;
  for (; at < size; at++) {
    unsigned digit = (unsigned)(unsigned char)text[at] - '0';
    if (digit > 9) {
      if (text[at] != ',') break;
      if (!since || since > 3 || (parted && since != 3)) return 0;
      parted = true;
      since = 0;
      continue;
    }
    if (++*digits > DIGITS) return 0;
    *number = *number * 10 + digit;
    since++;
  }
  return parted && since != 3 ? 0 : at;
}

bool llmprof_csv_plain_number(const char *text, size_t size, double *value) {
  bool negative = size && *text == '-';
  uint64_t number = 0;
  size_t digits = 0, fraction = 0;
  size_t at = read_whole(text, size, negative, &number, &digits);
  if (!digits) return false;
  if (at < size && text[at] == '.') {
    for (at++; at < size; at++, fraction++) {
      unsigned digit = (unsigned)(unsigned char)text[at] - '0';
      if (digit > 9 || ++digits > DIGITS) return false;
      number = number * 10 + digit;
    }
  }
  if (at != size) return false;
  double got = (double)number / powers[fraction];
  *value = negative ? -got : got;
  return true;
}

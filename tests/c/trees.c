#include "trees.h"

#include <math.h>
#include <string.h>

static bool same_double(double a, double b) {
  return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
}

static bool same_bytes(const char *a, size_t a_size, const char *b,
                       size_t b_size) {
  return a_size == b_size && memcmp(a, b, a_size) == 0;
}

static bool same_items(const llmprof_value *a, const llmprof_value *b) {
  size_t count = llmprof_value_count(a);
  if (count != llmprof_value_count(b)) return false;
  for (size_t i = 0; i < count; i++) {
    size_t a_size = 0, b_size = 0;
    const char *a_key = "", *b_key = "";
    if (llmprof_value_type(a) == LLMPROF_MAP) {
      a_key = llmprof_value_key(a, i, &a_size);
      b_key = llmprof_value_key(b, i, &b_size);
    }
    if (!same_bytes(a_key, a_size, b_key, b_size) ||
        !trees_equal(llmprof_value_at(a, i), llmprof_value_at(b, i)))
      return false;
  }
  return true;
}

bool trees_equal(const llmprof_value *a, const llmprof_value *b) {
  size_t a_size, b_size;
  const char *a_text, *b_text;
  if (llmprof_value_type(a) != llmprof_value_type(b)) return false;
  switch (llmprof_value_type(a)) {
  case LLMPROF_NULL:
    return true;
  case LLMPROF_BOOL:
    return llmprof_value_bool(a) == llmprof_value_bool(b);
  case LLMPROF_INT:
    return llmprof_value_int(a) == llmprof_value_int(b);
  case LLMPROF_DOUBLE:
    return same_double(llmprof_value_double(a), llmprof_value_double(b));
  case LLMPROF_STRING:
    a_text = llmprof_value_string(a, &a_size);
    b_text = llmprof_value_string(b, &b_size);
    return same_bytes(a_text, a_size, b_text, b_size);
  case LLMPROF_LIST:
  case LLMPROF_MAP:
    break;
  }
  return same_items(a, b);
}

uint64_t trees_random(uint64_t *seed) {
  *seed ^= *seed >> 12;
  *seed ^= *seed << 25;
  *seed ^= *seed >> 27;
  return *seed * UINT64_C(0x2545F4914F6CDD1D);
}

static size_t below(uint64_t *seed, size_t limit) {
  return (size_t)((trees_random(seed) >> 11) % limit);
}

size_t trees_random_text(uint64_t *seed, char *out, size_t room) {
  static const char ascii[] = " \n\t-?:,[]{}#&*!|>'\"%@`~.0179eExo+_<=\\/ab\r";
  static const char *const words[] = {"null",
                                      "true",
                                      "~",
                                      "<<",
                                      "---",
                                      "...",
                                      "0x1F",
                                      "1e5",
                                      ".inf",
                                      ".nan",
                                      ": ",
                                      " #",
                                      "\n\n",
                                      "\n ",
                                      "\n\t",
                                      "key",
                                      "\xC3\xA9",
                                      "\x01",
                                      "\x7F",
                                      "\xC2\x85",
                                      "\xE2\x80\xA8",
                                      "\xEF\xBB\xBF",
                                      "\xEF\xBF\xBE",
                                      "\xED\x9F\xBF",
                                      "\xF0\x9F\x98\x80"};
  size_t used = 0, parts = below(seed, 8);
  while (parts--) {
    char single[2] = {ascii[below(seed, sizeof ascii)], '\0'};
    const char *part = below(seed, 3)
                           ? single
                           : words[below(seed, sizeof words / sizeof *words)];
    size_t size = *part ? strlen(part) : 1; /* ascii ends in a NUL, wanted */
    if (used + size >= room) break;
    memcpy(out + used, part, size);
    used += size;
  }
  return used;
}

static llmprof_value *random_double(uint64_t *seed, bool infinite) {
  for (;;) {
    uint64_t bits = trees_random(seed);
    double number;
    if (below(seed, 2)) {
      number = (double)(int64_t)bits / (double)(1 + below(seed, 100000));
    } else {
      memcpy(&number, &bits, sizeof number);
    }
    if (infinite && below(seed, 10) == 0) number = (double)NAN;
    if (infinite && below(seed, 10) == 0) number = -(double)INFINITY;
    if (infinite || isfinite(number)) return llmprof_value_new_double(number);
  }
}

static llmprof_value *random_value(uint64_t *seed, bool infinite, size_t depth);

static llmprof_value *random_items(uint64_t *seed, bool infinite, size_t depth,
                                   bool map) {
  llmprof_value *value =
      map ? llmprof_value_new_map() : llmprof_value_new_list();
  size_t count = below(seed, 5);
  bool ok = value;
  while (ok && count--) {
    char key[64];
    size_t size = trees_random_text(seed, key, sizeof key);
    llmprof_value *item = random_value(seed, infinite, depth + 1);
    ok = map ? llmprof_value_set(value, key, size, item)
             : llmprof_value_append(value, item);
  }
  if (ok) return value;
  llmprof_value_free(value);
  return NULL;
}

static llmprof_value *random_value(uint64_t *seed, bool infinite,
                                   size_t depth) {
  char text[64];
  switch (below(seed, depth < 6 ? 10 : 6)) {
  case 0:
    return llmprof_value_new_null();
  case 1:
    return llmprof_value_new_bool(below(seed, 2));
  case 2:
    return llmprof_value_new_int((int64_t)trees_random(seed) >>
                                 below(seed, 64));
  case 3:
    return random_double(seed, infinite);
  case 4:
  case 5:
    return llmprof_value_new_string(text,
                                    trees_random_text(seed, text, sizeof text));
  case 6:
  case 7:
    return random_items(seed, infinite, depth, false);
  default:
    return random_items(seed, infinite, depth, true);
  }
}

llmprof_value *trees_random_value(uint64_t *seed, bool infinite) {
  return random_value(seed, infinite, 0);
}

/* Least-significant-digit radix sort, byte by byte, leaving out the bytes in
 * which all keys agree: durations differ in two or three of eight. Rows, which
 * mostly are a few sorted tables one after the other, are merged where they
 * are few runs. */
#include "frame/sort.h"

#include <string.h>

#include "base/interrupt.h"
#include "llmprof/alloc.h"

enum {
  RADIX = 256,
  SMALL = 48,
  MANY_RUNS = 64 /* six passes of merging cost what the radix sort does */
};

/* Order-preserving image of a signed key. */
static inline uint64_t image(int64_t value) {
  return (uint64_t)value ^ UINT64_C(0x8000000000000000);
}

static inline unsigned digit(uint64_t key, int byte) {
  return (unsigned)(key >> (8 * byte)) & 0xff;
}

/* Where each digit's bucket starts. */
static void bucket_starts(const size_t *histogram, size_t *starts) {
  size_t sum = 0;
  for (int d = 0; d < RADIX; d++) {
    starts[d] = sum;
    sum += histogram[d];
  }
}

/* ---- values ---- */

/* A pass returns false, and moves nothing, when all keys agree in its byte. */
#define SORT_VALUES(type, name, image, bytes)                            \
  static void insert_##name(type *values, size_t count) {                \
    for (size_t i = 1; i < count; i++) {                                 \
      type value = values[i];                                            \
      size_t j = i;                                                      \
      for (; j && values[j - 1] > value; j--) values[j] = values[j - 1]; \
      values[j] = value;                                                 \
    }                                                                    \
  }                                                                      \
  static bool pass_##name(const type *from, type *to, size_t count,      \
                          int byte) {                                    \
    size_t histogram[RADIX] = {0}, starts[RADIX];                        \
    for (size_t i = 0; i < count; i++)                                   \
      histogram[digit(image(from[i]), byte)]++;                          \
    if (histogram[digit(image(from[0]), byte)] == count) return false;   \
    bucket_starts(histogram, starts);                                    \
    for (size_t i = 0; i < count; i++)                                   \
      to[starts[digit(image(from[i]), byte)]++] = from[i];               \
    return true;                                                         \
  }                                                                      \
  void llmprof_sort_##name(type *values, size_t count, type *scratch) {  \
    size_t i = 1;                                                        \
    if (count < SMALL) {                                                 \
      insert_##name(values, count);                                      \
      return;                                                            \
    }                                                                    \
    while (i < count && values[i - 1] <= values[i]) i++;                 \
    if (i == count) return;                                              \
    type *from = values, *to = scratch;                                  \
    for (int byte = 0; byte < (bytes); byte++) {                         \
      if (!pass_##name(from, to, count, byte)) continue;                 \
      type *swap = from;                                                 \
      from = to;                                                         \
      to = swap;                                                         \
    }                                                                    \
    if (from != values) memcpy(values, from, count * sizeof *values);    \
  }
SORT_VALUES(int64_t, i64, image, 8)
SORT_VALUES(uint32_t, u32, , 4)

/* ---- rows ---- */

/* A key of row r, whatever its type: one of the two is set. */
typedef struct row_keys {
  const uint32_t *u32;
  const int64_t *i64;
} row_keys;

static inline uint64_t key_of(row_keys keys, uint32_t row) {
  return keys.u32 ? keys.u32[row] : image(keys.i64[row]);
}

/* Where the ascending runs of rows begin, and `count`; how many runs, or
 * MANY_RUNS. */
static size_t find_runs(const uint32_t *rows, size_t count, row_keys keys,
                        size_t *starts) {
  size_t runs = 1;
  starts[0] = 0;
  for (size_t i = 1; i < count; i++) {
    if (key_of(keys, rows[i - 1]) <= key_of(keys, rows[i])) continue;
    if (runs == MANY_RUNS) return MANY_RUNS;
    starts[runs++] = i;
  }
  starts[runs] = count;
  return runs;
}

/* Rows from[0..middle) and from[middle..count), each sorted, into one. */
static void merge_two(const uint32_t *from, size_t middle, size_t count,
                      row_keys keys, uint32_t *to) {
  size_t i = 0, j = middle;
  while (i < middle && j < count) {
    bool second = key_of(keys, from[j]) < key_of(keys, from[i]);
    *to++ = second ? from[j++] : from[i++];
  }
  memcpy(to, from + i, (middle - i) * sizeof *to);
  memcpy(to + (middle - i), from + j, (count - j) * sizeof *to);
}

/* Each run with the next one, into `to`; returns how many are left. */
static size_t merge_pairs(const uint32_t *from, size_t *starts, size_t runs,
                          row_keys keys, uint32_t *to) {
  size_t left = 0;
  for (size_t run = 0; run < runs; run += 2) {
    size_t first = starts[run], middle = starts[run + 1];
    size_t end = run + 1 < runs ? starts[run + 2] : middle;
    merge_two(from + first, middle - first, end - first, keys, to + first);
    starts[left++] = first;
  }
  starts[left] = starts[runs];
  return left;
}

/* The result may lie in either; it is returned. NULL after an interrupt. */
static uint32_t *merge_runs(uint32_t *rows, uint32_t *scratch, size_t *starts,
                            size_t runs, row_keys keys) {
  while (runs > 1) {
    if (llmprof_interrupted()) return NULL;
    runs = merge_pairs(rows, starts, runs, keys, scratch);
    uint32_t *swap = rows;
    rows = scratch;
    scratch = swap;
  }
  return rows;
}

/* The bytes in which keys differ; how many. */
static int list_bytes(const uint32_t *rows, size_t count, row_keys keys,
                      int *bytes) {
  uint64_t first = key_of(keys, rows[0]), off = 0;
  int listed = 0;
  for (size_t i = 1; i < count; i++) off |= key_of(keys, rows[i]) ^ first;
  for (int byte = 0; byte < (int)sizeof off; byte++)
    if (digit(off, byte)) bytes[listed++] = byte;
  return listed;
}

/* Rows by one byte of their keys. */
static void radix_pass(const uint32_t *from, uint32_t *to, size_t count,
                       row_keys keys, int byte) {
  uint32_t next[RADIX] = {0}, sum = 0;
  for (size_t i = 0; i < count; i++) next[digit(key_of(keys, from[i]), byte)]++;
  for (size_t d = 0; d < RADIX; d++) {
    uint32_t here = next[d];
    next[d] = sum;
    sum += here;
  }
  for (size_t i = 0; i < count; i++)
    to[next[digit(key_of(keys, from[i]), byte)]++] = from[i];
}

/* The result may lie in either; it is returned. NULL after an interrupt. */
static uint32_t *radix_rows(uint32_t *rows, uint32_t *scratch, size_t count,
                            row_keys keys) {
  int bytes[sizeof(uint64_t)], listed = list_bytes(rows, count, keys, bytes);
  for (int b = 0; b < listed; b++) {
    if (llmprof_interrupted()) return NULL;
    radix_pass(rows, scratch, count, keys, bytes[b]);
    uint32_t *swap = rows;
    rows = scratch;
    scratch = swap;
  }
  return rows;
}

static bool sort_rows(uint32_t *rows, size_t count, row_keys keys) {
  size_t starts[MANY_RUNS + 1];
  size_t runs = find_runs(rows, count, keys, starts);
  if (runs == 1) return true;
  uint32_t *scratch = llmprof_alloc(count, sizeof *scratch);
  if (!scratch) return false;
  uint32_t *sorted = runs < MANY_RUNS
                         ? merge_runs(rows, scratch, starts, runs, keys)
                         : radix_rows(rows, scratch, count, keys);
  if (sorted && sorted != rows) memcpy(rows, sorted, count * sizeof *rows);
  llmprof_free(scratch);
  return sorted != NULL;
}

bool llmprof_sort_rows_u32(uint32_t *rows, size_t count, const uint32_t *keys) {
  return sort_rows(rows, count, (row_keys){.u32 = keys});
}

bool llmprof_sort_rows_i64(uint32_t *rows, size_t count, const int64_t *keys) {
  return sort_rows(rows, count, (row_keys){.i64 = keys});
}

uint32_t *llmprof_order_rows(size_t count, int keys, llmprof_row_key *key,
                             const void *of) {
  uint32_t *rows = llmprof_alloc(count, sizeof *rows);
  int64_t *values = llmprof_alloc(count, sizeof *values);
  bool ok = rows && values;
  for (size_t i = 0; ok && i < count; i++) rows[i] = (uint32_t)i;
  for (int which = 0; ok && which < keys; which++) {
    for (size_t i = 0; i < count; i++) values[i] = key(of, i, which);
    ok = llmprof_sort_rows_i64(rows, count, values);
  }
  llmprof_free(values);
  if (ok) return rows;
  llmprof_free(rows);
  return NULL;
}

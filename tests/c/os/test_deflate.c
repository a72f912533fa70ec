/* What is packed is unpacked by zlib, to the byte. */
#include "os/deflate.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "llmprof/buffer.h"
#include "os/huffman.h"
#include "support.h"

static uint32_t seed;

static uint32_t dice(uint32_t sides) {
  seed = seed * 1664525 + 1013904223;
  return (uint32_t)((uint64_t)seed * sides >> 32);
}

static const unsigned char end[2] = {3, 0};

static void assert_unpacks(const void *packed, size_t packed_size,
                           const void *bytes, size_t size) {
  unsigned char *room = malloc(size + 1);
  z_stream z = {.next_in = (unsigned char *)packed,
                .avail_in = (uInt)packed_size,
                .next_out = room,
                .avail_out = (uInt)size + 1};
  assert_int_equal(inflateInit2(&z, -15), Z_OK);
  assert_int_equal(inflate(&z, Z_SYNC_FLUSH), Z_OK);
  assert_int_equal(z.avail_in, 0);
  z.next_in = (unsigned char *)end;
  z.avail_in = sizeof end;
  assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
  assert_int_equal(z.total_out, size);
  if (size) assert_memory_equal(room, bytes, size);
  inflateEnd(&z);
  free(room);
}

/* Packs into a block of just the size that was promised, for sanitizers. */
static size_t assert_packs(llmprof_deflate *d, const void *bytes, size_t size) {
  size_t room = llmprof_deflate_bound(size);
  unsigned char *packed = malloc(room), *copy = malloc(size + !size);
  if (size) memcpy(copy, bytes, size);
  size_t got = llmprof_deflate_pack(d, copy, size, packed);
  assert_true(got <= room);
  assert_unpacks(packed, got, bytes, size);
  free(copy);
  free(packed);
  return got;
}

enum {
  MOST = 700 * 1000
};

/* Ways to fill bytes: what packs well, badly, in one symbol, in runs longer
 * than a repeat, at distances around the window's size. */
static void fill(unsigned char *bytes, size_t size, int way) {
  for (size_t i = 0; i < size; i++) {
    switch (way) {
    case 0:
      bytes[i] = 'x';
      break;
    case 1:
      bytes[i] = (unsigned char)dice(256);
      break;
    case 2:
      bytes[i] = (unsigned char)(dice(40) ? '0' + dice(10) : dice(256));
      break;
    case 3:
      bytes[i] =
          i < 32769 ? (unsigned char)dice(256) : bytes[i - 32769 + i % 3];
      break;
    case 4:
      bytes[i] = (unsigned char)(i / (1 + i / 1000));
      break;
    default: /* each symbol half as often as the one before: deep codes */
      bytes[i] = (unsigned char)__builtin_ctz(dice(UINT32_MAX) | 1u << 31);
    }
  }
}

static void test_bytes(void **state) {
  (void)state;
  static const size_t sizes[] = {0,     1,     2,     3,     4,     7,
                                 8,     9,     100,   257,   258,   259,
                                 32767, 32768, 32769, 65535, 65536, MOST};
  llmprof_deflate *d = llmprof_deflate_new();
  unsigned char *bytes = malloc(MOST);
  for (int way = 0; way < 6; way++) {
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
      fill(bytes, sizes[i], way);
      size_t size = assert_packs(d, bytes, sizes[i]);
      assert_int_equal(assert_packs(d, bytes, sizes[i]), size);
    }
  }
  free(bytes);
  llmprof_deflate_free(d);
}

static void test_any(void **state) {
  (void)state;
  llmprof_deflate *d = llmprof_deflate_new();
  llmprof_buffer text = {0};
  for (seed = 1; seed < 4000; seed++) {
    uint32_t before = seed;
    while (dice(60)) {
      if (text.size && dice(2)) { /* a piece of what was */
        size_t from = dice((uint32_t)text.size), size = dice(400);
        for (size_t i = 0; i < size; i++) {
          char again = text.bytes[from + i];
          llmprof_buffer_putc(&text, again);
        }
      }
      llmprof_buffer_printf(&text, "{\"ts\":%u}", dice(100000));
      llmprof_buffer_fill(&text, (char)dice(256), dice(600) / 100);
    }
    assert_packs(d, text.bytes, text.size);
    llmprof_buffer_clear(&text);
    seed = before;
  }
  llmprof_buffer_free(&text);
  llmprof_deflate_free(d);
}

/* An event like those of an export packs to a sixth. */
static void test_size(void **state) {
  (void)state;
  llmprof_deflate *d = llmprof_deflate_new();
  llmprof_buffer text = {0};
  seed = 1;
  for (unsigned at = 0; text.size < 1000000; at += dice(5000))
    llmprof_buffer_printf(&text,
                          ",\n{\"ph\":\"X\",\"pid\":4194304,\"tid\":16777216,"
                          "\"ts\":%u.%03u,\"dur\":%u.%03u,\"cat\":\"kernel\","
                          "\"name\":\"void gemm_kernel_%u<float, 4>(int)\"}",
                          at, dice(1000), dice(9), dice(1000), dice(20));
  assert_true(assert_packs(d, text.bytes, text.size) * 6 < text.size);
  llmprof_buffer_free(&text);
  llmprof_deflate_free(d);
}

/* ---- codes ---- */

/* Complete: no bit pattern is left over, and none means two symbols. */
static void assert_complete(const llmprof_huffman *h, size_t count,
                            int longest) {
  uint64_t taken = 0;
  for (size_t s = 0; s < count; s++) {
    assert_true(h->length[s] <= longest);
    if (h->length[s]) taken += UINT64_C(1) << (longest - h->length[s]);
  }
  assert_true(taken == UINT64_C(1) << longest);
}

static void test_codes(void **state) {
  (void)state;
  llmprof_huffman h;
  uint32_t often[LLMPROF_HUFFMAN_SYMBOLS];
  for (seed = 1; seed < 3000; seed++) {
    uint32_t before = seed, limit = 1u << dice(31);
    size_t count = 2 + dice(LLMPROF_HUFFMAN_SYMBOLS - 1);
    int longest = count > 100 ? 15 : 7;
    uint64_t last = 1;
    for (size_t s = 0; s < count; s++) {
      often[s] = dice(3) ? dice(limit) : 0;
      if (before % 2) often[s] = (uint32_t)(last = last * 8 / 5 % limit + 1);
    }
    llmprof_huffman_make(&h, often, count, longest);
    assert_complete(&h, count, longest);
    for (size_t s = 0; s < count; s++) {
      if (often[s]) assert_true(h.length[s]);
    }
    seed = before;
  }
  uint32_t none[2] = {0, 0};
  llmprof_huffman_make(&h, none, 2, 15);
  assert_complete(&h, 2, 15);
}

/* What comes more often is never longer. */
static void test_order(void **state) {
  (void)state;
  llmprof_huffman h;
  const uint32_t often[] = {5, 1000000, 1, 300, 300, 2, 40, 0};
  llmprof_huffman_make(&h, often, 8, 7);
  for (int a = 0; a < 8; a++) {
    for (int b = 0; b < 8; b++) {
      if (often[a] > often[b] && often[b])
        assert_true(h.length[a] <= h.length[b]);
    }
  }
  assert_int_equal(h.length[1], 1);
  assert_int_equal(h.length[7], 0);
}

static bool pack_some(void *arg, llmprof_error *err) {
  llmprof_deflate *d = llmprof_deflate_new();
  if (!d) return llmprof_fail_nomem(err);
  unsigned char packed[100];
  assert_true(llmprof_deflate_bound(3) <= sizeof packed);
  llmprof_deflate_pack(d, arg, 3, packed);
  llmprof_deflate_free(d);
  return true;
}

static void test_allocations(void **state) {
  (void)state;
  char three[] = "abc";
  test_every_allocation(pack_some, three);
  llmprof_deflate_free(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bytes), cmocka_unit_test(test_any),
      cmocka_unit_test(test_size),  cmocka_unit_test(test_codes),
      cmocka_unit_test(test_order), cmocka_unit_test(test_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

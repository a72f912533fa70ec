#include "os/packer.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "llmprof/buffer.h"
#include "llmprof/gzip.h"
#include "os/packing.h"
#include "support.h"

enum {
  BLOCK = 256 * 1024, /* as the packer cuts */
};

static bool take(void *user, const void *bytes, size_t size,
                 llmprof_error *err) {
  llmprof_buffer_add(user, bytes, size);
  return !((llmprof_buffer *)user)->failed || llmprof_fail_nomem(err);
}

/* Text that repeats, and does not, at distances up to the window's size. */
static llmprof_buffer text_of(size_t size) {
  llmprof_buffer text = {0};
  uint32_t seed = 1;
  while (text.size < size) {
    seed = seed * 1664525 + 1013904223;
    llmprof_buffer_printf(&text, "{\"ts\":%u,\"name\":\"kernel_%u\"}", seed,
                          seed >> 28);
  }
  text.size = size;
  return text;
}

static llmprof_buffer packed_of(const llmprof_buffer *text, size_t threads,
                                size_t step) {
  llmprof_buffer packed = {0};
  llmprof_error err;
  llmprof_packer *p = llmprof_packer_new(1, threads, take, &packed);
  assert_non_null(p);
  for (size_t at = 0; at < text->size; at += step) {
    size_t left = text->size - at, part = left < step ? left : step;
    assert_true(llmprof_packer_write(p, text->bytes + at, part, &err));
  }
  assert_true(llmprof_packer_finish(p, &err));
  llmprof_packer_free(p);
  return packed;
}

static void assert_unpacks(const llmprof_buffer *packed,
                           const llmprof_buffer *text) {
  unsigned char *room = malloc(text->size + 1);
  z_stream z = {.next_in = (unsigned char *)packed->bytes,
                .avail_in = (uInt)packed->size,
                .next_out = room,
                .avail_out = (uInt)text->size + 1};
  assert_int_equal(inflateInit2(&z, LLMPROF_GZIP_WINDOW), Z_OK);
  assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
  assert_int_equal(z.total_out, text->size);
  assert_int_equal(z.avail_in, 0); /* one member */
  if (text->size) assert_memory_equal(room, text->bytes, text->size);
  inflateEnd(&z);
  free(room);
}

static void test_sizes(void **state) {
  (void)state;
  static const size_t sizes[] = {
      0,         1,         BLOCK - 1, BLOCK,
      BLOCK + 1, 2 * BLOCK, 5 * BLOCK, 9 * BLOCK + 77777};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    llmprof_buffer text = text_of(sizes[i]);
    llmprof_buffer alone = packed_of(&text, 0, 1000000);
    assert_unpacks(&alone, &text);
    for (size_t threads = 1; threads <= 8; threads *= 2) {
      llmprof_buffer many = packed_of(&text, threads, 70001);
      assert_int_equal(many.size, alone.size);
      assert_memory_equal(many.bytes, alone.bytes, alone.size);
      llmprof_buffer_free(&many);
    }
    llmprof_buffer_free(&alone);
    llmprof_buffer_free(&text);
  }
}

/* Counts down, then refuses. */
static bool refuse(void *user, const void *bytes, size_t size,
                   llmprof_error *err) {
  (void)bytes, (void)size;
  return (*(int *)user)-- > 0 || llmprof_fail(err, LLMPROF_IO, "no room");
}

static void test_refused(void **state) {
  (void)state;
  llmprof_buffer text = text_of(6 * BLOCK);
  for (int accepted = 0; accepted < 8; accepted++) {
    int left = accepted;
    llmprof_error err = {0};
    llmprof_packer *p = llmprof_packer_new(1, 2, refuse, &left);
    assert_non_null(p);
    bool ok = llmprof_packer_write(p, text.bytes, text.size, &err) &&
              llmprof_packer_finish(p, &err);
    assert_false(ok);
    assert_string_equal(err.message, "no room");
    llmprof_packer_free(p);
  }
  llmprof_buffer_free(&text);
}

static bool pack_some(void *arg, llmprof_error *err) {
  (void)arg;
  int endless = 1000000;
  llmprof_packer *p = llmprof_packer_new(1, 1, refuse, &endless);
  bool ok = p || llmprof_fail_nomem(err);
  ok = ok && llmprof_packer_write(p, "abc", 3, err) &&
       llmprof_packer_finish(p, err);
  llmprof_packer_free(p);
  return ok;
}

static void test_allocations(void **state) {
  (void)state;
  test_every_allocation(pack_some, NULL);
}

static bool pack_in_memory(void *arg, llmprof_error *err) {
  llmprof_buffer packed = {0};
  bool ok = llmprof_gzip(&packed, arg, 3, err);
  llmprof_buffer_free(&packed);
  return ok;
}

static void test_in_memory(void **state) {
  (void)state;
  static const size_t sizes[] = {0, 1, 3 * BLOCK + 5};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    llmprof_buffer text = text_of(sizes[i]), packed = {0};
    llmprof_error err;
    assert_true(llmprof_gzip(&packed, text.bytes, text.size, &err));
    assert_unpacks(&packed, &text);
    llmprof_buffer_free(&packed);
    llmprof_buffer_free(&text);
  }
  char three[] = "abc";
  test_every_allocation(pack_in_memory, three);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sizes),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_allocations),
      cmocka_unit_test(test_in_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

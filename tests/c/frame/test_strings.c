#include "llmprof/strings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bounds.h"
#include "frame/strings_laid.h"
#include "support.h"

static uint32_t add(llmprof_strings *pool, const char *bytes, size_t size) {
  uint32_t id = LLMPROF_NO_STRING;
  assert_true(llmprof_strings_add(pool, bytes, size, &id));
  return id;
}

TEST(equal_bytes_share_an_id) {
  llmprof_strings *pool = llmprof_strings_new();
  assert_int_equal(llmprof_strings_count(pool), 0);
  assert_int_equal(add(pool, "one", 3), 0);
  assert_int_equal(add(pool, "two", 3), 1);
  assert_int_equal(add(pool, "one and more", 3), 0);
  assert_int_equal(add(pool, "", 0), 2);
  assert_int_equal(add(pool, "a\0b", 3), 3);
  assert_int_equal(add(pool, "a\0c", 3), 4);
  assert_int_equal(add(pool, "a", 1), 5);
  assert_int_equal(add(pool, "a\0", 2), 6);
  assert_int_equal(llmprof_strings_count(pool), 7);
  llmprof_strings_free(pool);
}

TEST(get) {
  llmprof_strings *pool = llmprof_strings_new();
  uint32_t id = add(pool, "a\0b", 3);
  size_t size = 99;
  const char *got = llmprof_strings_get(pool, id, &size);
  assert_int_equal(size, 3);
  assert_memory_equal(got, "a\0b", 4); /* and its end */
  assert_string_equal(llmprof_strings_get(pool, id, NULL), "a");
  assert_null(llmprof_strings_get(pool, LLMPROF_NO_STRING, &size));
  assert_int_equal(size, 0);
  assert_null(llmprof_strings_get(pool, 1, NULL));
  llmprof_strings_free(pool);
  llmprof_strings_free(NULL);
}

TEST(find) {
  llmprof_strings *pool = llmprof_strings_new();
  assert_int_equal(llmprof_strings_find(pool, "x", 1), LLMPROF_NO_STRING);
  uint32_t id = add(pool, "x", 1);
  assert_int_equal(llmprof_strings_find(pool, "x", 1), id);
  assert_int_equal(llmprof_strings_find(pool, "xy", 2), LLMPROF_NO_STRING);
  assert_int_equal(llmprof_strings_find(pool, "", 0), LLMPROF_NO_STRING);
  llmprof_strings_free(pool);
}

static size_t number_text(char text[16], uint32_t i) {
  return (size_t)snprintf(text, 16, "%u", i * 7919);
}

/* Add `*count` strings. A failure leaves the pool as it was. */
static bool add_many(void *count, llmprof_error *err) {
  llmprof_strings *pool = llmprof_strings_new();
  bool ok = pool != NULL;
  for (uint32_t i = 0; ok && i < *(uint32_t *)count; i++) {
    char text[16];
    uint32_t id;
    size_t size = number_text(text, i);
    ok = llmprof_strings_add(pool, text, size, &id);
    assert_int_equal(llmprof_strings_count(pool), i + ok);
    assert_int_equal(llmprof_strings_find(pool, text, size),
                     ok ? i : LLMPROF_NO_STRING);
  }
  llmprof_strings_free(pool);
  return ok || llmprof_fail_nomem(err);
}

TEST(allocations) {
  uint32_t count = 600; /* through two rehashes */
  test_every_allocation(add_many, &count);
}

/* Strings stay where they are while the pool grows. */
TEST(many) {
  llmprof_strings *pool = llmprof_strings_new();
  char text[16];
  for (uint32_t i = 0; i < 100000; i++)
    assert_int_equal(add(pool, text, number_text(text, i)), i);
  const char *first = llmprof_strings_get(pool, 0, NULL);
  for (uint32_t i = 0; i < 100000; i++) {
    size_t size = number_text(text, i);
    assert_int_equal(llmprof_strings_find(pool, text, size), i);
    assert_string_equal(llmprof_strings_get(pool, i, NULL), text);
  }
  add(pool, "one more", 8);
  assert_ptr_equal(llmprof_strings_get(pool, 0, NULL), first);
  llmprof_strings_free(pool);
}

/* ---- strings that lie in memory ---- */

TEST(laid) {
  static const char bytes[] = "one\0two\0\0four";
  static const uint64_t ends[] = {4, 8, 9, 14};
  size_t size;
  llmprof_strings *pool = llmprof_strings_new();
  assert_true(llmprof_strings_lay(pool, bytes, ends, 4));
  assert_int_equal(llmprof_strings_count(pool), 4);
  assert_ptr_equal(llmprof_strings_get(pool, 1, &size), bytes + 4);
  assert_int_equal(size, 3);
  assert_int_equal(llmprof_strings_find(pool, "four", 4), 3);
  assert_int_equal(llmprof_strings_find(pool, "", 0), 2);
  assert_int_equal(llmprof_strings_find(pool, "x", 1), LLMPROF_NO_STRING);
  assert_int_equal(add(pool, "two", 3), 1);
  assert_int_equal(add(pool, "x", 1), 4);
  assert_string_equal(llmprof_strings_get(pool, 4, NULL), "x");
  llmprof_strings_free(pool);
}

#include "base/value.h"

#include <stdio.h>
#include <string.h>

#include "support.h"

TEST(scalars) {
  size_t size;
  llmprof_value *value = llmprof_value_new_null();
  assert_int_equal(llmprof_value_type(value), LLMPROF_NULL);
  llmprof_value_free(value);
  value = llmprof_value_new_bool(true);
  assert_int_equal(llmprof_value_type(value), LLMPROF_BOOL);
  assert_true(llmprof_value_bool(value));
  llmprof_value_free(value);
  value = llmprof_value_new_int(INT64_MIN);
  assert_int_equal(llmprof_value_type(value), LLMPROF_INT);
  assert_true(llmprof_value_int(value) == INT64_MIN);
  llmprof_value_free(value);
  value = llmprof_value_new_double(-0.5);
  assert_int_equal(llmprof_value_type(value), LLMPROF_DOUBLE);
  assert_true(llmprof_value_double(value) == -0.5);
  llmprof_value_free(value);
  value = llmprof_value_new_string("a\0b", 3);
  assert_int_equal(llmprof_value_type(value), LLMPROF_STRING);
  assert_memory_equal(llmprof_value_string(value, &size), "a\0b\0", 4);
  assert_int_equal(size, 3);
  llmprof_value_free(value);
  llmprof_value_free(NULL);
}

TEST(list) {
  llmprof_value *list = llmprof_value_new_list();
  assert_int_equal(llmprof_value_count(list), 0);
  for (int64_t i = 0; i < 100; i++)
    assert_true(llmprof_value_append(list, llmprof_value_new_int(i)));
  assert_int_equal(llmprof_value_count(list), 100);
  assert_int_equal(llmprof_value_int(llmprof_value_at(list, 99)), 99);
  assert_false(llmprof_value_append(list, NULL));
  llmprof_value_free(list);
}

static bool set_int(llmprof_value *map, const char *key, size_t size,
                    int64_t integer) {
  return llmprof_value_set(map, key, size, llmprof_value_new_int(integer));
}

static int64_t get_int(const llmprof_value *map, const char *key, size_t size) {
  const llmprof_value *value = llmprof_value_get(map, key, size);
  assert_non_null(value);
  return llmprof_value_int(value);
}

static void assert_keys(const llmprof_value *map, size_t count, ...) {
  assert_int_equal(llmprof_value_count(map), count);
  va_list args;
  va_start(args, count);
  for (size_t i = 0; i < count; i++)
    assert_string_equal(llmprof_value_key(map, i, NULL),
                        va_arg(args, const char *));
  va_end(args);
}

TEST(map) {
  llmprof_value *map = llmprof_value_new_map();
  assert_null(llmprof_value_get(map, "a", 1));
  assert_true(set_int(map, "b", 1, 1));
  assert_true(set_int(map, "a\0x", 3, 2));
  assert_true(set_int(map, "a", 1, 3));
  assert_true(set_int(map, "", 0, 4));
  assert_int_equal(get_int(map, "b", 1), 1);
  assert_int_equal(get_int(map, "a\0x", 3), 2);
  assert_int_equal(get_int(map, "a", 1), 3);
  assert_int_equal(get_int(map, "", 0), 4);
  assert_null(llmprof_value_get(map, "a\0y", 3));
  assert_null(llmprof_value_get(map, "bb", 2));
  assert_true(set_int(map, "b", 1, 5)); /* keeps its place */
  assert_int_equal(get_int(map, "b", 1), 5);
  assert_keys(map, 4, "b", "a", "a", "");
  assert_false(llmprof_value_set(map, "b", 1, NULL));
  assert_int_equal(get_int(map, "b", 1), 5);
  llmprof_value_free(map);
}

TEST(sort) {
  llmprof_value *map = llmprof_value_new_map();
  llmprof_value_sort(map, 0);
  static const char *const keys[] = {"z", "m", "\xC3\xA9", "a", "Z", "b"};
  for (size_t i = 0; i < 6; i++)
    assert_true(set_int(map, keys[i], strlen(keys[i]), (int64_t)i));
  llmprof_value_sort(map, 6);
  assert_keys(map, 6, "z", "m", "\xC3\xA9", "a", "Z", "b");
  llmprof_value_sort(map, 1);
  assert_keys(map, 6, "z", "Z", "a", "b", "m", "\xC3\xA9");
  llmprof_value_sort(map, 0);
  assert_keys(map, 6, "Z", "a", "b", "m", "z", "\xC3\xA9");
  for (size_t i = 0; i < 6; i++)
    assert_int_equal(get_int(map, keys[i], strlen(keys[i])), i);
  assert_true(set_int(map, "c", 1, 7));
  assert_int_equal(get_int(map, "c", 1), 7);
  llmprof_value_free(map);
}

/* Ascending, descending and random keys: every one is found, and sorting
 * orders them. */
TEST(many_keys) {
  enum {
    COUNT = 20000
  };
  uint64_t seed = 7;
  for (int order = 0; order < 3; order++) {
    llmprof_value *map = llmprof_value_new_map();
    char key[32];
    for (int i = 0; i < COUNT; i++) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      uint64_t part = order == 2 ? seed : 0;
      int number = order == 1 ? COUNT - i : i;
      snprintf(key, sizeof key, "%016llx%05d", (unsigned long long)part,
               number);
      assert_true(set_int(map, key, 21, i));
    }
    for (int sorted = 0; sorted < 2; sorted++) {
      for (size_t i = 0; i < COUNT; i++) {
        const char *at = llmprof_value_key(map, i, NULL);
        assert_ptr_equal(llmprof_value_get(map, at, 21),
                         llmprof_value_at(map, i));
        if (sorted && i)
          assert_true(strcmp(llmprof_value_key(map, i - 1, NULL), at) < 0);
      }
      llmprof_value_sort(map, 0);
    }
    llmprof_value_free(map);
  }
}

TEST(deep) {
  llmprof_value *top = llmprof_value_new_list();
  for (int i = 0; i < 300000; i++) {
    llmprof_value *above =
        i % 2 ? llmprof_value_new_list() : llmprof_value_new_map();
    assert_true(i % 2 ? llmprof_value_append(above, top)
                      : llmprof_value_set(above, "k", 1, top));
    if (i % 2)
      assert_true(llmprof_value_append(above, llmprof_value_new_list()));
    top = above;
  }
  llmprof_value_free(top);
}

static bool build(void *arg, llmprof_error *err) {
  llmprof_value *map = llmprof_value_new_map();
  bool ok = map;
  for (int64_t i = 0; ok && i < 40; i++) {
    char key[2] = {(char)('z' - i % 26), (char)('a' + i)};
    llmprof_value *list = llmprof_value_new_list();
    ok = list && llmprof_value_append(list, llmprof_value_new_string("x", 1)) &&
         llmprof_value_append(list, llmprof_value_new_int(i));
    if (ok)
      ok = llmprof_value_set(map, key, 2, list);
    else
      llmprof_value_free(list);
  }
  if (ok) llmprof_value_sort(map, 3);
  llmprof_value_free(map);
  return ok || llmprof_fail_nomem(err);
}

TEST(allocations) {
  test_every_allocation(build, NULL);
}

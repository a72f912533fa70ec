#include "llmprof/strings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bounds.h"
#include "base/thread_pool.h"
#include "frame/strings_laid.h"
#include "llmprof/alloc.h"
#include "support.h"

static uint32_t add(llmprof_strings *pool, const char *bytes, size_t size) {
  uint32_t id = LLMPROF_NO_STRING;
  assert_true(llmprof_strings_add(pool, bytes, size, &id));
  return id;
}

static void test_equal_bytes_share_an_id(void **state) {
  (void)state;
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

static void test_get(void **state) {
  (void)state;
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

static void test_find(void **state) {
  (void)state;
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

static void test_allocations(void **state) {
  (void)state;
  uint32_t count = 600; /* through two rehashes */
  test_every_allocation(add_many, &count);
}

/* Strings stay where they are while the pool grows. */
static void test_many(void **state) {
  (void)state;
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

/* ---- strings that are told apart when all are there ---- */

/* So many strings, of which every third is one that came before, behind two
 * that were added. */
static bool append_text(void *count, llmprof_error *err) {
  const uint32_t strings = *(uint32_t *)count;
  llmprof_strings *pool = llmprof_strings_new(), *same = llmprof_strings_new();
  uint32_t *sizes = llmprof_alloc(strings, sizeof *sizes), *ids = NULL, id;
  uint32_t *hashes = llmprof_alloc(strings, sizeof *hashes);
  char *bytes = llmprof_alloc(strings, 16), *at = bytes;
  bool ok = pool && same && sizes && hashes && bytes &&
            llmprof_strings_add(pool, "first", 5, &id) &&
            llmprof_strings_add(pool, "0", 1, &id);
  for (uint32_t i = 0; ok && i < strings; i++) {
    sizes[i] = (uint32_t)number_text(at, i % 3 ? i : i / 2);
    hashes[i] = llmprof_strings_hash(at, sizes[i]);
    at += sizes[i] + 1;
  }
  bool taken = ok && llmprof_strings_expect(pool, strings / 2) &&
               llmprof_strings_append(pool, bytes, sizes, hashes, strings);
  ok = taken && llmprof_strings_append_copy(pool, "last", 4) &&
       llmprof_strings_append_copy(pool, "first", 5) &&
       llmprof_strings_settle(pool, &ids) &&
       llmprof_strings_add(same, "first", 5, &id) &&
       llmprof_strings_add(same, "0", 1, &id);
  at = bytes;
  for (uint32_t i = 0; ok && i < strings; i++) {
    ok = llmprof_strings_add(same, at, sizes[i], &id);
    if (ok) assert_int_equal(ids[i + 2], id);
    at += sizes[i] + 1;
  }
  if (ok && llmprof_strings_add(same, "last", 4, &id)) {
    assert_int_equal(ids[strings + 2], id);
    assert_int_equal(ids[strings + 3], 0);
    assert_int_equal(llmprof_strings_count(pool), id + 1);
    for (uint32_t i = 0; i <= id; i++) {
      size_t size;
      const char *text = llmprof_strings_get(same, i, &size);
      assert_int_equal(llmprof_strings_find(pool, text, size), i);
      assert_string_equal(llmprof_strings_get(pool, i, NULL), text);
    }
  }
  if (!taken) llmprof_free(bytes);
  llmprof_free(ids);
  llmprof_free(hashes);
  llmprof_free(sizes);
  llmprof_strings_free(same);
  llmprof_strings_free(pool);
  return ok || llmprof_fail_nomem(err);
}

static void test_appended(void **state) {
  (void)state;
  uint32_t few = 200, many = 100000;
  test_every_allocation(append_text, &few);
  for (uint64_t threads = 1; threads < 4; threads++) {
    llmprof_bound_set(LLMPROF_BOUND_THREADS, threads);
    assert_true(append_text(&many, NULL));
  }
  llmprof_bound_set(LLMPROF_BOUND_THREADS, 0);
}

/* Where all differ ids stay, and the pool is one like others. */
static void test_different_appended(void **state) {
  (void)state;
  llmprof_strings *pool = llmprof_strings_new();
  uint32_t *ids, id;
  assert_true(llmprof_strings_settle(pool, &ids));
  assert_null(ids);
  assert_true(llmprof_strings_expect(pool, 100));
  assert_true(llmprof_strings_expect(pool, SIZE_MAX)); /* nobody does */
  assert_true(llmprof_strings_settle(pool, &ids));
  assert_null(ids);
  assert_true(llmprof_strings_append_copy(pool, "a\0b", 3));
  assert_true(llmprof_strings_append_copy(pool, "a", 1));
  assert_true(llmprof_strings_append_copy(pool, "", 0));
  assert_true(llmprof_strings_settle(pool, &ids));
  assert_null(ids);
  assert_int_equal(add(pool, "a", 1), 1);
  assert_int_equal(add(pool, "b", 1), 3);
  assert_true(llmprof_strings_expect(pool, 100)); /* and none comes */
  assert_true(llmprof_strings_settle(pool, &ids));
  assert_null(ids);
  assert_true(llmprof_strings_append_copy(pool, "c", 1));
  assert_true(llmprof_strings_settle(pool, &ids));
  assert_null(ids);
  assert_true(llmprof_strings_add(pool, "c", 1, &id));
  assert_int_equal(id, 4);
  llmprof_strings_free(pool);
}

/* ---- strings that lie in memory ---- */

enum {
  LAID = 70000, /* more than are hashed at once */
  PARTS = 64
};

typedef struct laid {
  llmprof_strings *pool;
  char *bytes;
  uint64_t *ends;
} laid;

static laid lay(void) {
  laid l = {llmprof_strings_new(), malloc((size_t)LAID * 16),
            malloc(LAID * sizeof *l.ends)};
  assert_true(l.pool && l.bytes && l.ends);
  uint64_t end = 0;
  for (uint32_t i = 0; i < LAID; i++) {
    end += number_text(l.bytes + end, i) + 1;
    l.ends[i] = end;
  }
  assert_true(llmprof_strings_lay(l.pool, l.bytes, l.ends, LAID));
  return l;
}

static void unlay(laid *l) {
  llmprof_strings_free(l->pool);
  free(l->bytes);
  free(l->ends);
}

static void find_some(const llmprof_strings *pool, uint32_t from) {
  for (uint32_t i = from; i < LAID; i += PARTS * 16) {
    char text[16];
    size_t size = number_text(text, i);
    assert_int_equal(llmprof_strings_find(pool, text, size), i);
    text[0] = 'x';
    assert_int_equal(llmprof_strings_find(pool, text, size), LLMPROF_NO_STRING);
  }
}

static size_t allocations;
static bool refuses;

static void *count_and_resize(void *block, size_t size) {
  allocations++;
  return refuses ? NULL : realloc(block, size);
}

static const llmprof_allocator counting = {count_and_resize, free};

/* All are looked through a few times, and a table is made then, once. */
static void test_laid(void **state) {
  (void)state;
  llmprof_set_allocator(&counting);
  laid l = lay();
  allocations = 0;
  assert_int_equal(llmprof_strings_find(l.pool, "x", 1), LLMPROF_NO_STRING);
  assert_int_equal(allocations, 0);
  for (uint32_t i = 0; i < PARTS; i++) find_some(l.pool, i);
  assert_int_equal(allocations, 1);
  assert_int_equal(add(l.pool, "x", 1), LAID);
  assert_int_equal(llmprof_strings_find(l.pool, "x", 1), LAID);
  unlay(&l);
  llmprof_set_allocator(NULL);
}

/* Without memory for a table they are looked through. */
static void test_laid_without_memory(void **state) {
  (void)state;
  llmprof_set_allocator(&counting);
  laid l = lay();
  refuses = true;
  find_some(l.pool, 1);
  refuses = false;
  unlay(&l);
  llmprof_set_allocator(NULL);
}

static bool find_part(void *pool, size_t worker, size_t part,
                      llmprof_error *err) {
  (void)worker;
  (void)err;
  find_some(pool, (uint32_t)part);
  return true;
}

/* Several threads at once find the same. */
static void test_laid_threads(void **state) {
  (void)state;
  laid l = lay();
  const llmprof_parallel_loop loop = {
      .parts = PARTS, .work = find_part, .user = l.pool};
  llmprof_error err = {0};
  assert_true(llmprof_parallel_for(&loop, 4, &err));
  unlay(&l);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_equal_bytes_share_an_id),
      cmocka_unit_test(test_get),
      cmocka_unit_test(test_find),
      cmocka_unit_test(test_many),
      cmocka_unit_test(test_allocations),
      cmocka_unit_test(test_appended),
      cmocka_unit_test(test_different_appended),
      cmocka_unit_test(test_laid),
      cmocka_unit_test(test_laid_without_memory),
      cmocka_unit_test(test_laid_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "frame/intern.h"

#include <string.h>

#include "support.h"

typedef struct record {
  uint32_t a, b, c;
} record;

TEST(equal_records_share_an_id) {
  llmprof_intern table;
  llmprof_intern_init(&table, sizeof(record));
  static const record records[] = {{1, 2, 3}, {3, 2, 1}, {1, 2, 3}, {0, 0, 0}};
  static const uint32_t ids[] = {0, 1, 0, 2};
  assert_int_equal(llmprof_intern_find(&table, &records[0]), UINT32_MAX);
  for (size_t i = 0; i < 4; i++) {
    uint32_t id;
    assert_true(llmprof_intern_add(&table, &records[i], &id));
    assert_int_equal(id, ids[i]);
    assert_memory_equal(llmprof_intern_get(&table, id), &records[i],
                        sizeof records[i]);
    assert_int_equal(llmprof_intern_find(&table, &records[i]), ids[i]);
  }
  assert_int_equal(table.count, 3);
  assert_int_equal(llmprof_intern_find(&table, &(record){9, 9, 9}), UINT32_MAX);
  llmprof_intern_free(&table);
  assert_int_equal(table.count, 0);
  assert_int_equal(llmprof_intern_find(&table, &records[0]), UINT32_MAX);
  llmprof_intern_free(&table);
}

/* Sizes with and without a tail that is no whole word. */
TEST(record_sizes) {
  for (size_t size = 1; size <= 40; size++) {
    unsigned char bytes[40] = {0};
    llmprof_intern table;
    llmprof_intern_init(&table, size);
    uint32_t id;
    assert_true(llmprof_intern_add(&table, bytes, &id));
    for (size_t i = 0; i < size; i++) { /* every byte counts */
      bytes[i] = 1;
      assert_true(llmprof_intern_add(&table, bytes, &id));
      assert_int_equal(id, i + 1);
      bytes[i] = 0;
    }
    assert_int_equal(table.count, size + 1);
    llmprof_intern_free(&table);
  }
}

/* Hashes of keys as they occur differ in the low bits, which pick the slot. */
TEST(hash_spreads) {
  enum {
    SLOTS = 1024
  };
  static const int64_t steps[] = {1, 8, 4096, 1 << 24, INT64_C(1) << 40};
  for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) {
    uint8_t hits[SLOTS] = {0};
    size_t used = 0;
    for (int64_t i = 0; i < SLOTS; i++) {
      int64_t key = i * steps[s];
      size_t slot = llmprof_hash(&key, sizeof key) % SLOTS;
      used += !hits[slot];
      hits[slot] = 1;
    }
    assert_true(used > SLOTS / 2); /* by chance 63% */
  }
}

static bool add_many(void *arg, llmprof_error *err) {
  llmprof_intern table;
  llmprof_intern_init(&table, sizeof(int64_t));
  bool ok = true;
  for (int64_t i = 0; ok && i < 1000; i++) {
    int64_t key = i * 1000003;
    uint32_t id;
    ok = llmprof_intern_add(&table, &key, &id);
    assert_int_equal(table.count, i + ok);
    assert_int_equal(llmprof_intern_find(&table, &key), ok ? i : UINT32_MAX);
  }
  llmprof_intern_free(&table);
  return ok || llmprof_fail_nomem(err);
}

/* A failure leaves the table as it was. */
TEST(allocations) {
  test_every_allocation(add_many, NULL);
}

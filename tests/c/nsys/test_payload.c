/* Payloads of NCCL's ranges, whole, cut at every byte, and broken. */
#include "nsys/nsys_payload.h"

#include <stdlib.h>
#include <string.h>

#include "support.h"

enum {
  WORDS = 7,
  SIZE = WORDS * 8,
};

static nsys_payload_schema schemas[] = {{7, 0, 8}, {9, 0, SIZE_MAX}};
static const nsys_payloads known = {schemas, 2, 2};

/* One part of schema `id`: 24 bytes from byte 32 on. */
static void make(char *bytes, uint64_t id, uint64_t size, uint64_t begin) {
  uint64_t words[WORDS] = {1, id, size, begin, 0x1122334455667788, 262144, 0};
  for (int i = 0; i < WORDS; i++) {
    for (int b = 0; b < 8; b++) bytes[i * 8 + b] = (char)(words[i] >> (8 * b));
  }
}

static void test_fields(void **state) {
  (void)state;
  char bytes[SIZE];
  int64_t communicator, message;
  make(bytes, 7, 24, 32);
  nsys_payload_read(&known, bytes, SIZE, &communicator, &message);
  assert_int_equal(communicator, 0x1122334455667788);
  assert_int_equal(message, 262144);
  make(bytes, 9, 24, 32); /* of a schema without a size */
  nsys_payload_read(&known, bytes, SIZE, &communicator, &message);
  assert_int_equal(communicator, 0x1122334455667788);
  assert_true(message == LLMPROF_ABSENT);
}

static void test_cut(void **state) {
  (void)state;
  char bytes[SIZE];
  int64_t communicator, message;
  make(bytes, 7, 24, 32);
  for (size_t size = 0; size < SIZE; size++) {
    char *copy = malloc(size ? size : 1);
    memcpy(copy, bytes, size);
    nsys_payload_read(&known, copy, size, &communicator, &message);
    free(copy);
    assert_true(communicator == LLMPROF_ABSENT && message == LLMPROF_ABSENT);
  }
}

static void test_broken(void **state) {
  (void)state;
  char bytes[SIZE];
  int64_t communicator, message;
  static const uint64_t wrong[][3] = {{8, 24, 32},
                                      {7, 4, 32},
                                      {7, 24, 40},
                                      {7, UINT64_MAX, 32},
                                      {7, 24, UINT64_MAX}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    make(bytes, wrong[i][0], wrong[i][1], wrong[i][2]);
    nsys_payload_read(&known, bytes, SIZE, &communicator, &message);
    assert_true(communicator == LLMPROF_ABSENT && message == LLMPROF_ABSENT);
  }
  nsys_payload_read(&known, NULL, 0, &communicator, &message);
  assert_true(communicator == LLMPROF_ABSENT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_fields),
      cmocka_unit_test(test_cut),
      cmocka_unit_test(test_broken),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

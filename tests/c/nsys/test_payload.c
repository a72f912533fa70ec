/* Payloads of NCCL's ranges, whole, cut at every byte, and broken. */
#include "nsys/nsys_payload.h"

#include <stdlib.h>
#include <string.h>

#include "support.h"

enum {
  WORDS = 7,
  SIZE = WORDS * 8,
};

/* What comes of them where these schemas are known. */
static nsys_payload read_payload(const char *bytes, size_t size) {
  static const nsys_payload_schema schemas[] = {{7, 0, 8, SIZE_MAX},
                                                {9, 0, SIZE_MAX, 8}};
  llmprof_intern known;
  llmprof_intern_init_keyed(&known, sizeof *schemas, sizeof schemas->id);
  for (int i = 0; i < 2; i++)
    assert_non_null(llmprof_intern_put(&known, &schemas[i]));
  nsys_payload read = nsys_payload_read(&known, bytes, size);
  llmprof_intern_free(&known);
  return read;
}

/* One part of schema `id`: 24 bytes from byte 32 on. */
static void make(char *bytes, uint64_t id, uint64_t size, uint64_t begin) {
  uint64_t words[WORDS] = {1, id, size, begin, 0x1122334455667788, 262144, 0};
  for (int i = 0; i < WORDS; i++) {
    for (int b = 0; b < 8; b++) bytes[i * 8 + b] = (char)(words[i] >> (8 * b));
  }
}

static bool is_absent(nsys_payload read) {
  return read.communicator == LLMPROF_ABSENT &&
         read.message == LLMPROF_ABSENT && read.ranks == LLMPROF_ABSENT;
}

TEST(fields) {
  char bytes[SIZE];
  make(bytes, 7, 24, 32);
  nsys_payload read = read_payload(bytes, SIZE);
  assert_int_equal(read.communicator, 0x1122334455667788);
  assert_int_equal(read.message, 262144);
  assert_true(read.ranks == LLMPROF_ABSENT);
  make(bytes, 9, 12, 32); /* of one that is made: no size, ranks in 4 bytes */
  read = read_payload(bytes, SIZE);
  assert_int_equal(read.communicator, 0x1122334455667788);
  assert_true(read.message == LLMPROF_ABSENT);
  assert_int_equal(read.ranks, 262144);
}

TEST(cut) {
  char bytes[SIZE];
  make(bytes, 7, 24, 32);
  for (size_t size = 0; size < SIZE; size++) {
    char *copy = malloc(size ? size : 1);
    memcpy(copy, bytes, size);
    nsys_payload read = read_payload(copy, size);
    free(copy);
    assert_true(is_absent(read));
  }
}

TEST(broken) {
  char bytes[SIZE];
  static const uint64_t wrong[][3] = {{8, 24, 32},
                                      {7, 4, 32},
                                      {7, 24, 40},
                                      {7, UINT64_MAX, 32},
                                      {7, 24, UINT64_MAX}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    make(bytes, wrong[i][0], wrong[i][1], wrong[i][2]);
    assert_true(is_absent(read_payload(bytes, SIZE)));
  }
  assert_true(is_absent(read_payload(NULL, 0)));
}

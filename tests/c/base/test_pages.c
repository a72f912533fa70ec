/* Large blocks: whole, apart, found again, whatever sizes they take. */
#include "base/pages.h"

#include <stdlib.h>
#include <string.h>

#include "base/thread_pool.h"
#include "support.h"

enum {
  GRAIN = 64 * 1024, /* that sizes are rounded to */
  BLOCKS = 12,
  TURNS = 4000,
  MOST = 40 * GRAIN
};

typedef struct block {
  unsigned char *bytes;
  size_t size;
} block;

/* A mark at each end and in between tells whose bytes they are. */
static void mark(const block *b, unsigned char with) {
  for (size_t at = 0; at < b->size; at += GRAIN / 4) b->bytes[at] = with;
  b->bytes[b->size - 1] = with;
}

static void expect_marks(const block *b, size_t size, unsigned char with) {
  for (size_t at = 0; at < size; at += GRAIN / 4)
    if (b->bytes[at] != with) fail_msg("%d, not %d", b->bytes[at], with);
}

static void give(block *b, unsigned char with) {
  expect_marks(b, b->size, with);
  llmprof_pages_free(b->bytes);
  *b = (block){0};
}

static void grow(block *b, size_t size, unsigned char with) {
  block grown = {llmprof_pages_resize(b->bytes, size), size};
  assert_non_null(grown.bytes);
  assert_true(llmprof_pages_size(grown.bytes) >= size);
  expect_marks(&grown, size < b->size ? size : b->size, with);
  *b = grown;
  mark(b, with);
}

static bool play(unsigned seed) {
  block blocks[BLOCKS] = {{0}};
  for (int turn = 0; turn < TURNS; turn++) {
    unsigned char i = (unsigned char)(rand_r(&seed) % BLOCKS);
    if (rand_r(&seed) % 3)
      grow(&blocks[i], (size_t)(rand_r(&seed) % MOST) + 1, i + 1);
    else
      give(&blocks[i], i + 1);
  }
  for (unsigned char i = 0; i < BLOCKS; i++) give(&blocks[i], i + 1);
  return true;
}

static void test_blocks(void **state) {
  (void)state;
  assert_true(play(3));
}

static bool play_part(void *user, size_t worker, size_t part,
                      llmprof_error *err) {
  (void)user, (void)worker, (void)err;
  return play((unsigned)part);
}

static void test_threads(void **state) {
  (void)state;
  llmprof_error err = {0};
  llmprof_parallel_loop loop = {.parts = 4, .work = play_part};
  assert_true(llmprof_parallel_for(&loop, 4, &err));
}

/* What is freed is what the next gets, if only in part, and the rest of it. */
static void test_spare(void **state) {
  (void)state;
  char *all = llmprof_pages_resize(NULL, 8 * GRAIN);
  char *next = llmprof_pages_resize(NULL, 8 * GRAIN);
  assert_true(all && next);
  llmprof_pages_free(all);
  assert_int_equal(llmprof_pages_size(all), 0);
  assert_ptr_equal(llmprof_pages_resize(NULL, 3 * GRAIN - 5), all);
  assert_ptr_equal(llmprof_pages_resize(NULL, 5 * GRAIN), all + 3 * GRAIN);
  llmprof_pages_free(all + 3 * GRAIN);
  assert_ptr_equal(llmprof_pages_resize(all, 7 * GRAIN), all);
  assert_int_equal(llmprof_pages_size(all), 7 * GRAIN);
  assert_ptr_equal(llmprof_pages_resize(all, GRAIN), all);
  assert_int_equal(llmprof_pages_size(all), GRAIN);
  llmprof_pages_free(all);
  llmprof_pages_free(next);
}

static void test_others(void **state) {
  (void)state;
  assert_int_equal(llmprof_pages_size(NULL), 0);
  assert_int_equal(llmprof_pages_size(&state), 0);
  assert_null(llmprof_pages_resize(NULL, SIZE_MAX - 1));
  assert_null(llmprof_pages_resize(NULL, SIZE_MAX / 4));
  llmprof_pages_free(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_spare), /* while nothing else is */
      cmocka_unit_test(test_blocks),
      cmocka_unit_test(test_threads),
      cmocka_unit_test(test_others),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

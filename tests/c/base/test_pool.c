/* Blocks of a pool: whole, apart, aligned, whatever sizes they take. */
#include "base/pool.h"

#include <stdlib.h>
#include <string.h>

#include "support.h"

enum {
  BLOCKS = 300,
  TURNS = 20000,
  MOST = 3 * LLMPROF_POOL_MOST
};

typedef struct block {
  unsigned char *bytes;
  size_t size;
} block;

static void expect_filled(const block *b, size_t size, unsigned char with) {
  for (size_t i = 0; i < size; i++) assert_int_equal(b->bytes[i], with);
}

/* False where there is no memory, with the block as it was. */
static bool resize(llmprof_pool *pool, block *b, size_t size,
                   unsigned char with) {
  unsigned char *made = llmprof_pool_resize(pool, b->bytes, b->size, size);
  if (size && !made) return false;
  assert_int_equal((uintptr_t)made % LLMPROF_POOL_STEP, 0);
  block before = {made, size < b->size ? size : b->size};
  expect_filled(&before, before.size, with);
  *b = (block){made, size};
  if (size) memset(made, with, size);
  return true;
}

static size_t any_size(void) {
  size_t most = rand() % 4 ? 100 : MOST;
  return (size_t)rand() % most;
}

TEST(any_sizes) {
  llmprof_pool pool = {0};
  block blocks[BLOCKS] = {{0}};
  srand(5);
  for (size_t turn = 0; turn < TURNS; turn++) {
    size_t which = (size_t)rand() % BLOCKS;
    assert_true(
        resize(&pool, &blocks[which], any_size(), (unsigned char)which));
  }
  for (size_t i = 0; i < BLOCKS; i++) {
    expect_filled(&blocks[i], blocks[i].size, (unsigned char)i);
    assert_true(resize(&pool, &blocks[i], 0, (unsigned char)i));
  }
  llmprof_pool_free(&pool);
}

/* What was given back is what is taken next. */
TEST(blocks_come_again) {
  llmprof_pool pool = {0};
  void *first = llmprof_pool_resize(&pool, NULL, 0, 40);
  void *second = llmprof_pool_resize(&pool, NULL, 0, 40);
  assert_ptr_not_equal(first, second);
  assert_null(llmprof_pool_resize(&pool, first, 40, 0));
  assert_ptr_equal(llmprof_pool_resize(&pool, NULL, 0, 33), first);
  assert_ptr_equal(llmprof_pool_resize(&pool, second, 40, 48), second);
  pool.ends = true;
  assert_null(llmprof_pool_resize(&pool, first, 33, 0));
  assert_ptr_not_equal(llmprof_pool_resize(&pool, NULL, 0, 33), first);
  llmprof_pool_free(&pool);
}

/* Many of them, of which some are larger than what a pool cuts. */
static bool grow_some(void *arg, llmprof_error *err) {
  llmprof_pool pool = {0};
  block blocks[BLOCKS] = {{0}};
  bool ok = true;
  for (size_t i = 0; ok && i < BLOCKS; i++) {
    ok = resize(&pool, &blocks[i], 24 + i, (unsigned char)i) &&
         resize(&pool, &blocks[i], 2 * (24 + i), (unsigned char)i);
  }
  for (size_t i = 0; i < BLOCKS; i++) {
    expect_filled(&blocks[i], blocks[i].size, (unsigned char)i);
    resize(&pool, &blocks[i], 0, (unsigned char)i);
  }
  llmprof_pool_free(&pool);
  return ok || llmprof_fail_nomem(err);
}

TEST(allocations) {
  test_every_allocation(grow_some, NULL);
}

static void *refuse(void *ptr, size_t size) {
  return NULL;
}

/* Who asks for less gets it, also where there is nothing. */
TEST(smaller_without_memory) {
  const llmprof_allocator nothing = {refuse, free};
  llmprof_pool pool = {0};
  block large = {0};
  assert_true(resize(&pool, &large, MOST, 7));
  unsigned char *bytes = large.bytes;
  llmprof_set_allocator(&nothing);
  assert_null(llmprof_pool_resize(&pool, NULL, 0, 24));
  assert_true(resize(&pool, &large, 24, 7));
  assert_null(llmprof_pool_resize(&pool, large.bytes, 24, 0));
  assert_ptr_equal(llmprof_pool_resize(&pool, NULL, 0, 24), bytes);
  llmprof_set_allocator(NULL);
  llmprof_pool_free(&pool);
  free(bytes);
}

#include "column/values.h"

#include <string.h>

#include "base/alloc.h"
#include "base/bounds.h"
#include "support.h"

enum {
  ROWS = 5000,    /* four blocks and a part of one */
  SLACK = 5 * 40, /* bytes: blocks, and what aligns their codes */
  SHAPES = 9
};

/* Values of shapes that lead to each encoding, and to others next to it. */
static int64_t value_of(int shape, size_t row) {
  int64_t i = (int64_t)row;
  switch (shape) {
  case 0:
    return 7; /* one value */
  case 1:
    return LLMPROF_ABSENT;
  case 2:
    return -100 + i % 200; /* one byte above the least */
  case 3:
    return i * 1000 % 60000; /* two */
  case 4:
    return i * 100000; /* four */
  case 5:
    return i * INT64_C(1000000000000007); /* none of these */
  case 6:
    return i % 3 ? i % 255 : LLMPROF_ABSENT; /* the largest code is null */
  case 7: /* the last block finds no room in the first chunk of codes */
    if (row < LLMPROF_BLOCK) return i % 200;
    return i % 2 ? INT64_MAX : INT64_MIN + 1 + i % 5 * (i / 100);
  default:
    return row < 2048 ? 1 : i % 100 ? i : LLMPROF_ABSENT;
  }
}

static llmprof_values *values_of(int shape) {
  llmprof_values *values = llmprof_values_new();
  bool ok = values != NULL;
  for (size_t row = 0; ok && row < ROWS; row++)
    ok = llmprof_values_append(values, value_of(shape, row));
  if (ok && llmprof_values_end(values)) return values;
  llmprof_values_free(values);
  return NULL;
}

/* Every way to read them says what was added. */
static void check(const llmprof_values *values, int shape) {
  static const size_t firsts[] = {0, 1, 1000, 1023, 1024, 3000, 4900};
  int64_t block[LLMPROF_BLOCK];
  uint32_t rows[LLMPROF_BLOCK];
  llmprof_values *later = llmprof_values_from(values, 99);
  llmprof_cursor cursor;
  llmprof_cursor_open(&cursor, values);
  for (size_t row = 0; row < ROWS; row++) {
    assert_int_equal(llmprof_values_get(values, row), value_of(shape, row));
    assert_int_equal(llmprof_cursor_at(&cursor, row), value_of(shape, row));
  }
  for (size_t k = 0; k < sizeof firsts / sizeof *firsts; k++) {
    size_t count = llmprof_block(firsts[k], ROWS);
    llmprof_values_read(values, firsts[k], count, block);
    for (size_t i = 0; i < count; i++)
      assert_int_equal(block[i], value_of(shape, firsts[k] + i));
    for (size_t i = 0; i < count; i++)
      rows[i] = i % 10 == 9 ? UINT32_MAX : (uint32_t)(i * 37 % (ROWS - 99));
    llmprof_values_gather(later, rows, count, block);
    for (size_t i = 0; i < count; i++)
      assert_int_equal(block[i], rows[i] == UINT32_MAX
                                     ? LLMPROF_ABSENT
                                     : value_of(shape, 99 + rows[i]));
  }
  llmprof_free(later);
}

static void check_bounds(const llmprof_values *values, int shape) {
  llmprof_values_bounds bounds, all = {INT64_MAX, INT64_MIN, false, true};
  for (size_t row = 0; row < ROWS; row++) {
    int64_t value = value_of(shape, row);
    if (row && value < value_of(shape, row - 1)) all.ascend = false;
    if (value == LLMPROF_ABSENT) {
      all.nulls = true;
      all.ascend = false;
      continue;
    }
    if (value < all.low) all.low = value;
    if (value > all.high) all.high = value;
  }
  assert_true(llmprof_values_find_bounds(values, &bounds));
  assert_int_equal(bounds.low, all.low);
  assert_int_equal(bounds.high, all.high);
  assert_int_equal(bounds.nulls, all.nulls);
  assert_int_equal(bounds.ascend, all.ascend);
}

TEST(encodings) {
  /* bytes of codes: none, none, 1, 2, 4, 8, 1, 8, mixed */
  static const size_t most[SHAPES] = {
      0, 0, ROWS, 2 * ROWS, 4 * ROWS, 8 * ROWS, ROWS, 8 * ROWS, 2 * ROWS};
  for (int shape = 0; shape < SHAPES; shape++) {
    llmprof_values *values = values_of(shape);
    assert_int_equal(llmprof_values_count(values), ROWS);
    check(values, shape);
    check_bounds(values, shape);
    int64_t *all = llmprof_values_all(values);
    for (size_t row = 0; row < ROWS; row++)
      assert_int_equal(all[row], value_of(shape, row));
    llmprof_free(all);
    assert_true(llmprof_values_size(values) <= most[shape] + SLACK);
    llmprof_values_free(values);
  }
}

TEST(no_values) {
  llmprof_values_bounds bounds;
  llmprof_values *values = llmprof_values_new();
  assert_true(llmprof_values_end(values));
  assert_int_equal(llmprof_values_count(values), 0);
  assert_true(llmprof_values_find_bounds(values, &bounds));
  assert_true(bounds.low > bounds.high);
  llmprof_values_free(values);
}

/* ---- as bytes ---- */

TEST(snapshots) {
  for (int shape = 0; shape < SHAPES; shape++) {
    llmprof_values *values = values_of(shape);
    llmprof_values_snapshot snapshot;
    assert_true(llmprof_values_put(values, &snapshot));
    llmprof_values *same = llmprof_values_take(&snapshot, ROWS);
    assert_non_null(same);
    check(same, shape);
    llmprof_values_free(same);
    assert_null(llmprof_values_take(&snapshot, ROWS + LLMPROF_BLOCK));
    llmprof_free((void *)(uintptr_t)snapshot.codes);
    llmprof_values_free(values);
  }
}

/* Whatever byte of the blocks is another, what is read lies within the
 * snapshot.
 */
TEST(broken_snapshots) {
  for (int shape = 0; shape < SHAPES; shape++) {
    llmprof_values *values = values_of(shape);
    llmprof_values_snapshot snapshot;
    assert_true(llmprof_values_put(values, &snapshot));
    unsigned char *blocks =
        llmprof_memdup(snapshot.blocks, snapshot.blocks_size);
    for (size_t i = 0; i < snapshot.blocks_size; i++) {
      for (int bit = 0; bit < 8; bit += 3) {
        blocks[i] ^= (unsigned char)(1 << bit);
        llmprof_values_snapshot broken = {
            blocks, snapshot.codes, snapshot.blocks_size, snapshot.codes_size};
        llmprof_values *taken = llmprof_values_take(&broken, ROWS);
        for (size_t row = 0; taken && row < ROWS; row++)
          (void)llmprof_values_get(taken, row);
        llmprof_values_free(taken);
        blocks[i] ^= (unsigned char)(1 << bit);
      }
    }
    llmprof_free(blocks);
    llmprof_free((void *)(uintptr_t)snapshot.codes);
    llmprof_values_free(values);
  }
}

/* ---- views ---- */

static int64_t half(size_t row) {
  return row % 5 == 4 ? LLMPROF_ABSENT : (int64_t)row / 2;
}

static llmprof_values *halves_of_rows(void) {
  static int64_t halves[ROWS];
  for (size_t row = 0; row < ROWS; row++) halves[row] = half(row);
  return llmprof_values_numbers(halves);
}

static void difference(const int64_t *const *in, size_t count, int64_t *out) {
  for (size_t i = 0; i < count; i++)
    out[i] = in[0][i] == LLMPROF_ABSENT || in[1][i] == LLMPROF_ABSENT
                 ? LLMPROF_ABSENT
                 : in[0][i] - in[1][i];
}

static int64_t difference_at(size_t row) {
  int64_t a = value_of(4, row), b = half(row);
  return b == LLMPROF_ABSENT ? b : a - b;
}

TEST(views) {
  llmprof_values *stored = values_of(4);
  llmprof_values *halves = halves_of_rows();
  const llmprof_values *in[] = {stored, halves};
  llmprof_values *computed = llmprof_values_computed(difference, in, 2);
  llmprof_values *looked_up = llmprof_values_lookup(halves, computed);
  llmprof_values_bounds bounds;
  int64_t block[LLMPROF_BLOCK];
  llmprof_values_read(looked_up, 1000, LLMPROF_BLOCK, block);
  for (size_t i = 0; i < LLMPROF_BLOCK; i++) {
    int64_t key = half(1000 + i);
    int64_t wanted = key == LLMPROF_ABSENT ? key : difference_at((size_t)key);
    assert_int_equal(block[i], wanted);
    assert_int_equal(llmprof_values_get(looked_up, 1000 + i), wanted);
    assert_int_equal(llmprof_values_get(computed, i), difference_at(i));
  }
  assert_false(llmprof_values_find_bounds(computed, &bounds));
  llmprof_values_free(looked_up);
  llmprof_values_free(computed);
  llmprof_values_free(halves);
  llmprof_values_free(stored);
}

/* Few keys, of which each is looked up. */
TEST(bounds_of_lookups) {
  llmprof_values *key = values_of(6);
  llmprof_values *halves = halves_of_rows();
  llmprof_values *view = llmprof_values_lookup(key, halves);
  llmprof_values_bounds bounds;
  assert_true(llmprof_values_find_bounds(view, &bounds));
  assert_int_equal(bounds.low, 0);
  assert_int_equal(bounds.high, 126);
  assert_true(bounds.nulls);
  assert_false(bounds.ascend);
  llmprof_values_free(view);
  llmprof_values_free(halves);
  llmprof_values_free(key);
}

/* ---- rows that are read ahead ---- */

enum {
  MANY = 100000 /* rows of several parts, the last of them short */
};

typedef struct taking {
  const uint32_t *order;
  size_t next, refused; /* refused: from this place on */
  size_t wrong;
} taking;

static bool take(void *user, size_t first, size_t count, int64_t *const *cells,
                 llmprof_error *err) {
  taking *t = user;
  if (first >= t->refused) return llmprof_fail(err, LLMPROF_RANGE, "refused");
  t->wrong += first != t->next;
  for (size_t i = 0; i < count; i++) {
    size_t row = t->order ? t->order[first + i] : first + i;
    t->wrong += cells[0][i] != (int64_t)row;
    t->wrong += cells[1][i] != value_of(4, row % ROWS);
  }
  t->next += count;
  return true;
}

static void over_again(const int64_t *const *in, size_t count, int64_t *out) {
  for (size_t i = 0; i < count; i++)
    out[i] = value_of(4, (size_t)in[0][i] % ROWS);
}

static void take_each(const uint32_t *order, size_t rows, uint64_t threads) {
  llmprof_values *own = llmprof_values_rows();
  const llmprof_values *in[] = {own};
  llmprof_values *again = llmprof_values_computed(over_again, in, 1);
  const llmprof_values *of[] = {own, again};
  llmprof_error err;
  taking all = {order, 0, SIZE_MAX, 0};
  taking some = {order, 0, 20 * LLMPROF_BLOCK, 0};
  llmprof_bound_set(LLMPROF_BOUND_THREADS, threads);
  assert_true(llmprof_values_each(of, 2, order, rows, take, &all, &err));
  assert_int_equal(all.next, rows);
  if (rows > some.refused) {
    assert_false(llmprof_values_each(of, 2, order, rows, take, &some, &err));
    assert_int_equal(err.code, LLMPROF_RANGE);
    assert_int_equal(some.next, some.refused);
  }
  assert_int_equal(all.wrong + some.wrong, 0);
  llmprof_bound_set(LLMPROF_BOUND_THREADS, 0);
  llmprof_values_free(again);
  llmprof_values_free(own);
}

TEST(each) {
  uint32_t *order = llmprof_alloc(MANY, sizeof *order);
  for (uint32_t i = 0; i < MANY; i++) order[i] = MANY - 1 - i;
  for (uint64_t threads = 1; threads <= 4; threads += 3) {
    take_each(NULL, MANY, threads);
    take_each(order, MANY, threads);
    take_each(NULL, 0, threads);
  }
  llmprof_free(order);
}

/* ---- out of memory ---- */

static bool store(void *shape, llmprof_error *err) {
  llmprof_values *values = values_of(*(int *)shape);
  llmprof_values_free(values);
  return values || llmprof_fail_nomem(err);
}

TEST(allocations) {
  for (int shape = 0; shape < SHAPES; shape++)
    test_every_allocation(store, &shape);
}

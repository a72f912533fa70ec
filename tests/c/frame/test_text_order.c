/* Against qsort, on names as traces have them, and on what they seldom are. */
#include "frame/text_order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "llmprof/alloc.h"
#include "support.h"

enum {
  KINDS = 8,
  LONGEST = 400
};

/* Text i of a kind; its size. */
static size_t text_of(int kind, uint32_t i, char text[LONGEST]) {
  static const char *const families[] = {"void at::native::vectorized<", "cut",
                                         "cutlass::Kernel2<cutlass_80>::", ""};
  uint32_t mixed = i * 2654435761u;
  switch (kind) {
  case 0: /* names of one family, and a few of none */
    return (size_t)(i % 100
                        ? snprintf(text, LONGEST, "kernel_%u<float>(int)", i)
                        : snprintf(text, LONGEST, "%c: %u", 'A' + i % 7, i));
  case 1:
    return (size_t)snprintf(text, LONGEST, "%s%x", families[i % 4], mixed);
  case 2: /* sizes differ, and nothing else */
    memset(text, i % 3 ? 'x' : 0, i % 350);
    return i % 350;
  case 3: /* any bytes */
    memcpy(text, &mixed, sizeof mixed);
    return sizeof mixed;
  case 4: /* equal further than is looked at */
    memset(text, 'y', LONGEST);
    snprintf(text + 300, LONGEST - 300, "%u", mixed);
    return 300 + strlen(text + 300);
  case 5: /* one after the other */
    return (size_t)snprintf(text, LONGEST, "step %08u", i);
  case 6: /* most are others than the one in the middle */
    return (size_t)(i % 16 == 8 ? snprintf(text, LONGEST, "the same %u", mixed)
                                : snprintf(text, LONGEST, "%u", mixed));
  default: /* an end in place of a NUL */
    memset(text, 0, LONGEST);
    snprintf(text, LONGEST, "%u", i / 9);
    return strlen(text) + i % 9;
  }
}

static const llmprof_strings *pool_of_all;

static int compare(const void *left, const void *right) {
  size_t one, other;
  const char *a = llmprof_strings_get(pool_of_all, *(uint32_t *)left, &one);
  const char *b = llmprof_strings_get(pool_of_all, *(uint32_t *)right, &other);
  int order = memcmp(a, b, one < other ? one : other);
  return order ? order : (one > other) - (one < other);
}

typedef struct names {
  llmprof_strings *pool;
  uint32_t *ids, *sorted; /* of all; sorted is what they shall be */
  size_t count;
} names;

static names make(int kind, uint32_t count) {
  names n = {.pool = llmprof_strings_new()};
  char text[LONGEST];
  assert_non_null(n.pool);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t id;
    size_t size = text_of(kind, i, text);
    assert_true(llmprof_strings_add(n.pool, text, size, &id));
  }
  n.count = llmprof_strings_count(n.pool);
  n.ids = llmprof_alloc(n.count, sizeof *n.ids);
  n.sorted = llmprof_alloc(n.count, sizeof *n.sorted);
  assert_true(n.ids && n.sorted);
  for (uint32_t i = 0; i < n.count; i++) n.sorted[i] = i;
  pool_of_all = n.pool;
  qsort(n.sorted, n.count, sizeof *n.sorted, compare);
  return n;
}

static void names_free(names *n) {
  llmprof_free(n->ids);
  llmprof_free(n->sorted);
  llmprof_strings_free(n->pool);
}

static bool sort(const names *n) {
  for (uint32_t i = 0; i < n->count; i++) n->ids[i] = i;
  return llmprof_order_texts(n->pool, n->ids, n->count);
}

static void test_orders(void **state) {
  static const uint32_t counts[] = {0, 1, 2, 24, 25, 300, 5000, 70000};
  (void)state;
  for (int kind = 0; kind < KINDS; kind++) {
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
      names n = make(kind, counts[c]);
      assert_true(sort(&n));
      if (n.count)
        assert_memory_equal(n.ids, n.sorted, n.count * sizeof *n.ids);
      names_free(&n);
    }
  }
}

static bool sort_some(void *user, llmprof_error *err) {
  const names *n = user;
  bool ok = sort(n);
  if (ok) assert_memory_equal(n->ids, n->sorted, n->count * sizeof *n->ids);
  return ok || llmprof_fail_nomem(err);
}

static void test_allocations(void **state) {
  (void)state;
  names near = make(0, 3000), far = make(4, 300);
  test_every_allocation(sort_some, &near);
  test_every_allocation(sort_some, &far);
  names_free(&near);
  names_free(&far);
}

static void test_interrupt(void **state) {
  (void)state;
  names n = make(0, 3000);
  llmprof_interrupt(true);
  assert_false(sort(&n));
  llmprof_interrupt(false);
  names_free(&n);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_orders),
      cmocka_unit_test(test_allocations),
      cmocka_unit_test(test_interrupt),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

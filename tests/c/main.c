#include <stdlib.h>

#include "support.h"

static struct CMUnitTest tests[128];
static size_t count;

void test_add_test(const struct CMUnitTest *test) {
  if (count == sizeof tests / sizeof *tests) abort();
  tests[count++] = *test;
}

int main(void) {
  return _cmocka_run_group_tests("tests", tests, count, NULL, NULL);
}

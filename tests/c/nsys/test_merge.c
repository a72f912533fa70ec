/* Merging exports when memory runs out; what is merged is tested from Lua. */
#include "nsys/merge.h"

#include <stdio.h>

#include "support.h"

static bool merge(void *arg, llmprof_error *err) {
  static const char *const from[] = {FIXTURES "/repeats/run.1.sqlite",
                                     FIXTURES "/repeats/run.2.sqlite"};
  char to[256];
  snprintf(to, sizeof to, "%s/merged.sqlite", test_folder());
  return llmprof_trace_merge(from, 2, to, err);
}

static void test_allocations(void **state) {
  test_every_allocation(merge, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

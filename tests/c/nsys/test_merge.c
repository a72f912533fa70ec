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

TEST(allocations) {
  test_every_allocation(merge, NULL);
}

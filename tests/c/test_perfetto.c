#include "llmprof/perfetto.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "support.h"

static bool export_to(const char *path, const llmprof_perfetto_options *options,
                      llmprof_perfetto_counts *written, llmprof_error *err) {
  llmprof_trace *trace =
      llmprof_trace_open(FIXTURES "/graphs/node.sqlite", err);
  bool ok = trace && llmprof_perfetto_write(trace, path, options, written, err);
  llmprof_trace_close(trace);
  return ok;
}

static void test_counts(void **state) {
  (void)state;
  char path[300];
  snprintf(path, sizeof path, "%s/counts.json", test_folder());
  llmprof_error err = {0};
  llmprof_perfetto_counts all, none;
  assert_true(export_to(path, &(llmprof_perfetto_options){0}, &all, &err));
  assert_true(all.operations > 0 && all.calls > 0);
  assert_true(all.flows > 0 && all.flows <= all.operations);
  const llmprof_window long_ago = {-200, -100};
  assert_true(export_to(
      path,
      &(llmprof_perfetto_options){.windows = &long_ago, .window_count = 1},
      &none, &err));
  assert_int_equal(none.operations + none.calls + none.ranges + none.flows, 0);
  assert_int_equal(none.lanes, 0);
}

static void test_places_that_cannot_be_written(void **state) {
  (void)state;
  llmprof_error err = {0};
  assert_false(export_to("/nonexistent/t.json", &(llmprof_perfetto_options){0},
                         NULL, &err));
  assert_int_equal(err.code, LLMPROF_NOTFOUND);
}

static bool export_packed(void *arg, llmprof_error *err) {
  return export_to(arg, &(llmprof_perfetto_options){.packed = true}, NULL, err);
}

/* A failure leaves neither the file nor what was to become it. */
static void test_allocations(void **state) {
  (void)state;
  char path[300];
  snprintf(path, sizeof path, "%s/packed.json.gz", test_folder());
  test_every_allocation(export_packed, path);
  struct stat info;
  assert_int_equal(stat(path, &info), 0);
  assert_true(info.st_size > 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_counts),
      cmocka_unit_test(test_places_that_cannot_be_written),
      cmocka_unit_test(test_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The table of readers: each file is claimed by one of them, or by none. */
#include "llmprof/readers.h"

#include <string.h>

#include "support.h"
#include "timeline_reader.h"

static const struct {
  const char *path, *reader; /* NULL: nobody's */
} files[] = {
    {FIXTURES "/small/run.sqlite", "nsys"},
    {FIXTURES "/graphs/node.sqlite", "nsys"},
    {FIXTURES "/odd/other.sqlite", "nsys"}, /* no export, as open() says */
    {FIXTURES "/timelines/broken.txt", "timeline"},
    {FIXTURES "/timelines/unqueued.txt", "timeline"},
    {FIXTURES "/export.sql", NULL},
    {FIXTURES "/graphs/README.md", NULL},
};

static void test_every_file_is_claimed_once(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    const llmprof_reader *reader, *found = NULL;
    print_message("%s\n", files[i].path);
    for (size_t r = 0; (reader = llmprof_reader_at(r)); r++) {
      llmprof_error err = {0};
      llmprof_claim claim = llmprof_reader_probe(reader, files[i].path, &err);
      assert_int_not_equal(claim, LLMPROF_CLAIM_FAILED);
      if (claim == LLMPROF_CLAIM_NO) {
        assert_int_equal(err.code, LLMPROF_SYNTAX);
        continue;
      }
      assert_null(found);
      found = reader;
    }
    assert_true(!found == !files[i].reader);
    if (found) assert_string_equal(found->name, files[i].reader);
  }
}

static void test_opening(void **state) {
  (void)state;
  llmprof_error err = {0};
  llmprof_trace *trace =
      llmprof_trace_open(FIXTURES "/timelines/broken.txt", &err);
  assert_non_null(trace);
  assert_string_equal(llmprof_trace_reader(trace), "timeline");
  llmprof_trace_close(trace);
  assert_null(llmprof_trace_open(FIXTURES "/export.sql", &err));
  assert_int_equal(err.code, LLMPROF_SYNTAX);
  assert_null(llmprof_trace_open("/nonexistent", &err));
  assert_int_equal(err.code, LLMPROF_NOTFOUND);
}

/* Last: the table is full after it. */
static void test_a_full_table(void **state) {
  (void)state;
  static llmprof_reader more[16];
  llmprof_error err = {0};
  assert_true(llmprof_reader_add(&timeline_reader, &err)); /* it is there */
  size_t count = 0, added = 0;
  while (llmprof_reader_at(count)) count++;
  assert_int_equal(count, 3);
  for (size_t i = 0; i < 16; i++) more[i].name = "more";
  while (added < 16 && llmprof_reader_add(&more[added], &err)) added++;
  assert_true(added > 0 && added < 16);
  assert_int_equal(err.code, LLMPROF_LIMIT);
  assert_ptr_equal(llmprof_reader_at(count + added - 1), &more[added - 1]);
  assert_null(llmprof_reader_at(count + added));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_file_is_claimed_once),
      cmocka_unit_test(test_opening),
      cmocka_unit_test(test_a_full_table),
  };
  llmprof_reader_add(&timeline_reader, NULL);
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Names of events: StringIds may count up from 0 or be anything. */
#include "exports.h"
#include "trace/trace_events.h"

static const char export_sql[] =
    "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
    "INSERT INTO StringIds VALUES (0, 'zero'), (7, 'seven'), (8, NULL), "
    "(700000, 'near'), (1000000, 'nearer'), (1048575, 'last near'), (1048576, "
    "'first far'), (1099511627776, 'far'), "
    "(-1, 'negative'), (-9223372036854775807, 'lowest'), "
    "(9223372036854775807, 'highest');"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, "
    "demangledName INTEGER);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT 1, 2, column1 "
    "FROM (VALUES (0), (7), (8), (1048575), (1048576), (1099511627776), (-1), "
    "(-9223372036854775807), (9223372036854775807), (1), (6), (1048574), "
    "(1048577), (-2), (NULL));";

static const char *const names[] = {
    "zero", "seven",    NULL,     "last near", "first far",
    "far",  "negative", "lowest", "highest",   NULL,
    NULL,   NULL,       NULL,     NULL,        NULL,
};

enum {
  KERNELS = sizeof names / sizeof *names
};

static bool load(void *path, llmprof_error *err) {
  llmprof_trace *trace = llmprof_trace_open(path, err);
  const llmprof_ops *ops = trace ? llmprof_trace_ops(trace, err) : NULL;
  if (ops) {
    assert_int_equal(ops->count, KERNELS);
    for (size_t i = 0; i < KERNELS; i++) {
      assert_string_equal(test_string_of(trace, llmprof_id_at(ops->name, i)),
                          names[i] ? names[i] : "(none)");
    }
  }
  llmprof_trace_close(trace);
  return ops != NULL;
}

TEST(near_and_far) {
  llmprof_error err = {0};
  if (!load((void *)(uintptr_t)test_database("ids.sqlite", export_sql), &err))
    fail_msg("%s", err.message);
}

TEST(allocations) {
  test_every_allocation(
      load, (void *)(uintptr_t)test_database("ids.sqlite", export_sql));
}

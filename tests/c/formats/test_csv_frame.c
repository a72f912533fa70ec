/* Columns of a file against the rows of it. */
#include "llmprof/csv_frame.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "llmprof/interrupt.h"
#include "support.h"

static const char text[] = "\"name\",\"x\",\"y\"\n\"\",\"us\",\"\"\n"
                           "\"f<\"\"a\"\", b>\",\"1,234.5\",\"7\"\n"
                           "==PROF== a line of the tool\n"
                           "bare, 2 ,3\n"
                           "\"over\ntwo lines\",\"n/a\",\"7.5\"\n"
                           "\"name\",\"x\",\"y\"\n"
                           "\"\",\"1e3\",\"9007199254740993\"\n";

static const llmprof_csv_column wanted[] = {
    {"name", 0, LLMPROF_STRING_ID},
    {"y", 2, LLMPROF_F64},
    {"whole", 2, LLMPROF_I64},
};

/* A frame over a pool, of a text. */
typedef struct read {
  llmprof_strings *pool;
  llmprof_frame *frame;
} read_columns;

static bool read_text(read_columns *r, const char *from, size_t size,
                      llmprof_error *err) {
  llmprof_csv_options options = {.units_row = true};
  *r = (read_columns){llmprof_strings_new(), NULL};
  if (!r->pool) return llmprof_fail_nomem(err);
  llmprof_csv *csv = llmprof_csv_open_bytes("text", from, size, &options, err);
  bool ok = csv && llmprof_csv_frame(csv, wanted, 3, r->pool, &r->frame, err);
  llmprof_csv_close(csv);
  return ok;
}

static void read_free(read_columns *r) {
  llmprof_frame_free(r->frame);
  llmprof_strings_free(r->pool);
}

static const llmprof_column *named(const read_columns *r, const char *name) {
  return llmprof_frame_column(r->frame, llmprof_frame_find(r->frame, name),
                              NULL);
}

static void test_columns(void **state) {
  (void)state;
  static const char *const names[] = {"f<\"a\", b>", "bare", "over\ntwo lines",
                                      NULL};
  static const int64_t lines[] = {3, 5, 6, 9},
                       wholes[] = {7, 3, LLMPROF_ABSENT, 9007199254740992};
  static const double reals[] = {7, 3, 7.5, 9007199254740992};
  read_columns r;
  assert_true(read_text(&r, text, sizeof text - 1, NULL));
  assert_int_equal(llmprof_frame_rows(r.frame), 4);
  for (size_t i = 0; i < 4; i++) {
    const char *name = llmprof_cell_text(r.frame, named(&r, "name"), i, NULL);
    assert_int_equal(name == NULL, names[i] == NULL);
    if (name) assert_string_equal(name, names[i]);
    assert_int_equal(llmprof_cell(named(&r, "line"), i), lines[i]);
    assert_int_equal(llmprof_cell(named(&r, "whole"), i), wholes[i]);
    assert_float_equal(((const double *)named(&r, "y")->data)[i], reals[i], 0);
  }
  read_free(&r);
}

static void test_rows_before_the_broken_one(void **state) {
  (void)state;
  read_columns r;
  llmprof_error err;
  char broken[sizeof text + 8];
  int size = snprintf(broken, sizeof broken, "%s1,2\n", text);
  assert_false(read_text(&r, broken, (size_t)size, &err));
  assert_int_equal(err.code, LLMPROF_SYNTAX);
  assert_int_equal(err.line, 10);
  assert_int_equal(llmprof_frame_rows(r.frame), 4);
  read_free(&r);
}

/* More rows than there is room for at first. */
static void test_many(void **state) {
  (void)state;
  enum {
    MANY = 3000,
    ROOM = 32
  };
  static char lines[ROOM * (MANY + 2)];
  size_t size = (size_t)sprintf(lines, "\"a\",\"b\",\"c\"\n\"\",\"\",\"\"\n");
  for (int i = 0; i < MANY; i++)
    size += (size_t)sprintf(lines + size, "\"n%d\",\"\",\"%d\"\n", i % 7, i);
  read_columns r;
  assert_true(read_text(&r, lines, size, NULL));
  assert_int_equal(llmprof_frame_rows(r.frame), MANY);
  assert_int_equal(llmprof_strings_count(r.pool), 7);
  for (size_t i = 0; i < MANY; i++)
    assert_int_equal(llmprof_cell(named(&r, "whole"), i), (int64_t)i);
  read_free(&r);
}

static void test_interrupt(void **state) {
  (void)state;
  read_columns r;
  llmprof_error err;
  llmprof_interrupt(true);
  bool ok = read_text(&r, text, sizeof text - 1, &err);
  llmprof_interrupt(false);
  assert_false(ok);
  assert_int_equal(err.code, LLMPROF_INTERRUPTED);
  read_free(&r);
}

static bool read_all(void *arg, llmprof_error *err) {
  (void)arg;
  read_columns r;
  bool ok = read_text(&r, text, sizeof text - 1, err);
  read_free(&r);
  return ok;
}

static void test_allocations(void **state) {
  (void)state;
  test_every_allocation(read_all, NULL);
}

static void test_any_prefix(void **state) {
  (void)state;
  for (size_t size = 0; size < sizeof text; size++) {
    read_columns r;
    llmprof_error err = {0};
    bool ok = read_text(&r, text, size, &err);
    assert_true(ok || err.code == LLMPROF_SYNTAX || err.code == LLMPROF_EMPTY);
    read_free(&r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_columns),
      cmocka_unit_test(test_rows_before_the_broken_one),
      cmocka_unit_test(test_many),
      cmocka_unit_test(test_interrupt),
      cmocka_unit_test(test_allocations),
      cmocka_unit_test(test_any_prefix),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

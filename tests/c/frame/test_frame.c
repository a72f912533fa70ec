#include "llmprof/frame.h"

#include <string.h>

#include "frame/cells.h"
#include "support.h"

enum {
  ROWS = 5
};

static const int64_t longs[ROWS] = {10, INT64_MIN, -30, 40, 10};
static const uint32_t shorts[ROWS] = {1, 2, UINT32_MAX, 1, 5};
static const uint32_t picks[ROWS] = {4, 3, UINT32_MAX, 1, 0};
static uint32_t names[ROWS];

/* Columns long, short, name, and long reached through picks. */
static llmprof_frame *make(llmprof_strings *pool) {
  static const char *const texts[ROWS] = {"a", "b", "a", NULL, "c"};
  for (size_t i = 0; i < ROWS; i++) {
    names[i] = LLMPROF_NO_STRING;
    if (texts[i] && !llmprof_strings_add(pool, texts[i], 1, &names[i]))
      return NULL;
  }
  const test_column columns[] = {
      {"long", "ns", LLMPROF_I64, longs, NULL, NULL, NULL},
      {"short", NULL, LLMPROF_U32, shorts, NULL, NULL, NULL},
      {"name", NULL, LLMPROF_STRING_ID, names, NULL, NULL, NULL},
      {"picked", "ns", LLMPROF_I64, longs, picks, NULL, NULL},
  };
  return test_frame(ROWS, pool, columns, 4);
}

typedef struct fixture {
  llmprof_strings *pool;
  llmprof_frame *frame;
} fixture;

static int set_up(void **state) {
  static fixture f;
  f.pool = llmprof_strings_new();
  f.frame = make(f.pool);
  *state = &f;
  return !f.frame;
}

static int tear_down(void **state) {
  fixture *f = *state;
  llmprof_frame_free(f->frame);
  llmprof_strings_free(f->pool);
  return 0;
}

static const llmprof_column *column(llmprof_frame *frame, const char *name) {
  llmprof_error err = {0};
  size_t number = llmprof_frame_find(frame, name);
  assert_int_not_equal(number, SIZE_MAX);
  const llmprof_column *found = llmprof_frame_column(frame, number, &err);
  if (!found) fail_msg("%s", err.message);
  return found;
}

TEST_WITH(columns, set_up, tear_down) {
  fixture *f = *state;
  assert_int_equal(llmprof_frame_columns(f->frame), 4);
  assert_ptr_equal(llmprof_frame_strings(f->frame), f->pool);
  assert_int_equal(llmprof_frame_find(f->frame, "name"), 2);
  assert_int_equal(llmprof_frame_find(f->frame, "nam"), SIZE_MAX);
  const llmprof_column *first = llmprof_frame_peek(f->frame, 0);
  assert_string_equal(first->name, "long");
  assert_string_equal(first->unit, "ns");
  assert_int_equal(first->type, LLMPROF_I64);
  test_expect_cells(f->frame, "long", longs, ROWS);
  TEST_CELLS(f->frame, "short", 1, 2, INT64_MIN, 1, 5);
  TEST_CELLS(f->frame, "name", 0, 1, 0, INT64_MIN, 2);
  TEST_CELLS(f->frame, "picked", 10, 40, INT64_MIN, INT64_MIN, 10);
}

TEST_WITH(texts, set_up, tear_down) {
  fixture *f = *state;
  const llmprof_column *c = column(f->frame, "name");
  assert_string_equal(llmprof_cell_text(f->frame, c, 1, "-"), "b");
  assert_string_equal(llmprof_cell_text(f->frame, c, 4, "-"), "c");
  assert_string_equal(llmprof_cell_text(f->frame, c, 3, "-"), "-");
  assert_null(llmprof_cell_text(f->frame, c, 3, NULL));
}

/* ---- columns loaded when asked for ---- */

static bool load_or_fail(llmprof_frame *frame, llmprof_column *c, void *user,
                         llmprof_error *err) {
  int *calls = user;
  if (++*calls == 1) return llmprof_fail(err, LLMPROF_IO, "not yet");
  c->values = llmprof_frame_array(frame, LLMPROF_I64, longs);
  return c->values || llmprof_fail_nomem(err);
}

TEST_WITH(loading, set_up, tear_down) {
  fixture *f = *state;
  int calls = 0;
  const llmprof_column lazy = {.name = "lazy", .type = LLMPROF_I64};
  assert_true(llmprof_frame_add(f->frame, &lazy, load_or_fail, &calls));
  assert_null(llmprof_frame_peek(f->frame, 4)->values);
  assert_int_equal(calls, 0);
  llmprof_error err = {0};
  assert_null(llmprof_frame_column(f->frame, 4, &err));
  assert_string_equal(err.message, "not yet");
  test_expect_cells(f->frame, "lazy", longs, ROWS);
  test_expect_cells(f->frame, "lazy", longs, ROWS);
  assert_int_equal(calls, 2);
}

/* ---- where ---- */

static llmprof_frame *where(llmprof_frame *frame, const char *name,
                            llmprof_compare compare, const int64_t *values,
                            size_t count) {
  llmprof_error err = {0};
  llmprof_condition condition = {llmprof_frame_find(frame, name), compare,
                                 values, count};
  llmprof_frame *view = llmprof_frame_where(frame, &condition, 1, &err);
  if (!view) fail_msg("%s", err.message);
  return view;
}

/* Columns with an index of their own are reached through both. */
TEST_WITH(view_of_a_view, set_up, tear_down) {
  llmprof_frame *frame = ((fixture *)*state)->frame;
  int64_t forty = 40, one = 1;
  llmprof_frame *outer = where(frame, "long", LLMPROF_NE, &forty, 1);
  TEST_CELLS(outer, "long", 10, -30, 10);
  TEST_CELLS(outer, "picked", 10, INT64_MIN, 10);
  llmprof_frame *inner = where(outer, "short", LLMPROF_GT, &one, 1);
  TEST_CELLS(inner, "picked", 10);
  TEST_CELLS(inner, "name", 2);
  llmprof_frame_free(inner);
  llmprof_frame_free(outer);
}

TEST_WITH(empty_frame, set_up, tear_down) {
  fixture *f = *state;
  llmprof_frame *empty = llmprof_frame_new(0, f->pool);
  const test_column none = {"x", NULL, LLMPROF_I64, longs, NULL, NULL, NULL};
  assert_true(test_add(empty, &none));
  int64_t zero = 0;
  llmprof_frame *view = where(empty, "x", LLMPROF_GE, &zero, 1);
  test_expect_cells(view, "x", NULL, 0);
  llmprof_frame_free(view);
  llmprof_frame_free(empty);
  llmprof_frame_free(NULL);
}

/* A failure below reaches who asks the view. */
TEST_WITH(view_of_what_fails, set_up, tear_down) {
  fixture *f = *state;
  int calls = 0;
  const llmprof_column lazy = {.name = "lazy", .type = LLMPROF_I64};
  assert_true(llmprof_frame_add(f->frame, &lazy, load_or_fail, &calls));
  llmprof_error err = {0};
  llmprof_condition on_lazy = {4, LLMPROF_EQ, longs, 1};
  assert_null(llmprof_frame_where(f->frame, &on_lazy, 1, &err));
  assert_string_equal(err.message, "not yet");
  calls = 0;
  llmprof_frame *view = llmprof_frame_where(f->frame, NULL, 0, &err);
  assert_null(llmprof_frame_column(view, 4, &err));
  test_expect_cells(view, "lazy", longs, ROWS);
  llmprof_frame_free(view);
}

static bool filter_twice(llmprof_frame *frame, llmprof_error *err) {
  int64_t ten = 10;
  llmprof_condition tens = {0, LLMPROF_EQ, &ten, 1};
  llmprof_frame *view = llmprof_frame_where(frame, &tens, 1, err);
  llmprof_frame *again = view ? llmprof_frame_where(view, &tens, 1, err) : NULL;
  bool ok = again != NULL;
  for (size_t c = 0; ok && c < 4; c++)
    ok = llmprof_frame_column(again, c, err) != NULL;
  llmprof_frame_free(again);
  llmprof_frame_free(view);
  return ok;
}

static bool make_and_filter(void *arg, llmprof_error *err) {
  llmprof_strings *pool = llmprof_strings_new();
  llmprof_frame *frame = pool ? make(pool) : NULL;
  bool ok = frame ? filter_twice(frame, err) : llmprof_fail_nomem(err);
  llmprof_frame_free(frame);
  llmprof_strings_free(pool);
  return ok;
}

TEST(allocations) {
  test_every_allocation(make_and_filter, NULL);
}

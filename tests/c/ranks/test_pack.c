#include "ranks/pack.h"

#include <string.h>

#include "support.h"

enum {
  ROWS = 4
};

static const int64_t times[ROWS] = {1000, INT64_MIN, INT64_MAX, -7};
static const uint32_t counts[ROWS] = {3, 3, UINT32_MAX, 0};
static uint32_t names[ROWS]; /* "b", absent, "", "b" */

static llmprof_strings *pool_of_names(void) {
  llmprof_strings *pool = llmprof_strings_new();
  uint32_t a, b, empty;
  if (!pool || !llmprof_strings_add(pool, "a", 1, &a) ||
      !llmprof_strings_add(pool, "b", 1, &b) ||
      !llmprof_strings_add(pool, "", 0, &empty)) {
    llmprof_strings_free(pool);
    return NULL;
  }
  names[0] = names[3] = b;
  names[1] = LLMPROF_NO_STRING;
  names[2] = empty;
  return pool;
}

static llmprof_frame *sample(const llmprof_strings *pool) {
  const test_column columns[] = {
      {"time", "ns", LLMPROF_I64, times, NULL, NULL, NULL},
      {"count", NULL, LLMPROF_U32, counts, NULL, NULL, NULL},
      {"name", NULL, LLMPROF_STRING_ID, names, NULL, NULL, NULL},
  };
  return test_frame(ROWS, pool, columns, 3);
}

static void expect_cells(llmprof_frame *frame, const char *name, size_t from,
                         const int64_t *expected, size_t count) {
  for (size_t i = 0; i < count; i++)
    assert_true(test_cell(frame, name, from + i) == expected[i]);
}

/* The sample's rows, from row `from` on. */
static void expect_sample(llmprof_frame *frame, size_t from) {
  expect_cells(frame, "time", from, times, ROWS);
  expect_cells(frame, "count", from, (int64_t[]){3, 3, INT64_MIN, 0}, ROWS);
  static const char *const texts[] = {"b", "absent", "", "b"};
  for (size_t i = 0; i < ROWS; i++)
    assert_string_equal(test_cell_text(frame, "name", from + i), texts[i]);
}

TEST(round_trip) {
  llmprof_error err;
  llmprof_buffer out = {0};
  llmprof_strings *from = pool_of_names(), *to = llmprof_strings_new();
  llmprof_frame *frame = sample(from);
  assert_true(llmprof_frame_pack(frame, &out, &err));
  llmprof_frame *back = llmprof_frame_unpack(out.bytes, out.size, to, &err);
  assert_non_null(back);
  assert_int_equal(llmprof_frame_rows(back), ROWS);
  assert_int_equal(llmprof_frame_columns(back), 3);
  assert_string_equal(llmprof_frame_peek(back, 0)->unit, "ns");
  assert_null(llmprof_frame_peek(back, 1)->unit);
  expect_sample(back, 0);
  /* what is packed again is the same */
  llmprof_buffer again = {0};
  assert_true(llmprof_frame_pack(back, &again, &err));
  assert_int_equal(again.size, out.size);
  assert_memory_equal(again.bytes, out.bytes, out.size);
  llmprof_frame_free(back);
  llmprof_frame_free(frame);
  llmprof_strings_free(from);
  llmprof_strings_free(to);
  llmprof_buffer_free(&out);
  llmprof_buffer_free(&again);
}

TEST(join) {
  llmprof_error err;
  llmprof_strings *from = pool_of_names(), *to = llmprof_strings_new();
  llmprof_frame *first = sample(from);
  static const int64_t more[] = {5};
  const test_column other[] = {
      {"extra", NULL, LLMPROF_I64, more, NULL, NULL, NULL},
      {"time", NULL, LLMPROF_I64, more, NULL, NULL, NULL},
  };
  llmprof_frame *second = test_frame(1, from, other, 2);
  llmprof_frame *list[] = {first, second, first};
  llmprof_frame *joined = llmprof_frames_join(list, 3, NULL, NULL, to, &err);
  assert_non_null(joined);
  assert_int_equal(llmprof_frame_rows(joined), 2 * ROWS + 1);
  assert_int_equal(llmprof_frame_columns(joined), 3);
  expect_sample(joined, 0);
  expect_sample(joined, ROWS + 1);
  expect_cells(joined, "time", ROWS, more, 1);
  expect_cells(joined, "count", ROWS, (int64_t[]){INT64_MIN}, 1);
  assert_string_equal(test_cell_text(joined, "name", ROWS), "absent");
  llmprof_frame_free(first);
  llmprof_frame_free(second);
  llmprof_strings_free(from);
  expect_sample(joined, 0); /* of its own memory */
  llmprof_frame_free(joined);
  llmprof_strings_free(to);
}

TEST(join_of_other_types) {
  llmprof_error err;
  llmprof_strings *from = pool_of_names(), *to = llmprof_strings_new();
  static const int64_t numbers[] = {5};
  static const double reals[] = {0.5};
  const test_column number = {"name", NULL, LLMPROF_I64, numbers,
                              NULL,   NULL, NULL};
  const test_column real = {"time", NULL, LLMPROF_F64, reals, NULL, NULL, NULL};
  llmprof_frame *frame = sample(from);
  llmprof_frame *of_numbers = test_frame(1, from, &number, 1);
  llmprof_frame *of_reals = test_frame(1, from, &real, 1);
  llmprof_frame *list[] = {frame, of_numbers};
  assert_null(llmprof_frames_join(list, 2, NULL, NULL, to, &err));
  assert_int_equal(err.code, LLMPROF_UNSUPPORTED);
  list[1] = of_reals;
  assert_null(llmprof_frames_join(list, 2, NULL, NULL, to, &err));
  assert_int_equal(err.code, LLMPROF_UNSUPPORTED);
  assert_string_equal(err.message, "column 'time' holds reals");
  llmprof_frame_free(frame);
  llmprof_frame_free(of_numbers);
  llmprof_frame_free(of_reals);
  llmprof_strings_free(from);
  llmprof_strings_free(to);
}

TEST(join_on_one_clock) {
  llmprof_error err;
  llmprof_strings *pool = llmprof_strings_new();
  static const int64_t from[] = {1000, 2000, INT64_MIN, INT64_MAX};
  const test_column columns[] = {
      {"start", "ns", LLMPROF_I64, from, NULL, NULL, NULL},
      {"duration", "ns", LLMPROF_I64, from, NULL, NULL, NULL},
  };
  llmprof_frame *frame = test_frame(4, NULL, columns, 2);
  llmprof_frame *list[] = {frame, frame};
  static const llmprof_clock clocks[] = {{0, 0, 0}, {100, 1000, 0.25}};
  static const char *const moved[] = {"start", NULL};
  llmprof_frame *joined =
      llmprof_frames_join(list, 2, clocks, moved, pool, &err);
  assert_non_null(joined);
  expect_cells(joined, "start", 0, from, 4);
  expect_cells(joined, "start", 4, (int64_t[]){900, 1650, INT64_MIN, INT64_MAX},
               4);
  expect_cells(joined, "duration", 4, from, 4);
  llmprof_frame_free(joined);
  llmprof_frame_free(frame);
  llmprof_strings_free(pool);
}

/* ---- bytes that are something else ---- */

TEST(broken) {
  llmprof_error err;
  llmprof_buffer out = {0};
  llmprof_strings *pool = pool_of_names();
  llmprof_frame *frame = sample(pool);
  assert_true(llmprof_frame_pack(frame, &out, &err));
  assert_null(llmprof_frame_unpack(out.bytes, out.size - 1, pool, &err));
  assert_int_equal(err.code, LLMPROF_SYNTAX);
  llmprof_buffer_putc(&out, 0);
  assert_null(llmprof_frame_unpack(out.bytes, out.size, pool, &err));
  assert_string_equal(err.message, "these are no packed frames");
  static const char many[] = "llmprof frame 1\n\xff\xff\xff\xff\x0f\x01"
                             "some more";
  assert_null(llmprof_frame_unpack(many, sizeof many - 1, pool, &err));
  assert_int_equal(err.code, LLMPROF_LIMIT);
  llmprof_frame_free(frame);
  llmprof_strings_free(pool);
  llmprof_buffer_free(&out);
}

static bool all_of_it(void *arg, llmprof_error *err) {
  llmprof_buffer out = {0};
  llmprof_strings *pool = pool_of_names(), *other = llmprof_strings_new();
  llmprof_frame *frame = pool ? sample(pool) : NULL, *joined = NULL,
                *back = NULL;
  bool ok = (frame && other) || llmprof_fail_nomem(err);
  if (ok) joined = llmprof_frames_join(&frame, 1, NULL, NULL, other, err);
  ok = joined && llmprof_frame_pack(joined, &out, err);
  if (ok) back = llmprof_frame_unpack(out.bytes, out.size, pool, err);
  llmprof_frame_free(back);
  llmprof_frame_free(joined);
  llmprof_frame_free(frame);
  llmprof_strings_free(pool);
  llmprof_strings_free(other);
  llmprof_buffer_free(&out);
  return ok && back;
}

TEST(out_of_memory) {
  test_every_allocation(all_of_it, NULL);
}

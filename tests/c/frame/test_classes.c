#include "frame/classes.h"

#include <stdlib.h>
#include <string.h>

#include "support.h"

/* Rows of one tick or more out of TICKS, several runs of them; what each
 * tick counts for is told by looking at all rows. */
enum {
  ROWS = 3000,
  TICKS = 9000,
  COUNT = 3,
  WINDOWS = 400
};

typedef struct fixture {
  llmprof_strings *strings;
  llmprof_frame *frame;
  int64_t starts[ROWS], ends[ROWS];
  uint32_t words[ROWS];
  uint8_t class_of[COUNT + 1];
  int64_t first[COUNT + 1][TICKS + 1]; /* by class, ticks before this one */
} fixture;

/* Words 0 to 2 are classes 2 to 0, the last is none. */
static void fill_words(fixture *f) {
  static const char *const words[] = {"a", "b", "c", "d"};
  f->strings = llmprof_strings_new();
  for (uint8_t i = 0; i <= COUNT; i++) {
    uint32_t id;
    assert_true(llmprof_strings_add(f->strings, words[i], 1, &id));
    f->class_of[id] =
        i < COUNT ? (uint8_t)(COUNT - 1 - i) : (uint8_t)LLMPROF_NO_CLASS;
  }
}

static void fill_rows(fixture *f, bool ascending) {
  srand(1);
  for (int i = 0; i < ROWS; i++) {
    f->starts[i] = ascending ? 3 * i : rand() % TICKS;
    f->ends[i] = f->starts[i] + rand() % 6 - 1;
    if (rand() % 50 == 0) f->ends[i] += 400;
    if (f->ends[i] > TICKS) f->ends[i] = TICKS;
    f->words[i] = (uint32_t)(rand() % (COUNT + 1));
    if (rand() % 40 == 0) f->words[i] = LLMPROF_NO_STRING;
    if (rand() % 60 == 0) f->ends[i] = LLMPROF_ABSENT;
    if (rand() % 60 == 0 && !ascending) f->starts[i] = LLMPROF_ABSENT;
  }
}

static void fill_ticks(fixture *f, const llmprof_intervals *busy) {
  static uint8_t class_at[TICKS];
  memset(class_at, COUNT, sizeof class_at);
  for (int i = 0; i < ROWS; i++) {
    uint8_t class = f->words[i] == LLMPROF_NO_STRING ? (uint8_t)LLMPROF_NO_CLASS
                                                     : f->class_of[f->words[i]];
    if (f->starts[i] == LLMPROF_ABSENT) continue;
    for (int64_t t = f->starts[i]; t < f->ends[i]; t++)
      if (class < class_at[t]) class_at[t] = class;
  }
  for (size_t i = 0; busy && i < busy->count; i++)
    for (int64_t t = busy->items[i].start; t < busy->items[i].end; t++)
      class_at[t] = COUNT;
  for (int k = 0; k <= COUNT; k++)
    for (int t = 0; t < TICKS; t++)
      f->first[k][t + 1] = f->first[k][t] + (class_at[t] == k);
}

static llmprof_frame *frame_of(fixture *f) {
  const test_column made[] = {
      {"start", "ns", LLMPROF_I64, f->starts, NULL, NULL, NULL},
      {"end", "ns", LLMPROF_I64, f->ends, NULL, NULL, NULL},
      {"word", NULL, LLMPROF_STRING_ID, f->words, NULL, NULL, NULL},
  };
  return test_frame(ROWS, f->strings, made, 3);
}

static void set_up(fixture *f, bool ascending) {
  memset(f, 0, sizeof *f);
  fill_words(f);
  fill_rows(f, ascending);
  f->frame = frame_of(f);
}

static void tear_down(fixture *f) {
  llmprof_frame_free(f->frame);
  llmprof_strings_free(f->strings);
}

static const llmprof_class_columns columns = {0, 1, 2};

static void expect_windows(fixture *f, const llmprof_intervals *busy) {
  llmprof_error err;
  fill_ticks(f, busy);
  llmprof_classes *classes =
      llmprof_classes_new(f->frame, &columns, f->class_of, COUNT, &err);
  assert_non_null(classes);
  assert_int_equal(llmprof_classes_count(classes), COUNT);
  for (int i = 0; i < WINDOWS; i++) {
    int64_t from = i ? rand() % TICKS : -10, totals[LLMPROF_CLASSES];
    int64_t to = i ? from + rand() % (i % 2 ? 20 : TICKS) - 3 : TICKS + 10;
    llmprof_classes_within(classes, busy, from, to, totals);
    if (from < 0) from = 0;
    if (to > TICKS) to = TICKS;
    for (int k = 0; k < COUNT; k++) {
      int64_t expected = to > from ? f->first[k][to] - f->first[k][from] : 0;
      assert_true(totals[k] == expected);
    }
  }
  llmprof_classes_free(classes);
}

TEST(random_windows) {
  static fixture f;
  llmprof_interval items[] = {{5, 90}, {100, 101}, {700, 5000}, {5001, 5003}};
  llmprof_intervals busy = {items, 4}, none = {NULL, 0};
  for (int ascending = 0; ascending < 2; ascending++) {
    set_up(&f, ascending);
    expect_windows(&f, NULL);
    expect_windows(&f, &none);
    expect_windows(&f, &busy);
    tear_down(&f);
  }
}

/* Times of a broken file: no wrap-around. */
TEST(longer_than_64_bits) {
  const int64_t start = INT64_MIN + 1, end = INT64_MAX;
  const uint32_t word = 0;
  const uint8_t class_of[] = {0};
  llmprof_strings *strings = llmprof_strings_new();
  uint32_t id;
  assert_true(llmprof_strings_add(strings, "a", 1, &id));
  const test_column made[] = {
      {"start", "ns", LLMPROF_I64, &start, NULL, NULL, NULL},
      {"end", "ns", LLMPROF_I64, &end, NULL, NULL, NULL},
      {"word", NULL, LLMPROF_STRING_ID, &word, NULL, NULL, NULL},
  };
  llmprof_frame *frame = test_frame(1, strings, made, 3);
  llmprof_classes *classes =
      llmprof_classes_new(frame, &columns, class_of, 1, NULL);
  int64_t totals[LLMPROF_CLASSES];
  llmprof_classes_within(classes, NULL, INT64_MIN, INT64_MAX, totals);
  assert_true(totals[0] == INT64_MAX);
  llmprof_classes_free(classes);
  llmprof_frame_free(frame);
  llmprof_strings_free(strings);
}

static bool make(void *arg, llmprof_error *err) {
  fixture *f = arg;
  llmprof_frame *frame = frame_of(f);
  llmprof_classes *classes =
      frame ? llmprof_classes_new(frame, &columns, f->class_of, COUNT, err)
            : (llmprof_fail_nomem(err), NULL);
  bool ok = classes != NULL;
  llmprof_classes_free(classes);
  llmprof_frame_free(frame);
  return ok;
}

TEST(allocations) {
  static fixture f;
  set_up(&f, false);
  test_every_allocation(make, &f);
  tear_down(&f);
}

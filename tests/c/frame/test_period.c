/* What comes back at regular distances, in frames of a few rows. */
#include "frame/group_by.h"
#include "frame/period.h"

#include <math.h>

#include "support.h"

/* ---- frames ---- */

enum {
  MOST_ROWS = 64
};

/* Rows of a letter and a start, and their groups by letter. */
typedef struct timeline {
  llmprof_strings *strings;
  llmprof_frame *frame;
  llmprof_groups groups;
  uint32_t letters[MOST_ROWS];
  int64_t starts[MOST_ROWS];
  size_t count;
} timeline;

static void add_row(timeline *t, char letter, int64_t start) {
  assert_true(t->count < MOST_ROWS);
  t->letters[t->count] = (uint32_t)letter;
  t->starts[t->count++] = start;
}

static void group_rows(timeline *t) {
  test_column start = {.name = "start", .type = LLMPROF_I64, .data = t->starts};
  test_column letter = {
      .name = "letter", .type = LLMPROF_U32, .data = t->letters};
  t->strings = llmprof_strings_new();
  t->frame = llmprof_frame_new(t->count, t->strings);
  assert_true(test_add(t->frame, &start));
  assert_true(test_add(t->frame, &letter));
  llmprof_error err;
  assert_true(llmprof_groups_make(&t->groups, t->frame, &(size_t){1}, 1, &err));
}

static void timeline_free(timeline *t) {
  llmprof_groups_free(&t->groups);
  llmprof_frame_free(t->frame);
  llmprof_strings_free(t->strings);
}

/* A frame of single letters, 10 ns apart from 0 on; a space is 10 ns in which
 * nothing starts. */
static void make(timeline *t, const char *letters) {
  *t = (timeline){0};
  for (int64_t i = 0; letters[i]; i++) {
    if (letters[i] != ' ') add_row(t, letters[i], 10 * i);
  }
  group_rows(t);
}

static llmprof_rhythm *find(timeline *t, uint32_t least, size_t *count) {
  llmprof_rhythm *rhythms;
  llmprof_error err = {0};
  if (!llmprof_rhythms_find(t->frame, 0, &t->groups, least, &rhythms, count,
                            &err))
    fail_msg("%s", err.message);
  return rhythms;
}

static llmprof_cycle *cycles_of(timeline *t, uint32_t group, size_t *count) {
  llmprof_cycle *cycles;
  llmprof_error err = {0};
  if (!llmprof_cycles_find(t->frame, 0, &t->groups, group, &cycles, count,
                           &err))
    fail_msg("%s", err.message);
  return cycles;
}

/* ---- rhythms ---- */

TEST(regular) {
  timeline t;
  make(&t, "abbcabbcabbcabbc");
  size_t count;
  llmprof_rhythm *found = find(&t, 3, &count);
  assert_int_equal(count, 2); /* b comes after 10, then after 30 ns */
  assert_int_equal(found[0].group, 0);
  assert_int_equal(found[0].row, 0);
  assert_int_equal(found[0].distances, 3);
  assert_int_equal(found[0].runs, 1);
  assert_int_equal(found[0].longest, 3);
  assert_int_equal(found[0].period, 40);
  assert_int_equal(found[0].span, 120);
  assert_true(found[0].spread == 0);
  assert_int_equal(found[1].row, 3);
  assert_int_equal(found[1].period, 40);
  llmprof_free(found);
  timeline_free(&t);
}

TEST(runs) {
  timeline t;
  make(&t, "a a a a         a  a  a  a");
  size_t count;
  llmprof_rhythm *found = find(&t, 3, &count);
  assert_int_equal(count, 1);
  assert_int_equal(found[0].runs, 2);
  assert_int_equal(found[0].distances, 6);
  assert_int_equal(found[0].span, 60 + 90);
  llmprof_free(found);
  found = find(&t, 4, &count);
  assert_int_equal(count, 0);
  llmprof_free(found);
  timeline_free(&t);
}

/* Half as much again is the limit, either way. */
TEST(tolerance) {
  static const int64_t starts[] = {0, 100, 200, 350, 450, 601, 701};
  timeline t = {0};
  for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
    add_row(&t, 'a', starts[i]);
  group_rows(&t);
  size_t count;
  llmprof_rhythm *found = find(&t, 2, &count);
  assert_int_equal(count, 1);
  assert_int_equal(found[0].runs, 1);
  assert_int_equal(found[0].distances, 4);
  assert_int_equal(found[0].span, 450);
  assert_int_equal(found[0].period, 100);
  assert_true(found[0].spread == 0);
  llmprof_free(found);
  timeline_free(&t);
}

TEST(spread) {
  static const int64_t starts[] = {0, 80, 180, 300};
  timeline t = {0};
  for (size_t i = 0; i < 4; i++) add_row(&t, 'a', starts[i]);
  group_rows(&t);
  size_t count;
  llmprof_rhythm *found = find(&t, 3, &count);
  assert_int_equal(count, 1);
  assert_int_equal(found[0].period, 100);
  assert_true(fabs(found[0].spread - 0.2) < 1e-5);
  llmprof_free(found);
  timeline_free(&t);
}

/* Rows at one time are no period, and rows need not be in order. */
TEST(order) {
  timeline t = {0};
  for (int i = 0; i < 5; i++) add_row(&t, 'z', 7);
  for (int i = 4; i >= 0; i--) add_row(&t, 'a', 10 * i);
  group_rows(&t);
  size_t count;
  llmprof_rhythm *found = find(&t, 2, &count);
  assert_int_equal(count, 1);
  assert_int_equal(found[0].row, 5);
  assert_int_equal(found[0].period, 10);
  assert_int_equal(found[0].distances, 4);
  llmprof_free(found);
  timeline_free(&t);
}

TEST(nothing) {
  timeline t;
  make(&t, "");
  size_t count;
  llmprof_free(find(&t, 1, &count));
  assert_int_equal(count, 0);
  timeline_free(&t);
}

/* ---- cycles ---- */

TEST(cycles) {
  timeline t;
  make(&t, "abbcabbcaxxxxxabbc");
  size_t count;
  llmprof_cycle *c = cycles_of(&t, 0, &count);
  assert_int_equal(count, 4);
  assert_int_equal(c[0].first, 0);
  assert_int_equal(c[0].next, 4);
  assert_int_equal(c[0].rows, 4);
  assert_true(c[0].likeness == 1);
  assert_int_equal(c[0].head_last, UINT32_MAX);
  assert_true(c[1].likeness == 1);
  assert_true(c[1].head == 1);
  assert_int_equal(c[1].head_last, 7);
  assert_int_equal(c[2].rows, 6);
  assert_true(fabs(c[2].likeness - 1.0 / 6) < 1e-9);
  assert_true(c[2].head == 0.25);
  assert_int_equal(c[3].next, UINT32_MAX);
  assert_true(c[3].likeness == 0);
  assert_int_equal(c[3].head_last,
                   UINT32_MAX); /* shorter than the one before */
  llmprof_free(c);
  timeline_free(&t);
}

/* The last step of a generation, before something else. */
TEST(head) {
  timeline t;
  make(&t, "abbcabbcabbcyyyy");
  size_t count;
  llmprof_cycle *c = cycles_of(&t, 0, &count);
  assert_int_equal(count, 3);
  assert_int_equal(c[2].rows, 8);
  assert_true(c[2].head == 1);
  assert_int_equal(c[2].head_last, 11);
  llmprof_free(c);
  timeline_free(&t);
}

static bool find_both(void *arg, llmprof_error *err) {
  timeline *t = arg;
  llmprof_rhythm *rhythms = NULL;
  llmprof_cycle *cycles = NULL;
  size_t count;
  bool ok =
      llmprof_rhythms_find(t->frame, 0, &t->groups, 2, &rhythms, &count, err) &&
      llmprof_cycles_find(t->frame, 0, &t->groups, 0, &cycles, &count, err);
  llmprof_free(rhythms);
  llmprof_free(cycles);
  return ok;
}

TEST(allocations) {
  timeline t;
  make(&t, "abcabcabcabc");
  test_every_allocation(find_both, &t);
  timeline_free(&t);
}

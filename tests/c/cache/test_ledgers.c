/* Ledgers in a cache: questions about accounts have the answers that rows give,
 * whatever became of the cache. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cache/cache_file.h"
#include "cache/cache_room.h"
#include "exports.h"
#include "llmprof/bounds.h"
#include "llmprof/cache.h"
#include "llmprof/fs.h"
#include "llmprof/trace.h"

/* 1,600 kernels of two names on two streams, launched in two kinds of range,
 * some in none; one lasts longer than four bytes say. */
#define MANY                                                                   \
  EXPORT_TABLES                                                                \
  "INSERT INTO StringIds VALUES (0, 'a'), (1, 'b'), (2, 'c'), (3, 'd'), "      \
  "(4, 'launch'), (5, 'other');"                                               \
  "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD COLUMN streamId INTEGER;"        \
  "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < "  \
  "1599) INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT i * 1000 + 500, i * "   \
  "1000 + 510 + (i * 37) % 400 + CASE WHEN i = 50 THEN 5000000000 WHEN i % "   \
  "50 = 0 THEN 90000 ELSE 0 "                                                  \
  "END, 0, i + 1, " P1 ", (i * i) % 4, 7 + i % 2 FROM n;"                      \
  "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < "  \
  "1599) INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT i * 1000, i * 1000 + " \
  "100 + i % 7, " T11 ", i + 1, 4 + i % 3 / 2 FROM n;"                         \
  "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < "  \
  "30) INSERT INTO NVTX_EVENTS SELECT i * 20000, i * 20000 + 19990, 59, "      \
  "CASE WHEN i % 2 THEN 'odd' ELSE 'even' END, " T11 ", NULL FROM n;"

static char folder[4096];

static llmprof_trace *open_cached(const char *path, llmprof_error *err) {
  llmprof_cache_options options = {folder, 0, 1 << 30};
  return llmprof_cache_open(path, &options, err);
}

static bool keep(llmprof_trace *trace, const char *table, llmprof_error *err) {
  llmprof_frame *frame = llmprof_trace_frame(trace, table, err);
  bool ok = frame && llmprof_trace_keep_ledger(trace, table, frame, err);
  llmprof_frame_free(frame);
  return ok;
}

static bool keep_and_save(void *path, llmprof_error *err) {
  llmprof_trace *trace = open_cached(path, err);
  bool ok = trace && keep(trace, "gpu", err) && keep(trace, "api", err) &&
            llmprof_cache_save(trace, err);
  llmprof_trace_close(trace);
  return ok;
}

/* A trace whose ledgers are in the cache. */
static const char *kept_export(void) {
  static char path[4096];
  static int number;
  llmprof_error err = {0};
  if (!*path)
    snprintf(path, sizeof path, "%s", test_database("many.sqlite", MANY));
  snprintf(folder, sizeof folder, "%s/ledgers%d", test_folder(), number++);
  usleep(120000); /* files whose times are of now are left alone */
  for (int i = 0; i < 2; i++)
    if (!keep_and_save(path, &err)) fail_msg("%s", err.message);
  return path;
}

/* ---- questions ---- */

typedef struct question {
  const char *frame;
  const char *keys[4];  /* columns to group by */
  const char *of;       /* statistics of this column; NULL: rows alone */
  const char *where[2]; /* columns that have the cell of row 0, or others */
  bool others;          /* others, of the first */
} question;

static const question questions[] = {
    {"kernels", {"name"}, "duration", {NULL}, false},
    {"kernels", {"tag", "stream"}, "duration", {NULL}, false},
    {"kernels", {"tag"}, "queue_time", {"name"}, true},
    {"kernels", {NULL}, "duration", {NULL}, false},
    {"kernels", {NULL}, "api_time", {"tag", "stream"}, false},
    {"kernels", {"stream", "api"}, NULL, {"name"}, false},
    {"kernels", {"correlation"}, "duration", {"name"}, false},
    {"kernels", {"name"}, "start", {"tag"}, true},
    {"gpu", {"kind", "device"}, "duration", {NULL}, false},
    {"gpu", {"api", "launch_tid"}, "api_time", {"tag"}, true},
    {"transfers", {"name"}, "bytes", {NULL}, false},
    {"api", {"name"}, "duration", {NULL}, false},
    {"api", {"tid"}, "duration", {"name"}, true},
    {"kernel_ranges", {"tag", "pid"}, "duration", {NULL}, false},
};

static size_t number_of(const llmprof_frame *frame, const char *name) {
  size_t number = llmprof_frame_find(frame, name);
  if (number == SIZE_MAX) fail_msg("no column %s", name);
  return number;
}

/* Its first cell, by account where that is how it is asked. */
static bool first_cell(llmprof_frame *frame, size_t number, int64_t *cell,
                       llmprof_error *err) {
  const llmprof_column *column;
  if (!llmprof_frame_shared(frame, number, &column, err)) return false;
  if (!column) column = llmprof_frame_column(frame, number, err);
  if (column) *cell = llmprof_cell(column, 0);
  return column != NULL;
}

static llmprof_frame *choose(llmprof_frame *frame, const question *q,
                             llmprof_error *err) {
  llmprof_condition conditions[2];
  int64_t cells[2];
  size_t count = 0;
  for (; count < 2 && q->where[count]; count++) {
    size_t number = number_of(frame, q->where[count]);
    if (!first_cell(frame, number, &cells[count], err)) return NULL;
    conditions[count] = (llmprof_condition){
        number, q->others ? LLMPROF_NE : LLMPROF_EQ, &cells[count], 1};
  }
  return llmprof_frame_where(frame, conditions, count, err);
}

static llmprof_frame *answer(llmprof_frame *frame, const question *q,
                             llmprof_error *err) {
  size_t keys[4], count = 0;
  for (; count < 4 && q->keys[count]; count++)
    keys[count] = number_of(frame, q->keys[count]);
  size_t of = q->of ? number_of(frame, q->of) : SIZE_MAX;
  const llmprof_aggregate wanted[] = {{"rows", LLMPROF_COUNT, SIZE_MAX, 0},
                                      {"sum", LLMPROF_SUM, of, 0},
                                      {"mean", LLMPROF_MEAN, of, 0},
                                      {"median", LLMPROF_MEDIAN, of, 0},
                                      {"min", LLMPROF_MIN, of, 0},
                                      {"max", LLMPROF_MAX, of, 0},
                                      {"std", LLMPROF_STDDEV, of, 0},
                                      {"p9", LLMPROF_PERCENTILE, of, 9},
                                      {"p99.5", LLMPROF_PERCENTILE, of, 99.5}};
  return llmprof_frame_aggregate(frame, keys, count, wanted, q->of ? 9 : 1,
                                 err);
}

static void assert_same_column(llmprof_frame *a, llmprof_frame *b,
                               size_t number) {
  llmprof_error err = {0};
  const llmprof_column *x = llmprof_frame_column(a, number, &err);
  const llmprof_column *y = llmprof_frame_column(b, number, &err);
  if (!x || !y) fail_msg("%s", err.message);
  for (size_t row = 0; row < llmprof_frame_rows(a); row++) {
    if (x->type == LLMPROF_STRING_ID)
      assert_string_equal(llmprof_cell_text(a, x, row, "(none)"),
                          llmprof_cell_text(b, y, row, "(none)"));
    else
      assert_int_equal(llmprof_cell(x, row), llmprof_cell(y, row));
  }
}

static void assert_same_frames(llmprof_frame *a, llmprof_frame *b) {
  assert_int_equal(llmprof_frame_rows(a), llmprof_frame_rows(b));
  assert_int_equal(llmprof_frame_columns(a), llmprof_frame_columns(b));
  for (size_t c = 0; c < llmprof_frame_columns(a); c++)
    assert_same_column(a, b, c);
}

static void check_question(llmprof_trace *plain, llmprof_trace *cached,
                           const question *q) {
  llmprof_error err = {0};
  llmprof_frame *all[2], *chosen[2], *made[2];
  llmprof_trace *traces[2] = {plain, cached};
  for (int i = 0; i < 2; i++) {
    all[i] = llmprof_trace_frame(traces[i], q->frame, &err);
    chosen[i] = all[i] ? choose(all[i], q, &err) : NULL;
    made[i] = chosen[i] ? answer(chosen[i], q, &err) : NULL;
    if (!made[i]) fail_msg("%s: %s", q->frame, err.message);
  }
  assert_same_frames(made[0], made[1]);
  assert_same_frames(chosen[0], chosen[1]);
  for (int i = 0; i < 2; i++) {
    llmprof_frame_free(made[i]);
    llmprof_frame_free(chosen[i]);
    llmprof_frame_free(all[i]);
  }
}

/* Returns whether there were ledgers. */
static bool check_questions(const char *path) {
  llmprof_error err = {0};
  llmprof_trace *plain = llmprof_trace_open(path, &err);
  llmprof_trace *cached = open_cached(path, &err);
  if (!plain || !cached) fail_msg("%s", err.message);
  bool kept = llmprof_trace_has_ledger(cached, "gpu") &&
              llmprof_trace_has_ledger(cached, "api");
  for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
    check_question(plain, cached, &questions[i]);
  llmprof_trace_close(plain);
  llmprof_trace_close(cached);
  return kept;
}

static void test_the_same_answers(void **state) {
  (void)state;
  const char *path = kept_export();
  assert_true(check_questions(path));
  for (unsigned threads = 1; threads <= 4; threads++) {
    llmprof_bound_set(LLMPROF_BOUND_THREADS, threads);
    assert_true(check_questions(path));
  }
  llmprof_bound_set(LLMPROF_BOUND_THREADS, 0);
}

/* A choice within a choice, and its rows. */
static void test_choices(void **state) {
  (void)state;
  static const question first = {"kernels", {NULL}, NULL, {"tag"}, false};
  static const question then = {"kernels", {NULL}, NULL, {"stream"}, true};
  const char *path = kept_export();
  llmprof_error err = {0};
  llmprof_frame *frames[2][3];
  llmprof_trace *traces[2] = {llmprof_trace_open(path, &err),
                              open_cached(path, &err)};
  for (int i = 0; i < 2; i++) {
    frames[i][0] = llmprof_trace_frame(traces[i], "kernels", &err);
    frames[i][1] = choose(frames[i][0], &first, &err);
    frames[i][2] = choose(frames[i][1], &then, &err);
    assert_non_null(frames[i][2]);
  }
  assert_null(llmprof_frame_accounts(frames[0][2]));
  assert_non_null(llmprof_frame_accounts(frames[1][2]));
  assert_in_range(llmprof_frame_rows(frames[1][2]), 1, 799);
  assert_same_frames(frames[0][2], frames[1][2]);
  assert_same_frames(frames[0][1], frames[1][1]);
  for (int i = 0; i < 2; i++) {
    for (int f = 2; f >= 0; f--) llmprof_frame_free(frames[i][f]);
    llmprof_trace_close(traces[i]);
  }
}

/* Another session that keeps more takes them along. */
static void test_kept_again(void **state) {
  (void)state;
  const char *path = kept_export();
  llmprof_error err = {0};
  llmprof_trace *trace = open_cached(path, &err);
  assert_true(llmprof_trace_has_ledger(trace, "gpu"));
  assert_non_null(llmprof_trace_details(trace, &err));
  assert_true(llmprof_trace_ranges(trace, &err) != NULL);
  assert_true(llmprof_cache_save(trace, &err));
  llmprof_trace_close(trace);
  assert_true(check_questions(path));
}

/* Where nearly every row would have an account of its own there is none. */
static void test_too_many_accounts(void **state) {
  (void)state;
  char path[4096];
  llmprof_error err = {0};
  snprintf(path, sizeof path, "%s",
           test_database("few.sqlite",
                         EXPORT_TABLES KERNEL(0, 5, P1, 1) CALL(0, 1, T11, 1)));
  snprintf(folder, sizeof folder, "%s/few", test_folder());
  usleep(120000);
  for (int i = 0; i < 2; i++) assert_true(keep_and_save(path, &err));
  assert_false(check_questions(path));
}

/* ---- damage ---- */

static const char *columns_path(void) {
  static char path[8192];
  llmprof_fs_names names;
  assert_true(llmprof_fs_list(folder, &names, NULL));
  for (size_t i = 0; i < names.count; i++)
    if (strstr(names.items[i], LLMPROF_CACHE_COLUMNS))
      snprintf(path, sizeof path, "%s/%s", folder, names.items[i]);
  llmprof_fs_names_free(&names);
  return path;
}

static void test_any_damage(void **state) {
  (void)state;
  const char *trace = kept_export();
  const char *path = columns_path();
  size_t size;
  unsigned char *bytes = test_read(path, &size);
  for (size_t at = 300; at < size; at += 997) {
    bytes[at] ^= 0x10;
    test_write_over(path, bytes, size);
    bytes[at] ^= 0x10;
    check_questions(trace);
  }
  free(bytes);
}

/* Any array of a ledger full of nonsense, under a checksum that is right. */
static void copy_changed(llmprof_cache_writer *writer,
                         const llmprof_cache_file *from, size_t changed,
                         int with) {
  for (size_t i = 0; i < from->count; i++) {
    const llmprof_cache_entry *entry = &from->entries[i];
    unsigned char *data = malloc(entry->size + 1);
    assert_non_null(data);
    memcpy(data, from->bytes + entry->offset, entry->size);
    if (i == changed) memset(data, with, entry->size);
    assert_true(
        llmprof_cache_writer_put(writer, entry->name, data, entry->size));
    free(data);
  }
}

/* Nothing may fall over; what is said then is nobody's promise. */
static void ask_all(const char *path) {
  llmprof_error err = {0};
  llmprof_trace *trace = open_cached(path, &err);
  assert_non_null(trace);
  for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
    const question *q = &questions[i];
    llmprof_frame *all = llmprof_trace_frame(trace, q->frame, &err);
    llmprof_frame *chosen = all ? choose(all, q, &err) : NULL;
    llmprof_frame *made = chosen ? answer(chosen, q, &err) : NULL;
    for (size_t c = 0; chosen && c < llmprof_frame_columns(chosen); c++)
      llmprof_frame_column(chosen, c, &err);
    llmprof_frame_free(made);
    llmprof_frame_free(chosen);
    llmprof_frame_free(all);
  }
  llmprof_trace_close(trace);
}

static void test_nonsense(void **state) {
  (void)state;
  static const int with[] = {0, 0x7f, 0xff};
  const char *trace = kept_export();
  char path[8192], sound[8300];
  llmprof_cache_key key;
  llmprof_cache_file from;
  llmprof_error err = {0};
  size_t tried = 0;
  snprintf(path, sizeof path, "%s", columns_path());
  snprintf(sound, sizeof sound, "%s-sound", path);
  assert_int_equal(rename(path, sound), 0);
  assert_true(llmprof_cache_key_of(trace, &key));
  assert_true(llmprof_cache_file_open(&from, sound, &key));
  for (size_t i = 0; i < from.count; i++) {
    if (strncmp(from.entries[i].name, "ledger.", 7) != 0) continue;
    for (size_t w = 0; w < sizeof with / sizeof *with; w++, tried++) {
      llmprof_cache_writer writer;
      assert_true(llmprof_cache_writer_open(&writer, path, 1 << 30, &err));
      copy_changed(&writer, &from, i, with[w]);
      assert_true(llmprof_cache_writer_finish(&writer, &key));
      ask_all(trace);
    }
  }
  assert_true(tried > 30);
  llmprof_cache_file_close(&from);
}

/* ---- memory ---- */

static bool ask(void *path, llmprof_error *err) {
  llmprof_trace *trace = open_cached(path, err);
  bool ok = trace != NULL;
  for (size_t i = 0; ok && i < 6; i++) {
    const question *q = &questions[i];
    llmprof_frame *all = llmprof_trace_frame(trace, q->frame, err);
    llmprof_frame *chosen = all ? choose(all, q, err) : NULL;
    llmprof_frame *made = chosen ? answer(chosen, q, err) : NULL;
    ok = made && llmprof_frame_column(chosen, 0, err);
    llmprof_frame_free(made);
    llmprof_frame_free(chosen);
    llmprof_frame_free(all);
  }
  llmprof_trace_close(trace);
  return ok;
}

static void test_without_memory(void **state) {
  (void)state;
  const char *path = kept_export();
  test_every_allocation(ask, (void *)(uintptr_t)path);
  assert_int_equal(unlink(columns_path()), 0);
  test_every_allocation(keep_and_save, (void *)(uintptr_t)path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_same_answers),
      cmocka_unit_test(test_choices),
      cmocka_unit_test(test_kept_again),
      cmocka_unit_test(test_too_many_accounts),
      cmocka_unit_test(test_any_damage),
      cmocka_unit_test(test_nonsense),
      cmocka_unit_test(test_without_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

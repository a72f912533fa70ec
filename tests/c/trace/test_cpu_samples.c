/* Samples of the CPU: out of exports, in stages, as trees; back into exports.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "exports.h"
#include "nsys/nsys_write.h"
#include "trace/trace_events.h"

/* Strings: 1 to 6 functions, 7 a library, 8 what stands for outer frames. */
#define TABLES                                                             \
  EXPORT_TABLES                                                            \
  "CREATE TABLE COMPOSITE_EVENTS (id INTEGER PRIMARY KEY, start INTEGER, " \
  "cpu INTEGER, globalTid INTEGER, cpuCycles INTEGER);"                    \
  "CREATE TABLE SAMPLING_CALLCHAINS (id INTEGER, symbol INTEGER, module "  \
  "INTEGER, unresolved INTEGER, stackDepth INTEGER);"                      \
  "INSERT INTO StringIds VALUES (1, 'main'), (2, 'run'), (3, 'leaf'), "    \
  "(4, 'other'), (5, '0x7f'), (6, '0x80'), (7, '/opt/someone/lib.so'), "   \
  "(8, '[Broken backtraces]'), (9, 'program'), (10, '[Unknown]');"

#define EVENT(id, time, tid) \
  "INSERT INTO COMPOSITE_EVENTS VALUES (" #id ", " #time ", 0, " tid ", 1);"
#define CHAIN(id, depth, symbol, module, unresolved)                       \
  "INSERT INTO SAMPLING_CALLCHAINS VALUES (" #id ", " #symbol ", " #module \
  ", " #unresolved ", " #depth ");"

/* main > run > leaf; main > run > main; a library's functions without names,
 * whose outer frames are missing; nothing at all. */
#define IN_ORDER          \
  EVENT(1, 100, T11)      \
  EVENT(2, 50, T12)       \
  EVENT(3, 150, T11)      \
  EVENT(4, 200, T21)      \
  CHAIN(1, 0, 3, 9, NULL) \
  CHAIN(1, 1, 2, 9, NULL) \
  CHAIN(1, 2, 1, 9, NULL) \
  CHAIN(2, 0, 1, 9, 0)    \
  CHAIN(2, 1, 2, 9, 0)    \
  CHAIN(2, 2, 1, 9, 0)    \
  CHAIN(3, 0, 5, 7, 1)    \
  CHAIN(3, 1, 6, 7, 1) CHAIN(3, 2, 4, 9, NULL) CHAIN(3, 3, 8, 8, NULL)

static const char rows[] = "50|main|program|run|3|100|102|1|0\n"
                           "100|leaf|program|run|3|100|101|1|0\n"
                           "150|[lib.so]|lib.so|other|2|100|101|1|1\n"
                           "200|-|-|-|-|200|201|1|0\n";

static void expect_samples(llmprof_trace *trace, const char *expected) {
  llmprof_frame *frame = test_frame_of(trace, "cpu_samples");
  TEST_ROWS(frame, expected, "time", "name", "module", "caller", "depth", "pid",
            "tid", "weight", "cut");
  llmprof_frame_free(frame);
}

TEST(rows) {
  llmprof_trace *trace = test_trace(TABLES IN_ORDER);
  expect_samples(trace, rows);
  assert_true(llmprof_trace_has(trace, LLMPROF_TABLE_CPU_SAMPLES));
  llmprof_trace_close(trace);
}

/* Rows of a stack that are scattered, or in another order, are the same. */
TEST(scattered) {
  static const char *const inserts[] = {
      TABLES EVENT(1, 100, T11) EVENT(2, 50, T12) CHAIN(1, 0, 3, 9, NULL)
          CHAIN(2, 0, 1, 9, NULL) CHAIN(1, 1, 2, 9, NULL)
              CHAIN(2, 1, 2, 9, NULL) CHAIN(2, 2, 1, 9, NULL)
                  CHAIN(1, 2, 1, 9, NULL),
      TABLES EVENT(2, 50, T12) EVENT(1, 100, T11) CHAIN(1, 2, 1, 9, NULL)
          CHAIN(1, 1, 2, 9, NULL) CHAIN(1, 0, 3, 9, NULL)
              CHAIN(2, 2, 1, 9, NULL) CHAIN(2, 1, 2, 9, NULL)
                  CHAIN(2, 0, 1, 9, NULL),
  };
  for (size_t i = 0; i < 2; i++) {
    llmprof_trace *trace = test_trace(inserts[i]);
    expect_samples(trace, "50|main|program|run|3|100|102|1|0\n"
                          "100|leaf|program|run|3|100|101|1|0\n");
    llmprof_trace_close(trace);
  }
}

/* Stacks of nobody, of no depth, events without a time or twice; no module. */
TEST(damaged) {
  llmprof_trace *trace = test_trace(
      EXPORT_TABLES
      "CREATE TABLE COMPOSITE_EVENTS (id, start, globalTid);"
      "CREATE TABLE SAMPLING_CALLCHAINS (id, symbol, module, stackDepth);"
      "INSERT INTO StringIds VALUES (1, 'main');"
      "INSERT INTO COMPOSITE_EVENTS VALUES (1, 10, NULL), (1, 20, NULL), "
      "(2, NULL, NULL), (NULL, 30, NULL), (3, 5, NULL);"
      "INSERT INTO SAMPLING_CALLCHAINS VALUES (7, 1, 1, 0), (NULL, 1, 1, 0), "
      "(1, 99, NULL, 0), (1, 1, NULL, 1), (3, 1, -5, NULL);");
  expect_samples(trace,
                 "5|main|-|-|1|-|-|1|0\n10|[unknown]|-|main|2|-|-|1|0\n");
  llmprof_trace_close(trace);
  trace = test_trace(EXPORT_TABLES
                     "CREATE TABLE COMPOSITE_EVENTS (id, start);"
                     "CREATE TABLE SAMPLING_CALLCHAINS (id, symbol);"
                     "INSERT INTO COMPOSITE_EVENTS VALUES (1, 10);"
                     "INSERT INTO SAMPLING_CALLCHAINS VALUES (1, 1);");
  expect_samples(trace, "10|-|-|-|-|-|-|1|0\n");
  llmprof_trace_close(trace);
}

/* ---- stages ---- */

TEST(labels) {
  llmprof_trace *trace = test_trace(
      TABLES RANGE(100, 200, T11, "decode") RANGE(120, 130, T11, "step")
          RANGE(150, 400, T12, "prefill") EVENT(1, 99, T11) EVENT(2, 100, T11)
              EVENT(3, 125, T11) EVENT(4, 199, T12) EVENT(5, 200, T11)
                  EVENT(6, 400, T12) EVENT(7, 125, T12) EVENT(8, 150, T21));
  static const llmprof_trace_tag tags[] = {{"decode", NULL},
                                           {"prefill", "context"}};
  llmprof_error err = {0};
  llmprof_frame *frame = test_frame_of(trace, "cpu_samples");
  assert_true(llmprof_trace_label(trace, frame, "stage", tags, 2, &err));
  TEST_ROWS(frame,
            "99|101|-|-|-\n100|101|decode|0|1\n125|101|decode|0|1\n"
            "125|102|decode|0|0\n150|201|-|-|-\n199|102|context|2|1\n"
            "200|101|context|2|0\n400|102|-|-|-\n",
            "time", "tid", "stage", "stage_range", "stage_own");
  static const llmprof_span spans[] = {{"a", 100, 150}, {"b", 150, 200}};
  assert_true(llmprof_trace_label_spans(trace, frame, "part", spans, 2, &err));
  TEST_ROWS(frame, "-\na\na\na\nb\nb\n-\n-\n", "part");
  llmprof_frame_free(frame);
  llmprof_trace_close(trace);
}

/* Ranges that overlap without one being in the other, and some that begin at
 * once: the innermost is what began last and is open. */
TEST(overlapping) {
  llmprof_trace *trace =
      test_trace(TABLES RANGE(10, 100, T11, "a") RANGE(10, 50, T11, "b")
                     RANGE_OF(60, 20, 80, T11, "c", "NULL") EVENT(1, 15, T11)
                         EVENT(2, 30, T11) EVENT(3, 60, T11) EVENT(4, 90, T11));
  static const llmprof_trace_tag tags[] = {
      {"a", NULL}, {"b", NULL}, {"c", NULL}};
  llmprof_error err = {0};
  llmprof_frame *frame = test_frame_of(trace, "cpu_samples");
  assert_true(llmprof_trace_label(trace, frame, "in", tags, 3, &err));
  TEST_ROWS(frame, "b\nc\nc\na\n", "in");
  llmprof_frame_free(frame);
  llmprof_trace_close(trace);
}

/* ---- trees ---- */

/* main > run > leaf 3 times, main > run > main > run twice, other once. */
#define FOREST                                                               \
  TABLES EVENT(1, 1, T11) EVENT(2, 2, T11) EVENT(3, 3, T11) EVENT(4, 4, T11) \
      EVENT(5, 5, T11) EVENT(6, 6, T12) EVENT(7, 7, T12) STACK(1) STACK(2)   \
          STACK(3) RECURSION(4) RECURSION(5) CHAIN(6, 0, 4, 9, NULL)
#define STACK(id)          \
  CHAIN(id, 0, 3, 9, NULL) \
  CHAIN(id, 1, 2, 9, NULL) \
  CHAIN(id, 2, 1, 9, NULL)
#define RECURSION(id)      \
  CHAIN(id, 0, 2, 9, NULL) \
  CHAIN(id, 1, 1, 9, NULL) \
  CHAIN(id, 2, 2, 9, NULL) \
  CHAIN(id, 3, 1, 9, NULL)

static void expect_tree(llmprof_trace *trace, llmprof_frame *frame,
                        int64_t least, size_t most, const char *expected) {
  llmprof_error err = {0};
  llmprof_frame *tree =
      llmprof_trace_stack_tree(trace, frame, least, most, &err);
  assert_non_null(tree);
  TEST_ROWS(tree, expected, "depth", "name", "module", "self", "total");
  llmprof_frame_free(tree);
}

#define UPPER "0|main|program|0|5\n1|run|program|0|5\n"

TEST(tree) {
  llmprof_trace *trace = test_trace(FOREST);
  llmprof_frame *frame = test_frame_of(trace, "cpu_samples");
  expect_tree(trace, frame, 0, SIZE_MAX,
              UPPER "2|leaf|program|3|3\n2|main|program|0|2\n"
                    "3|run|program|2|2\n0|other|program|1|1\n");
  expect_tree(trace, frame, 3, SIZE_MAX, UPPER "2|leaf|program|3|3\n");
  expect_tree(trace, frame, 1, 5,
              UPPER "2|leaf|program|3|3\n2|main|program|0|2\n"
                    "3|run|program|2|2\n");
  expect_tree(trace, frame, 1, 4, UPPER "2|leaf|program|3|3\n");
  expect_tree(trace, frame, 1, 1, "");
  expect_tree(trace, frame, 9, SIZE_MAX, "");
  llmprof_frame_free(frame);
  llmprof_trace_close(trace);
}

TEST(functions) {
  llmprof_error err = {0};
  llmprof_trace *trace = test_trace(FOREST);
  llmprof_frame *frame = test_frame_of(trace, "cpu_samples");
  llmprof_frame *made = llmprof_trace_stack_functions(trace, frame, &err);
  assert_non_null(made);
  TEST_ROWS(made,
            "main|program|0|5\nrun|program|2|5\nleaf|program|3|3\n"
            "other|program|1|1\n",
            "name", "module", "self", "total");
  llmprof_frame_free(made);
  llmprof_frame_free(frame);
  llmprof_trace_close(trace);
}

/* Of some rows only. */
TEST(some_rows) {
  llmprof_error err = {0};
  llmprof_trace *trace = test_trace(FOREST);
  llmprof_frame *frame = test_frame_of(trace, "cpu_samples");
  llmprof_frame *some = llmprof_frame_slice(frame, 2, 3, &err);
  expect_tree(trace, some, 1, SIZE_MAX,
              "0|main|program|0|3\n1|run|program|0|3\n2|main|program|0|2\n"
              "3|run|program|2|2\n2|leaf|program|1|1\n");
  llmprof_frame_free(some);
  llmprof_frame_free(frame);
  llmprof_trace_close(trace);
}

TEST(other_frames) {
  llmprof_error err = {0};
  llmprof_trace *trace = test_trace(FOREST), *other = test_trace(FOREST);
  llmprof_frame *ranges = llmprof_trace_frame(trace, "ranges", &err);
  llmprof_frame *theirs = test_frame_of(other, "cpu_samples");
  assert_null(llmprof_trace_stack_tree(trace, ranges, 1, 9, &err));
  assert_int_equal(err.code, LLMPROF_UNSUPPORTED);
  assert_string_equal(err.message,
                      "only CPU samples and operations of this trace have "
                      "stacks");
  assert_null(llmprof_trace_stack_functions(trace, theirs, &err));
  assert_int_equal(err.code, LLMPROF_UNSUPPORTED);
  llmprof_frame_free(ranges);
  llmprof_frame_free(theirs);
  llmprof_trace_close(trace);
  llmprof_trace_close(other);
}

/* ---- written ---- */

static const char *output(void) {
  static char path[300];
  snprintf(path, sizeof path, "%s/out.sqlite", test_folder());
  return path;
}

TEST(written) {
  llmprof_error err = {0};
  llmprof_trace *trace = test_trace(TABLES IN_ORDER);
  if (!llmprof_nsys_write(trace, output(), "test", "1", NULL, &err))
    fail_msg("%s", err.message);
  llmprof_trace *again = llmprof_trace_open(output(), &err);
  assert_non_null(again);
  expect_samples(again, rows);
  llmprof_trace_close(again);
  llmprof_trace_close(trace);
}

static bool do_all(void *arg, llmprof_error *err) {
  static const llmprof_trace_tag tags[] = {{"decode", NULL}};
  unlink(output());
  llmprof_trace *trace = llmprof_trace_open(arg, err);
  llmprof_frame *frame =
      trace ? llmprof_trace_frame(trace, "cpu_samples", err) : NULL;
  bool ok = frame && llmprof_trace_label(trace, frame, "stage", tags, 1, err);
  llmprof_frame *tree =
      ok ? llmprof_trace_stack_tree(trace, frame, 1, 2, err) : NULL;
  llmprof_frame *functions =
      tree ? llmprof_trace_stack_functions(trace, frame, err) : NULL;
  ok = functions && llmprof_nsys_write(trace, output(), "test", "1", NULL, err);
  llmprof_frame_free(functions);
  llmprof_frame_free(tree);
  llmprof_frame_free(frame);
  llmprof_trace_close(trace);
  return ok;
}

TEST(allocations) {
  const char *path = test_database(
      "few",
      TABLES RANGE(1, 200, T11, "decode") EVENT(1, 100, T11) EVENT(2, 50, T12)
          CHAIN(1, 0, 3, 9, NULL) CHAIN(2, 0, 5, 7, 1) CHAIN(1, 1, 1, 9, NULL));
  test_every_allocation(do_all, (void *)path);
}

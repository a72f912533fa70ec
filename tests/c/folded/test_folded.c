/* Collapsed stacks: how functions are spelled, counts, what is refused. */
#include "export/stacks_file.h"
#include "trace/built_in_readers.h"

#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "os/fs.h"
#include "support.h"
#include "trace/trace_events.h"

static llmprof_trace *open_text(const char *text) {
  llmprof_error err = {0};
  llmprof_trace *trace = llmprof_reader_open(
      &llmprof_folded_reader, test_file("x.folded", text, strlen(text)), &err);
  if (!trace) fail_msg("%s", err.message);
  return trace;
}

/* The tree of all stacks: depth, name, module, self and total. */
static void expect_tree(const char *text, const char *expected) {
  llmprof_error err = {0};
  llmprof_trace *trace = open_text(text);
  llmprof_frame *samples = test_frame_of(trace, "cpu_samples");
  llmprof_frame *tree =
      llmprof_trace_stack_tree(trace, samples, 1, SIZE_MAX, &err);
  assert_non_null(tree);
  TEST_ROWS(tree, expected, "depth", "name", "module", "self", "total");
  llmprof_frame_free(tree);
  llmprof_frame_free(samples);
  llmprof_trace_close(trace);
}

TEST(stacks) {
  expect_tree("main;run;leaf 12\nmain;run 3\r\n\nmain;other 4\nmain;run;leaf 1",
              "0|main|-|0|20\n"
              "1|run|-|3|16\n"
              "2|leaf|-|13|13\n"
              "1|other|-|4|4\n");
  expect_tree(" 7\na 1\n", "0|a|-|1|1\n"); /* py-spy: a thread without Python */
  expect_tree(";a;;b; 2\n", "0|a|-|0|2\n1|b|-|2|2\n");
}

/* Equal sizes stand as they came. */
TEST(order) {
  expect_tree("b 2\na 2\nc 3\n", "0|c|-|3|3\n0|b|-|2|2\n0|a|-|2|2\n");
}

TEST(spellings) {
  expect_tree("spin (work.py:12);spin (work.py:13) 1\n",
              "0|spin|work.py|0|1\n1|spin|work.py|1|1\n");
  expect_tree("f (/home/someone/a b.py:1) 1\n", "0|f|a b.py|1|1\n");
  expect_tree("<module> (torch/nn/modules/linear.py:1) 1\n",
              "0|<module>|torch/nn/modules/linear.py|1|1\n");
  expect_tree("g (<frozen importlib._bootstrap>:1176) 1\n",
              "0|g|<frozen importlib._bootstrap>|1|1\n");
  expect_tree("operator() (std::pair<int, (x)0>)_[k] 1\n",
              "0|operator() (std::pair<int, (x)0>)_[k]|-|1|1\n");
  expect_tree("f(int, char) 1\n", "0|f(int, char)|-|1|1\n");
  expect_tree("/usr/bin/python3.11 1\n", "0|python3.11|-|1|1\n");
  expect_tree("thread (3353): MainThread 1\n",
              "0|thread (3353): MainThread|-|1|1\n");
  expect_tree("process 8:\"python t.py --token=S\";f 1\n",
              "0|process 8|-|0|1\n1|f|-|1|1\n");
  expect_tree("() 1\n", "0|()|-|1|1\n");
  expect_tree("f () 1\n", "0|f ()|-|1|1\n");
}

/* Addresses are of their library, and those that call each other are one. */
TEST(nameless) {
  expect_tree("0x7f (libc.so.6);0x80 (libc.so.6);f;0x1 (libm.so.6);0x2 1\n",
              "0|[libc.so.6]|libc.so.6|0|1\n"
              "1|f|-|0|1\n"
              "2|[libm.so.6]|libm.so.6|0|1\n"
              "3|[unknown]|-|1|1\n");
  expect_tree("0xyz 1\n", "0|0xyz|-|1|1\n");
}

TEST(samples) {
  llmprof_trace *trace = open_text("a;b 2\n 3\n");
  llmprof_frame *frame = test_frame_of(trace, "cpu_samples");
  assert_int_equal(llmprof_frame_rows(frame), 2);
  assert_true(test_cell(frame, "time", 0) == LLMPROF_ABSENT);
  assert_true(test_cell(frame, "tid", 0) == LLMPROF_ABSENT);
  assert_int_equal(test_cell(frame, "weight", 0), 2);
  assert_int_equal(test_cell(frame, "depth", 0), 2);
  assert_int_equal(test_cell(frame, "weight", 1), 3);
  assert_true(test_cell(frame, "stack", 1) == LLMPROF_ABSENT);
  assert_true(llmprof_trace_has(trace, LLMPROF_TABLE_CPU_SAMPLES));
  llmprof_frame_free(frame);
  llmprof_trace_close(trace);
}

/* Of a stack that is too deep the innermost functions stay. */
TEST(depth) {
  llmprof_buffer text = {0};
  for (int i = 0; i < 600; i++) llmprof_buffer_printf(&text, "f%d;", i);
  llmprof_buffer_puts(&text, "leaf 1\n");
  llmprof_trace *trace = open_text(text.bytes);
  llmprof_frame *frame = test_frame_of(trace, "cpu_samples");
  assert_int_equal(test_cell(frame, "depth", 0), 512);
  assert_int_equal(test_cell(frame, "cut", 0), 1);
  assert_string_equal(test_cell_text(frame, "name", 0), "leaf");
  llmprof_buffer_free(&text);
  llmprof_frame_free(frame);
  llmprof_trace_close(trace);
}

/* ---- refusals ---- */

static void refuse(const char *bytes, size_t size, llmprof_code code,
                   const char *rest) {
  llmprof_error err = {0};
  const char *path = test_file("bad.folded", bytes, size);
  assert_null(llmprof_reader_open(&llmprof_folded_reader, path, &err));
  test_error_of(&err, code, path, rest);
}

#define NO_COUNT                                                         \
  ": a collapsed stack ends with a space and how often it was sampled: " \
  "'main;run 12'"

static void refuse_line(const char *line, const char *where) {
  char rest[256];
  snprintf(rest, sizeof rest, "%s" NO_COUNT, where);
  refuse(line, strlen(line), LLMPROF_SYNTAX, rest);
}

TEST(refusals) {
  refuse_line("main\n", ":1");
  refuse_line("a 1\nb 0\n", ":2");
  refuse_line("a 1\n\nb -1", ":3");
  refuse_line("b 1.5\n", ":1");
  refuse_line("b12\n", ":1");
  refuse_line("12\n", ":1");
  refuse_line("a 99999999999999999999\n", ":1");
  refuse_line("{\"traceEvents\": []}\n", ":1");
  refuse("a\0b 1\n", 6, LLMPROF_SYNTAX,
         ":1: a byte 0: these are no collapsed stacks");
  refuse("", 0, LLMPROF_EMPTY, ": no stack in it");
  refuse("\n\n", 2, LLMPROF_EMPTY, ": no stack in it");
  static const char many[] = "a 9223372036854775807\nb 1\n";
  refuse(many, sizeof many - 1, LLMPROF_LIMIT,
         ":2: more samples than can be counted");
  llmprof_error err = {0};
  assert_null(llmprof_reader_open(&llmprof_folded_reader, "/nowhere/x", &err));
  assert_int_equal(err.code, LLMPROF_NOTFOUND);
  assert_null(llmprof_reader_open(&llmprof_folded_reader, test_folder(), &err));
  assert_int_not_equal(err.code, LLMPROF_OK);
}

/* With and without an end. */
TEST(long_lines) {
  size_t size = (2 << 20) + 5;
  char *text = llmprof_alloc(size, 1);
  assert_non_null(text);
  memset(text, 'x', size);
  refuse(text, size, LLMPROF_LIMIT, ":1: a line of more than 1 MiB");
  memcpy(text, "a 1\n", 4);
  memcpy(text + size - 3, " 1\n", 3);
  refuse(text, size, LLMPROF_LIMIT, ":2: a line of more than 1 MiB");
  size = 1 << 20;
  memcpy(text, "x", 1);
  memcpy(text + 1, "xxx", 3);
  memcpy(text + size - 3, " 1\n", 3);
  llmprof_error err = {0};
  llmprof_trace *trace = llmprof_reader_open(
      &llmprof_folded_reader, test_file("long.folded", text, size), &err);
  assert_non_null(trace);
  llmprof_trace_close(trace);
  llmprof_free(text);
}

static void read_prefix(const char *bytes, size_t size) {
  llmprof_error err = {0};
  llmprof_trace *trace = llmprof_reader_open(
      &llmprof_folded_reader, test_file("prefix.folded", bytes, size), &err);
  assert_true(trace || err.code == LLMPROF_SYNTAX || err.code == LLMPROF_EMPTY);
  llmprof_trace_close(trace);
}

TEST(prefixes) {
  static const char text[] = "process 1:\"a b\";f (/x/y.py:1);0x1f (l) 12\n";
  test_every_prefix(text, sizeof text - 1, read_prefix);
}

static bool open_once(void *arg, llmprof_error *err) {
  llmprof_trace *trace = llmprof_reader_open(&llmprof_folded_reader, arg, err);
  llmprof_frame *samples =
      trace ? llmprof_trace_frame(trace, "cpu_samples", err) : NULL;
  llmprof_frame *tree =
      samples ? llmprof_trace_stack_tree(trace, samples, 1, 1, err) : NULL;
  llmprof_frame *functions =
      tree ? llmprof_trace_stack_functions(trace, samples, err) : NULL;
  bool ok = functions != NULL;
  llmprof_frame_free(functions);
  llmprof_frame_free(tree);
  llmprof_frame_free(samples);
  llmprof_trace_close(trace);
  return ok;
}

TEST(allocations) {
  static const char text[] = "main;f (a.py:1);0x1 (l) 1\nmain;g 2\n";
  test_every_allocation(open_once,
                        (void *)test_file("few.folded", text, sizeof text - 1));
}

/* ---- writing ---- */

/* All stacks of a trace, over the file at that path. */
static bool write_all(llmprof_trace *trace, const char *path,
                      llmprof_stacks_counts *written, llmprof_error *err) {
  llmprof_frame *samples = llmprof_trace_frame(trace, "cpu_samples", err);
  bool ok =
      samples && llmprof_stacks_write(trace, samples, path, LLMPROF_FOLDED,
                                      false, written, err);
  llmprof_frame_free(samples);
  return ok;
}

/* What is written is what was read, each stack once. */
TEST(round_trip) {
  llmprof_error err = {0};
  llmprof_stacks_counts written;
  llmprof_trace *trace = open_text(
      "main;run (a.py:3);leaf 12\nmain 3\nmain;run (a.py:9);leaf 2\n;; 4\n");
  const char *path = test_file("again.folded", "", 0);
  assert_true(write_all(trace, path, &written, &err));
  assert_int_equal(written.stacks, 2);
  assert_int_equal(written.weight, 17);
  assert_int_equal(written.without_stack, 4);
  llmprof_buffer text = {0};
  assert_true(llmprof_fs_read(path, SIZE_MAX, &text, &err));
  assert_string_equal(text.bytes, "main 3\nmain;run (a.py);leaf 14\n");
  llmprof_buffer_free(&text);
  llmprof_trace_close(trace);
}

TEST(writing_refused) {
  llmprof_error err = {0};
  llmprof_trace *trace = open_text("main;run 2\n"), *other = open_text("f 1\n");
  llmprof_frame *samples = test_frame_of(other, "cpu_samples");
  const char *path = test_file("kept.folded", "kept 1\n", 7);
  assert_false(llmprof_stacks_write(trace, samples, path, LLMPROF_FOLDED, false,
                                    NULL, &err));
  assert_int_equal(err.code, LLMPROF_UNSUPPORTED);
  llmprof_trace *bare = open_text(";; 3\n");
  assert_false(write_all(bare, path, NULL, &err));
  assert_int_equal(err.code, LLMPROF_EMPTY);
  llmprof_buffer text = {0};
  assert_true(llmprof_fs_read(path, SIZE_MAX, &text, &err));
  assert_string_equal(text.bytes, "kept 1\n");
  llmprof_buffer_free(&text);
  llmprof_trace_close(bare);
  llmprof_frame_free(samples);
  llmprof_trace_close(other);
  llmprof_trace_close(trace);
}

static bool write_once(void *arg, llmprof_error *err) {
  llmprof_trace *trace = llmprof_reader_open(&llmprof_folded_reader, arg, err);
  bool ok = trace && write_all(trace, arg, NULL, err);
  llmprof_trace_close(trace);
  return ok;
}

TEST(writing_allocations) {
  static const char text[] = "main;f (a.py:1) 1\nmain;g 2\n";
  test_every_allocation(write_once,
                        (void *)test_file("two.folded", text, sizeof text - 1));
}

/* Writing an export when memory or disk runs out, and from traces that no
 * export was read for; that what is written is the same trace is tested from
 * Lua. */
#include "llmprof/nsys_write.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "llmprof/readers.h"
#include "llmprof/trace_builder.h"
#include "support.h"

static const char *output(void) {
  static char path[300];
  snprintf(path, sizeof path, "%s/out.sqlite", test_folder());
  return path;
}

static bool write_once(void *arg, llmprof_error *err) {
  unlink(output());
  llmprof_trace *trace = llmprof_trace_open(arg, err);
  bool ok =
      trace && llmprof_nsys_write(trace, output(), "test", "1", NULL, err);
  llmprof_trace_close(trace);
  assert_int_equal(access(output(), F_OK) == 0, ok);
  return ok;
}

static void test_allocations(void **state) {
  (void)state;
  static char path[] = FIXTURES "/small/run.sqlite";
  test_every_allocation(write_once, path);
}

/* ---- a trace that was not read from an export ---- */

static uint32_t text(llmprof_builder *b, const char *bytes) {
  uint32_t string;
  assert_true(llmprof_builder_text(b, bytes, strlen(bytes), &string));
  return string;
}

static void add_copy(llmprof_builder *b, uint32_t place, const char *label,
                     int64_t start) {
  llmprof_op_row row = {.kind = LLMPROF_COPY,
                        .start = start,
                        .end = start + 5,
                        .correlation = LLMPROF_NONE,
                        .place = place,
                        .bytes = 64,
                        .copy_kind = LLMPROF_COPY_UNKNOWN};
  llmprof_error err;
  assert_true(llmprof_builder_op_name(b, LLMPROF_COPY, row.copy_kind, label,
                                      &row.name));
  assert_true(llmprof_builder_add_op(b, &row, &err));
}

/* Processes with ids of the reader's own, one pid twice; copies of a kind that
 * has no number under two names; a range of one, ended on another thread, left
 * open, with a payload that says how much but not to whom. */
static llmprof_trace *build(void) {
  llmprof_error err;
  llmprof_builder *b = llmprof_builder_new("built", &err);
  uint32_t here, there, one, other, place;
  assert_true(llmprof_builder_add_process(b, 7, 50, &here));
  assert_true(llmprof_builder_add_process(b, 8, 50, &there));
  assert_true(llmprof_builder_add_thread(b, 70, 51, here, &one));
  assert_true(llmprof_builder_add_thread(b, 80, 51, there, &other));
  llmprof_builder_name_thread(b, other, text(b, "worker"));
  llmprof_builder_recorded(b, LLMPROF_TABLE_COPIES);
  llmprof_builder_recorded(b, LLMPROF_TABLE_RANGES);
  const llmprof_place at = {there, 3, 1, LLMPROF_NONE};
  assert_true(llmprof_builder_add_place(b, &at, &place));
  add_copy(b, place, "Odd", 10);
  add_copy(b, place, "Odder", 20);
  add_copy(b, place, "Odd", 30);
  llmprof_range_row range = {.start = 1,
                             .end = LLMPROF_ABSENT,
                             .thread = one,
                             .end_thread = LLMPROF_NONE,
                             .text = text(b, "all"),
                             .domain = text(b, "NCCL"),
                             .category = text(b, "group"),
                             .payload = LLMPROF_ABSENT,
                             .payload_float = 2.5,
                             .communicator = LLMPROF_ABSENT,
                             .message = 4096,
                             .style = LLMPROF_START_END};
  assert_true(llmprof_builder_add_range(b, &range, &err));
  range.end = 99;
  range.thread = other;
  range.category = LLMPROF_NO_STRING;
  assert_true(llmprof_builder_add_range(b, &range, &err));
  return llmprof_builder_finish(b, &err);
}

static void assert_text(const llmprof_trace *trace, uint32_t string,
                        const char *wanted) {
  const char *found =
      llmprof_strings_get(llmprof_trace_strings(trace), string, NULL);
  assert_string_equal(found ? found : "(none)", wanted);
}

static void check_copies(llmprof_trace *trace) {
  llmprof_error err;
  size_t count;
  const llmprof_ops *ops = llmprof_trace_ops(trace, &err);
  assert_int_equal(ops->count, 3);
  assert_text(trace, ops->name[0], "[CUDA memcpy Odd]");
  assert_text(trace, ops->name[1], "[CUDA memcpy Odder]");
  assert_int_equal(ops->name[2], ops->name[0]);
  assert_int_equal(ops->copy_kind[1], LLMPROF_COPY_UNKNOWN);
  const llmprof_place *place =
      &llmprof_trace_places(trace, &count)[ops->place[0]];
  assert_int_equal(place->device, 3);
  assert_int_equal(place->stream, LLMPROF_NONE);
  assert_int_equal(llmprof_trace_processes(trace, &count)[place->process].pid,
                   50);
}

static void check_ranges(llmprof_trace *trace) {
  llmprof_error err;
  size_t count;
  const llmprof_ranges *r = llmprof_trace_ranges(trace, &err);
  assert_int_equal(r->count, 2);
  assert_true(r->open[0]);
  assert_int_equal(r->end[0], 99);
  assert_text(trace, r->tag[0], "NCCL:all");
  assert_text(trace, r->category[0], "group");
  assert_int_equal(r->category[1], LLMPROF_NO_STRING);
  assert_int_equal(r->message[0], 4096);
  assert_true(r->communicator[0] == LLMPROF_ABSENT);
  assert_true(r->payload_float[1] == 2.5);
  const llmprof_thread *threads = llmprof_trace_threads(trace, &count);
  assert_int_equal(threads[r->thread[0]].tid, 51);
  assert_int_not_equal(r->thread[0], r->thread[1]);
  assert_text(trace, threads[r->thread[1]].name, "worker");
  llmprof_trace_processes(trace, &count);
  assert_int_equal(count, 2);
  llmprof_trace_processes(trace, &count);
  assert_int_equal(count, 2);
}

static void test_built(void **state) {
  (void)state;
  llmprof_error err = {0};
  llmprof_trace *trace = build();
  llmprof_nsys_counts counts;
  unlink(output());
  if (!llmprof_nsys_write(trace, output(), "test", "1", &counts, &err))
    fail_msg("%s", err.message);
  llmprof_trace_close(trace);
  assert_int_equal(counts.operations, 3);
  assert_int_equal(counts.ranges, 2);
  trace = llmprof_trace_open(output(), &err);
  check_copies(trace);
  check_ranges(trace);
  llmprof_trace_close(trace);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_built),
      cmocka_unit_test(test_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

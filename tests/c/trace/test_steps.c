/* Ranges as the GPU ran them: which operations are a step's, and when the GPU
 * could begin it. */

#include <string.h>

#include "base/buffer.h"
#include "timelines.h"

/* "RANGE: launched, start-end, begin BEGIN, length, OPERATIONS/KERNELS". */
static void describe(llmprof_frame *steps, llmprof_buffer *out) {
  for (size_t i = 0; i < llmprof_frame_rows(steps); i++) {
    llmprof_buffer_printf(
        out, "%s%d: %d, %d-%d, begin %d, %d, %d/%d", i ? "; " : "",
        (int)test_cell(steps, "range", i), (int)test_cell(steps, "launched", i),
        (int)test_cell(steps, "start", i), (int)test_cell(steps, "end", i),
        (int)test_cell(steps, "begin", i), (int)test_cell(steps, "length", i),
        (int)test_cell(steps, "operations", i),
        (int)test_cell(steps, "kernels", i));
  }
}

static llmprof_frame *steps_of(llmprof_trace *trace, const char *tag) {
  llmprof_error err = {0};
  llmprof_frame *steps =
      llmprof_trace_steps(trace, &(llmprof_trace_tag){tag, NULL}, 1, &err);
  if (!steps) fail_msg("%s", err.message);
  return steps;
}

static void expect(const char *lines, const char *expected) {
  llmprof_trace *trace = test_timeline(lines);
  llmprof_frame *steps = steps_of(trace, "step");
  llmprof_buffer got = {0};
  llmprof_buffer_puts(&got, "");
  describe(steps, &got);
  assert_false(got.failed);
  assert_string_equal(got.bytes, expected);
  llmprof_buffer_free(&got);
  llmprof_frame_free(steps);
  llmprof_trace_close(trace);
}

/* The CPU is done by 30; the GPU runs the steps until 360. */
#define QUEUED                                                            \
  TIMELINE RANGE(0, 10, T11, "step") RANGE(10, 20, T11, "step")           \
      RANGE(20, 30, T11, "step") CALL(1, 2, T11, 1) CALL(3, 4, T11, 2)    \
          CALL(11, 12, T11, 3) CALL(21, 22, T11, 4) KERNEL(50, 90, P1, 1) \
              KERNEL(95, 150, P1, 2) KERNEL(160, 250, P1, 3)              \
                  KERNEL(255, 360, P1, 4)

TEST(a_queue) {
  expect(QUEUED, "0: 1, 50-150, begin 50, 100, 2/2; "
                 "1: 11, 160-250, begin 150, 100, 1/1; "
                 "2: 21, 255-360, begin 250, 110, 1/1");
}

/* Each step is asked for when the one before it is done. */
TEST(an_idle_queue) {
  expect(TIMELINE RANGE(0, 100, T11, "step") RANGE(100, 200, T11, "step")
             CALL(10, 11, T11, 1) CALL(110, 111, T11, 2) KERNEL(20, 90, P1, 1)
                 KERNEL(120, 190, P1, 2),
         "0: 10, 20-90, begin 20, 70, 1/1; "
         "1: 110, 120-190, begin 120, 70, 1/1");
}

/* Asked for in the very moment in which the step before it ends. */
TEST(the_edge) {
  expect(TIMELINE RANGE(0, 100, T11, "step") RANGE(100, 200, T11, "step")
             CALL(10, 11, T11, 1) CALL(110, 111, T11, 2) KERNEL(20, 110, P1, 1)
                 KERNEL(120, 190, P1, 2),
         "0: 10, 20-110, begin 20, 90, 1/1; "
         "1: 110, 120-190, begin 110, 80, 1/1");
}

/* What is in no step keeps the GPU, too, unless it runs beside the step. */
TEST(what_is_in_no_step) {
  expect(TIMELINE RANGE(10, 20, T11, "step") RANGE(20, 30, T11, "step")
             CALL(1, 2, T11, 1) CALL(11, 12, T11, 2) CALL(13, 14, T11, 3)
                 CALL(21, 22, T11, 4) KERNEL(40, 90, P1, 1)
                     KERNEL(95, 150, P1, 2) KERNEL(155, 170, P1, 9)
                         KERNEL(145, 400, P1, 8) KERNEL(180, 190, P1, 4)
                             KERNEL(50, 60, P2, 9),
         "0: 11, 95-150, begin 90, 60, 1/1; 1: 21, 180-190, begin 170, 20, "
         "1/1");
}

/* On another stream a step may run within the one before it. */
TEST(a_step_inside_another) {
  expect(TIMELINE RANGE(0, 10, T11, "step") RANGE(10, 20, T11, "step")
             RANGE(20, 30, T11, "step") CALL(1, 2, T11, 1) CALL(11, 12, T11, 2)
                 CALL(21, 22, T11, 3) KERNEL(50, 150, P1, 1)
                     KERNEL(60, 80, P1, 2) KERNEL(140, 200, P1, 3),
         "0: 1, 50-150, begin 50, 100, 1/1; "
         "1: 11, 60-80, begin 60, 20, 1/1; "
         "2: 21, 140-200, begin 150, 50, 1/1");
}

/* The innermost range has the operation, and one without any is no row. */
TEST(ranges_inside_others) {
  expect(TIMELINE RANGE(0, 100, T11, "step") RANGE(10, 40, T11, "step")
             RANGE(50, 60, T11, "step") RANGE(15, 35, T11, "layer")
                 CALL(20, 21, T11, 1) CALL(70, 71, T11, 2) KERNEL(30, 35, P1, 1)
                     KERNEL(80, 90, P1, 2),
         "1: 20, 30-35, begin 30, 5, 1/1; 0: 70, 80-90, begin 80, 10, 1/1");
}

#define ON_DEVICE(start, end, device, pid, correlation)       \
  "kernel " #start " " #end " pid=" pid " call=" #correlation \
  " device=" #device "\n"

/* A step that runs on two devices is a row on each, with its own neighbours. */
TEST(devices_and_processes) {
  expect(TIMELINE RANGE(0, 10, T11, "step") RANGE(10, 20, T11, "step")
             RANGE(0, 10, T21, "step") CALL(1, 2, T11, 1) CALL(3, 4, T11, 2)
                 CALL(11, 12, T11, 3) CALL(13, 14, T11, 4) CALL(1, 2, T21, 1)
                     ON_DEVICE(50, 90, 0, P1, 1) ON_DEVICE(60, 100, 1, P1, 2)
                         ON_DEVICE(110, 120, 0, P1, 3)
                             ON_DEVICE(130, 140, 1, P1, 4)
                                 ON_DEVICE(105, 200, 0, P2, 1),
         "0: 1, 50-90, begin 50, 40, 1/1; 1: 11, 110-120, begin 90, 30, 1/1; "
         "0: 3, 60-100, begin 60, 40, 1/1; 1: 13, 130-140, begin 100, 40, 1/1; "
         "2: 1, 105-200, begin 105, 95, 1/1");
}

/* All nodes of a graph, and a graph that was traced as one operation. */
TEST(graphs) {
  expect(TIMELINE RANGE(0, 10, T11, "step") RANGE(10, 20, T11, "step")
             CALL(1, 2, T11, 1) CALL(11, 12, T11, 2) KERNEL(50, 60, P1, 1)
                 KERNEL(60, 90, P1, 1) "graph 100 160 pid=" P1 " call=2\n",
         "0: 1, 50-90, begin 50, 40, 2/2; 1: 11, 100-160, begin 90, 70, 1/0");
}

TEST(what_lacks_times) {
  expect(TIMELINE RANGE(0, 10, T11, "step") CALL(1, 2, T11, 1)
             CALL(3, 4, T11, 2) KERNEL(50, -, P1, 1) KERNEL(60, 70, P1, 2),
         "0: 3, 60-70, begin 60, 10, 1/1");
  expect(TIMELINE, "");
}

/* The columns that come from the range. */
TEST(the_range) {
  llmprof_trace *trace = test_timeline(QUEUED);
  llmprof_frame *steps = steps_of(trace, "step");
  assert_int_equal(test_cell(steps, "host_start", 1), 10);
  assert_int_equal(test_cell(steps, "host_end", 1), 20);
  assert_int_equal(test_cell(steps, "host", 1), 10);
  assert_int_equal(test_cell(steps, "pid", 1), 100);
  assert_int_equal(test_cell(steps, "tid", 1), 101);
  assert_int_equal(test_cell(steps, "device", 1), 0);
  assert_int_equal(test_cell(steps, "before", 1), 150);
  assert_int_equal(test_cell(steps, "before", 0), INT64_MIN);
  assert_string_equal(llmprof_strings_get(llmprof_frame_strings(steps),
                                          (uint32_t)test_cell(steps, "tag", 1),
                                          NULL),
                      "step");
  llmprof_frame_free(steps);
  steps = steps_of(trace, "no such range");
  assert_int_equal(llmprof_frame_rows(steps), 0);
  llmprof_frame_free(steps);
  llmprof_trace_close(trace);
}

static bool load_steps(void *path, llmprof_error *err) {
  llmprof_trace_tag tag = {"step", NULL};
  llmprof_trace *trace = llmprof_trace_open(path, err);
  llmprof_frame *steps =
      trace ? llmprof_trace_steps(trace, &tag, 1, err) : NULL;
  bool ok = steps != NULL;
  llmprof_frame_free(steps);
  llmprof_trace_close(trace);
  return ok;
}

TEST(allocations) {
  const char *path = test_file("queued", QUEUED, strlen(QUEUED));
  test_every_allocation(load_steps, (void *)(uintptr_t)path);
}

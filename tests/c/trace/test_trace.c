/* Exports into frames: every column, what is missing, what is broken. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "exports.h"
#include "read_export.h"
#include "trace/trace_events.h"

static void expect_rows(llmprof_trace *trace, const char *name,
                        const char *const *names, size_t count,
                        const char *expected) {
  llmprof_frame *frame = test_frame_of(trace, name);
  test_expect_rows(frame, expected, names, count);
  llmprof_frame_free(frame);
}

#define EXPECT(trace, frame, expected, ...)                     \
  expect_rows(trace, frame, (const char *const[]){__VA_ARGS__}, \
              sizeof((const char *const[]){__VA_ARGS__}) /      \
                  sizeof(const char *),                         \
              expected)

static llmprof_trace *open_export(void) {
  llmprof_error err = {0};
  llmprof_trace *trace = llmprof_trace_open(test_export(), &err);
  if (!trace) fail_msg("%s", err.message);
  return trace;
}

/* ---- what is in the export ---- */

TEST(about_the_export) {
  llmprof_trace *trace = open_export();
  assert_string_equal(llmprof_trace_path(trace), test_export());
  assert_string_equal(llmprof_trace_schema(trace), "3.20.3");
  assert_string_equal(llmprof_trace_product(trace), "2025.3.2.0");
  assert_true(llmprof_trace_epoch(trace) == INT64_C(1700000000000000000));
  size_t count;
  const llmprof_process *processes = llmprof_trace_processes(trace, &count);
  assert_int_equal(count, 2);
  assert_int_equal(processes[0].pid, 100);
  assert_string_equal(test_string_of(trace, processes[0].name), "python3");
  assert_int_equal(processes[1].pid, 200);
  assert_string_equal(test_string_of(trace, processes[1].name), "(none)");
  const llmprof_thread *threads = llmprof_trace_threads(trace, &count);
  assert_int_equal(count, 1);
  assert_int_equal(threads[0].tid, 102);
  assert_int_equal(threads[0].process, 0);
  assert_string_equal(test_string_of(trace, threads[0].name), "worker");
  llmprof_trace_close(trace);
}

TEST(devices) {
  llmprof_trace *trace = open_export();
  size_t count;
  const llmprof_device *d = llmprof_trace_devices(trace, &count);
  assert_int_equal(count, 2);
  assert_int_equal(d[0].id, 0);
  assert_string_equal(test_string_of(trace, d[0].name), "NVIDIA H200");
  assert_string_equal(test_string_of(trace, d[0].chip), "GH100");
  assert_string_equal(test_string_of(trace, d[0].uuid), "GPU-0");
  assert_string_equal(test_string_of(trace, d[0].bus), "0000:41:00.0");
  assert_true(d[0].memory == INT64_C(150109880320));
  assert_true(d[0].bandwidth == INT64_C(4814304000000));
  assert_int_equal(d[0].clock, 1980000000);
  assert_int_equal(d[0].sm_count, 132);
  assert_int_equal(d[0].l2_size, 62914560);
  assert_int_equal(d[0].compute_major, 9);
  assert_int_equal(d[0].compute_minor, 0);
  assert_int_equal(d[1].id, 1);
  assert_int_equal(d[1].name, LLMPROF_NO_STRING);
  assert_true(d[1].memory == LLMPROF_ABSENT);
  assert_true(d[1].compute_minor == LLMPROF_ABSENT);
  llmprof_trace_close(trace);
}

/* In order of their ids, the first of each, in no time however many. */
TEST(many_devices) {
  enum {
    DEVICES = 40000
  };
  llmprof_error err = {0};
  llmprof_builder *builder = llmprof_builder_new("many", &err);
  for (int64_t i = 0; i < 2 * DEVICES; i++) {
    const llmprof_device device = {.id = DEVICES - i % DEVICES, .clock = i};
    assert_true(llmprof_builder_add_device(builder, &device));
  }
  llmprof_trace *trace = llmprof_builder_finish(builder, &err);
  size_t count;
  const llmprof_device *devices = llmprof_trace_devices(trace, &count);
  assert_int_equal(count, DEVICES);
  for (int i = 0; i < DEVICES; i++) {
    assert_int_equal(devices[i].id, i + 1);
    assert_int_equal(devices[i].clock, DEVICES - 1 - i);
  }
  llmprof_trace_close(trace);
}

TEST(kernels) {
  llmprof_trace *trace = open_export();
  EXPECT(trace, "kernels",
         "0|gemm(float *, int)|gemm|_Z4gemmPfi|120|150|30|0|1|7|100|11|-\n"
         "1|gemm(float *, int)|gemm|-|160|190|30|0|1|7|100|13|77\n"
         "2|gemm(float *, int)|gemm|_Z4gemmPfi|200|260|60|1|2|13|200|11|-\n",
         "op", "name", "short_name", "mangled_name", "start", "end", "duration",
         "device", "context", "stream", "pid", "correlation", "graph_node");
  EXPECT(trace, "kernels",
         "16|2|1|256|4|3|32|1024|2048\n"
         "8|1|1|128|1|1|40|0|0\n"
         "16|2|1|256|4|3|32|1024|2048\n",
         "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z",
         "registers", "static_shared", "dynamic_shared");
  size_t count;
  llmprof_trace_rows(trace, LLMPROF_SHAPES, &count);
  assert_int_equal(count, 2);
  llmprof_trace_close(trace);
}

/* The second kernel started before its call returned, and on thread 102 no
 * range encloses the call. */
TEST(launches) {
  llmprof_trace *trace = open_export();
  EXPECT(trace, "kernels",
         "0|cudaLaunchKernel_v7000|100|110|10|10|20|50|100|101|1|"
         "attention:decode\n"
         "2|cudaGraphLaunch_v10000|125|170|45|-|35|65|100|102|2|open\n"
         "3|cudaLaunchKernel_v7000|105|111|6|89|95|155|200|201|-|-\n",
         "call", "api", "api_start", "api_end", "api_time", "queue_time",
         "delay", "launch_time", "launch_pid", "launch_tid", "range", "tag");
  llmprof_trace_close(trace);
}

/* Labels of copies are the export's own where it has them. */
TEST(transfers_and_graphs) {
  llmprof_trace *trace = open_export();
  EXPECT(trace, "transfers",
         "3|copy|[CUDA memcpy Host-to-Device (its label)]|4096\n"
         "4|copy|[CUDA memcpy Device-to-Host]|16\n"
         "5|copy|[CUDA memcpy Unknown]|1\n"
         "6|copy|[CUDA memcpy Peer-to-Peer]|8\n"
         "7|set|[CUDA memset]|512\n",
         "op", "kind", "name", "bytes");
  EXPECT(trace, "graphs", "8|graph|[CUDA graph]|50|-|-|10\n", "op", "kind",
         "name", "duration", "bytes", "tag", "queue_time");
  EXPECT(trace, "gpu",
         "kernel\nkernel\nkernel\ncopy\ncopy\ncopy\ncopy\nset\ngraph\n",
         "kind");
  llmprof_trace_close(trace);
}

TEST(calls) {
  llmprof_trace *trace = open_export();
  EXPECT(trace, "api",
         "cudaLaunchKernel_v7000|100|110|10|100|101|11\n"
         "cudaMemcpyAsync_v3020|112|118|6|100|101|12\n"
         "cudaGraphLaunch_v10000|125|170|45|100|102|13\n"
         "cudaLaunchKernel_v7000|105|111|6|200|201|11\n"
         "cudaGraphLaunch_v10000|380|390|10|100|101|18\n",
         "name", "start", "end", "duration", "pid", "tid", "correlation");
  llmprof_trace_close(trace);
}

/* What is known of the launches of operations. */
static void expect_in_launches(llmprof_trace *trace, const char *part) {
  static const char *const names[] = {"duration",   "api",         "api_time",
                                      "queue_time", "launch_time", "delay",
                                      "launch_pid", "launch_tid"};
  llmprof_buffer text = {0};
  llmprof_frame *frame = test_frame_of(trace, "gpu");
  test_put_rows(&text, frame, names, sizeof names / sizeof *names);
  llmprof_frame_free(frame);
  assert_non_null(strstr(text.bytes, part));
  llmprof_buffer_free(&text);
  llmprof_trace_close(trace);
}

/* Times that lie too far apart for 32 bits, and a call that seems late. */
TEST(far_launches) {
#define NEAR EXPORT_TABLES CALL(1, 3, T11, 1) KERNEL(10, 20, P1, 1)
  static const char *const far[][2] = {
      {NEAR CALL(30, 31, T11, 2) KERNEL(29, 40, P1, 2), "-1|"},
      {NEAR CALL(4, 5, T11, 2) KERNEL(5000000000, 5000000007, P1, 2),
       "4999999996|"},
      {NEAR CALL(4, 5000000004, T11, 2) KERNEL(20, 27, P1, 2), "5000000000|"},
      {NEAR CALL(5000000004, 5000000009, T11, 2) KERNEL(20, 27, P1, 2),
       "-4999999984|"},
      {NEAR CALL(4, 5, T11, 2) KERNEL(20, 5000000020, P1, 2), "5000000000|"},
      {NEAR CALL(4, NULL, T11, 2) KERNEL(20, 27, P1, 2), "|-|"},
      {NEAR CALL(4, 5, T11, 2) KERNEL(NULL, 27, P1, 2), "|-|"},
  };
  for (size_t i = 0; i < sizeof far / sizeof *far; i++)
    expect_in_launches(test_trace(far[i][0]), far[i][1]);
}

/* Domains and categories are named after the ranges that use them; of two
 * names the first counts; category 8 has none. */
TEST(ranges) {
  llmprof_trace *trace = open_export();
  EXPECT(trace, "ranges",
         "0|prefill|prefill|:prefill|-|-|90|200|0|-5|0\n"
         "1|decode|attention:decode|attention:decode|attention|math|95|111|0|9|"
         "0\n"
         "2|open|open|:open|-|io|120|600|1|-|1\n"
         "3|moved|moved|:moved|-|-|130|500|1|-|0\n"
         "4|-|-|-|attention|math|140|145|0|-|0\n",
         "range", "text", "tag", "colon_tag", "domain", "category", "start",
         "end", "style", "payload", "open");
  EXPECT(trace, "ranges",
         "100|101|110|0|-\n100|101|16|1|0\n100|102|480|0|-\n"
         "100|102|370|-|-\n100|102|5|1|2\n",
         "pid", "tid", "duration", "level", "parent");
  const llmprof_ranges *ranges = llmprof_trace_ranges(trace, NULL);
  assert_true(isnan(llmprof_real_of(ranges->payload_float, 0)));
  assert_true(llmprof_real_of(ranges->payload_float, 2) == 0.5);
  assert_true(llmprof_real_of(ranges->payload_float, 3) == 1.5);
  assert_int_equal(llmprof_id_at(ranges->end_thread, 2), LLMPROF_NONE);
  assert_int_not_equal(llmprof_id_at(ranges->end_thread, 3), LLMPROF_NONE);
  llmprof_trace_close(trace);
}

TEST(projections_and_pairs) {
  llmprof_trace *trace = open_export();
  EXPECT(trace, "projections",
         "0|prefill|:prefill|0|120|310|190|110|2|1|0|100|101\n"
         "1|attention:decode|attention:decode|0|120|150|30|16|1|0|1|100|101\n"
         "2|open|:open|1|160|190|30|480|1|0|0|100|102\n",
         "range", "tag", "colon_tag", "style", "start", "end", "duration",
         "range_duration", "operations", "children", "level", "pid", "tid");
  EXPECT(trace, "kernel_ranges",
         "0|1|attention:decode|attention:decode|0|100|101|30\n"
         "0|0|prefill|:prefill|0|100|101|30\n"
         "1|2|open|:open|1|100|102|30\n"
         "2|-|-|-|-|200|201|60\n",
         "kernel", "range", "tag", "colon_tag", "style", "pid", "tid",
         "duration");
  llmprof_trace_close(trace);
}

/* ---- labels ---- */

static void expect_no_label(llmprof_trace *trace, llmprof_frame *frame,
                            const char *name, const char *message) {
  llmprof_error err = {0};
  assert_false(llmprof_trace_label(trace, frame, name, NULL, 0, &err));
  assert_int_equal(err.code, LLMPROF_UNSUPPORTED);
  assert_string_equal(err.message, message);
}

TEST(labels) {
  static const llmprof_trace_tag stages[] = {
      {"prefill", NULL}, {"open", NULL}, {"never", NULL}};
  static const llmprof_trace_tag both[] = {
      {"prefill", NULL}, {"attention:decode", "decode"}, {"never", "x"}};
  llmprof_error err = {0};
  llmprof_trace *trace = open_export();
  llmprof_frame *frame = test_frame_of(trace, "gpu");
  assert_true(llmprof_trace_label(trace, frame, "stage", stages, 3, &err));
  assert_true(llmprof_trace_label(trace, frame, "part", both, 3, &err));
  assert_true(llmprof_trace_label(trace, frame, "none", NULL, 0, &err));
  TEST_ROWS(frame,
            "prefill|0|decode|1|-\nopen|2|-|-|-\n-|-|-|-|-\n"
            "prefill|0|prefill|0|-\n-|-|-|-|-\n-|-|-|-|-\n-|-|-|-|-\n"
            "-|-|-|-|-\n-|-|-|-|-\n",
            "stage", "stage_range", "part", "part_range", "none");
  expect_no_label(trace, frame, "stage",
                  "the frame has a column 'stage' or 'stage_range' already");
  expect_no_label(trace, frame, "op",
                  "the frame has a column 'op' or 'op_range' already");
  llmprof_trace *other = open_export();
  expect_no_label(other, frame, "x", "the frame belongs to another trace");
  llmprof_trace_close(other);
  llmprof_frame_free(frame);
  frame = test_frame_of(trace, "api");
  expect_no_label(trace, frame, "x",
                  "only frames of GPU operations, of ranges or of CPU samples "
                  "can be labelled");
  llmprof_frame_free(frame);
  llmprof_trace_close(trace);
}

TEST(long_label) {
  char name[301];
  memset(name, 'x', 300);
  name[300] = '\0';
  llmprof_error err = {0};
  llmprof_trace *trace = open_export();
  llmprof_frame *frame = test_frame_of(trace, "kernels");
  assert_true(llmprof_trace_label(trace, frame, name, NULL, 0, &err));
  const llmprof_column *last =
      llmprof_frame_peek(frame, llmprof_frame_columns(frame) - 1);
  assert_int_equal(strlen(last->name), 306);
  assert_string_equal(last->name + 300, "_range");
  llmprof_frame_free(frame);
  llmprof_trace_close(trace);
}

/* ---- what is not in the export ---- */

TEST(frame_names) {
  static const char *const names[] = {
      "kernels", "transfers",   "graphs",        "gpu",     "api",
      "ranges",  "projections", "kernel_ranges", "samples", "cpu_samples",
  };
  for (size_t i = 0; i < 10; i++)
    assert_string_equal(llmprof_trace_frame_name(i), names[i]);
  assert_null(llmprof_trace_frame_name(10));
  llmprof_error err = {0};
  llmprof_trace *trace = open_export();
  assert_null(llmprof_trace_frame(trace, "kernel", &err));
  assert_int_equal(err.code, LLMPROF_NOTFOUND);
  assert_string_equal(err.message, "no frame 'kernel'");
  llmprof_trace_close(trace);
}

/* Two GPUs, whose samples are told by their ends, in whatever order they lie:
 * the first of each begins nobody knows when. What is not known by its name is
 * passed over. */
TEST(samples) {
  llmprof_trace *trace = test_trace(
      EXPORT_TABLES
      "CREATE TABLE TARGET_INFO_GPU_METRICS (typeId, metricId, metricName);"
      "INSERT INTO TARGET_INFO_GPU_METRICS VALUES"
      " (256, 4, 'SMs Active [Throughput %]'), (257, 4, 'SMs Active'),"
      " (256, 5, 'SMs Activeness'), (256, 6, 'Tensor Active'), (256, 7, NULL);"
      "CREATE TABLE GPU_METRICS (timestamp, typeId, metricId, value);"
      "INSERT INTO GPU_METRICS VALUES (100, 256, 4, 1), (100, 256, 6, 1),"
      " (100, 257, 4, 2), (200, 256, 4, 50), (200, 256, 5, 9),"
      " (200, 256, 6, 2.5), (200, 257, 4, 7), (300, 256, 4, NULL),"
      " (400, 256, 6, 4), (NULL, 256, 4, 1), (390, 256, 4, 3),"
      " (500, 999, 4, 1);");
  EXPECT(trace, "samples",
         "0|100|200|100\n1|100|200|100\n0|300|390|90\n0|390|400|10\n", "device",
         "start", "end", "duration");
  llmprof_error err;
  const llmprof_samples *samples = llmprof_trace_samples(trace, &err);
  assert_true(llmprof_real_of(samples->values[LLMPROF_SAMPLED_SM], 0) == 50);
  assert_true(llmprof_real_of(samples->values[LLMPROF_SAMPLED_TENSOR], 0) ==
              2.5);
  assert_true(
      isnan(llmprof_real_of(samples->values[LLMPROF_SAMPLED_TENSOR], 1)));
  assert_true(llmprof_real_of(samples->values[LLMPROF_SAMPLED_SM], 2) == 3);
  assert_true(llmprof_real_of(samples->values[LLMPROF_SAMPLED_TENSOR], 3) == 4);
  assert_true(isnan(llmprof_real_of(samples->values[LLMPROF_SAMPLED_GPU], 0)));
  assert_true(llmprof_trace_has(trace, LLMPROF_TABLE_SAMPLES));
  llmprof_trace_close(trace);
}

TEST(missing_tables) {
  llmprof_trace *trace = test_trace("CREATE TABLE StringIds (id, value)");
  assert_null(llmprof_trace_schema(trace));
  assert_null(llmprof_trace_product(trace));
  assert_true(llmprof_trace_epoch(trace) == LLMPROF_ABSENT);
  size_t count = 1;
  llmprof_trace_devices(trace, &count);
  assert_int_equal(count, 0);
  const char *name;
  for (size_t i = 0; (name = llmprof_trace_frame_name(i)); i++)
    EXPECT(trace, name, "", strcmp(name, "samples") ? "pid" : "device");
  for (int table = 0; table < LLMPROF_TABLES; table++)
    assert_false(llmprof_trace_has(trace, (llmprof_trace_table)table));
  llmprof_trace_close(trace);
}

/* Empty tables are there, which lacking ones are not. */
TEST(empty_tables) {
  llmprof_trace *trace = test_trace(EXPORT_TABLES);
  assert_non_null(llmprof_trace_attribution(trace, NULL));
  assert_true(llmprof_trace_has(trace, LLMPROF_TABLE_KERNELS));
  assert_false(llmprof_trace_has(trace, LLMPROF_TABLE_COPIES));
  assert_false(llmprof_trace_has(trace, LLMPROF_TABLE_SETS));
  assert_false(llmprof_trace_has(trace, LLMPROF_TABLE_GRAPHS));
  assert_true(llmprof_trace_has(trace, LLMPROF_TABLE_CALLS));
  assert_true(llmprof_trace_has(trace, LLMPROF_TABLE_RANGES));
  EXPECT(trace, "gpu", "", "name");
  EXPECT(trace, "projections", "", "tag");
  llmprof_trace_close(trace);
}

/* A column that is missing is absent in every row, and never 0. */
TEST(missing_columns) {
  llmprof_trace *trace = test_trace(
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (5, 9);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (end INTEGER);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (3);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1);"
      "CREATE TABLE NVTX_EVENTS (start INTEGER, eventType INTEGER);"
      "INSERT INTO NVTX_EVENTS VALUES (7, 59), (8, 60);");
  EXPECT(trace, "kernels", "4|-|-|-|-|-|-|-|-|-|-|-|-\n", "duration", "name",
         "short_name", "mangled_name", "device", "stream", "pid", "correlation",
         "grid_x", "registers", "dynamic_shared", "graph_node", "api_time");
  EXPECT(trace, "transfers", "", "name"); /* without a start */
  EXPECT(trace, "api", "", "start");      /* without an end */
  assert_int_equal(llmprof_trace_timeless(trace, LLMPROF_TABLE_COPIES), 1);
  assert_int_equal(llmprof_trace_timeless(trace, LLMPROF_TABLE_CALLS), 1);
  assert_int_equal(llmprof_trace_timeless(trace, LLMPROF_TABLE_KERNELS), 0);
  EXPECT(trace, "ranges", "7|8|1|0|-|-|-\n8|8|0|1|-|-|-\n", "start", "end",
         "duration", "style", "tag", "pid", "level");
  EXPECT(trace, "kernel_ranges", "0|-|-\n", "kernel", "range", "tid");
  llmprof_trace_close(trace);
}

/* Operations that say no process are those of the one that calls; of several
 * nobody knows whose they are. */
TEST(no_process) {
  static const char tables[] =
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, "
      "correlationId INTEGER);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, "
      "globalTid INTEGER, correlationId INTEGER);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (20, 30, 1), (40, 50, 2);";
  for (int several = 0; several <= 1; several++) {
    char sql[2048];
    snprintf(sql, sizeof sql,
             "%sINSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 5, %s, 1), "
             "(6, 9, %s, 2);",
             tables, T11, several ? T21 : T11);
    llmprof_trace *trace = test_trace(sql);
    EXPECT(trace, "kernels", several ? "-|-\n-|-\n" : "100|1\n100|6\n", "pid",
           "api_start");
    assert_int_equal(llmprof_trace_knows(trace, LLMPROF_KNOWS_CALLS, NULL),
                     !several);
    llmprof_trace_close(trace);
  }
}

/* Ids beyond 32 bits and texts for numbers; what has no time, or times too far
 * apart, is left out. */
TEST(odd_values) {
  llmprof_trace *trace = test_trace(
      EXPORT_TABLES
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES "
      "(-9223372036854775807, 9223372036854775807, -1, 4294967296, -1, -5),"
      "(1, 2, 4294967294, 4294967294, 0, 0), (NULL, 2, 4294967295, 'x', 'y', "
      "'z');");
  EXPECT(trace, "kernels", "1|4294967294|4294967294|0|-\n", "duration",
         "device", "correlation", "pid", "name");
  llmprof_trace_close(trace);
}

/* Names end up in JSON and in arguments of ncu. */
TEST(unsound_names) {
  llmprof_trace *trace = test_trace(
      EXPORT_TABLES
      "INSERT INTO StringIds VALUES (1, CAST(x'6100ff62' AS TEXT));"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES "
      "(1, 2, 0, 1, " P1 ", 1);"
      "INSERT INTO NVTX_EVENTS VALUES (1, 2, 59, CAST(x'c328' AS TEXT), " T11
      ", NULL);");
  EXPECT(trace, "kernels",
         "a\xEF\xBF\xBD\xEF\xBF\xBD"
         "b\n",
         "name");
  EXPECT(trace, "ranges", "\xEF\xBF\xBD(\n", "text");
  llmprof_trace_close(trace);
}

static void expect_not_opened(const char *path, llmprof_code code,
                              const char *message) {
  llmprof_error err = {0};
  assert_null(llmprof_trace_open(path, &err));
  test_error_of(&err, code, path, message);
}

TEST(no_export) {
  expect_not_opened("/proc/none/run.sqlite", LLMPROF_NOTFOUND,
                    ": No such file or directory");
  expect_not_opened(test_database("other.sqlite", "CREATE TABLE t (a)"),
                    LLMPROF_UNSUPPORTED,
                    ": an SQLite file, but no Nsight Systems export");
  expect_not_opened(
      test_database("view.sqlite", "CREATE VIEW StringIds AS SELECT 1"),
      LLMPROF_UNSUPPORTED, ": an SQLite file, but no Nsight Systems export");
}

/* ---- broken exports ---- */

/* Anything may come of it but a crash or a failure without its file. */
static void survive(const unsigned char *bytes, size_t size) {
  llmprof_error err = {0};
  const char *path = test_file("broken.sqlite", bytes, size);
  if (read_export(path, &err)) return;
  assert_true(err.code == LLMPROF_SYNTAX || err.code == LLMPROF_IO ||
              err.code == LLMPROF_TRUNCATED || err.code == LLMPROF_UNSUPPORTED);
  assert_memory_equal(err.message, path, strlen(path));
}

/* A little export is broken at every 7th byte, the whole one at every 149th.
 */
static const char little_sql[] = EXPORT_TABLES
    "INSERT INTO StringIds VALUES (1, 'gemm'), (2000000, 'far');"
    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (20, 21, 0, "
    "1, " P1 ", 2000000);" RANGE(0, 50, T11, "decode") CALL(10, 11, T11, 1);

typedef void (*breaker)(unsigned char *bytes, size_t size, size_t step);

static void break_exports(breaker break_at) {
  const char *paths[] = {test_database("little.sqlite", little_sql),
                         test_export()};
  for (size_t i = 0; i < 2; i++) {
    size_t size;
    unsigned char *bytes = test_read(paths[i], &size);
    break_at(bytes, size, i ? 149 : 7);
    free(bytes);
  }
}

/* Once as cut, and once with the header's count of pages made invalid, so that
 * the readers find out themselves. */
static void cut(unsigned char *bytes, size_t size, size_t step) {
  for (size_t n = 0; n < size; n += step) {
    llmprof_error err = {0};
    assert_null(llmprof_trace_open(test_file("cut.sqlite", bytes, n), &err));
    assert_int_equal(err.code, n < 100 ? LLMPROF_SYNTAX : LLMPROF_TRUNCATED);
  }
  bytes[92] ^= 0xff;
  for (size_t n = 0; n <= size; n += step) survive(bytes, n);
}

static void flip(unsigned char *bytes, size_t size, size_t step) {
  static const unsigned char flips[] = {0xff, 0x80, 0x01};
  for (size_t i = 0; i < size; i += step) {
    unsigned char kept = bytes[i];
    bytes[i] ^= flips[i / step % 3];
    survive(bytes, size);
    bytes[i] = kept;
  }
}

TEST(prefixes) {
  break_exports(cut);
}

TEST(flipped_bytes) {
  break_exports(flip);
}

/* ---- when they ended ---- */

/* More than 4.29 s after their start, or before it, which is left out, where
 * `far`. */
static llmprof_trace *trace_of_ends(bool far) {
  return test_trace(
      far ? EXPORT_TABLES KERNEL(10, 15, P1, 1) KERNEL(20, 5000000020, P1, 2)
                KERNEL(30, 29, P1, 3) CALL(1, 4, T11, 1)
                    CALL(5, 5000000005, T11, 2) CALL(7, NULL, T11, 3)
          : EXPORT_TABLES KERNEL(10, 15, P1, 1) KERNEL(20, 4294967314, P1, 2)
                CALL(1, 4, T11, 1) CALL(5, 4294967299, T11, 2));
}

static void expect_ends(llmprof_trace *trace, bool far) {
  EXPECT(trace, "gpu",
         far ? "10|15|5|4\n20|5000000020|5000000000|5000000005\n"
             : "10|15|5|4\n20|4294967314|4294967294|4294967299\n",
         "start", "end", "duration", "api_end");
  EXPECT(trace, "api",
         far ? "1|4|3\n5|5000000005|5000000000\n"
             : "1|4|3\n5|4294967299|4294967294\n",
         "start", "end", "duration");
}

TEST(ends) {
  for (int far = 0; far <= 1; far++) {
    llmprof_trace *trace = trace_of_ends(far);
    expect_ends(trace, far);
    llmprof_frame *kernels = test_frame_of(trace, "kernels");
    size_t end = llmprof_frame_find(kernels, "end");
    llmprof_frame *last = llmprof_frame_slice(kernels, 1, 1, NULL);
    int64_t cell = llmprof_cell(llmprof_frame_column(last, end, NULL), 0);
    const llmprof_ops *ops = llmprof_trace_ops(trace, NULL);
    assert_int_equal(llmprof_end_at(ops->start, ops->duration, 1), cell);
    assert_int_equal(cell, far ? 5000000020 : 4294967314);
    llmprof_frame_free(last);
    llmprof_frame_free(kernels);
    llmprof_trace_close(trace);
  }
}

/* ---- names of kernels ---- */

enum {
  NAMED = 60 /* kernels of three names */
};

/* odd: one kernel has another short name than others of its name. */
static llmprof_trace *trace_of_names(bool odd) {
  llmprof_buffer sql = {0};
  llmprof_buffer_puts(
      &sql,
      "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
      "INSERT INTO StringIds VALUES (1, 'f(int)'), (2, 'g'), (3, 'h<1>'), "
      "(4, 'f'), (5, 'h'), (6, '_f'), (7, 'other');"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, "
      "deviceId INTEGER, correlationId INTEGER, globalPid INTEGER, "
      "demangledName INTEGER, shortName INTEGER, mangledName INTEGER);");
  for (int i = 0; i < NAMED; i++)
    llmprof_buffer_printf(&sql,
                          "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES "
                          "(%d, %d, 0, %d, " P1 ", %d, %d, %s);",
                          i, i + 1, i, i % 3 + 1,
                          odd && i == 33 ? 7 : (const int[]){4, 2, 5}[i % 3],
                          i % 3 ? "NULL" : "6");
  llmprof_trace *trace = test_trace(sql.bytes);
  llmprof_buffer_free(&sql);
  return trace;
}

static void expect_names(llmprof_trace *trace, bool odd) {
  llmprof_buffer text = {0};
  for (int i = 0; i < NAMED; i++)
    llmprof_buffer_puts(&text, odd && i == 33 ? "f(int)|other|_f\n"
                               : i % 3 == 0   ? "f(int)|f|_f\n"
                               : i % 3 == 1   ? "g|g|-\n"
                                              : "h<1>|h|-\n");
  EXPECT(trace, "kernels", text.bytes, "name", "short_name", "mangled_name");
  llmprof_buffer_free(&text);
}

TEST(names_of_kernels) {
  for (int odd = 0; odd < 2; odd++) {
    llmprof_trace *trace = trace_of_names(odd);
    expect_names(trace, odd);
    const llmprof_details *details = llmprof_trace_details(trace, NULL);
    assert_non_null(details);
    assert_int_equal(llmprof_id_at(details->short_name, 33) ==
                         llmprof_id_at(details->short_name, 36),
                     !odd);
    assert_int_equal(llmprof_id_at(details->mangled_name, 34),
                     LLMPROF_NO_STRING);
    expect_names(trace, odd);
    llmprof_trace_close(trace);
    trace = trace_of_names(odd);
    assert_non_null(llmprof_trace_details(trace, NULL));
    expect_names(trace, odd);
    llmprof_trace_close(trace);
  }
}

/* ---- out of memory ---- */

static bool read_names(void *path, llmprof_error *err) {
  llmprof_trace *trace = llmprof_trace_open(path, err);
  llmprof_frame *kernels =
      trace ? llmprof_trace_frame(trace, "kernels", err) : NULL;
  bool ok = kernels != NULL;
  if (ok) {
    size_t number = llmprof_frame_find(kernels, "mangled_name");
    ok = llmprof_frame_column(kernels, number, err) &&
         llmprof_trace_details(trace, err);
  }
  llmprof_frame_free(kernels);
  llmprof_trace_close(trace);
  return ok;
}

static bool read_arrays(void *unused, llmprof_error *err) {
  llmprof_trace *trace = llmprof_trace_open(test_export(), err);
  bool ok = trace && llmprof_trace_attribution(trace, err) &&
            llmprof_trace_ops(trace, err) && llmprof_trace_calls(trace, err);
  llmprof_trace_close(trace);
  return ok;
}

static bool read_frame(void *name, llmprof_error *err) {
  return read_export_frame(test_export(), name, err);
}

TEST(allocations) {
  static char kernels[] = "kernels", pairs[] = "kernel_ranges";
  test_every_allocation(read_frame, kernels);
  test_every_allocation(read_frame, pairs);
  test_every_allocation(read_arrays, NULL);
  llmprof_trace *named = trace_of_names(false);
  test_every_allocation(read_names,
                        (void *)(uintptr_t)llmprof_trace_path(named));
  llmprof_trace_close(named);
}

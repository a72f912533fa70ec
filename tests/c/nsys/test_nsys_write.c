/* Writing an export when memory or disk runs out, and from traces that no
 * export was read for; that what is written is the same trace is tested from
 * Lua. */
#include "nsys/nsys_write.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "llmprof/readers.h"
#include "llmprof/trace_builder.h"
#include "nsys/merge.h"
#include "nsys/scrub.h"
#include "sqlite/sqlite.h"
#include "support.h"
#include "trace/trace_events.h"

static const char *output(void) {
  static char path[300];
  snprintf(path, sizeof path, "%s/out.sqlite", test_folder());
  return path;
}

/* ---- a trace that was not read from an export ---- */

static uint32_t text(llmprof_builder *b, const char *bytes) {
  uint32_t string;
  assert_true(llmprof_builder_text(b, bytes, strlen(bytes), &string));
  return string;
}

static void add_graph(llmprof_builder *b, uint32_t place, int64_t start) {
  llmprof_op_row row = {.kind = LLMPROF_GRAPH,
                        .start = start,
                        .end = start + 8,
                        .correlation = LLMPROF_NONE,
                        .place = place,
                        .bytes = LLMPROF_ABSENT};
  llmprof_error err;
  assert_true(llmprof_builder_op_name(b, LLMPROF_GRAPH, 0, NULL, &row.name));
  assert_true(llmprof_builder_add_op(b, &row, &err));
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
 * has no number under two names; a whole graph; a range of one, ended on
 * another thread, left open, with a payload that says how much but not to whom,
 * and one that says both. */
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
  llmprof_builder_recorded(b, LLMPROF_TABLE_GRAPHS);
  llmprof_builder_recorded(b, LLMPROF_TABLE_RANGES);
  const llmprof_place at = {there, 3, 1, LLMPROF_NONE};
  assert_true(llmprof_builder_add_place(b, &at, &place));
  add_copy(b, place, "Odd", 10);
  add_copy(b, place, "Odder", 20);
  add_copy(b, place, "Odd", 30);
  add_graph(b, place, 40);
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
  range.communicator = 77;
  assert_true(llmprof_builder_add_range(b, &range, &err));
  return llmprof_builder_finish(b, &err);
}

static void check_copies(llmprof_trace *trace) {
  llmprof_error err;
  size_t count;
  const llmprof_ops *ops = llmprof_trace_ops(trace, &err);
  assert_int_equal(ops->count, 4);
  assert_int_equal(ops->first[LLMPROF_GRAPH], 3);
  assert_int_equal(llmprof_end_at(ops->start, ops->duration, 3), 48);
  assert_string_equal(test_string_of(trace, llmprof_id_at(ops->name, 0)),
                      "[CUDA memcpy Odd]");
  assert_string_equal(test_string_of(trace, llmprof_id_at(ops->name, 1)),
                      "[CUDA memcpy Odder]");
  assert_int_equal(llmprof_id_at(ops->name, 2), llmprof_id_at(ops->name, 0));
  assert_int_equal(llmprof_id_at(ops->copy_kind, 1), LLMPROF_COPY_UNKNOWN);
  const llmprof_place *place =
      llmprof_trace_rows(trace, LLMPROF_PLACES, &count);
  place += llmprof_id_at(ops->place, 0);
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
  assert_true(llmprof_id_at(r->open, 0));
  assert_int_equal(llmprof_values_get(r->end, 0), 99);
  assert_string_equal(test_string_of(trace, llmprof_id_at(r->tag, 0)),
                      "NCCL:all");
  assert_string_equal(test_string_of(trace, llmprof_id_at(r->category, 0)),
                      "group");
  assert_int_equal(llmprof_id_at(r->category, 1), LLMPROF_NO_STRING);
  assert_int_equal(llmprof_values_get(r->message, 0), 4096);
  assert_true(llmprof_values_get(r->communicator, 0) == LLMPROF_ABSENT);
  assert_int_equal(llmprof_values_get(r->communicator, 1), 77);
  assert_int_equal(llmprof_values_get(r->message, 1), 4096);
  assert_true(llmprof_real_of(r->payload_float, 1) == 2.5);
  const llmprof_thread *threads = llmprof_trace_threads(trace, &count);
  assert_int_equal(threads[llmprof_id_at(r->thread, 0)].tid, 51);
  assert_int_not_equal(llmprof_id_at(r->thread, 0),
                       llmprof_id_at(r->thread, 1));
  assert_string_equal(
      test_string_of(trace, threads[llmprof_id_at(r->thread, 1)].name),
      "worker");
  llmprof_trace_processes(trace, &count);
  assert_int_equal(count, 2);
  llmprof_trace_processes(trace, &count);
  assert_int_equal(count, 2);
}

static void check(const char *path) {
  llmprof_error err = {0};
  llmprof_trace *trace = llmprof_trace_open(path, &err);
  if (!trace) fail_msg("%s", err.message);
  check_copies(trace);
  check_ranges(trace);
  llmprof_trace_close(trace);
}

TEST(built) {
  llmprof_error err = {0};
  llmprof_trace *trace = build();
  llmprof_nsys_counts counts;
  unlink(output());
  if (!llmprof_nsys_write(trace, output(), "test", "1", &counts, &err))
    fail_msg("%s", err.message);
  llmprof_trace_close(trace);
  assert_int_equal(counts.operations, 4);
  assert_int_equal(counts.ranges, 2);
  check(output());
}

/* ---- want of memory ---- */

static bool write_once(void *arg, llmprof_error *err) {
  unlink(output());
  llmprof_trace *trace = llmprof_trace_open(arg, err);
  bool ok =
      trace && llmprof_nsys_write(trace, output(), "test", "1", NULL, err);
  llmprof_trace_close(trace);
  assert_int_equal(access(output(), F_OK) == 0, ok);
  return ok;
}

TEST(allocations) {
  static char path[] = FIXTURES "/small/run.sqlite";
  test_every_allocation(write_once, path);
}

/* The same of an export with what the fixture lacks: whole graphs, and what
 * NCCL says of its calls. */
TEST(allocations_built) {
  char path[320];
  snprintf(path, sizeof path, "%s.built", output());
  llmprof_error err = {0};
  llmprof_trace *trace = build();
  if (!llmprof_nsys_write(trace, path, "test", "1", NULL, &err))
    fail_msg("%s", err.message);
  llmprof_trace_close(trace);
  check(path);
  test_every_allocation(write_once, path);
  check(output());
}

/* ---- hardware samples ---- */

static void add_sample(llmprof_builder *b, uint32_t device, int64_t start,
                       double sm, double written) {
  llmprof_error err;
  llmprof_sample_row row = {
      .start = start, .end = start + 10, .device = device};
  for (int i = 0; i < LLMPROF_SAMPLED; i++) row.values[i] = NAN;
  row.values[LLMPROF_SAMPLED_SM] = sm;
  row.values[LLMPROF_SAMPLED_DRAM_WRITE] = written;
  assert_true(llmprof_builder_add_sample(b, &row, &err));
}

/* Two GPUs; a gap; values beyond what is written of them. */
static void write_samples(void) {
  llmprof_error err = {0};
  llmprof_builder *b = llmprof_builder_new("built", &err);
  llmprof_builder_recorded(b, LLMPROF_TABLE_SAMPLES);
  llmprof_builder_epoch(b, 1000000000);
  add_sample(b, 0, 100, 12.5, 0.00014);
  add_sample(b, 0, 110, 100, NAN);
  add_sample(b, 1, 100, 0, 33.33333333);
  add_sample(b, 0, 150, 1, 1e300);
  llmprof_trace *trace = llmprof_builder_finish(b, &err);
  unlink(output());
  if (!llmprof_nsys_write(trace, output(), "test", "1", NULL, &err))
    fail_msg("%s", err.message);
  llmprof_trace_close(trace);
}

static void check_samples(const char *path) {
  llmprof_error err = {0};
  llmprof_trace *trace = llmprof_trace_open(path, &err);
  const llmprof_samples *s = llmprof_trace_samples(trace, &err);
  double sm[4], written[4];
  assert_int_equal(s->count, 4);
  for (size_t i = 0; i < 4; i++) {
    sm[i] = llmprof_real_of(s->values[LLMPROF_SAMPLED_SM], i);
    written[i] = llmprof_real_of(s->values[LLMPROF_SAMPLED_DRAM_WRITE], i);
  }
  for (size_t i = 0; i < s->count; i++)
    assert_int_equal(
        llmprof_values_get(s->end, i) - llmprof_values_get(s->start, i), 10);
  assert_int_equal(llmprof_id_at(s->device, 1), 1);
  assert_true(sm[0] == 12.5 && sm[1] == 0 && sm[2] == 100 && sm[3] == 1);
  assert_true(written[0] == 0.0001 && written[1] == 33.3333);
  assert_true(isnan(written[2]) && isnan(written[3]));
  assert_true(isnan(llmprof_real_of(s->values[LLMPROF_SAMPLED_GPU], 0)));
  llmprof_trace_close(trace);
}

/* What nsys has a table of: the sum of a metric's values, and their number. */
static void check_view(const char *path, double sum, int64_t count) {
  llmprof_error err = {0};
  llmprof_sqlite *db = llmprof_sqlite_open(path, &err);
  llmprof_query *query = llmprof_sqlite_query(
      db,
      "SELECT sum(value), count(value) FROM GPU_METRICS NATURAL JOIN "
      "TARGET_INFO_GPU_METRICS WHERE metricName = 'SMs Active [Throughput %]' "
      "AND timestamp < 160",
      &err);
  if (!query || llmprof_query_step(query, &err) != 1)
    fail_msg("%s", err.message);
  assert_true(llmprof_query_double(query, 0) == sum);
  assert_int_equal(llmprof_query_int(query, 1), count);
  llmprof_query_free(query);
  llmprof_sqlite_close(db);
}

TEST(samples) {
  llmprof_error err = {0};
  char other[320];
  write_samples();
  check_samples(output());
  check_view(output(), 112.5, 3);
  snprintf(other, sizeof other, "%s.scrubbed", output());
  llmprof_scrub_report report = {0};
  if (!llmprof_trace_scrub(output(), other, &report, &err))
    fail_msg("%s", err.message);
  assert_int_equal(report.tables, 0);
  check_samples(other);
  check_view(other, 112.5, 3);
  const char *const both[] = {other, output()};
  char merged[320];
  snprintf(merged, sizeof merged, "%s.merged", output());
  if (!llmprof_trace_merge(both, 2, merged, &err)) fail_msg("%s", err.message);
  check_samples(merged);
  check_view(merged, 225, 6);
}

/* ---- lines of source ---- */

/* The rows are those of the fixture, `times` over. */
static void check_lines(const char *path, size_t times) {
  static const char *const lines[] = {"m/model.py:5", "m/model.py:5",
                                      "m/model.py:5", "m/model.py:5",
                                      "run.py:3",     "absent"};
  static const char *const modules[] = {"Model.Layer.0.Linear",
                                        "Model.Layer.0.Rotary",
                                        "Model.Layer.1.Linear",
                                        "Model.Layer.1.Rotary",
                                        "absent",
                                        "absent"};
  llmprof_error err;
  llmprof_trace *trace = llmprof_trace_open(path, &err);
  llmprof_frame *frame =
      trace ? llmprof_trace_frame(trace, "kernels", &err) : NULL;
  if (!frame) fail_msg("%s", err.message);
  assert_int_equal(llmprof_frame_rows(frame), 6 * times);
  for (size_t i = 0; i < 6 * times; i++) {
    assert_string_equal(test_cell_text(frame, "line", i), lines[i % 6]);
    assert_string_equal(test_cell_text(frame, "torch_module", i),
                        modules[i % 6]);
  }
  llmprof_frame_free(frame);
  llmprof_trace_close(trace);
}

/* What is written says nothing of where files lie. */
static void check_paths(const char *path) {
  llmprof_error err = {0};
  llmprof_sqlite *db = llmprof_sqlite_open(path, &err);
  llmprof_query *query = llmprof_sqlite_query(
      db,
      "SELECT count(*), sum(value LIKE '/%') FROM StringIds WHERE value LIKE "
      "'%.py'",
      &err);
  int64_t values[2];
  assert_int_equal(llmprof_query_step(query, &err), 1);
  llmprof_query_ints(query, values, 2);
  assert_int_equal(values[0], 4);
  assert_int_equal(values[1], 0);
  llmprof_query_free(query);
  llmprof_sqlite_close(db);
}

TEST(lines) {
  llmprof_error err = {0};
  char other[320], merged[320];
  llmprof_trace *trace =
      llmprof_trace_open(FIXTURES "/torch/stacks.json", &err);
  if (!trace || !llmprof_nsys_write(trace, output(), "test", "1", NULL, &err))
    fail_msg("%s", err.message);
  llmprof_trace_close(trace);
  check_lines(output(), 1);
  check_paths(output());
  snprintf(other, sizeof other, "%s.scrubbed", output());
  llmprof_scrub_report report = {0};
  if (!llmprof_trace_scrub(output(), other, &report, &err))
    fail_msg("%s", err.message);
  check_lines(other, 1);
  snprintf(merged, sizeof merged, "%s.merged", output());
  const char *const both[] = {other, output()};
  if (!llmprof_trace_merge(both, 2, merged, &err)) fail_msg("%s", err.message);
  check_lines(merged, 2);
}

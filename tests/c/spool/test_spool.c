/* Spools as traces: what a whole one holds, several in one file, units, and
 * what is left of a broken one. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llmprof/readers.h"
#include "read_export.h"
#include "spool/spool.h"
#include "spools.h"
#include "support.h"
#include "trace/trace_events.h"

enum {
  PID = 4711
};

static const spool_who here = {PID,     "python3", "boot-1",
                               1000000, 5000000,   2000000};

static const char *save(const spool_maker *m) {
  return test_file("run.spool", m->file, m->size);
}

static llmprof_trace *open_made(spool_maker *m) {
  llmprof_error err = {0};
  spool_end_section(m);
  llmprof_trace *trace = llmprof_trace_open(save(m), &err);
  if (!trace) fail_msg("%s", err.message);
  spool_free(m);
  return trace;
}

/* ---- a whole spool ---- */

TEST(model) {
  spool_maker m = {0};
  const spool_model model = {here, 2, 3};
  spool_put_model(&m, &model);
  spool_put_end(&m);
  llmprof_trace *trace = open_made(&m);
  llmprof_error err;
  size_t count;
  assert_string_equal(llmprof_trace_reader(trace), "spool");
  assert_string_equal(llmprof_trace_product(trace), "0.1.0");
  assert_true(llmprof_trace_epoch(trace) == 5000000);
  const llmprof_ops *ops = llmprof_trace_ops(trace, &err);
  assert_int_equal(ops->count, 2 * (2 + 6));
  assert_true(llmprof_values_get(ops->start, 0) == 1000000 + 1000 + 400 + 900);
  const llmprof_calls *calls = llmprof_trace_calls(trace, &err);
  assert_int_equal(calls->count, ops->count);
  const llmprof_ranges *ranges = llmprof_trace_ranges(trace, &err);
  assert_int_equal(ranges->count, 4);
  assert_string_equal(test_string_of(trace, llmprof_id_at(ranges->tag, 3)),
                      "decode");
  const llmprof_attribution *found = llmprof_trace_attribution(trace, &err);
  for (size_t i = 0; i < ops->count; i++) {
    uint32_t range = llmprof_id_at(found->range, llmprof_id_at(found->link, i));
    assert_int_equal(range, i / 8 * 2 + (i % 8 >= 2));
  }
  const llmprof_device *gpu = llmprof_trace_devices(trace, &count);
  assert_int_equal(count, 1);
  assert_string_equal(test_string_of(trace, gpu->name), "NVIDIA H200");
  assert_string_equal(test_string_of(trace, gpu->uuid),
                      "GPU-01020300-0000-0000-0000-000000000000");
  assert_string_equal(test_string_of(trace, gpu->bus), "00000000:18:00.0");
  assert_true(gpu->bandwidth == INT64_C(4814304000000));
  test_expect_said(trace, NULL, 0);
  llmprof_trace_close(trace);
}

/* ---- other records ---- */

static void put_others(spool_maker *m) {
  spool_memcpy copy = {.start = 2000000,
                       .end = 2000100,
                       .bytes = 4096,
                       .device = 0,
                       .context = 1,
                       .stream = 7,
                       .correlation = 5,
                       .copy_kind = 1,
                       .src_kind = 2,
                       .dst_kind = 3};
  spool_memset set = {.start = 2000200,
                      .end = 2000300,
                      .bytes = 64,
                      .context = 1,
                      .stream = SPOOL_NO_ID,
                      .correlation = 6};
  spool_graph graph = {
      .start = 2000400, .end = 2000500, .context = 1, .correlation = 7};
  spool_kernel node = {.start = 2000600,
                       .end = 2000700,
                       .name = spool_put_string(m, "_Z1kv"),
                       .context = 1,
                       .correlation = 7,
                       .graph_node = 99};
  spool_kernel replayed = {.start = 2000800, .end = 2000900, .replayed = 1};
  spool_kernel timeless = {.start = 0, .end = 2000900};
  SPOOL_PUT(m, SPOOL_GRAPH, graph);
  SPOOL_PUT(m, SPOOL_MEMSET, set);
  SPOOL_PUT(m, SPOOL_MEMCPY, copy);
  SPOOL_PUT(m, SPOOL_KERNEL, replayed);
  SPOOL_PUT(m, SPOOL_KERNEL, timeless);
  SPOOL_PUT(m, SPOOL_KERNEL, node);
}

static void put_losses(spool_maker *m) {
  spool_drops drops = {.what = SPOOL_LOST_ACTIVITY, .count = 3};
  spool_diagnostic said = {.severity = SPOOL_WARNING,
                           .text = spool_put_string(m, "no counters here")};
  SPOOL_PUT(m, SPOOL_DROPS, drops);
  drops.count = 4;
  SPOOL_PUT(m, SPOOL_DROPS, drops);
  SPOOL_PUT(m, SPOOL_DIAGNOSTIC, said);
}

TEST(other_records) {
  spool_maker m = {0};
  spool_put_process(&m, &here);
  put_others(&m);
  put_losses(&m);
  llmprof_trace *trace = open_made(&m);
  llmprof_error err;
  size_t count;
  const llmprof_ops *ops = llmprof_trace_ops(trace, &err);
  assert_int_equal(ops->count, 4);
  assert_true(llmprof_values_get(ops->start, 0) == 1000600);
  assert_string_equal(test_string_of(trace, llmprof_id_at(ops->name, 1)),
                      "[CUDA memcpy Host-to-Device]");
  assert_int_equal(llmprof_id_at(ops->host_memory, 1), LLMPROF_MEMORY_PINNED);
  assert_true(llmprof_values_get(ops->bytes, 1) == 4096);
  assert_string_equal(test_string_of(trace, llmprof_id_at(ops->name, 2)),
                      "[CUDA memset]");
  assert_string_equal(test_string_of(trace, llmprof_id_at(ops->name, 3)),
                      "[CUDA graph]");
  const llmprof_place *places =
      llmprof_trace_rows(trace, LLMPROF_PLACES, &count);
  assert_int_equal(places[llmprof_id_at(ops->place, 2)].stream, LLMPROF_NONE);
  const llmprof_details *details = llmprof_trace_details(trace, &err);
  assert_true(llmprof_values_get(details->graph_node, 0) == 99);
  static const char *const wanted[] = {
      "no counters here",
      "7 records were dropped by CUPTI",
      "1 launches were replayed for counters and are not in the timeline",
      "1 GPU operations have no time and were left out",
      "process 4711 did not end in order: its spool stops",
  };
  test_expect_said(trace, wanted, 5);
  llmprof_trace_close(trace);
}

/* ---- ends that cannot be ---- */

static void put_copy(spool_maker *m, int64_t start, int64_t end,
                     uint32_t stream, uint64_t node) {
  spool_memcpy copy = {.start = start,
                       .end = end,
                       .context = 1,
                       .stream = stream,
                       .graph_node = node,
                       .stack = 1};
  SPOOL_PUT(m, SPOOL_MEMCPY, copy);
}

/* One copy and one set end when all does; what they were launched by goes with
 * them. A kernel may run on under the next, and nodes of a graph beside each
 * other. */
TEST(wrong_ends) {
  spool_maker m = {0};
  spool_put_process(&m, &here);
  spool_source_stack none = {.stack = 1};
  spool_memset set = {
      .start = 2000300, .end = 2000900, .context = 1, .stream = 7};
  spool_kernel kernels[] = {
      {.start = 2000250, .end = 2000300, .context = 1, .stream = 7},
      {.start = 2000400, .end = 2000900, .context = 1, .stream = 7},
      {.start = 2000500, .end = 2000600, .context = 1, .stream = 7},
      {.start = 2000050, .end = 2000950, .replayed = 1, .stream = 8},
  };
  SPOOL_PUT(&m, SPOOL_SOURCE_STACK, none);
  put_copy(&m, 2000200, 2000900, 7, 0); /* wrong */
  put_copy(&m, 2000100, 2000200, 7, 0);
  put_copy(&m, 2000000, 2000900, 8, 0);
  put_copy(&m, 2000150, 2000900, 7, 99);
  put_copy(&m, 2000000, 2000900, SPOOL_NO_ID, 0);
  SPOOL_PUT(&m, SPOOL_MEMSET, set); /* wrong */
  for (size_t i = 0; i < 4; i++) SPOOL_PUT(&m, SPOOL_KERNEL, kernels[i]);
  spool_put_end(&m);
  llmprof_trace *trace = open_made(&m);
  static const char *const wanted[] = {
      "1 launches were replayed for counters and are not in the timeline",
      "2 copies or memsets were left out: CUPTI has them end behind later work "
      "of their stream",
  };
  test_expect_said(trace, wanted, 2);
  llmprof_error err;
  const llmprof_op_stacks *stacks = llmprof_trace_op_stacks(trace, &err);
  const llmprof_ops *ops = llmprof_trace_ops(trace, &err);
  assert_non_null(stacks);
  assert_int_equal(ops->count, 3 + 4);
  assert_int_equal(stacks->count, ops->count);
  assert_true(llmprof_values_get(ops->start, 3) == 1000100);
  llmprof_trace_close(trace);
}

/* ---- lines of source ---- */

static void put_line(spool_maker *m, uint32_t number, const char *file,
                     const char *function, uint32_t line, uint32_t module) {
  spool_source_frame frame = {.frame = number,
                              .file = spool_put_string(m, file),
                              .function = spool_put_string(m, function),
                              .line = line,
                              .module = module};
  SPOOL_PUT(m, SPOOL_SOURCE_FRAME, frame);
}

static void put_stack(spool_maker *m, uint32_t number, uint32_t parent,
                      uint32_t frame) {
  spool_source_stack stack = {
      .stack = number, .parent = parent, .frame = frame};
  SPOOL_PUT(m, SPOOL_SOURCE_STACK, stack);
}

static void put_module(spool_maker *m, uint32_t number, const char *path,
                       const char *root) {
  spool_module module = {.module = number,
                         .path = path ? spool_put_string(m, path) : 0,
                         .root = root ? spool_put_string(m, root) : 0,
                         .known = root != NULL};
  SPOOL_PUT(m, SPOOL_MODULE, module);
}

/* Kernels, and what they launched; a stack that is not in the file is none. */
static void put_sources(spool_maker *m) {
  static const uint32_t stacks[] = {3, 0, 2, 77};
  for (uint32_t i = 0; i < 4; i++) {
    spool_kernel kernel = {.start = 2000000 + i * 100,
                           .end = 2000050 + i * 100,
                           .stack = stacks[i],
                           .replayed = i == 1};
    SPOOL_PUT(m, SPOOL_KERNEL, kernel);
  }
  spool_memcpy copy = {.start = 2001000, .end = 2001100, .stack = 1};
  SPOOL_PUT(m, SPOOL_MEMCPY, copy);
  put_line(m, 1, "run.py", "<module>", 12, 0);
  put_line(m, 2, "model.py", "Model.forward", 40, 1);
  put_line(m, 3, "model.py", "MLP.forward", 7, 2);
  put_stack(m, 1, 0, 1);
  put_stack(m, 2, 1, 2);
  put_stack(m, 3, 2, 3);
  put_module(m, 2, NULL, NULL);
  put_module(m, 1, NULL, "Model");
  put_module(m, 2, "layers.0.mlp", "Model");
}

static void assert_line(llmprof_trace *trace, uint32_t stack, const char *file,
                        uint32_t line, const char *module) {
  size_t count;
  const llmprof_source_stack *stacks =
      llmprof_trace_rows(trace, LLMPROF_SOURCE_STACKS, &count);
  assert_in_range(stack, 0, count - 1);
  const llmprof_source_frame *frame =
      llmprof_trace_rows(trace, LLMPROF_SOURCE_FRAMES, &count);
  frame += stacks[stack].frame;
  assert_string_equal(test_string_of(trace, frame->file), file);
  assert_int_equal(frame->line, line);
  assert_string_equal(test_string_of(trace, frame->module), module);
}

TEST(sources) {
  spool_maker m = {0};
  llmprof_error err;
  size_t count;
  spool_put_process(&m, &here);
  put_sources(&m);
  llmprof_trace *trace = open_made(&m);
  const llmprof_op_stacks *of = llmprof_trace_op_stacks(trace, &err);
  assert_non_null(of);
  assert_int_equal(of->count, 4);
  uint32_t mlp = llmprof_id_at(of->stack, 0);
  assert_line(trace, mlp, "model.py", 7, "layers.0.mlp");
  assert_line(trace, llmprof_id_at(of->stack, 1), "model.py", 40, "Model");
  assert_int_equal(llmprof_id_at(of->stack, 2), LLMPROF_NONE);
  assert_line(trace, llmprof_id_at(of->stack, 3), "run.py", 12, "(none)");
  const llmprof_source_stack *stacks =
      llmprof_trace_rows(trace, LLMPROF_SOURCE_STACKS, &count);
  assert_int_equal(count, 3);
  assert_int_equal(stacks[mlp].parent, llmprof_id_at(of->stack, 1));
  llmprof_trace_close(trace);
}

/* Functions of C++, the innermost in a library before the GPU. */
TEST(native) {
  spool_maker m = {0};
  llmprof_error err;
  spool_put_process(&m, &here);
  spool_kernel kernel = {.start = 2000000, .end = 2000050, .stack = 2};
  SPOOL_PUT(&m, SPOOL_KERNEL, kernel);
  put_line(&m, 1, "/home/me/bin/engine", "_ZN5Model7forwardEi", 0, 0);
  put_line(&m, 2, "/usr/lib/libcudart.so.12", "+0x1a", 0, 0);
  put_stack(&m, 1, 0, 1);
  put_stack(&m, 2, 1, 2);
  llmprof_trace *trace = open_made(&m);
  const llmprof_op_stacks *of = llmprof_trace_op_stacks(trace, &err);
  assert_non_null(of);
  const llmprof_stack_frame *line =
      llmprof_trace_source_line(trace, llmprof_id_at(of->stack, 0));
  assert_non_null(line);
  assert_string_equal(test_string_of(trace, line->module), "bin/engine");
  assert_string_equal(test_string_of(trace, line->function),
                      "Model::forward(int)");
  llmprof_trace_close(trace);
}

/* What model.py:7 was made of, from a block of no process behind the spool. Of
 * such a block nothing else is read; records that claim more lines than they
 * hold are left out, and those with more than there may be, which is told. */
TEST(generated) {
  spool_maker m = {0};
  llmprof_error err;
  spool_put_process(&m, &here);
  put_sources(&m);
  spool_end_block(&m);
  m.sequence = SPOOL_OF_ALL;
  m.strings = 0; /* the next spool's strings: these are of this block alone */
  spool_generated made = {
      .file = spool_put_string(&m, "model.py"), .line = 7, .lines = 2};
  const spool_line lines[] = {
      {made.file, spool_put_string(&m, "forward"), 41, 0},
      {spool_put_string(&m, "norm.py"), 0, 5, 0}};
  spool_generated more = made;
  more.lines = 3;
  spool_put(&m, SPOOL_GENERATED, &more, sizeof more, lines, sizeof lines);
  static spool_line deep[1001];
  for (size_t i = 0; i < 1001; i++) deep[i] = lines[0];
  more.lines = 1001;
  spool_put(&m, SPOOL_GENERATED, &more, sizeof more, deep, sizeof deep);
  spool_put(&m, SPOOL_GENERATED, &made, sizeof made, lines, sizeof lines);
  put_sources(&m);
  llmprof_trace *trace = open_made(&m);
  const llmprof_op_stacks *of = llmprof_trace_op_stacks(trace, &err);
  assert_non_null(of);
  assert_int_equal(of->count, 4);
  assert_line(trace, llmprof_id_at(of->stack, 0), "norm.py", 5, "layers.0.mlp");
  static const char *const wanted[] = {
      "1 launches were replayed for counters and are not in the timeline",
      "1 generated lines stay as they are: made of more than 1,000 lines",
      "process 4711 did not end in order: its spool stops",
  };
  test_expect_said(trace, wanted, 3);
  llmprof_trace_close(trace);
}

/* Two models may have modules of the same names. */
TEST(two_models) {
  spool_maker m = {0};
  llmprof_error err;
  spool_put_process(&m, &here);
  put_sources(&m);
  put_module(&m, 3, "layers.0.mlp", "Vision");
  llmprof_trace *trace = open_made(&m);
  const llmprof_op_stacks *of = llmprof_trace_op_stacks(trace, &err);
  assert_line(trace, llmprof_id_at(of->stack, 0), "model.py", 7,
              "Model.layers.0.mlp");
  llmprof_trace_close(trace);
}

/* No stacks: each operation is without one. */
TEST(no_sources) {
  spool_maker m = {0};
  llmprof_error err;
  size_t count;
  spool_put_process(&m, &here);
  put_others(&m);
  llmprof_trace *trace = open_made(&m);
  const llmprof_op_stacks *of = llmprof_trace_op_stacks(trace, &err);
  assert_int_equal(of->count, 4);
  for (size_t i = 0; i < of->count; i++)
    assert_int_equal(llmprof_id_at(of->stack, i), LLMPROF_NONE);
  llmprof_trace_rows(trace, LLMPROF_SOURCE_FRAMES, &count);
  assert_int_equal(count, 0);
  llmprof_trace_close(trace);
}

/* ---- NVTX ---- */

static void put_nccl(spool_maker *m) {
  spool_nvtx_schema schema = {.schema = 77, .domain = 3, .entries = 2};
  const spool_nvtx_entry entries[] = {
      {.type = 18, .name = spool_put_string(m, "NCCL communicator ID")},
      {.type = 22, .name = spool_put_string(m, "Message size [bytes]")}};
  struct {
    spool_nvtx_blob blob;
    uint64_t words[2];
  } payload = {{.schema = 77, .size = 16}, {42, 1 << 20}};
  spool_nvtx_domain domain = {.domain = 3, .name = spool_put_string(m, "NCCL")};
  spool_nvtx_category category = {
      .domain = 3, .category = 9, .name = spool_put_string(m, "group")};
  spool_nvtx_event event = {.time = 1000010,
                            .tid = PID,
                            .domain = 3,
                            .category = 9,
                            .message = spool_put_string(m, "ncclAllReduce"),
                            .type = SPOOL_NVTX_PUSH,
                            .payload_type = SPOOL_PAYLOAD_BINARY,
                            .blobs = 1};
  spool_put(m, SPOOL_NVTX_EVENT, &event, sizeof event, &payload,
            sizeof payload);
  spool_put(m, SPOOL_NVTX_SCHEMA, &schema, sizeof schema, entries,
            sizeof entries);
  event = (spool_nvtx_event){
      .time = 1000020, .tid = PID, .domain = 3, .type = SPOOL_NVTX_POP};
  SPOOL_PUT(m, SPOOL_NVTX_EVENT, event);
  SPOOL_PUT(m, SPOOL_NVTX_DOMAIN, domain);
  SPOOL_PUT(m, SPOOL_NVTX_CATEGORY, category);
}

/* Pushes of two domains do not nest; an end before its start in the file; one
 * that stays open; a pop of nothing. */
TEST(ranges) {
  spool_maker m = {0};
  spool_put_process(&m, &here);
  uint32_t outer = spool_put_string(&m, "outer");
  spool_put_nvtx(&m, SPOOL_NVTX_POP, 1000001, PID, 0, 0);
  spool_put_nvtx(&m, SPOOL_NVTX_END, 1000500, PID + 1, 0, 8);
  spool_put_nvtx(&m, SPOOL_NVTX_PUSH, 1000005, PID, outer, 0);
  put_nccl(&m);
  spool_put_nvtx(&m, SPOOL_NVTX_POP, 1000030, PID, 0, 0);
  spool_put_nvtx(&m, SPOOL_NVTX_START, 1000002, PID, outer, 8);
  spool_put_nvtx(&m, SPOOL_NVTX_PUSH, 1000600, PID, outer, 0);
  spool_put_nvtx(&m, SPOOL_NVTX_MARK, 1000900, PID, outer, 0);
  llmprof_trace *trace = open_made(&m);
  llmprof_error err;
  const llmprof_ranges *r = llmprof_trace_ranges(trace, &err);
  assert_int_equal(r->count, 4);
  assert_true(llmprof_values_get(r->start, 0) == 2 &&
              llmprof_values_get(r->end, 0) == 500);
  assert_int_equal(llmprof_id_at(r->style, 0), LLMPROF_START_END);
  assert_int_not_equal(llmprof_id_at(r->end_thread, 0), LLMPROF_NONE);
  assert_true(llmprof_values_get(r->start, 1) == 5 &&
              llmprof_values_get(r->end, 1) == 30);
  assert_string_equal(test_string_of(trace, llmprof_id_at(r->tag, 2)),
                      "NCCL:ncclAllReduce");
  assert_string_equal(test_string_of(trace, llmprof_id_at(r->category, 2)),
                      "group");
  assert_true(llmprof_values_get(r->communicator, 2) == 42 &&
              llmprof_values_get(r->message, 2) == 1 << 20);
  assert_true(llmprof_values_get(r->end, 2) == 20);
  assert_true(llmprof_id_at(r->open, 3) &&
              llmprof_values_get(r->end, 3) == 900);
  llmprof_trace_close(trace);
}

static void put_payload(spool_maker *m, uint8_t type, uint64_t bits,
                        int64_t time) {
  spool_nvtx_event event = {.time = time,
                            .payload = bits,
                            .tid = PID,
                            .type = SPOOL_NVTX_PUSH,
                            .payload_type = type};
  SPOOL_PUT(m, SPOOL_NVTX_EVENT, event);
}

TEST(payloads) {
  spool_maker m = {0};
  spool_put_process(&m, &here);
  put_payload(&m, SPOOL_PAYLOAD_U64, 7, 1000001);
  put_payload(&m, SPOOL_PAYLOAD_I32, UINT32_MAX, 1000002);
  put_payload(&m, SPOOL_PAYLOAD_FLOAT, 0x3fc00000, 1000003);
  put_payload(&m, SPOOL_PAYLOAD_DOUBLE, UINT64_C(0x4004000000000000), 1000004);
  put_payload(&m, SPOOL_PAYLOAD_NONE, 9, 1000005);
  llmprof_trace *trace = open_made(&m);
  llmprof_error err;
  const llmprof_ranges *r = llmprof_trace_ranges(trace, &err);
  assert_int_equal(r->count, 5);
  assert_true(llmprof_values_get(r->payload, 0) == 7 &&
              llmprof_values_get(r->payload, 1) == -1);
  assert_true(llmprof_real_of(r->payload_float, 2) == 1.5 &&
              llmprof_real_of(r->payload_float, 3) == 2.5);
  assert_true(llmprof_values_get(r->payload, 4) == LLMPROF_ABSENT &&
              isnan(llmprof_real_of(r->payload_float, 4)));
  llmprof_trace_close(trace);
}

/* ---- units ---- */

/* A start/end range and a push on another thread, around all units. */
static void put_around(spool_maker *m, uint32_t name, bool ends) {
  int64_t time = ends ? 2500000 : 1950000;
  spool_put_nvtx(m, ends ? SPOOL_NVTX_END : SPOOL_NVTX_START, time, PID, name,
                 77);
  spool_put_nvtx(m, ends ? SPOOL_NVTX_POP : SPOOL_NVTX_PUSH, time, PID + 1,
                 name, 0);
}

/* Ranges are shown in units for the timeline, not before, between, after and
 * around them; an operation that ends late is shown, a call
 * that begins late is not. */
TEST(units) {
  spool_maker m = {0};
  spool_put_process(&m, &here);
  const uint32_t name = spool_put_string(&m, "prefill");
  static const spool_unit_type types[] = {SPOOL_UNIT_PLAIN, SPOOL_UNIT_TIMELINE,
                                          SPOOL_UNIT_COUNTERS,
                                          SPOOL_UNIT_OTHER};
  static const int64_t ranges[] = {1900000, 2000000, 2100000, 2170000,
                                   2200000, 2300000, 2390000};
  for (uint32_t i = 0; i < 4; i++) {
    int64_t begin = 2000000 + i * 100000;
    spool_put_unit(&m, i + 1, types[i], false, begin);
    spool_put_unit(&m, i + 1, types[i], true, begin + 60000);
  }
  put_around(&m, name, false);
  spool_put_nvtx(&m, SPOOL_NVTX_PUSH, 1960000, PID + 2, name, 0); /* for ever */
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
    spool_put_nvtx(&m, SPOOL_NVTX_PUSH, ranges[i], PID, name, 0);
    spool_put_nvtx(&m, SPOOL_NVTX_POP, ranges[i] + 500, PID, 0, 0);
  }
  put_around(&m, name, true);
  spool_call late = {.start = 2450000, .end = 2450100, .name = name};
  SPOOL_PUT(&m, SPOOL_CALL, late);
  const spool_launch launch = {.call = name,
                               .kernel = name,
                               .tid = PID,
                               .start = 2159000,
                               .late = 5000,
                               .duration = 5};
  spool_put_launch(&m, &launch);
  llmprof_trace *trace = open_made(&m);
  llmprof_error err;
  assert_int_equal(llmprof_trace_ops(trace, &err)->count, 1);
  assert_int_equal(llmprof_trace_calls(trace, &err)->count, 1);
  const llmprof_ranges *r = llmprof_trace_ranges(trace, &err);
  assert_int_equal(r->count, 1);
  assert_int_equal(llmprof_values_get(r->start, 0), 1100000);
  llmprof_trace_close(trace);
}

/* The thread that ends a unit is another than the one that began it, and what
 * it says lies before that in the file. */
TEST(units_of_two_threads) {
  spool_maker m = {0};
  spool_put_process(&m, &here);
  const uint32_t name = spool_put_string(&m, "work");
  spool_put_unit(&m, 1, SPOOL_UNIT_TIMELINE, true, 2400000);
  for (int64_t at = 2100000; at < 2600000; at += 200000) {
    spool_put_nvtx(&m, SPOOL_NVTX_PUSH, at, PID, name, 0);
    spool_put_nvtx(&m, SPOOL_NVTX_POP, at + 500, PID, 0, 0);
  }
  spool_put_unit(&m, 1, SPOOL_UNIT_TIMELINE, false, 2000000);
  llmprof_trace *trace = open_made(&m);
  llmprof_error err;
  assert_int_equal(llmprof_trace_ranges(trace, &err)->count, 2);
  llmprof_trace_close(trace);
}

static void put_call(spool_maker *m, uint32_t name, uint32_t tid,
                     uint32_t correlation, bool driver) {
  spool_call call = {.start = 1500000 + m->count * 1000,
                     .end = 1500400 + m->count * 1000,
                     .name = name,
                     .tid = tid,
                     .correlation = correlation,
                     .driver = driver};
  SPOOL_PUT(m, SPOOL_CALL, call);
}

/* Calls of the driver are left out where the same process has the runtime's
 * around them: whatever comes between the two, and in either order. */
TEST(calls) {
  static const spool_who other = {PID + 1, "python3", "boot-1",
                                  1000000, 5000000,   2000000};
  spool_maker m = {0};
  spool_put_process(&m, &here);
  uint32_t runtime = spool_put_string(&m, "cudaLaunchKernel_v7000");
  uint32_t driver = spool_put_string(&m, "cuLaunchKernel");
  for (uint32_t thread = 0; thread < 3; thread++) /* 64 apart */
    put_call(&m, driver, PID + 64 * thread, 10 + thread, true);
  put_call(&m, driver, PID, 13, true); /* its own */
  put_call(&m, driver, PID, 14, true); /* the other process has that one */
  for (uint32_t thread = 0; thread < 3; thread++)
    put_call(&m, runtime, PID + 64 * thread, 10 + thread, false);
  put_call(&m, runtime, PID, 15, false);
  spool_end_block(&m);
  put_call(&m, driver, PID, 15, true); /* out of a later buffer */
  spool_end_section(&m);
  spool_put_process(&m, &other);
  runtime = spool_put_string(&m, "cudaLaunchKernel_v7000");
  put_call(&m, runtime, PID + 1, 14, false);
  llmprof_trace *trace = open_made(&m);
  llmprof_error err;
  const llmprof_calls *calls = llmprof_trace_calls(trace, &err);
  assert_int_equal(calls->count, 3 + 2 + 1 + 1);
  size_t of_driver = 0;
  for (size_t i = 0; i < calls->count; i++)
    of_driver += strcmp(test_string_of(trace, llmprof_id_at(calls->name, i)),
                        "cuLaunchKernel") == 0;
  assert_int_equal(of_driver, 2);
  llmprof_trace_close(trace);
}

/* Killed between units nothing is missing; in one the rest is. */
TEST(ends) {
  static const char *const wanted[] = {
      "process 4711 did not end in order: its spool stops"};
  for (size_t killed_in_unit = 0; killed_in_unit < 2; killed_in_unit++) {
    spool_maker m = {0};
    spool_end end = {.time = 1700000};
    llmprof_error err;
    spool_put_process(&m, &here);
    spool_put_unit(&m, 1, SPOOL_UNIT_TIMELINE, false, 1500000);
    spool_put_unit(&m, 1, SPOOL_UNIT_TIMELINE, true, 1600000);
    SPOOL_PUT(&m, SPOOL_END, end);
    if (killed_in_unit)
      spool_put_unit(&m, 2, SPOOL_UNIT_TIMELINE, false, 1800000);
    spool_end_section(&m);
    llmprof_trace *trace = llmprof_trace_open(save(&m), &err);
    spool_free(&m);
    test_expect_said(trace, wanted, killed_in_unit);
    llmprof_trace_close(trace);
  }
}

/* A unit of operators is a trace of its own, which others do not see. */
TEST(operators) {
  spool_maker m = {0};
  spool_put_process(&m, &here);
  const uint32_t name = spool_put_string(&m, "prefill");
  const uint32_t other = spool_put_string(&m, "aten::mm");
  spool_launch launch = {.call = name,
                         .kernel = name,
                         .tid = PID,
                         .start = 2010000,
                         .duration = 5};
  for (uint32_t i = 0; i < 2; i++) {
    int64_t begin = 2000000 + i * 100000;
    uint16_t type = i ? SPOOL_UNIT_OPERATORS : SPOOL_UNIT_TIMELINE;
    spool_put_unit(&m, i + 1, type, false, begin);
    spool_put_nvtx(&m, SPOOL_NVTX_PUSH, begin, PID, i ? other : name, 0);
    spool_put_nvtx(&m, SPOOL_NVTX_POP, begin + 500, PID, 0, 0);
    for (uint32_t j = 0; j <= i; j++) spool_put_launch(&m, &launch);
    spool_put_unit(&m, i + 1, type, true, begin + 60000);
    launch.start += 100000;
  }
  llmprof_error err;
  spool_end_section(&m);
  const char *path = save(&m);
  spool_free(&m);
  for (int i = 0; i < 2; i++) {
    llmprof_trace *trace = i ? llmprof_spool_operators(path, &err)
                             : llmprof_trace_open(path, &err);
    assert_int_equal(llmprof_trace_ops(trace, &err)->count, i + 1);
    assert_int_equal(llmprof_trace_calls(trace, &err)->count, i + 1);
    const llmprof_ranges *r = llmprof_trace_ranges(trace, &err);
    assert_int_equal(r->count, 1);
    assert_string_equal(test_string_of(trace, llmprof_id_at(r->tag, 0)),
                        i ? "aten::mm" : "prefill");
    llmprof_trace_close(trace);
  }
  assert_null(llmprof_spool_operators("/nowhere", &err));
}

/* ---- several processes ---- */

static void put_gpu(spool_maker *m, uint32_t device, uint32_t bus) {
  spool_device gpu = {.device = device, .pci_bus = bus};
  const spool_launch launch = {
      .call = spool_put_string(m, "cuLaunchKernel"),
      .kernel = spool_put_string(m, "_Z1kv"),
      .tid = PID,
      .correlation = 1,
      .device = device,
      .start = 1500000,
      .duration = 10,
  };
  SPOOL_PUT(m, SPOOL_DEVICE, gpu);
  spool_put_launch(m, &launch);
  spool_end_section(m);
}

/* The same number twice, as after exec; the other began later on a clock of
 * its own, and its GPU 0 is another one. A third is on another host. */
TEST(processes) {
  spool_maker m = {0};
  const spool_who again = {PID, "worker", "boot-1", 700, 9000000, 2000250};
  const spool_who away = {50, "far", "boot-2", 1500000, 5000700, 77};
  spool_put_process(&m, &here);
  put_gpu(&m, 0, 40);
  spool_put_process(&m, &again);
  put_gpu(&m, 0, 20);
  spool_put_process(&m, &away);
  put_gpu(&m, 1, 40);
  llmprof_trace *trace = open_made(&m);
  llmprof_error err;
  size_t count;
  const llmprof_ops *ops = llmprof_trace_ops(trace, &err);
  assert_int_equal(ops->count, 3);
  assert_true(llmprof_values_get(ops->start, 0) == 500400);
  assert_true(llmprof_values_get(ops->start, 1) == 1500400 - 700 + 250);
  assert_true(llmprof_values_get(ops->start, 2) == 400 + 700);
  const llmprof_place *places =
      llmprof_trace_rows(trace, LLMPROF_PLACES, &count);
  assert_int_equal(places[llmprof_id_at(ops->place, 0)].device, 1);
  assert_int_equal(places[llmprof_id_at(ops->place, 1)].device, 0);
  assert_int_equal(places[llmprof_id_at(ops->place, 2)].device, 1);
  assert_non_null(llmprof_trace_devices(trace, &count));
  assert_int_equal(count, 2);
  const llmprof_attribution *found = llmprof_trace_attribution(trace, &err);
  for (uint32_t i = 0; i < 3; i++)
    assert_int_equal(llmprof_id_at(found->call, i), i);
  const llmprof_process *processes = llmprof_trace_processes(trace, &count);
  assert_int_equal(count, 3);
  assert_int_equal(processes[1].pid, PID);
  assert_string_equal(test_string_of(trace, processes[1].name), "worker");
  llmprof_trace_close(trace);
}

/* ---- what is broken ---- */

static spool_maker small(void) {
  spool_maker m = {0};
  const spool_model model = {here, 2, 1};
  const spool_model second = {
      {5, "other", "boot-1", 10, 5000000, 2000000}, 1, 1};
  spool_put_model(&m, &model);
  spool_put_end(&m);
  spool_put_model(&m, &second);
  spool_put_end(&m);
  return m;
}

/* What is read of the bytes: operations; SIZE_MAX: the file is refused. */
static size_t operations_of(const void *bytes, size_t size) {
  llmprof_error err = {0};
  llmprof_trace *trace =
      llmprof_trace_open(test_file("broken.spool", bytes, size), &err);
  if (!trace) {
    assert_int_not_equal(err.code, LLMPROF_NOMEM);
    return SIZE_MAX;
  }
  if (!read_trace(trace, &err)) fail_msg("%s", err.message);
  size_t count = llmprof_trace_ops(trace, &err)->count;
  llmprof_trace_close(trace);
  return count;
}

/* A file that ends anywhere has what its whole blocks have. */
TEST(cut) {
  spool_maker m = small();
  size_t most = 0;
  for (size_t size = SPOOL_MAGIC_SIZE; size <= m.size; size += 24) {
    size_t count = operations_of(m.file, size);
    if (count == SIZE_MAX) continue;
    assert_true(count >= most);
    most = count;
  }
  assert_int_equal(operations_of(m.file, m.size), 12);
  assert_true(most > 4 && most <= 12);
  spool_free(&m);
}

/* A byte that changes costs its block and what follows of that process; the
 * other process stays. */
TEST(changed) {
  spool_maker m = small();
  size_t found[13] = {0};
  for (size_t i = offsetof(spool_block, sequence); i < m.size; i += 37) {
    m.file[i] ^= 0x10;
    size_t count = operations_of(m.file, m.size);
    if (count == SIZE_MAX) fail_msg("byte %zu", i);
    assert_true(count == 4 || count == 8 || count == 12);
    found[count]++;
    m.file[i] ^= 0x10;
  }
  assert_true(found[4] > found[12] && found[8] > found[12] && found[12] > 0);
  spool_free(&m);
}

/* Files can be joined, also with what one of them has already, and with what
 * the other copy lacks. */
TEST(again) {
  static const char *const wanted[] = {
      "2 recordings are in the file more than once, and count once"};
  spool_maker m = small();
  unsigned char *twice = malloc(2 * m.size);
  assert_non_null(twice);
  for (size_t size = 0; size <= m.size; size += 24) {
    memcpy(twice, m.file, size);
    memcpy(twice + size, m.file, m.size);
    if (size >= SPOOL_MAGIC_SIZE)
      assert_int_equal(operations_of(twice, size + m.size), 12);
  }
  memcpy(twice, m.file, m.size);
  memcpy(twice + m.size, m.file, m.size);
  llmprof_error err;
  const char *path = test_file("twice.spool", twice, 2 * m.size);
  llmprof_trace *trace = llmprof_trace_open(path, &err);
  test_expect_said(trace, wanted, 1);
  llmprof_trace_close(trace);
  free(twice);
  spool_free(&m);
}

TEST(refusals) {
  llmprof_error err = {0};
  spool_maker m = small();
  ((spool_block *)(void *)m.file)->version = 9;
  const char *path = test_file("later.spool", m.file, m.size);
  assert_null(llmprof_trace_open(path, &err));
  test_error_of(&err, LLMPROF_UNSUPPORTED, path,
                ": a spool of version 9; this llmprof reads version 1");
  path = test_file("short.spool", m.file, 20);
  assert_null(llmprof_trace_open(path, &err));
  test_error_of(&err, LLMPROF_TRUNCATED, path,
                ": a spool without a whole block");
  spool_free(&m);
}

/* ---- beside the timeline ---- */

static void put_counted(spool_maker *m) {
  spool_metric metric = {.metric = 5,
                         .name = spool_put_string(m, "dram__bytes.sum")};
  spool_metric time = {.metric = 6,
                       .name = spool_put_string(m, "gpu__time_duration.sum")};
  spool_counters c = {.start = 2000000,
                      .end = 2000500,
                      .launch = 1,
                      .name = spool_put_string(m, "_Z1kv"),
                      .ranges = spool_put_string(m, "/a//b/"),
                      .stream = SPOOL_NO_ID,
                      .grid = {4, 1, 1},
                      .values = 3};
  const spool_value values[] = {{.metric = 5, .value = 1.5},
                                {.metric = 99, .value = 7},
                                {.metric = 6, .value = 2500}};
  SPOOL_PUT(m, SPOOL_METRIC, metric);
  SPOOL_PUT(m, SPOOL_METRIC, time);
  spool_put_unit(m, 1, SPOOL_UNIT_TIMELINE, false, 1500000);
  spool_put_unit(m, 1, SPOOL_UNIT_TIMELINE, true, 1600000);
  spool_put(m, SPOOL_COUNTERS, &c, sizeof c, values, sizeof values);
  c.values = 1000; /* more than there are */
  spool_put(m, SPOOL_COUNTERS, &c, sizeof c, values, sizeof values[0] / 2);
}

TEST(frames) {
  spool_maker m = {0};
  spool_put_process(&m, &here);
  put_counted(&m);
  spool_diagnostic said = {.severity = SPOOL_INFO,
                           .code = spool_put_string(&m, "budget"),
                           .text = spool_put_string(&m, "2 were left out")};
  SPOOL_PUT(&m, SPOOL_DIAGNOSTIC, said);
  spool_end_section(&m);
  llmprof_error err = {0};
  llmprof_spool *spool = llmprof_spool_open(save(&m), &err);
  spool_free(&m);
  llmprof_frame *counters = llmprof_spool_frame(spool, "counters", &err);
  assert_int_equal(llmprof_frame_rows(counters), 2);
  assert_true(llmprof_cell_real(test_cell(counters, "dram__bytes.sum", 0)) ==
              1.5);
  assert_true(test_cell(counters, "dram__bytes.sum", 1) == LLMPROF_ABSENT);
  assert_true(test_cell(counters, "stream", 0) == LLMPROF_ABSENT);
  assert_string_equal(test_cell_text(counters, "name", 0), "k()");
  assert_string_equal(test_cell_text(counters, "source", 0), "collector");
  assert_string_equal(test_cell_text(counters, "ranges", 0), "a\nb");
  const llmprof_column *time = llmprof_frame_peek(
      counters, llmprof_frame_find(counters, "gpu__time_duration.sum"));
  assert_string_equal(time->unit, "s"); /* said to be ns by its name */
  assert_true(llmprof_cell_real(
                  test_cell(counters, "gpu__time_duration.sum", 0)) == 2.5e-6);
  llmprof_frame *units = llmprof_spool_frame(spool, "units", &err);
  assert_int_equal(llmprof_frame_rows(units), 1);
  assert_true(test_cell(units, "end", 0) == 600000);
  llmprof_frame *diagnostics = llmprof_spool_frame(spool, "diagnostics", &err);
  assert_int_equal(llmprof_frame_rows(diagnostics), 1);
  assert_string_equal(test_cell_text(diagnostics, "code", 0), "budget");
  assert_string_equal(test_cell_text(diagnostics, "text", 0),
                      "2 were left out");
  assert_null(llmprof_spool_frame(spool, "others", &err));
  assert_int_equal(err.code, LLMPROF_NOTFOUND);
  llmprof_frame_free(counters);
  llmprof_frame_free(units);
  llmprof_frame_free(diagnostics);
  llmprof_spool_close(spool);
}

/* As a trace has them: what began before the first unit, or ended outside of
 * those for the timeline, is left out. */
TEST(samples) {
  spool_maker m = {0};
  spool_put_process(&m, &here);
  spool_metric metric = {
      .metric = 3,
      .name = spool_put_string(&m, "FBSP.TriageCompute.dramc__read_throughput"
                                   ".avg.pct_of_peak_sustained_elapsed")};
  const spool_value value = {.metric = 3, .value = 12.5};
  SPOOL_PUT(&m, SPOOL_METRIC, metric);
  spool_put_unit(&m, 1, SPOOL_UNIT_TIMELINE, false, 1500000);
  spool_put_unit(&m, 1, SPOOL_UNIT_TIMELINE, true, 1600000);
  static const int64_t times[][2] = {
      {1400000, 1510000}, {1510000, 1520000}, {1590000, 1610000}};
  for (size_t i = 0; i < 3; i++) {
    spool_sample sample = {
        .start = times[i][0], .end = times[i][1], .values = 1};
    spool_put(&m, SPOOL_SAMPLE, &sample, sizeof sample, &value, sizeof value);
  }
  spool_end_section(&m);
  llmprof_error err = {0};
  llmprof_trace *trace = llmprof_trace_open(save(&m), &err);
  spool_free(&m);
  const llmprof_samples *samples = llmprof_trace_samples(trace, &err);
  assert_int_equal(samples->count, 1);
  assert_true(llmprof_values_get(samples->start, 0) == 510000 &&
              llmprof_values_get(samples->end, 0) == 520000);
  assert_true(llmprof_real_of(samples->values[LLMPROF_SAMPLED_DRAM_READ], 0) ==
              12.5);
  assert_true(
      isnan(llmprof_real_of(samples->values[LLMPROF_SAMPLED_DRAM_WRITE], 0)));
  llmprof_trace_close(trace);
}

static bool frames_once(void *path, llmprof_error *err) {
  static const char *const names[] = {"units", "counters", "metrics",
                                      "diagnostics"};
  llmprof_spool *spool = llmprof_spool_open(path, err);
  bool ok = spool;
  for (size_t i = 0; ok && i < sizeof names / sizeof *names; i++) {
    llmprof_frame *frame = llmprof_spool_frame(spool, names[i], err);
    ok = frame;
    llmprof_frame_free(frame);
  }
  llmprof_spool_close(spool);
  return ok;
}

static bool read_once(void *path, llmprof_error *err) {
  return read_export(path, err) && frames_once(path, err);
}

TEST(allocations) {
  spool_maker m = {0};
  spool_put_process(&m, &here);
  put_nccl(&m);
  put_counted(&m);
  put_others(&m);
  put_gpu(&m, 0, 3);
  char *path = strdup(save(&m));
  spool_free(&m);
  test_every_allocation(read_once, path);
  free(path);
}

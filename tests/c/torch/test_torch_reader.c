/* Traces of torch.profiler as traces like any other. */
#include "trace/built_in_readers.h"

#include <string.h>

#include "base/buffer.h"
#include "support.h"
#include "text/demangle.h"
#include "torch/torch_internal.h"
#include "trace/trace_events.h"

#define RUN    FIXTURES "/torch/run.json"
#define STACKS FIXTURES "/torch/stacks.json"

static llmprof_trace *open_run(void) {
  llmprof_error err = {0};
  llmprof_trace *trace = llmprof_reader_open(&llmprof_torch_reader, RUN, &err);
  if (!trace) fail_msg("%s", err.message);
  return trace;
}

static llmprof_trace *read_text(const char *text, llmprof_error *err) {
  return llmprof_reader_open(&llmprof_torch_reader,
                             test_file("t.json", text, strlen(text)), err);
}

static llmprof_trace *open_text(const char *text) {
  llmprof_error err = {0};
  llmprof_trace *trace = read_text(text, &err);
  if (!trace) fail_msg("%s", err.message);
  return trace;
}

/* Times are counted from the first event, which the base puts on the clock. */
TEST(operations) {
  llmprof_error err = {0};
  llmprof_trace *trace = open_run();
  size_t count;
  const llmprof_ops *ops = llmprof_trace_ops(trace, &err);
  assert_non_null(ops);
  assert_true(llmprof_trace_epoch(trace) == INT64_C(1742000000001000000));
  assert_int_equal(ops->count, 4);
  assert_int_equal(ops->first[LLMPROF_COPY], 2);
  assert_int_equal(ops->first[LLMPROF_SET], 3);
  assert_int_equal(llmprof_values_get(ops->start, 0), 30123);
  assert_int_equal(llmprof_end_at(ops->start, ops->duration, 0), 30123 + 12345);
  assert_int_equal(llmprof_values_get(ops->start, 1), 220500); /* in quotes */
  assert_int_equal(llmprof_end_at(ops->start, ops->duration, 1), 224750);
  assert_int_equal(llmprof_id_at(ops->correlation, 1), 8);
  assert_int_equal(llmprof_values_get(ops->bytes, 2), 4096);
  assert_int_equal(llmprof_id_at(ops->copy_kind, 2),
                   LLMPROF_COPY_DEVICE_TO_HOST);
  assert_int_equal(llmprof_id_at(ops->host_memory, 2), LLMPROF_MEMORY_PINNED);
  assert_string_equal(test_string_of(trace, llmprof_id_at(ops->name, 2)),
                      "[CUDA memcpy Device-to-Host]");
  assert_string_equal(test_string_of(trace, llmprof_id_at(ops->name, 3)),
                      "[CUDA memset]");
  const llmprof_place *places =
      llmprof_trace_rows(trace, LLMPROF_PLACES, &count);
  assert_int_equal(count, 2);
  assert_int_equal(places[llmprof_id_at(ops->place, 0)].process, 0);
  assert_int_equal(places[llmprof_id_at(ops->place, 0)].stream, 7);
  assert_int_equal(places[llmprof_id_at(ops->place, 3)].stream, 8);
  llmprof_trace_close(trace);
}

TEST(details) {
  llmprof_error err = {0};
  llmprof_trace *trace = open_run();
  size_t count;
  const llmprof_details *details = llmprof_trace_details(trace, &err);
  assert_non_null(details);
  const llmprof_shape *shapes =
      llmprof_trace_rows(trace, LLMPROF_SHAPES, &count);
  const llmprof_shape *shape = &shapes[llmprof_id_at(details->shape, 0)];
  assert_string_equal(
      test_string_of(trace, llmprof_id_at(details->short_name, 0)), "gemm");
  assert_string_equal(
      test_string_of(trace, llmprof_id_at(details->short_name, 1)),
      "triton_poi_fused_add_0");
  assert_true(shape->grid[0] == 4 && shape->grid[1] == 2);
  assert_true(shape->block[0] == 128 && shape->registers == 32);
  assert_int_equal(shape->static_shared, LLMPROF_NONE); /* only their sum is */
  assert_int_equal(shape->dynamic_shared, LLMPROF_NONE);
  const llmprof_device *device = llmprof_trace_devices(trace, &count);
  assert_int_equal(count, 1);
  assert_string_equal(test_string_of(trace, device->name),
                      "NVIDIA H100 80GB HBM3");
  assert_int_equal(device->sm_count, 132);
  assert_true(device->memory == INT64_C(85018279936));
  assert_true(device->clock == LLMPROF_ABSENT);
  llmprof_trace_close(trace);
}

TEST(host) {
  llmprof_error err = {0};
  llmprof_trace *trace = open_run();
  size_t count;
  const llmprof_calls *calls = llmprof_trace_calls(trace, &err);
  const llmprof_ranges *ranges = llmprof_trace_ranges(trace, &err);
  const llmprof_attribution *of = llmprof_trace_attribution(trace, &err);
  assert_true(calls && ranges && of);
  assert_int_equal(calls->count, 3);
  assert_int_equal(ranges->count, 4);
  assert_string_equal(test_string_of(trace, llmprof_id_at(ranges->tag, 0)),
                      "prefill");
  assert_int_equal(llmprof_values_get(ranges->end, 0), 100500);
  assert_string_equal(test_string_of(trace, llmprof_id_at(ranges->tag, 2)),
                      "PyTorch:aten::mm");
  assert_string_equal(test_string_of(trace, llmprof_id_at(ranges->category, 2)),
                      "cpu_op");
  assert_int_equal(llmprof_id_at(of->range, llmprof_id_at(of->link, 0)), 2);
  assert_int_equal(llmprof_id_at(of->range, llmprof_id_at(of->link, 1)), 3);
  assert_int_equal(llmprof_id_at(of->call, 3), LLMPROF_NONE);
  const llmprof_process *process = llmprof_trace_processes(trace, &count);
  assert_int_equal(count, 1);
  assert_int_equal(process->pid, 100);
  assert_string_equal(test_string_of(trace, process->name), "python3");
  const llmprof_thread *thread = llmprof_trace_threads(trace, &count);
  assert_int_equal(count, 1);
  assert_string_equal(test_string_of(trace, thread->name),
                      "thread 101 (python3)");
  TEST_SAID(trace, "1 events have no time (ts and dur are 0) and were left out",
            "1 events have no usable time or thread and were left out");
  llmprof_trace_close(trace);
}

#define EVENT(cat, name, pid, ts, id)                                    \
  "{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":" pid \
  ",\"tid\":1,\"ts\":" #ts ",\"dur\":2,\"args\":{\"correlation\":" #id "}},"
#define CALL(pid, ts, id)         EVENT("cuda_runtime", "c", pid, ts, id)
#define KERNEL(name, gpu, ts, id) EVENT("kernel", name, gpu, ts, id)

/* Files of two processes put together, with the same correlation ids. */
TEST(processes) {
  llmprof_error err = {0};
  llmprof_trace *trace = open_text(
      "[" CALL("\"[TP0] 100\"", 10, 5) KERNEL("a", "\"[TP0] 0\"", 20, 5)
          CALL("\"[TP1] 100\"", 11, 5) KERNEL("b", "\"[TP1] 0\"", 21, 5)
              CALL("\"[TP1] 100\"", 31, 6) KERNEL("c", "\"[TP1] 0\"", 41, 6)
                  KERNEL("d", "1", 50, 7) "]");
  size_t count;
  const llmprof_ops *ops = llmprof_trace_ops(trace, &err);
  const llmprof_process *processes = llmprof_trace_processes(trace, &count);
  const llmprof_place *places =
      llmprof_trace_rows(trace, LLMPROF_PLACES, &count);
  static const uint32_t owners[] = {0, 1, 1, LLMPROF_NONE};
  for (size_t i = 0; i < 4; i++)
    assert_int_equal(places[llmprof_id_at(ops->place, i)].process, owners[i]);
  assert_int_equal(processes[0].pid, 100);
  assert_int_equal(processes[1].pid,
                   100 + (1 << 22)); /* no pid is there twice */
  assert_string_equal(test_string_of(trace, processes[1].name), "[TP1] 100");
  assert_true(llmprof_trace_epoch(trace) == LLMPROF_ABSENT);
  TEST_SAID(trace, "2 GPU operations");
  llmprof_trace_close(trace);
}

/* Of three calls with one id the nearest, of two that are equally near the
 * first process's; without its id there is none. */
TEST(nearest_calls) {
  llmprof_trace *trace = open_text(
      "[" KERNEL("a", "0", 20, 5) CALL("1", 10, 5) CALL("2", 11, 5)
          KERNEL("b", "0", 21, 5) KERNEL("c", "0", 22, 5)
              KERNEL("d", "0", 23, 5) CALL("3", 12, 5) KERNEL("e", "0", 24, 5)
                  KERNEL("f", "0", 25, 4) "]");
  llmprof_error err = {0};
  size_t count;
  const llmprof_ops *ops = llmprof_trace_ops(trace, &err);
  const llmprof_place *places =
      llmprof_trace_rows(trace, LLMPROF_PLACES, &count);
  static const uint32_t owners[] = {0, 1, 1, 2, 2, LLMPROF_NONE};
  for (size_t i = 0; i < 6; i++)
    assert_int_equal(places[llmprof_id_at(ops->place, i)].process, owners[i]);
  TEST_SAID(trace, "5 GPU operations");
  llmprof_trace_close(trace);
}

/* The second is longer than all that follow it on its stream. */
TEST(doubtful) {
  llmprof_trace *trace =
      open_text("[" KERNEL(
          "a", "0", 10,
          1) "{\"ph\":\"X\",\"cat\":\"kernel\","
             "\"name\":\"b\",\"pid\":0,\"tid\":1,\"ts\":20,\"dur\":900}," //
                KERNEL("c", "0", 30, 2) KERNEL("d", "0", 40, 3)
                    KERNEL("e", "0", 50, 4) "]");
  TEST_SAID(trace, "1 GPU operations end");
  llmprof_trace_close(trace);
}

/* A broken event costs itself, a cut file what is behind the cut. */
TEST(damage) {
#define AT(start)                                              \
  "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0," \
  "\"tid\":7,\"ts\":" start ",\"dur\":1}"
  static const struct {
    const char *text, *said;
    size_t kernels;
  } files[] = {
      {"[" AT("1") ",{\"name\":\"a\\q\"}," AT("9") "]",
       "1 events are damaged and were left out, the first at 1:", 2},
      {"[" AT("1") ",{\"name\":\"a\"b\"\"}," AT("9") "]",
       "1 events are damaged", 2},
      {"[" AT("1") ",{\"ph\":\"X\",\"cat\":\"ker",
       "the file is cut or damaged, what comes before was read: 1:", 1},
      {"[" AT("1") "\n", "the file is cut or damaged", 1},
      {"[" AT("1") ",{\"ph\":\"B\",\"name\":\"a\",\"ts\":1}]",
       "1 events are written as a begin and an end", 1},
  };
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    llmprof_error err = {0};
    llmprof_trace *trace = open_text(files[i].text);
    assert_int_equal(llmprof_trace_ops(trace, &err)->count, files[i].kernels);
    TEST_SAID(trace, files[i].said);
    llmprof_trace_close(trace);
  }
  llmprof_error err = {0};
  assert_null(read_text("[{\"ph\":", &err));
  assert_int_equal(err.code, LLMPROF_SYNTAX);
}

/* What is launched in "nccl:..." is of the group that the operator around it
 * names; of a gather the bytes are those of one rank. */
TEST(collectives) {
  llmprof_error err = {0};
#define GATHER(ranks)                                                          \
  "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"record_param_comms\","          \
  "\"pid\":1,\"tid\":1,\"ts\":10,\"dur\":50,\"args\":{\"dtype\":\"BFloat16\"," \
  "\"In msg nelems\":100,\"Out msg nelems\":800,\"Process Group Name\":\"3\"," \
  "\"Process Group Ranks\":\"" ranks "\"}},"                                   \
  "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"nccl:gather\","        \
  "\"pid\":1,"                                                                 \
  "\"tid\":1,\"ts\":20,\"dur\":9}"
  llmprof_trace *trace =
      open_text("{\"distributedInfo\":{\"rank\":5,\"world_size\":8},"
                "\"traceEvents\":[" GATHER("[0, 1]") "]}");
  llmprof_trace *other = open_text("[" GATHER("[2, 3]") "]");
  const llmprof_ranges *ranges = llmprof_trace_ranges(trace, &err);
  const llmprof_ranges *others = llmprof_trace_ranges(other, &err);
  size_t count;
  assert_int_equal(ranges->count, 2);
  assert_true(llmprof_values_get(ranges->communicator, 0) >= 0);
  assert_true(llmprof_values_get(ranges->communicator, 0) ==
              llmprof_values_get(ranges->communicator, 1));
  assert_true(llmprof_values_get(ranges->communicator, 0) !=
              llmprof_values_get(others->communicator, 0));
  assert_int_equal(llmprof_values_get(ranges->payload, 0),
                   2); /* ranks of the group */
  assert_int_equal(llmprof_values_get(ranges->message, 0), 200);
  assert_int_equal(llmprof_values_get(ranges->message, 1), 200);
  assert_string_equal(
      test_string_of(trace, llmprof_trace_processes(trace, &count)[0].name),
      "python rank 5 of 8");
  llmprof_trace_close(trace);
  llmprof_trace_close(other);
}

/* Calls of other runtimes launch what has their correlation id, and are said.
 */
TEST(foreign_calls) {
  llmprof_error err = {0};
  llmprof_trace *trace = open_text(
      "[{\"ph\":\"X\",\"cat\":\"xpu_runtime\",\"name\":\"urEnqueue\",\"pid\":1,"
      "\"tid\":1,\"ts\":1,\"dur\":2,\"args\":{\"correlation\":7}}]");
  assert_int_equal(llmprof_trace_calls(trace, &err)->count, 1);
  TEST_SAID(trace, "neither CUDA's nor");
  llmprof_trace_close(trace);
}

/* Steps of the schedule have one text, and their number as payload. */
/* As PyTorch wrote traces until 1.10: numbers of threads in quotes, steps as
 * operators. */
TEST(old_traces) {
  llmprof_error err = {0};
  llmprof_trace *trace = open_text(
      "{\"traceEvents\": ["
      "{\"ph\":\"X\",\"cat\":\"Operator\",\"name\":\"ProfilerStep#5\",\"pid\":"
      "9,"
      "\"tid\":\"9\",\"ts\":10,\"dur\":50},"
      "{\"ph\":\"X\",\"cat\":\"Operator\",\"name\":\"aten::mm\",\"pid\":9,"
      "\"tid\":\"9\",\"ts\":15,\"dur\":20},"
      "{\"ph\":\"X\",\"cat\":\"Runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":"
      "9,"
      "\"tid\":\"9\",\"ts\":20,\"dur\":5,\"args\":{\"correlation\":3}},"
      "{\"ph\":\"X\",\"cat\":\"Kernel\",\"name\":\"mm\",\"pid\":0,"
      "\"tid\":\"stream 7\",\"ts\":40,\"dur\":5,"
      "\"args\":{\"device\":0,\"context\":1,\"stream\":7,\"correlation\":3}}]"
      "}");
  const llmprof_ranges *ranges = llmprof_trace_ranges(trace, &err);
  const llmprof_attribution *of = llmprof_trace_attribution(trace, &err);
  assert_true(ranges && of);
  assert_int_equal(ranges->count, 2);
  assert_string_equal(test_string_of(trace, llmprof_id_at(ranges->tag, 0)),
                      "ProfilerStep");
  assert_string_equal(test_string_of(trace, llmprof_id_at(ranges->tag, 1)),
                      "PyTorch:aten::mm");
  assert_int_equal(llmprof_id_at(of->range, llmprof_id_at(of->link, 0)), 1);
  llmprof_trace_close(trace);
}

TEST(steps) {
#define STEP(name)                                                          \
  "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#" name \
  "\",\"pid\":1,\"tid\":1,\"ts\":10,\"dur\":50}"
  llmprof_error err = {0};
  llmprof_trace *trace = open_text("[" STEP("12") "," STEP("x") "]");
  const llmprof_ranges *ranges = llmprof_trace_ranges(trace, &err);
  assert_string_equal(test_string_of(trace, llmprof_id_at(ranges->text, 0)),
                      "ProfilerStep");
  assert_int_equal(llmprof_values_get(ranges->payload, 0), 12);
  assert_string_equal(test_string_of(trace, llmprof_id_at(ranges->text, 1)),
                      "ProfilerStep#x");
  assert_true(llmprof_values_get(ranges->payload, 1) == LLMPROF_ABSENT);
  llmprof_trace_close(trace);
}

TEST(short_names) {
  static const char *const names[][2] = {
      {"void at::native::f<4, std::array<char*, 2ul> >(int, g()::{lambda()#1})",
       "f"},
      {"(anonymous namespace)::k(int)", "k"},
      {"ampere_gemm_128x64", "ampere_gemm_128x64"},
      {"std::enable_if<!(false), void>::type gemv2T<int>(P<int>)", "gemv2T"},
      {"std::enable_if<(((8)>(0)))&&a<T>::b, void>::type v::norm<T, 8>(T*)",
       "norm"},
      {"f<", "f<"},
      {"(", "("},
      {"a::", "a::"},
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *begin;
    size_t size;
    llmprof_demangled_base(names[i][0], strlen(names[i][0]), &begin, &size);
    assert_int_equal(size, strlen(names[i][1]));
    assert_memory_equal(begin, names[i][1], size);
  }
}

/* ---- stacks ---- */

/* Two layers of one module each have one of their own and one that both call.
 * Launches have the line of the program, the function, and the module that ran
 * them; a shared module is in the layer that called it. */
TEST(stacks) {
  static const struct {
    const char *line, *function, *module;
  } wanted[] = {
      {"m/model.py:5", "forward", "Model.Layer.0.Linear"},
      {"m/model.py:5", "forward", "Model.Layer.0.Rotary"},
      {"m/model.py:5", "forward", "Model.Layer.1.Linear"},
      {"m/model.py:5", "forward", "Model.Layer.1.Rotary"},
      {"run.py:3", "main", "absent"},
      {"absent", "absent", "absent"},
  };
  llmprof_error err = {0};
  llmprof_trace *trace =
      llmprof_reader_open(&llmprof_torch_reader, STACKS, &err);
  assert_non_null(trace);
  assert_int_equal(llmprof_trace_knows(trace, LLMPROF_KNOWS_LINES, &err), 1);
  llmprof_frame *frame = llmprof_trace_frame(trace, "kernels", &err);
  assert_int_equal(llmprof_frame_rows(frame), 6);
  for (size_t i = 0; i < 6; i++) {
    assert_string_equal(test_cell_text(frame, "line", i), wanted[i].line);
    assert_string_equal(test_cell_text(frame, "function", i),
                        wanted[i].function);
    assert_string_equal(test_cell_text(frame, "torch_module", i),
                        wanted[i].module);
  }
  llmprof_frame *tree =
      llmprof_trace_stack_tree(trace, frame, 1, SIZE_MAX, &err);
  assert_int_equal(llmprof_frame_rows(tree), 6);
  assert_string_equal(test_cell_text(tree, "name", 0), "main");
  assert_string_equal(test_cell_text(tree, "module", 2), "m/model.py:5");
  assert_string_equal(test_cell_text(tree, "name", 3), "k");
  assert_string_equal(test_cell_text(tree, "module", 3), "absent");
  llmprof_frame_free(tree);
  llmprof_frame_free(frame);
  llmprof_trace_close(trace);
}

/* The path of a module names those around it as far as a model goes. */
TEST(deep_modules) {
  enum {
    DEEP = 20000,
    NAMED = 64
  };
  llmprof_error err = {0};
  llmprof_buffer text = {0};
  llmprof_buffer_puts(&text, "{\"traceEvents\":[");
  for (int i = 0; i < DEEP; i++)
    llmprof_buffer_printf(&text,
                          "{\"ph\":\"X\",\"cat\":\"python_function\","
                          "\"name\":\"nn.Module: Layer_%d\",\"pid\":7,"
                          "\"tid\":7,\"ts\":%d,\"dur\":%d},",
                          i, i, 2 * (DEEP + 10 - i));
  llmprof_buffer_printf(
      &text,
      "{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"a.py(1): f\","
      "\"pid\":7,\"tid\":7,\"ts\":%d,\"dur\":9},"
      "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\","
      "\"pid\":7,\"tid\":7,\"ts\":%d,\"dur\":1,\"args\":{\"correlation\":1}},"
      "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":3,"
      "\"ts\":%d,\"dur\":2,\"args\":{\"correlation\":1,\"device\":0,"
      "\"stream\":3}}]}",
      DEEP, DEEP + 1, DEEP + 3);
  assert_false(text.failed);
  llmprof_buffer_putc(&text, 0);
  llmprof_trace *trace = open_text(text.bytes);
  llmprof_frame *frame = llmprof_trace_frame(trace, "kernels", &err);
  const char *module = test_cell_text(frame, "torch_module", 0);
  assert_int_equal(strlen(module), NAMED * strlen("Layer.") - 1);
  llmprof_frame_free(frame);
  llmprof_trace_close(trace);
  llmprof_buffer_free(&text);
}

static bool load_stacks(void *arg, llmprof_error *err) {
  llmprof_trace *trace = llmprof_reader_open(&llmprof_torch_reader, arg, err);
  llmprof_frame *frame = trace ? llmprof_trace_frame(trace, "gpu", err) : NULL;
  llmprof_frame *tree =
      frame ? llmprof_trace_stack_tree(trace, frame, 1, 4, err) : NULL;
  bool ok = tree != NULL;
  llmprof_frame_free(tree);
  llmprof_frame_free(frame);
  llmprof_trace_close(trace);
  return ok;
}

TEST(stack_allocations) {
  test_every_allocation(load_stacks, (void *)STACKS);
}

/* PyTorch names AMD's GPUs "" in some versions. */
TEST(nameless_device) {
  llmprof_trace *trace = open_text(
      "{\"deviceProperties\":[{\"id\":0,\"name\":\"\",\"warpSize\":64,"
      "\"numSms\":304,\"totalGlobalMem\":206141652992},{\"id\":1,\"name\":"
      "\"\",\"warpSize\":64,\"numSms\":110,\"totalGlobalMem\":68702699520}],"
      "\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\","
      "\"pid\":1,\"tid\":1,\"ts\":10,\"dur\":5}]}");
  size_t count;
  const llmprof_device *devices = llmprof_trace_devices(trace, &count);
  assert_int_equal(count, 2);
  assert_string_equal(test_string_of(trace, devices[0].name),
                      "AMD Instinct MI300X");
  assert_string_equal(test_string_of(trace, devices[1].name), "AMD GPU");
  llmprof_trace_close(trace);
}

TEST(refusals) {
  static const char *const texts[] = {"[]", "{\"traceEvents\": [{}]}"};
  for (size_t i = 0; i < 2; i++) {
    llmprof_error err = {0};
    assert_null(read_text(texts[i], &err));
    assert_int_equal(err.code, LLMPROF_EMPTY);
  }
  static const char npu[] =
      "[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":5,\"tid\":0,"
      "\"args\":{\"name\":\"Ascend Hardware\"}}]";
  llmprof_error err = {0};
  assert_null(read_text(npu, &err));
  test_error_of(&err, err.code, test_file("t.json", npu, strlen(npu)),
                ": a trace of an Ascend NPU, which is not known");
}

static bool load_all(void *arg, llmprof_error *err) {
  llmprof_trace *trace = llmprof_reader_open(&llmprof_torch_reader, arg, err);
  size_t count;
  bool ok = trace && llmprof_trace_details(trace, err) &&
            llmprof_trace_attribution(trace, err) &&
            llmprof_trace_diagnostics(trace, &count, err);
  llmprof_trace_close(trace);
  return ok;
}

TEST(allocations) {
  test_every_allocation(load_all, (void *)RUN);
}

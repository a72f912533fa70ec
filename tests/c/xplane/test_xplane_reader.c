/* Profiles of XLA as traces like any other. */
#include "trace/built_in_readers.h"

#include <string.h>

#include "base/buffer.h"
#include "llmprof/readers.h"
#include "os/fs.h"
#include "support.h"
#include "trace/trace_events.h"
#include "xplane/protobuf.h"

#define RUN FIXTURES "/xplane/run.xplane.pb"

static llmprof_trace *open_run(void) {
  llmprof_error err = {0};
  llmprof_trace *trace = llmprof_trace_open(RUN, &err);
  if (!trace) fail_msg("%s", err.message);
  assert_string_equal(llmprof_trace_reader(trace), "xplane");
  return trace;
}

/* The next field of bytes, or that there is none. */
static int next_of(const void *bytes, size_t size, protobuf_field *field) {
  protobuf_message message = {bytes, (const unsigned char *)bytes + size};
  return protobuf_next(&message, field);
}

TEST(wire) {
  protobuf_field field;
  assert_int_equal(next_of("", 0, &field), 0);
  assert_int_equal(next_of("\x08\x96\x01", 3, &field), 1);
  assert_true(protobuf_is_int(&field, 1) && field.value == 150);
  assert_int_equal(
      next_of("\x10\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", 11, &field), 1);
  assert_true(protobuf_is_int(&field, 2) && field.value == UINT64_MAX);
  assert_int_equal(next_of("\x1A\x02hi", 4, &field), 1);
  assert_true(protobuf_is_bytes(&field, 3));
  assert_memory_equal(field.bytes.at, "hi", 2);
  assert_int_equal(next_of("\x0D\1\0\0\0", 5, &field), 1);
  assert_int_equal(field.value, 1);
  assert_int_equal(next_of("\x09\0\0\0\0\0\0\0\1", 9, &field), 1);
  assert_true(field.value == UINT64_C(1) << 56);
  static const struct {
    const char *bytes;
    size_t size;
  } bad[] = {
      {"\x08", 1},     /* no value */
      {"\x08\x80", 2}, /* one that does not end */
      {"\x10\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02", 11}, /* of 65 bits */
      {"\x1A\x03hi", 4},                                    /* longer */
      {"\x1A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", 11},
      {"\x0B", 1},         /* a group */
      {"\x02\0", 2},       /* field 0 */
      {"\x0D\1\0\0", 4},   /* cut */
      {"\x09\1\0\0\0", 5}, /* cut */
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    assert_int_equal(next_of(bad[i].bytes, bad[i].size, &field), -1);
}

/* Lines that are derived from streams are not read. */
TEST(operations) {
  llmprof_error err = {0};
  llmprof_trace *trace = open_run();
  size_t count;
  const llmprof_ops *ops = llmprof_trace_ops(trace, &err);
  assert_non_null(ops);
  assert_int_equal(ops->count, 4);
  assert_int_equal(ops->first[LLMPROF_COPY], 2);
  assert_int_equal(ops->first[LLMPROF_SET], 3);
  /* 1000 ns and 500000 ps, from the step at 910 ns */
  assert_int_equal(llmprof_values_get(ops->start, 0), 590);
  assert_int_equal(llmprof_end_at(ops->start, ops->duration, 0), 610);
  assert_string_equal(test_string_of(trace, llmprof_id_at(ops->name, 0)),
                      "loop_add_fusion");
  assert_string_equal(test_string_of(trace, llmprof_id_at(ops->name, 2)),
                      "[CUDA memcpy Host-to-Device]");
  assert_int_equal(llmprof_values_get(ops->bytes, 2), 4096);
  assert_int_equal(llmprof_values_get(ops->bytes, 3), 512);
  assert_int_equal(llmprof_id_at(ops->host_memory, 2), LLMPROF_MEMORY_PAGEABLE);
  const llmprof_place *places =
      llmprof_trace_rows(trace, LLMPROF_PLACES, &count);
  assert_int_equal(count, 1);
  assert_true(places->device == 1 && places->stream == 7);
  assert_true(llmprof_trace_epoch(trace) == INT64_C(1700000000000000000) + 910);
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
  assert_true(shape->grid[0] == 8 && shape->grid[1] == 2);
  assert_true(shape->block[0] == 256 && shape->registers == 32);
  assert_int_equal(shape->dynamic_shared, 64);
  shape = &shapes[llmprof_id_at(details->shape, 1)];
  assert_true(shape->grid[0] == 16 && shape->registers == LLMPROF_NONE);
  assert_int_equal(shape->static_shared, 2112);
  assert_string_equal(
      test_string_of(trace, llmprof_id_at(details->short_name, 1)), "gemm");
  const llmprof_device *device = llmprof_trace_devices(trace, &count);
  assert_int_equal(count, 2);
  assert_string_equal(test_string_of(trace, device->name), "NVIDIA GPU");
  assert_string_equal(test_string_of(trace, device[1].name),
                      "AMD Instinct MI300X");
  assert_true(device->clock == INT64_C(1980000000));
  assert_true(device->bandwidth == INT64_C(4800000000000));
  assert_true(device->sm_count == 132 && device->compute_major == 9);
  llmprof_trace_close(trace);
}

/* Calls of a thread that is there twice are those of the first. */
TEST(host) {
  llmprof_error err = {0};
  llmprof_trace *trace = open_run();
  const llmprof_calls *calls = llmprof_trace_calls(trace, &err);
  const llmprof_ranges *ranges = llmprof_trace_ranges(trace, &err);
  const llmprof_attribution *of = llmprof_trace_attribution(trace, &err);
  assert_true(calls && ranges && of);
  assert_int_equal(calls->count, 3);
  assert_int_equal(ranges->count, 4);
  assert_string_equal(test_string_of(trace, llmprof_id_at(ranges->tag, 0)),
                      "train");
  assert_int_equal(llmprof_values_get(ranges->payload, 0), 3);
  assert_string_equal(test_string_of(trace, llmprof_id_at(ranges->tag, 1)),
                      "TSL:XlaModule:#hlo_module=jit_step,program_id=7#");
  assert_string_equal(test_string_of(trace, llmprof_id_at(ranges->tag, 2)),
                      "TSL:Thunk:#hlo_op=loop_add_fusion#");
  assert_int_equal(llmprof_id_at(of->range, llmprof_id_at(of->link, 0)), 2);
  assert_int_equal(llmprof_id_at(of->range, llmprof_id_at(of->link, 1)), 3);
  assert_int_equal(llmprof_id_at(of->parent, 2), 1);
  llmprof_trace_close(trace);
}

static const char *diagnostic_of(llmprof_trace *trace, const char *word) {
  llmprof_error err = {0};
  size_t count;
  const llmprof_diagnostic *all =
      llmprof_trace_diagnostics(trace, &count, &err);
  for (size_t i = 0; i < count; i++)
    if (strstr(test_string_of(trace, all[i].text), word))
      return test_string_of(trace, all[i].text);
  fail_msg("nothing says '%s'", word);
  return NULL;
}

TEST(what_is_said) {
  llmprof_trace *trace = open_run();
  assert_string_equal(diagnostic_of(trace, "planes"),
                      "1 planes of devices that are no GPU were left out, the "
                      "first is /device:TPU:0");
  assert_string_equal(diagnostic_of(trace, "usable"),
                      "1 events have no usable time and were left out");
  assert_string_equal(diagnostic_of(trace, "Python"),
                      "1 calls of Python's functions and 1 events without a "
                      "duration were passed over");
  llmprof_trace_close(trace);
}

static llmprof_trace *read_bytes(const void *bytes, size_t size,
                                 llmprof_error *err) {
  return llmprof_reader_open(&llmprof_xplane_reader,
                             test_file("x.pb", bytes, size), err);
}

/* What comes before the end of a cut file is read, or it is an error. Nobody
 * can tell a file that ends between two planes. */
static void open_prefix(const char *bytes, size_t size) {
  llmprof_error err = {0};
  llmprof_trace *trace = read_bytes(bytes, size, &err);
  if (!trace) {
    assert_true(err.code == LLMPROF_EMPTY || err.code == LLMPROF_SYNTAX);
    assert_null(strchr(err.message, '\n'));
    return;
  }
  llmprof_trace_close(trace);
}

TEST(damage) {
  llmprof_buffer bytes = {0};
  llmprof_error err = {0};
  assert_true(llmprof_fs_read(RUN, SIZE_MAX, &bytes, &err));
  test_every_prefix(bytes.bytes, bytes.size, open_prefix);
  llmprof_trace *trace = read_bytes(bytes.bytes, 1100, &err);
  assert_non_null(trace);
  assert_non_null(strstr(diagnostic_of(trace, "cut"), "from byte 1079 on"));
  llmprof_trace_close(trace);
  assert_null(read_bytes(bytes.bytes, 100, &err));
  test_error_of(&err, LLMPROF_SYNTAX, test_file("x.pb", "", 0),
                ": byte 18: a plane that is cut short or damaged, and no event "
                "before it");
  assert_null(read_bytes(bytes.bytes, 18, &err));
  test_error_of(&err, LLMPROF_EMPTY, test_file("x.pb", "", 0),
                ": no event of a GPU or a host in its planes");
  llmprof_buffer_free(&bytes);
}

/* The program's metadata tells the line and the scope of an instruction. */
TEST(lines) {
  llmprof_error err = {0};
  llmprof_trace *trace = open_run();
  llmprof_frame *frame = llmprof_trace_frame(trace, "gpu", &err);
  assert_string_equal(test_cell_text(frame, "line", 0), "m/model.py:12");
  assert_string_equal(test_cell_text(frame, "torch_module", 0), "layer_0.mlp");
  for (size_t row = 1; row < 4; row++)
    assert_string_equal(test_cell_text(frame, "line", row), "absent");
  llmprof_frame_free(frame);
  llmprof_trace_close(trace);
}

static bool load_all(void *arg, llmprof_error *err) {
  llmprof_trace *trace = llmprof_reader_open(&llmprof_xplane_reader, arg, err);
  size_t count;
  bool ok = trace && llmprof_trace_details(trace, err) &&
            llmprof_trace_attribution(trace, err) &&
            llmprof_trace_op_stacks(trace, err) &&
            llmprof_trace_diagnostics(trace, &count, err);
  llmprof_trace_close(trace);
  return ok;
}

TEST(allocations) {
  test_every_allocation(load_all, (void *)RUN);
}

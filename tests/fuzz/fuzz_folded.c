/* Collapsed stacks: no sample is lost on the way to the tree, and no function
 * has more samples than there are. */
#include "fuzz.h"
#include "trace/built_in_readers.h"

static const llmprof_column *column(llmprof_frame *frame, const char *name) {
  const llmprof_column *found =
      llmprof_frame_column(frame, llmprof_frame_find(frame, name), NULL);
  FUZZ_CHECK(found);
  return found;
}

/* Samples that have a stack. */
static int64_t count(llmprof_frame *samples) {
  const llmprof_column *weight = column(samples, "weight");
  const llmprof_column *stack = column(samples, "stack");
  int64_t sum = 0;
  for (size_t row = 0; row < llmprof_frame_rows(samples); row++) {
    FUZZ_CHECK(llmprof_cell(weight, row) > 0);
    if (llmprof_cell(stack, row) != LLMPROF_ABSENT)
      sum += llmprof_cell(weight, row);
  }
  return sum;
}

static void check_sums(llmprof_frame *made, int64_t samples) {
  const llmprof_column *self = column(made, "self");
  const llmprof_column *total = column(made, "total");
  int64_t sum = 0;
  for (size_t row = 0; row < llmprof_frame_rows(made); row++) {
    sum += llmprof_cell(self, row);
    FUZZ_CHECK(llmprof_cell(self, row) <= llmprof_cell(total, row));
    FUZZ_CHECK(llmprof_cell(total, row) <= samples);
  }
  FUZZ_CHECK(sum == samples);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  llmprof_error err = {0};
  llmprof_trace *trace =
      llmprof_reader_open(&llmprof_folded_reader, fuzz_file(bytes, size), &err);
  if (!trace) {
    FUZZ_CHECK(err.code != LLMPROF_OK && err.message[0]);
    return 0;
  }
  llmprof_frame *samples = llmprof_trace_frame(trace, "cpu_samples", &err);
  FUZZ_CHECK(samples);
  llmprof_frame *tree =
      llmprof_trace_stack_tree(trace, samples, 1, SIZE_MAX, &err);
  llmprof_frame *functions =
      llmprof_trace_stack_functions(trace, samples, &err);
  FUZZ_CHECK(tree && functions);
  check_sums(tree, count(samples));
  check_sums(functions, count(samples));
  llmprof_frame_free(functions);
  llmprof_frame_free(tree);
  llmprof_frame_free(samples);
  llmprof_trace_close(trace);
  return 0;
}

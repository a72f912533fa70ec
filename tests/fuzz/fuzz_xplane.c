/* Profiles of XLA: whatever is opened has all of its frames, in which nothing
 * ends before it begins; what is not says why in one line. */
#include <string.h>

#include "fuzz.h"
#include "llmprof/frame.h"
#include "trace/built_in_readers.h"

static void check_times(llmprof_frame *frame) {
  size_t start = llmprof_frame_find(frame, "start");
  if (start >= llmprof_frame_columns(frame)) return;
  const llmprof_column *from = llmprof_frame_column(frame, start, NULL);
  const llmprof_column *to =
      llmprof_frame_column(frame, llmprof_frame_find(frame, "end"), NULL);
  FUZZ_CHECK(from && to);
  for (size_t row = 0; row < llmprof_frame_rows(frame); row++) {
    FUZZ_CHECK(llmprof_cell(from, row) >= 0);
    FUZZ_CHECK(llmprof_cell(from, row) <= llmprof_cell(to, row));
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  llmprof_error err = {0};
  llmprof_trace *trace =
      llmprof_reader_open(&llmprof_xplane_reader, fuzz_file(bytes, size), &err);
  if (!trace) {
    FUZZ_CHECK(err.code == LLMPROF_EMPTY || err.code == LLMPROF_SYNTAX);
    FUZZ_CHECK(err.message[0] && !strchr(err.message, '\n'));
    return 0;
  }
  const char *name;
  for (size_t i = 0; (name = llmprof_trace_frame_name(i)); i++) {
    llmprof_frame *frame = llmprof_trace_frame(trace, name, &err);
    FUZZ_CHECK(frame);
    check_times(frame);
    llmprof_frame_free(frame);
  }
  llmprof_trace_close(trace);
  return 0;
}

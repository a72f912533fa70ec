/* Events come out in the order of the file, whichever way it ends, and whatever
 * of it is damaged;
 * operators nest: none takes more time than it has. Opened as a trace, it has
 * all of its frames. */
#include <string.h>

#include "fuzz.h"
#include "torch/chrome_trace.h"
#include "torch/operators.h"
#include "trace/built_in_readers.h"

static void check_order(const llmprof_chrome_event *before,
                        const llmprof_chrome_event *event) {
  FUZZ_CHECK(event->line > before->line ||
             (event->line == before->line && event->column > before->column));
}

/* How reading what is sound ended: LLMPROF_OK or the error's code. */
static llmprof_code read_events(const uint8_t *bytes, size_t size, bool *cut) {
  llmprof_error err = {0};
  llmprof_chrome *reader = llmprof_chrome_open(fuzz_file(bytes, size), &err);
  FUZZ_CHECK(reader);
  llmprof_chrome_event event, before = {0};
  llmprof_chrome_damage damage = {0};
  int got;
  while ((got = llmprof_chrome_next(reader, &event, &damage, &err)) == 1) {
    check_order(&before, &event);
    before = event;
  }
  FUZZ_CHECK(got == 0 || (err.code != LLMPROF_OK && err.message[0]));
  llmprof_chrome_close(reader);
  *cut = damage.cut;
  return got == 0 ? LLMPROF_OK : err.code;
}

static void check_column(llmprof_frame *frame, const char *least,
                         const char *most) {
  const llmprof_column *low =
      llmprof_frame_column(frame, llmprof_frame_find(frame, least), NULL);
  const llmprof_column *high =
      llmprof_frame_column(frame, llmprof_frame_find(frame, most), NULL);
  FUZZ_CHECK(low && high);
  for (size_t row = 0; row < llmprof_frame_rows(frame); row++) {
    FUZZ_CHECK(llmprof_cell(low, row) >= 0);
    FUZZ_CHECK(llmprof_cell(low, row) <= llmprof_cell(high, row));
  }
}

/* Every frame can be had; none ends before it begins. */
static void check_frames(llmprof_trace *trace) {
  llmprof_error err = {0};
  const char *name;
  for (size_t i = 0; (name = llmprof_trace_frame_name(i)); i++) {
    llmprof_frame *frame = llmprof_trace_frame(trace, name, &err);
    FUZZ_CHECK(frame);
    size_t start = llmprof_frame_find(frame, "start");
    if (start < llmprof_frame_columns(frame))
      check_column(frame, "start", "end");
    llmprof_frame_free(frame);
  }
}

static void open_as_trace(const uint8_t *bytes, size_t size,
                          llmprof_code code) {
  llmprof_error err = {0};
  llmprof_trace *trace =
      llmprof_reader_open(&llmprof_torch_reader, fuzz_file(bytes, size), &err);
  if (!trace) {
    FUZZ_CHECK(err.code == (code == LLMPROF_OK ? LLMPROF_EMPTY : code));
    return;
  }
  FUZZ_CHECK(code == LLMPROF_OK);
  check_frames(trace);
  llmprof_trace_close(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  bool cut;
  llmprof_code code = read_events(bytes, size, &cut);
  open_as_trace(bytes, size, code);
  llmprof_error err = {0};
  llmprof_operators *operators =
      llmprof_operators_load(fuzz_file(bytes, size), &err);
  if (!operators) {
    FUZZ_CHECK(cut || err.code == code || err.code == LLMPROF_RANGE);
    return 0;
  }
  FUZZ_CHECK(code == LLMPROF_OK && !cut);
  llmprof_frame *frame = llmprof_operators_frame(operators, "host", &err);
  FUZZ_CHECK(frame);
  check_column(frame, "self", "duration");
  llmprof_frame_free(frame);
  llmprof_operators_free(operators);
  return 0;
}

/* Events come out in the order of the file, whichever way it ends;
 * operators nest: none takes more time than it has. */
#include <string.h>

#include "fuzz.h"
#include "llmprof/chrome_trace.h"
#include "llmprof/operators.h"

static void check_order(const llmprof_chrome_event *before,
                        const llmprof_chrome_event *event) {
  FUZZ_CHECK(event->line > before->line ||
             (event->line == before->line && event->column > before->column));
}

/* How reading ended: LLMPROF_OK or the error's code. */
static llmprof_code read_events(const uint8_t *bytes, size_t size) {
  llmprof_error err = {0};
  llmprof_chrome *reader = llmprof_chrome_open_bytes("fuzz", bytes, size, &err);
  FUZZ_CHECK(reader);
  llmprof_chrome_event event, before = {0};
  int got;
  while ((got = llmprof_chrome_next(reader, &event, &err)) == 1) {
    check_order(&before, &event);
    before = event;
  }
  FUZZ_CHECK(got == 0 || (err.code != LLMPROF_OK && err.message[0]));
  llmprof_chrome_close(reader);
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

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  llmprof_code code = read_events(bytes, size);
  llmprof_error err = {0};
  llmprof_operators *operators =
      llmprof_operators_load_bytes("fuzz", bytes, size, &err);
  if (!operators) {
    FUZZ_CHECK(err.code == code || err.code == LLMPROF_RANGE);
    return 0;
  }
  FUZZ_CHECK(code == LLMPROF_OK);
  llmprof_frame *frame = llmprof_operators_frame(operators, "host", &err);
  FUZZ_CHECK(frame);
  check_column(frame, "self", "duration");
  llmprof_frame_free(frame);
  llmprof_operators_free(operators);
  return 0;
}

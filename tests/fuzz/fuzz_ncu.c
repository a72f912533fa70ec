/* ncu's raw page as any bytes; the first says which metrics are asked for. What
 * is read of a launch does not depend on what is read beside it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "frame/cells.h"
#include "fuzz.h"
#include "ncu/ncu_page.h"

enum {
  MOST = 64 /* metrics that are asked for */
};

static const llmprof_column *column(llmprof_frame *frame, const char *name) {
  const llmprof_column *found =
      llmprof_frame_column(frame, llmprof_frame_find(frame, name), NULL);
  FUZZ_CHECK(found);
  return found;
}

static void check_rows(llmprof_frame *frame) {
  const llmprof_column *line = column(frame, "line");
  const llmprof_column *launch = column(frame, "launch");
  int64_t before = 0;
  FUZZ_CHECK(llmprof_frame_rows(frame) > 0);
  for (size_t row = 0; row < llmprof_frame_rows(frame); row++) {
    FUZZ_CHECK(llmprof_cell(launch, row) != LLMPROF_ABSENT);
    FUZZ_CHECK(llmprof_cell(line, row) > before);
    before = llmprof_cell(line, row);
  }
}

/* Columns of one are those of the other. */
static void check_same(llmprof_frame *some, llmprof_frame *all) {
  size_t rows = llmprof_frame_rows(some);
  FUZZ_CHECK(rows == llmprof_frame_rows(all));
  for (size_t i = 0; i < llmprof_frame_columns(some); i++) {
    const llmprof_column *here = llmprof_frame_column(some, i, NULL);
    const llmprof_column *there = column(all, here->name);
    FUZZ_CHECK(here->type == there->type);
    for (size_t row = 0; row < rows; row++) {
      if (here->type == LLMPROF_STRING_ID) {
        const char *a = llmprof_cell_text(some, here, row, "");
        FUZZ_CHECK(strcmp(a, llmprof_cell_text(all, there, row, "")) == 0);
      } else {
        FUZZ_CHECK(llmprof_cell(here, row) == llmprof_cell(there, row));
      }
      if (here->type == LLMPROF_F64)
        FUZZ_CHECK(!isinf(llmprof_real_at(here, row)));
    }
  }
}

/* Each `step`-th metric; NULL where the page is broken. */
static llmprof_frame *read_metrics(llmprof_ncu_page *page, uint32_t step) {
  uint32_t wanted[MOST];
  size_t count = 0;
  llmprof_error err = {0};
  for (uint32_t i = 0; i < llmprof_ncu_page_metrics(page) && count < MOST;
       i += step)
    wanted[count++] = i;
  llmprof_frame *frame = llmprof_ncu_page_counters(page, wanted, count, &err);
  if (frame) {
    check_rows(frame);
    return frame;
  }
  FUZZ_CHECK(err.code == LLMPROF_EMPTY ||
             (err.code == LLMPROF_SYNTAX && err.line));
  FUZZ_CHECK(!strchr(err.message, '\n'));
  return NULL;
}

static llmprof_ncu_page *open_input(const uint8_t *bytes, size_t size) {
  llmprof_error err = {0};
  llmprof_ncu_page *page = llmprof_ncu_page_open(fuzz_file(bytes, size), &err);
  FUZZ_CHECK(page || err.code == LLMPROF_SYNTAX || err.code == LLMPROF_EMPTY ||
             err.code == LLMPROF_UNSUPPORTED);
  return page;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  if (!size) return 0;
  llmprof_ncu_page *page = open_input(bytes + 1, size - 1);
  if (!page) return 0;
  llmprof_ncu_page *again = open_input(bytes + 1, size - 1);
  FUZZ_CHECK(again);
  llmprof_frame *all = read_metrics(page, 1),
                *some = read_metrics(again, 2 + bytes[0] % 7);
  if (llmprof_ncu_page_metrics(page) <= MOST) {
    /* a metric that is no number refuses the page where it is asked for */
    FUZZ_CHECK(some || !all);
    if (all) check_same(some, all);
  }
  llmprof_frame_free(all);
  llmprof_frame_free(some);
  llmprof_ncu_page_close(page);
  llmprof_ncu_page_close(again);
  return 0;
}

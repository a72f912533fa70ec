/* Columns computed from others of the same row, and from a column's sum. */
#include <math.h>

#include "base/interrupt.h"
#include "frame/cells.h"
#include "frame/relate.h"
#include "llmprof/alloc.h"

bool llmprof_frame_share(llmprof_frame *frame, size_t number, const char *name,
                         llmprof_error *err) {
  const llmprof_column *from = llmprof_frame_column(frame, number, err);
  if (!from) return false;
  size_t rows = llmprof_frame_rows(frame);
  double *out = llmprof_alloc(rows, sizeof *out), sum = 0;
  if (!out) return llmprof_fail_nomem(err);
  for (size_t row = 0; row < rows; row++) {
    if (llmprof_interrupted_at(row)) {
      llmprof_free(out);
      return llmprof_fail_interrupted(err);
    }
    out[row] = llmprof_real_at(from, row);
    if (!isnan(out[row])) sum += out[row];
  }
  for (size_t row = 0; row < rows; row++)
    out[row] = sum > 0 ? out[row] / sum : NAN;
  return llmprof_frame_give(frame, name, "share", LLMPROF_F64, out, err);
}

bool llmprof_frame_less(llmprof_frame *frame, size_t column, size_t by,
                        const char *name, llmprof_error *err) {
  const llmprof_column *from = llmprof_frame_column(frame, column, err);
  const llmprof_column *taken =
      from ? llmprof_frame_column(frame, by, err) : NULL;
  if (!taken) return false;
  size_t rows = llmprof_frame_rows(frame);
  int64_t *out = llmprof_alloc(rows, sizeof *out);
  for (size_t row = 0; out && row < rows; row++) {
    if (llmprof_interrupted_at(row)) {
      llmprof_free(out);
      return llmprof_fail_interrupted(err);
    }
    int64_t a = llmprof_cell(from, row), b = llmprof_cell(taken, row);
    bool known = a != LLMPROF_ABSENT && b != LLMPROF_ABSENT;
    if (!known || __builtin_sub_overflow(a, b, &out[row]))
      out[row] = LLMPROF_ABSENT;
  }
  return llmprof_frame_give(frame, name, from->unit, LLMPROF_I64, out, err);
}

/* What a column looks like over another one, in as few bins as a picture has
 * places. */
#include <math.h>

#include "base/interrupt.h"
#include "frame/cells.h"
#include "frame/downsample.h"

/* The bin of a place; `count` when it is outside. */
static size_t bin_at(double place, double low, double high, size_t count) {
  if (!(place >= low && place <= high)) return count;
  if (high <= low) return 0;
  double bin = (place - low) / (high - low) * (double)count;
  return bin < (double)count ? (size_t)bin : count - 1;
}

static void add(llmprof_bin *bin, double value) {
  if (bin->count == 0 || value < bin->least) bin->least = value;
  if (bin->count == 0 || value > bin->most) bin->most = value;
  bin->count++;
}

bool llmprof_frame_downsample(llmprof_frame *frame, size_t x, size_t y,
                              double low, double high, llmprof_bin *bins,
                              size_t count, llmprof_error *err) {
  const llmprof_column *values = llmprof_frame_column(frame, y, err);
  const llmprof_column *places = NULL;
  if (values && x != SIZE_MAX) places = llmprof_frame_column(frame, x, err);
  if (!values || (x != SIZE_MAX && !places)) return false;
  for (size_t i = 0; i < count; i++) bins[i] = (llmprof_bin){0};
  for (size_t row = 0; row < llmprof_frame_rows(frame); row++) {
    if (llmprof_interrupted_at(row)) return llmprof_fail_interrupted(err);
    double value = llmprof_real_at(values, row);
    double place = places ? llmprof_real_at(places, row) : (double)row;
    if (isnan(value) || isnan(place)) continue;
    size_t bin = bin_at(place, low, high, count);
    if (bin < count) add(&bins[bin], value);
  }
  return true;
}

#include "read_export.h"

#include <stdint.h>
#include <string.h>

#include "frame/interval.h"
#include "llmprof/frame.h"
#include "llmprof/readers.h"

/* A total that does not fit is no failure of the export. */
static bool group_by(llmprof_frame *frame, size_t column, llmprof_error *err) {
  const llmprof_aggregate wanted[] = {{"distinct", LLMPROF_DISTINCT, column, 0},
                                      {"total", LLMPROF_SUM, column, 0},
                                      {"median", LLMPROF_MEDIAN, column, 0}};
  bool text = llmprof_frame_peek(frame, column)->type == LLMPROF_STRING_ID;
  llmprof_error problem = {0};
  llmprof_frame *made = llmprof_frame_aggregate(frame, &column, 1, wanted,
                                                text ? 1 : 3, &problem);
  bool ok = made || problem.code == LLMPROF_RANGE;
  llmprof_frame_free(made);
  if (!ok) *err = problem;
  return ok;
}

static bool unite(llmprof_frame *frame, llmprof_error *err) {
  size_t start = llmprof_frame_find(frame, "start");
  size_t end = llmprof_frame_find(frame, "end");
  if (start == SIZE_MAX) return true;
  llmprof_intervals busy, gaps;
  if (!llmprof_intervals_of_frame(&busy, frame, start, end, err)) return false;
  bool ok = llmprof_intervals_gaps(&gaps, &busy, INT64_MIN, INT64_MAX, 1, err);
  if (ok) llmprof_intervals_free(&gaps);
  llmprof_intervals_free(&busy);
  return ok;
}

/* Every string, to its end. */
static size_t text_size(const llmprof_frame *frame,
                        const llmprof_column *column) {
  size_t total = 0, size;
  if (column->type != LLMPROF_STRING_ID) return 0;
  for (size_t row = 0; row < llmprof_frame_rows(frame); row++) {
    int64_t id = llmprof_cell(column, row);
    if (id == INT64_MIN) continue;
    const char *text =
        llmprof_strings_get(llmprof_frame_strings(frame), (uint32_t)id, &size);
    total += strlen(text) + size;
  }
  return total;
}

static bool read_columns(llmprof_frame *frame, llmprof_error *err) {
  bool ok = true;
  for (size_t c = 0; ok && c < llmprof_frame_columns(frame); c++) {
    const llmprof_column *column = llmprof_frame_column(frame, c, err);
    ok = column && text_size(frame, column) < SIZE_MAX &&
         group_by(frame, c, err);
  }
  return ok && unite(frame, err);
}

static const llmprof_trace_tag tags[] = {{"decode", NULL}, {"prefill", "p"}};

static bool read_steps(llmprof_trace *trace, llmprof_error *err) {
  llmprof_frame *frame = llmprof_trace_steps(trace, tags, 2, err);
  bool ok = frame && read_columns(frame, err);
  llmprof_frame_free(frame);
  return ok;
}

static bool read_stacks(llmprof_trace *trace, llmprof_frame *samples,
                        llmprof_error *err) {
  llmprof_frame *tree = llmprof_trace_stack_tree(trace, samples, 1, 100, err);
  llmprof_frame *functions =
      tree ? llmprof_trace_stack_functions(trace, samples, err) : NULL;
  bool ok =
      functions && read_columns(tree, err) && read_columns(functions, err);
  llmprof_frame_free(functions);
  llmprof_frame_free(tree);
  return ok;
}

static bool read_frame(llmprof_trace *trace, const char *name,
                       llmprof_error *err) {
  llmprof_frame *frame = llmprof_trace_frame(trace, name, err);
  if (!frame) return false;
  bool sampled = llmprof_frame_find(frame, "cpu_sample") != SIZE_MAX;
  bool labelled = (!sampled && llmprof_frame_find(frame, "op") == SIZE_MAX) ||
                  llmprof_trace_label(trace, frame, "stage", tags, 2, err);
  bool ok = labelled && read_columns(frame, err) &&
            (!sampled || read_stacks(trace, frame, err));
  llmprof_frame_free(frame);
  return ok;
}

bool read_export_frame(const char *path, const char *name, llmprof_error *err) {
  llmprof_trace *trace = llmprof_trace_open(path, err);
  bool ok = trace && read_frame(trace, name, err);
  llmprof_trace_close(trace);
  return ok;
}

size_t read_parts(void) {
  size_t frames = 0;
  while (llmprof_trace_frame_name(frames)) frames++;
  return frames + 1;
}

bool read_part(llmprof_trace *trace, size_t part, llmprof_error *err) {
  const char *name = llmprof_trace_frame_name(part);
  return name ? read_frame(trace, name, err) : read_steps(trace, err);
}

bool read_trace(llmprof_trace *trace, llmprof_error *err) {
  bool ok = true;
  size_t parts = read_parts();
  for (size_t part = 0; ok && part < parts; part++)
    ok = read_part(trace, part, err);
  return ok;
}

bool read_export(const char *path, llmprof_error *err) {
  llmprof_trace *trace = llmprof_trace_open(path, err);
  bool ok = trace && read_trace(trace, err);
  llmprof_trace_close(trace);
  return ok;
}

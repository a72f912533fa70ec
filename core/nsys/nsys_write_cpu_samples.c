/* Samples of the CPU as tables of nsys. Those without a time have no place
 * there. */
#include <string.h>

#include "nsys/nsys_cpu_samples.h"
#include "nsys/nsys_writer.h"
#include "trace/trace_events.h"

static bool write_events(nsys_writer *w, const llmprof_cpu_samples *samples) {
  static const char *const columns[] = {
      "id INTEGER NOT NULL PRIMARY KEY", "start INTEGER NOT NULL",
      "cpu INTEGER", "globalTid INTEGER", "cpuCycles INTEGER"};
  nsys_sheet sheet;
  bool ok =
      nsys_sheet_open(&sheet, w, "COMPOSITE_EVENTS", columns, COUNT(columns));
  for (size_t i = 0; ok && i < samples->count; i++) {
    int64_t time = llmprof_values_get(samples->time, i);
    if (time == LLMPROF_ABSENT) continue;
    nsys_put_integer(&sheet, (int64_t)i + 1);
    nsys_put_integer(&sheet, time);
    nsys_put_null(&sheet);
    nsys_put_thread(&sheet, llmprof_id_at(samples->thread, i));
    nsys_put_null(&sheet);
    ok = nsys_sheet_end_row(&sheet);
  }
  nsys_sheet_close(&sheet);
  return ok;
}

static bool put_frame(nsys_sheet *sheet, size_t sample, uint32_t function,
                      uint32_t module, int64_t depth) {
  nsys_put_integer(sheet, (int64_t)sample + 1);
  nsys_put_string_id(sheet, function);
  nsys_put_string_id(sheet, module);
  nsys_put_null(sheet);
  nsys_put_integer(sheet, depth);
  return nsys_sheet_end_row(sheet);
}

/* From the innermost frame outwards; broken: the string that ends one of which
 * the outer frames are missing. */
static bool put_stack(nsys_sheet *sheet, const llmprof_cpu_samples *samples,
                      size_t sample, const llmprof_stack_frame *frames,
                      uint32_t broken) {
  int64_t depth = 0;
  bool ok = true;
  for (uint32_t at = llmprof_id_at(samples->stack, sample);
       ok && at != LLMPROF_NONE; at = frames[at].parent)
    ok = put_frame(sheet, sample, frames[at].function, frames[at].module,
                   depth++);
  if (ok && llmprof_values_get(samples->cut, sample) == 1 &&
      broken != LLMPROF_NO_STRING)
    ok = put_frame(sheet, sample, broken, broken, depth);
  return ok;
}

static bool write_stacks(nsys_writer *w, const llmprof_cpu_samples *samples) {
  static const char *const columns[] = {"id INTEGER NOT NULL", "symbol INTEGER",
                                        "module INTEGER", "unresolved INTEGER",
                                        "stackDepth INTEGER NOT NULL"};
  size_t count;
  const llmprof_stack_frame *frames =
      llmprof_trace_rows(w->trace, LLMPROF_STACK_FRAMES, &count);
  uint32_t broken = llmprof_strings_find(w->strings, NSYS_BROKEN_STACK,
                                         strlen(NSYS_BROKEN_STACK));
  nsys_sheet sheet;
  bool ok = nsys_sheet_open(&sheet, w, "SAMPLING_CALLCHAINS", columns,
                            COUNT(columns));
  for (size_t i = 0; ok && i < samples->count; i++) {
    if (llmprof_values_get(samples->time, i) != LLMPROF_ABSENT)
      ok = put_stack(&sheet, samples, i, frames, broken);
  }
  nsys_sheet_close(&sheet);
  return ok;
}

bool nsys_write_cpu_samples(nsys_writer *w) {
  const llmprof_cpu_samples *samples =
      llmprof_trace_cpu_samples(w->trace, w->edit->err);
  if (!samples) return false;
  if (!llmprof_trace_has(w->trace, LLMPROF_TABLE_CPU_SAMPLES)) return true;
  return write_events(w, samples) && write_stacks(w, samples);
}

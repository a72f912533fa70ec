/* Samples of the CPU as tables of nsys. Those without a time have no place
 * there. */
#include <string.h>

#include "nsys/nsys_cpu_samples.h"
#include "nsys/nsys_writer.h"
#include "trace/trace_events.h"

typedef struct sample_source {
  const llmprof_cpu_samples *samples;
  const llmprof_stack_frame *frames;
  uint32_t broken; /* the string that ends a stack whose outer frames are
                      missing */
} sample_source;

static void put_event(nsys_sheet *sheet, const void *from, size_t i) {
  const llmprof_cpu_samples *samples = ((const sample_source *)from)->samples;
  int64_t time = llmprof_values_get(samples->time, i);
  if (time == LLMPROF_ABSENT) return;
  nsys_put_integer(sheet, (int64_t)i + 1);
  nsys_put_integer(sheet, time);
  nsys_put_null(sheet);
  nsys_put_thread(sheet, llmprof_id_at(samples->thread, i));
  nsys_put_null(sheet);
  nsys_end_row(sheet);
}

static void put_frame(nsys_sheet *sheet, size_t sample, uint32_t function,
                      uint32_t module, int64_t depth) {
  nsys_put_integer(sheet, (int64_t)sample + 1);
  nsys_put_string_id(sheet, function);
  nsys_put_string_id(sheet, module);
  nsys_put_null(sheet);
  nsys_put_integer(sheet, depth);
  nsys_end_row(sheet);
}

/* From the innermost frame outwards. */
static void put_stack(nsys_sheet *sheet, const void *from, size_t i) {
  const sample_source *s = from;
  int64_t depth = 0;
  if (llmprof_values_get(s->samples->time, i) == LLMPROF_ABSENT) return;
  for (uint32_t at = llmprof_id_at(s->samples->stack, i); at != LLMPROF_NONE;
       at = s->frames[at].parent)
    put_frame(sheet, i, s->frames[at].function, s->frames[at].module, depth++);
  if (llmprof_values_get(s->samples->cut, i) == 1 &&
      s->broken != LLMPROF_NO_STRING)
    put_frame(sheet, i, s->broken, s->broken, depth);
}

bool nsys_write_cpu_samples(nsys_writer *w) {
  static const char *const events[] = {"id INTEGER NOT NULL PRIMARY KEY",
                                       "start INTEGER NOT NULL", "cpu",
                                       "globalTid", "cpuCycles"};
  static const char *const stacks[] = {"id INTEGER NOT NULL", "symbol",
                                       "module", "unresolved",
                                       "stackDepth INTEGER NOT NULL"};
  size_t count;
  sample_source from;
  from.samples = llmprof_trace_cpu_samples(w->trace, w->edit->err);
  if (!from.samples) return false;
  /* once the samples are loaded, which add them */
  from.frames = llmprof_trace_rows(w->trace, LLMPROF_STACK_FRAMES, &count);
  from.broken = llmprof_strings_find(w->strings, NSYS_BROKEN_STACK,
                                     strlen(NSYS_BROKEN_STACK));
  count = from.samples->count;
  return !llmprof_trace_has(w->trace, LLMPROF_TABLE_CPU_SAMPLES) ||
         (nsys_write_table(w, "COMPOSITE_EVENTS", events, COUNT(events),
                           put_event, &from, count) &&
          nsys_write_table(w, "SAMPLING_CALLCHAINS", stacks, COUNT(stacks),
                           put_stack, &from, count));
}

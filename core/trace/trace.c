/* What a trace says about itself. */
#include "llmprof/trace.h"

#include "trace/trace_events.h"
#include "trace/trace_internal.h"

const char *llmprof_trace_path(const llmprof_trace *trace) {
  return trace->path;
}

const llmprof_strings *llmprof_trace_strings(const llmprof_trace *trace) {
  return trace->strings;
}

const char *llmprof_trace_reader(const llmprof_trace *trace) {
  return trace->reader ? trace->reader->name : NULL;
}

const char *llmprof_trace_schema(const llmprof_trace *trace) {
  return trace->schema;
}

const char *llmprof_trace_product(const llmprof_trace *trace) {
  return trace->product;
}

int64_t llmprof_trace_epoch(const llmprof_trace *trace) {
  return trace->epoch;
}

const llmprof_device *llmprof_trace_devices(const llmprof_trace *trace,
                                            size_t *count) {
  *count = trace->device_count;
  return trace->devices;
}

const llmprof_process *llmprof_trace_processes(const llmprof_trace *trace,
                                               size_t *count) {
  *count = trace->process_ids.count;
  return trace->processes;
}

const llmprof_thread *llmprof_trace_threads(const llmprof_trace *trace,
                                            size_t *count) {
  *count = trace->thread_ids.count;
  return trace->threads;
}

const llmprof_place *llmprof_trace_places(const llmprof_trace *trace,
                                          size_t *count) {
  *count = trace->places.count;
  return (const llmprof_place *)(const void *)trace->places.records;
}

const llmprof_shape *llmprof_trace_shapes(const llmprof_trace *trace,
                                          size_t *count) {
  *count = trace->shapes.count;
  return (const llmprof_shape *)(const void *)trace->shapes.records;
}

bool llmprof_trace_has(const llmprof_trace *trace, llmprof_trace_table table) {
  return trace->has[table];
}

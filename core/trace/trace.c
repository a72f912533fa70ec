/* A trace: made and ended here; and what it says about itself. */
#include "llmprof/trace.h"

#include "base/alloc.h"
#include "trace/trace_events.h"
#include "trace/trace_internal.h"

/* Details come with operations, and so go. */
void llmprof_trace_clear(llmprof_trace *trace, int piece) {
  llmprof_builder *b = trace->builder;
  llmprof_columns_free(trace, piece);
  for (int table = 0; table < LLMPROF_TABLES; table++)
    if (llmprof_part_of(table) == piece) trace->timeless[table] = 0;
  if (piece == LLMPROF_PART_OPS) {
    trace->ops = (llmprof_ops){0};
    b->kind = LLMPROF_KERNEL;
    if (!trace->loaded[LLMPROF_PART_DETAILS])
      llmprof_trace_clear(trace, LLMPROF_PART_DETAILS);
  } else if (piece == LLMPROF_PART_RANGES) {
    b->last_time = LLMPROF_ABSENT;
  } else if (piece == LLMPROF_PART_CPU_SAMPLES) {
    llmprof_intern_free(&trace->rows[LLMPROF_STACK_FRAMES]);
  }
}

llmprof_trace *llmprof_trace_new_bare(const char *path, llmprof_error *err) {
  llmprof_trace *trace = llmprof_zalloc(1, sizeof *trace);
  if (!trace) return llmprof_fail_nomem(err), NULL;
  trace->epoch = LLMPROF_ABSENT;
  llmprof_dimensions_begin(trace);
  trace->path = llmprof_strdup(path);
  trace->strings = llmprof_strings_new();
  trace->builder = llmprof_zalloc(1, sizeof *trace->builder);
  if (!trace->path || !trace->strings || !trace->builder) {
    llmprof_trace_close(trace);
    return llmprof_fail_nomem(err), NULL;
  }
  *trace->builder =
      (llmprof_builder){.trace = trace, .last_time = LLMPROF_ABSENT};
  return trace;
}

llmprof_trace *llmprof_trace_new(const char *path, llmprof_error *err) {
  llmprof_trace *trace = llmprof_trace_new_bare(path, err);
  if (!trace) return NULL;
  bool ok = llmprof_words_add(&trace->words, trace->strings);
  for (int part = 0; ok && part < LLMPROF_PARTS; part++)
    ok = llmprof_columns_begin(trace, part);
  if (ok) return trace;
  llmprof_trace_close(trace);
  return llmprof_fail_nomem(err), NULL;
}

/* The reader may own what strings and columns lie in: it is closed last. */
void llmprof_trace_close(llmprof_trace *trace) {
  if (!trace) return;
  for (int piece = 0; piece < LLMPROF_PIECES; piece++)
    llmprof_columns_free(trace, piece);
  llmprof_strings_free(trace->strings);
  llmprof_dimensions_free(trace);
  llmprof_free(trace->source_places);
  llmprof_free(trace->source_paths);
  llmprof_free(trace->diagnostics);
  llmprof_free(trace->schema);
  llmprof_free(trace->product);
  llmprof_free(trace->devices);
  llmprof_free(trace->path);
  if (trace->builder) {
    llmprof_builder_forget_ranges(trace->builder);
    llmprof_builder_forget_cpu_samples(trace->builder);
    llmprof_builder_forget_generated(trace->builder);
    llmprof_intern_free(&trace->builder->device_ids);
  }
  llmprof_free(trace->builder);
  if (trace->from.is_open && trace->from.reader->close)
    trace->from.reader->close(trace->from.state);
  llmprof_free(trace);
}

/* ---- what it says ---- */

const char *llmprof_trace_path(const llmprof_trace *trace) {
  return trace->path;
}

const llmprof_strings *llmprof_trace_strings(const llmprof_trace *trace) {
  return trace->strings;
}

const char *llmprof_trace_reader(const llmprof_trace *trace) {
  return trace->from.reader ? trace->from.reader->name : NULL;
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

const void *llmprof_trace_rows(const llmprof_trace *trace, llmprof_dimension of,
                               size_t *count) {
  *count = trace->rows[of].count;
  return trace->rows[of].records;
}

const llmprof_process *llmprof_trace_processes(const llmprof_trace *trace,
                                               size_t *count) {
  return llmprof_trace_rows(trace, LLMPROF_PROCESSES, count);
}

const llmprof_thread *llmprof_trace_threads(const llmprof_trace *trace,
                                            size_t *count) {
  return llmprof_trace_rows(trace, LLMPROF_THREADS, count);
}

bool llmprof_trace_has(const llmprof_trace *trace, llmprof_trace_table table) {
  return trace->has[table];
}

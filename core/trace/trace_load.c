/* Parts of a trace, loaded when something first needs them. */
#include "trace/trace_events.h"
#include "trace/trace_internal.h"

static bool end_rows(llmprof_builder *builder, llmprof_part part,
                     llmprof_error *err) {
  llmprof_builder_expect(builder, 0);
  switch (part) {
  case LLMPROF_PART_OPS:
    llmprof_builder_end_ops(builder);
    return true;
  case LLMPROF_PART_DETAILS:
    return llmprof_builder_end_details(builder, err);
  case LLMPROF_PART_RANGES:
    return llmprof_builder_end_ranges(builder, err);
  case LLMPROF_PART_CPU_SAMPLES:
    return llmprof_builder_end_cpu_samples(builder, err);
  case LLMPROF_PART_CALLS:
  case LLMPROF_PART_SAMPLES:
  case LLMPROF_PART_DIAGNOSTICS:
  case LLMPROF_PARTS:
    break;
  }
  return true;
}

static bool end_part(llmprof_builder *builder, llmprof_part part,
                     llmprof_error *err) {
  return end_rows(builder, part, err) &&
         (llmprof_columns_end(builder->trace, (int)part) ||
          llmprof_fail_nomem(err));
}

/* What the reader says when it opens the file; devices are said again. */
static bool start_reading(llmprof_trace *trace, llmprof_error *err) {
  const llmprof_reader *reader = trace->reader;
  if (!reader || trace->reading) return true;
  trace->device_count = 0;
  trace->reading =
      reader->open(trace->path, trace->builder, &trace->reader_state, err);
  if (trace->reading) return true;
  if (reader->close) reader->close(trace->reader_state);
  trace->reader_state = NULL;
  return false;
}

/* Details may be read with operations. */
static bool begin_columns(llmprof_trace *trace, llmprof_part part) {
  return llmprof_columns_begin(trace, (int)part) &&
         (part != LLMPROF_PART_OPS ||
          llmprof_columns_begin(trace, LLMPROF_PART_DETAILS));
}

static bool fill(llmprof_trace *trace, llmprof_part part, llmprof_error *err) {
  const llmprof_reader *reader = trace->reader;
  if (!begin_columns(trace, part)) return llmprof_fail_nomem(err);
  if (!start_reading(trace, err)) return false;
  if (reader && reader->load &&
      !reader->load(trace->reader_state, trace->builder, part, err))
    return false;
  return end_part(trace->builder, part, err);
}

/* Are there as many rows as frames were told? */
static bool has_expected_rows(const llmprof_trace *trace, llmprof_part part,
                              llmprof_error *err) {
  const llmprof_snapshot *snapshot = &trace->snapshot;
  return !snapshot->is_expected[part] ||
         snapshot->rows[part] == llmprof_trace_rows(trace, part) ||
         llmprof_fail(err, LLMPROF_IO, "%s: changed while it was read",
                      trace->path);
}

static bool fill_and_check(llmprof_trace *trace, llmprof_part part,
                           llmprof_error *err) {
  return fill(trace, part, err) && has_expected_rows(trace, part, err);
}

/* Details that the reader added with the operations are a part of their own. */
static bool end_details(llmprof_trace *trace, llmprof_error *err) {
  bool *loaded = &trace->loaded[LLMPROF_PART_DETAILS];
  if (*loaded || !trace->builder->detail_count) return true;
  *loaded = end_part(trace->builder, LLMPROF_PART_DETAILS, err) &&
            has_expected_rows(trace, LLMPROF_PART_DETAILS, err);
  return *loaded;
}

void llmprof_trace_with_details(llmprof_trace *trace) {
  trace->with_details = true;
}

bool llmprof_trace_load(llmprof_trace *trace, llmprof_part part,
                        llmprof_error *err) {
  if (trace->loaded[part]) return true;
  if (part == LLMPROF_PART_DETAILS &&
      (!llmprof_trace_load(trace, LLMPROF_PART_OPS, err) ||
       trace->loaded[part]))
    return trace->loaded[part];
  trace->loaded[part] = llmprof_snapshot_take(trace, (int)part) ||
                        (fill_and_check(trace, part, err) &&
                         (part != LLMPROF_PART_OPS || end_details(trace, err)));
  if (!trace->loaded[part]) llmprof_trace_clear(trace, part);
  return trace->loaded[part];
}

bool llmprof_trace_count(llmprof_trace *trace, llmprof_part part,
                         llmprof_error *err) {
  return trace->snapshot.pieces[part] || llmprof_trace_load(trace, part, err);
}

/* ---- opening ---- */

/* What will not be loaded later is complete now. */
static bool load_all(llmprof_trace *trace, llmprof_error *err) {
  bool ok = true;
  for (int part = 0; ok && part < LLMPROF_PARTS; part++)
    ok = llmprof_trace_load(trace, (llmprof_part)part, err);
  return ok;
}

llmprof_trace *llmprof_reader_open(const llmprof_reader *reader,
                                   const char *path, llmprof_error *err) {
  llmprof_trace *trace = llmprof_trace_new(path, err);
  if (!trace) return NULL;
  trace->reader = reader;
  if (start_reading(trace, err) && (reader->load || load_all(trace, err)))
    return trace;
  llmprof_trace_close(trace);
  return NULL;
}

llmprof_builder *llmprof_builder_new(const char *name, llmprof_error *err) {
  llmprof_trace *trace = llmprof_trace_new(name, err);
  return trace ? trace->builder : NULL;
}

void llmprof_builder_free(llmprof_builder *builder) {
  if (builder) llmprof_trace_close(builder->trace);
}

llmprof_trace *llmprof_builder_finish(llmprof_builder *builder,
                                      llmprof_error *err) {
  llmprof_trace *trace = builder->trace;
  if (load_all(trace, err)) return trace;
  llmprof_trace_close(trace);
  return NULL;
}

/* ---- the parts ---- */

size_t llmprof_trace_timeless(const llmprof_trace *trace,
                              llmprof_trace_table table) {
  return trace->timeless[table];
}

const llmprof_ops *llmprof_trace_ops(llmprof_trace *trace, llmprof_error *err) {
  return llmprof_trace_load(trace, LLMPROF_PART_OPS, err) ? &trace->ops : NULL;
}

const llmprof_details *llmprof_trace_details(llmprof_trace *trace,
                                             llmprof_error *err) {
  return llmprof_trace_load(trace, LLMPROF_PART_DETAILS, err) ? &trace->details
                                                              : NULL;
}

const llmprof_calls *llmprof_trace_calls(llmprof_trace *trace,
                                         llmprof_error *err) {
  return llmprof_trace_load(trace, LLMPROF_PART_CALLS, err) ? &trace->calls
                                                            : NULL;
}

const llmprof_ranges *llmprof_trace_ranges(llmprof_trace *trace,
                                           llmprof_error *err) {
  return llmprof_trace_load(trace, LLMPROF_PART_RANGES, err) ? &trace->ranges
                                                             : NULL;
}

const llmprof_samples *llmprof_trace_samples(llmprof_trace *trace,
                                             llmprof_error *err) {
  return llmprof_trace_load(trace, LLMPROF_PART_SAMPLES, err) ? &trace->samples
                                                              : NULL;
}

const llmprof_cpu_samples *llmprof_trace_cpu_samples(llmprof_trace *trace,
                                                     llmprof_error *err) {
  return llmprof_trace_load(trace, LLMPROF_PART_CPU_SAMPLES, err)
             ? &trace->cpu_samples
             : NULL;
}

const llmprof_stack_frame *llmprof_trace_stack_frames(llmprof_trace *trace,
                                                      size_t *count,
                                                      llmprof_error *err) {
  static const llmprof_stack_frame none;
  if (!llmprof_trace_load(trace, LLMPROF_PART_CPU_SAMPLES, err)) return NULL;
  *count = trace->stack_frames.count;
  return *count ? llmprof_intern_get(&trace->stack_frames, 0) : &none;
}

const llmprof_diagnostic *llmprof_trace_diagnostics(llmprof_trace *trace,
                                                    size_t *count,
                                                    llmprof_error *err) {
  static const llmprof_diagnostic none;
  if (!llmprof_trace_load(trace, LLMPROF_PART_DIAGNOSTICS, err)) return NULL;
  *count = trace->diagnostic_count;
  return trace->diagnostics ? trace->diagnostics : &none;
}

int llmprof_trace_knows(llmprof_trace *trace, llmprof_fact fact,
                        llmprof_error *err) {
  static const llmprof_part parts[LLMPROF_FACTS] = {
      [LLMPROF_KNOWS_CALLS] = LLMPROF_PART_CALLS,
      [LLMPROF_KNOWS_GRAPH_NODES] = LLMPROF_PART_DETAILS,
      [LLMPROF_KNOWS_HOST_MEMORY] = LLMPROF_PART_OPS,
      [LLMPROF_KNOWS_PAYLOADS] = LLMPROF_PART_RANGES,
      [LLMPROF_KNOWS_ALLOCATIONS] = LLMPROF_PART_CALLS,
      [LLMPROF_KNOWS_DIAGNOSTICS] = LLMPROF_PART_DIAGNOSTICS,
  };
  if (!trace->knows[fact] && !llmprof_trace_count(trace, parts[fact], err))
    return -1;
  return trace->knows[fact];
}

int llmprof_trace_recorded(llmprof_trace *trace, llmprof_trace_table table,
                           llmprof_error *err) {
  llmprof_part part = LLMPROF_PART_OPS;
  if (table == LLMPROF_TABLE_CALLS) part = LLMPROF_PART_CALLS;
  if (table == LLMPROF_TABLE_RANGES) part = LLMPROF_PART_RANGES;
  if (table == LLMPROF_TABLE_SAMPLES) part = LLMPROF_PART_SAMPLES;
  if (table == LLMPROF_TABLE_CPU_SAMPLES) part = LLMPROF_PART_CPU_SAMPLES;
  return llmprof_trace_count(trace, part, err) ? trace->has[table] : -1;
}

/* Parts of a trace, loaded when something first needs them. */
#include "trace/trace_events.h"
#include "trace/trace_internal.h"

static bool end_part(llmprof_builder *builder, llmprof_part part,
                     llmprof_error *err) {
  static bool (*const ends[LLMPROF_PARTS])(llmprof_builder *,
                                           llmprof_error *) = {
      [LLMPROF_PART_OPS] = llmprof_builder_end_ops,
      [LLMPROF_PART_DETAILS] = llmprof_builder_end_details,
      [LLMPROF_PART_RANGES] = llmprof_builder_end_ranges,
      [LLMPROF_PART_CPU_SAMPLES] = llmprof_builder_end_cpu_samples,
      [LLMPROF_PART_STACKS] = llmprof_builder_end_stacks,
  };
  llmprof_builder_end_devices(builder);
  return (!ends[part] || ends[part](builder, err)) &&
         (llmprof_columns_end(builder->trace, (int)part) ||
          llmprof_fail_nomem(err));
}

/* What the reader says when it opens the file. */
static bool start_reading(llmprof_trace *trace, llmprof_error *err) {
  const llmprof_reader *reader = trace->from.reader;
  if (!reader || trace->from.is_open) return true;
  trace->from.is_open =
      reader->open(trace->path, trace->builder, &trace->from.state, err);
  llmprof_builder_end_devices(trace->builder);
  if (trace->from.is_open) return true;
  if (reader->close) reader->close(trace->from.state);
  trace->from.state = NULL;
  return false;
}

/* Details may be read with operations. */
static bool begin_columns(llmprof_trace *trace, llmprof_part part) {
  return llmprof_columns_begin(trace, (int)part) &&
         (part != LLMPROF_PART_OPS ||
          llmprof_columns_begin(trace, LLMPROF_PART_DETAILS));
}

static bool fill(llmprof_trace *trace, llmprof_part part, llmprof_error *err) {
  const llmprof_reader *reader = trace->from.reader;
  if (!begin_columns(trace, part)) return llmprof_fail_nomem(err);
  if (!start_reading(trace, err)) return false;
  if (reader && reader->load &&
      !reader->load(trace->from.state, trace->builder, part, err))
    return false;
  return end_part(trace->builder, part, err);
}

/* What follows from others: as the reader has it, else computed. */
static bool derive(llmprof_trace *trace, int piece, llmprof_error *err) {
  llmprof_error why = {0};
  if (trace->from.derived &&
      trace->from.derived(trace->from.state, trace, piece))
    return true;
  bool ok =
      llmprof_columns_begin(trace, piece) &&
      (piece == LLMPROF_PIECE_PROJECTIONS ? llmprof_project(trace, &why)
                                          : llmprof_attribute(trace, &why)) &&
      llmprof_columns_end(trace, piece);
  if (!ok && why.code && err) *err = why;
  return ok || (!why.code && llmprof_fail_nomem(err));
}

static bool load_piece(llmprof_trace *trace, int piece, llmprof_error *err) {
  if (piece == LLMPROF_PIECE_PROJECTIONS)
    return llmprof_trace_load(trace, LLMPROF_PIECE_ATTRIBUTION, err) &&
           derive(trace, piece, err);
  if (piece == LLMPROF_PIECE_ATTRIBUTION)
    return llmprof_trace_load(trace, LLMPROF_PART_OPS, err) &&
           llmprof_trace_load(trace, LLMPROF_PART_CALLS, err) &&
           llmprof_trace_load(trace, LLMPROF_PART_RANGES, err) &&
           derive(trace, piece, err);
  bool is_of_ops =
      piece == LLMPROF_PART_DETAILS || piece == LLMPROF_PART_STACKS;
  return (!is_of_ops || llmprof_trace_load(trace, LLMPROF_PART_OPS, err)) &&
         fill(trace, (llmprof_part)piece, err);
}

bool llmprof_trace_load(llmprof_trace *trace, int piece, llmprof_error *err) {
  if (trace->loaded[piece]) return true;
  trace->loaded[piece] = load_piece(trace, piece, err);
  if (!trace->loaded[piece]) llmprof_trace_clear(trace, piece);
  return trace->loaded[piece];
}

/* ---- opening ---- */

/* What will not be loaded later is complete now. */
static bool load_all(llmprof_trace *trace, llmprof_error *err) {
  bool ok = true;
  for (int part = 0; ok && part < LLMPROF_PARTS; part++)
    ok = llmprof_trace_load(trace, part, err);
  return ok;
}

llmprof_trace *llmprof_reader_open_with(const llmprof_reader *reader,
                                        void *state, llmprof_derived derived,
                                        bool bare, const char *path,
                                        llmprof_error *err) {
  llmprof_trace *trace =
      bare ? llmprof_trace_new_bare(path, err) : llmprof_trace_new(path, err);
  if (!trace) {
    if (state) reader->close(state);
    return NULL;
  }
  trace->from.reader = reader;
  trace->from.state = state;
  trace->from.derived = derived;
  if (start_reading(trace, err) && (reader->load || load_all(trace, err)))
    return trace;
  llmprof_trace_close(trace);
  return NULL;
}

llmprof_trace *llmprof_reader_open(const llmprof_reader *reader,
                                   const char *path, llmprof_error *err) {
  return llmprof_reader_open_with(reader, NULL, NULL, false, path, err);
}

void *llmprof_trace_state(const llmprof_trace *trace,
                          bool (*load)(void *, llmprof_builder *, llmprof_part,
                                       llmprof_error *)) {
  return trace->from.reader && trace->from.reader->load == load
             ? trace->from.state
             : NULL;
}

llmprof_trace *llmprof_builder_trace(llmprof_builder *builder) {
  return builder->trace;
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

/* The function `name`, which gives a piece of the trace. */
#define PIECE(name, field, piece)                                         \
  const llmprof_##field *name(llmprof_trace *trace, llmprof_error *err) { \
    return llmprof_trace_load(trace, piece, err) ? &trace->field : NULL;  \
  }
PIECE(llmprof_trace_ops, ops, LLMPROF_PART_OPS)
PIECE(llmprof_trace_details, details, LLMPROF_PART_DETAILS)
PIECE(llmprof_trace_calls, calls, LLMPROF_PART_CALLS)
PIECE(llmprof_trace_ranges, ranges, LLMPROF_PART_RANGES)
PIECE(llmprof_trace_samples, samples, LLMPROF_PART_SAMPLES)
PIECE(llmprof_trace_cpu_samples, cpu_samples, LLMPROF_PART_CPU_SAMPLES)
PIECE(llmprof_trace_attribution, attribution, LLMPROF_PIECE_ATTRIBUTION)
PIECE(llmprof_trace_projections, projections, LLMPROF_PIECE_PROJECTIONS)
PIECE(llmprof_trace_op_stacks, op_stacks, LLMPROF_PART_STACKS)

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
      [LLMPROF_KNOWS_LINES] = LLMPROF_PART_STACKS,
  };
  if (!trace->knows[fact] && !llmprof_trace_load(trace, (int)parts[fact], err))
    return -1;
  return trace->knows[fact];
}

int llmprof_trace_recorded(llmprof_trace *trace, llmprof_trace_table table,
                           llmprof_error *err) {
  return llmprof_trace_load(trace, llmprof_part_of((int)table), err)
             ? trace->has[table]
             : -1;
}

/* Parts of a trace, loaded when something first needs them. */
#include "trace/trace_events.h"
#include "trace/trace_internal.h"

static bool end_part(llmprof_builder *builder, llmprof_part part,
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

static bool fill(llmprof_trace *trace, llmprof_part part, llmprof_error *err) {
  const llmprof_reader *reader = trace->reader;
  if (!start_reading(trace, err)) return false;
  llmprof_ends_begin(trace, part);
  if (part == LLMPROF_PART_OPS) llmprof_narrow_begin_ops(trace);
  if (reader && reader->load &&
      !reader->load(trace->reader_state, trace->builder, part, err))
    return false;
  return end_part(trace->builder, part, err);
}

/* Are there as many rows as frames were told? */
static bool keeps_promise(const llmprof_trace *trace, llmprof_part part,
                          llmprof_error *err) {
  const llmprof_image *image = &trace->image;
  return !image->promised[part] ||
         image->rows[part] == llmprof_trace_rows(trace, part) ||
         llmprof_fail(err, LLMPROF_IO, "%s: changed while it was read",
                      trace->path);
}

static bool fill_and_check(llmprof_trace *trace, llmprof_part part,
                           llmprof_error *err) {
  return fill(trace, part, err) && keeps_promise(trace, part, err);
}

/* Details that the reader added with the operations are a part of their own. */
static bool end_details(llmprof_trace *trace, llmprof_error *err) {
  bool *loaded = &trace->loaded[LLMPROF_PART_DETAILS];
  if (*loaded || !trace->builder->detail_count) return true;
  *loaded = end_part(trace->builder, LLMPROF_PART_DETAILS, err) &&
            keeps_promise(trace, LLMPROF_PART_DETAILS, err);
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
  trace->loaded[part] = llmprof_image_take(trace, (int)part) ||
                        (fill_and_check(trace, part, err) &&
                         (part != LLMPROF_PART_OPS || end_details(trace, err)));
  if (!trace->loaded[part]) llmprof_trace_clear(trace, part);
  return trace->loaded[part];
}

/* ---- calls of which a part is kept ---- */

static bool read_parts(llmprof_trace *trace, unsigned parts,
                       llmprof_error *err) {
  llmprof_narrow *n = &trace->narrow;
  if (parts & LLMPROF_CALLS_LAUNCHES &&
      (!llmprof_trace_load(trace, LLMPROF_PART_OPS, err) ||
       !llmprof_narrow_begin(trace, err)))
    return false;
  if (parts & LLMPROF_CALLS_DURATIONS) {
    if (!llmprof_durations_resize(n, 1)) return llmprof_fail_nomem(err);
    n->cap = 1;
  }
  n->loading = parts;
  n->count = 0;
  bool ok = fill(trace, LLMPROF_PART_CALLS, err);
  n->loading = 0;
  return ok;
}

bool llmprof_narrow_load(llmprof_trace *trace, unsigned part,
                         llmprof_error *err) {
  llmprof_narrow *n = &trace->narrow;
  unsigned parts = (part & n->kept) | (n->kept & ~n->loaded);
  bool ok = read_parts(trace, parts, err);
  if (parts & LLMPROF_CALLS_LAUNCHES) llmprof_narrow_end(trace, ok);
  if (ok)
    n->loaded |= parts;
  else if (parts & LLMPROF_CALLS_DURATIONS)
    llmprof_durations_free(n);
  return ok;
}

bool llmprof_trace_load_launching(llmprof_trace *trace, llmprof_error *err) {
  if (llmprof_narrow_launches(trace)) return true;
  return llmprof_narrow_is_used(trace, LLMPROF_CALLS_LAUNCHES)
             ? llmprof_narrow_load(trace, LLMPROF_CALLS_LAUNCHES, err)
             : llmprof_trace_load(trace, LLMPROF_PART_CALLS, err);
}

bool llmprof_trace_count(llmprof_trace *trace, llmprof_part part,
                         llmprof_error *err) {
  unsigned kept = trace->narrow.kept;
  if (part == LLMPROF_PART_CALLS && llmprof_narrow_is_used(trace, kept))
    return trace->narrow.loaded || llmprof_narrow_load(trace, kept, err);
  return trace->image.pieces[part] || llmprof_trace_load(trace, part, err);
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

static bool load_whole(llmprof_trace *trace, llmprof_part part,
                       llmprof_error *err) {
  trace->narrow.whole[part] = true;
  if (!llmprof_trace_load(trace, part, err)) return false;
  return llmprof_ends_widen(trace, part) || llmprof_fail_nomem(err);
}

/* Of those that serve for what launched them not all is kept. */
static bool is_whole(llmprof_trace *trace, llmprof_error *err) {
  if (!(trace->narrow.kept & LLMPROF_CALLS_LAUNCHES)) return true;
  if (!llmprof_trace_load(trace, LLMPROF_PART_OPS, err)) return false;
  const llmprof_ops *ops = &trace->ops;
  return ops->count == 0 || (ops->end && ops->correlation && ops->name) ||
         llmprof_fail(err, LLMPROF_UNSUPPORTED,
                      "%s: not all of its operations is kept", trace->path);
}

const llmprof_ops *llmprof_trace_ops(llmprof_trace *trace, llmprof_error *err) {
  bool ok = is_whole(trace, err) && load_whole(trace, LLMPROF_PART_OPS, err);
  return ok ? &trace->ops : NULL;
}

const llmprof_details *llmprof_trace_details(llmprof_trace *trace,
                                             llmprof_error *err) {
  trace->narrow.whole[LLMPROF_PART_DETAILS] = true;
  if (!llmprof_trace_load(trace, LLMPROF_PART_DETAILS, err)) return NULL;
  if (llmprof_names_unfold(trace)) return &trace->details;
  return llmprof_fail_nomem(err), NULL;
}

const llmprof_calls *llmprof_trace_calls(llmprof_trace *trace,
                                         llmprof_error *err) {
  return load_whole(trace, LLMPROF_PART_CALLS, err) ? &trace->calls : NULL;
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

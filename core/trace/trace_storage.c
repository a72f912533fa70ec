/* The arrays of a trace: made, grown and freed here and nowhere else. */
#include <string.h>

#include "base/alloc.h"
#include "trace/trace_arrays.h"
#include "trace/trace_events.h"

/* realloc for one array of several that grow together. */
static bool resize(void *array, size_t cap, size_t size) {
  void *old;
  memcpy(&old, array, sizeof old);
  void *grown = llmprof_resize(old, cap, size);
  if (!grown) return false;
  memcpy(array, &grown, sizeof grown);
  return true;
}

#define GROW(array, cap) resize(&(array), (cap), sizeof *(array))

/* ---- events ---- */

static llmprof_values *column_of(const llmprof_trace *trace,
                                 const llmprof_array_spec *spec) {
  return llmprof_array_get(trace, spec->at);
}

static bool is_column(const llmprof_array_spec *spec, int piece) {
  return spec->piece == piece && !spec->width;
}

bool llmprof_columns_begin(llmprof_trace *trace, int piece) {
  for (size_t i = 0; i < llmprof_array_count; i++) {
    const llmprof_array_spec *spec = &llmprof_arrays[i];
    if (!is_column(spec, piece) || column_of(trace, spec)) continue;
    llmprof_values *column = llmprof_values_new();
    if (!column) return false;
    llmprof_array_set(trace, spec->at, column);
  }
  return true;
}

/* What was added while memory was out may lack a value. */
bool llmprof_columns_end(llmprof_trace *trace, int piece) {
  bool ok = true;
  for (size_t i = 0; ok && i < llmprof_array_count; i++) {
    const llmprof_array_spec *spec = &llmprof_arrays[i];
    if (!is_column(spec, piece)) continue;
    llmprof_values *column = column_of(trace, spec);
    ok = llmprof_values_end(column) &&
         llmprof_values_count(column) == llmprof_array_rows(trace, spec->rows);
  }
  return ok;
}

static void free_columns(llmprof_trace *trace, int piece) {
  for (size_t i = 0; i < llmprof_array_count; i++) {
    const llmprof_array_spec *spec = &llmprof_arrays[i];
    if (!is_column(spec, piece)) continue;
    llmprof_values_free(column_of(trace, spec));
    llmprof_array_set(trace, spec->at, NULL);
  }
}

bool llmprof_ranges_resize(llmprof_ranges *r, size_t cap) {
  return GROW(r->start, cap) && GROW(r->end, cap) && GROW(r->thread, cap) &&
         GROW(r->end_thread, cap) && GROW(r->text, cap) && GROW(r->tag, cap) &&
         GROW(r->colon_tag, cap) && GROW(r->domain, cap) &&
         GROW(r->category, cap) && GROW(r->payload, cap) &&
         GROW(r->payload_float, cap) && GROW(r->communicator, cap) &&
         GROW(r->message, cap) && GROW(r->style, cap) && GROW(r->open, cap);
}

static void free_ranges(llmprof_ranges *r) {
  llmprof_free(r->start);
  llmprof_free(r->end);
  llmprof_free(r->thread);
  llmprof_free(r->end_thread);
  llmprof_free(r->text);
  llmprof_free(r->tag);
  llmprof_free(r->colon_tag);
  llmprof_free(r->domain);
  llmprof_free(r->category);
  llmprof_free(r->payload);
  llmprof_free(r->payload_float);
  llmprof_free(r->communicator);
  llmprof_free(r->message);
  llmprof_free(r->style);
  llmprof_free(r->open);
  *r = (llmprof_ranges){0};
}

bool llmprof_samples_resize(llmprof_samples *s, size_t cap) {
  bool ok = GROW(s->start, cap) && GROW(s->end, cap) && GROW(s->device, cap);
  for (int i = 0; ok && i < LLMPROF_SAMPLED; i++) ok = GROW(s->values[i], cap);
  return ok;
}

static void free_samples(llmprof_samples *s) {
  llmprof_free(s->start);
  llmprof_free(s->end);
  llmprof_free(s->device);
  for (int i = 0; i < LLMPROF_SAMPLED; i++) llmprof_free(s->values[i]);
  *s = (llmprof_samples){0};
}

bool llmprof_cpu_samples_resize(llmprof_cpu_samples *s, size_t cap) {
  return GROW(s->time, cap) && GROW(s->thread, cap) && GROW(s->stack, cap) &&
         GROW(s->weight, cap) && GROW(s->cut, cap);
}

static void free_cpu_samples(llmprof_cpu_samples *s) {
  llmprof_free(s->time);
  llmprof_free(s->thread);
  llmprof_free(s->stack);
  llmprof_free(s->weight);
  llmprof_free(s->cut);
  *s = (llmprof_cpu_samples){0};
}

void llmprof_attribution_free(llmprof_trace *trace) {
  llmprof_attribution *a = &trace->attribution;
  free_columns(trace, LLMPROF_PIECE_ATTRIBUTION);
  llmprof_free(a->link);
  llmprof_free(a->links);
  llmprof_free(a->parent);
  llmprof_free(a->level);
  llmprof_free(a->inner);
  *a = (llmprof_attribution){0};
}

static void clear_ops(llmprof_trace *trace) {
  free_columns(trace, LLMPROF_PART_OPS);
  trace->ops = (llmprof_ops){0};
  for (int kind = 0; kind < LLMPROF_OP_KINDS; kind++) trace->timeless[kind] = 0;
  trace->builder->kind = LLMPROF_KERNEL;
}

void llmprof_builder_forget_shapes(llmprof_builder *b) {
  llmprof_free(b->latest_shape);
  b->latest_shape = NULL;
  b->latest_count = 0;
}

static void clear_details(llmprof_trace *trace) {
  free_columns(trace, LLMPROF_PART_DETAILS);
  trace->builder->detail_count = 0;
  llmprof_builder_forget_shapes(trace->builder);
}

/* Frames hold on to them: what is known is forgotten, not freed. */
static void forget_facts(llmprof_trace *trace) {
  for (size_t i = 0; i < trace->facts_count; i++)
    *trace->facts[i].facts = (llmprof_cell_facts){0};
}

void llmprof_trace_clear(llmprof_trace *trace, llmprof_part part) {
  forget_facts(trace);
  switch (part) {
  case LLMPROF_PART_OPS:
    clear_ops(trace);
    if (!trace->loaded[LLMPROF_PART_DETAILS] && trace->builder->detail_count)
      clear_details(trace);
    break;
  case LLMPROF_PART_DETAILS:
    clear_details(trace);
    break;
  case LLMPROF_PART_CALLS:
    free_columns(trace, LLMPROF_PART_CALLS);
    trace->calls = (llmprof_calls){0};
    trace->timeless[LLMPROF_TABLE_CALLS] = 0;
    break;
  case LLMPROF_PART_RANGES:
    free_ranges(&trace->ranges);
    trace->timeless[LLMPROF_TABLE_RANGES] = 0;
    trace->builder->range_cap = 0;
    trace->builder->last_time = LLMPROF_ABSENT;
    break;
  case LLMPROF_PART_SAMPLES:
    free_samples(&trace->samples);
    trace->builder->sample_cap = 0;
    break;
  case LLMPROF_PART_CPU_SAMPLES:
    free_cpu_samples(&trace->cpu_samples);
    llmprof_intern_free(&trace->stack_frames);
    trace->builder->cpu_sample_cap = 0;
    break;
  case LLMPROF_PART_DIAGNOSTICS:
    trace->diagnostic_count = 0;
    break;
  case LLMPROF_PARTS:
    break;
  }
}

/* ---- the whole ---- */

size_t llmprof_trace_rows(const llmprof_trace *trace, llmprof_part part) {
  const size_t rows[LLMPROF_PARTS] = {
      [LLMPROF_PART_OPS] = trace->ops.count,
      [LLMPROF_PART_DETAILS] = trace->ops.first[LLMPROF_COPY],
      [LLMPROF_PART_CALLS] = trace->calls.count,
      [LLMPROF_PART_RANGES] = trace->ranges.count,
      [LLMPROF_PART_DIAGNOSTICS] = trace->diagnostic_count,
      [LLMPROF_PART_SAMPLES] = trace->samples.count,
      [LLMPROF_PART_CPU_SAMPLES] = trace->cpu_samples.count,
  };
  return rows[part];
}

void llmprof_trace_expect_rows(llmprof_trace *trace, llmprof_part part) {
  trace->snapshot.is_expected[part] = true;
  trace->snapshot.rows[part] = llmprof_trace_rows(trace, part);
}

llmprof_trace *llmprof_trace_new_bare(const char *path, llmprof_error *err) {
  llmprof_trace *trace = llmprof_zalloc(1, sizeof *trace);
  if (!trace) return llmprof_fail_nomem(err), NULL;
  trace->epoch = LLMPROF_ABSENT;
  llmprof_intern_init(&trace->process_ids, sizeof(int64_t));
  llmprof_intern_init(&trace->thread_ids, sizeof(int64_t));
  llmprof_intern_init(&trace->places, sizeof(llmprof_place));
  llmprof_intern_init(&trace->shapes, sizeof(llmprof_shape));
  llmprof_intern_init(&trace->stack_frames, sizeof(llmprof_stack_frame));
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

static void close_store(const llmprof_snapshot *snapshot) {
  for (size_t i = 0; i < llmprof_array_count; i++)
    llmprof_values_free(snapshot->values[i]);
  if (snapshot->has_store) snapshot->store.close(snapshot->store.user);
}

void llmprof_trace_close(llmprof_trace *trace) {
  if (!trace) return;
  if (trace->reading && trace->reader->close)
    trace->reader->close(trace->reader_state);
  for (int piece = 0; piece < LLMPROF_PIECES; piece++)
    llmprof_arrays_forget(trace, piece);
  llmprof_strings_free(trace->strings);
  llmprof_intern_free(&trace->process_ids);
  llmprof_intern_free(&trace->thread_ids);
  llmprof_intern_free(&trace->places);
  llmprof_intern_free(&trace->shapes);
  llmprof_intern_free(&trace->stack_frames);
  for (int part = 0; part < LLMPROF_PARTS; part++) free_columns(trace, part);
  free_ranges(&trace->ranges);
  free_samples(&trace->samples);
  free_cpu_samples(&trace->cpu_samples);
  llmprof_attribution_free(trace);
  llmprof_free(trace->projections);
  for (size_t i = 0; i < trace->facts_count; i++)
    llmprof_free(trace->facts[i].facts);
  llmprof_free(trace->facts);
  llmprof_free(trace->diagnostics);
  llmprof_free(trace->schema);
  llmprof_free(trace->product);
  llmprof_free(trace->devices);
  llmprof_free(trace->processes);
  llmprof_free(trace->threads);
  llmprof_free(trace->path);
  if (trace->builder) llmprof_builder_forget_shapes(trace->builder);
  llmprof_free(trace->builder);
  close_store(&trace->snapshot);
  llmprof_free(trace);
}

/* Putting a trace away, and having those arrays of it that are asked for. */
#include "base/buffer.h"
#include "llmprof/alloc.h"
#include "trace/snapshot_records.h"
#include "trace/trace_arrays.h"
#include "trace/trace_events.h"
#include "trace/trace_snapshot.h"

/* ---- having ---- */

static bool load_piece(llmprof_trace *trace, int piece, llmprof_error *err) {
  size_t count;
  if (piece == LLMPROF_PIECE_ATTRIBUTION)
    return llmprof_trace_attribution(trace, err) != NULL;
  if (piece == LLMPROF_PIECE_PROJECTIONS)
    return llmprof_trace_projections(trace, &count, err) != NULL;
  return llmprof_trace_load(trace, (llmprof_part)piece, err);
}

bool llmprof_trace_have(llmprof_trace *trace, size_t at, llmprof_error *err) {
  for (size_t i = 0; i < llmprof_array_count; i++) {
    const llmprof_array_spec *spec = &llmprof_arrays[i];
    if (spec->at != at) continue;
    if (llmprof_piece_is_taken(trace, spec->piece)) return true;
    if (trace->snapshot.pieces[spec->piece]) {
      if (llmprof_snapshot_is_sound(trace, i)) return true;
      llmprof_snapshot_leave(trace);
    }
    return load_piece(trace, spec->piece, err);
  }
  return true; /* none of those that are ever put away */
}

/* ---- putting away ---- */

static size_t size_of(const llmprof_trace *trace,
                      const llmprof_array_spec *spec) {
  if (spec->width) return llmprof_array_rows(trace, spec->rows) * spec->width;
  llmprof_values_snapshot lies =
      llmprof_values_put(llmprof_array_get(trace, spec->at));
  return lies.blocks_size + lies.codes_size;
}

size_t llmprof_trace_unshelved(const llmprof_trace *trace) {
  size_t bytes = 0;
  for (size_t i = 0; i < llmprof_array_count; i++) {
    const llmprof_array_spec *spec = &llmprof_arrays[i];
    bool borrowed = trace->snapshot.borrowed >> i & 1;
    if (llmprof_piece_is_taken(trace, spec->piece) && !borrowed)
      bytes += size_of(trace, spec);
  }
  return bytes;
}

/* Where the arrays go, and whether all went. */
typedef struct putting {
  llmprof_trace *trace;
  llmprof_array_put put;
  void *user;
} putting;

static bool put(const putting *to, const char *name, const void *data,
                size_t size) {
  return to->put(to->user, &(llmprof_array){name, data, size});
}

static bool put_text(const putting *to, const char *name, const char *text) {
  return !text || put(to, name, text, strlen(text) + 1);
}

static llmprof_facts facts_of(const llmprof_trace *trace) {
  llmprof_facts f = {.epoch = trace->epoch, .words = trace->words};
  for (int i = 0; i < LLMPROF_TABLES; i++)
    f.has |= (uint64_t)trace->has[i] << i;
  for (int i = 0; i < LLMPROF_FACTS; i++)
    f.knows |= (uint64_t)trace->knows[i] << i;
  for (int i = 0; i < LLMPROF_PIECES; i++)
    if (llmprof_piece_goes(i))
      f.pieces |= (uint64_t)llmprof_piece_is_taken(trace, i) << i;
  for (int kind = 0; kind <= LLMPROF_OP_KINDS; kind++)
    f.first[kind] = trace->ops.first[kind];
  f.ops = trace->ops.count;
  f.calls = trace->calls.count;
  f.ranges = trace->ranges.count;
  f.samples = trace->samples.count;
  f.diagnostics = trace->diagnostic_count;
  f.links = trace->attribution.link_count;
  f.projections = trace->projection_count;
  for (int table = 0; table < LLMPROF_TABLES; table++)
    f.timeless[table] = trace->timeless[table];
  return f;
}

static bool put_strings(const putting *to) {
  const llmprof_strings *pool = to->trace->strings;
  size_t count = llmprof_strings_count(pool), size;
  uint64_t *ends = llmprof_alloc(count, sizeof *ends);
  llmprof_buffer bytes = {0};
  for (size_t i = 0; ends && i < count; i++) {
    const char *text = llmprof_strings_get(pool, (uint32_t)i, &size);
    llmprof_buffer_add(&bytes, text, size + 1); /* with its NUL */
    ends[i] = bytes.size;
  }
  bool ok = ends && !bytes.failed &&
            put(to, "strings", bytes.bytes, bytes.size) &&
            put(to, "string.ends", ends, count * sizeof *ends);
  llmprof_free(ends);
  llmprof_buffer_free(&bytes);
  return ok;
}

static bool put_threads(const putting *to) {
  const llmprof_trace *trace = to->trace;
  size_t count = trace->thread_ids.count;
  llmprof_thread_record *all = llmprof_alloc(count, sizeof *all);
  if (!all) return false;
  for (size_t i = 0; i < count; i++) {
    const llmprof_thread *t = &trace->threads[i];
    all[i] = (llmprof_thread_record){t->id, t->tid, t->process, t->name, 0};
  }
  bool ok = put(to, "threads", all, count * sizeof *all);
  llmprof_free(all);
  return ok;
}

static bool put_interned(const putting *to, const char *name,
                         const llmprof_intern *table) {
  return put(to, name, table->records, table->count * table->record_size);
}

static bool put_tables(const putting *to) {
  const llmprof_trace *trace = to->trace;
  llmprof_facts f = facts_of(trace);
  return put(to, "facts", &f, sizeof f) && put_strings(to) &&
         put_text(to, "reader", trace->reader->name) &&
         put_text(to, "schema", trace->schema) &&
         put_text(to, "product", trace->product) &&
         put(to, "processes", trace->processes,
             trace->process_ids.count * sizeof *trace->processes) &&
         put_threads(to) && put_interned(to, "places", &trace->places) &&
         put_interned(to, "shapes", &trace->shapes) &&
         put(to, "devices", trace->devices,
             trace->device_count * sizeof *trace->devices);
}

static bool put_column(const putting *to, const llmprof_array_spec *spec) {
  char name[LLMPROF_CODES_NAME];
  llmprof_values_snapshot lies =
      llmprof_values_put(llmprof_array_get(to->trace, spec->at));
  llmprof_codes_name(name, spec->name);
  return put(to, spec->name, lies.blocks, lies.blocks_size) &&
         put(to, name, lies.codes, lies.codes_size);
}

static bool put_arrays(const putting *to) {
  const llmprof_trace *trace = to->trace;
  bool ok = true;
  for (size_t i = 0; ok && i < llmprof_array_count; i++) {
    const llmprof_array_spec *spec = &llmprof_arrays[i];
    if (!llmprof_piece_is_taken(trace, spec->piece)) continue;
    ok = spec->width ? put(to, spec->name, llmprof_array_get(trace, spec->at),
                           size_of(trace, spec))
                     : put_column(to, spec);
  }
  return ok;
}

/* What its store has already is written again, if it is still good. */
static void take_what_is_there(llmprof_trace *trace) {
  for (int piece = 0; piece < LLMPROF_PIECES; piece++)
    if (trace->snapshot.pieces[piece]) load_piece(trace, piece, NULL);
}

bool llmprof_trace_serialise(llmprof_trace *trace, llmprof_array_put put_one,
                             void *user) {
  const putting to = {trace, put_one, user};
  if (!trace->reader || !trace->reader->load) return false;
  take_what_is_there(trace);
  return put_tables(&to) && put_arrays(&to);
}

/* Putting a trace away, and having those arrays of it that are asked for. */
#include "base/buffer.h"
#include "llmprof/alloc.h"
#include "trace/trace_arrays.h"
#include "trace/trace_events.h"
#include "trace/trace_image.h"
#include "trace/trace_shelf.h"

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
    if (trace->image.pieces[spec->piece]) {
      if (llmprof_image_is_sound(trace, i)) return true;
      llmprof_image_leave(trace);
    }
    return load_piece(trace, spec->piece, err);
  }
  return true; /* none of those that are ever put away */
}

/* ---- putting away ---- */

size_t llmprof_trace_unshelved(const llmprof_trace *trace) {
  size_t bytes = 0;
  if (trace->narrow.kept) return 0;
  for (size_t i = 0; i < llmprof_array_count; i++) {
    const llmprof_array_spec *spec = &llmprof_arrays[i];
    bool borrowed = trace->image.borrowed >> i & 1;
    if (llmprof_piece_is_taken(trace, spec->piece) && !borrowed)
      bytes += llmprof_array_rows(trace, spec->rows) * spec->width;
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

/* What is kept otherwise, as the array would be; the caller frees. */
static void *made_array(const llmprof_trace *trace, size_t at) {
  const llmprof_narrow *n = &trace->narrow;
  if (at == AT(ops.end))
    return llmprof_ends_of(trace->ops.start, n->op_duration, trace->ops.count,
                           trace->ops.count);
  if (at == AT(calls.end))
    return llmprof_ends_of(trace->calls.start, n->call_duration,
                           trace->calls.count, trace->calls.count);
  return llmprof_names_of(trace, at == AT(details.short_name)
                                     ? n->names.short_of
                                     : n->names.mangled_of);
}

static bool put_made(const putting *to, const llmprof_array_spec *spec,
                     size_t size) {
  void *made = made_array(to->trace, spec->at);
  bool ok = made && put(to, spec->name, made, size);
  llmprof_free(made);
  return ok;
}

static bool put_arrays(const putting *to) {
  const llmprof_trace *trace = to->trace;
  for (size_t i = 0; i < llmprof_array_count; i++) {
    const llmprof_array_spec *spec = &llmprof_arrays[i];
    const void *cells = llmprof_array_get(trace, spec->at);
    size_t size = llmprof_array_rows(trace, spec->rows) * spec->width;
    if (!llmprof_piece_is_taken(trace, spec->piece) ||
        (!cells && spec->optional))
      continue;
    if (!(cells || !size ? put(to, spec->name, cells, size)
                         : put_made(to, spec, size)))
      return false;
  }
  return true;
}

static bool put_kept(const putting *to) {
  const llmprof_trace *trace = to->trace;
  for (size_t i = 0; i < trace->kept_count; i++) {
    const llmprof_kept_cells *kept = &trace->kept[i];
    char name[LLMPROF_KEPT_NAME];
    for (size_t t = 0; kept->column && t < LLMPROF_KEPT_TYPES; t++) {
      if (llmprof_kept_types[t].type != kept->type) continue;
      llmprof_kept_name(name, kept->table, kept->column,
                        &llmprof_kept_types[t]);
      if (!put(to, name, kept->data, kept->count * llmprof_kept_types[t].width))
        return false;
    }
  }
  return true;
}

/* What lies on the shelf that it has comes along, if it is still good. */
static void take_what_is_there(llmprof_trace *trace) {
  for (int piece = 0; piece < LLMPROF_PIECES; piece++)
    if (trace->image.pieces[piece]) load_piece(trace, piece, NULL);
}

bool llmprof_trace_put_away(llmprof_trace *trace, llmprof_array_put put_one,
                            void *user) {
  const putting to = {trace, put_one, user};
  if (!trace->reader || !trace->reader->load) return false;
  take_what_is_there(trace);
  return put_tables(&to) && put_arrays(&to) && put_kept(&to);
}

#include "trace/trace_snapshot.h"

#include "base/alloc.h"
#include "frame/strings_laid.h"
#include "trace/snapshot_records.h"
#include "trace/trace_arrays.h"
#include "trace/trace_events.h"

/* ---- taking arrays ---- */

/* Is what was put away as it was? */
static bool lies_sound(const llmprof_snapshot *snapshot,
                       const llmprof_array_spec *spec) {
  const llmprof_cache_store *store = &snapshot->store;
  char name[LLMPROF_CODES_NAME];
  if (!store->is_sound(store->user, spec->name)) return false;
  if (spec->width) return true;
  llmprof_codes_name(name, spec->name);
  return store->is_sound(store->user, name);
}

/* Look at an array once, before it is used. */
bool llmprof_snapshot_is_sound(llmprof_trace *trace, size_t number) {
  llmprof_snapshot *snapshot = &trace->snapshot;
  const llmprof_array_spec *spec = &llmprof_arrays[number];
  const void *cells = llmprof_array_get(trace, spec->at);
  uint64_t bit = (uint64_t)1 << number;
  if (snapshot->sound & bit) return true;
  if (!lies_sound(snapshot, spec) ||
      !(spec->width ? llmprof_array_is_valid(trace, spec, cells)
                    : llmprof_column_is_valid(trace, spec, cells)))
    return false;
  snapshot->sound |= bit;
  return true;
}

/* A range lies deeper than its parent, so that there is one at the top; what
 * has a chain has a call. */
static bool attribution_agrees(const llmprof_trace *trace) {
  const llmprof_attribution *a = &trace->attribution;
  bool ok = true;
  for (size_t r = 0; r < trace->ranges.count; r++)
    ok &= a->parent[r] == LLMPROF_NONE ||
          a->level[a->parent[r]] + 1 == a->level[r];
  for (size_t op = 0; op < trace->ops.count; op++)
    ok &= a->link[op] == LLMPROF_NONE ||
          llmprof_values_get(a->call, op) != LLMPROF_ABSENT;
  return ok;
}

bool llmprof_snapshot_take(llmprof_trace *trace, int piece) {
  if (!trace->snapshot.pieces[piece]) return false;
  bool ok = true;
  for (size_t i = 0; ok && i < llmprof_array_count; i++)
    ok =
        llmprof_arrays[i].piece != piece || llmprof_snapshot_is_sound(trace, i);
  if (ok && piece == LLMPROF_PIECE_ATTRIBUTION) ok = attribution_agrees(trace);
  if (!ok) llmprof_snapshot_leave(trace);
  return ok;
}

void llmprof_snapshot_leave(llmprof_trace *trace) {
  for (int piece = 0; piece < LLMPROF_PIECES; piece++) {
    if (!trace->snapshot.pieces[piece] || llmprof_piece_is_taken(trace, piece))
      continue;
    trace->snapshot.pieces[piece] = false;
    llmprof_arrays_forget(trace, piece);
    if (piece < LLMPROF_PARTS)
      llmprof_trace_clear(trace, (llmprof_part)piece);
    else if (piece == LLMPROF_PIECE_ATTRIBUTION)
      llmprof_attribution_free(trace);
    else
      trace->projection_count = 0;
  }
}

static bool are_strings(const llmprof_trace *trace, const uint32_t *cells,
                        size_t count) {
  size_t strings = llmprof_strings_count(trace->strings);
  bool ok = true;
  for (size_t i = 0; i < count; i++)
    ok &= cells[i] == LLMPROF_NO_STRING || cells[i] < strings;
  return ok;
}

/* ---- from a cache store ---- */

/* A sound array of records of `width` bytes; NULL: there is none. */
static const void *records(const llmprof_cache_store *store, const char *name,
                           size_t width, size_t *count) {
  size_t size;
  *count = 0;
  const void *data = store->find(store->user, name, &size);
  if (!data || size % width || !store->is_sound(store->user, name)) return NULL;
  *count = size / width;
  return data;
}

static bool take_strings(llmprof_trace *trace) {
  size_t size, count;
  const llmprof_cache_store *store = &trace->snapshot.store;
  const char *bytes = records(store, "strings", 1, &size);
  const uint64_t *ends = records(store, "string.ends", sizeof *ends, &count);
  if (!bytes || !ends || count >= UINT32_MAX - 1) return false;
  uint64_t before = 0;
  for (size_t i = 0; i < count; i++) {
    if (ends[i] <= before || ends[i] > size || bytes[ends[i] - 1]) return false;
    before = ends[i];
  }
  return llmprof_strings_lay(trace->strings, bytes, ends, count);
}

static bool take_processes(llmprof_trace *trace) {
  size_t count;
  uint32_t row;
  const llmprof_process *all =
      records(&trace->snapshot.store, "processes", sizeof *all, &count);
  bool ok = all != NULL;
  for (size_t i = 0; ok && i < count; i++) {
    ok = are_strings(trace, &all[i].name, 1) &&
         llmprof_builder_add_process(trace->builder, all[i].id, all[i].pid,
                                     &row) &&
         row == i;
    if (ok) trace->processes[row].name = all[i].name;
  }
  return ok;
}

static bool take_threads(llmprof_trace *trace) {
  size_t count;
  uint32_t row;
  const llmprof_thread_record *all =
      records(&trace->snapshot.store, "threads", sizeof *all, &count);
  bool ok = all != NULL;
  for (size_t i = 0; ok && i < count; i++) {
    ok = are_strings(trace, &all[i].name, 1) &&
         all[i].process < trace->process_ids.count &&
         llmprof_builder_add_thread(trace->builder, all[i].id, all[i].tid,
                                    all[i].process, &row) &&
         row == i;
    if (ok) trace->threads[row].name = all[i].name;
  }
  return ok;
}

static bool take_interned(const llmprof_trace *trace, const char *name,
                          llmprof_intern *table) {
  size_t count;
  const unsigned char *all =
      records(&trace->snapshot.store, name, table->record_size, &count);
  bool ok = all != NULL;
  for (size_t i = 0; ok && i < count; i++) {
    uint32_t row;
    ok = llmprof_intern_add(table, all + i * table->record_size, &row) &&
         row == i;
  }
  return ok;
}

static bool take_places(llmprof_trace *trace) {
  if (!take_interned(trace, "places", &trace->places)) return false;
  bool ok = true;
  for (uint32_t i = 0; i < trace->places.count; i++) {
    const llmprof_place *place = llmprof_intern_get(&trace->places, i);
    ok &= place->process == LLMPROF_NONE ||
          place->process < trace->process_ids.count;
  }
  return ok;
}

static bool take_devices(llmprof_trace *trace) {
  size_t count;
  const llmprof_device *all =
      records(&trace->snapshot.store, "devices", sizeof *all, &count);
  bool ok = all != NULL;
  for (size_t i = 0; ok && i < count; i++)
    ok = are_strings(trace, &all[i].name, 4) &&
         llmprof_builder_add_device(trace->builder, &all[i]);
  return ok;
}

/* A text that may be absent. */
static bool take_text(const llmprof_trace *trace, const char *name,
                      char **text) {
  size_t size;
  const llmprof_cache_store *store = &trace->snapshot.store;
  const char *bytes = store->find(store->user, name, &size);
  if (!bytes) return true;
  if (!store->is_sound(store->user, name)) return false;
  *text = llmprof_memdup(bytes, size);
  return *text != NULL;
}

static bool counts_are_valid(const llmprof_facts *f) {
  uint64_t most = UINT32_MAX - 1, before = 0;
  bool ok = f->ops <= most && f->calls <= most && f->ranges <= most &&
            f->samples <= most && f->diagnostics <= most && f->links <= most &&
            f->projections <= f->ranges && f->first[0] == 0 &&
            f->first[LLMPROF_OP_KINDS] == f->ops;
  for (int kind = 0; kind <= LLMPROF_OP_KINDS; kind++) {
    ok = ok && f->first[kind] >= before;
    before = f->first[kind];
  }
  return ok;
}

static void take_counts(llmprof_trace *trace, const llmprof_facts *f) {
  trace->ops.count = f->ops;
  for (int kind = 0; kind <= LLMPROF_OP_KINDS; kind++)
    trace->ops.first[kind] = (uint32_t)f->first[kind];
  trace->calls.count = f->calls;
  trace->ranges.count = f->ranges;
  trace->samples.count = f->samples;
  trace->diagnostic_count = f->diagnostics;
  trace->attribution.link_count = f->links;
  trace->projection_count = f->projections;
  for (int table = 0; table < LLMPROF_TABLES; table++)
    trace->timeless[table] = f->timeless[table];
}

static bool take_facts(llmprof_trace *trace, const llmprof_facts *f) {
  const llmprof_words *words = &f->words;
  if (!counts_are_valid(f) ||
      !are_strings(trace, words->kind, LLMPROF_OP_KINDS) ||
      !are_strings(trace, words->direction, LLMPROF_COPY_KINDS) ||
      !are_strings(trace, words->host_memory, LLMPROF_HOST_MEMORIES))
    return false;
  trace->words = *words;
  trace->epoch = f->epoch;
  for (int i = 0; i < LLMPROF_TABLES; i++) trace->has[i] = f->has >> i & 1;
  for (int i = 0; i < LLMPROF_FACTS; i++) trace->knows[i] = f->knows >> i & 1;
  take_counts(trace, f);
  return true;
}

/* The column that lies there; NULL: there is none. */
static const void *column_at(llmprof_snapshot *snapshot,
                             const llmprof_array_spec *spec, size_t rows,
                             size_t number) {
  const llmprof_cache_store *store = &snapshot->store;
  char name[LLMPROF_CODES_NAME];
  llmprof_values_snapshot lies;
  llmprof_codes_name(name, spec->name);
  lies.blocks = store->find(store->user, spec->name, &lies.blocks_size);
  lies.codes = store->find(store->user, name, &lies.codes_size);
  if (!lies.blocks || !lies.codes) return NULL;
  return snapshot->values[number] = llmprof_values_take(&lies, rows);
}

/* The same of an array. */
static const void *array_at(const llmprof_snapshot *snapshot,
                            const llmprof_array_spec *spec, size_t rows) {
  size_t size;
  const void *data =
      snapshot->store.find(snapshot->store.user, spec->name, &size);
  return data && size == rows * spec->width ? data : NULL;
}

/* Point at the arrays of a piece, if all are there. */
static bool point(llmprof_trace *trace, int piece) {
  llmprof_snapshot *snapshot = &trace->snapshot;
  for (size_t i = 0; i < llmprof_array_count; i++) {
    const llmprof_array_spec *spec = &llmprof_arrays[i];
    if (spec->piece != piece) continue;
    size_t rows = llmprof_array_rows(trace, spec->rows);
    const void *data = spec->width ? array_at(snapshot, spec, rows)
                                   : column_at(snapshot, spec, rows, i);
    if (!data) return false;
    llmprof_array_set(trace, spec->at, data);
    snapshot->borrowed |= (uint64_t)1 << i;
  }
  return true;
}

/* A piece that is not there has no rows. */
static bool point_all(llmprof_trace *trace, uint64_t pieces) {
  for (int piece = 0; piece < LLMPROF_PIECES; piece++) {
    if (!(pieces >> piece & 1)) continue;
    if (!point(trace, piece)) return false;
    trace->snapshot.pieces[piece] = true;
    if (piece < LLMPROF_PARTS)
      llmprof_trace_expect_rows(trace, (llmprof_part)piece);
  }
  if (trace->snapshot.pieces[LLMPROF_PART_OPS])
    trace->builder->kind = LLMPROF_GRAPH; /* of the last that was added */
  return true;
}

/* Of what was not put away nothing is counted. */
static bool counts_what_is_there(const llmprof_facts *f) {
  const uint64_t counts[LLMPROF_PIECES] = {
      [LLMPROF_PART_OPS] = f->ops,
      [LLMPROF_PART_CALLS] = f->calls,
      [LLMPROF_PART_RANGES] = f->ranges,
      [LLMPROF_PART_SAMPLES] = f->samples,
      [LLMPROF_PART_DIAGNOSTICS] = f->diagnostics,
      [LLMPROF_PIECE_ATTRIBUTION] = f->links,
      [LLMPROF_PIECE_PROJECTIONS] = f->projections,
  };
  for (int piece = 0; piece < LLMPROF_PIECES; piece++) {
    bool there = f->pieces >> piece & 1;
    if (there ? !llmprof_piece_goes(piece) : counts[piece] != 0) return false;
  }
  return true;
}

static bool take_all(llmprof_trace *trace) {
  size_t count;
  const llmprof_facts *f =
      records(&trace->snapshot.store, "facts", sizeof(llmprof_facts), &count);
  return f && count == 1 && counts_what_is_there(f) && take_strings(trace) &&
         take_facts(trace, f) && take_processes(trace) && take_threads(trace) &&
         take_places(trace) && take_interned(trace, "shapes", &trace->shapes) &&
         take_devices(trace) && take_text(trace, "schema", &trace->schema) &&
         take_text(trace, "product", &trace->product) &&
         point_all(trace, f->pieces);
}

static const llmprof_reader *
reader_of(const llmprof_cache_store *store,
          const llmprof_reader *(*named)(const char *name)) {
  size_t size;
  const char *name = records(store, "reader", 1, &size);
  const llmprof_reader *reader =
      name && size && !name[size - 1] ? named(name) : NULL;
  return reader && reader->load ? reader : NULL;
}

llmprof_trace *llmprof_trace_from_cache(
    const char *path, llmprof_cache_store store,
    const llmprof_reader *(*reader_named)(const char *name)) {
  const llmprof_reader *reader = reader_of(&store, reader_named);
  if (!reader || (reader->check && !reader->check(path, NULL))) return NULL;
  llmprof_trace *trace = llmprof_trace_new_bare(path, NULL);
  if (!trace) return NULL;
  trace->reader = reader;
  llmprof_trace_set_cache_store(trace, &store);
  if (take_all(trace)) return trace;
  llmprof_trace_set_cache_store(trace, NULL);
  llmprof_trace_close(trace);
  return NULL;
}

void llmprof_trace_set_cache_store(llmprof_trace *trace,
                                   const llmprof_cache_store *store) {
  trace->snapshot.has_store = store != NULL;
  trace->snapshot.store = store ? *store : (llmprof_cache_store){0};
}

const llmprof_cache_store *
llmprof_trace_cache_store(const llmprof_trace *trace) {
  return trace->snapshot.has_store ? &trace->snapshot.store : NULL;
}

#include "trace/trace_tables.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "frame/strings_laid.h"
#include "trace/trace_columns.h"

/* ---- the columns ---- */

typedef struct stored_column {
  const char *name;
  int piece;
  size_t at, rows; /* AT() the column, and how many rows it has */
} stored_column;

#define WHOLE(type) sizeof(type), sizeof(type) /* is the key */

#define COLUMN(piece, field, rows) \
  { #field, piece, AT(field), AT(rows) }
#define OP(field)     COLUMN(LLMPROF_PART_OPS, ops.field, ops.count)
#define DETAIL(field) COLUMN(LLMPROF_PART_DETAILS, details.field, details.count)
#define CALL(field)   COLUMN(LLMPROF_PART_CALLS, calls.field, calls.count)
#define RANGE(field)  COLUMN(LLMPROF_PART_RANGES, ranges.field, ranges.count)
#define SAMPLE(field) COLUMN(LLMPROF_PART_SAMPLES, samples.field, samples.count)
#define CPU_SAMPLE(field) \
  COLUMN(LLMPROF_PART_CPU_SAMPLES, cpu_samples.field, cpu_samples.count)
#define ATTRIBUTED(field, rows) \
  COLUMN(LLMPROF_PIECE_ATTRIBUTION, attribution.field, rows)
#define PROJECTED(field) \
  COLUMN(LLMPROF_PIECE_PROJECTIONS, projections.field, projections.count)

static const stored_column columns[] = {
    OP(start),
    OP(duration),
    OP(correlation),
    OP(name),
    OP(place),
    OP(bytes),
    OP(copy_kind),
    OP(host_memory),
    DETAIL(shape),
    DETAIL(short_name),
    DETAIL(mangled_name),
    DETAIL(graph_node),
    CALL(start),
    CALL(duration),
    CALL(thread),
    CALL(correlation),
    CALL(name),
    RANGE(start),
    RANGE(end),
    RANGE(thread),
    RANGE(end_thread),
    RANGE(text),
    RANGE(tag),
    RANGE(colon_tag),
    RANGE(domain),
    RANGE(category),
    RANGE(payload),
    RANGE(payload_float),
    RANGE(communicator),
    RANGE(message),
    RANGE(style),
    RANGE(open),
    SAMPLE(start),
    SAMPLE(end),
    SAMPLE(device),
    SAMPLE(values[LLMPROF_SAMPLED_GPU]),
    SAMPLE(values[LLMPROF_SAMPLED_SM]),
    SAMPLE(values[LLMPROF_SAMPLED_TENSOR]),
    SAMPLE(values[LLMPROF_SAMPLED_DRAM_READ]),
    SAMPLE(values[LLMPROF_SAMPLED_DRAM_WRITE]),
    CPU_SAMPLE(time),
    CPU_SAMPLE(thread),
    CPU_SAMPLE(stack),
    CPU_SAMPLE(weight),
    CPU_SAMPLE(cut),
    COLUMN(LLMPROF_PART_STACKS, op_stacks.stack, op_stacks.count),
    ATTRIBUTED(call, ops.count),
    ATTRIBUTED(link, ops.count),
    ATTRIBUTED(range, attribution.link_count),
    ATTRIBUTED(outer, attribution.link_count),
    ATTRIBUTED(parent, ranges.count),
    ATTRIBUTED(level, ranges.count),
    ATTRIBUTED(self, ranges.count),
    PROJECTED(range),
    PROJECTED(start),
    PROJECTED(end),
    PROJECTED(operations),
    PROJECTED(children),
};

enum {
  COLUMNS = sizeof columns / sizeof *columns
};

/* Where the trace counts the rows of a piece, and its own they are. */
static const size_t counts[LLMPROF_PIECES] = {
    [LLMPROF_PART_OPS] = AT(ops.count),
    [LLMPROF_PART_DETAILS] = AT(details.count),
    [LLMPROF_PART_CALLS] = AT(calls.count),
    [LLMPROF_PART_RANGES] = AT(ranges.count),
    [LLMPROF_PART_DIAGNOSTICS] = AT(diagnostic_count),
    [LLMPROF_PART_SAMPLES] = AT(samples.count),
    [LLMPROF_PART_CPU_SAMPLES] = AT(cpu_samples.count),
    [LLMPROF_PART_STACKS] = AT(op_stacks.count),
    [LLMPROF_PIECE_ATTRIBUTION] = AT(attribution.link_count),
    [LLMPROF_PIECE_PROJECTIONS] = AT(projections.count),
};

static llmprof_values **column_at(const llmprof_trace *trace, size_t at) {
  return (llmprof_values **)(void *)((char *)(uintptr_t)trace + at);
}

static size_t *count_at(const llmprof_trace *trace, size_t at) {
  return (size_t *)(void *)((char *)(uintptr_t)trace + at);
}

size_t llmprof_piece_rows(const llmprof_trace *trace, int piece) {
  return *count_at(trace, counts[piece]);
}

bool llmprof_columns_begin(llmprof_trace *trace, int piece) {
  for (size_t i = 0; i < COLUMNS; i++) {
    llmprof_values **column = column_at(trace, columns[i].at);
    if (columns[i].piece != piece || *column) continue;
    *column = llmprof_values_new();
    if (!*column) return false;
  }
  return true;
}

/* What was added while memory was out may lack a value. */
bool llmprof_columns_end(llmprof_trace *trace, int piece) {
  bool ok = true;
  for (size_t i = 0; ok && i < COLUMNS; i++) {
    if (columns[i].piece != piece) continue;
    llmprof_values *column = *column_at(trace, columns[i].at);
    ok = llmprof_values_end(column) &&
         llmprof_values_count(column) == *count_at(trace, columns[i].rows);
  }
  return ok;
}

void llmprof_columns_free(llmprof_trace *trace, int piece) {
  for (size_t i = 0; i < COLUMNS; i++) {
    if (columns[i].piece != piece) continue;
    llmprof_values **column = column_at(trace, columns[i].at);
    llmprof_values_free(*column);
    *column = NULL;
  }
  *count_at(trace, counts[piece]) = 0;
}

int llmprof_column_piece(size_t at) {
  size_t i = 0;
  while (i < COLUMNS && columns[i].at != at) i++;
  return i < COLUMNS ? columns[i].piece : -1;
}

/* ---- what their rows refer to ---- */

static const struct dimension {
  const char *name;   /* in the cache; NULL: it is not kept there */
  size_t record, key; /* bytes */
} dimensions[LLMPROF_DIMENSIONS] = {
    [LLMPROF_PROCESSES] = {"processes", sizeof(llmprof_process),
                           sizeof(int64_t)},
    [LLMPROF_THREADS] = {"threads", sizeof(llmprof_thread), sizeof(int64_t)},
    [LLMPROF_PLACES] = {"places", WHOLE(llmprof_place)},
    [LLMPROF_SHAPES] = {"shapes", WHOLE(llmprof_shape)},
    [LLMPROF_SOURCE_FRAMES] = {"source.frames", WHOLE(llmprof_source_frame)},
    [LLMPROF_SOURCE_STACKS] = {"source.stacks", WHOLE(llmprof_source_stack)},
    [LLMPROF_STACK_FRAMES] = {NULL, WHOLE(llmprof_stack_frame)},
    [LLMPROF_SOURCE_LINES] = {NULL, WHOLE(llmprof_stack_frame)},
};

void llmprof_dimensions_begin(llmprof_trace *trace) {
  for (int i = 0; i < LLMPROF_DIMENSIONS; i++)
    llmprof_intern_init_keyed(&trace->rows[i], dimensions[i].record,
                              dimensions[i].key);
}

void llmprof_dimensions_free(llmprof_trace *trace) {
  for (int i = 0; i < LLMPROF_DIMENSIONS; i++)
    llmprof_intern_free(&trace->rows[i]);
}

/* ---- putting ---- */

/* Where arrays go. */
typedef struct putting {
  llmprof_array_put put;
  void *user;
} putting;

static bool put(const putting *to, const char *name, const void *data,
                size_t size) {
  return to->put(to->user, name, data, size);
}

static bool put_text(const putting *to, const char *name, const char *text) {
  return !text || put(to, name, text, strlen(text) + 1);
}

static bool put_strings(const putting *to, const llmprof_strings *pool) {
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

static bool put_dimensions(const putting *to, const llmprof_trace *trace) {
  bool ok = true;
  for (int i = 0; ok && i < LLMPROF_DIMENSIONS; i++) {
    const llmprof_intern *rows = &trace->rows[i];
    ok = !dimensions[i].name || put(to, dimensions[i].name, rows->records,
                                    rows->count * rows->record_size);
  }
  return ok;
}

/* One, under "facts"; nothing lies between its fields. */
typedef struct facts {
  int64_t epoch;
  uint64_t has, knows; /* a bit for each */
} facts;

bool llmprof_trace_put(const llmprof_trace *trace, llmprof_array_put put_one,
                       void *user) {
  const putting to = {put_one, user};
  facts f = {.epoch = trace->epoch};
  for (int i = 0; i < LLMPROF_TABLES; i++)
    f.has |= (uint64_t)trace->has[i] << i;
  for (int i = 0; i < LLMPROF_FACTS; i++)
    f.knows |= (uint64_t)trace->knows[i] << i;
  return put(&to, "facts", &f, sizeof f) && put_strings(&to, trace->strings) &&
         put_text(&to, "reader", trace->from.reader->name) &&
         put_text(&to, "schema", trace->schema) &&
         put_text(&to, "product", trace->product) &&
         put_dimensions(&to, trace) &&
         put(&to, "devices", trace->devices,
             trace->device_count * sizeof *trace->devices);
}

/* Rows of a piece, where each kind of operations begins, and what was left out.
 */
typedef struct piece_rows {
  uint64_t rows, first[LLMPROF_OP_KINDS + 1], timeless[LLMPROF_TABLES];
} piece_rows;

enum {
  NAME = 64 /* bytes of an array's name, its NUL included */
};

static void name_rows(char name[NAME], int piece) {
  snprintf(name, NAME, "rows.%d", piece);
}

/* Where codes of a column lie, whose blocks have its own name. */
static void name_codes(char name[NAME], const stored_column *column) {
  snprintf(name, NAME, "%s.codes", column->name);
}

static bool put_column(const putting *to, const stored_column *column,
                       const llmprof_values *values) {
  char name[NAME];
  llmprof_values_snapshot lies;
  if (!llmprof_values_put(values, &lies)) return false;
  name_codes(name, column);
  bool ok = put(to, column->name, lies.blocks, lies.blocks_size) &&
            put(to, name, lies.codes, lies.codes_size);
  llmprof_free((void *)(uintptr_t)lies.codes);
  return ok;
}

bool llmprof_piece_put(const llmprof_trace *trace, int piece,
                       llmprof_array_put put_one, void *user) {
  const putting to = {put_one, user};
  char name[NAME];
  piece_rows rows = {.rows = *count_at(trace, counts[piece])};
  for (int kind = 0; kind <= LLMPROF_OP_KINDS; kind++)
    rows.first[kind] = piece == LLMPROF_PART_OPS ? trace->ops.first[kind] : 0;
  for (int table = 0; table < LLMPROF_TABLES; table++)
    rows.timeless[table] = trace->timeless[table];
  if (!trace->loaded[piece] || piece == LLMPROF_PART_CPU_SAMPLES) return true;
  name_rows(name, piece);
  bool ok = put(&to, name, &rows, sizeof rows) &&
            (piece != LLMPROF_PART_DIAGNOSTICS ||
             put(&to, "diagnostics", trace->diagnostics,
                 trace->diagnostic_count * sizeof *trace->diagnostics));
  for (size_t i = 0; ok && i < COLUMNS; i++)
    if (columns[i].piece == piece)
      ok = put_column(&to, &columns[i], *column_at(trace, columns[i].at));
  return ok;
}

size_t llmprof_piece_size(const llmprof_trace *trace, int piece) {
  size_t bytes = 0;
  for (size_t i = 0; trace->loaded[piece] && i < COLUMNS; i++) {
    if (columns[i].piece != piece || piece == LLMPROF_PART_CPU_SAMPLES)
      continue;
    bytes += llmprof_values_size(*column_at(trace, columns[i].at));
  }
  return bytes;
}

/* ---- taking ---- */

/* A sound array of records of `width` bytes; NULL: there is none. */
static const void *records(const llmprof_arrays *from, const char *name,
                           size_t width, size_t *count) {
  size_t size;
  const void *data = from->find(from->user, name, &size);
  if (!data || size % width || !from->is_sound(from->user, name)) return NULL;
  *count = size / width;
  return data;
}

static bool take_strings(llmprof_trace *trace, const llmprof_arrays *from) {
  size_t size = 0, count = 0;
  const char *bytes = records(from, "strings", 1, &size);
  const uint64_t *ends = records(from, "string.ends", sizeof *ends, &count);
  if (!bytes || !ends) return false;
  return llmprof_strings_lay(trace->strings, bytes, ends, count) &&
         llmprof_words_add(&trace->words, trace->strings);
}

static bool take_dimension(llmprof_trace *trace, int dimension,
                           const llmprof_arrays *from) {
  size_t count;
  const struct dimension *of = &dimensions[dimension];
  llmprof_intern *rows = &trace->rows[dimension];
  const unsigned char *all = records(from, of->name, of->record, &count);
  bool ok = all != NULL;
  for (size_t i = 0; ok && i < count; i++) {
    uint32_t row;
    ok = llmprof_intern_add(rows, all + i * of->record, &row);
  }
  return ok;
}

static bool take_dimensions(llmprof_trace *trace, const llmprof_arrays *from) {
  bool ok = true;
  for (int i = 0; ok && i < LLMPROF_DIMENSIONS; i++)
    ok = !dimensions[i].name || take_dimension(trace, i, from);
  return ok;
}

static bool take_devices(llmprof_trace *trace, const llmprof_arrays *from) {
  size_t count;
  const llmprof_device *all = records(from, "devices", sizeof *all, &count);
  bool ok = all != NULL;
  for (size_t i = 0; ok && i < count; i++)
    ok = llmprof_builder_add_device(trace->builder, &all[i]);
  return ok;
}

/* A text that may be absent. */
static bool take_text(const llmprof_arrays *from, const char *name,
                      char **text) {
  size_t size;
  const char *bytes = from->find(from->user, name, &size);
  if (!bytes) return true;
  if (!size || bytes[size - 1] || !from->is_sound(from->user, name))
    return false;
  *text = llmprof_memdup(bytes, size);
  return *text != NULL;
}

static bool take_facts(llmprof_trace *trace, const llmprof_arrays *from) {
  size_t count;
  const facts *f = records(from, "facts", sizeof *f, &count);
  if (!f || count != 1) return false;
  trace->epoch = f->epoch;
  for (int i = 0; i < LLMPROF_TABLES; i++) trace->has[i] = f->has >> i & 1;
  for (int i = 0; i < LLMPROF_FACTS; i++) trace->knows[i] = f->knows >> i & 1;
  return true;
}

bool llmprof_trace_take(llmprof_builder *builder, const llmprof_arrays *from) {
  llmprof_trace *trace = builder->trace;
  return take_facts(trace, from) && take_strings(trace, from) &&
         take_dimensions(trace, from) && take_devices(trace, from) &&
         take_text(from, "schema", &trace->schema) &&
         take_text(from, "product", &trace->product);
}

/* ---- taking a piece ---- */

static const piece_rows *rows_of(int piece, const llmprof_arrays *from) {
  char name[NAME];
  size_t count;
  name_rows(name, piece);
  const piece_rows *p = records(from, name, sizeof *p, &count);
  return p && count == 1 ? p : NULL;
}

bool llmprof_piece_is_there(int piece, const llmprof_arrays *from) {
  return rows_of(piece, from) != NULL;
}

/* The column that lies there; NULL: none does. */
static llmprof_values *column_of(const llmprof_trace *trace,
                                 const stored_column *column,
                                 const llmprof_arrays *from) {
  llmprof_values_snapshot lies;
  char name[NAME];
  name_codes(name, column);
  lies.blocks = from->find(from->user, column->name, &lies.blocks_size);
  lies.codes = from->find(from->user, name, &lies.codes_size);
  if (!lies.blocks || !lies.codes ||
      !from->is_sound(from->user, column->name) ||
      !from->is_sound(from->user, name))
    return NULL;
  return llmprof_values_take(&lies, *count_at(trace, column->rows));
}

/* All of them, or those that are there stay. */
static bool take_columns(llmprof_trace *trace, int piece,
                         const llmprof_arrays *from) {
  llmprof_values *taken[COLUMNS] = {NULL};
  bool ok = true;
  for (size_t i = 0; ok && i < COLUMNS; i++)
    ok = columns[i].piece != piece ||
         (taken[i] = column_of(trace, &columns[i], from));
  for (size_t i = 0; i < COLUMNS; i++) {
    if (columns[i].piece != piece) continue;
    llmprof_values **to = column_at(trace, columns[i].at), *old = *to;
    if (ok) *to = taken[i];
    llmprof_values_free(ok ? old : taken[i]);
  }
  return ok;
}

static bool take_diagnostics(llmprof_trace *trace, const llmprof_arrays *from) {
  size_t count;
  const llmprof_diagnostic *all =
      records(from, "diagnostics", sizeof *all, &count);
  bool ok = all && count == trace->diagnostic_count;
  trace->diagnostic_count = 0;
  for (size_t i = 0; ok && i < count; i++)
    ok = llmprof_builder_add_diagnostic(trace->builder, &all[i]);
  return ok;
}

bool llmprof_piece_take(llmprof_trace *trace, int piece,
                        const llmprof_arrays *from) {
  size_t *count = count_at(trace, counts[piece]);
  const piece_rows *rows = rows_of(piece, from);
  if (!rows) return false;
  *count = (size_t)rows->rows;
  bool ok =
      take_columns(trace, piece, from) &&
      (piece != LLMPROF_PART_DIAGNOSTICS || take_diagnostics(trace, from));
  if (!ok) *count = 0;
  if (!ok) return false;
  for (int table = 0; table < LLMPROF_TABLES; table++)
    if (llmprof_part_of(table) == piece)
      trace->timeless[table] = (size_t)rows->timeless[table];
  if (piece != LLMPROF_PART_OPS) return true;
  for (int kind = 0; kind <= LLMPROF_OP_KINDS; kind++)
    trace->ops.first[kind] = (uint32_t)rows->first[kind];
  trace->builder->kind = LLMPROF_GRAPH; /* of the last that was added */
  return true;
}

#include "trace/trace_arrays.h"

#include <stdio.h>

/* ---- the table ---- */

#define ARRAY(piece, field, rows, values)                          \
  {                                                                \
#field, piece, AT(field), sizeof *((llmprof_trace *)0)->field, \
        ROWS_##rows, VALUES_##values                               \
  }
#define COLUMN(piece, field, rows, values) \
  { #field, piece, AT(field), 0, ROWS_##rows, VALUES_##values }
#define OP(field, values) COLUMN(LLMPROF_PART_OPS, ops.field, OPS, values)
#define DETAIL(field, values) \
  COLUMN(LLMPROF_PART_DETAILS, details.field, KERNELS, values)
#define CALL(field, values) \
  COLUMN(LLMPROF_PART_CALLS, calls.field, CALLS, values)
#define RANGE(field, values) \
  ARRAY(LLMPROF_PART_RANGES, ranges.field, RANGES, values)
#define SAMPLE(field) ARRAY(LLMPROF_PART_SAMPLES, samples.field, SAMPLES, ANY)
#define ATTRIBUTED(field, rows, values) \
  ARRAY(LLMPROF_PIECE_ATTRIBUTION, attribution.field, rows, values)

const llmprof_array_spec llmprof_arrays[] = {
    OP(start, ANY),
    OP(duration, ANY),
    OP(correlation, ANY),
    OP(name, STRINGS),
    OP(place, PLACES),
    OP(bytes, ANY),
    OP(copy_kind, COPY_KINDS),
    OP(host_memory, HOST_MEMORIES),
    DETAIL(shape, SHAPES),
    DETAIL(short_name, STRINGS),
    DETAIL(mangled_name, STRINGS),
    DETAIL(graph_node, ANY),
    CALL(start, ANY),
    CALL(duration, ANY),
    CALL(thread, THREADS),
    CALL(correlation, ANY),
    CALL(name, STRINGS),
    RANGE(start, ANY),
    RANGE(end, ANY),
    RANGE(thread, THREADS),
    RANGE(end_thread, THREADS),
    RANGE(text, STRINGS),
    RANGE(tag, STRINGS),
    RANGE(colon_tag, STRINGS),
    RANGE(domain, STRINGS),
    RANGE(category, STRINGS),
    RANGE(payload, ANY),
    RANGE(payload_float, ANY),
    RANGE(communicator, ANY),
    RANGE(message, ANY),
    RANGE(style, FLAGS),
    RANGE(open, FLAGS),
    ARRAY(LLMPROF_PART_DIAGNOSTICS, diagnostics, DIAGNOSTICS,
          DIAGNOSTIC_RECORDS),
    SAMPLE(start),
    SAMPLE(end),
    SAMPLE(device),
    SAMPLE(values[LLMPROF_SAMPLED_GPU]),
    SAMPLE(values[LLMPROF_SAMPLED_SM]),
    SAMPLE(values[LLMPROF_SAMPLED_TENSOR]),
    SAMPLE(values[LLMPROF_SAMPLED_DRAM_READ]),
    SAMPLE(values[LLMPROF_SAMPLED_DRAM_WRITE]),
    COLUMN(LLMPROF_PIECE_ATTRIBUTION, attribution.call, OPS, CALLS),
    ATTRIBUTED(link, OPS, LINKS),
    ATTRIBUTED(links, LINKS, LINK_RECORDS),
    ATTRIBUTED(parent, RANGES, RANGES),
    ATTRIBUTED(level, RANGES, ANY),
    ATTRIBUTED(inner, RANGES, ANY),
    ARRAY(LLMPROF_PIECE_PROJECTIONS, projections, PROJECTIONS,
          PROJECTION_RECORDS),
};

enum {
  ARRAYS = sizeof llmprof_arrays / sizeof *llmprof_arrays
};
_Static_assert(ARRAYS < 64, "there is a bit for each");

const size_t llmprof_array_count = ARRAYS;

size_t llmprof_array_rows(const llmprof_trace *trace, array_rows rows) {
  switch (rows) {
  case ROWS_OPS:
    return trace->ops.count;
  case ROWS_KERNELS:
    return trace->ops.first[LLMPROF_COPY];
  case ROWS_CALLS:
    return trace->calls.count;
  case ROWS_RANGES:
    return trace->ranges.count;
  case ROWS_SAMPLES:
    return trace->samples.count;
  case ROWS_DIAGNOSTICS:
    return trace->diagnostic_count;
  case ROWS_LINKS:
    return trace->attribution.link_count;
  case ROWS_PROJECTIONS:
    return trace->projection_count;
  }
  return 0;
}

/* ---- values ---- */

/* Is every number less than `limit`, or LLMPROF_NONE? */
static bool are_below(const uint32_t *cells, size_t count, size_t limit) {
  uint32_t highest = 0; /* of the numbers after each, where NONE is 0 */
  for (size_t i = 0; i < count; i++) {
    uint32_t after = cells[i] + 1;
    highest = after > highest ? after : highest;
  }
  return highest <= limit;
}

static bool are_bytes_below(const uint8_t *cells, size_t count, int limit) {
  uint8_t highest = 0;
  for (size_t i = 0; i < count; i++)
    highest = cells[i] > highest ? cells[i] : highest;
  return highest < limit;
}

/* Outer links come before inner ones, so that there is an outermost. */
static bool are_links(const llmprof_trace *trace, const llmprof_link *links,
                      size_t count) {
  bool ok = true;
  for (size_t i = 0; i < count; i++)
    ok &= links[i].range < trace->ranges.count &&
          (links[i].outer == LLMPROF_NONE || links[i].outer < i);
  return ok;
}

static bool are_projections(const llmprof_trace *trace,
                            const llmprof_projection *made, size_t count) {
  bool ok = true;
  for (size_t i = 0; i < count; i++) ok &= made[i].range < trace->ranges.count;
  return ok;
}

static bool are_diagnostics(const llmprof_trace *trace,
                            const llmprof_diagnostic *said, size_t count) {
  bool ok = true;
  for (size_t i = 0; i < count; i++) {
    ok &= (unsigned)said[i].severity <= LLMPROF_PROBLEM &&
          (said[i].text == LLMPROF_NO_STRING ||
           said[i].text < llmprof_strings_count(trace->strings));
  }
  return ok;
}

/* What values of a column are below; 0: they may be anything. *none: they may
 * be absent. */
static size_t limit_of(const llmprof_trace *trace, array_values values,
                       bool *none) {
  *none = values == VALUES_STRINGS || values == VALUES_THREADS ||
          values == VALUES_CALLS;
  if (values == VALUES_STRINGS) return llmprof_strings_count(trace->strings);
  if (values == VALUES_THREADS) return trace->thread_ids.count;
  if (values == VALUES_CALLS) return trace->calls.count;
  if (values == VALUES_PLACES) return trace->places.count;
  if (values == VALUES_SHAPES) return trace->shapes.count;
  if (values == VALUES_COPY_KINDS) return LLMPROF_COPY_KINDS;
  return values == VALUES_HOST_MEMORIES ? LLMPROF_HOST_MEMORIES : 0;
}

bool llmprof_column_is_valid(const llmprof_trace *trace,
                             const llmprof_array_spec *spec,
                             const llmprof_values *column) {
  llmprof_values_bounds bounds;
  bool none;
  size_t limit = limit_of(trace, spec->values, &none);
  if (!llmprof_values_check(column)) return false;
  if (spec->values == VALUES_ANY) return true;
  return llmprof_values_find_bounds(column, &bounds) &&
         (bounds.low > bounds.high ||
          (bounds.low >= 0 && (uint64_t)bounds.high < limit)) &&
         (none || !bounds.nulls);
}

bool llmprof_array_is_valid(const llmprof_trace *trace,
                            const llmprof_array_spec *spec, const void *cells) {
  size_t count = llmprof_array_rows(trace, spec->rows);
  switch (spec->values) {
  case VALUES_ANY:
    return true;
  case VALUES_STRINGS:
    return are_below(cells, count, llmprof_strings_count(trace->strings));
  case VALUES_THREADS:
    return are_below(cells, count, trace->thread_ids.count);
  case VALUES_RANGES:
    return are_below(cells, count, trace->ranges.count);
  case VALUES_LINKS:
    return are_below(cells, count, trace->attribution.link_count);
  case VALUES_FLAGS:
    return are_bytes_below(cells, count, 2);
  case VALUES_LINK_RECORDS:
    return are_links(trace, cells, count);
  case VALUES_PROJECTION_RECORDS:
    return are_projections(trace, cells, count);
  case VALUES_DIAGNOSTIC_RECORDS:
    return are_diagnostics(trace, cells, count);
  case VALUES_CALLS:
  case VALUES_PLACES:
  case VALUES_SHAPES:
  case VALUES_COPY_KINDS:
  case VALUES_HOST_MEMORIES:
    break; /* of columns */
  }
  return false;
}

/* ---- where they are ---- */

bool llmprof_piece_is_taken(const llmprof_trace *trace, int piece) {
  if (piece == LLMPROF_PIECE_ATTRIBUTION) return trace->attributed;
  if (piece == LLMPROF_PIECE_PROJECTIONS) return trace->projected;
  return trace->loaded[piece];
}

void llmprof_arrays_forget(llmprof_trace *trace, int piece) {
  for (size_t i = 0; i < llmprof_array_count; i++) {
    uint64_t bit = (uint64_t)1 << i;
    if (llmprof_arrays[i].piece != piece || !(trace->snapshot.borrowed & bit))
      continue;
    llmprof_array_set(trace, llmprof_arrays[i].at, NULL);
    trace->snapshot.borrowed &= ~bit;
  }
}

void llmprof_codes_name(char name[LLMPROF_CODES_NAME], const char *column) {
  snprintf(name, LLMPROF_CODES_NAME, "%s.codes", column);
}

/* The arrays of a trace by name: which there are, whose rows they hold, and
 * what their values may be. Private to the trace module. */
#ifndef LLMPROF_TRACE_ARRAYS_H
#define LLMPROF_TRACE_ARRAYS_H

#include "trace/trace_columns.h"

/* How many rows an array has. */
typedef enum array_rows {
  ROWS_OPS,
  ROWS_KERNELS,
  ROWS_CALLS,
  ROWS_RANGES,
  ROWS_SAMPLES,
  ROWS_DIAGNOSTICS,
  ROWS_LINKS,
  ROWS_PROJECTIONS,
} array_rows;

/* What an array's numbers are. */
typedef enum array_values {
  VALUES_ANY,
  VALUES_STRINGS, /* or LLMPROF_NONE, as in the next four */
  VALUES_THREADS,
  VALUES_CALLS,
  VALUES_RANGES,
  VALUES_LINKS,
  VALUES_PLACES, /* never absent, as in the next three */
  VALUES_SHAPES,
  VALUES_COPY_KINDS,
  VALUES_HOST_MEMORIES,
  VALUES_FLAGS,        /* bytes, 0 or 1 */
  VALUES_LINK_RECORDS, /* structs */
  VALUES_PROJECTION_RECORDS,
  VALUES_DIAGNOSTIC_RECORDS,
} array_values;

typedef struct llmprof_array_spec {
  const char *name;
  int piece;    /* llmprof_part, or one of those above */
  size_t at;    /* AT() the pointer to it */
  size_t width; /* 0: a pointer to llmprof_values is there */
  array_rows rows;
  array_values values;
} llmprof_array_spec;

/* `llmprof_array_count` of them, fewer than 64. */
extern const llmprof_array_spec llmprof_arrays[];
extern const size_t llmprof_array_count;

/* Rows of an array, as the trace counts them. */
size_t llmprof_array_rows(const llmprof_trace *trace, array_rows rows);

/* May these be the values of the column, or the cells of the array? */
bool llmprof_column_is_valid(const llmprof_trace *trace,
                             const llmprof_array_spec *spec,
                             const llmprof_values *column);
bool llmprof_array_is_valid(const llmprof_trace *trace,
                            const llmprof_array_spec *spec, const void *cells);

/* Under which name codes of a column lie, whose blocks have its own. */
enum {
  LLMPROF_CODES_NAME = 64 /* bytes, its NUL included */
};
void llmprof_codes_name(char name[LLMPROF_CODES_NAME], const char *column);

/* Is a piece ever put away? Samples of the CPU are read anew each time. */
static inline bool llmprof_piece_goes(int piece) {
  return piece != LLMPROF_PART_CPU_SAMPLES;
}

/* Is a piece loaded, from wherever? */
bool llmprof_piece_is_taken(const llmprof_trace *trace, int piece);

/* The trace's pointers to arrays of a piece that lie on a cache store go, so
 * that nobody frees what is not the trace's. */
void llmprof_arrays_forget(llmprof_trace *trace, int piece);

static inline void *llmprof_array_get(const llmprof_trace *trace, size_t at) {
  void *array;
  memcpy(&array, (const char *)trace + at, sizeof array);
  return array;
}

static inline void llmprof_array_set(llmprof_trace *trace, size_t at,
                                     const void *array) {
  memcpy((char *)trace + at, &array, sizeof array);
}

#endif

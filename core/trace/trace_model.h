/* What the files of the trace module share. */
#ifndef LLMPROF_TRACE_MODEL_H
#define LLMPROF_TRACE_MODEL_H

#include "frame/intern.h"
#include "llmprof/sqlite.h"
#include "llmprof/trace.h"
#include "sqlite/scan.h"

/* Process id and thread id inside nsys's 64-bit global ids. */
#define GLOBAL_PID_MASK INT64_C(-16777216) /* all but the low 24 bits */

struct llmprof_trace {
  char *path;
  llmprof_sqlite *db;
  llmprof_strings *strings;
  uint32_t *string_at; /* by StringIds.id, as far as ids are small */
  size_t string_at_count, string_at_cap;
  llmprof_intern string_ids; /* the others -> string_of[] */
  uint32_t *string_of;
  size_t string_of_cap;

  char *schema, *product; /* NULL when the export does not say */
  int64_t epoch;

  llmprof_device *devices;
  size_t device_count, device_cap;

  llmprof_intern process_ids; /* global pid -> row */
  llmprof_process *processes;
  size_t process_cap;
  llmprof_intern thread_ids; /* global tid -> row */
  llmprof_thread *threads;
  size_t thread_cap;
  llmprof_intern places; /* of llmprof_place */
  llmprof_intern shapes; /* of llmprof_shape */

  bool has[LLMPROF_TABLES];
  llmprof_ops ops;
  llmprof_details details;
  llmprof_calls calls;
  llmprof_ranges ranges;
  llmprof_attribution attribution;
  llmprof_projection *projections;
  size_t projection_count;
  bool ops_loaded, details_loaded, calls_loaded, ranges_loaded;
  bool attributed, projected;
};

/* Rows of the interned things; false when out of memory. A global id of
 * LLMPROF_ABSENT gives LLMPROF_NONE. */
bool llmprof_trace_process_row(llmprof_trace *trace, int64_t global_pid,
                               uint32_t *row);
bool llmprof_trace_thread_row(llmprof_trace *trace, int64_t global_tid,
                              uint32_t *row);

/* The pool's id for a StringIds.id; LLMPROF_NO_STRING when it is absent or
 * names nothing. */
uint32_t llmprof_trace_far_string(const llmprof_trace *trace, int64_t id);
static inline uint32_t llmprof_trace_string(const llmprof_trace *trace,
                                            int64_t id) {
  return (uint64_t)id < trace->string_at_count
             ? trace->string_at[id]
             : llmprof_trace_far_string(trace, id);
}

/* Intern text column i of the scan's row; false when out of memory. */
bool llmprof_trace_text(llmprof_trace *trace, const llmprof_scan *scan, int i,
                        uint32_t *string);

/* realloc for one array of several that grow together. */
bool llmprof_trace_resize(void *array, size_t cap, size_t size);

/* Grow one array of a struct of arrays. */
#define GROW(array, cap) llmprof_trace_resize(&(array), (cap), sizeof *(array))
#define COLUMNS(...)     ((const char *const[]){__VA_ARGS__})

void llmprof_ops_free(llmprof_ops *ops);
void llmprof_details_free(llmprof_details *details);
void llmprof_calls_free(llmprof_calls *calls);
void llmprof_ranges_free(llmprof_ranges *ranges);
void llmprof_attribution_free(llmprof_attribution *attribution);

/* By link of the attribution, which is loaded: the innermost range, from it
 * outwards, whose tag is one of `tags`, or LLMPROF_NONE. The caller frees; NULL
 * when out of memory. */
uint32_t *llmprof_trace_labelled_links(const llmprof_trace *trace,
                                       const llmprof_trace_tag *tags,
                                       size_t count);

/* A uint32_t from a column that should hold one: LLMPROF_NONE when absent or
 * out of range. */
static inline uint32_t llmprof_u32(int64_t value) {
  return value >= 0 && value < UINT32_MAX ? (uint32_t)value : LLMPROF_NONE;
}

#endif

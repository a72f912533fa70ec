/* What the files of the nsys reader share. */
#ifndef LLMPROF_NSYS_INTERNAL_H
#define LLMPROF_NSYS_INTERNAL_H

#include "frame/intern.h"
#include "llmprof/trace_builder.h"
#include "sqlite/scan.h"
#include "sqlite/sqlite.h"

/* A row of StringIds. */
typedef struct nsys_far_string {
  int64_t id;
  uint32_t string;
} nsys_far_string;

/* An open export. */
typedef struct nsys_export {
  const char *path; /* borrowed */
  llmprof_sqlite *db;
  uint32_t *string_at; /* by StringIds.id, as far as ids are small */
  size_t string_at_count, string_at_cap;
  llmprof_intern far_strings; /* the others, by id */
  int64_t sole_process;       /* of all operations, where none says its own, or
                                 LLMPROF_ABSENT */
  int64_t origin; /* what times are counted from: 0, or a moment, in ns since
                     1970, where they are counted from that
                     (nsys export --ts-normalize) */
  /* The thread that was asked for last, which seldom changes. */
  int64_t last_thread;
  uint32_t last_thread_row;
} nsys_export;

#define COLUMNS(...) ((const char *const[]){__VA_ARGS__})

/* A table of events. What a trace knows because a column is there is said
 * along. */
typedef struct nsys_table {
  llmprof_scan_spec spec;
  llmprof_trace_table recorded_as; /* LLMPROF_TABLES: no events */
  llmprof_fact fact;               /* LLMPROF_FACTS: none */
  int known_by;                    /* column of spec */
} nsys_table;

/* On true, *scan is NULL when the table does not exist. */
bool llmprof_nsys_open_table(const nsys_export *export,
                             llmprof_builder *builder, const nsys_table *table,
                             llmprof_scan **scan, llmprof_error *err);

/* The string of a StringIds.id; LLMPROF_NO_STRING when it is absent or names
 * nothing. */
uint32_t llmprof_nsys_far_string(const nsys_export *export, int64_t id);
static inline uint32_t llmprof_nsys_string(const nsys_export *export,
                                           int64_t id) {
  return (uint64_t)id < export->string_at_count
             ? export->string_at[id]
             : llmprof_nsys_far_string(export, id);
}

/* Text column i of the scan's row as a string; false when out of memory. */
bool llmprof_nsys_text(llmprof_builder *builder, const llmprof_scan *scan,
                       int i, uint32_t *string);

/* Rows of nsys's global ids; LLMPROF_NONE for LLMPROF_ABSENT. False when out
 * of memory. */
bool llmprof_nsys_process(llmprof_builder *builder, int64_t global_pid,
                          uint32_t *row);
bool llmprof_nsys_other_thread(nsys_export *export, llmprof_builder *builder,
                               int64_t global_tid, uint32_t *row);
static inline bool llmprof_nsys_thread(nsys_export *export,
                                       llmprof_builder *builder,
                                       int64_t global_tid, uint32_t *row) {
  *row = export->last_thread_row;
  return global_tid == export->last_thread ||
         llmprof_nsys_other_thread(export, builder, global_tid, row);
}

/* A time of the export as one of the trace; one that is absent or far off stays
 * no time. */
static inline int64_t llmprof_nsys_time(const nsys_export *export, int64_t ns) {
  return (int64_t)((uint64_t)ns - (uint64_t) export->origin);
}

/* Is a time of the trace, in ns, within 36 years of 0, so that sums and
 * differences of two fit? LLMPROF_ABSENT is not. */
static inline bool llmprof_nsys_is_time(int64_t ns) {
  return ns >= -(INT64_C(1) << 60) && ns <= INT64_C(1) << 60;
}

/* Can an event of the export last from start to end? */
static inline bool llmprof_nsys_has_time(const nsys_export *export,
                                         int64_t start, int64_t end) {
  start = llmprof_nsys_time(export, start);
  end = llmprof_nsys_time(export, end);
  return llmprof_nsys_is_time(start) && llmprof_nsys_is_time(end) &&
         end >= start;
}

/* Parts, as llmprof_reader.load. */
bool llmprof_nsys_load_ops(nsys_export *export, llmprof_builder *builder,
                           llmprof_error *err);
bool llmprof_nsys_load_details(nsys_export *export, llmprof_builder *builder,
                               llmprof_error *err);
bool llmprof_nsys_load_stacks(nsys_export *export, llmprof_builder *builder,
                              llmprof_error *err);
bool llmprof_nsys_load_calls(nsys_export *export, llmprof_builder *builder,
                             llmprof_error *err);
bool llmprof_nsys_load_ranges(nsys_export *export, llmprof_builder *builder,
                              llmprof_error *err);
bool llmprof_nsys_load_samples(nsys_export *export, llmprof_builder *builder,
                               llmprof_error *err);
bool llmprof_nsys_load_cpu_samples(nsys_export *export,
                                   llmprof_builder *builder,
                                   llmprof_error *err);
bool llmprof_nsys_load_diagnostics(nsys_export *export,
                                   llmprof_builder *builder,
                                   llmprof_error *err);

#endif

/* What the files of the trace module share: the model itself, and its builder.
 */
#ifndef LLMPROF_TRACE_INTERNAL_H
#define LLMPROF_TRACE_INTERNAL_H

#include "column/values.h"
#include "frame/cells.h"
#include "frame/intern.h"
#include "llmprof/frame.h"
#include "llmprof/trace.h"
#include "llmprof/trace_builder.h"
#include "trace/trace_tables.h"

/* Strings of columns that hold one of a few words. */
typedef struct llmprof_words {
  uint32_t kind[LLMPROF_OP_KINDS];
  uint32_t direction[LLMPROF_COPY_KINDS];
  uint32_t host_memory[LLMPROF_HOST_MEMORIES];
} llmprof_words;

/* What a stack comes to. */
typedef struct llmprof_source_place {
  uint32_t shown;  /* row in source lines: the innermost; LLMPROF_NONE: all are
                      of frameworks */
  uint32_t module; /* string: path of the innermost torch.nn.Module */
} llmprof_source_place;

/* What reads the file of a trace. */
typedef struct llmprof_reading {
  const llmprof_reader *reader; /* NULL: built without one */
  bool is_open;                 /* the reader has opened the file */
  void *state;
  llmprof_derived derived; /* of a reader that has such pieces; or NULL */
} llmprof_reading;

struct llmprof_trace {
  char *path;
  char *schema, *product; /* NULL when the file does not say */
  int64_t epoch;
  llmprof_strings *strings;
  llmprof_words words;
  llmprof_builder *builder;
  llmprof_reading from;
  bool loaded[LLMPROF_PIECES];
  bool has[LLMPROF_TABLES];
  bool knows[LLMPROF_FACTS];
  size_t timeless[LLMPROF_TABLES]; /* events without a time, left out */

  llmprof_device *devices; /* by id */
  llmprof_diagnostic *diagnostics;
  size_t device_count, diagnostic_count;
  llmprof_intern rows[LLMPROF_DIMENSIONS];
  llmprof_source_place *source_places; /* by source stack */
  uint32_t *source_paths;              /* by source frame: string */

  llmprof_ops ops;
  llmprof_details details;
  llmprof_calls calls;
  llmprof_ranges ranges;
  llmprof_samples samples;
  llmprof_cpu_samples cpu_samples;
  llmprof_op_stacks op_stacks;
  llmprof_attribution attribution;
  llmprof_projections projections;
};

/* Rows of what events refer to; borrowed until one is added. */
static inline llmprof_process *llmprof_process_at(const llmprof_trace *trace,
                                                  size_t row) {
  return (llmprof_process *)(void *)trace->rows[LLMPROF_PROCESSES].records +
         row;
}

static inline llmprof_thread *llmprof_thread_at(const llmprof_trace *trace,
                                                size_t row) {
  return (llmprof_thread *)(void *)trace->rows[LLMPROF_THREADS].records + row;
}

/* The part that loads a table. */
static inline int llmprof_part_of(int table) {
  if (table == LLMPROF_TABLE_CALLS) return LLMPROF_PART_CALLS;
  if (table == LLMPROF_TABLE_RANGES) return LLMPROF_PART_RANGES;
  if (table == LLMPROF_TABLE_SAMPLES) return LLMPROF_PART_SAMPLES;
  if (table == LLMPROF_TABLE_CPU_SAMPLES) return LLMPROF_PART_CPU_SAMPLES;
  return LLMPROF_PART_OPS;
}

/* What of a range may change until all are there, and what that takes. */
typedef struct llmprof_late_range {
  int64_t start, end;
  uint32_t thread, text, domain, category;
  llmprof_range_style style;
} llmprof_late_range;

/* Rows that are being added; belongs to its trace. */
struct llmprof_builder {
  llmprof_trace *trace;
  llmprof_op_kind kind;     /* of the operation before */
  llmprof_late_range *late; /* by range */
  size_t late_cap;
  int64_t last_time; /* of any range event, LLMPROF_ABSENT before */
  llmprof_cpu_sample_row *cpu_samples; /* as they came */
  size_t cpu_sample_cap, device_cap, diagnostic_cap;
  llmprof_intern device_ids; /* as many as there are devices */
  llmprof_intern generated;  /* lines of generated files, and their made_of */
  llmprof_source_frame *made_of;
  size_t made_of_count, made_of_cap;
};

/* ---- words ---- */

bool llmprof_words_add(llmprof_words *words, llmprof_strings *strings);

/* ---- storage ---- */

llmprof_trace *llmprof_trace_new(const char *path, llmprof_error *err);

/* The same without a string in its pool. */
llmprof_trace *llmprof_trace_new_bare(const char *path, llmprof_error *err);

/* Ranges, samples of the CPU or stacks are added no more: what only served for
 * that goes. */
void llmprof_builder_forget_ranges(llmprof_builder *builder);
void llmprof_builder_forget_cpu_samples(llmprof_builder *builder);
void llmprof_builder_forget_generated(llmprof_builder *builder);

/* No rows of the piece any more. */
void llmprof_trace_clear(llmprof_trace *trace, int piece);

/* By link of the attribution, which is loaded: the innermost range, from it
 * outwards, whose tag is one of `tags`, or LLMPROF_NONE. The caller frees; NULL
 * when out of memory. */
uint32_t *llmprof_trace_labelled_links(const llmprof_trace *trace,
                                       const llmprof_trace_tag *tags,
                                       size_t count);

/* By CPU sample: the innermost range around it whose tag has a name in `names`,
 * of its thread, else of another thread of its process, or LLMPROF_NONE; and
 * whether it is of its own thread. False when out of memory. */
bool llmprof_trace_ranges_around_samples(const llmprof_trace *trace,
                                         const uint32_t *names,
                                         uint32_t *ranges, uint32_t *own);
/* ---- building ---- */

/* Fails (LIMIT) where there can be no row more than `count`. what: "GPU
 * operations". */
bool llmprof_builder_may_add(const llmprof_builder *builder, size_t count,
                             const char *what, llmprof_error *err);

/* Devices are in order of their ids. */
void llmprof_builder_end_devices(llmprof_builder *builder);

/* All rows of the part are there: what follows from them. */
bool llmprof_builder_end_ops(llmprof_builder *builder, llmprof_error *err);
bool llmprof_builder_end_details(llmprof_builder *builder, llmprof_error *err);
bool llmprof_builder_end_ranges(llmprof_builder *builder, llmprof_error *err);
bool llmprof_builder_end_cpu_samples(llmprof_builder *builder,
                                     llmprof_error *err);
bool llmprof_builder_end_stacks(llmprof_builder *builder, llmprof_error *err);

/* Lines and modules of all stacks; false when out of memory. */
bool llmprof_builder_place_stacks(llmprof_builder *builder);

/* ---- loading ---- */

/* Launches that were attributed, their columns ended; fills err but for want of
 * memory. */
bool llmprof_attribute(llmprof_trace *trace, llmprof_error *err);
bool llmprof_project(llmprof_trace *trace, llmprof_error *err);

/* In ns; absent when either time is, or when they are more than 292 years
 * apart, as only a broken file says. */
static inline int64_t llmprof_between(int64_t start, int64_t end) {
  int64_t time;
  if (start == LLMPROF_ABSENT || end == LLMPROF_ABSENT ||
      __builtin_sub_overflow(end, start, &time))
    return LLMPROF_ABSENT;
  return time;
}

#endif

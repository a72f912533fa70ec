/* What the files of the trace room share: the model itself, and its builder. */
#ifndef LLMPROF_TRACE_INTERNAL_H
#define LLMPROF_TRACE_INTERNAL_H

#include "column/values.h"
#include "frame/cells.h"
#include "frame/intern.h"
#include "llmprof/frame.h"
#include "llmprof/trace.h"
#include "llmprof/trace_builder.h"
#include "trace/trace_events.h"
#include "trace/trace_snapshot.h"

/* Strings of columns that hold one of a few words. */
typedef struct llmprof_words {
  uint32_t kind[LLMPROF_OP_KINDS];
  uint32_t direction[LLMPROF_COPY_KINDS];
  uint32_t host_memory[LLMPROF_HOST_MEMORIES];
} llmprof_words;

/* What is known of the cells of a column in rows first .. first + count - 1. */
typedef struct llmprof_kept_facts {
  const void *spec;
  size_t first, count;
  llmprof_cell_facts *facts;
} llmprof_kept_facts;

/* What is loaded, or computed, in one go: the parts, and what follows from
 * them. */
enum {
  LLMPROF_PIECE_ATTRIBUTION = LLMPROF_PARTS,
  LLMPROF_PIECE_PROJECTIONS,
  LLMPROF_PIECES
};

/* What of a trace lies on a cache store. Arrays are numbered as in
 * trace_arrays.h, a bit for each. */
typedef struct llmprof_snapshot {
  llmprof_cache_store store;
  bool has_store;
  bool pieces[LLMPROF_PIECES];     /* all arrays of the piece are there */
  uint64_t borrowed;               /* the trace's pointer is to the store */
  uint64_t sound;                  /* it was looked at, and may be used */
  llmprof_values *values[64];      /* by array, those that lie there */
  bool is_expected[LLMPROF_PARTS]; /* frames may have been told its rows: */
  size_t rows[LLMPROF_PARTS];
} llmprof_snapshot;

struct llmprof_trace {
  char *path;
  llmprof_strings *strings;
  llmprof_words words;
  char *schema, *product; /* NULL when the file does not say */
  int64_t epoch;

  llmprof_builder *builder;
  const llmprof_reader *reader; /* NULL: built without one */
  bool reading;                 /* the reader has opened the file */
  void *reader_state;
  llmprof_snapshot snapshot;
  bool loaded[LLMPROF_PARTS];
  bool with_details; /* they are wanted with the operations */

  llmprof_device *devices;
  size_t device_count, device_cap;
  llmprof_diagnostic *diagnostics;
  size_t diagnostic_count, diagnostic_cap;

  llmprof_intern process_ids; /* the reader's ids -> row */
  llmprof_process *processes;
  size_t process_cap;
  llmprof_intern thread_ids; /* the reader's ids -> row */
  llmprof_thread *threads;
  size_t thread_cap;
  llmprof_intern places; /* of llmprof_place */
  llmprof_intern shapes; /* of llmprof_shape */

  bool has[LLMPROF_TABLES];
  bool knows[LLMPROF_FACTS];
  size_t timeless[LLMPROF_TABLES]; /* events without a time, left out */
  llmprof_ops ops;
  llmprof_details details;
  llmprof_calls calls;
  llmprof_ranges ranges;
  llmprof_samples samples;
  llmprof_cpu_samples cpu_samples;
  llmprof_intern stack_frames; /* of llmprof_stack_frame */
  llmprof_attribution attribution;
  llmprof_projection *projections;
  size_t projection_count;
  bool attributed, projected;

  llmprof_kept_facts *facts;
  size_t facts_count, facts_cap;
};

/* Rows that are being added; belongs to its trace. */
struct llmprof_builder {
  llmprof_trace *trace;
  size_t expected;      /* rows of the table that comes next */
  llmprof_op_kind kind; /* of the operation before */
  size_t detail_count;
  uint32_t
      *latest_shape;   /* by short name, of its last kernel: row + 1; NULL: */
  size_t latest_count; /* not known. Strings that came later have none */
  size_t range_cap;
  size_t sample_cap;
  size_t cpu_sample_cap;
  int64_t last_time; /* of any range event, LLMPROF_ABSENT before */
};

/* ---- words ---- */

bool llmprof_words_add(llmprof_words *words, llmprof_strings *strings);

/* ---- storage ---- */

llmprof_trace *llmprof_trace_new(const char *path, llmprof_error *err);

/* The same without a string in its pool. */
llmprof_trace *llmprof_trace_new_bare(const char *path, llmprof_error *err);

/* Columns of a piece, as far as they are none yet, before rows are added; and
 * once all were. False when out of memory. */
bool llmprof_columns_begin(llmprof_trace *trace, int piece);
bool llmprof_columns_end(llmprof_trace *trace, int piece);

/* Arrays for `cap` rows. False when out of memory: what was there stays. */
bool llmprof_ranges_resize(llmprof_ranges *ranges, size_t cap);
bool llmprof_samples_resize(llmprof_samples *samples, size_t cap);
bool llmprof_cpu_samples_resize(llmprof_cpu_samples *samples, size_t cap);

void llmprof_attribution_free(llmprof_trace *trace);

/* Details of kernels are added no more: what only served for that goes. */
void llmprof_builder_forget_shapes(llmprof_builder *builder);

/* No rows of the part any more. */
void llmprof_trace_clear(llmprof_trace *trace, llmprof_part part);

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
/* Rows of a part, as they are counted now; and that frames were told so. */
size_t llmprof_trace_rows(const llmprof_trace *trace, llmprof_part part);
void llmprof_trace_expect_rows(llmprof_trace *trace, llmprof_part part);

/* Links of operations and their ranges, without the calls between them where
 * they were put away. */
bool llmprof_trace_load_links(llmprof_trace *trace, llmprof_error *err);

/* ---- building ---- */

/* The capacity for one row more than `count`; fails (LIMIT) when there can be
 * none. what: "GPU operations". */
bool llmprof_builder_grow(const llmprof_builder *builder, size_t count,
                          size_t cap, const char *what, size_t *grown,
                          llmprof_error *err);

/* The same of columns, which need no room. */
bool llmprof_builder_may_add(const llmprof_builder *builder, size_t count,
                             const char *what, llmprof_error *err);

/* All rows of the part are there: what follows from them. */
void llmprof_builder_end_ops(llmprof_builder *builder);
bool llmprof_builder_end_details(llmprof_builder *builder, llmprof_error *err);
bool llmprof_builder_end_ranges(llmprof_builder *builder, llmprof_error *err);
bool llmprof_builder_end_cpu_samples(llmprof_builder *builder,
                                     llmprof_error *err);

/* ---- what lies on a cache store (trace_snapshot.c) ---- */

/* Use all arrays of a piece; false when they are not there or no good. */
bool llmprof_snapshot_take(llmprof_trace *trace, int piece);

/* Look at an array of those that lie there, once, before it is used. */
bool llmprof_snapshot_is_sound(llmprof_trace *trace, size_t number);

/* As far as they were not taken, forget the arrays. */
void llmprof_snapshot_leave(llmprof_trace *trace);

/* ---- loading ---- */

/* May the array AT() this offset be read? What it belongs to is loaded if it
 * is not at hand. */
bool llmprof_trace_have(llmprof_trace *trace, size_t at, llmprof_error *err);

/* Know how many rows a part has, which may be without loading it. */
bool llmprof_trace_count(llmprof_trace *trace, llmprof_part part,
                         llmprof_error *err);

/* Once: load the part, or fail and leave it empty. */
bool llmprof_trace_load(llmprof_trace *trace, llmprof_part part,
                        llmprof_error *err);

static inline int64_t llmprof_widen(uint32_t value) {
  return value == LLMPROF_NONE ? LLMPROF_ABSENT : (int64_t)value;
}

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

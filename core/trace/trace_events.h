/* The events of a trace: tables of columns, for what computes over them; other
 * programs have frames. Times are ns since the session started, strings are ids
 * in the trace's pool; what is not there or not recorded is absent. */
#ifndef LLMPROF_TRACE_EVENTS_H
#define LLMPROF_TRACE_EVENTS_H

#include <math.h>

#include "column/values.h"
#include "llmprof/trace_builder.h"

/* A row number or a string's id in a column; LLMPROF_NONE where it is absent.
 */
static inline uint32_t llmprof_id_at(const llmprof_values *values, size_t row) {
  return llmprof_u32(llmprof_values_get(values, row));
}

/* When what started then ended: absent where one of both is. */
static inline int64_t llmprof_end_of(int64_t start, int64_t duration) {
  return start == LLMPROF_ABSENT || duration == LLMPROF_ABSENT
             ? LLMPROF_ABSENT
             : start + duration;
}
static inline int64_t llmprof_end_at(const llmprof_values *start,
                                     const llmprof_values *duration,
                                     size_t row) {
  return llmprof_end_of(llmprof_values_get(start, row),
                        llmprof_values_get(duration, row));
}

/* A real in a column of reals; NaN where it is absent. */
static inline double llmprof_real_of(const llmprof_values *values, size_t row) {
  int64_t cell = llmprof_values_get(values, row);
  return cell == LLMPROF_ABSENT ? NAN : llmprof_cell_real(cell);
}

/* GPU operations: kernels, then copies, sets and graphs; the rows of kind k
 * are first[k] to first[k + 1] - 1. */
typedef struct llmprof_ops {
  size_t count;
  uint32_t first[LLMPROF_OP_KINDS + 1];
  llmprof_values *start;       /* ns */
  llmprof_values *duration;    /* ns; absent where one of both times is */
  llmprof_values *correlation; /* per process; absent when not recorded */
  llmprof_values *name;        /* kernel: demangled name; else its operation */
  llmprof_values *place;       /* row in places */
  llmprof_values *bytes;       /* absent of kernels */
  llmprof_values *copy_kind;   /* llmprof_copy_kind; 0 but of copies */
  llmprof_values *host_memory; /* llmprof_host_memory; 0 but of copies */
} llmprof_ops;

/* More about kernels, by kernel row. */
typedef struct llmprof_details {
  size_t count;
  llmprof_values *shape;        /* row in shapes */
  llmprof_values *short_name;   /* string: function name without parameters */
  llmprof_values *mangled_name; /* string: as the linker knows it, or absent */
  llmprof_values *graph_node;   /* id of a graph's node, or absent */
} llmprof_details;

/* CUDA API calls, runtime and driver. */
typedef struct llmprof_calls {
  size_t count;
  llmprof_values *start, *duration; /* ns, as those of operations */
  llmprof_values *thread;           /* row in threads, or absent */
  llmprof_values *correlation;
  llmprof_values *name; /* string, with its suffix: "cudaMalloc_v3020" */
} llmprof_calls;

/* NVTX ranges. */
typedef struct llmprof_ranges {
  size_t count;
  llmprof_values *start, *end; /* ns; one left open ends with what is around
                                  it, where the next of its name begins on its
                                  thread, or with the last event */
  llmprof_values *thread;      /* row in threads: where it started */
  llmprof_values *end_thread;  /* absent unless it ended on another one */
  llmprof_values *text;        /* string */
  llmprof_values *tag;         /* "text", or "domain:text" in a named domain */
  llmprof_values *colon_tag;   /* as tag, but ":text" in the default domain */
  llmprof_values *domain;      /* string; absent: the default domain */
  llmprof_values *category;    /* string */
  llmprof_values *payload;     /* integer payload */
  llmprof_values *payload_float; /* floating payload, a real */
  llmprof_values *communicator;  /* NCCL's id of it */
  llmprof_values *message;       /* bytes of a collective */
  llmprof_values *style;         /* llmprof_range_style */
  llmprof_values *open;          /* 1: had no end in the file; else 0 */
} llmprof_ranges;

/* Hardware counters of a GPU over time, without replay, by start on each. */
typedef struct llmprof_samples {
  size_t count;
  llmprof_values *start, *end;             /* ns */
  llmprof_values *device;                  /* as llmprof_device.id */
  llmprof_values *values[LLMPROF_SAMPLED]; /* reals */
} llmprof_samples;

/* What the CPU was in, as it was sampled; by time, those without one last. */
typedef struct llmprof_cpu_samples {
  size_t count;
  llmprof_values *time;   /* ns */
  llmprof_values *thread; /* row in threads */
  llmprof_values *stack;  /* row in stack frames: the innermost */
  llmprof_values *weight; /* samples that the row stands for: 1 where it has a
                             time */
  llmprof_values *cut;    /* 1: the outermost frames of the stack are missing;
                             else 0 */
} llmprof_cpu_samples;

/* Lines of source that launched operations, or made the nodes of graphs that
 * they are. */
typedef struct llmprof_op_stacks {
  size_t count;
  llmprof_values *stack; /* by operation: row in source stacks, or absent */
} llmprof_op_stacks;

/* ---- attribution: which ranges launched which GPU operations ----
 *
 * NVIDIA's rule: an operation belongs to every range, push/pop or start/end,
 * that ends on the thread it started on and encloses the API call that
 * launched the operation, on that call's thread. Calls and operations meet by
 * process and correlation id, so all kernels of a CUDA graph belong to the
 * range around its launch.
 *
 * The ranges around a call form a chain, innermost first; calls in the same
 * ranges share it. */

typedef struct llmprof_attribution {
  llmprof_values *call; /* by operation: row in calls */
  llmprof_values *link; /* by operation: its chain, a row of links */
  size_t link_count;
  llmprof_values *range;  /* by link: row in ranges */
  llmprof_values *outer;  /* by link: the next one, a row before it; absent at
                             the outermost */
  llmprof_values *parent; /* by range: the tightest range around it on its
                             thread; absent at the top */
  llmprof_values *level;  /* by range: 0 at the top; absent of a range that does
                             not take part (ended on another thread, or lacks
                             its start) */
  llmprof_values *self;   /* by range that takes part: ns of it outside ranges
                             whose parent it is, where they overlap once */
} llmprof_attribution;

/* Ranges projected onto the GPU: from the first start to the last end of the
 * kernels, copies and sets that they launched. One per range that launched any.
 */
typedef struct llmprof_projections {
  size_t count;
  llmprof_values *range;       /* row in ranges */
  llmprof_values *start, *end; /* ns, on the GPU */
  llmprof_values *operations; /* distinct correlation ids: a graph launch counts
                                 1 */
  llmprof_values *children;   /* projected ranges whose parent this range is */
} llmprof_projections;

/* ---- functions ---- */

/* Tables of records that events refer to by row, equal ones once; each refers
 * to those before it alone. */
typedef enum llmprof_dimension {
  LLMPROF_PROCESSES, /* llmprof_process, by the reader's id */
  LLMPROF_THREADS,   /* llmprof_thread, by the reader's id */
  LLMPROF_PLACES,
  LLMPROF_SHAPES,
  LLMPROF_SOURCE_FRAMES,
  LLMPROF_SOURCE_STACKS,
  LLMPROF_STACK_FRAMES,
  LLMPROF_SOURCE_LINES, /* llmprof_stack_frame: lines of source stacks that are
                           of no framework, as their module */
  LLMPROF_DIMENSIONS
} llmprof_dimension;

/* Rows of a dimension, as far as parts that have been loaded refer to them;
 * borrowed until more are loaded. */
const void *llmprof_trace_rows(const llmprof_trace *trace, llmprof_dimension of,
                               size_t *count);

/* Were such events recorded? Answers after the part is loaded. */
bool llmprof_trace_has(const llmprof_trace *trace, llmprof_trace_table table);

/* "kernel", "copy", "set", "graph". */
const char *llmprof_op_kind_name(llmprof_op_kind kind);

/* Load on first use; NULL on failure (corrupt file, out of memory, more than
 * 2^32 - 2 rows). */
const llmprof_ops *llmprof_trace_ops(llmprof_trace *trace, llmprof_error *err);
const llmprof_details *llmprof_trace_details(llmprof_trace *trace,
                                             llmprof_error *err);
const llmprof_calls *llmprof_trace_calls(llmprof_trace *trace,
                                         llmprof_error *err);
const llmprof_ranges *llmprof_trace_ranges(llmprof_trace *trace,
                                           llmprof_error *err);
const llmprof_samples *llmprof_trace_samples(llmprof_trace *trace,
                                             llmprof_error *err);
const llmprof_cpu_samples *llmprof_trace_cpu_samples(llmprof_trace *trace,
                                                     llmprof_error *err);
const llmprof_op_stacks *llmprof_trace_op_stacks(llmprof_trace *trace,
                                                 llmprof_error *err);

/* Where a source stack launched something, once they are loaded: the line of
 * the program as module and the function that it is in, NULL where all lines
 * are of frameworks; and the torch module, a string or LLMPROF_NO_STRING. */
const llmprof_stack_frame *llmprof_trace_source_line(const llmprof_trace *trace,
                                                     size_t stack);
uint32_t llmprof_trace_source_module(const llmprof_trace *trace, size_t stack);

/* Paths of their files for others, by frame: strings. Once they are loaded. */
const uint32_t *llmprof_trace_source_paths(const llmprof_trace *trace);
const llmprof_attribution *llmprof_trace_attribution(llmprof_trace *trace,
                                                     llmprof_error *err);
const llmprof_projections *llmprof_trace_projections(llmprof_trace *trace,
                                                     llmprof_error *err);

/* A text as the strings of traces are: sound. False when out of memory. */
bool llmprof_strings_add_sound(llmprof_strings *pool, const char *bytes,
                               size_t size, uint32_t *string);

/* Add a diagnostic, as printf would print it; false when out of memory. */
bool llmprof_builder_say(llmprof_builder *builder, llmprof_severity severity,
                         const char *form, ...)
    __attribute__((format(printf, 3, 4)));

/* What a GPU of AMD is called whose recorder wrote no name, by its compute
 * units and bytes of memory: one of the Instinct accelerators, else "AMD GPU".
 */
const char *llmprof_amd_name(int64_t units, int64_t memory);

#endif

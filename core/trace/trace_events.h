/* The events of a trace as plain arrays, one per property, for what computes
 * over them; other programs have frames. Row numbers are uint32_t, times are
 * ns since the session started, strings are ids in the trace's pool. */
#ifndef LLMPROF_TRACE_EVENTS_H
#define LLMPROF_TRACE_EVENTS_H

#include "llmprof/trace_builder.h"

/* GPU operations: kernels, then copies, sets and graphs; the rows of kind k
 * are first[k] to first[k + 1] - 1. */
typedef struct llmprof_ops {
  size_t count;
  uint32_t first[LLMPROF_OP_KINDS + 1];
  int64_t *start, *end;  /* ns */
  uint32_t *correlation; /* per process; LLMPROF_NONE when not recorded */
  uint32_t *name;        /* kernel: demangled name; else its operation */
  uint32_t *place;       /* row in places */
  /* Not of kernels: index op - first[COPY]. */
  int64_t *bytes;
  uint8_t *copy_kind;   /* llmprof_copy_kind; 0 for sets and graphs */
  uint8_t *host_memory; /* llmprof_host_memory */
} llmprof_ops;

/* More about kernels, by kernel row. */
typedef struct llmprof_details {
  uint32_t *shape;        /* row in shapes */
  uint32_t *short_name;   /* string: function name without parameters */
  uint32_t *mangled_name; /* string: as the linker knows it, or NO_STRING */
  int64_t *graph_node;    /* graph node id or LLMPROF_ABSENT; NULL when no
                             kernel of the trace came from a graph */
} llmprof_details;

/* CUDA API calls, runtime and driver. */
typedef struct llmprof_calls {
  size_t count;
  int64_t *start, *end; /* ns */
  uint32_t *thread;     /* row in threads, LLMPROF_NONE when not recorded */
  uint32_t *correlation;
  uint32_t *name; /* string, with its version suffix: "cudaMalloc_v3020" */
} llmprof_calls;

/* NVTX ranges. */
typedef struct llmprof_ranges {
  size_t count;
  int64_t *start, *end;  /* ns; one left open ends with the last NVTX
                           event, as in NVIDIA's reports */
  uint32_t *thread;      /* where it started */
  uint32_t *end_thread;  /* LLMPROF_NONE unless it ended on another one */
  uint32_t *text;        /* string or LLMPROF_NO_STRING */
  uint32_t *tag;         /* "text", or "domain:text" in a named domain */
  uint32_t *colon_tag;   /* as tag, but ":text" in the default domain */
  uint32_t *domain;      /* string or LLMPROF_NO_STRING: the default domain */
  uint32_t *category;    /* string or LLMPROF_NO_STRING */
  int64_t *payload;      /* integer payload or LLMPROF_ABSENT */
  double *payload_float; /* floating payload or NaN */
  int64_t *communicator; /* NCCL's id of it, or LLMPROF_ABSENT */
  int64_t *message;      /* bytes of a collective, or LLMPROF_ABSENT */
  uint8_t *style;        /* llmprof_range_style */
  uint8_t *open;         /* 1: had no end in the file */
} llmprof_ranges;

/* Hardware counters of a GPU over time, without replay, by start on each. */
typedef struct llmprof_samples {
  size_t count;
  int64_t *start, *end;            /* ns */
  uint32_t *device;                /* as llmprof_device.id */
  double *values[LLMPROF_SAMPLED]; /* NaN: not sampled */
} llmprof_samples;

/* What the CPU was in, as it was sampled; by time, those without one last. */
typedef struct llmprof_cpu_samples {
  size_t count;
  int64_t *time;    /* ns; LLMPROF_ABSENT when not recorded */
  uint32_t *thread; /* row in threads, LLMPROF_NONE when not recorded */
  uint32_t *stack;  /* row in stack frames: the innermost; LLMPROF_NONE when
                       none was recorded */
  int64_t *weight;  /* samples that the row stands for: 1 where it has a time */
  uint8_t *cut;     /* 1: the outermost frames of the stack are missing */
} llmprof_cpu_samples;

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

typedef struct llmprof_link {
  uint32_t range; /* row in ranges */
  uint32_t outer; /* next link, LLMPROF_NONE at the outermost */
} llmprof_link;

typedef struct llmprof_attribution {
  uint32_t *call; /* by operation: row in calls or LLMPROF_NONE */
  uint32_t *link; /* by operation: its chain or LLMPROF_NONE */
  llmprof_link *links;
  size_t link_count;
  uint32_t *parent; /* by range: the tightest range around it on its thread,
                       LLMPROF_NONE at the top */
  uint32_t *level;  /* by range: 0 at the top; LLMPROF_NONE for a range that
                       does not take part (ended on another thread, or
                       lacks its start) */
  uint64_t *inner;  /* by range: ns of it in ranges whose parent it is, where
                       they overlap once */
} llmprof_attribution;

/* A range projected onto the GPU: from the first start to the last end of the
 * kernels, copies and sets it launched. One per range that launched any. */
typedef struct llmprof_projection {
  uint32_t range;
  int64_t start, end;  /* ns, on the GPU */
  uint32_t operations; /* distinct correlation ids: a graph launch counts 1 */
  uint32_t children;   /* projected ranges whose parent this range is */
} llmprof_projection;

/* ---- functions ---- */

/* Borrowed; these grow while parts load: ask again afterwards. */
const llmprof_place *llmprof_trace_places(const llmprof_trace *trace,
                                          size_t *count);
const llmprof_shape *llmprof_trace_shapes(const llmprof_trace *trace,
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
const llmprof_stack_frame *llmprof_trace_stack_frames(llmprof_trace *trace,
                                                      size_t *count,
                                                      llmprof_error *err);
const llmprof_attribution *llmprof_trace_attribution(llmprof_trace *trace,
                                                     llmprof_error *err);
const llmprof_projection *llmprof_trace_projections(llmprof_trace *trace,
                                                    size_t *count,
                                                    llmprof_error *err);

/* Say, before operations are loaded, that details of kernels will be asked for
 * too: a reader that finds them beside each other reads both at once. */
void llmprof_trace_with_details(llmprof_trace *trace);

/* Say, before calls are loaded, that no more will be asked for than these parts
 * of them, so that the others need not be kept. From then on the frame of calls
 * has names and durations only. With launches, of operations
 * that remains which tells how long they and their calls took, and which ranges
 * are around these: llmprof_trace_ops(), the attribution's `call` and columns
 * of times or ids fail with UNSUPPORTED or are not there. False where it makes
 * no difference: the trace has all calls at hand. */
enum llmprof_calls_part {
  LLMPROF_CALLS_DURATIONS = 1, /* the frame of calls */
  LLMPROF_CALLS_LAUNCHES = 2,  /* what launched operations */
};
bool llmprof_trace_narrow_calls(llmprof_trace *trace, unsigned parts);

#endif

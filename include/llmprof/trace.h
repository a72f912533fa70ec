/* A timeline: what the GPU, the CUDA API and NVTX ranges did and when,
 * whatever it was read from. llmprof/readers.h opens one, and
 * llmprof/trace_builder.h makes one.
 *
 * Events are plain arrays, one per property; row numbers are uint32_t. Times
 * are nanoseconds since the session started. Strings are ids in one pool.
 * Parts load when first needed; what was not recorded is an empty part or an
 * absent value, never an error. */
#ifndef LLMPROF_TRACE_H
#define LLMPROF_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llmprof/absent.h"
#include "llmprof/error.h"
#include "llmprof/frame.h"
#include "llmprof/strings.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "No such row", in every uint32_t that holds a row number. */
#define LLMPROF_NONE UINT32_MAX

typedef struct llmprof_trace llmprof_trace;

/* ---- what the events refer to ---- */

typedef struct llmprof_process {
  int64_t id; /* the reader's: unique per machine and process */
  uint32_t pid;
  uint32_t name; /* string, LLMPROF_NO_STRING when not recorded */
} llmprof_process;

typedef struct llmprof_thread {
  int64_t id; /* the reader's: unique per machine and thread */
  uint32_t tid;
  uint32_t process; /* row in processes */
  uint32_t name;    /* string or LLMPROF_NO_STRING */
} llmprof_thread;

/* Where a GPU operation ran. */
typedef struct llmprof_place {
  uint32_t process; /* row in processes, LLMPROF_NONE when not recorded */
  uint32_t device;  /* CUDA device id, as in llmprof_device.id */
  uint32_t context;
  uint32_t stream;
} llmprof_place;

/* What a kernel was launched with; LLMPROF_NONE where not recorded. */
typedef struct llmprof_shape {
  uint32_t grid[3], block[3];
  uint32_t registers;      /* per thread */
  uint32_t static_shared;  /* bytes per block */
  uint32_t dynamic_shared; /* bytes per block */
} llmprof_shape;

/* A GPU. Numbers are LLMPROF_ABSENT when not recorded. */
typedef struct llmprof_device {
  int64_t id;
  uint32_t name, chip, uuid, bus; /* strings or LLMPROF_NO_STRING */
  int64_t memory;                 /* bytes */
  int64_t bandwidth;              /* theoretical, bytes per second */
  int64_t clock;                  /* maximal SM clock, Hz */
  int64_t sm_count;
  int64_t l2_size; /* bytes */
  int64_t compute_major, compute_minor;
} llmprof_device;

/* ---- events ---- */

typedef enum llmprof_op_kind {
  LLMPROF_KERNEL,
  LLMPROF_COPY,
  LLMPROF_SET,
  LLMPROF_GRAPH, /* a whole CUDA graph, traced as one operation */
  LLMPROF_OP_KINDS,
} llmprof_op_kind;

/* "kernel", "copy", "set", "graph". */
const char *llmprof_op_kind_name(llmprof_op_kind kind);

/* From where to where a copy goes, numbered as CUPTI does. */
typedef enum llmprof_copy_kind {
  LLMPROF_COPY_UNKNOWN,
  LLMPROF_COPY_HOST_TO_DEVICE,
  LLMPROF_COPY_DEVICE_TO_HOST,
  LLMPROF_COPY_HOST_TO_ARRAY,
  LLMPROF_COPY_ARRAY_TO_HOST,
  LLMPROF_COPY_ARRAY_TO_ARRAY,
  LLMPROF_COPY_ARRAY_TO_DEVICE,
  LLMPROF_COPY_DEVICE_TO_ARRAY,
  LLMPROF_COPY_DEVICE_TO_DEVICE,
  LLMPROF_COPY_HOST_TO_HOST,
  LLMPROF_COPY_PEER_TO_PEER,
  LLMPROF_COPY_UNIFIED_HOST_TO_DEVICE,
  LLMPROF_COPY_UNIFIED_DEVICE_TO_HOST,
  LLMPROF_COPY_UNIFIED_DEVICE_TO_DEVICE,
  LLMPROF_COPY_KINDS,
} llmprof_copy_kind;

/* Memory that the host side of a copy lies in. */
typedef enum llmprof_host_memory {
  LLMPROF_MEMORY_UNKNOWN, /* or the copy has no host side */
  LLMPROF_MEMORY_PAGEABLE,
  LLMPROF_MEMORY_PINNED,
  LLMPROF_MEMORY_OTHER, /* managed, ... */
  LLMPROF_HOST_MEMORIES,
} llmprof_host_memory;

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

typedef enum llmprof_range_style {
  LLMPROF_PUSH_POP,
  LLMPROF_START_END,
} llmprof_range_style;

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

/* What hardware samples tell, each in percent of the most that is possible. */
typedef enum llmprof_sampled {
  LLMPROF_SAMPLED_GPU, /* anything at all runs */
  LLMPROF_SAMPLED_SM,
  LLMPROF_SAMPLED_TENSOR,
  LLMPROF_SAMPLED_DRAM_READ,
  LLMPROF_SAMPLED_DRAM_WRITE,
  LLMPROF_SAMPLED,
} llmprof_sampled;

/* Hardware counters of a GPU over time, without replay, by start on each. */
typedef struct llmprof_samples {
  size_t count;
  int64_t *start, *end;            /* ns */
  uint32_t *device;                /* as llmprof_device.id */
  double *values[LLMPROF_SAMPLED]; /* NaN: not sampled */
} llmprof_samples;

/* A function on sampled stacks, called from `parent`. What has the same
 * function, module and parent is one; parents have lower numbers. */
typedef struct llmprof_stack_frame {
  uint32_t parent;   /* row in stack frames; LLMPROF_NONE: outermost */
  uint32_t function; /* string; what has no name is "[libc.so.6]" */
  uint32_t module;   /* string: library or script, without where it lies, or
                        LLMPROF_NO_STRING */
} llmprof_stack_frame;

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

/* NULL is fine. */
void llmprof_trace_close(llmprof_trace *trace);

/* Everything below is borrowed and lives as long as the trace. */
const char *llmprof_trace_path(const llmprof_trace *trace);
const llmprof_strings *llmprof_trace_strings(const llmprof_trace *trace);

/* Name of the reader, "nsys"; NULL when the trace was built without one. */
const char *llmprof_trace_reader(const llmprof_trace *trace);

/* Version of the format and of what wrote it, "3.20.3" and "2025.3.2.0"; NULL
 * when the file does not say. */
const char *llmprof_trace_schema(const llmprof_trace *trace);
const char *llmprof_trace_product(const llmprof_trace *trace);

/* Wall clock at time 0, ns since the epoch, or LLMPROF_ABSENT. */
int64_t llmprof_trace_epoch(const llmprof_trace *trace);

/* By id. */
const llmprof_device *llmprof_trace_devices(const llmprof_trace *trace,
                                            size_t *count);

/* These grow while parts load: ask again afterwards. */
const llmprof_process *llmprof_trace_processes(const llmprof_trace *trace,
                                               size_t *count);
const llmprof_thread *llmprof_trace_threads(const llmprof_trace *trace,
                                            size_t *count);
const llmprof_place *llmprof_trace_places(const llmprof_trace *trace,
                                          size_t *count);
const llmprof_shape *llmprof_trace_shapes(const llmprof_trace *trace,
                                          size_t *count);

/* Were such events recorded at all, though there may be none? Answers after
 * the part is loaded. */
typedef enum llmprof_trace_table {
  LLMPROF_TABLE_KERNELS,
  LLMPROF_TABLE_COPIES,
  LLMPROF_TABLE_SETS,
  LLMPROF_TABLE_GRAPHS,
  LLMPROF_TABLE_CALLS,
  LLMPROF_TABLE_RANGES,
  LLMPROF_TABLE_SAMPLES,
  LLMPROF_TABLE_CPU_SAMPLES,
  LLMPROF_TABLES,
} llmprof_trace_table;
bool llmprof_trace_has(const llmprof_trace *trace, llmprof_trace_table table);

/* The same at any time: 1 yes, 0 no, -1 failure. */
int llmprof_trace_recorded(llmprof_trace *trace, llmprof_trace_table table,
                           llmprof_error *err);

/* What a trace can say beyond its events. Where it cannot, that such a thing
 * is not there means nothing. */
typedef enum llmprof_fact {
  LLMPROF_KNOWS_CALLS,       /* which API call launched an operation */
  LLMPROF_KNOWS_GRAPH_NODES, /* which kernels a CUDA graph ran */
  LLMPROF_KNOWS_HOST_MEMORY, /* kinds of host memory of copies */
  LLMPROF_KNOWS_PAYLOADS,    /* payloads of ranges */
  LLMPROF_KNOWS_ALLOCATIONS, /* calls that take or give back device memory */
  LLMPROF_KNOWS_DIAGNOSTICS, /* what the recorder noticed of itself */
  LLMPROF_FACTS,
} llmprof_fact;

/* 1 yes, 0 no, -1 failure: it loads the part that would hold it. */
int llmprof_trace_knows(llmprof_trace *trace, llmprof_fact fact,
                        llmprof_error *err);

/* "calls", "graph_nodes", ...; NULL for LLMPROF_FACTS. */
const char *llmprof_fact_name(llmprof_fact fact);

/* What the recorder noticed of itself. */
typedef enum llmprof_severity {
  LLMPROF_INFO,
  LLMPROF_WARNING,
  LLMPROF_PROBLEM,
} llmprof_severity;

typedef struct llmprof_diagnostic {
  llmprof_severity severity;
  uint32_t text; /* string */
} llmprof_diagnostic;

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
const llmprof_diagnostic *llmprof_trace_diagnostics(llmprof_trace *trace,
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

/* ---- frames ----
 *
 * kernels        kernels, with launch shape and launching call
 * transfers      memory copies and sets, with bytes, direction ("host to
 *                device", ...) and host_memory ("pageable", "pinned", "other")
 * graphs         CUDA graphs that were traced as one operation
 * gpu            all of the three, with kind (llmprof_op_kind_name)
 * api            CUDA API calls
 * ranges         NVTX ranges; style is llmprof_range_style
 * projections    ranges projected onto the GPU
 * kernel_ranges  every pair of a kernel and a range around its launch; a
 *                kernel in no range makes one pair
 * samples        hardware samples: percent of the most that is possible
 * cpu_samples    what the CPU was in: the innermost function of sampled stacks,
 *                and its caller
 *
 * Columns are listed in core/trace/trace_op_columns.c and
 * trace_event_columns.c and, for users, in docs. */

/* A frame by name; it borrows from the trace, which must outlive it. NULL on
 * failure (NOTFOUND: no such frame). */
llmprof_frame *llmprof_trace_frame(llmprof_trace *trace, const char *name,
                                   llmprof_error *err);

/* Names of the frames, 0 and up; NULL after the last. */
const char *llmprof_trace_frame_name(size_t number);

/* A tag of ranges, and what they are to be called: NULL, their tag. */
typedef struct llmprof_trace_tag {
  const char *tag, *label;
} llmprof_trace_tag;

/* Add two columns to a frame of this trace's operations or ranges: `name`, the
 * label of the innermost range around the launch, or from the range itself
 * outwards, whose tag is one of `tags`, and `name`_range, that range's row.
 * Around a CPU sample is a range of its thread, else one of another thread of
 * its process; there a third column, `name`_own, is 1 or 0 to tell. UNSUPPORTED
 * when the frame is of something else or has such a column already. */
bool llmprof_trace_label(llmprof_trace *trace, llmprof_frame *frame,
                         const char *name, const llmprof_trace_tag *tags,
                         size_t count, llmprof_error *err);

/* Ranges whose tag is one of `tags` as the GPU ran them: a row for each range
 * and each device on which it ran something, by process, device and start. An
 * operation belongs to the innermost of these ranges around its launch; a graph
 * traced as one operation counts, as it does not in projections. Columns:
 *
 * range, tag, pid, tid   the range, its tag, and the thread that it is on
 * device                 where its operations ran
 * host_start, host_end, host   the range itself, and its duration: CPU time
 * launched               start of the first call that launched one of them
 * start, end             of its operations: the first start, the last end
 * before                 latest end of what ran before it on its device: of
 *                        the rows before it, and of any operation that had
 *                        ended when it started; absent where nothing had
 * begin                  when the GPU could begin it: `before`, if it was
 *                        launched by then, else `start`
 * length                 end - begin
 * operations, kernels    how many
 *
 * Operations without times are left out. The frame borrows from the trace.
 * NULL on failure. */
llmprof_frame *llmprof_trace_steps(llmprof_trace *trace,
                                   const llmprof_trace_tag *tags, size_t count,
                                   llmprof_error *err);

/* A named stretch of time, [start, end) in ns. */
typedef struct llmprof_span {
  const char *name;
  int64_t start, end;
} llmprof_span;

/* The same two columns by time, where no range marks it: `name` is the name of
 * the span in which an operation starts on the GPU, or a CPU sample was taken,
 * `name`_range the span's number, from 0. Spans are in order and do not
 * overlap. */
bool llmprof_trace_label_spans(llmprof_trace *trace, llmprof_frame *frame,
                               const char *name, const llmprof_span *spans,
                               size_t count, llmprof_error *err);

/* ---- sampled stacks, summed up ----
 *
 * Over the rows of a frame of this trace's cpu_samples (UNSUPPORTED: of
 * something else; RANGE: there are more samples than an int64_t counts). */

/* The stacks as a tree, each function before those it called, the largest
 * first: name (of the function), module, depth (0: outermost), self (samples in
 * it) and total (and in what it called). What has fewer than `least` samples is
 * left out, and so much more that at most `most` rows are there. NULL on
 * failure. */
llmprof_frame *llmprof_trace_stack_tree(llmprof_trace *trace,
                                        llmprof_frame *samples, int64_t least,
                                        size_t most, llmprof_error *err);

/* By name and module, in the order of the tree: self, and total, in which a
 * sample counts once however often the function is on its stack. NULL on
 * failure. */
llmprof_frame *llmprof_trace_stack_functions(llmprof_trace *trace,
                                             llmprof_frame *samples,
                                             llmprof_error *err);

#ifdef __cplusplus
}
#endif

#endif

/* A timeline: what the GPU, the CUDA API and NVTX ranges did and when,
 * whatever it was read from. llmprof/readers.h opens one, and
 * llmprof/trace_builder.h makes one.
 *
 * Events are read as frames (llmprof/frame.h). Times are nanoseconds since the
 * session started. Strings are ids in one pool. Parts load when first needed,
 * so that what asks for one may fail as reading a file does: IO, SYNTAX,
 * TRUNCATED, LIMIT, NOMEM, INTERRUPTED. What was not recorded is an empty frame
 * or an absent value, never an error. A trace is for one thread at a time. */
#ifndef LLMPROF_TRACE_H
#define LLMPROF_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
  uint32_t caller;  /* row of the thread that waits while this one works for it,
                       as for autograd's; LLMPROF_NONE: of none */
} llmprof_thread;

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

typedef enum llmprof_range_style {
  LLMPROF_PUSH_POP,
  LLMPROF_START_END,
} llmprof_range_style;

/* ---- functions ---- */

/* Ends the trace and what borrows from it: free its frames first. NULL is fine.
 */
void llmprof_trace_close(llmprof_trace *trace);

/* Everything below is borrowed and lives as long as the trace; no path or pool
 * is NULL. */
const char *llmprof_trace_path(const llmprof_trace *trace);
const llmprof_strings *llmprof_trace_strings(const llmprof_trace *trace);

/* Name of the reader, "nsys"; NULL when the trace was built without one. */
const char *llmprof_trace_reader(const llmprof_trace *trace);

/* Version of the format and of what wrote it, "3.20.3" and "2025.3.2.0"; NULL
 * when the file does not say. */
const char *llmprof_trace_schema(const llmprof_trace *trace);
const char *llmprof_trace_product(const llmprof_trace *trace);

/* Wall clock at time 0, ns since 1970-01-01 UTC, or LLMPROF_ABSENT. */
int64_t llmprof_trace_epoch(const llmprof_trace *trace);

/* GPUs, by id; *count of them. */
const llmprof_device *llmprof_trace_devices(const llmprof_trace *trace,
                                            size_t *count);

/* These grow while parts load: ask again afterwards. */
const llmprof_process *llmprof_trace_processes(const llmprof_trace *trace,
                                               size_t *count);
const llmprof_thread *llmprof_trace_threads(const llmprof_trace *trace,
                                            size_t *count);
/* What may have been recorded. */
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

/* Were such events recorded at all, though there may be none? 1 yes, 0 no, -1
 * failure: it loads them. */
int llmprof_trace_recorded(llmprof_trace *trace, llmprof_trace_table table,
                           llmprof_error *err);

/* Such events that have no start or no end and were left out; 0 before they are
 * loaded. */
size_t llmprof_trace_timeless(const llmprof_trace *trace,
                              llmprof_trace_table table);

/* What a trace can say beyond its events. Where it cannot, that such a thing
 * is absent does not mean that it did not happen. */
typedef enum llmprof_fact {
  LLMPROF_KNOWS_CALLS,       /* which API call launched an operation */
  LLMPROF_KNOWS_GRAPH_NODES, /* which kernels a CUDA graph ran */
  LLMPROF_KNOWS_HOST_MEMORY, /* kinds of host memory of copies */
  LLMPROF_KNOWS_PAYLOADS,    /* payloads of ranges */
  LLMPROF_KNOWS_ALLOCATIONS, /* calls that take or give back device memory */
  LLMPROF_KNOWS_DIAGNOSTICS, /* what the recorder noticed of itself */
  LLMPROF_KNOWS_LINES, /* which line of the program launched an operation */
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

/* *count of them; NULL on failure. */
const llmprof_diagnostic *llmprof_trace_diagnostics(llmprof_trace *trace,
                                                    size_t *count,
                                                    llmprof_error *err);

/* ---- frames ----
 *
 * kernels        kernels, with launch shape and launching call
 * transfers      memory copies and sets, with bytes, direction ("host to
 *                device", ...) and host_memory ("pageable", "pinned", "other")
 * graphs         CUDA graphs that were traced as one operation
 * gpu            all of the three, with kind: "kernel", "copy", "set", "graph"
 * api            CUDA API calls
 * ranges         NVTX ranges; style is llmprof_range_style
 * projections    ranges projected onto the GPU
 * kernel_ranges  every pair of a kernel and a range around its launch; a
 *                kernel in no range makes one pair
 * samples        hardware samples: percent of the most that is possible
 * cpu_samples    what the CPU was in: the innermost function of sampled stacks,
 *                and its caller
 *
 * llmprof_frame_peek() tells the names and units of their columns; docs/repl.md
 * lists them. */

/* A new frame by name, which the caller frees; it borrows from the trace, which
 * must outlive it. NULL on failure (NOTFOUND: no such frame). */
llmprof_frame *llmprof_trace_frame(llmprof_trace *trace, const char *name,
                                   llmprof_error *err);

/* Names of the frames, 0 and up; NULL after the last. */
const char *llmprof_trace_frame_name(size_t number);

/* A tag of ranges ("text", or "domain:text" in a named domain), and what they
 * are to be called: NULL, their tag. */
typedef struct llmprof_trace_tag {
  const char *tag, *label;
} llmprof_trace_tag;

/* Add two columns to a frame of this trace's operations or ranges: `name`, the
 * label of the innermost range around the launch, or from the range itself
 * outwards, whose tag is one of `tags`, and `name`_range, that range's row.
 * Around a CPU sample is a range of its thread, else one of another thread of
 * its process; there a third column, `name`_own, is 1 or 0 to tell. `tags` are
 * copied. UNSUPPORTED when the frame is of something else or has such a column
 * already. */
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
 * Times are ns. Operations without times are left out. The caller frees the
 * frame, which borrows from the trace. NULL on failure. */
llmprof_frame *llmprof_trace_steps(llmprof_trace *trace,
                                   const llmprof_trace_tag *tags, size_t count,
                                   llmprof_error *err);

/* A named interval of time, [start, end) in ns. */
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

/* ---- stacks, summed up ----
 *
 * New frames, which the caller frees, over the rows of a frame of this trace's
 * cpu_samples, or of its operations by the lines that launched them
 * (UNSUPPORTED: of something else; RANGE: there are more samples or ns than an
 * int64_t counts). Below "samples" are the ns that operations ran. Lines of
 * frameworks are left out; a function of the program has its line as module,
 * and calls the operation, which has none. */

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

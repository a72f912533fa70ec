/* Making a trace: what the reader of a file format calls, and all that it
 * knows of a trace. The builder owns ids, interning and order; a reader turns
 * its format into rows.
 *
 * Functions that can fail do so for want of memory or, for rows, because there
 * are more than 2^32 - 2 of a kind (LIMIT); those without an llmprof_error
 * return false when out of memory. What they are given is copied. */
#ifndef LLMPROF_TRACE_BUILDER_H
#define LLMPROF_TRACE_BUILDER_H

#include "llmprof/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct llmprof_builder llmprof_builder;

/* Parts of a trace, which are loaded one by one when something needs them. */
typedef enum llmprof_part {
  LLMPROF_PART_OPS,
  LLMPROF_PART_DETAILS, /* of kernels; loaded after the operations */
  LLMPROF_PART_CALLS,
  LLMPROF_PART_RANGES,
  LLMPROF_PART_DIAGNOSTICS,
  LLMPROF_PART_SAMPLES,
  LLMPROF_PART_CPU_SAMPLES,
  LLMPROF_PART_STACKS, /* of operations; loaded after these */
  LLMPROF_PARTS,
} llmprof_part;

/* ---- readers ---- */

typedef enum llmprof_claim {
  LLMPROF_CLAIM_NO,     /* of another format */
  LLMPROF_CLAIM_YES,    /* of this one, though it may be broken */
  LLMPROF_CLAIM_FAILED, /* of this one, and no use: err says why */
} llmprof_claim;

/* A file for a reader to look at, by its first bytes. */
typedef struct llmprof_specimen {
  const char *path;
  const unsigned char *bytes; /* borrowed */
  size_t size;                /* LLMPROF_PROBE_SIZE, less in a short file */
  bool packed;                /* these bytes were gzip */
} llmprof_specimen;

enum {
  LLMPROF_PROBE_SIZE = 65536
};

/* What to do with files that a reader cannot take but knows by their names. */
typedef struct llmprof_reader_hint {
  const char *suffix; /* NULL ends the list */
  const char *text;   /* "%s" stands for the path */
} llmprof_reader_hint;

/* A file format: a constant that lives as long as the process. It is known once
 * llmprof_reader_add() has it (llmprof/readers.h). */
typedef struct llmprof_reader {
  const char *name; /* "nsys": one word, for scripts */
  const char *what; /* "SQLite export of Nsight Systems", for people */
  const llmprof_reader_hint *hints; /* NULL: none */

  /* What to do with a file of this format that is no trace, "%s" its path;
   * NULL: nothing. */
  const char *instead;

  /* On LLMPROF_CLAIM_NO, err says what the file is not. */
  llmprof_claim (*probe)(const llmprof_specimen *file, llmprof_error *err);

  /* Is the file by itself what `open` would take, as far as can be told without
   * reading it? Asked when its rows are at hand already; NULL: yes. */
  bool (*check)(const char *path, llmprof_error *err);

  /* NULL: a file of this format holds no timeline. Else false is a failure.
   * Describe the trace and announce what it knows; parts may be left to
   * `load`. *state is the reader's own and goes to `close`, on failure too;
   * the path outlives it. */
  bool (*open)(const char *path, llmprof_builder *builder, void **state,
               llmprof_error *err);

  /* Add the rows of a part, once; NULL when `open` does it all. After a
   * failure the part is emptied and asked for again when it is needed. */
  bool (*load)(void *state, llmprof_builder *builder, llmprof_part part,
               llmprof_error *err);
  void (*close)(void *state); /* NULL: nothing to free; of NULL too */
} llmprof_reader;

/* The trace of a file, read by this reader, whatever its probe says. NULL on
 * failure. Free with llmprof_trace_close. */
llmprof_trace *llmprof_reader_open(const llmprof_reader *reader,
                                   const char *path, llmprof_error *err);

/* ---- without a reader ---- */

/* A trace of rows that are added now; `name` stands for its path in messages.
 * Freed by llmprof_builder_finish or llmprof_builder_free. */
llmprof_builder *llmprof_builder_new(const char *name, llmprof_error *err);
void llmprof_builder_free(llmprof_builder *builder); /* NULL is fine */

/* The builder's trace, which llmprof_trace_close frees; NULL on failure. The
 * builder is gone in any case. */
llmprof_trace *llmprof_builder_finish(llmprof_builder *builder,
                                      llmprof_error *err);

/* ---- what a trace is about ---- */

/* The string's id. Bytes that no JSON or command line can hold are replaced;
 * NULL is LLMPROF_NO_STRING. */
bool llmprof_builder_text(llmprof_builder *builder, const char *bytes,
                          size_t size, uint32_t *string);

/* The pool that such ids are of; borrowed. */
const llmprof_strings *llmprof_builder_strings(const llmprof_builder *builder);

/* Versions of the format and of what wrote the file; NULL: not known. The
 * first that is known stands. */
bool llmprof_builder_versions(llmprof_builder *builder, const char *schema,
                              const char *product);

/* Wall clock at time 0, ns since 1970-01-01 UTC. */
void llmprof_builder_epoch(llmprof_builder *builder, int64_t ns);

/* The trace can say so; such events were recorded, though there may be none. */
void llmprof_builder_knows(llmprof_builder *builder, llmprof_fact fact);
void llmprof_builder_recorded(llmprof_builder *builder,
                              llmprof_trace_table table);

bool llmprof_builder_add_diagnostic(llmprof_builder *builder,
                                    const llmprof_diagnostic *diagnostic);
/* A GPU; of several with an id the first counts. */
bool llmprof_builder_add_device(llmprof_builder *builder,
                                const llmprof_device *device);

/* The row of a process or thread, which is new when its id is. The first
 * numbers stand; the last name (a string) does. */
bool llmprof_builder_add_process(llmprof_builder *builder, int64_t id,
                                 uint32_t pid, uint32_t *row);
bool llmprof_builder_add_thread(llmprof_builder *builder, int64_t id,
                                uint32_t tid, uint32_t process, uint32_t *row);
/* What a thread launches while a range of its caller is open, in the domain
 * without a name, is launched in that range, too. */
void llmprof_builder_set_caller(llmprof_builder *builder, uint32_t row,
                                uint32_t caller);
void llmprof_builder_name_process(llmprof_builder *builder, uint32_t row,
                                  uint32_t name);
void llmprof_builder_name_thread(llmprof_builder *builder, uint32_t row,
                                 uint32_t name);

/* Where a GPU operation ran. */
typedef struct llmprof_place {
  uint32_t process; /* row in processes, LLMPROF_NONE when not recorded */
  uint32_t device;  /* CUDA device id, as in llmprof_device.id */
  uint32_t context;
  uint32_t stream;
} llmprof_place;

/* The row of a place, which is new when none is like it. */
bool llmprof_builder_add_place(llmprof_builder *builder,
                               const llmprof_place *place, uint32_t *row);

/* ---- events ---- */

/* Such an event has no start or no end, or ends before it starts: it is
 * counted, not added. */
void llmprof_builder_timeless(llmprof_builder *builder,
                              llmprof_trace_table table);

typedef enum llmprof_op_kind {
  LLMPROF_KERNEL,
  LLMPROF_COPY,
  LLMPROF_SET,
  LLMPROF_GRAPH, /* a whole CUDA graph, traced as one operation */
  LLMPROF_OP_KINDS,
} llmprof_op_kind;

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

typedef struct llmprof_op_row {
  llmprof_op_kind kind;
  int64_t start, end;   /* ns or LLMPROF_ABSENT */
  uint32_t correlation; /* or LLMPROF_NONE */
  uint32_t name;        /* string; of copies, sets and graphs
                           llmprof_builder_op_name has it */
  uint32_t place;       /* row */
  int64_t bytes;        /* from here on: not of kernels; or LLMPROF_ABSENT */
  llmprof_copy_kind copy_kind;
  llmprof_host_memory host_memory;
} llmprof_op_row;

/* Kernels come first, then copies, sets and graphs (else UNSUPPORTED). */
bool llmprof_builder_add_op(llmprof_builder *builder, const llmprof_op_row *op,
                            llmprof_error *err);

/* "[CUDA memset]", or "[CUDA memcpy LABEL]", as NVIDIA's reports print them.
 * label: NULL for the usual one of the copy's kind. */
bool llmprof_builder_op_name(llmprof_builder *builder, llmprof_op_kind kind,
                             llmprof_copy_kind copy_kind, const char *label,
                             uint32_t *string);

/* What a kernel was launched with; LLMPROF_NONE where not recorded. */
typedef struct llmprof_shape {
  uint32_t grid[3], block[3];
  uint32_t registers;      /* per thread */
  uint32_t static_shared;  /* bytes per block */
  uint32_t dynamic_shared; /* bytes per block */
} llmprof_shape;

/* Of the next kernel; of all of them, or of none. */
typedef struct llmprof_detail_row {
  llmprof_shape shape;
  uint32_t short_name, mangled_name; /* strings or LLMPROF_NO_STRING */
  int64_t graph_node;                /* or LLMPROF_ABSENT */
} llmprof_detail_row;

bool llmprof_builder_add_detail(llmprof_builder *builder,
                                const llmprof_detail_row *detail,
                                llmprof_error *err);

typedef struct llmprof_call_row {
  int64_t start, end;   /* ns or LLMPROF_ABSENT */
  uint32_t thread;      /* row or LLMPROF_NONE */
  uint32_t correlation; /* or LLMPROF_NONE */
  uint32_t name;        /* string or LLMPROF_NO_STRING */
} llmprof_call_row;

bool llmprof_builder_add_call(llmprof_builder *builder,
                              const llmprof_call_row *call, llmprof_error *err);

/* The same of several. */
bool llmprof_builder_add_calls(llmprof_builder *builder,
                               const llmprof_call_row *calls, size_t count,
                               llmprof_error *err);

typedef struct llmprof_range_row {
  int64_t start, end;          /* ns; end LLMPROF_ABSENT: it was left open */
  uint32_t thread, end_thread; /* rows; end_thread LLMPROF_NONE: the same */
  uint32_t text;               /* string or LLMPROF_NO_STRING */
  uint32_t domain, category;   /* strings or LLMPROF_NO_STRING */
  int64_t payload;             /* or LLMPROF_ABSENT */
  double payload_float;        /* or NaN */
  int64_t communicator;        /* of NCCL's calls, or LLMPROF_ABSENT */
  int64_t message;             /* their bytes, or LLMPROF_ABSENT */
  llmprof_range_style style;
} llmprof_range_row;

bool llmprof_builder_add_range(llmprof_builder *builder,
                               const llmprof_range_row *range,
                               llmprof_error *err);

/* Something else than a range happened then: ranges left open end no
 * earlier. */
void llmprof_builder_range_time(llmprof_builder *builder, int64_t ns);

/* What hardware samples tell, each in percent of the most that is possible. */
typedef enum llmprof_sampled {
  LLMPROF_SAMPLED_GPU, /* anything at all runs */
  LLMPROF_SAMPLED_SM,
  LLMPROF_SAMPLED_TENSOR,
  LLMPROF_SAMPLED_DRAM_READ,
  LLMPROF_SAMPLED_DRAM_WRITE,
  LLMPROF_SAMPLED,
} llmprof_sampled;

typedef struct llmprof_sample_row {
  int64_t start, end;             /* ns */
  uint32_t device;                /* as llmprof_device.id */
  double values[LLMPROF_SAMPLED]; /* NaN: not sampled */
} llmprof_sample_row;

bool llmprof_builder_add_sample(llmprof_builder *builder,
                                const llmprof_sample_row *sample,
                                llmprof_error *err);

/* A function on sampled stacks, called from `parent`. What has the same
 * function, module and parent is one; parents have lower numbers. */
typedef struct llmprof_stack_frame {
  uint32_t parent;   /* row in stack frames; LLMPROF_NONE: outermost */
  uint32_t function; /* string; what has no name is "[libc.so.6]" */
  uint32_t module;   /* string: library or script, without where it lies, or
                        LLMPROF_NO_STRING */
} llmprof_stack_frame;

/* The row of a stack's frame, which is new when none is like it. Its parent was
 * added before. */
bool llmprof_builder_add_stack_frame(llmprof_builder *builder,
                                     const llmprof_stack_frame *frame,
                                     uint32_t *row);

typedef struct llmprof_cpu_sample_row {
  int64_t time;    /* ns or LLMPROF_ABSENT */
  uint32_t thread; /* row or LLMPROF_NONE */
  uint32_t stack;  /* row: the innermost frame, or LLMPROF_NONE */
  int64_t weight;  /* 1 where there is a time, else 1 or more */
  bool cut;        /* the outermost frames are missing */
} llmprof_cpu_sample_row;

/* In any order. */
bool llmprof_builder_add_cpu_sample(llmprof_builder *builder,
                                    const llmprof_cpu_sample_row *sample,
                                    llmprof_error *err);

/* A line of source that was on the stack of a launch. */
typedef struct llmprof_source_frame {
  uint32_t file;     /* string */
  uint32_t function; /* string or LLMPROF_NO_STRING, with its class */
  uint32_t line;     /* from 1, LLMPROF_NONE: not known */
  uint32_t module;   /* string: path of the torch.nn.Module whose code it runs
                        for, "model.layers.7.mlp", or LLMPROF_NO_STRING */
} llmprof_source_frame;

/* A stack of such lines. What has the same frame and parent is one; parents
 * have lower numbers. */
typedef struct llmprof_source_stack {
  uint32_t parent; /* row: of the caller; LLMPROF_NONE: outermost */
  uint32_t frame;  /* row in source frames: the innermost */
} llmprof_source_stack;

/* The row, which is new when none is like it. */
bool llmprof_builder_add_source_frame(llmprof_builder *builder,
                                      const llmprof_source_frame *frame,
                                      uint32_t *row);
bool llmprof_builder_add_source_stack(llmprof_builder *builder,
                                      const llmprof_source_stack *stack,
                                      uint32_t *row);

/* Stacks whose innermost line is this one of a generated file end in the lines
 * that it was made of, outermost first, for the same module; the first of them
 * is left out where its function is on the stack. Before the stacks; of one
 * line the first counts. */
bool llmprof_builder_add_generated(llmprof_builder *builder,
                                   const llmprof_source_frame *line,
                                   const llmprof_source_frame *made_of,
                                   size_t count);

/* Of the next operation: what launched it, or made the node of the graph that
 * it is; LLMPROF_NONE: not known. Of all of them, or of none. */
bool llmprof_builder_add_op_stack(llmprof_builder *builder, uint32_t stack,
                                  llmprof_error *err);

/* Where domains and categories get their names last: add ranges with numbers
 * of your own instead of strings, and have each pair turned into strings when
 * the ranges are there. process: of the range's thread, LLMPROF_NONE when it
 * has none. */
typedef void (*llmprof_scope_namer)(void *user, uint32_t process,
                                    uint32_t *domain, uint32_t *category);
void llmprof_builder_name_scopes(llmprof_builder *builder,
                                 llmprof_scope_namer name, void *user);

/* A row number or id as a uint32_t: LLMPROF_NONE when absent or beyond. */
static inline uint32_t llmprof_u32(int64_t value) {
  return value >= 0 && value < UINT32_MAX ? (uint32_t)value : LLMPROF_NONE;
}

/* The other way round: LLMPROF_ABSENT for LLMPROF_NONE. */
static inline int64_t llmprof_widen(uint32_t value) {
  return value == LLMPROF_NONE ? LLMPROF_ABSENT : (int64_t)value;
}

#ifdef __cplusplus
}
#endif

#endif

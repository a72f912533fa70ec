/* What the files of the reader of torch.profiler's traces share. */
#ifndef LLMPROF_TORCH_INTERNAL_H
#define LLMPROF_TORCH_INTERNAL_H

#include "frame/intern.h"
#include "llmprof/trace_builder.h"
#include "torch/chrome_internal.h"
#include "trace/kernel_names.h"

/* A GPU operation. */
typedef struct torch_op {
  int64_t start, end;  /* ns, as in the file */
  int64_t correlation; /* or LLMPROF_ABSENT */
  int64_t bytes, graph_node;
  size_t event;  /* its number in the file */
  uint32_t call; /* that launched it, once all are known; or LLMPROF_NONE */
  llmprof_place place; /* the process once all calls are known */
  llmprof_shape shape;
  uint32_t name; /* string */
  uint8_t kind;  /* llmprof_op_kind */
  uint8_t copy_kind, host_memory;
} torch_op;

/* A call, and where in the file it stands. */
typedef struct torch_call {
  llmprof_call_row row;
  size_t event;
  uint32_t process;
} torch_call;

/* A function of Python, or a module, while it ran. */
typedef struct torch_function {
  int64_t start, end;   /* ns, as those of operations */
  int64_t process, tid; /* ids in the file */
  uint32_t name;        /* string */
} torch_function;

typedef struct torch_trace {
  llmprof_builder *builder;
  const char *path;
  llmprof_intern processes; /* of ids; rows are the builder's */
  llmprof_intern pids;      /* that processes have */
  llmprof_intern threads;   /* of { process row, tid } */
  torch_op *ops;
  size_t op_count, op_cap;
  torch_call *calls;
  size_t call_count, call_cap;
  llmprof_range_row *ranges;
  size_t range_count, range_cap;
  torch_function *functions;
  size_t function_count, function_cap;
  llmprof_kernel_names names;
  size_t events;
  int64_t first; /* ns: the earliest start of an operation, a call or a range */
  uint64_t left_out, timeless, ambiguous, foreign, begun;
  bool is_ascend; /* an NPU's, by the name of a process */
  llmprof_chrome_damage damage;
  uint32_t main_name; /* string: of the first process */
} torch_trace;

/* Rows of events by an id, which is unique within a process: the first of a
 * process has it. */
typedef struct torch_ids {
  llmprof_intern rows;
  uint32_t *order; /* of the rows by id, then as in the file; once sorted */
} torch_ids;

/* Sorted when all were added. False when out of memory or interrupted;
 * llmprof_fail_nomem tells which. */
void torch_ids_init(torch_ids *ids);
bool torch_ids_add(torch_ids *ids, int64_t id, uint32_t process, size_t event,
                   uint32_t row);
bool torch_ids_sort(torch_ids *ids);
void torch_ids_free(torch_ids *ids);

/* LLMPROF_NONE: there is none. */
uint32_t torch_ids_find(const torch_ids *ids, int64_t id, uint32_t process);

/* The row whose event is nearest to this one in the file, as merged files keep
 * a process together; whether several have the id, unless NULL. The ids are
 * sorted. */
uint32_t torch_ids_nearest(const torch_ids *ids, int64_t id, size_t event,
                           bool *several);

/* Give each operation the call that launched it, and the process of that. */
bool torch_match_calls(torch_trace *t, llmprof_error *err);

/* Add the stack of each operation: the functions that were open when it was
 * launched. None where the file has no functions. */
bool torch_load_stacks(torch_trace *t, llmprof_error *err);

/* What an event says of the collective that it is: its process group, the same
 * number on all ranks of it, and the bytes of a rank. Absent where it does
 * not. */
void torch_read_group(const llmprof_chrome_event *event,
                      llmprof_range_row *range);

/* Give what PyTorch marks inside of a collective ("nccl:all_reduce"), where its
 * kernels are launched, what is known of it. */
bool torch_spread_groups(torch_trace *t, llmprof_error *err);

/* The rank that "distributedInfo" tells, and of how many; absent without. False
 * when out of memory. */
bool torch_rank(const char *json, int64_t *rank, int64_t *world);

/* What a copy's name tells: "Memcpy HtoD (Pinned -> Device)". */
void torch_read_copy(const char *name, torch_op *op);

/* Add each GPU of "deviceProperties"; other entries are skipped. */
bool torch_add_devices(llmprof_builder *builder, const char *json);

#endif

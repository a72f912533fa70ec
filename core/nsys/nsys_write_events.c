/* GPU operations and API calls as tables of nsys. */
#include <string.h>

#include "nsys/nsys_samples.h"
#include "nsys/nsys_writer.h"
#include "trace/trace_events.h"

/* Of every operation: where it ran, and when. */
#define PLACED_COLUMNS                                                   \
  "start", "end", "deviceId", "contextId", "greenContextId", "streamId", \
      "correlationId", "globalPid"

static void put_placed(nsys_sheet *sheet, const llmprof_ops *ops, size_t row) {
  size_t count;
  const llmprof_place *places =
      llmprof_trace_rows(sheet->writer->trace, LLMPROF_PLACES, &count);
  const llmprof_place *place = &places[llmprof_id_at(ops->place, row)];
  nsys_put_integer(sheet, llmprof_values_get(ops->start, row));
  nsys_put_integer(sheet, llmprof_end_at(ops->start, ops->duration, row));
  nsys_put_u32(sheet, place->device);
  nsys_put_u32(sheet, place->context);
  nsys_put_null(sheet); /* green contexts */
  nsys_put_u32(sheet, place->stream);
  nsys_put_u32(sheet, llmprof_id_at(ops->correlation, row));
  nsys_put_process(sheet, place->process);
}

typedef void (*op_writer)(nsys_sheet *sheet, const llmprof_ops *ops, size_t row,
                          void *user);

/* The operations of a kind. */
typedef struct op_source {
  const llmprof_ops *ops;
  size_t first;
  op_writer put; /* what is the kind's own */
  void *user;
} op_source;

enum {
  MOST_COLUMNS = 32
};

/* Which stack launched it, as its row in the table of stacks. */
static void put_op_stack(nsys_sheet *sheet, size_t row) {
  llmprof_trace *trace = sheet->writer->trace;
  if (!sheet->writer->stacks) return;
  int64_t stack = llmprof_values_get(
      llmprof_trace_op_stacks(trace, sheet->writer->edit->err)->stack, row);
  nsys_put_integer(sheet, stack == LLMPROF_ABSENT ? stack : stack + 1);
}

static void put_op(nsys_sheet *sheet, const void *from, size_t item) {
  const op_source *source = from;
  size_t row = source->first + item;
  put_placed(sheet, source->ops, row);
  source->put(sheet, source->ops, row, source->user);
  put_op_stack(sheet, row);
  nsys_end_row(sheet);
}

/* A table of the operations of a kind, which is there when they were
 * recorded. */
static bool write_kind(nsys_writer *w, llmprof_op_kind kind, const char *table,
                       const char *const *columns, size_t count, op_writer put,
                       void *user) {
  const llmprof_ops *ops = llmprof_trace_ops(w->trace, w->edit->err);
  if (!llmprof_trace_has(w->trace, (llmprof_trace_table)kind)) return true;
  const op_source source = {ops, ops->first[kind], put, user};
  size_t rows = ops->first[kind + 1] - source.first;
  const char *all[MOST_COLUMNS];
  memcpy(all, columns, count * sizeof *columns);
  if (w->stacks) all[count++] = "sourceStackId";
  w->counts.operations += rows;
  return nsys_write_table(w, table, all, count, put_op, &source, rows);
}

/* ---- kernels ---- */

/* Of nsys's those that a trace knows, the last where it knows of graphs: its
 * reports ask for no others. */
static const char *const kernel_columns[] = {PLACED_COLUMNS,
                                             "demangledName",
                                             "shortName",
                                             "mangledName",
                                             "registersPerThread",
                                             "gridX",
                                             "gridY",
                                             "gridZ",
                                             "blockX",
                                             "blockY",
                                             "blockZ",
                                             "staticSharedMemory",
                                             "dynamicSharedMemory",
                                             "graphNodeId"};

_Static_assert(COUNT(kernel_columns) < MOST_COLUMNS, "and one of stacks");

typedef struct kernel_source {
  const llmprof_details *details;
  const llmprof_shape *shapes;
  bool nodes;
} kernel_source;

static void put_kernel(nsys_sheet *sheet, const llmprof_ops *ops, size_t row,
                       void *user) {
  const kernel_source *from = user;
  const llmprof_details *details = from->details;
  const llmprof_shape *shape =
      &from->shapes[llmprof_id_at(details->shape, row)];
  nsys_put_string_id(sheet, llmprof_id_at(ops->name, row));
  nsys_put_string_id(sheet, llmprof_id_at(details->short_name, row));
  nsys_put_string_id(sheet, llmprof_id_at(details->mangled_name, row));
  nsys_put_u32(sheet, shape->registers);
  for (int i = 0; i < 3; i++) nsys_put_u32(sheet, shape->grid[i]);
  for (int i = 0; i < 3; i++) nsys_put_u32(sheet, shape->block[i]);
  nsys_put_u32(sheet, shape->static_shared);
  nsys_put_u32(sheet, shape->dynamic_shared);
  if (from->nodes)
    nsys_put_integer(sheet, llmprof_values_get(details->graph_node, row));
}

static bool write_kernels(nsys_writer *w) {
  size_t count;
  int nodes =
      llmprof_trace_knows(w->trace, LLMPROF_KNOWS_GRAPH_NODES, w->edit->err);
  if (nodes < 0) return false;
  kernel_source from = {
      .details = llmprof_trace_details(w->trace, w->edit->err),
      .shapes = llmprof_trace_rows(w->trace, LLMPROF_SHAPES, &count),
      .nodes = nodes > 0,
  };
  return write_kind(w, LLMPROF_KERNEL, "CUPTI_ACTIVITY_KIND_KERNEL",
                    kernel_columns, COUNT(kernel_columns) - !from.nodes,
                    put_kernel, &from);
}

/* ---- copies ---- */

enum {
  COPY_NUMBERS = 16 /* those beyond LLMPROF_COPY_KINDS are for names of
                       kinds that have no number here */
};

/* What a trace calls each kind of copy. */
typedef struct copy_names {
  uint32_t name[COPY_NUMBERS]; /* string */
  bool memories;               /* kinds of host memory are known */
} copy_names;

/* The last two where a trace knows of host memory. */
static const char *const copy_columns[] = {
    PLACED_COLUMNS,   "bytes",        "copyKind",       "deprecatedSrcId",
    "srcDeviceId",    "srcContextId", "dstDeviceId",    "dstContextId",
    "migrationCause", "graphNodeId",  "virtualAddress", "copyCount",
    "srcKind",        "dstKind",
};

_Static_assert(COUNT(copy_columns) < MOST_COLUMNS, "and one of stacks");

/* Two names of a kind: the second gets a number of its own. */
static int number_copy(copy_names *names, llmprof_copy_kind kind,
                       uint32_t name) {
  int number = (int)kind;
  while (number < COPY_NUMBERS && names->name[number] != name &&
         names->name[number] != LLMPROF_NO_STRING)
    number = number < LLMPROF_COPY_KINDS ? LLMPROF_COPY_KINDS : number + 1;
  if (number == COPY_NUMBERS) return (int)kind;
  names->name[number] = name;
  return number;
}

/* As nsys numbers memory. */
static int64_t memory_number(uint32_t memory) {
  static const int64_t numbers[LLMPROF_HOST_MEMORIES] = {
      [LLMPROF_MEMORY_UNKNOWN] = LLMPROF_ABSENT,
      [LLMPROF_MEMORY_PAGEABLE] = 0,
      [LLMPROF_MEMORY_PINNED] = 1,
      [LLMPROF_MEMORY_OTHER] = 7, /* "unknown": which of the others is */
  };
  return numbers[memory];
}

static void put_copy(nsys_sheet *sheet, const llmprof_ops *ops, size_t row,
                     void *user) {
  copy_names *names = user;
  llmprof_copy_kind kind =
      (llmprof_copy_kind)llmprof_id_at(ops->copy_kind, row);
  int64_t memory = memory_number(llmprof_id_at(ops->host_memory, row));
  nsys_put_integer(sheet, llmprof_values_get(ops->bytes, row));
  nsys_put_integer(sheet,
                   number_copy(names, kind, llmprof_id_at(ops->name, row)));
  nsys_put_nulls(sheet, 9);
  if (!names->memories) return;
  nsys_put_integer(sheet, kind == LLMPROF_COPY_HOST_TO_DEVICE ? memory
                                                              : LLMPROF_ABSENT);
  nsys_put_integer(sheet, kind == LLMPROF_COPY_DEVICE_TO_HOST ? memory
                                                              : LLMPROF_ABSENT);
}

/* What stands between the words of "[CUDA memcpy LABEL]". */
static void put_label(nsys_sheet *sheet, uint32_t name) {
  static const char before[] = "[CUDA memcpy ";
  enum {
    BEFORE = sizeof before - 1
  };
  size_t size = 0;
  const char *text = llmprof_strings_get(sheet->writer->strings, name, &size);
  if (size > BEFORE && memcmp(text, before, BEFORE) == 0)
    nsys_put_part(sheet, text + BEFORE, size - BEFORE - 1);
  else
    nsys_put_null(sheet);
}

static const char *const enum_columns[] = {"id INTEGER NOT NULL PRIMARY KEY",
                                           "name TEXT", "label TEXT"};

static void put_copy_label(nsys_sheet *sheet, const void *from, size_t number) {
  const copy_names *names = from;
  if (names->name[number] == LLMPROF_NO_STRING) return;
  nsys_put_integer(sheet, (int64_t)number);
  nsys_put_null(sheet);
  put_label(sheet, names->name[number]);
  nsys_end_row(sheet);
}

static bool write_copies(nsys_writer *w) {
  int memories =
      llmprof_trace_knows(w->trace, LLMPROF_KNOWS_HOST_MEMORY, w->edit->err);
  if (memories < 0) return false;
  copy_names names = {.memories = memories > 0};
  for (int i = 0; i < COPY_NUMBERS; i++) names.name[i] = LLMPROF_NO_STRING;
  return write_kind(w, LLMPROF_COPY, "CUPTI_ACTIVITY_KIND_MEMCPY", copy_columns,
                    COUNT(copy_columns) - (names.memories ? 0 : 2), put_copy,
                    &names) &&
         nsys_write_table(w, "ENUM_CUDA_MEMCPY_OPER", enum_columns,
                          COUNT(enum_columns), put_copy_label, &names,
                          COPY_NUMBERS);
}

/* ---- sets and graphs ---- */

static const char *const set_columns[] = {
    PLACED_COLUMNS, "value", "bytes", "graphNodeId", "memKind",
};

static void put_set(nsys_sheet *sheet, const llmprof_ops *ops, size_t row,
                    void *user) {
  (void)user;
  nsys_put_null(sheet);
  nsys_put_integer(sheet, llmprof_values_get(ops->bytes, row));
  nsys_put_nulls(sheet, 2);
}

static const char *const graph_columns[] = {PLACED_COLUMNS, "graphId",
                                            "graphExecId"};

static void put_graph(nsys_sheet *sheet, const llmprof_ops *ops, size_t row,
                      void *user) {
  (void)ops, (void)row, (void)user;
  nsys_put_nulls(sheet, 2);
}

bool nsys_write_ops(nsys_writer *w) {
  return write_kernels(w) && write_copies(w) &&
         write_kind(w, LLMPROF_SET, "CUPTI_ACTIVITY_KIND_MEMSET", set_columns,
                    COUNT(set_columns), put_set, NULL) &&
         write_kind(w, LLMPROF_GRAPH, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
                    graph_columns, COUNT(graph_columns), put_graph, NULL);
}

/* ---- stacks ---- */

/* A row for each line of a stack, with the row of its caller. */
static void put_stack(nsys_sheet *sheet, const void *from, size_t row) {
  const llmprof_source_stack *stack = (const llmprof_source_stack *)from + row;
  llmprof_trace *trace = sheet->writer->trace;
  size_t count;
  const llmprof_source_frame *frames =
      llmprof_trace_rows(trace, LLMPROF_SOURCE_FRAMES, &count);
  nsys_put_integer(sheet, (int64_t)row + 1);
  nsys_put_integer(sheet, stack->parent == LLMPROF_NONE ? LLMPROF_ABSENT
                                                        : stack->parent + 1L);
  nsys_put_string_id(sheet, llmprof_trace_source_paths(trace)[stack->frame]);
  nsys_put_u32(sheet, frames[stack->frame].line);
  nsys_put_string_id(sheet, frames[stack->frame].function);
  nsys_put_string_id(sheet, frames[stack->frame].module);
  nsys_end_row(sheet);
}

bool nsys_write_stacks(nsys_writer *w) {
  static const char *const columns[] = {"id INTEGER NOT NULL PRIMARY KEY",
                                        "parent",
                                        "file",
                                        "line",
                                        "function",
                                        "module"};
  size_t count;
  const llmprof_source_stack *stacks =
      llmprof_trace_rows(w->trace, LLMPROF_SOURCE_STACKS, &count);
  return !w->stacks ||
         nsys_write_table(w, NSYS_STACKS_TABLE, columns, COUNT(columns),
                          put_stack, stacks, count);
}

/* ---- API calls ---- */

static const char *const call_columns[] = {
    "start",         "end",    "eventClass",  "globalTid",
    "correlationId", "nameId", "returnValue", /* a report asks for it */
};

/* ENUM_NSYS_EVENT_CLASS: 0 the runtime's, 1 the driver's. */
static int64_t event_class(const nsys_writer *w, uint32_t name) {
  const char *text = llmprof_strings_get(w->strings, name, NULL);
  if (!text || strncmp(text, "cu", 2) != 0) return LLMPROF_ABSENT;
  return strncmp(text, "cuda", 4) != 0;
}

static void put_call(nsys_sheet *sheet, const void *from, size_t row) {
  const llmprof_calls *calls = from;
  nsys_put_integer(sheet, llmprof_values_get(calls->start, row));
  nsys_put_integer(sheet, llmprof_end_at(calls->start, calls->duration, row));
  nsys_put_integer(sheet,
                   event_class(sheet->writer, llmprof_id_at(calls->name, row)));
  nsys_put_thread(sheet, llmprof_id_at(calls->thread, row));
  nsys_put_u32(sheet, llmprof_id_at(calls->correlation, row));
  nsys_put_string_id(sheet, llmprof_id_at(calls->name, row));
  nsys_put_null(sheet);
  nsys_end_row(sheet);
}

bool nsys_write_calls(nsys_writer *w) {
  const llmprof_calls *calls = llmprof_trace_calls(w->trace, w->edit->err);
  if (!llmprof_trace_has(w->trace, LLMPROF_TABLE_CALLS)) return true;
  w->counts.calls = calls->count;
  return nsys_write_table(w, "CUPTI_ACTIVITY_KIND_RUNTIME", call_columns,
                          COUNT(call_columns), put_call, calls, calls->count);
}

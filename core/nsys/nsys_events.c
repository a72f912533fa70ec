/* GPU operations, details of kernels and API calls of an export. */
#include <string.h>

#include "base/alloc.h"
#include "nsys/nsys_internal.h"
#include "nsys/nsys_samples.h"

typedef bool (*row_taker)(void *user, const int64_t *values,
                          llmprof_error *err);

/* Gives each of some rows to `take`, which fills err in itself. Inlined with
 * its taker: there are millions of rows. */
__attribute__((always_inline)) static inline bool
each_row(void *user, const int64_t *values, size_t rows, int columns,
         row_taker take, llmprof_error *err) {
  for (; rows; rows--, values += columns) {
    if (!take(user, values, err)) return false;
  }
  return true;
}

/* A llmprof_scan_take_rows called NAME of a row_taker. */
#define EACH_ROW(name, take, columns)                              \
  static bool name(void *user, const int64_t *values, size_t rows, \
                   llmprof_error *err) {                           \
    return each_row(user, values, rows, columns, take, err);       \
  }

static bool take_rows(const nsys_export *export, llmprof_builder *builder,
                      const nsys_table *table, llmprof_scan_take_rows take,
                      void *user, llmprof_error *err) {
  llmprof_scan *scan;
  if (!llmprof_nsys_open_table(export, builder, table, &scan, err))
    return false;
  bool ok = !scan || llmprof_scan_rows(scan, take, user, err);
  llmprof_scan_close(scan);
  return ok;
}

/* ---- kernel details ---- */

enum {
  DETAIL_GRID,
  DETAIL_BLOCK = DETAIL_GRID + 3,
  DETAIL_REGISTERS = DETAIL_BLOCK + 3,
  DETAIL_STATIC,
  DETAIL_DYNAMIC,
  DETAIL_SHORT,
  DETAIL_MANGLED,
  DETAIL_NODE,
  DETAIL_START,
  DETAIL_END,
  DETAIL_COLUMNS
};

typedef struct detail_loader {
  const nsys_export *export;
  llmprof_builder *builder;
} detail_loader;

/* Those of kernels that were added. */
static bool take_detail(void *user, const int64_t *values, llmprof_error *err) {
  const detail_loader *l = user;
  llmprof_detail_row row = {
      .short_name = llmprof_nsys_string(l->export, values[DETAIL_SHORT]),
      .mangled_name = llmprof_nsys_string(l->export, values[DETAIL_MANGLED]),
      .graph_node = values[DETAIL_NODE],
      .shape = {.registers = llmprof_u32(values[DETAIL_REGISTERS]),
                .static_shared = llmprof_u32(values[DETAIL_STATIC]),
                .dynamic_shared = llmprof_u32(values[DETAIL_DYNAMIC])},
  };
  for (int i = 0; i < 3; i++) {
    row.shape.grid[i] = llmprof_u32(values[DETAIL_GRID + i]);
    row.shape.block[i] = llmprof_u32(values[DETAIL_BLOCK + i]);
  }
  return !llmprof_nsys_has_time(l->export, values[DETAIL_START],
                                values[DETAIL_END]) ||
         llmprof_builder_add_detail(l->builder, &row, err);
}

EACH_ROW(take_details, take_detail, DETAIL_COLUMNS)

bool llmprof_nsys_load_details(nsys_export *export, llmprof_builder *builder,
                               llmprof_error *err) {
  static const char *const columns[] = {
      [DETAIL_GRID] = "gridX",
      [DETAIL_GRID + 1] = "gridY",
      [DETAIL_GRID + 2] = "gridZ",
      [DETAIL_BLOCK] = "blockX",
      [DETAIL_BLOCK + 1] = "blockY",
      [DETAIL_BLOCK + 2] = "blockZ",
      [DETAIL_REGISTERS] = "registersPerThread",
      [DETAIL_STATIC] = "staticSharedMemory",
      [DETAIL_DYNAMIC] = "dynamicSharedMemory",
      [DETAIL_SHORT] = "shortName",
      [DETAIL_MANGLED] = "mangledName",
      [DETAIL_NODE] = "graphNodeId",
      [DETAIL_START] = "start",
      [DETAIL_END] = "end",
  };
  static const nsys_table table = {
      .spec = {"CUPTI_ACTIVITY_KIND_KERNEL", columns, DETAIL_COLUMNS, 0},
      .recorded_as = LLMPROF_TABLE_KERNELS,
      .fact = LLMPROF_KNOWS_GRAPH_NODES,
      .known_by = DETAIL_NODE,
  };
  detail_loader loader = {.export = export, .builder = builder};
  return take_rows(export, builder, &table, take_details, &loader, err);
}

/* ---- GPU operations ---- */

enum {
  OP_START,
  OP_END,
  OP_CORRELATION,
  OP_PROCESS,
  OP_DEVICE,
  OP_CONTEXT,
  OP_STREAM,
  OP_PLACED,
  OP_NAME = OP_PLACED, /* of kernels */
  OP_KERNEL_COLUMNS,
  OP_BYTES = OP_PLACED, /* of the others */
  OP_OTHER_COLUMNS,
  OP_COPY_KIND = OP_OTHER_COLUMNS, /* of copies */
  OP_SOURCE_MEMORY,
  OP_TARGET_MEMORY,
  OP_COPY_COLUMNS,
};

#define PLACED_COLUMNS                                                        \
  [OP_START] = "start", [OP_END] = "end", [OP_CORRELATION] = "correlationId", \
  [OP_PROCESS] = "globalPid", [OP_DEVICE] = "deviceId",                       \
  [OP_CONTEXT] = "contextId", [OP_STREAM] = "streamId"

static const char *const kernel_columns[] = {
    PLACED_COLUMNS,
    [OP_NAME] = "demangledName",
};

static const char *const copy_columns[] = {
    PLACED_COLUMNS,
    [OP_BYTES] = "bytes",
    [OP_COPY_KIND] = "copyKind",
    [OP_SOURCE_MEMORY] = "srcKind",
    [OP_TARGET_MEMORY] = "dstKind",
};

static const nsys_table op_tables[LLMPROF_OP_KINDS] = {
    [LLMPROF_KERNEL] = {.spec = {"CUPTI_ACTIVITY_KIND_KERNEL", kernel_columns,
                                 OP_KERNEL_COLUMNS, 0},
                        .recorded_as = LLMPROF_TABLE_KERNELS,
                        .fact = LLMPROF_FACTS},
    [LLMPROF_COPY] = {.spec = {"CUPTI_ACTIVITY_KIND_MEMCPY", copy_columns,
                               OP_COPY_COLUMNS, 0},
                      .recorded_as = LLMPROF_TABLE_COPIES,
                      .fact = LLMPROF_KNOWS_HOST_MEMORY,
                      .known_by = OP_SOURCE_MEMORY},
    [LLMPROF_SET] = {.spec = {"CUPTI_ACTIVITY_KIND_MEMSET", copy_columns,
                              OP_OTHER_COLUMNS, 0},
                     .recorded_as = LLMPROF_TABLE_SETS,
                     .fact = LLMPROF_FACTS},
    [LLMPROF_GRAPH] = {.spec = {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", copy_columns,
                                OP_OTHER_COLUMNS, 0},
                       .recorded_as = LLMPROF_TABLE_GRAPHS,
                       .fact = LLMPROF_FACTS},
};

enum {
  COPY_NAMES = 16 /* 14 kinds are known in 2026 */
};

/* Loading one kind; remembers the last place, which seldom changes. */
typedef struct op_loader {
  const nsys_export *export;
  llmprof_builder *builder;
  llmprof_op_row row;
  int64_t place[OP_PLACED - OP_PROCESS]; /* what row.place was made of */
  uint32_t copy_names[COPY_NAMES];       /* strings, by copyKind */
} op_loader;

static bool is_same_place(const int64_t *a, const int64_t *b) {
  int64_t differences = 0;
  for (int i = 0; i < OP_PLACED - OP_PROCESS; i++) differences |= a[i] ^ b[i];
  return differences == 0;
}

static bool find_place(op_loader *loader, const int64_t *values) {
  const int64_t *where = values + OP_PROCESS;
  llmprof_place place = {
      .device = llmprof_u32(values[OP_DEVICE]),
      .context = llmprof_u32(values[OP_CONTEXT]),
      .stream = llmprof_u32(values[OP_STREAM]),
  };
  int64_t process = values[OP_PROCESS];
  if (process == LLMPROF_ABSENT) process = loader->export->sole_process;
  memcpy(loader->place, where, sizeof loader->place);
  return llmprof_nsys_process(loader->builder, process, &place.process) &&
         llmprof_builder_add_place(loader->builder, &place, &loader->row.place);
}

static inline bool take_op(op_loader *loader, const int64_t *values,
                           llmprof_error *err) {
  if (!llmprof_nsys_has_time(loader->export, values[OP_START],
                             values[OP_END])) {
    llmprof_builder_timeless(loader->builder,
                             op_tables[loader->row.kind].recorded_as);
    return true;
  }
  loader->row.start = llmprof_nsys_time(loader->export, values[OP_START]);
  loader->row.end = llmprof_nsys_time(loader->export, values[OP_END]);
  loader->row.correlation = llmprof_u32(values[OP_CORRELATION]);
  if ((loader->row.place == LLMPROF_NONE ||
       !is_same_place(loader->place, values + OP_PROCESS)) &&
      !find_place(loader, values))
    return llmprof_fail_nomem(err);
  return llmprof_builder_add_op(loader->builder, &loader->row, err);
}

static bool take_kernel(void *user, const int64_t *values, llmprof_error *err) {
  op_loader *loader = user;
  loader->row.name = llmprof_nsys_string(loader->export, values[OP_NAME]);
  return take_op(loader, values, err);
}

/* Sets and graphs, whose names are known before. */
static bool take_other(void *user, const int64_t *values, llmprof_error *err) {
  op_loader *loader = user;
  loader->row.bytes = values[OP_BYTES];
  return take_op(loader, values, err);
}

/* By nsys's number of a kind of memory. */
static llmprof_host_memory memory_of(int64_t kind) {
  if (kind == LLMPROF_ABSENT) return LLMPROF_MEMORY_UNKNOWN;
  if (kind == 0) return LLMPROF_MEMORY_PAGEABLE;
  return kind == 1 ? LLMPROF_MEMORY_PINNED : LLMPROF_MEMORY_OTHER;
}

static llmprof_host_memory host_memory(const int64_t *values) {
  if (values[OP_COPY_KIND] == LLMPROF_COPY_HOST_TO_DEVICE)
    return memory_of(values[OP_SOURCE_MEMORY]);
  if (values[OP_COPY_KIND] == LLMPROF_COPY_DEVICE_TO_HOST)
    return memory_of(values[OP_TARGET_MEMORY]);
  return LLMPROF_MEMORY_UNKNOWN;
}

static bool take_copy(void *user, const int64_t *values, llmprof_error *err) {
  op_loader *loader = user;
  uint64_t kind = (uint64_t)values[OP_COPY_KIND];
  loader->row.name = loader->copy_names[kind < COPY_NAMES ? kind : 0];
  loader->row.copy_kind = kind < LLMPROF_COPY_KINDS ? (llmprof_copy_kind)kind
                                                    : LLMPROF_COPY_UNKNOWN;
  loader->row.host_memory = host_memory(values);
  return take_other(user, values, err);
}

/* ---- their names ---- */

static bool name_copy(op_loader *loader, int64_t kind, const char *label) {
  llmprof_copy_kind known = kind < LLMPROF_COPY_KINDS ? (llmprof_copy_kind)kind
                                                      : LLMPROF_COPY_UNKNOWN;
  return llmprof_builder_op_name(loader->builder, LLMPROF_COPY, known, label,
                                 &loader->copy_names[kind]);
}

static bool take_label(void *user, const llmprof_scan *scan,
                       const int64_t *values) {
  size_t size;
  const char *label = llmprof_scan_text(scan, 0, &size);
  if (!label || values[0] < 0 || values[0] >= COPY_NAMES) return true;
  return name_copy(user, values[0], label);
}

/* The export's own labels win over the usual ones. */
static bool name_copies(op_loader *loader, llmprof_error *err) {
  const llmprof_scan_spec spec = {"ENUM_CUDA_MEMCPY_OPER",
                                  COLUMNS("id", "label"), 1, 1};
  for (int kind = 0; kind < COPY_NAMES; kind++) {
    if (!name_copy(loader, kind, NULL)) return llmprof_fail_nomem(err);
  }
  return llmprof_scan_each(loader->export->db, &spec, take_label, loader, NULL,
                           err);
}

static bool name_ops(op_loader *loader, llmprof_error *err) {
  switch (loader->row.kind) {
  case LLMPROF_COPY:
    return name_copies(loader, err);
  case LLMPROF_SET:
  case LLMPROF_GRAPH:
    return llmprof_builder_op_name(loader->builder, loader->row.kind, 0, NULL,
                                   &loader->row.name) ||
           llmprof_fail_nomem(err);
  case LLMPROF_KERNEL:
  case LLMPROF_OP_KINDS:
    break;
  }
  return true;
}

EACH_ROW(take_kernels, take_kernel, OP_KERNEL_COLUMNS)
EACH_ROW(take_copies, take_copy, OP_COPY_COLUMNS)
EACH_ROW(take_others, take_other, OP_OTHER_COLUMNS)

static bool scan_ops(op_loader *l, llmprof_error *err) {
  static const llmprof_scan_take_rows takers[] = {
      [LLMPROF_KERNEL] = take_kernels,
      [LLMPROF_COPY] = take_copies,
      [LLMPROF_SET] = take_others,
      [LLMPROF_GRAPH] = take_others,
  };
  return take_rows(l->export, l->builder, &op_tables[l->row.kind],
                   takers[l->row.kind], l, err);
}

bool llmprof_nsys_load_ops(nsys_export *export, llmprof_builder *builder,
                           llmprof_error *err) {
  bool ok = true;
  for (int kind = 0; ok && kind < LLMPROF_OP_KINDS; kind++) {
    op_loader loader = {
        .export = export,
        .builder = builder,
        .row = {.kind = (llmprof_op_kind)kind, .place = LLMPROF_NONE}};
    ok = name_ops(&loader, err) && scan_ops(&loader, err);
  }
  return ok;
}

/* ---- stacks of operations ---- */

/* Which row of the trace a row of our table is. */
typedef struct stack_row {
  int64_t id;
  uint32_t row;
} stack_row;

typedef struct stack_loader {
  const nsys_export *export;
  llmprof_builder *builder;
  llmprof_intern stacks; /* of stack_row, by id */
} stack_loader;

static uint32_t stack_of(const stack_loader *l, int64_t id) {
  const stack_row *found = llmprof_intern_seek(&l->stacks, &id);
  return found ? found->row : LLMPROF_NONE;
}

enum {
  STACK_ID,
  STACK_PARENT,
  STACK_FILE,
  STACK_LINE,
  STACK_FUNCTION,
  STACK_MODULE,
  STACK_COLUMNS
};

/* Callers come first; the second of an id is another one's. */
static bool take_stack(void *user, const llmprof_scan *scan,
                       const int64_t *values) {
  (void)scan;
  stack_loader *l = user;
  const llmprof_source_frame frame = {
      .file = llmprof_nsys_string(l->export, values[STACK_FILE]),
      .function = llmprof_nsys_string(l->export, values[STACK_FUNCTION]),
      .line = llmprof_u32(values[STACK_LINE]),
      .module = llmprof_nsys_string(l->export, values[STACK_MODULE])};
  llmprof_source_stack stack = {.parent = stack_of(l, values[STACK_PARENT])};
  stack_row made = {.id = values[STACK_ID]};
  if (made.id == LLMPROF_ABSENT || stack_of(l, made.id) != LLMPROF_NONE)
    return true;
  return llmprof_builder_add_source_frame(l->builder, &frame, &stack.frame) &&
         llmprof_builder_add_source_stack(l->builder, &stack, &made.row) &&
         llmprof_intern_put(&l->stacks, &made);
}

/* Of operations that were added, in their order. */
static bool take_op_stack(void *user, const int64_t *values,
                          llmprof_error *err) {
  const stack_loader *l = user;
  return !llmprof_nsys_has_time(l->export, values[0], values[1]) ||
         llmprof_builder_add_op_stack(l->builder, stack_of(l, values[2]), err);
}

EACH_ROW(take_op_stacks, take_op_stack, 3)

static bool load_op_stacks(stack_loader *l, llmprof_error *err) {
  bool ok = true;
  for (int kind = LLMPROF_KERNEL; ok && kind < LLMPROF_OP_KINDS; kind++) {
    const nsys_table table = {.spec = {op_tables[kind].spec.table,
                                       COLUMNS("start", "end", "sourceStackId"),
                                       3, 0},
                              .recorded_as = op_tables[kind].recorded_as,
                              .fact = LLMPROF_FACTS};
    ok = take_rows(l->export, l->builder, &table, take_op_stacks, l, err);
  }
  return ok;
}

bool llmprof_nsys_load_stacks(nsys_export *export, llmprof_builder *builder,
                              llmprof_error *err) {
  const llmprof_scan_spec spec = {
      NSYS_STACKS_TABLE,
      COLUMNS("id", "parent", "file", "line", "function", "module"),
      STACK_COLUMNS, 0};
  stack_loader l = {.export = export, .builder = builder};
  bool has = false;
  llmprof_intern_init_keyed(&l.stacks, sizeof(stack_row), sizeof(int64_t));
  bool ok = llmprof_scan_each(export->db, &spec, take_stack, &l, &has, err) &&
            (!has || load_op_stacks(&l, err));
  llmprof_intern_free(&l.stacks);
  return ok;
}

/* ---- API calls ---- */

enum {
  CALL_START,
  CALL_END,
  CALL_THREAD,
  CALL_CORRELATION,
  CALL_NAME,
  CALL_COLUMNS
};

typedef struct call_loader {
  nsys_export *export;
  llmprof_builder *builder;
} call_loader;

static bool read_call(const call_loader *loader, const int64_t *values,
                      llmprof_call_row *row) {
  row->start = llmprof_nsys_time(loader->export, values[CALL_START]);
  row->end = llmprof_nsys_time(loader->export, values[CALL_END]);
  row->correlation = llmprof_u32(values[CALL_CORRELATION]);
  row->name = llmprof_nsys_string(loader->export, values[CALL_NAME]);
  return llmprof_nsys_thread(loader->export, loader->builder,
                             values[CALL_THREAD], &row->thread);
}

enum {
  SOME = 64 /* calls that are handed on together */
};

static bool take_calls(void *user, const int64_t *values, size_t rows,
                       llmprof_error *err) {
  const call_loader *loader = user;
  llmprof_call_row calls[SOME];
  while (rows) {
    size_t count = 0;
    for (; rows && count < SOME; rows--, values += CALL_COLUMNS) {
      if (!llmprof_nsys_has_time(loader->export, values[CALL_START],
                                 values[CALL_END]))
        llmprof_builder_timeless(loader->builder, LLMPROF_TABLE_CALLS);
      else if (!read_call(loader, values, &calls[count++]))
        return llmprof_fail_nomem(err);
    }
    if (!llmprof_builder_add_calls(loader->builder, calls, count, err))
      return false;
  }
  return true;
}

bool llmprof_nsys_load_calls(nsys_export *export, llmprof_builder *builder,
                             llmprof_error *err) {
  static const char *const columns[] = {
      [CALL_START] = "start",      [CALL_END] = "end",
      [CALL_THREAD] = "globalTid", [CALL_CORRELATION] = "correlationId",
      [CALL_NAME] = "nameId",
  };
  static const nsys_table table = {
      .spec = {"CUPTI_ACTIVITY_KIND_RUNTIME", columns, CALL_COLUMNS, 0},
      .recorded_as = LLMPROF_TABLE_CALLS,
      .fact = LLMPROF_FACTS,
  };
  call_loader loader = {export, builder};
  return take_rows(export, builder, &table, take_calls, &loader, err);
}

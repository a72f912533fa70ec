/* Event tables into columns: GPU operations, kernel details, API calls. Each
 * loader reserves from the scan's hint and appends row by row. */
#include <stdio.h>
#include <string.h>

#include "llmprof/alloc.h"
#include "trace/trace_model.h"

bool llmprof_trace_resize(void *array, size_t cap, size_t size) {
  void *old;
  memcpy(&old, array, sizeof old);
  void *grown = llmprof_resize(old, cap, size);
  if (!grown) return false;
  memcpy(array, &grown, sizeof grown);
  return true;
}

static size_t next_cap(size_t cap, size_t hint) {
  if (cap < hint) return hint;
  return cap + cap / 2 + 64;
}

static bool fail_rows(const llmprof_trace *trace, const char *table,
                      llmprof_error *err) {
  return llmprof_fail(err, LLMPROF_LIMIT,
                      "%s: %s has more than 4294967294 rows", trace->path,
                      table);
}

/* ---- GPU operations ---- */

void llmprof_ops_free(llmprof_ops *ops) {
  llmprof_free(ops->start);
  llmprof_free(ops->end);
  llmprof_free(ops->correlation);
  llmprof_free(ops->name);
  llmprof_free(ops->place);
  llmprof_free(ops->bytes);
  *ops = (llmprof_ops){0};
}

static bool resize_ops(llmprof_ops *ops, llmprof_op_kind kind, size_t cap) {
  return GROW(ops->start, cap) && GROW(ops->end, cap) &&
         GROW(ops->correlation, cap) && GROW(ops->name, cap) &&
         GROW(ops->place, cap) &&
         (kind == LLMPROF_KERNEL ||
          GROW(ops->bytes, cap - ops->first[LLMPROF_COPY]));
}

/* How a kind of operation is stored in an export. */
typedef struct op_table {
  const char *table;
  llmprof_trace_table known_as;
  const char *what; /* the column that names or counts it */
} op_table;

static const op_table op_tables[LLMPROF_OP_KINDS] = {
    [LLMPROF_KERNEL] = {"CUPTI_ACTIVITY_KIND_KERNEL", LLMPROF_TABLE_KERNELS,
                        "demangledName"},
    [LLMPROF_COPY] = {"CUPTI_ACTIVITY_KIND_MEMCPY", LLMPROF_TABLE_COPIES,
                      "copyKind"},
    [LLMPROF_SET] = {"CUPTI_ACTIVITY_KIND_MEMSET", LLMPROF_TABLE_SETS, NULL},
    [LLMPROF_GRAPH] = {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", LLMPROF_TABLE_GRAPHS,
                       NULL},
};

enum {
  OP_START,
  OP_END,
  OP_CORRELATION,
  OP_PROCESS,
  OP_DEVICE,
  OP_CONTEXT,
  OP_STREAM,
  OP_BYTES,
  OP_WHAT,
  OP_COLUMNS,
};

enum {
  COPY_KINDS = 16
}; /* 14 are known in 2026 */

/* Loading one table; remembers the last place, which seldom changes. */
typedef struct op_loader {
  llmprof_trace *trace;
  llmprof_op_kind kind;
  size_t cap;
  int64_t last[4]; /* OP_PROCESS .. OP_STREAM */
  uint32_t last_place;
  uint32_t copy_names[COPY_KINDS]; /* strings, by copyKind */
  uint32_t fixed_name;
} op_loader;

static bool find_place(op_loader *loader, const int64_t *values,
                       uint32_t *place) {
  const int64_t *where = values + OP_PROCESS;
  if (loader->last_place == LLMPROF_NONE ||
      memcmp(loader->last, where, sizeof loader->last) != 0) {
    llmprof_place record = {
        .device = llmprof_u32(values[OP_DEVICE]),
        .context = llmprof_u32(values[OP_CONTEXT]),
        .stream = llmprof_u32(values[OP_STREAM]),
    };
    if (!llmprof_trace_process_row(loader->trace, values[OP_PROCESS],
                                   &record.process) ||
        !llmprof_intern_add(&loader->trace->places, &record,
                            &loader->last_place))
      return false;
    memcpy(loader->last, where, sizeof loader->last);
  }
  *place = loader->last_place;
  return true;
}

static uint32_t op_name(const op_loader *loader, const int64_t *values) {
  int64_t what = values[OP_WHAT];
  switch (loader->kind) {
  case LLMPROF_KERNEL:
    return llmprof_trace_string(loader->trace, what);
  case LLMPROF_COPY:
    return what >= 0 && what < COPY_KINDS ? loader->copy_names[what]
                                          : loader->copy_names[0];
  default:
    return loader->fixed_name;
  }
}

static bool append_op(op_loader *loader, const int64_t *values) {
  llmprof_ops *ops = &loader->trace->ops;
  uint32_t place;
  if (!find_place(loader, values, &place)) return false;
  size_t row = ops->count++;
  ops->start[row] = values[OP_START];
  ops->end[row] = values[OP_END];
  ops->correlation[row] = llmprof_u32(values[OP_CORRELATION]);
  ops->name[row] = op_name(loader, values);
  ops->place[row] = place;
  if (loader->kind != LLMPROF_KERNEL)
    ops->bytes[row - ops->first[LLMPROF_COPY]] = values[OP_BYTES];
  return true;
}

static bool add_name(llmprof_trace *trace, const char *name, uint32_t *id) {
  return llmprof_strings_add(trace->strings, name, strlen(name), id);
}

/* "[CUDA memcpy Host-to-Device]", as NVIDIA's reports print it. */
static bool name_copy(op_loader *loader, int64_t kind, const char *label) {
  char name[128];
  snprintf(name, sizeof name, "[CUDA memcpy %s]", label);
  return add_name(loader->trace, name, &loader->copy_names[kind]);
}

static bool take_label(void *user, const llmprof_scan *scan,
                       const int64_t *values) {
  size_t size;
  const char *label = llmprof_scan_text(scan, 0, &size);
  if (!label || values[0] < 0 || values[0] >= COPY_KINDS) return true;
  return name_copy(user, values[0], label);
}

/* The export's own labels win over the ones known here. */
static bool name_copies(op_loader *loader, llmprof_error *err) {
  static const char *const labels[COPY_KINDS] = {
      "Unknown",
      "Host-to-Device",
      "Device-to-Host",
      "Host-to-Array",
      "Array-to-Host",
      "Array-to-Array",
      "Array-to-Device",
      "Device-to-Array",
      "Device-to-Device",
      "Host-to-Host",
      "Peer-to-Peer",
      "Unified Host-to-Device",
      "Unified Device-to-Host",
      "Unified Device-to-Device",
  };
  const llmprof_scan_spec spec = {"ENUM_CUDA_MEMCPY_OPER",
                                  COLUMNS("id", "label"), 1, 1};
  for (int i = 0; i < COPY_KINDS; i++) {
    if (!name_copy(loader, i, labels[i] ? labels[i] : labels[0]))
      return llmprof_fail_nomem(err);
  }
  return llmprof_scan_each(loader->trace->db, &spec, take_label, loader, NULL,
                           err);
}

static bool name_operations(op_loader *loader, llmprof_error *err) {
  switch (loader->kind) {
  case LLMPROF_COPY:
    return name_copies(loader, err);
  case LLMPROF_SET:
    return add_name(loader->trace, "[CUDA memset]", &loader->fixed_name) ||
           llmprof_fail_nomem(err);
  case LLMPROF_GRAPH:
    return add_name(loader->trace, "[CUDA graph]", &loader->fixed_name) ||
           llmprof_fail_nomem(err);
  default:
    return true;
  }
}

static bool scan_ops(op_loader *loader, llmprof_scan *scan,
                     llmprof_error *err) {
  llmprof_ops *ops = &loader->trace->ops;
  size_t hint = ops->count + llmprof_scan_hint(scan);
  int64_t values[OP_COLUMNS];
  int got;
  while ((got = llmprof_scan_next(scan, values, err)) == 1) {
    if (ops->count == loader->cap) {
      size_t cap = next_cap(loader->cap, hint);
      if (cap > UINT32_MAX - 1) cap = UINT32_MAX - 1;
      if (cap == ops->count)
        return fail_rows(loader->trace, op_tables[loader->kind].table, err);
      if (!resize_ops(ops, loader->kind, cap)) return llmprof_fail_nomem(err);
      loader->cap = cap;
    }
    if (!append_op(loader, values)) return llmprof_fail_nomem(err);
  }
  return got == 0;
}

static bool load_kind(op_loader *loader, llmprof_op_kind kind,
                      llmprof_error *err) {
  const op_table *table = &op_tables[kind];
  llmprof_scan_spec spec = {
      table->table,
      COLUMNS("start", "end", "correlationId", "globalPid", "deviceId",
              "contextId", "streamId", "bytes", table->what ? table->what : ""),
      OP_COLUMNS, 0};
  llmprof_scan *scan;
  loader->kind = kind;
  if (!llmprof_scan_open(loader->trace->db, &spec, &scan, err)) return false;
  loader->trace->has[table->known_as] = scan != NULL;
  bool ok =
      !scan || (name_operations(loader, err) && scan_ops(loader, scan, err));
  llmprof_scan_close(scan);
  return ok;
}

static bool load_ops(llmprof_trace *trace, llmprof_error *err) {
  llmprof_ops *ops = &trace->ops;
  op_loader loader = {.trace = trace, .last_place = LLMPROF_NONE};
  for (llmprof_op_kind kind = 0; kind < LLMPROF_OP_KINDS; kind++) {
    ops->first[kind] = (uint32_t)ops->count;
    if (kind == LLMPROF_COPY) loader.cap = ops->count; /* now bytes too */
    if (!load_kind(&loader, kind, err)) return false;
  }
  ops->first[LLMPROF_OP_KINDS] = (uint32_t)ops->count;
  return true;
}

const llmprof_ops *llmprof_trace_ops(llmprof_trace *trace, llmprof_error *err) {
  if (!trace->ops_loaded && !load_ops(trace, err)) {
    llmprof_ops_free(&trace->ops);
    return NULL;
  }
  trace->ops_loaded = true;
  return &trace->ops;
}

/* ---- kernel details ---- */

void llmprof_details_free(llmprof_details *details) {
  llmprof_free(details->shape);
  llmprof_free(details->short_name);
  llmprof_free(details->mangled_name);
  llmprof_free(details->graph_node);
  *details = (llmprof_details){0};
}

enum {
  DETAIL_SHAPE = 9,
  DETAIL_SHORT = 9,
  DETAIL_MANGLED,
  DETAIL_NODE,
  DETAIL_COLUMNS
};

/* Node ids are kept only from the first kernel that has one. */
static bool keep_node(llmprof_details *details, size_t row, size_t count,
                      int64_t node) {
  if (!details->graph_node) {
    if (node == LLMPROF_ABSENT) return true;
    details->graph_node = llmprof_alloc(count, sizeof *details->graph_node);
    if (!details->graph_node) return false;
    for (size_t i = 0; i < count; i++) details->graph_node[i] = LLMPROF_ABSENT;
  }
  details->graph_node[row] = node;
  return true;
}

static bool append_detail(llmprof_trace *trace, size_t row, size_t count,
                          const int64_t *values) {
  uint32_t shape[DETAIL_SHAPE];
  for (int i = 0; i < DETAIL_SHAPE; i++) shape[i] = llmprof_u32(values[i]);
  trace->details.short_name[row] =
      llmprof_trace_string(trace, values[DETAIL_SHORT]);
  trace->details.mangled_name[row] =
      llmprof_trace_string(trace, values[DETAIL_MANGLED]);
  return llmprof_intern_add(&trace->shapes, shape,
                            &trace->details.shape[row]) &&
         keep_node(&trace->details, row, count, values[DETAIL_NODE]);
}

static bool scan_details(llmprof_trace *trace, llmprof_scan *scan, size_t count,
                         llmprof_error *err) {
  int64_t values[DETAIL_COLUMNS];
  size_t row = 0;
  int got = 0;
  while (row < count && (got = llmprof_scan_next(scan, values, err)) == 1) {
    if (!append_detail(trace, row++, count, values))
      return llmprof_fail_nomem(err);
  }
  if (got < 0) return false;
  if (row < count)
    return llmprof_fail(err, LLMPROF_IO, "%s: changed while it was read",
                        trace->path);
  return true;
}

static bool load_details(llmprof_trace *trace, llmprof_error *err) {
  static const char *const columns[DETAIL_COLUMNS] = {
      "gridX",
      "gridY",
      "gridZ",
      "blockX",
      "blockY",
      "blockZ",
      "registersPerThread",
      "staticSharedMemory",
      "dynamicSharedMemory",
      "shortName",
      "mangledName",
      "graphNodeId",
  };
  const llmprof_scan_spec spec = {op_tables[LLMPROF_KERNEL].table, columns,
                                  DETAIL_COLUMNS, 0};
  if (!llmprof_trace_ops(trace, err)) return false;
  size_t count = trace->ops.first[LLMPROF_COPY];
  llmprof_details *details = &trace->details;
  details->shape = llmprof_alloc(count, sizeof *details->shape);
  details->short_name = llmprof_alloc(count, sizeof *details->short_name);
  details->mangled_name = llmprof_alloc(count, sizeof *details->mangled_name);
  if (!details->shape || !details->short_name || !details->mangled_name)
    return llmprof_fail_nomem(err);
  llmprof_scan *scan;
  if (!llmprof_scan_open(trace->db, &spec, &scan, err)) return false;
  bool ok = !scan || scan_details(trace, scan, count, err);
  llmprof_scan_close(scan);
  return ok;
}

const llmprof_details *llmprof_trace_details(llmprof_trace *trace,
                                             llmprof_error *err) {
  if (!trace->details_loaded && !load_details(trace, err)) {
    llmprof_details_free(&trace->details);
    return NULL;
  }
  trace->details_loaded = true;
  return &trace->details;
}

/* ---- API calls ---- */

void llmprof_calls_free(llmprof_calls *calls) {
  llmprof_free(calls->start);
  llmprof_free(calls->end);
  llmprof_free(calls->thread);
  llmprof_free(calls->correlation);
  llmprof_free(calls->name);
  *calls = (llmprof_calls){0};
}

static bool resize_calls(llmprof_calls *calls, size_t cap) {
  return GROW(calls->start, cap) && GROW(calls->end, cap) &&
         GROW(calls->thread, cap) && GROW(calls->correlation, cap) &&
         GROW(calls->name, cap);
}

enum {
  CALL_START,
  CALL_END,
  CALL_THREAD,
  CALL_CORRELATION,
  CALL_NAME,
  CALL_COLUMNS
};

static bool scan_calls(llmprof_trace *trace, llmprof_scan *scan,
                       llmprof_error *err) {
  llmprof_calls *calls = &trace->calls;
  size_t cap = 0, hint = llmprof_scan_hint(scan);
  int64_t last_thread = LLMPROF_ABSENT, values[CALL_COLUMNS];
  uint32_t thread = LLMPROF_NONE;
  int got;
  while ((got = llmprof_scan_next(scan, values, err)) == 1) {
    if (calls->count == cap) {
      cap = next_cap(cap, hint);
      if (cap > UINT32_MAX - 1) cap = UINT32_MAX - 1;
      if (cap == calls->count)
        return fail_rows(trace, "CUPTI_ACTIVITY_KIND_RUNTIME", err);
      if (!resize_calls(calls, cap)) return llmprof_fail_nomem(err);
    }
    if (values[CALL_THREAD] != last_thread) {
      last_thread = values[CALL_THREAD];
      if (!llmprof_trace_thread_row(trace, last_thread, &thread))
        return llmprof_fail_nomem(err);
    }
    size_t row = calls->count++;
    calls->start[row] = values[CALL_START];
    calls->end[row] = values[CALL_END];
    calls->thread[row] = thread;
    calls->correlation[row] = llmprof_u32(values[CALL_CORRELATION]);
    calls->name[row] = llmprof_trace_string(trace, values[CALL_NAME]);
  }
  return got == 0;
}

static bool load_calls(llmprof_trace *trace, llmprof_error *err) {
  const llmprof_scan_spec spec = {
      "CUPTI_ACTIVITY_KIND_RUNTIME",
      COLUMNS("start", "end", "globalTid", "correlationId", "nameId"),
      CALL_COLUMNS, 0};
  llmprof_scan *scan;
  if (!llmprof_scan_open(trace->db, &spec, &scan, err)) return false;
  trace->has[LLMPROF_TABLE_CALLS] = scan != NULL;
  bool ok = !scan || scan_calls(trace, scan, err);
  llmprof_scan_close(scan);
  return ok;
}

const llmprof_calls *llmprof_trace_calls(llmprof_trace *trace,
                                         llmprof_error *err) {
  if (!trace->calls_loaded && !load_calls(trace, err)) {
    llmprof_calls_free(&trace->calls);
    return NULL;
  }
  trace->calls_loaded = true;
  return &trace->calls;
}

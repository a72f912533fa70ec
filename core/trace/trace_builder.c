/* The builder: rows of a reader become columns of a trace. Calls and
 * ranges are in trace_builder_calls.c and trace_builder_ranges.c. */
#include "llmprof/trace_builder.h"
#include "trace/trace_events.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "text/text.h"
#include "trace/trace_internal.h"

/* ---- what a trace is about ---- */

bool llmprof_strings_add_sound(llmprof_strings *pool, const char *bytes,
                               size_t size, uint32_t *string) {
  if (llmprof_text_is_sound(bytes, size))
    return llmprof_strings_add(pool, bytes, size, string);
  llmprof_buffer sound = {0};
  llmprof_text_repair(&sound, bytes, size);
  bool ok = !sound.failed &&
            llmprof_strings_add(pool, sound.bytes, sound.size, string);
  llmprof_buffer_free(&sound);
  return ok;
}

bool llmprof_builder_text(llmprof_builder *builder, const char *bytes,
                          size_t size, uint32_t *string) {
  *string = LLMPROF_NO_STRING;
  return !bytes || llmprof_strings_add_sound(builder->trace->strings, bytes,
                                             size, string);
}

static bool set_version(char **version, const char *text) {
  if (!text || *version) return true;
  *version = llmprof_strdup(text);
  return *version != NULL;
}

const llmprof_strings *llmprof_builder_strings(const llmprof_builder *builder) {
  return builder->trace->strings;
}

bool llmprof_builder_versions(llmprof_builder *builder, const char *schema,
                              const char *product) {
  return set_version(&builder->trace->schema, schema) &&
         set_version(&builder->trace->product, product);
}

void llmprof_builder_epoch(llmprof_builder *builder, int64_t ns) {
  builder->trace->epoch = ns;
}

void llmprof_builder_knows(llmprof_builder *builder, llmprof_fact fact) {
  builder->trace->knows[fact] = true;
}

void llmprof_builder_recorded(llmprof_builder *builder,
                              llmprof_trace_table table) {
  builder->trace->has[table] = true;
}

void llmprof_builder_timeless(llmprof_builder *builder,
                              llmprof_trace_table table) {
  builder->trace->timeless[table]++;
}

bool llmprof_builder_add_diagnostic(llmprof_builder *builder,
                                    const llmprof_diagnostic *diagnostic) {
  llmprof_trace *trace = builder->trace;
  if (!llmprof_grow(&trace->diagnostics, &builder->diagnostic_cap,
                    trace->diagnostic_count + 1, sizeof *trace->diagnostics))
    return false;
  trace->diagnostics[trace->diagnostic_count++] = *diagnostic;
  return true;
}

bool llmprof_builder_say(llmprof_builder *builder, llmprof_severity severity,
                         const char *form, ...) {
  llmprof_diagnostic diagnostic = {.severity = severity};
  char text[1024];
  va_list arguments;
  va_start(arguments, form);
  int size = vsnprintf(text, sizeof text, form, arguments);
  va_end(arguments);
  if (size < 0) return true;
  size_t kept = (size_t)size < sizeof text ? (size_t)size : sizeof text - 1;
  return llmprof_builder_text(builder, text, kept, &diagnostic.text) &&
         llmprof_builder_add_diagnostic(builder, &diagnostic);
}

bool llmprof_builder_add_device(llmprof_builder *builder,
                                const llmprof_device *device) {
  llmprof_trace *trace = builder->trace;
  llmprof_intern *ids = &builder->device_ids;
  uint32_t row;
  if (!ids->record_size) llmprof_intern_init(ids, sizeof device->id);
  if (!llmprof_intern_add(ids, &device->id, &row)) return false;
  if (row < trace->device_count) return true;
  if (!llmprof_grow(&trace->devices, &builder->device_cap, row + 1,
                    sizeof *trace->devices))
    return false;
  trace->devices[trace->device_count++] = *device;
  return true;
}

static int by_id(const void *a, const void *b) {
  const llmprof_device *x = a, *y = b;
  return x->id < y->id ? -1 : x->id > y->id;
}

void llmprof_builder_end_devices(llmprof_builder *builder) {
  llmprof_trace *trace = builder->trace;
  if (trace->device_count)
    qsort(trace->devices, trace->device_count, sizeof *trace->devices, by_id);
}

void llmprof_builder_forget_devices(llmprof_builder *builder) {
  builder->trace->device_count = 0;
  llmprof_intern_free(&builder->device_ids);
}

void llmprof_builder_forget_ranges(llmprof_builder *b) {
  llmprof_free(b->late);
  b->late = NULL;
  b->late_cap = 0;
}

void llmprof_builder_forget_cpu_samples(llmprof_builder *b) {
  llmprof_free(b->cpu_samples);
  b->cpu_samples = NULL;
  b->cpu_sample_cap = 0;
}

bool llmprof_builder_add_process(llmprof_builder *builder, int64_t id,
                                 uint32_t pid, uint32_t *row) {
  const llmprof_process process = {id, pid, LLMPROF_NO_STRING};
  return llmprof_intern_add(&builder->trace->rows[LLMPROF_PROCESSES], &process,
                            row);
}

bool llmprof_builder_add_thread(llmprof_builder *builder, int64_t id,
                                uint32_t tid, uint32_t process, uint32_t *row) {
  const llmprof_thread thread = {id, tid, process, LLMPROF_NO_STRING,
                                 LLMPROF_NONE};
  return llmprof_intern_add(&builder->trace->rows[LLMPROF_THREADS], &thread,
                            row);
}

void llmprof_builder_set_caller(llmprof_builder *builder, uint32_t row,
                                uint32_t caller) {
  llmprof_thread_at(builder->trace, row)->caller = caller;
}

void llmprof_builder_name_process(llmprof_builder *builder, uint32_t row,
                                  uint32_t name) {
  llmprof_process_at(builder->trace, row)->name = name;
}

void llmprof_builder_name_thread(llmprof_builder *builder, uint32_t row,
                                 uint32_t name) {
  llmprof_thread_at(builder->trace, row)->name = name;
}

bool llmprof_builder_add_place(llmprof_builder *builder,
                               const llmprof_place *place, uint32_t *row) {
  return llmprof_intern_add(&builder->trace->rows[LLMPROF_PLACES], place, row);
}

/* ---- rows ---- */

#define MAX_ROWS ((size_t)UINT32_MAX - 1)

bool llmprof_builder_may_add(const llmprof_builder *builder, size_t count,
                             const char *what, llmprof_error *err) {
  return count < MAX_ROWS ||
         llmprof_fail(err, LLMPROF_LIMIT, "%s: more than %zu %s",
                      builder->trace->path, MAX_ROWS, what);
}

/* ---- GPU operations ---- */

static void begin_kinds(llmprof_builder *b, int kind) {
  for (int next = (int)b->kind + 1; next <= kind; next++)
    b->trace->ops.first[next] = (uint32_t)b->trace->ops.count;
}

static bool begin_kind(llmprof_builder *b, llmprof_op_kind kind,
                       llmprof_error *err) {
  if (kind < b->kind)
    return llmprof_fail(err, LLMPROF_UNSUPPORTED, "%s: a %s after a %s",
                        b->trace->path, llmprof_op_kind_name(kind),
                        llmprof_op_kind_name(b->kind));
  begin_kinds(b, (int)kind);
  b->kind = kind;
  return true;
}

/* Columns of operations are as long as each other: room in one is in all. */
static bool seal_ops(const llmprof_ops *ops) {
  return llmprof_values_seal(ops->start) &&
         llmprof_values_seal(ops->duration) &&
         llmprof_values_seal(ops->correlation) &&
         llmprof_values_seal(ops->name) && llmprof_values_seal(ops->place) &&
         llmprof_values_seal(ops->bytes) &&
         llmprof_values_seal(ops->copy_kind) &&
         llmprof_values_seal(ops->host_memory);
}

static inline void put(llmprof_values *values, size_t at, int64_t value) {
  values->open[at] = value;
  values->opened = at + 1;
}

bool llmprof_builder_add_op(llmprof_builder *b, const llmprof_op_row *op,
                            llmprof_error *err) {
  llmprof_ops *ops = &b->trace->ops;
  bool other = op->kind != LLMPROF_KERNEL;
  if ((op->kind != b->kind && !begin_kind(b, op->kind, err)) ||
      !llmprof_builder_may_add(b, ops->count, "GPU operations", err))
    return false;
  if (ops->start->opened == LLMPROF_BLOCK && !seal_ops(ops))
    return llmprof_fail_nomem(err);
  ops->count++;
  size_t at = ops->start->opened;
  put(ops->start, at, op->start);
  put(ops->duration, at, llmprof_between(op->start, op->end));
  put(ops->correlation, at, llmprof_widen(op->correlation));
  put(ops->name, at, llmprof_widen(op->name));
  put(ops->place, at, op->place);
  put(ops->bytes, at, other ? op->bytes : LLMPROF_ABSENT);
  put(ops->copy_kind, at, other ? op->copy_kind : 0);
  put(ops->host_memory, at, other ? op->host_memory : 0);
  return true;
}

bool llmprof_builder_end_ops(llmprof_builder *b, llmprof_error *err) {
  (void)err;
  begin_kinds(b, LLMPROF_OP_KINDS);
  return true;
}

static const char *copy_label(llmprof_copy_kind kind) {
  static const char *const labels[LLMPROF_COPY_KINDS] = {
      [LLMPROF_COPY_UNKNOWN] = "Unknown",
      [LLMPROF_COPY_HOST_TO_DEVICE] = "Host-to-Device",
      [LLMPROF_COPY_DEVICE_TO_HOST] = "Device-to-Host",
      [LLMPROF_COPY_HOST_TO_ARRAY] = "Host-to-Array",
      [LLMPROF_COPY_ARRAY_TO_HOST] = "Array-to-Host",
      [LLMPROF_COPY_ARRAY_TO_ARRAY] = "Array-to-Array",
      [LLMPROF_COPY_ARRAY_TO_DEVICE] = "Array-to-Device",
      [LLMPROF_COPY_DEVICE_TO_ARRAY] = "Device-to-Array",
      [LLMPROF_COPY_DEVICE_TO_DEVICE] = "Device-to-Device",
      [LLMPROF_COPY_HOST_TO_HOST] = "Host-to-Host",
      [LLMPROF_COPY_PEER_TO_PEER] = "Peer-to-Peer",
      [LLMPROF_COPY_UNIFIED_HOST_TO_DEVICE] = "Unified Host-to-Device",
      [LLMPROF_COPY_UNIFIED_DEVICE_TO_HOST] = "Unified Device-to-Host",
      [LLMPROF_COPY_UNIFIED_DEVICE_TO_DEVICE] = "Unified Device-to-Device",
  };
  return labels[kind];
}

bool llmprof_builder_op_name(llmprof_builder *builder, llmprof_op_kind kind,
                             llmprof_copy_kind copy_kind, const char *label,
                             uint32_t *string) {
  char name[128];
  if (!label) label = copy_label(copy_kind);
  if (kind == LLMPROF_COPY)
    snprintf(name, sizeof name, "[CUDA memcpy %s]", label);
  else
    snprintf(name, sizeof name, "[CUDA %s]",
             kind == LLMPROF_SET ? "memset" : llmprof_op_kind_name(kind));
  return llmprof_strings_add(builder->trace->strings, name, strlen(name),
                             string);
}

/* ---- details of kernels ---- */

static size_t kernel_rows(const llmprof_builder *builder) {
  const llmprof_ops *ops = &builder->trace->ops;
  return builder->kind == LLMPROF_KERNEL ? ops->count
                                         : ops->first[LLMPROF_COPY];
}

bool llmprof_builder_add_detail(llmprof_builder *b,
                                const llmprof_detail_row *detail,
                                llmprof_error *err) {
  llmprof_details *d = &b->trace->details;
  uint32_t shape;
  if (!llmprof_builder_may_add(b, d->count, "kernels", err)) return false;
  d->count++;
  return (llmprof_intern_add(&b->trace->rows[LLMPROF_SHAPES], &detail->shape,
                             &shape) &&
          llmprof_values_append(d->shape, shape) &&
          llmprof_values_append(d->short_name,
                                llmprof_widen(detail->short_name)) &&
          llmprof_values_append(d->mangled_name,
                                llmprof_widen(detail->mangled_name)) &&
          llmprof_values_append(d->graph_node, detail->graph_node)) ||
         llmprof_fail_nomem(err);
}

/* Kernels of which nothing is known but that they ran. */
static bool add_no_details(llmprof_builder *b, llmprof_error *err) {
  static const llmprof_shape unknown = {
      .grid = {LLMPROF_NONE, LLMPROF_NONE, LLMPROF_NONE},
      .block = {LLMPROF_NONE, LLMPROF_NONE, LLMPROF_NONE},
      .registers = LLMPROF_NONE,
      .static_shared = LLMPROF_NONE,
      .dynamic_shared = LLMPROF_NONE,
  };
  llmprof_details *d = &b->trace->details;
  uint32_t shape = 0;
  d->count = kernel_rows(b);
  return !d->count ||
         (llmprof_intern_add(&b->trace->rows[LLMPROF_SHAPES], &unknown,
                             &shape) &&
          llmprof_values_repeat(d->shape, shape, d->count) &&
          llmprof_values_repeat(d->short_name, LLMPROF_ABSENT, d->count) &&
          llmprof_values_repeat(d->mangled_name, LLMPROF_ABSENT, d->count) &&
          llmprof_values_repeat(d->graph_node, LLMPROF_ABSENT, d->count)) ||
         llmprof_fail_nomem(err);
}

bool llmprof_builder_end_details(llmprof_builder *b, llmprof_error *err) {
  size_t count = b->trace->details.count;
  if (!count) return add_no_details(b, err);
  return count == kernel_rows(b) ||
         llmprof_fail(err, LLMPROF_IO, "%s: changed while it was read",
                      b->trace->path);
}

/* ---- hardware samples ---- */

bool llmprof_builder_add_sample(llmprof_builder *b,
                                const llmprof_sample_row *sample,
                                llmprof_error *err) {
  llmprof_samples *samples = &b->trace->samples;
  if (!llmprof_builder_may_add(b, samples->count, "samples", err)) return false;
  samples->count++;
  bool ok = llmprof_values_append(samples->start, sample->start) &&
            llmprof_values_append(samples->end, sample->end) &&
            llmprof_values_append(samples->device, sample->device);
  for (int i = 0; ok && i < LLMPROF_SAMPLED; i++)
    ok = llmprof_values_append(samples->values[i],
                               llmprof_real_cell(sample->values[i]));
  return ok || llmprof_fail_nomem(err);
}

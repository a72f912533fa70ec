#include "export/perfetto.h"

#include <inttypes.h>
#include <string.h>

#include "base/buffer.h"
#include "export/perfetto_internal.h"
#include "formats/json.h"
#include "os/sink.h"
#include "text/format.h"
#include "text/text.h"
#include "trace/trace_events.h"

/* Numbers that no process or thread of Linux has (its limit is 2^22), for
 * GPUs, for threads that were not recorded, and for the lanes that are no
 * thread. */
enum {
  GPU_PID = 1 << 22,
  UNKNOWN_PID = 1 << 23,
  LANE_TID = 1 << 24,
};

enum {
  PIECE = 1 << 20,  /* bytes that are written at once */
  LONG_NAME = 8192, /* bytes: each slice has its name, no viewer shows more */
};

/* What all write about, and where to. */
typedef struct export {
  llmprof_trace *trace;
  perfetto_layout layout;
  const llmprof_details *details;
  const llmprof_op_stacks *stacks;
  const llmprof_strings *strings;
  llmprof_sink *sink;
}
export;

/* What is being written. */
typedef struct writer {
  const export *of;
  llmprof_buffer bytes; /* that are to be written */
  llmprof_buffer label; /* of the track that is being named */
  llmprof_perfetto_counts counts;
} writer;

#define PUT(w, text) llmprof_buffer_add(&(w)->bytes, (text), sizeof(text) - 1)

/* ---- pieces of text ---- */

/* A name in quotes; of a long one its beginning, up to a whole character. */
static void put_quoted(writer *w, const char *bytes, size_t size) {
  llmprof_buffer *out = &w->bytes;
  size_t kept = size < LONG_NAME ? size : LONG_NAME;
  while (kept && kept < size && (bytes[kept] & 0xc0) == 0x80) kept--;
  llmprof_json_put_any(out, bytes, kept);
  if (kept == size || out->failed) return;
  out->size--; /* the quote */
  PUT(w, "…\"");
}

static void put_string(writer *w, uint32_t id) {
  size_t size;
  const char *bytes = llmprof_strings_get(w->of->strings, id, &size);
  put_quoted(w, bytes, size);
}

static void put_id(writer *w, uint32_t id, const char *otherwise) {
  if (id == LLMPROF_NO_STRING)
    llmprof_json_put_any(&w->bytes, otherwise, strlen(otherwise));
  else
    put_string(w, id);
}

/* value / 10^places */
static void put_decimal(writer *w, int64_t value, int places) {
  llmprof_put_fixed(&w->bytes, value < 0,
                    value < 0 ? 0 - (uint64_t)value : (uint64_t)value, places);
}

static void put_integer(writer *w, int64_t value) {
  put_decimal(w, value, 0);
}

/* `before` and a number. */
#define PUT_FIELD(w, before, value) (PUT(w, before), put_integer(w, value))

/* ns as us. */
static void put_us(writer *w, int64_t ns) {
  put_decimal(w, ns, 3);
}

/* Behind another: the names of tracks come first, and there is one for each
 * item. */
static void begin_event(writer *w, char phase) {
  llmprof_buffer *out = &w->bytes;
  bool first = out->size && out->bytes[out->size - 1] == '[';
  llmprof_buffer_puts(out, first ? "\n{\"ph\":\"" : ",\n{\"ph\":\"");
  llmprof_buffer_putc(out, phase);
  llmprof_buffer_putc(out, '"');
}

/* ---- tracks ---- */

static const llmprof_process *process_of(const writer *w, uint32_t row) {
  size_t count;
  const llmprof_process *all = llmprof_trace_processes(w->of->trace, &count);
  return row < count ? &all[row] : NULL;
}

/* NULL for a thread that was not recorded. */
static const llmprof_thread *thread_of(const writer *w, uint32_t track) {
  size_t count, row = track - w->of->layout.places;
  const llmprof_thread *all = llmprof_trace_threads(w->of->trace, &count);
  return row < count ? &all[row] : NULL;
}

static const llmprof_place *place_of(const writer *w, uint32_t track) {
  size_t count;
  const llmprof_place *all =
      llmprof_trace_rows(w->of->trace, LLMPROF_PLACES, &count);
  return track < count ? &all[track] : NULL;
}

static uint32_t pid_of(const writer *w, uint32_t track) {
  const llmprof_place *place = place_of(w, track);
  if (place) return GPU_PID + place->device;
  const llmprof_thread *thread = thread_of(w, track);
  const llmprof_process *process =
      thread ? process_of(w, thread->process) : NULL;
  return process ? process->pid : UNKNOWN_PID;
}

static uint32_t tid_of(const writer *w, uint32_t lane) {
  const perfetto_lane *l = &w->of->layout.lanes[lane];
  const llmprof_thread *thread = thread_of(w, l->track);
  bool own = l->track >= w->of->layout.places && thread && !l->number;
  return own ? thread->tid : LANE_TID + lane;
}

/* An event that names a process (tid NULL) or a lane by w->label. */
static void write_name(writer *w, uint32_t pid, const uint32_t *tid) {
  begin_event(w, 'M');
  llmprof_buffer_printf(&w->bytes, ",\"name\":\"%s\",\"pid\":%" PRIu32,
                        tid ? "thread_name" : "process_name", pid);
  if (tid) llmprof_buffer_printf(&w->bytes, ",\"tid\":%" PRIu32, *tid);
  PUT(w, ",\"args\":{\"name\":");
  put_quoted(w, w->label.bytes, w->label.size);
  PUT(w, "}}");
  w->bytes.failed |= w->label.failed;
  llmprof_buffer_clear(&w->label);
}

static void label_string(writer *w, const char *before, uint32_t id) {
  size_t size;
  if (id == LLMPROF_NO_STRING) return;
  const char *bytes = llmprof_strings_get(w->of->strings, id, &size);
  llmprof_buffer_puts(&w->label, before);
  llmprof_buffer_add(&w->label, bytes, size);
}

static void label_number(writer *w, const char *before, uint32_t number) {
  llmprof_buffer_puts(&w->label, before);
  if (number != LLMPROF_NONE)
    llmprof_buffer_printf(&w->label, " %" PRIu32, number);
}

static uint32_t device_name(const writer *w, uint32_t id) {
  size_t count;
  const llmprof_device *devices = llmprof_trace_devices(w->of->trace, &count);
  for (size_t i = 0; i < count; i++) {
    if (devices[i].id == id) return devices[i].name;
  }
  return LLMPROF_NO_STRING;
}

/* "GPU 0: NVIDIA H200", for each on which something ran. */
static void name_devices(writer *w) {
  size_t count;
  const llmprof_place *places =
      llmprof_trace_rows(w->of->trace, LLMPROF_PLACES, &count);
  for (size_t i = 0; i < count; i++) {
    uint32_t device = places[i].device;
    size_t first = 0;
    while (places[first].device != device) first++;
    if (first < i) continue;
    label_number(w, "GPU", device);
    label_string(w, ": ", device_name(w, device));
    write_name(w, GPU_PID + device, NULL);
  }
}

/* Without folders and arguments: the file may be handed on. */
static void label_program(writer *w, uint32_t name) {
  size_t size;
  if (name == LLMPROF_NO_STRING) return;
  llmprof_buffer_puts(&w->label, ": ");
  llmprof_text_program(&w->label,
                       llmprof_strings_get(w->of->strings, name, &size));
}

static void name_processes(writer *w) {
  size_t count;
  const llmprof_process *all = llmprof_trace_processes(w->of->trace, &count);
  for (size_t i = 0; i < count; i++) {
    label_number(w, "process", all[i].pid);
    label_program(w, all[i].name);
    write_name(w, all[i].pid, NULL);
  }
}

static void label_place(writer *w, const llmprof_place *place) {
  const llmprof_process *process = process_of(w, place->process);
  label_number(w, "stream", place->stream);
  label_number(w, ", context", place->context);
  if (process) label_number(w, ", process", process->pid);
}

static void label_thread(writer *w, const llmprof_thread *thread) {
  label_number(w, "thread", thread ? thread->tid : LLMPROF_NONE);
  if (thread) label_string(w, ": ", thread->name);
}

/* "stream 7, context 1, process 1234, lane 2" */
static void name_lane(writer *w, uint32_t lane) {
  const perfetto_lane *l = &w->of->layout.lanes[lane];
  uint32_t tid = tid_of(w, lane);
  const llmprof_place *place = place_of(w, l->track);
  if (place)
    label_place(w, place);
  else
    label_thread(w, thread_of(w, l->track));
  if (l->number) label_number(w, ", lane", l->number + 1);
  write_name(w, pid_of(w, l->track), &tid);
}

static void name_tracks(writer *w) {
  name_devices(w);
  name_processes(w);
  for (size_t i = 0; i < w->of->layout.lane_count; i++)
    name_lane(w, (uint32_t)i);
}

/* ---- slices ---- */

/* Where and when, after the phase. */
static void put_where(writer *w, uint32_t lane, int64_t ns) {
  PUT_FIELD(w, ",\"pid\":", pid_of(w, w->of->layout.lanes[lane].track));
  PUT_FIELD(w, ",\"tid\":", tid_of(w, lane));
  PUT(w, ",\"ts\":");
  put_us(w, ns);
}

static void begin_slice(writer *w, size_t item, const char *category) {
  const perfetto_layout *l = &w->of->layout;
  int64_t start = llmprof_perfetto_start(l, item);
  begin_event(w, 'X');
  put_where(w, l->lane[item], start);
  PUT(w, ",\"dur\":");
  put_us(w, llmprof_perfetto_end(l, item) - start);
  PUT(w, ",\"cat\":\"");
  llmprof_buffer_puts(&w->bytes, category);
  PUT(w, "\",\"name\":");
}

/* The name of a member of "args", which is open. */
static void put_name(writer *w, const char *name) {
  const llmprof_buffer *out = &w->bytes;
  if (out->size && out->bytes[out->size - 1] != '{') PUT(w, ",");
  PUT(w, "\"");
  llmprof_buffer_puts(&w->bytes, name);
  PUT(w, "\":");
}

static void put_arg(writer *w, const char *name, int64_t value) {
  if (value == LLMPROF_ABSENT) return;
  put_name(w, name);
  put_integer(w, value);
}

static void put_triple(writer *w, const char *name, const uint32_t *triple) {
  if (triple[0] == LLMPROF_NONE) return;
  put_name(w, name);
  PUT_FIELD(w, "[", triple[0]);
  PUT_FIELD(w, ",", triple[1]);
  PUT_FIELD(w, ",", triple[2]);
  PUT(w, "]");
}

static void put_shape(writer *w, uint32_t shape) {
  size_t count;
  const llmprof_shape *s =
      llmprof_trace_rows(w->of->trace, LLMPROF_SHAPES, &count);
  s += shape;
  put_arg(w, "registers per thread", llmprof_widen(s->registers));
  put_arg(w, "static shared memory bytes", llmprof_widen(s->static_shared));
  put_arg(w, "dynamic shared memory bytes", llmprof_widen(s->dynamic_shared));
  put_triple(w, "grid", s->grid);
  put_triple(w, "block", s->block);
}

static void put_string_arg(writer *w, const char *name, uint32_t string) {
  if (string == LLMPROF_NO_STRING) return;
  put_name(w, name);
  put_id(w, string, "");
}

/* Which line of the program launched it, as far as is known. */
static void put_line(writer *w, size_t op) {
  int64_t stack = llmprof_values_get(w->of->stacks->stack, op);
  if (stack == LLMPROF_ABSENT) return;
  const llmprof_stack_frame *line =
      llmprof_trace_source_line(w->of->trace, (size_t)stack);
  if (line) {
    put_string_arg(w, "line", line->module);
    put_string_arg(w, "function", line->function);
  }
  put_string_arg(w, "module",
                 llmprof_trace_source_module(w->of->trace, (size_t)stack));
}

static void write_op(writer *w, size_t op) {
  static const char *const categories[] = {"kernel", "copy", "set", "graph"};
  const llmprof_ops *ops = w->of->layout.ops;
  size_t kind = LLMPROF_KERNEL;
  while (op >= ops->first[kind + 1]) kind++;
  begin_slice(w, op, categories[kind]);
  put_id(w, llmprof_id_at(ops->name, op), "unknown");
  PUT(w, ",\"args\":{");
  put_arg(w, "correlation", llmprof_values_get(ops->correlation, op));
  if (kind == LLMPROF_KERNEL)
    put_shape(w, llmprof_id_at(w->of->details->shape, op));
  else
    put_arg(w, "bytes", llmprof_values_get(ops->bytes, op));
  put_line(w, op);
  PUT(w, "}}");
  w->counts.operations++;
}

static void write_range(writer *w, size_t range) {
  const llmprof_ranges *ranges = w->of->layout.ranges;
  begin_slice(w, w->of->layout.first_range + range, "nvtx");
  put_id(w, llmprof_id_at(ranges->tag, range), "unnamed range");
  PUT(w, "}");
  w->counts.ranges++;
}

/* "cudaMalloc_v3020" without its version, as `nsys stats` shows it. */
static void put_call_name(writer *w, uint32_t id) {
  size_t size = 0;
  const char *name = llmprof_strings_get(w->of->strings, id, &size);
  if (size > 6 && memcmp(name + size - 6, "_v", 2) == 0) size -= 6;
  put_quoted(w, name ? name : "unknown", name ? size : strlen("unknown"));
}

static void write_call(writer *w, size_t call) {
  begin_slice(w, w->of->layout.first_call + call, "api");
  put_call_name(w, llmprof_id_at(w->of->layout.calls->name, call));
  PUT(w, "}");
  w->counts.calls++;
}

static void begin_flow(writer *w, char phase, size_t op, size_t item) {
  const perfetto_layout *l = &w->of->layout;
  begin_event(w, phase);
  put_where(w, l->lane[item], llmprof_perfetto_start(l, item));
  PUT_FIELD(w, ",\"cat\":\"launch\",\"name\":\"launch\",\"id\":", (int64_t)op);
}

/* From the call to the operation, when both are drawn. "bp" ends it at the
 * slice that begins there, not at the next one. */
static void write_flow(writer *w, size_t op) {
  const perfetto_layout *l = &w->of->layout;
  uint32_t launched_by = llmprof_id_at(l->call_of, op);
  size_t call = l->first_call + launched_by;
  if (launched_by == LLMPROF_NONE || l->lane[call] == LLMPROF_NONE) return;
  begin_flow(w, 's', op, call);
  PUT(w, "}");
  begin_flow(w, 'f', op, op);
  PUT(w, ",\"bp\":\"e\"}");
  w->counts.flows++;
}

static void write_item(writer *w, size_t item) {
  const perfetto_layout *l = &w->of->layout;
  if (item >= l->first_call) {
    write_call(w, item - l->first_call);
  } else if (item >= l->first_range) {
    write_range(w, item - l->first_range);
  } else {
    write_op(w, item);
    write_flow(w, item);
  }
}

/* ---- the file ---- */

static bool write_items(writer *w, llmprof_error *err) {
  const perfetto_layout *l = &w->of->layout;
  PUT(w, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
  name_tracks(w);
  for (size_t i = 0; i < l->count; i++) {
    if (l->lane[i] != LLMPROF_NONE) write_item(w, i);
    if (w->bytes.size >= PIECE &&
        !llmprof_sink_write(w->of->sink, &w->bytes, err))
      return false;
  }
  PUT(w, "\n]}\n");
  return llmprof_sink_write(w->of->sink, &w->bytes, err);
}

static size_t count_long(const llmprof_strings *strings) {
  size_t count = 0, size;
  for (size_t i = 0; i < llmprof_strings_count(strings); i++) {
    llmprof_strings_get(strings, (uint32_t)i, &size);
    count += size > LONG_NAME;
  }
  return count;
}

static bool write_file(export *x, const char *path, bool packed,
                       llmprof_perfetto_counts *counts, llmprof_error *err) {
  writer w = {.of = x};
  bool ok =
      (x->sink = llmprof_sink_open(path, packed, err)) && write_items(&w, err);
  *counts = w.counts;
  llmprof_buffer_free(&w.bytes);
  llmprof_buffer_free(&w.label);
  if (ok) return llmprof_sink_commit(x->sink, err);
  llmprof_sink_discard(x->sink);
  return false;
}

bool llmprof_perfetto_write(llmprof_trace *trace, const char *path, bool packed,
                            llmprof_perfetto_counts *written,
                            llmprof_error *err) {
  export x = {.trace = trace, .strings = llmprof_trace_strings(trace)};
  llmprof_perfetto_counts counts = {0};
  bool ok = llmprof_perfetto_lay_out(&x.layout, trace, err) &&
            (x.details = llmprof_trace_details(trace, err)) &&
            (x.stacks = llmprof_trace_op_stacks(trace, err)) &&
            write_file(&x, path, packed, &counts, err);
  counts.lanes = x.layout.lane_count;
  counts.long_names = count_long(x.strings);
  if (ok && written) *written = counts;
  llmprof_perfetto_layout_free(&x.layout);
  return ok;
}

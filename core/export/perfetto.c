#include "llmprof/perfetto.h"

#include <inttypes.h>
#include <string.h>

#include "export/perfetto_internal.h"
#include "formats/json_text.h"
#include "llmprof/alloc.h"
#include "llmprof/buffer.h"
#include "llmprof/text.h"
#include "os/sink.h"

/* Numbers that no process or thread of Linux has (its limit is 2^22), for
 * GPUs, for threads that were not recorded, and for the lanes that are no
 * thread. */
enum {
  GPU_PID = 1 << 22,
  UNKNOWN_PID = 1 << 23,
  LANE_TID = 1 << 24,
};

enum {
  PIECE_SIZE = 64 * 1024
};

/* Texts by number, each made once: names, tracks and shapes come again and
 * again. */
typedef struct text_at {
  size_t at, size; /* size 0: not made */
} text_at;

typedef struct text_cache {
  llmprof_buffer bytes;
  text_at *texts;
} text_cache;

typedef struct writer {
  llmprof_trace *trace;
  perfetto_layout layout;
  const llmprof_details *details;
  const llmprof_strings *strings;
  llmprof_sink *sink;
  llmprof_buffer out;
  llmprof_buffer label; /* of the track that is being named */
  text_cache names, calls, lanes, shapes;
  bool any; /* an event was written */
  llmprof_perfetto_counts counts;
  llmprof_error *err;
} writer;

/* ---- texts that come again ---- */

static bool cache_init(text_cache *c, size_t count) {
  c->texts = llmprof_zalloc(count ? count : 1, sizeof *c->texts);
  return c->texts != NULL;
}

static void cache_free(text_cache *c) {
  llmprof_buffer_free(&c->bytes);
  llmprof_free(c->texts);
}

/* What put() puts for the number. */
static void put_cached(writer *w, text_cache *c, uint32_t number,
                       void (*put)(writer *w, uint32_t number)) {
  text_at *text = &c->texts[number];
  if (text->size) {
    llmprof_buffer_add(&w->out, c->bytes.bytes + text->at, text->size);
    return;
  }
  size_t before = w->out.size;
  put(w, number);
  if (w->out.failed) return;
  *text = (text_at){c->bytes.size, w->out.size - before};
  llmprof_buffer_add(&c->bytes, w->out.bytes + before, text->size);
  w->out.failed |= c->bytes.failed;
}

/* ---- pieces of text ---- */

static void put_string(writer *w, uint32_t id) {
  size_t size;
  const char *bytes = llmprof_strings_get(w->strings, id, &size);
  llmprof_json_put_any(&w->out, bytes, size);
}

static void put_id(writer *w, uint32_t id, const char *otherwise) {
  if (id == LLMPROF_NO_STRING)
    llmprof_json_put_any(&w->out, otherwise, strlen(otherwise));
  else
    put_cached(w, &w->names, id, put_string);
}

/* At least `least` digits. Most of the file is numbers, and printf is slow. */
static void put_digits(writer *w, uint64_t value, size_t least) {
  char digits[20];
  size_t at = sizeof digits;
  while (value || sizeof digits - at < least) {
    digits[--at] = (char)('0' + value % 10);
    value /= 10;
  }
  llmprof_buffer_add(&w->out, digits + at, sizeof digits - at);
}

static void put_integer(writer *w, int64_t value) {
  if (value < 0) llmprof_buffer_putc(&w->out, '-');
  put_digits(w, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, 1);
}

/* `before` and a number. */
static void put_field(writer *w, const char *before, int64_t value) {
  llmprof_buffer_puts(&w->out, before);
  put_integer(w, value);
}

/* ns as us. */
static void put_us(writer *w, int64_t ns) {
  uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
  if (ns < 0) llmprof_buffer_putc(&w->out, '-');
  put_digits(w, size / 1000, 1);
  llmprof_buffer_putc(&w->out, '.');
  put_digits(w, size % 1000, 3);
}

static bool flush(writer *w) {
  if (w->out.failed) return llmprof_fail_nomem(w->err);
  bool ok = !w->out.size ||
            llmprof_sink_write(w->sink, w->out.bytes, w->out.size, w->err);
  llmprof_buffer_clear(&w->out);
  return ok;
}

static bool begin_event(writer *w, const char *phase) {
  if (w->out.size >= PIECE_SIZE && !flush(w)) return false;
  llmprof_buffer_puts(&w->out, w->any ? ",\n{\"ph\":\"" : "\n{\"ph\":\"");
  llmprof_buffer_puts(&w->out, phase);
  llmprof_buffer_putc(&w->out, '"');
  w->any = true;
  return true;
}

/* ---- tracks ---- */

static const llmprof_process *process_of(const writer *w, uint32_t row) {
  size_t count;
  const llmprof_process *all = llmprof_trace_processes(w->trace, &count);
  return row < count ? &all[row] : NULL;
}

/* NULL for a thread that was not recorded. */
static const llmprof_thread *thread_of(const writer *w, uint32_t track) {
  size_t count, row = track - w->layout.places;
  const llmprof_thread *all = llmprof_trace_threads(w->trace, &count);
  return row < count ? &all[row] : NULL;
}

static const llmprof_place *place_of(const writer *w, uint32_t track) {
  size_t count;
  const llmprof_place *all = llmprof_trace_places(w->trace, &count);
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
  const perfetto_lane *l = &w->layout.lanes[lane];
  const llmprof_thread *thread = thread_of(w, l->track);
  bool own = l->track >= w->layout.places && thread && !l->number;
  return own ? thread->tid : LANE_TID + lane;
}

/* An event that names a process (tid NULL) or a lane by w->label. */
static bool write_name(writer *w, uint32_t pid, const uint32_t *tid) {
  if (!begin_event(w, "M")) return false;
  llmprof_buffer_printf(&w->out, ",\"name\":\"%s\",\"pid\":%" PRIu32,
                        tid ? "thread_name" : "process_name", pid);
  if (tid) llmprof_buffer_printf(&w->out, ",\"tid\":%" PRIu32, *tid);
  llmprof_buffer_puts(&w->out, ",\"args\":{\"name\":");
  llmprof_json_put_any(&w->out, w->label.bytes, w->label.size);
  llmprof_buffer_puts(&w->out, "}}");
  w->out.failed |= w->label.failed;
  llmprof_buffer_clear(&w->label);
  return true;
}

static void label_string(writer *w, const char *before, uint32_t id) {
  size_t size;
  if (id == LLMPROF_NO_STRING) return;
  const char *bytes = llmprof_strings_get(w->strings, id, &size);
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
  const llmprof_device *devices = llmprof_trace_devices(w->trace, &count);
  for (size_t i = 0; i < count; i++) {
    if (devices[i].id == id) return devices[i].name;
  }
  return LLMPROF_NO_STRING;
}

/* "GPU 0: NVIDIA H200", for each on which something ran. */
static bool name_devices(writer *w) {
  size_t count;
  const llmprof_place *places = llmprof_trace_places(w->trace, &count);
  for (size_t i = 0; i < count; i++) {
    uint32_t device = places[i].device;
    size_t first = 0;
    while (places[first].device != device) first++;
    if (first < i) continue;
    label_number(w, "GPU", device);
    label_string(w, ": ", device_name(w, device));
    if (!write_name(w, GPU_PID + device, NULL)) return false;
  }
  return true;
}

/* Without folders and arguments: the file may be handed on. */
static void label_program(writer *w, uint32_t name) {
  size_t size;
  if (name == LLMPROF_NO_STRING) return;
  llmprof_buffer_puts(&w->label, ": ");
  llmprof_text_program(&w->label, llmprof_strings_get(w->strings, name, &size));
}

static bool name_processes(writer *w) {
  size_t count;
  const llmprof_process *all = llmprof_trace_processes(w->trace, &count);
  for (size_t i = 0; i < count; i++) {
    label_number(w, "process", all[i].pid);
    label_program(w, all[i].name);
    if (!write_name(w, all[i].pid, NULL)) return false;
  }
  return true;
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
static bool name_lane(writer *w, uint32_t lane) {
  const perfetto_lane *l = &w->layout.lanes[lane];
  uint32_t tid = tid_of(w, lane);
  const llmprof_place *place = place_of(w, l->track);
  if (place)
    label_place(w, place);
  else
    label_thread(w, thread_of(w, l->track));
  if (l->number) label_number(w, ", lane", l->number + 1);
  return write_name(w, pid_of(w, l->track), &tid);
}

static bool name_tracks(writer *w) {
  bool ok = name_devices(w) && name_processes(w);
  for (size_t i = 0; ok && i < w->layout.lane_count; i++)
    ok = name_lane(w, (uint32_t)i);
  return ok;
}

/* ---- slices ---- */

static void put_lane(writer *w, uint32_t lane) {
  put_field(w, ",\"pid\":", pid_of(w, w->layout.lanes[lane].track));
  put_field(w, ",\"tid\":", tid_of(w, lane));
  llmprof_buffer_puts(&w->out, ",\"ts\":");
}

/* Where and when, after the phase. */
static void put_where(writer *w, uint32_t lane, int64_t ns) {
  put_cached(w, &w->lanes, lane, put_lane);
  put_us(w, ns);
}

static bool begin_slice(writer *w, size_t item, const char *category) {
  const perfetto_layout *l = &w->layout;
  int64_t start = llmprof_perfetto_start(l, item);
  if (!begin_event(w, "X")) return false;
  put_where(w, l->lane[item], start);
  llmprof_buffer_puts(&w->out, ",\"dur\":");
  put_us(w, llmprof_perfetto_end(l, item) - start);
  llmprof_buffer_puts(&w->out, ",\"cat\":\"");
  llmprof_buffer_puts(&w->out, category);
  llmprof_buffer_puts(&w->out, "\",\"name\":");
  return true;
}

/* The name of a member of "args", which is open. */
static void put_name(writer *w, const char *name) {
  bool first = w->out.size && w->out.bytes[w->out.size - 1] == '{';
  llmprof_buffer_puts(&w->out, first ? "\"" : ",\"");
  llmprof_buffer_puts(&w->out, name);
  llmprof_buffer_puts(&w->out, "\":");
}

static void put_arg(writer *w, const char *name, int64_t value) {
  if (value == LLMPROF_ABSENT) return;
  put_name(w, name);
  put_integer(w, value);
}

static int64_t known(uint32_t value) {
  return value == LLMPROF_NONE ? LLMPROF_ABSENT : (int64_t)value;
}

static void put_triple(writer *w, const char *name, const uint32_t *triple) {
  if (triple[0] == LLMPROF_NONE) return;
  put_name(w, name);
  put_field(w, "[", triple[0]);
  put_field(w, ",", triple[1]);
  put_field(w, ",", triple[2]);
  llmprof_buffer_putc(&w->out, ']');
}

static void put_shape(writer *w, uint32_t shape) {
  size_t count;
  const llmprof_shape *s = &llmprof_trace_shapes(w->trace, &count)[shape];
  put_arg(w, "registers per thread", known(s->registers));
  put_arg(w, "static shared memory bytes", known(s->static_shared));
  put_arg(w, "dynamic shared memory bytes", known(s->dynamic_shared));
  put_triple(w, "grid", s->grid);
  put_triple(w, "block", s->block);
}

/* Its text depends on whether it comes first. */
static void put_kernel_shape(writer *w, uint32_t shape, bool first) {
  if (first)
    put_shape(w, shape);
  else
    put_cached(w, &w->shapes, shape, put_shape);
}

static bool write_op(writer *w, size_t op) {
  static const char *const categories[] = {"kernel", "copy", "set", "graph"};
  const llmprof_ops *ops = w->layout.ops;
  size_t kind = LLMPROF_KERNEL;
  while (op >= ops->first[kind + 1]) kind++;
  if (!begin_slice(w, op, categories[kind])) return false;
  put_id(w, ops->name[op], "unknown");
  llmprof_buffer_puts(&w->out, ",\"args\":{");
  int64_t correlation = known(ops->correlation[op]);
  put_arg(w, "correlation", correlation);
  if (kind == LLMPROF_KERNEL)
    put_kernel_shape(w, w->details->shape[op], correlation == LLMPROF_ABSENT);
  else
    put_arg(w, "bytes", ops->bytes[op - ops->first[LLMPROF_COPY]]);
  llmprof_buffer_puts(&w->out, "}}");
  w->counts.operations++;
  return true;
}

static bool write_range(writer *w, size_t range) {
  const llmprof_ranges *ranges = w->layout.ranges;
  if (!begin_slice(w, w->layout.first_range + range, "nvtx")) return false;
  put_id(w, ranges->tag[range], "unnamed range");
  llmprof_buffer_puts(&w->out, "}");
  w->counts.ranges++;
  return true;
}

/* "cudaMalloc_v3020" without its version, as `nsys stats` shows it. */
static void put_call(writer *w, uint32_t id) {
  size_t size;
  const char *name = llmprof_strings_get(w->strings, id, &size);
  if (size > 6 && memcmp(name + size - 6, "_v", 2) == 0) size -= 6;
  llmprof_json_put_any(&w->out, name, size);
}

static void put_call_name(writer *w, uint32_t id) {
  if (id == LLMPROF_NO_STRING)
    llmprof_json_put_any(&w->out, "unknown", strlen("unknown"));
  else
    put_cached(w, &w->calls, id, put_call);
}

static bool write_call(writer *w, size_t call) {
  if (!begin_slice(w, w->layout.first_call + call, "api")) return false;
  put_call_name(w, w->layout.calls->name[call]);
  llmprof_buffer_puts(&w->out, "}");
  w->counts.calls++;
  return true;
}

static bool begin_flow(writer *w, const char *phase, size_t op, size_t item) {
  if (!begin_event(w, phase)) return false;
  put_where(w, w->layout.lane[item], llmprof_perfetto_start(&w->layout, item));
  put_field(w, ",\"cat\":\"launch\",\"name\":\"launch\",\"id\":", (int64_t)op);
  return true;
}

/* From the call to the operation, when both are drawn. "bp" ends it at the
 * slice that begins there, not at the next one. */
static bool write_flow(writer *w, size_t op) {
  const perfetto_layout *l = &w->layout;
  size_t call = l->first_call + l->call_of[op];
  if (l->call_of[op] == LLMPROF_NONE || l->lane[call] == LLMPROF_NONE)
    return true;
  if (!begin_flow(w, "s", op, call)) return false;
  llmprof_buffer_putc(&w->out, '}');
  if (!begin_flow(w, "f", op, op)) return false;
  llmprof_buffer_puts(&w->out, ",\"bp\":\"e\"}");
  w->counts.flows++;
  return true;
}

static bool write_item(writer *w, size_t item) {
  const perfetto_layout *l = &w->layout;
  if (item >= l->first_call) return write_call(w, item - l->first_call);
  if (item >= l->first_range) return write_range(w, item - l->first_range);
  return write_op(w, item) && write_flow(w, item);
}

/* ---- the file ---- */

static bool write_events(writer *w) {
  llmprof_buffer_puts(&w->out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
  bool ok = name_tracks(w);
  for (size_t i = 0; ok && i < w->layout.count; i++)
    ok = w->layout.lane[i] == LLMPROF_NONE || write_item(w, i);
  llmprof_buffer_puts(&w->out, "\n]}\n");
  return ok && flush(w);
}

static bool prepare_caches(writer *w) {
  size_t strings = llmprof_strings_count(w->strings), shapes;
  llmprof_trace_shapes(w->trace, &shapes);
  return (cache_init(&w->names, strings) && cache_init(&w->calls, strings) &&
          cache_init(&w->lanes, w->layout.lane_count) &&
          cache_init(&w->shapes, shapes)) ||
         llmprof_fail_nomem(w->err);
}

static void writer_free(writer *w) {
  cache_free(&w->names);
  cache_free(&w->calls);
  cache_free(&w->lanes);
  cache_free(&w->shapes);
  llmprof_buffer_free(&w->out);
  llmprof_buffer_free(&w->label);
  llmprof_perfetto_layout_free(&w->layout);
}

static bool write_file(writer *w, const char *path, bool packed) {
  w->sink = llmprof_sink_open(path, packed, w->err);
  if (!w->sink) return false;
  if (write_events(w)) return llmprof_sink_commit(w->sink, w->err);
  llmprof_sink_discard(w->sink);
  return false;
}

bool llmprof_perfetto_write(llmprof_trace *trace, const char *path,
                            const llmprof_perfetto_options *options,
                            llmprof_perfetto_counts *written,
                            llmprof_error *err) {
  writer w = {.trace = trace,
              .strings = llmprof_trace_strings(trace),
              .details = llmprof_trace_details(trace, err),
              .err = err};
  bool ok = w.details &&
            llmprof_perfetto_lay_out(&w.layout, trace, options, err) &&
            prepare_caches(&w) && write_file(&w, path, options->packed);
  w.counts.lanes = w.layout.lane_count;
  if (ok && written) *written = w.counts;
  writer_free(&w);
  return ok;
}

#include "torch/operators.h"

#include <string.h>

#include "base/alloc.h"
#include "torch/chrome_internal.h"
#include "torch/operators_internal.h"

/* ---- keeping events ---- */

static bool add_string(llmprof_operators *o, const char *text, uint32_t *id) {
  *id = LLMPROF_NO_STRING;
  return !text || llmprof_strings_add(o->strings, text, strlen(text), id);
}

/* Its process, by number or as text, and its thread there. */
static bool place(llmprof_operators *o, const llmprof_chrome_event *event,
                  uint32_t *process, uint32_t *thread) {
  uint32_t text;
  if (!add_string(o, event->process, &text)) return false;
  const int64_t key[] = {event->pid, text};
  if (!llmprof_intern_add(&o->processes, key, process)) return false;
  const int64_t own[] = {*process, event->tid};
  return llmprof_intern_add(&o->threads, own, thread);
}

static bool keep_host(llmprof_operators *o, const llmprof_chrome_event *event,
                      bool is_call) {
  if (!llmprof_grow(&o->host, &o->host_cap, o->host_count + 1, sizeof *o->host))
    return false;
  host_event *kept = &o->host[o->host_count++];
  *kept = (host_event){
      .start = event->start,
      .duration = event->duration,
      .end = event->start + event->duration,
      .device_self = NO_VALUE,
      .device_outer = NO_VALUE,
      .external_id = event->external_id,
      .correlation = event->correlation,
      .event = o->events,
      .is_call = is_call,
  };
  return add_string(o, event->name, &kept->name) &&
         add_string(o, event->shapes, &kept->shapes) &&
         place(o, event, &kept->process, &kept->thread);
}

static bool keep_gpu(llmprof_operators *o, const llmprof_chrome_event *event) {
  if (!llmprof_grow(&o->gpu, &o->gpu_cap, o->gpu_count + 1, sizeof *o->gpu))
    return false;
  gpu_event *kept = &o->gpu[o->gpu_count++];
  *kept = (gpu_event){
      .start = event->start,
      .duration = event->duration,
      .external_id = event->external_id,
      .correlation = event->correlation,
      .device = event->device,
      .stream = event->stream,
      .op = LLMPROF_NO_STRING,
      .launched = NO_VALUE,
      .event = o->events,
      .mark = NO_ROW,
  };
  return add_string(o, event->name, &kept->name);
}

static bool keep_mark(llmprof_operators *o, const llmprof_chrome_event *event) {
  if (!llmprof_grow(&o->marks, &o->mark_cap, o->mark_count + 1,
                    sizeof *o->marks))
    return false;
  mark_event *kept = &o->marks[o->mark_count++];
  *kept = (mark_event){
      .start = event->start, .duration = event->duration, .parent = NO_ROW};
  uint32_t process;
  return add_string(o, event->name, &kept->name) &&
         place(o, event, &process, &kept->thread);
}

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* "[memory]": what an allocator has given out and holds after an event. */
static bool is_memory(const llmprof_chrome_event *event) {
  return event->name && strcmp(event->name, "[memory]") == 0 &&
         event->device_type != NO_VALUE && event->memory_device != NO_VALUE &&
         event->allocated >= 0;
}

static bool keep_memory(llmprof_operators *o,
                        const llmprof_chrome_event *event) {
  const memory_record none = {.type = event->device_type,
                              .device = event->memory_device,
                              .allocated = NO_VALUE,
                              .reserved = NO_VALUE};
  memory_record *memory = llmprof_intern_put(&o->memory, &none);
  if (!memory) return false;
  memory->events++;
  memory->allocated = larger(memory->allocated, event->allocated);
  memory->reserved = larger(memory->reserved, event->reserved);
  return true;
}

static void widen(llmprof_operators *o, const llmprof_chrome_event *event) {
  llmprof_operators_info *info = &o->info;
  bool first = o->host_count + o->gpu_count == 0;
  int64_t end = event->start + event->duration;
  if (first || event->start < info->first) info->first = event->start;
  if (first || end > info->last) info->last = end;
  o->fractions |= event->start % 1000 || event->duration % 1000;
}

static bool keep(llmprof_operators *o, const llmprof_chrome_event *event,
                 llmprof_error *err) {
  chrome_kind kind = llmprof_chrome_kind(event);
  o->events++;
  if (kind == CHROME_OTHER || kind == CHROME_FUNCTION)
    return !is_memory(event) || keep_memory(o, event) ||
           llmprof_fail_nomem(err);
  if (!llmprof_chrome_is_usable(event) || (!event->start && !event->duration)) {
    o->info.left_out++;
    return true;
  }
  if (o->host_count == NO_ROW - 1 || o->gpu_count == NO_ROW - 1 ||
      o->mark_count == NO_ROW - 1)
    return llmprof_fail(err, LLMPROF_LIMIT, "more than 4294967294 events");
  if (kind == CHROME_MARK)
    return keep_mark(o, event) || llmprof_fail_nomem(err);
  widen(o, event);
  bool ok = kind >= CHROME_KERNEL ? keep_gpu(o, event)
                                  : keep_host(o, event, kind == CHROME_CALL);
  return ok || llmprof_fail_nomem(err);
}

/* Shares of what comes before a cut would be none of the program. */
static bool read_events(llmprof_operators *o, llmprof_chrome *reader,
                        llmprof_error *err) {
  llmprof_chrome_event event;
  llmprof_chrome_damage damage = {0};
  int got;
  while ((got = llmprof_chrome_next(reader, &event, &damage, err)) == 1) {
    if (!keep(o, &event, err)) return false;
  }
  o->info.left_out += damage.broken;
  return got == 0 && !damage.cut;
}

/* ---- frames ---- */

typedef struct field {
  const char *name, *unit;
  llmprof_column_type type;
  size_t offset; /* in the record */
} field;

#define FIELD(record, type, unit, name) \
  { #name, unit, type, offsetof(record, name) }

static const field host_fields[] = {
    FIELD(host_event, LLMPROF_STRING_ID, NULL, name),
    FIELD(host_event, LLMPROF_STRING_ID, NULL, shapes),
    FIELD(host_event, LLMPROF_U32, NULL, thread),
    FIELD(host_event, LLMPROF_U32, NULL, parent),
    FIELD(host_event, LLMPROF_I64, "ns", duration),
    FIELD(host_event, LLMPROF_I64, "ns", self),
    FIELD(host_event, LLMPROF_I64, "ns", outer),
    FIELD(host_event, LLMPROF_I64, NULL, calls),
    FIELD(host_event, LLMPROF_I64, "ns", device_self),
    FIELD(host_event, LLMPROF_I64, "ns", device_outer),
    {NULL, NULL, LLMPROF_I64, 0},
};

static const field gpu_fields[] = {
    FIELD(gpu_event, LLMPROF_STRING_ID, NULL, name),
    {"operator", NULL, LLMPROF_STRING_ID, offsetof(gpu_event, op)},
    FIELD(gpu_event, LLMPROF_I64, "ns", start),
    FIELD(gpu_event, LLMPROF_I64, "ns", duration),
    FIELD(gpu_event, LLMPROF_I64, NULL, device),
    FIELD(gpu_event, LLMPROF_I64, NULL, stream),
    FIELD(gpu_event, LLMPROF_I64, "ns", launched),
    FIELD(gpu_event, LLMPROF_U32, NULL, mark),
    {NULL, NULL, LLMPROF_I64, 0},
};

static const field mark_fields[] = {
    FIELD(mark_event, LLMPROF_STRING_ID, NULL, name),
    FIELD(mark_event, LLMPROF_U32, NULL, parent),
    {NULL, NULL, LLMPROF_I64, 0},
};

static const field memory_fields[] = {
    FIELD(memory_record, LLMPROF_I64, NULL, type),
    FIELD(memory_record, LLMPROF_I64, NULL, device),
    FIELD(memory_record, LLMPROF_I64, NULL, events),
    FIELD(memory_record, LLMPROF_I64, "B", allocated),
    FIELD(memory_record, LLMPROF_I64, "B", reserved),
    {NULL, NULL, LLMPROF_I64, 0},
};

/* One field of every record, in an array that the frame owns. */
static void *gather(const void *records, size_t count, size_t record_size,
                    const field *f) {
  size_t size = f->type == LLMPROF_I64 ? 8 : 4;
  char *array = llmprof_alloc(count, size);
  const char *record = records;
  for (size_t i = 0; array && i < count; i++, record += record_size)
    memcpy(array + i * size, record + f->offset, size);
  return array;
}

static llmprof_frame *make_frame(llmprof_operators *o, const void *records,
                                 size_t count, size_t record_size,
                                 const field *fields) {
  llmprof_frame *frame = llmprof_frame_new(count, o->strings);
  for (const field *f = fields; frame && f->name; f++) {
    void *array = gather(records, count, record_size, f);
    if (!llmprof_frame_give(frame, f->name, f->unit, f->type, array, NULL)) {
      llmprof_frame_free(frame);
      return NULL;
    }
  }
  return frame;
}

llmprof_frame *llmprof_operators_frame(llmprof_operators *o, const char *name,
                                       llmprof_error *err) {
  llmprof_frame *frame;
  if (strcmp(name, "host") == 0) {
    frame = make_frame(o, o->host, o->host_count, sizeof *o->host, host_fields);
  } else if (strcmp(name, "gpu") == 0) {
    frame = make_frame(o, o->gpu, o->gpu_count, sizeof *o->gpu, gpu_fields);
  } else if (strcmp(name, "marks") == 0) {
    frame =
        make_frame(o, o->marks, o->mark_count, sizeof *o->marks, mark_fields);
  } else if (strcmp(name, "memory") == 0) {
    frame = make_frame(o, o->memory.records, o->memory.count,
                       sizeof(memory_record), memory_fields);
  } else {
    llmprof_fail(err, LLMPROF_NOTFOUND,
                 "no frame '%s': host, gpu, marks or memory", name);
    return NULL;
  }
  if (!frame) llmprof_fail_nomem(err);
  return frame;
}

/* ---- loading ---- */

llmprof_operators *llmprof_operators_load(const char *path,
                                          llmprof_error *err) {
  llmprof_chrome *reader = llmprof_chrome_open(path, err);
  if (!reader) return NULL;
  llmprof_operators *o = llmprof_zalloc(1, sizeof *o);
  if (o) {
    llmprof_intern_init(&o->processes, 2 * sizeof(int64_t));
    llmprof_intern_init(&o->threads, 2 * sizeof(int64_t));
    llmprof_intern_init_keyed(&o->memory, sizeof(memory_record),
                              2 * sizeof(int64_t));
    o->strings = llmprof_strings_new();
  }
  bool ok = (o && o->strings) || llmprof_fail_nomem(err);
  ok = ok && read_events(o, reader, err) && llmprof_operators_nest(o, err) &&
       llmprof_operators_attribute(o, err);
  llmprof_chrome_close(reader);
  if (ok) return o;
  llmprof_operators_free(o);
  return NULL;
}

void llmprof_operators_free(llmprof_operators *o) {
  if (!o) return;
  llmprof_strings_free(o->strings);
  llmprof_intern_free(&o->processes);
  llmprof_intern_free(&o->threads);
  llmprof_free(o->host);
  llmprof_free(o->gpu);
  llmprof_intern_free(&o->memory);
  llmprof_free(o->marks);
  llmprof_free(o);
}

llmprof_operators_info llmprof_operators_about(const llmprof_operators *o) {
  llmprof_operators_info info = o->info;
  info.host = o->host_count;
  info.gpu = o->gpu_count;
  return info;
}

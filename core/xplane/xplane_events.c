/* One plane: the names of its events and stats first, which stand behind its
 * lines, then these. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "text/demangle.h"
#include "text/lex.h"
#include "trace/trace_events.h"
#include "xplane/xplane_internal.h"

/* ---- texts ---- */

static xplane_text text_of(protobuf_message bytes) {
  return (xplane_text){(const char *)bytes.at, (size_t)(bytes.end - bytes.at)};
}

bool xplane_begins(xplane_text text, const char *with) {
  size_t size = strlen(with);
  return text.bytes && text.size >= size && memcmp(text.bytes, with, size) == 0;
}

static bool is_text(xplane_text text, const char *with) {
  return text.size == strlen(with) && xplane_begins(text, with);
}

static bool holds(xplane_text text, const char *word) {
  return text.bytes && memmem(text.bytes, text.size, word, strlen(word));
}

/* The digits that a text begins with; absent without any, or too many. */
static int64_t number_at(xplane_text text) {
  size_t size = 0;
  int64_t value;
  while (size < text.size && text.bytes[size] >= '0' && text.bytes[size] <= '9')
    size++;
  return size && llmprof_lex_int(text.bytes, size, 10, &value) ? value
                                                               : LLMPROF_ABSENT;
}

/* Behind "KEY:" of a list of such, which spaces divide; empty without. */
static xplane_text detail(xplane_text text, const char *key) {
  size_t wanted = strlen(key);
  const char *at = text.bytes, *end = at ? at + text.size : at;
  while (at < end) {
    const char *stop = memchr(at, ' ', (size_t)(end - at));
    if (!stop) stop = end;
    if ((size_t)(stop - at) > wanted && memcmp(at, key, wanted) == 0 &&
        at[wanted] == ':')
      return (xplane_text){at + wanted + 1, (size_t)(stop - at) - wanted - 1};
    at = stop < end ? stop + 1 : end;
  }
  return (xplane_text){NULL, 0};
}

/* ---- names ---- */

static xplane_stat stat_named(xplane_text name) {
  static const char *const names[STATS] = {
      [STAT_CORRELATION] = "correlation_id",
      [STAT_KERNEL] = "kernel_details",
      [STAT_COPY] = "memcpy_details",
      [STAT_SET] = "memset_details",
      [STAT_HLO_OP] = "hlo_op",
      [STAT_PROGRAM] = "program_id",
      [STAT_STEP] = "step_num",
      [STAT_VENDOR] = "device_vendor",
      [STAT_DEVICE_NAME] = "device_type_string",
      [STAT_CLOCK] = "clock_rate",
      [STAT_CORES] = "core_count",
      [STAT_BANDWIDTH] = "memory_bandwidth",
      [STAT_MEMORY] = "memory_size",
      [STAT_MAJOR] = "compute_cap_major",
      [STAT_MINOR] = "compute_cap_minor",
      [STAT_PROFILE_START] = "profile_start_time",
  };
  int stat = 0;
  while (stat < STATS && !is_text(name, names[stat])) stat++;
  return (xplane_stat)stat;
}

static llmprof_code add_name(llmprof_intern *names, int64_t id,
                             protobuf_message about) {
  xplane_name made = {.id = id, .about = about};
  protobuf_field field;
  int got;
  while ((got = protobuf_next(&about, &field)) == 1)
    if (protobuf_is_bytes(&field, 2)) made.name = text_of(field.bytes);
  if (got < 0) return LLMPROF_SYNTAX;
  made.stat = stat_named(made.name);
  xplane_name *kept = llmprof_intern_put(names, &made);
  if (kept) *kept = made;
  return kept ? LLMPROF_OK : LLMPROF_NOMEM;
}

/* An entry of a map: its key and the message. */
static llmprof_code read_name(llmprof_intern *names, protobuf_message entry) {
  protobuf_message about = {0};
  protobuf_field field;
  int64_t id = 0;
  int got;
  while ((got = protobuf_next(&entry, &field)) == 1) {
    if (protobuf_is_int(&field, 1)) id = (int64_t)field.value;
    if (protobuf_is_bytes(&field, 2)) about = field.bytes;
  }
  return got < 0 ? LLMPROF_SYNTAX : add_name(names, id, about);
}

/* ---- stats ---- */

static llmprof_code read_stat(const xplane_plane *plane, protobuf_message bytes,
                              xplane_stats *stats) {
  const xplane_name *name = NULL, *referred;
  protobuf_field field;
  int64_t number = LLMPROF_ABSENT;
  xplane_text text = {0};
  int got;
  while ((got = protobuf_next(&bytes, &field)) == 1) {
    if (protobuf_is_int(&field, 1)) {
      name = llmprof_intern_seek(&plane->stats, &field.value);
    } else if (protobuf_is_int(&field, 3) || protobuf_is_int(&field, 4)) {
      number = (int64_t)field.value;
    } else if (protobuf_is_bytes(&field, 5)) {
      text = text_of(field.bytes);
    } else if (protobuf_is_int(&field, 7)) {
      referred = llmprof_intern_seek(&plane->stats, &field.value);
      if (referred) text = referred->name;
    }
  }
  if (got < 0) return LLMPROF_SYNTAX;
  if (!name || name->stat == STATS) return LLMPROF_OK;
  stats->numbers[name->stat] = number;
  stats->texts[name->stat] = text;
  return LLMPROF_OK;
}

static void no_stats(xplane_stats *stats) {
  *stats = (xplane_stats){.numbers = {0}};
  for (int i = 0; i < STATS; i++) stats->numbers[i] = LLMPROF_ABSENT;
}

/* The fields of that number are stats. */
static llmprof_code read_stats(const xplane_plane *plane,
                               protobuf_message message, uint32_t number,
                               xplane_stats *stats) {
  llmprof_code code = LLMPROF_OK;
  protobuf_field field;
  int got = 1;
  while (code == LLMPROF_OK && (got = protobuf_next(&message, &field)) == 1)
    if (protobuf_is_bytes(&field, number))
      code = read_stat(plane, field.bytes, stats);
  return got < 0 ? LLMPROF_SYNTAX : code;
}

/* ---- events ---- */

/* A line, and an event of it. */
typedef struct xplane_line {
  const xplane_plane *plane;
  xplane_text name;
  int64_t id, zero;    /* ns */
  llmprof_place place; /* of a stream */
  uint32_t thread;     /* row, of a host's */
  protobuf_message all;
} xplane_line;

typedef struct xplane_event {
  xplane_text name;
  int64_t start, end; /* ns */
  bool is_usable;     /* does it have such times? */
  xplane_stats stats;
} xplane_event;

/* Picoseconds after the line's zero. A quarter of the range is 73 years. */
static bool set_times(const xplane_line *line, int64_t offset, int64_t duration,
                      xplane_event *event) {
  const int64_t most = INT64_MAX / 4;
  int64_t end;
  if (offset < 0 || duration < 0 ||
      __builtin_add_overflow(offset, duration, &end) || line->zero < -most ||
      line->zero > most)
    return false;
  event->start = line->zero + offset / 1000;
  event->end = line->zero + end / 1000;
  return event->start > -most && event->end < most &&
         event->start <= event->end;
}

static llmprof_code read_event(const xplane_line *line, protobuf_message bytes,
                               xplane_event *event) {
  const xplane_name *name = NULL;
  protobuf_message rest = bytes;
  protobuf_field field;
  int64_t offset = 0, duration = 0;
  int got;
  no_stats(&event->stats);
  while ((got = protobuf_next(&rest, &field)) == 1) {
    if (protobuf_is_int(&field, 1))
      name = llmprof_intern_seek(&line->plane->events, &field.value);
    if (protobuf_is_int(&field, 2)) offset = (int64_t)field.value;
    if (protobuf_is_int(&field, 3)) duration = (int64_t)field.value;
  }
  if (got < 0) return LLMPROF_SYNTAX;
  event->name = name ? name->name : (xplane_text){NULL, 0};
  event->is_usable = set_times(line, offset, duration, event);
  llmprof_code code = LLMPROF_OK;
  if (name) code = read_stats(line->plane, name->about, 5, &event->stats);
  return code == LLMPROF_OK ? read_stats(line->plane, bytes, 4, &event->stats)
                            : code;
}

static bool intern(const xplane_trace *t, xplane_text text, uint32_t *string) {
  return llmprof_builder_text(t->builder, text.bytes, text.size, string);
}

/* ---- streams of a GPU ---- */

/* "16,1,1" -> three numbers; none where it is not three. */
static void read_triple(xplane_text text, uint32_t made[3]) {
  for (int i = 0; i < 3; i++) {
    made[i] = llmprof_u32(number_at(text));
    const char *comma = text.bytes ? memchr(text.bytes, ',', text.size) : NULL;
    size_t past = comma ? (size_t)(comma + 1 - text.bytes) : text.size;
    text =
        (xplane_text){text.bytes ? text.bytes + past : NULL, text.size - past};
  }
  if (made[1] == LLMPROF_NONE || made[2] == LLMPROF_NONE)
    made[0] = made[1] = made[2] = LLMPROF_NONE;
}

enum {
  MOST_REGISTERS = 1024 /* more than any GPU has for a thread */
};

/* Profiles of ROCm before 2025 have rubbish for registers, and then for shared
 * memory as well. */
static void read_shape(xplane_text about, llmprof_shape *shape) {
  read_triple(detail(about, "grid"), shape->grid);
  read_triple(detail(about, "block"), shape->block);
  int64_t registers = number_at(detail(about, "regs"));
  shape->registers = shape->static_shared = shape->dynamic_shared =
      LLMPROF_NONE;
  if (registers > MOST_REGISTERS) return;
  int64_t group = number_at(detail(about, "group_mem"));
  int64_t fixed = number_at(detail(about, "static_shared"));
  shape->registers = llmprof_u32(registers);
  shape->static_shared = llmprof_u32(fixed == LLMPROF_ABSENT ? group : fixed);
  shape->dynamic_shared =
      llmprof_u32(number_at(detail(about, "dynamic_shared")));
}

static llmprof_copy_kind copy_kind(xplane_text name) {
  static const struct {
    const char *short_word, *word;
    llmprof_copy_kind kind;
  } kinds[] = {
      {"H2D", "HostToDevice", LLMPROF_COPY_HOST_TO_DEVICE},
      {"D2H", "DeviceToHost", LLMPROF_COPY_DEVICE_TO_HOST},
      {"D2D", "DeviceToDevice", LLMPROF_COPY_DEVICE_TO_DEVICE},
      {"H2H", "HostToHost", LLMPROF_COPY_HOST_TO_HOST},
      {"P2P", "PeerToPeer", LLMPROF_COPY_PEER_TO_PEER},
  };
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (holds(name, kinds[i].short_word) || holds(name, kinds[i].word))
      return kinds[i].kind;
  return LLMPROF_COPY_UNKNOWN;
}

static llmprof_host_memory host_memory(xplane_text about,
                                       llmprof_copy_kind kind) {
  xplane_text side = detail(
      about, kind == LLMPROF_COPY_DEVICE_TO_HOST ? "kind_dst" : "kind_src");
  if (kind != LLMPROF_COPY_DEVICE_TO_HOST &&
      kind != LLMPROF_COPY_HOST_TO_DEVICE)
    return LLMPROF_MEMORY_UNKNOWN;
  if (is_text(side, "pageable")) return LLMPROF_MEMORY_PAGEABLE;
  return is_text(side, "pinned") ? LLMPROF_MEMORY_PINNED
                                 : LLMPROF_MEMORY_UNKNOWN;
}

static bool name_op(const xplane_trace *t, const xplane_event *event,
                    xplane_op *op) {
  static const char object[] = ".kd"; /* how ROCm's loader calls a kernel */
  xplane_text name = event->name;
  size_t size = strlen(object);
  if (op->row.kind != LLMPROF_KERNEL)
    return llmprof_builder_op_name(t->builder, op->row.kind, op->row.copy_kind,
                                   NULL, &op->row.name);
  if (name.size > size &&
      memcmp(name.bytes + name.size - size, object, size) == 0)
    name.size -= size;
  return intern(t, name, &op->row.name);
}

/* Times of the trace are counted from the earliest. */
static void note_start(xplane_trace *t, int64_t start) {
  if (start < t->first) t->first = start;
}

static llmprof_code keep_op(xplane_trace *t, const xplane_line *line,
                            const xplane_event *event) {
  const xplane_stats *stats = &event->stats;
  if (!llmprof_grow(&t->ops, &t->op_cap, t->op_count + 1, sizeof *t->ops))
    return LLMPROF_NOMEM;
  note_start(t, event->start);
  xplane_op *op = &t->ops[t->op_count++];
  *op = (xplane_op){
      .row = {.kind = LLMPROF_KERNEL,
              .start = event->start,
              .end = event->end,
              .correlation = llmprof_u32(stats->numbers[STAT_CORRELATION]),
              .bytes = LLMPROF_ABSENT},
      .place = line->place,
      .program = stats->numbers[STAT_PROGRAM],
  };
  if (stats->texts[STAT_COPY].bytes) {
    op->row.kind = LLMPROF_COPY;
    op->row.copy_kind = copy_kind(event->name);
    op->row.host_memory =
        host_memory(stats->texts[STAT_COPY], op->row.copy_kind);
    op->row.bytes = number_at(detail(stats->texts[STAT_COPY], "size"));
  } else if (stats->texts[STAT_SET].bytes) {
    op->row.kind = LLMPROF_SET;
    op->row.bytes = number_at(detail(stats->texts[STAT_SET], "num_bytes"));
  }
  read_shape(stats->texts[STAT_KERNEL], &op->shape);
  return name_op(t, event, op) &&
                 intern(t, stats->texts[STAT_HLO_OP], &op->hlo_op)
             ? LLMPROF_OK
             : LLMPROF_NOMEM;
}

/* ---- threads of a host ---- */

static llmprof_code keep_call(xplane_trace *t, const xplane_line *line,
                              const xplane_event *event) {
  if (!llmprof_grow(&t->calls, &t->call_cap, t->call_count + 1,
                    sizeof *t->calls))
    return LLMPROF_NOMEM;
  note_start(t, event->start);
  xplane_call *call = &t->calls[t->call_count++];
  *call = (xplane_call){
      .row = {.start = event->start,
              .end = event->end,
              .thread = line->thread,
              .correlation =
                  llmprof_u32(event->stats.numbers[STAT_CORRELATION])},
      .program = event->stats.numbers[STAT_PROGRAM],
  };
  return intern(t, event->name, &call->row.name) &&
                 intern(t, event->stats.texts[STAT_HLO_OP], &call->hlo_op)
             ? LLMPROF_OK
             : LLMPROF_NOMEM;
}

/* What the program marked as a step is in no domain, all else in XLA's. */
static llmprof_code keep_range(xplane_trace *t, const xplane_line *line,
                               const xplane_event *event) {
  llmprof_range_row *range =
      xplane_add_range(t, event->start, event->end, line->thread);
  if (!range) return LLMPROF_NOMEM;
  note_start(t, event->start);
  range->payload = event->stats.numbers[STAT_STEP];
  if (range->payload != LLMPROF_ABSENT) range->domain = LLMPROF_NO_STRING;
  return intern(t, event->name, &range->text) ? LLMPROF_OK : LLMPROF_NOMEM;
}

/* Python's functions begin with '$'. */
static llmprof_code keep_host(xplane_trace *t, const xplane_line *line,
                              const xplane_event *event) {
  if (event->stats.numbers[STAT_CORRELATION] != LLMPROF_ABSENT)
    return keep_call(t, line, event);
  if (xplane_begins(event->name, "$")) {
    t->functions++;
    return LLMPROF_OK;
  }
  if (event->start == event->end) {
    t->instants++;
    return LLMPROF_OK;
  }
  return keep_range(t, line, event);
}

/* ---- lines ---- */

typedef llmprof_code keeper(xplane_trace *t, const xplane_line *line,
                            const xplane_event *event);

static llmprof_code read_events(xplane_trace *t, const xplane_line *line,
                                keeper *keep) {
  protobuf_message rest = line->all;
  llmprof_code code = LLMPROF_OK;
  protobuf_field field;
  int got = 1;
  while (code == LLMPROF_OK && (got = protobuf_next(&rest, &field)) == 1) {
    xplane_event event;
    if (!protobuf_is_bytes(&field, 4)) continue;
    code = read_event(line, field.bytes, &event);
    if (code == LLMPROF_OK && event.is_usable)
      code = keep(t, line, &event);
    else
      t->left_out++;
  }
  return got < 0 ? LLMPROF_SYNTAX : code;
}

static llmprof_code read_line_header(xplane_line *line) {
  protobuf_message rest = line->all;
  protobuf_field field;
  int got;
  while ((got = protobuf_next(&rest, &field)) == 1) {
    if (protobuf_is_int(&field, 1)) line->id = (int64_t)field.value;
    if (protobuf_is_bytes(&field, 2)) line->name = text_of(field.bytes);
    if (protobuf_is_int(&field, 3)) line->zero = (int64_t)field.value;
  }
  return got < 0 ? LLMPROF_SYNTAX : LLMPROF_OK;
}

/* Lines of other names are made from the streams'. */
static llmprof_code read_stream(xplane_trace *t, xplane_line *line) {
  static const char stream[] = "Stream #";
  if (!xplane_begins(line->name, stream)) return LLMPROF_OK;
  xplane_text number = {line->name.bytes + strlen(stream),
                        line->name.size - strlen(stream)};
  line->place = (llmprof_place){.process = LLMPROF_NONE,
                                .device = llmprof_u32(line->plane->id),
                                .context = LLMPROF_NONE,
                                .stream = llmprof_u32(number_at(number))};
  return read_events(t, line, keep_op);
}

/* A thread whose number is none of the system's gets one. */
static llmprof_code read_thread(xplane_trace *t, xplane_line *line) {
  uint32_t name, tid = llmprof_u32(line->id);
  if (tid == LLMPROF_NONE) tid = t->threads;
  if (!intern(t, line->name, &name) ||
      !llmprof_builder_add_thread(t->builder, t->threads++, tid, t->process,
                                  &line->thread))
    return LLMPROF_NOMEM;
  llmprof_builder_name_thread(t->builder, line->thread, name);
  return read_events(t, line, keep_host);
}

static llmprof_code read_line(xplane_trace *t, const xplane_plane *plane,
                              protobuf_message all, bool is_gpu) {
  xplane_line line = {.plane = plane, .all = all};
  llmprof_code code = read_line_header(&line);
  if (code != LLMPROF_OK) return code;
  return is_gpu ? read_stream(t, &line) : read_thread(t, &line);
}

static llmprof_code read_lines(xplane_trace *t, const xplane_plane *plane,
                               bool is_gpu) {
  protobuf_message rest = plane->all;
  llmprof_code code = LLMPROF_OK;
  protobuf_field field;
  int got = 1;
  while (code == LLMPROF_OK && (got = protobuf_next(&rest, &field)) == 1)
    if (protobuf_is_bytes(&field, 3))
      code = read_line(t, plane, field.bytes, is_gpu);
  return got < 0 ? LLMPROF_SYNTAX : code;
}

/* ---- the plane ---- */

static llmprof_code read_header(xplane_plane *plane) {
  protobuf_message rest = plane->all;
  llmprof_code code = LLMPROF_OK;
  protobuf_field field;
  int got = 1;
  while (code == LLMPROF_OK && (got = protobuf_next(&rest, &field)) == 1) {
    if (protobuf_is_int(&field, 1))
      plane->id = (int64_t)field.value;
    else if (protobuf_is_bytes(&field, 2))
      plane->name = text_of(field.bytes);
    else if (protobuf_is_bytes(&field, 4))
      code = read_name(&plane->events, field.bytes);
    else if (protobuf_is_bytes(&field, 5))
      code = read_name(&plane->stats, field.bytes);
  }
  return got < 0 ? LLMPROF_SYNTAX : code;
}

/* XLA counts AMD's memory once a clock and not twice, so that the bandwidth it
 * gives is half of what there is. */
static bool add_device(const xplane_trace *t, const xplane_plane *plane,
                       const xplane_stats *stats) {
  xplane_text vendor = stats->texts[STAT_VENDOR];
  int64_t clock = stats->numbers[STAT_CLOCK];
  llmprof_device device = {
      .id = plane->id,
      .name = LLMPROF_NO_STRING,
      .chip = LLMPROF_NO_STRING,
      .uuid = LLMPROF_NO_STRING,
      .bus = LLMPROF_NO_STRING,
      .memory = stats->numbers[STAT_MEMORY],
      .bandwidth = is_text(vendor, "AMD") ? LLMPROF_ABSENT
                                          : stats->numbers[STAT_BANDWIDTH],
      .clock =
          clock > 0 && clock < INT64_MAX / 1000 ? clock * 1000 : LLMPROF_ABSENT,
      .sm_count = stats->numbers[STAT_CORES],
      .l2_size = LLMPROF_ABSENT,
      .compute_major = stats->numbers[STAT_MAJOR],
      .compute_minor = stats->numbers[STAT_MINOR],
  };
  xplane_text name = stats->texts[STAT_DEVICE_NAME];
  char made[64];
  if (!name.bytes && vendor.bytes) {
    snprintf(made, sizeof made, "%.*s GPU",
             (int)(vendor.size < 32 ? vendor.size : 32), vendor.bytes);
    name.bytes = is_text(vendor, "AMD")
                     ? llmprof_amd_name(device.sm_count, device.memory)
                     : made;
    name.size = strlen(name.bytes);
  }
  return intern(t, name, &device.name) &&
         llmprof_builder_add_device(t->builder, &device);
}

static llmprof_code read_gpu(xplane_trace *t, xplane_plane *plane,
                             size_t prefix) {
  xplane_stats stats;
  xplane_text number = {plane->name.bytes + prefix, plane->name.size - prefix};
  no_stats(&stats);
  plane->id = number_at(number);
  llmprof_code code = read_stats(plane, plane->all, 6, &stats);
  if (code != LLMPROF_OK) return code;
  if (plane->id != LLMPROF_ABSENT && !add_device(t, plane, &stats))
    return LLMPROF_NOMEM;
  return read_lines(t, plane, true);
}

static llmprof_code read_environment(xplane_trace *t,
                                     const xplane_plane *plane) {
  xplane_stats stats;
  no_stats(&stats);
  llmprof_code code = read_stats(plane, plane->all, 6, &stats);
  if (code == LLMPROF_OK) t->started = stats.numbers[STAT_PROFILE_START];
  return code;
}

static llmprof_code read_by_name(xplane_trace *t, xplane_plane *plane) {
  static const char gpu[] = "/device:GPU:";
  if (xplane_begins(plane->name, gpu)) return read_gpu(t, plane, strlen(gpu));
  if (is_text(plane->name, "/host:metadata"))
    return xplane_read_sources(t, plane->all) ? LLMPROF_OK : LLMPROF_NOMEM;
  if (xplane_begins(plane->name, "/host:")) return read_lines(t, plane, false);
  if (is_text(plane->name, "Task Environment"))
    return read_environment(t, plane);
  if (xplane_begins(plane->name, "/device:CUSTOM:"))
    return LLMPROF_OK; /* of a library, and no device */
  if (xplane_begins(plane->name, "/device:") && !t->other++)
    snprintf(t->other_name, sizeof t->other_name, "%.*s",
             (int)(plane->name.size < 60 ? plane->name.size : 60),
             plane->name.bytes);
  return LLMPROF_OK;
}

llmprof_code xplane_read_plane(xplane_trace *t, protobuf_message all) {
  xplane_plane plane = {.all = all};
  llmprof_intern_init_keyed(&plane.events, sizeof(xplane_name),
                            sizeof(int64_t));
  llmprof_intern_init_keyed(&plane.stats, sizeof(xplane_name), sizeof(int64_t));
  llmprof_code code = read_header(&plane);
  if (code == LLMPROF_OK) code = read_by_name(t, &plane);
  llmprof_intern_free(&plane.events);
  llmprof_intern_free(&plane.stats);
  return code;
}

#include "llmprof/trace.h"

#include <string.h>

#include "llmprof/alloc.h"
#include "llmprof/text.h"
#include "trace/trace_model.h"

/* ---- interned things ---- */

bool llmprof_trace_process_row(llmprof_trace *trace, int64_t global_pid,
                               uint32_t *row) {
  *row = LLMPROF_NONE;
  if (global_pid == LLMPROF_ABSENT) return true;
  global_pid &= GLOBAL_PID_MASK;
  size_t before = trace->process_ids.count;
  if (!llmprof_grow(&trace->processes, &trace->process_cap, before + 1,
                    sizeof *trace->processes) ||
      !llmprof_intern_add(&trace->process_ids, &global_pid, row))
    return false;
  if (trace->process_ids.count > before)
    trace->processes[*row] = (llmprof_process){
        global_pid, (uint32_t)(global_pid >> 24 & 0xffffff), LLMPROF_NO_STRING};
  return true;
}

bool llmprof_trace_thread_row(llmprof_trace *trace, int64_t global_tid,
                              uint32_t *row) {
  *row = LLMPROF_NONE;
  if (global_tid == LLMPROF_ABSENT) return true;
  uint32_t process;
  size_t before = trace->thread_ids.count;
  if (!llmprof_trace_process_row(trace, global_tid, &process) ||
      !llmprof_grow(&trace->threads, &trace->thread_cap, before + 1,
                    sizeof *trace->threads) ||
      !llmprof_intern_add(&trace->thread_ids, &global_tid, row))
    return false;
  if (trace->thread_ids.count > before)
    trace->threads[*row] =
        (llmprof_thread){global_tid, (uint32_t)(global_tid & 0xffffff), process,
                         LLMPROF_NO_STRING};
  return true;
}

/* ---- strings ---- */

enum {
  SMALL_IDS = 1 << 20 /* nsys counts up from 0 */
};

uint32_t llmprof_trace_far_string(const llmprof_trace *trace, int64_t id) {
  if (id == LLMPROF_ABSENT) return LLMPROF_NO_STRING;
  uint32_t row = llmprof_intern_find(&trace->string_ids, &id);
  return row == UINT32_MAX ? LLMPROF_NO_STRING : trace->string_of[row];
}

/* Intern text column i of the current row, fit for JSON and for an argument of
 * ncu; a NULL is LLMPROF_NO_STRING. */
bool llmprof_trace_text(llmprof_trace *trace, const llmprof_scan *scan, int i,
                        uint32_t *string) {
  size_t size;
  const char *bytes = llmprof_scan_text(scan, i, &size);
  *string = LLMPROF_NO_STRING;
  if (!bytes) return true;
  if (llmprof_text_is_sound(bytes, size))
    return llmprof_strings_add(trace->strings, bytes, size, string);
  llmprof_buffer sound = {0};
  llmprof_text_repair(&sound, bytes, size);
  bool ok = !sound.failed && llmprof_strings_add(trace->strings, sound.bytes,
                                                 sound.size, string);
  llmprof_buffer_free(&sound);
  return ok;
}

static bool keep_near(llmprof_trace *trace, size_t id, uint32_t string) {
  if (!llmprof_grow(&trace->string_at, &trace->string_at_cap, id + 1,
                    sizeof *trace->string_at))
    return false;
  while (trace->string_at_count <= id)
    trace->string_at[trace->string_at_count++] = LLMPROF_NO_STRING;
  trace->string_at[id] = string;
  return true;
}

static bool take_string(void *user, const llmprof_scan *scan,
                        const int64_t *values) {
  llmprof_trace *trace = user;
  uint32_t row, string;
  if (!llmprof_trace_text(trace, scan, 0, &string)) return false;
  if (values[0] >= 0 && values[0] < SMALL_IDS)
    return keep_near(trace, (size_t)values[0], string);
  if (!llmprof_intern_add(&trace->string_ids, &values[0], &row) ||
      !llmprof_grow(&trace->string_of, &trace->string_of_cap, row + (size_t)1,
                    sizeof *trace->string_of))
    return false;
  trace->string_of[row] = string;
  return true;
}

/* ---- what the export says about itself ---- */

static bool take_meta(void *user, const llmprof_scan *scan,
                      const int64_t *values) {
  (void)values;
  llmprof_trace *trace = user;
  size_t size;
  const char *name = llmprof_scan_text(scan, 0, &size);
  char **into = NULL;
  if (name && strcmp(name, "EXPORT_SCHEMA_VERSION") == 0) into = &trace->schema;
  if (name && strcmp(name, "EXPORT_PRODUCT_VERSION") == 0)
    into = &trace->product;
  const char *value = into ? llmprof_scan_text(scan, 1, &size) : NULL;
  if (!value || *into) return true; /* the first one counts */
  *into = llmprof_memdup(value, size);
  return *into != NULL;
}

static bool take_epoch(void *user, const llmprof_scan *scan,
                       const int64_t *values) {
  (void)scan;
  llmprof_trace *trace = user;
  trace->epoch = values[0];
  return true;
}

static bool take_process(void *user, const llmprof_scan *scan,
                         const int64_t *values) {
  llmprof_trace *trace = user;
  uint32_t row, name;
  if (values[0] == LLMPROF_ABSENT) return true;
  if (!llmprof_trace_process_row(trace, values[0], &row) ||
      !llmprof_trace_text(trace, scan, 0, &name))
    return false;
  trace->processes[row].name = name;
  return true;
}

static bool take_thread(void *user, const llmprof_scan *scan,
                        const int64_t *values) {
  (void)scan;
  llmprof_trace *trace = user;
  uint32_t row;
  if (values[0] == LLMPROF_ABSENT) return true;
  if (!llmprof_trace_thread_row(trace, values[0], &row)) return false;
  trace->threads[row].name = llmprof_trace_string(trace, values[1]);
  return true;
}

static bool take_device(void *user, const llmprof_scan *scan,
                        const int64_t *n) {
  llmprof_trace *trace = user;
  if (!llmprof_grow(&trace->devices, &trace->device_cap,
                    trace->device_count + 1, sizeof *trace->devices))
    return false;
  llmprof_device device = {
      .id = n[0],
      .memory = n[1],
      .bandwidth = n[2],
      .clock = n[3],
      .sm_count = n[4],
      .l2_size = n[5],
      .compute_major = n[6],
      .compute_minor = n[7],
  };
  if (!llmprof_trace_text(trace, scan, 0, &device.name) ||
      !llmprof_trace_text(trace, scan, 1, &device.chip) ||
      !llmprof_trace_text(trace, scan, 2, &device.uuid) ||
      !llmprof_trace_text(trace, scan, 3, &device.bus))
    return false;
  trace->devices[trace->device_count++] = device;
  return true;
}

/* Small tables read when the trace is opened, in this order: thread names are
 * string ids. */
static const struct {
  llmprof_scan_spec spec;
  llmprof_scan_take take;
} header_tables[] = {
    {{"StringIds", COLUMNS("id", "value"), 1, 1}, take_string},
    {{"META_DATA_EXPORT", COLUMNS("name", "value"), 0, 2}, take_meta},
    {{"EXPORT_META_DATA", COLUMNS("name", "value"), 0, 2}, take_meta},
    {{"TARGET_INFO_SESSION_START_TIME", COLUMNS("utcEpochNs"), 1, 0},
     take_epoch},
    {{"TARGET_INFO_GPU",
      COLUMNS("id", "totalMemory", "memoryBandwidth", "clockRate", "smCount",
              "l2CacheSize", "computeMajor", "computeMinor", "name", "chipName",
              "uuid", "busLocation"),
      8, 4},
     take_device},
    {{"PROCESSES", COLUMNS("globalPid", "name"), 1, 1}, take_process},
    {{"ThreadNames", COLUMNS("globalTid", "nameId"), 2, 0}, take_thread},
};

static bool load_header(llmprof_trace *trace, llmprof_error *err) {
  for (size_t i = 0; i < sizeof header_tables / sizeof *header_tables; i++) {
    if (!llmprof_scan_each(trace->db, &header_tables[i].spec,
                           header_tables[i].take, trace, NULL, err))
      return false;
  }
  return true;
}

/* ---- opening ---- */

static bool looks_like_a_trace(llmprof_trace *trace, llmprof_error *err) {
  static const char *const tables[] = {
      "StringIds",
      "CUPTI_ACTIVITY_KIND_KERNEL",
      "CUPTI_ACTIVITY_KIND_RUNTIME",
      "NVTX_EVENTS",
  };
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
    int has = llmprof_sqlite_has_table(trace->db, tables[i], err);
    if (has != 0) return has > 0;
  }
  return llmprof_fail(err, LLMPROF_UNSUPPORTED,
                      "%s: an SQLite file, but no Nsight Systems export",
                      trace->path);
}

llmprof_trace *llmprof_trace_open(const char *path, llmprof_error *err) {
  llmprof_trace *trace = llmprof_zalloc(1, sizeof *trace);
  if (!trace) return llmprof_fail_nomem(err), NULL;
  trace->epoch = LLMPROF_ABSENT;
  llmprof_intern_init(&trace->string_ids, sizeof(int64_t));
  llmprof_intern_init(&trace->process_ids, sizeof(int64_t));
  llmprof_intern_init(&trace->thread_ids, sizeof(int64_t));
  llmprof_intern_init(&trace->places, sizeof(llmprof_place));
  llmprof_intern_init(&trace->shapes, sizeof(llmprof_shape));
  trace->path = llmprof_strdup(path);
  trace->strings = llmprof_strings_new();
  if (!trace->path || !trace->strings) {
    llmprof_fail_nomem(err);
  } else {
    trace->db = llmprof_sqlite_open(path, err);
    if (trace->db && looks_like_a_trace(trace, err) && load_header(trace, err))
      return trace;
  }
  llmprof_trace_close(trace);
  return NULL;
}

void llmprof_trace_close(llmprof_trace *trace) {
  if (!trace) return;
  llmprof_sqlite_close(trace->db);
  llmprof_strings_free(trace->strings);
  llmprof_intern_free(&trace->string_ids);
  llmprof_intern_free(&trace->process_ids);
  llmprof_intern_free(&trace->thread_ids);
  llmprof_intern_free(&trace->places);
  llmprof_intern_free(&trace->shapes);
  llmprof_ops_free(&trace->ops);
  llmprof_details_free(&trace->details);
  llmprof_calls_free(&trace->calls);
  llmprof_ranges_free(&trace->ranges);
  llmprof_attribution_free(&trace->attribution);
  llmprof_free(trace->projections);
  llmprof_free(trace->string_of);
  llmprof_free(trace->string_at);
  llmprof_free(trace->schema);
  llmprof_free(trace->product);
  llmprof_free(trace->devices);
  llmprof_free(trace->processes);
  llmprof_free(trace->threads);
  llmprof_free(trace->path);
  llmprof_free(trace);
}

/* ---- accessors ---- */

const char *llmprof_trace_path(const llmprof_trace *trace) {
  return trace->path;
}

const llmprof_strings *llmprof_trace_strings(const llmprof_trace *trace) {
  return trace->strings;
}

const char *llmprof_trace_schema(const llmprof_trace *trace) {
  return trace->schema;
}

const char *llmprof_trace_product(const llmprof_trace *trace) {
  return trace->product;
}

int64_t llmprof_trace_epoch(const llmprof_trace *trace) {
  return trace->epoch;
}

const llmprof_device *llmprof_trace_devices(const llmprof_trace *trace,
                                            size_t *count) {
  *count = trace->device_count;
  return trace->devices;
}

const llmprof_process *llmprof_trace_processes(const llmprof_trace *trace,
                                               size_t *count) {
  *count = trace->process_ids.count;
  return trace->processes;
}

const llmprof_thread *llmprof_trace_threads(const llmprof_trace *trace,
                                            size_t *count) {
  *count = trace->thread_ids.count;
  return trace->threads;
}

const llmprof_place *llmprof_trace_places(const llmprof_trace *trace,
                                          size_t *count) {
  *count = trace->places.count;
  return (const llmprof_place *)(const void *)trace->places.records;
}

const llmprof_shape *llmprof_trace_shapes(const llmprof_trace *trace,
                                          size_t *count) {
  *count = trace->shapes.count;
  return (const llmprof_shape *)(const void *)trace->shapes.records;
}

bool llmprof_trace_has(const llmprof_trace *trace, llmprof_trace_table table) {
  return trace->has[table];
}

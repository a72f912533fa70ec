/* What an export says beside its events: the machine, processes, and the
 * numbers that stand for words. */
#include <time.h>

#include "nsys/nsys_writer.h"
#include "trace/trace_events.h"

/* ---- numbers that stand for words ---- */

static const struct {
  const char *table;
  struct {
    int64_t id;
    const char *name, *label;
  } rows[10]; /* a row without a name ends them */
} enums[] = {
    {"ENUM_NSYS_EVENT_TYPE",
     {{33, "NvtxCategory", "NvtxCategory"},
      {59, "NvtxPushPopRange", "NvtxPushPopRange"},
      {60, "NvtxStartEndRange", "NvtxStartEndRange"},
      {75, "NvtxDomainCreate", "NvtxDomainCreate"}}},
    {"ENUM_NSYS_EVENT_CLASS",
     {{0, "TRACE_PROCESS_EVENT_CUDA_RUNTIME", "CUDA runtime"},
      {1, "TRACE_PROCESS_EVENT_CUDA_DRIVER", "CUDA driver"}}},
    {"ENUM_CUDA_MEM_KIND",
     {{0, "CUDA_MEMOPR_MEMORY_KIND_PAGEABLE", "Pageable"},
      {1, "CUDA_MEMOPR_MEMORY_KIND_PINNED", "Pinned"},
      {2, "CUDA_MEMOPR_MEMORY_KIND_DEVICE", "Device"},
      {3, "CUDA_MEMOPR_MEMORY_KIND_ARRAY", "Array"},
      {4, "CUDA_MEMOPR_MEMORY_KIND_MANAGED", "Managed"},
      {5, "CUDA_MEMOPR_MEMORY_KIND_DEVICE_STATIC", "Device Static"},
      {6, "CUDA_MEMOPR_MEMORY_KIND_MANAGED_STATIC", "Managed Static"},
      {7, "CUDA_MEMOPR_MEMORY_KIND_UNKNOWN", "Unknown"}}},
    {"ENUM_DIAGNOSTIC_SEVERITY_LEVEL",
     {{1, "Info", "Info"}, {2, "Warning", "Warning"}, {3, "Error", "Error"}}},
};

static bool write_enum(nsys_writer *w, size_t number) {
  static const char *const columns[] = {"id INTEGER NOT NULL PRIMARY KEY",
                                        "name TEXT", "label TEXT"};
  nsys_sheet sheet;
  bool ok =
      nsys_sheet_open(&sheet, w, enums[number].table, columns, COUNT(columns));
  for (size_t i = 0; ok && enums[number].rows[i].name; i++) {
    nsys_put_integer(&sheet, enums[number].rows[i].id);
    nsys_put_chars(&sheet, enums[number].rows[i].name);
    nsys_put_chars(&sheet, enums[number].rows[i].label);
    ok = nsys_sheet_end_row(&sheet);
  }
  nsys_sheet_close(&sheet);
  return ok;
}

/* ---- processes and threads ---- */

static bool write_processes(nsys_writer *w) {
  static const char *const columns[] = {"globalPid INTEGER", "pid INTEGER",
                                        "name TEXT"};
  size_t count;
  const llmprof_process *all = llmprof_trace_processes(w->trace, &count);
  nsys_sheet sheet;
  bool ok = nsys_sheet_open(&sheet, w, "PROCESSES", columns, COUNT(columns));
  for (size_t i = 0; ok && i < count; i++) {
    if (all[i].name == LLMPROF_NO_STRING) continue;
    nsys_put_process(&sheet, (uint32_t)i);
    nsys_put_integer(&sheet, all[i].pid);
    nsys_put_text(&sheet, all[i].name);
    ok = nsys_sheet_end_row(&sheet);
  }
  nsys_sheet_close(&sheet);
  return ok;
}

static bool write_threads(nsys_writer *w) {
  static const char *const columns[] = {
      "nameId INTEGER", "priority INTEGER", "globalTid INTEGER",
      "callerTid INTEGER"}; /* llmprof's own: globalTid of the caller */
  size_t count;
  const llmprof_thread *all = llmprof_trace_threads(w->trace, &count);
  nsys_sheet sheet;
  bool ok = nsys_sheet_open(&sheet, w, "ThreadNames", columns, COUNT(columns));
  for (size_t i = 0; ok && i < count; i++) {
    if (all[i].name == LLMPROF_NO_STRING && all[i].caller == LLMPROF_NONE)
      continue;
    nsys_put_string_id(&sheet, all[i].name);
    nsys_put_null(&sheet);
    nsys_put_thread(&sheet, (uint32_t)i);
    nsys_put_thread(&sheet, all[i].caller);
    ok = nsys_sheet_end_row(&sheet);
  }
  nsys_sheet_close(&sheet);
  return ok;
}

/* ---- GPUs ---- */

static bool put_device(nsys_sheet *sheet, const llmprof_device *d) {
  nsys_put_integer(sheet, d->id);
  nsys_put_text(sheet, d->name);
  nsys_put_text(sheet, d->bus);
  nsys_put_integer(sheet, d->l2_size);
  nsys_put_integer(sheet, d->memory);
  nsys_put_integer(sheet, d->bandwidth);
  nsys_put_integer(sheet, d->clock);
  nsys_put_integer(sheet, d->sm_count);
  nsys_put_text(sheet, d->uuid);
  nsys_put_text(sheet, d->chip);
  nsys_put_integer(sheet, d->id);
  nsys_put_integer(sheet, d->compute_major);
  nsys_put_integer(sheet, d->compute_minor);
  return nsys_sheet_end_row(sheet);
}

static bool write_devices(nsys_writer *w) {
  static const char *const columns[] = {
      "id INTEGER",           "name TEXT",           "busLocation TEXT",
      "l2CacheSize INTEGER",  "totalMemory INTEGER", "memoryBandwidth INTEGER",
      "clockRate INTEGER",    "smCount INTEGER",     "uuid TEXT",
      "chipName TEXT",        "cuDevice INTEGER",    "computeMajor INTEGER",
      "computeMinor INTEGER",
  };
  size_t count;
  const llmprof_device *all = llmprof_trace_devices(w->trace, &count);
  if (!count) return true;
  nsys_sheet sheet;
  bool ok =
      nsys_sheet_open(&sheet, w, "TARGET_INFO_GPU", columns, COUNT(columns));
  for (size_t i = 0; ok && i < count; i++) ok = put_device(&sheet, &all[i]);
  nsys_sheet_close(&sheet);
  return ok;
}

/* ---- the session ---- */

static bool write_start(nsys_writer *w) {
  static const char *const columns[] = {"utcEpochNs INTEGER", "utcTime TEXT",
                                        "localTime TEXT"};
  int64_t epoch = llmprof_trace_epoch(w->trace);
  if (epoch == LLMPROF_ABSENT) return true;
  nsys_sheet sheet;
  bool ok = nsys_sheet_open(&sheet, w, "TARGET_INFO_SESSION_START_TIME",
                            columns, COUNT(columns));
  if (ok) {
    time_t seconds = (time_t)(epoch / 1000000000);
    struct tm day;
    char text[64];
    bool has_day = gmtime_r(&seconds, &day) &&
                   strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &day) > 0;
    nsys_put_integer(&sheet, epoch);
    nsys_put_chars(&sheet, has_day ? text : NULL);
    nsys_put_null(&sheet);
    ok = nsys_sheet_end_row(&sheet);
  }
  nsys_sheet_close(&sheet);
  return ok;
}

/* The span of all times; does not change what it gets when there are none. */
static void widen(int64_t *first, int64_t *last, int64_t start, int64_t end) {
  if (start != LLMPROF_ABSENT && start < *first) *first = start;
  if (end != LLMPROF_ABSENT && end > *last) *last = end;
}

static void widen_columns(int64_t *first, int64_t *last,
                          const llmprof_values *start,
                          const llmprof_values *duration, size_t count) {
  for (size_t i = 0; i < count; i++)
    widen(first, last, llmprof_values_get(start, i),
          llmprof_end_at(start, duration, i));
}

static bool write_span(nsys_writer *w) {
  static const char *const columns[] = {"globalVid INTEGER", "duration INTEGER",
                                        "startTime INTEGER",
                                        "stopTime INTEGER"};
  llmprof_error *err = w->edit->err;
  const llmprof_ops *ops = llmprof_trace_ops(w->trace, err);
  const llmprof_calls *calls = llmprof_trace_calls(w->trace, err);
  const llmprof_ranges *ranges = llmprof_trace_ranges(w->trace, err);
  int64_t first = INT64_MAX, last = INT64_MIN, span;
  widen_columns(&first, &last, ops->start, ops->duration, ops->count);
  widen_columns(&first, &last, calls->start, calls->duration, calls->count);
  for (size_t i = 0; i < ranges->count; i++)
    widen(&first, &last, llmprof_values_get(ranges->start, i),
          llmprof_values_get(ranges->end, i));
  if (last < first || __builtin_sub_overflow(last, first, &span)) return true;
  nsys_sheet sheet;
  bool ok =
      nsys_sheet_open(&sheet, w, "ANALYSIS_DETAILS", columns, COUNT(columns));
  if (ok) {
    nsys_put_null(&sheet);
    nsys_put_integer(&sheet, span);
    nsys_put_integer(&sheet, first);
    nsys_put_integer(&sheet, last);
    ok = nsys_sheet_end_row(&sheet);
  }
  nsys_sheet_close(&sheet);
  return ok;
}

/* ---- what was noticed, and who writes ---- */

static bool write_diagnostics(nsys_writer *w) {
  static const char *const columns[] = {
      "timestamp INTEGER", "timestampType INTEGER",
      "source INTEGER",    "severity INTEGER",
      "text TEXT",         "globalPid INTEGER"};
  size_t count;
  const llmprof_diagnostic *all =
      llmprof_trace_diagnostics(w->trace, &count, w->edit->err);
  int knows =
      llmprof_trace_knows(w->trace, LLMPROF_KNOWS_DIAGNOSTICS, w->edit->err);
  if (!all || knows < 0) return false;
  if (!knows && count == 0) return true;
  nsys_sheet sheet;
  bool ok =
      nsys_sheet_open(&sheet, w, "DIAGNOSTIC_EVENT", columns, COUNT(columns));
  for (size_t i = 0; ok && i < count; i++) {
    nsys_put_nulls(&sheet, 3);
    nsys_put_integer(&sheet, (int64_t)all[i].severity + 1);
    nsys_put_text(&sheet, all[i].text);
    nsys_put_null(&sheet);
    ok = nsys_sheet_end_row(&sheet);
  }
  nsys_sheet_close(&sheet);
  return ok;
}

static bool write_meta(nsys_writer *w) {
  static const char *const columns[] = {"name TEXT NOT NULL", "value TEXT"};
  const char *const rows[][2] = {
      {"EXPORT_PRODUCT_NAME", w->product},
      {"EXPORT_PRODUCT_VERSION", w->version},
      {"EXPORT_SCHEMA_VERSION", "3.20.3"},
      {"EXPORT_SCHEMA_VERSION_MAJOR", "3"},
      {"EXPORT_SCHEMA_VERSION_MINOR", "20"},
      {"EXPORT_SCHEMA_VERSION_MICRO", "3"},
      {"EXPORT_PARAM_LAZY", "true"},
      {"EXPORT_PARAM_TIME_NORMALIZE", "false"},
      {"EXPORT_PARAM_TIME_SHIFT", "0"},
  };
  nsys_sheet sheet;
  bool ok =
      nsys_sheet_open(&sheet, w, "META_DATA_EXPORT", columns, COUNT(columns));
  for (size_t i = 0; ok && i < COUNT(rows); i++) {
    nsys_put_chars(&sheet, rows[i][0]);
    nsys_put_chars(&sheet, rows[i][1]);
    ok = nsys_sheet_end_row(&sheet);
  }
  nsys_sheet_close(&sheet);
  return ok;
}

bool nsys_write_target(nsys_writer *w) {
  bool ok = true;
  for (size_t i = 0; ok && i < COUNT(enums); i++) ok = write_enum(w, i);
  return ok && write_processes(w) && write_threads(w) && write_devices(w) &&
         write_start(w) && write_span(w) && write_diagnostics(w) &&
         write_meta(w);
}

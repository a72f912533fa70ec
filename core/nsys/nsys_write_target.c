/* What an export says beside its events: the machine, processes, and the
 * numbers that stand for words. */
#include <time.h>

#include "nsys/nsys_writer.h"
#include "trace/trace_events.h"

/* ---- numbers that stand for words ---- */

typedef struct word {
  int64_t id;
  const char *name, *label;
} word;

static const struct {
  const char *table;
  word words[10]; /* one without a name ends them */
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

static void put_word(nsys_sheet *sheet, const void *from, size_t i) {
  const word *of = (const word *)from + i;
  nsys_put_integer(sheet, of->id);
  nsys_put_chars(sheet, of->name);
  nsys_put_chars(sheet, of->label);
  nsys_end_row(sheet);
}

static bool write_enum(nsys_writer *w, size_t number) {
  static const char *const columns[] = {"id INTEGER NOT NULL PRIMARY KEY",
                                        "name TEXT", "label TEXT"};
  const word *words = enums[number].words;
  size_t count = 0;
  while (words[count].name) count++;
  return nsys_write_table(w, enums[number].table, columns, COUNT(columns),
                          put_word, words, count);
}

/* ---- processes and threads ---- */

static void put_process(nsys_sheet *sheet, const void *from, size_t row) {
  const llmprof_process *process = (const llmprof_process *)from + row;
  if (process->name == LLMPROF_NO_STRING) return;
  nsys_put_process(sheet, (uint32_t)row);
  nsys_put_integer(sheet, process->pid);
  nsys_put_text(sheet, process->name);
  nsys_end_row(sheet);
}

static bool write_processes(nsys_writer *w) {
  static const char *const columns[] = {"globalPid", "pid", "name TEXT"};
  size_t count;
  const llmprof_process *all = llmprof_trace_processes(w->trace, &count);
  return nsys_write_table(w, "PROCESSES", columns, COUNT(columns), put_process,
                          all, count);
}

static void put_thread(nsys_sheet *sheet, const void *from, size_t row) {
  const llmprof_thread *thread = (const llmprof_thread *)from + row;
  if (thread->name == LLMPROF_NO_STRING && thread->caller == LLMPROF_NONE)
    return;
  nsys_put_string_id(sheet, thread->name);
  nsys_put_null(sheet);
  nsys_put_thread(sheet, (uint32_t)row);
  nsys_put_thread(sheet, thread->caller);
  nsys_end_row(sheet);
}

static bool write_threads(nsys_writer *w) {
  static const char *const columns[] = {
      "nameId", "priority", "globalTid",
      "callerTid"}; /* llmprof's own: globalTid of the caller */
  size_t count;
  const llmprof_thread *all = llmprof_trace_threads(w->trace, &count);
  return nsys_write_table(w, "ThreadNames", columns, COUNT(columns), put_thread,
                          all, count);
}

/* ---- GPUs ---- */

static void put_device(nsys_sheet *sheet, const void *from, size_t row) {
  const llmprof_device *d = (const llmprof_device *)from + row;
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
  nsys_end_row(sheet);
}

static bool write_devices(nsys_writer *w) {
  static const char *const columns[] = {
      "id",           "name TEXT",       "busLocation TEXT", "l2CacheSize",
      "totalMemory",  "memoryBandwidth", "clockRate",        "smCount",
      "uuid TEXT",    "chipName TEXT",   "cuDevice",         "computeMajor",
      "computeMinor",
  };
  size_t count;
  const llmprof_device *all = llmprof_trace_devices(w->trace, &count);
  return !count || nsys_write_table(w, "TARGET_INFO_GPU", columns,
                                    COUNT(columns), put_device, all, count);
}

/* ---- the session ---- */

static void put_start(nsys_sheet *sheet, const void *from, size_t row) {
  (void)row;
  int64_t epoch = *(const int64_t *)from;
  time_t seconds = (time_t)(epoch / 1000000000);
  struct tm day;
  char text[64];
  bool has_day = gmtime_r(&seconds, &day) &&
                 strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &day) > 0;
  nsys_put_integer(sheet, epoch);
  nsys_put_chars(sheet, has_day ? text : NULL);
  nsys_put_null(sheet);
  nsys_end_row(sheet);
}

static bool write_start(nsys_writer *w) {
  static const char *const columns[] = {"utcEpochNs", "utcTime TEXT",
                                        "localTime TEXT"};
  int64_t epoch = llmprof_trace_epoch(w->trace);
  return epoch == LLMPROF_ABSENT ||
         nsys_write_table(w, "TARGET_INFO_SESSION_START_TIME", columns,
                          COUNT(columns), put_start, &epoch, 1);
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

static void put_span(nsys_sheet *sheet, const void *from, size_t row) {
  (void)row;
  const int64_t *span = from; /* duration, first and last time */
  nsys_put_null(sheet);
  for (int i = 0; i < 3; i++) nsys_put_integer(sheet, span[i]);
  nsys_end_row(sheet);
}

static bool write_span(nsys_writer *w) {
  static const char *const columns[] = {"globalVid", "duration", "startTime",
                                        "stopTime"};
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
  const int64_t found[] = {span, first, last};
  return nsys_write_table(w, "ANALYSIS_DETAILS", columns, COUNT(columns),
                          put_span, found, 1);
}

/* ---- what was noticed, and who writes ---- */

static void put_diagnostic(nsys_sheet *sheet, const void *from, size_t row) {
  const llmprof_diagnostic *said = (const llmprof_diagnostic *)from + row;
  nsys_put_nulls(sheet, 3);
  nsys_put_integer(sheet, (int64_t)said->severity + 1);
  nsys_put_text(sheet, said->text);
  nsys_put_null(sheet);
  nsys_end_row(sheet);
}

static bool write_diagnostics(nsys_writer *w) {
  static const char *const columns[] = {"timestamp", "timestampType",
                                        "source",    "severity",
                                        "text TEXT", "globalPid"};
  size_t count;
  const llmprof_diagnostic *all =
      llmprof_trace_diagnostics(w->trace, &count, w->edit->err);
  int knows =
      llmprof_trace_knows(w->trace, LLMPROF_KNOWS_DIAGNOSTICS, w->edit->err);
  if (!all || knows < 0) return false;
  return (!knows && count == 0) ||
         nsys_write_table(w, "DIAGNOSTIC_EVENT", columns, COUNT(columns),
                          put_diagnostic, all, count);
}

typedef struct setting {
  const char *name, *value;
} setting;

static void put_setting(nsys_sheet *sheet, const void *from, size_t row) {
  const setting *of = (const setting *)from + row;
  nsys_put_chars(sheet, of->name);
  nsys_put_chars(sheet, of->value);
  nsys_end_row(sheet);
}

static bool write_meta(nsys_writer *w) {
  static const char *const columns[] = {"name TEXT NOT NULL", "value TEXT"};
  const setting rows[] = {
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
  return nsys_write_table(w, "META_DATA_EXPORT", columns, COUNT(columns),
                          put_setting, rows, COUNT(rows));
}

bool nsys_write_target(nsys_writer *w) {
  bool ok = true;
  for (size_t i = 0; ok && i < COUNT(enums); i++) ok = write_enum(w, i);
  return ok && write_processes(w) && write_threads(w) && write_devices(w) &&
         write_start(w) && write_span(w) && write_diagnostics(w) &&
         write_meta(w);
}

/* Opening an export: strings, devices, processes; what else it can tell is
 * loaded when it is asked for. */
#include "trace/built_in_readers.h"

#include <string.h>

#include "base/alloc.h"
#include "nsys/nsys_internal.h"
#include "sqlite/sqlite_file.h"
#include "text/text.h"

enum {
  SMALL_IDS = 1 << 20 /* nsys counts up from 0 */
};

static bool keep_near(nsys_export *export, size_t id, uint32_t string) {
  if (!llmprof_grow(&export->string_at, &export->string_at_cap, id + 1,
                    sizeof *export->string_at))
    return false;
  while (export->string_at_count <= id)
    export->string_at[export->string_at_count++] = LLMPROF_NO_STRING;
  export->string_at[id] = string;
  return true;
}

/* An export and what is made of it. */
typedef struct opening {
  nsys_export *export;
  llmprof_builder *builder;
  bool has_no_id; /* a string */
  int64_t epoch;  /* when the session began, or LLMPROF_ABSENT */
} opening;

static bool keep_string(opening *o, int64_t id, uint32_t string) {
  nsys_export *export = o->export;
  const nsys_far_string far = {id, string};
  if (id == LLMPROF_ABSENT) return o->has_no_id = true;
  if (id >= 0 && id < SMALL_IDS) return keep_near(export, (size_t)id, string);
  nsys_far_string *kept = llmprof_intern_put(&export->far_strings, &far);
  if (kept) kept->string = string;
  return kept != NULL;
}

/* ---- strings ---- */

static bool take_string(void *user, const llmprof_scan *scan,
                        const int64_t *values) {
  opening *o = user;
  size_t size;
  uint32_t string;
  const char *text = llmprof_scan_text(scan, 0, &size);
  return llmprof_builder_text(o->builder, text, size, &string) &&
         keep_string(o, values[0], string);
}

static bool load_strings(opening *o, llmprof_error *err) {
  static const char *const columns[] = {"id", "value"};
  static const llmprof_scan_spec spec = {"StringIds", columns, 1, 1};
  if (!llmprof_scan_each(o->export->db, &spec, take_string, o, NULL, err))
    return false;
  return !o->has_no_id ||
         llmprof_fail(err, LLMPROF_UNSUPPORTED,
                      "%s: StringIds has an id that is NULL or -2^63, which "
                      "no row can refer to",
                      o->export->path);
}

/* ---- other small tables ---- */

static bool take_meta(void *user, const llmprof_scan *scan,
                      const int64_t *values) {
  (void)values;
  const opening *o = user;
  size_t size;
  const char *name = llmprof_scan_text(scan, 0, &size);
  bool is_schema = name && strcmp(name, "EXPORT_SCHEMA_VERSION") == 0;
  bool is_product = name && strcmp(name, "EXPORT_PRODUCT_VERSION") == 0;
  if (!is_schema && !is_product) return true;
  const char *value = llmprof_scan_text(scan, 1, &size);
  return llmprof_builder_versions(o->builder, is_schema ? value : NULL,
                                  is_product ? value : NULL);
}

static bool take_epoch(void *user, const llmprof_scan *scan,
                       const int64_t *values) {
  (void)scan;
  opening *o = user;
  o->epoch = values[0];
  llmprof_builder_epoch(o->builder, values[0]);
  return true;
}

static bool take_process(void *user, const llmprof_scan *scan,
                         const int64_t *values) {
  const opening *o = user;
  uint32_t row, name;
  if (values[0] == LLMPROF_ABSENT) return true;
  if (!llmprof_nsys_process(o->builder, values[0], &row) ||
      !llmprof_nsys_text(o->builder, scan, 0, &name))
    return false;
  llmprof_builder_name_process(o->builder, row, name);
  return true;
}

static bool take_thread(void *user, const llmprof_scan *scan,
                        const int64_t *values) {
  (void)scan;
  const opening *o = user;
  uint32_t row;
  if (values[0] == LLMPROF_ABSENT) return true;
  if (!llmprof_nsys_thread(o->export, o->builder, values[0], &row))
    return false;
  llmprof_builder_name_thread(o->builder, row,
                              llmprof_nsys_string(o->export, values[1]));
  uint32_t caller;
  if (values[2] == LLMPROF_ABSENT) return true;
  if (!llmprof_nsys_thread(o->export, o->builder, values[2], &caller))
    return false;
  llmprof_builder_set_caller(o->builder, row, caller);
  return true;
}

enum {
  DEVICE_ID,
  DEVICE_MEMORY,
  DEVICE_BANDWIDTH,
  DEVICE_CLOCK,
  DEVICE_SM_COUNT,
  DEVICE_L2_SIZE,
  DEVICE_MAJOR,
  DEVICE_MINOR,
  DEVICE_INTS,
  DEVICE_NAME = 0, /* text columns count on their own */
  DEVICE_CHIP,
  DEVICE_UUID,
  DEVICE_BUS,
  DEVICE_TEXTS,
};

static const char *const device_columns[] = {
    [DEVICE_ID] = "id",
    [DEVICE_MEMORY] = "totalMemory",
    [DEVICE_BANDWIDTH] = "memoryBandwidth",
    [DEVICE_CLOCK] = "clockRate",
    [DEVICE_SM_COUNT] = "smCount",
    [DEVICE_L2_SIZE] = "l2CacheSize",
    [DEVICE_MAJOR] = "computeMajor",
    [DEVICE_MINOR] = "computeMinor",
    [DEVICE_INTS + DEVICE_NAME] = "name",
    [DEVICE_INTS + DEVICE_CHIP] = "chipName",
    [DEVICE_INTS + DEVICE_UUID] = "uuid",
    [DEVICE_INTS + DEVICE_BUS] = "busLocation",
};

/* What a device has is no less than nothing. */
static int64_t figure(int64_t value) {
  return value < 0 ? LLMPROF_ABSENT : value;
}

static bool take_device(void *user, const llmprof_scan *scan,
                        const int64_t *values) {
  const opening *o = user;
  llmprof_device device = {
      .id = values[DEVICE_ID],
      .memory = figure(values[DEVICE_MEMORY]),
      .bandwidth = figure(values[DEVICE_BANDWIDTH]),
      .clock = figure(values[DEVICE_CLOCK]),
      .sm_count = figure(values[DEVICE_SM_COUNT]),
      .l2_size = figure(values[DEVICE_L2_SIZE]),
      .compute_major = figure(values[DEVICE_MAJOR]),
      .compute_minor = figure(values[DEVICE_MINOR]),
  };
  return llmprof_nsys_text(o->builder, scan, DEVICE_NAME, &device.name) &&
         llmprof_nsys_text(o->builder, scan, DEVICE_CHIP, &device.chip) &&
         llmprof_nsys_text(o->builder, scan, DEVICE_UUID, &device.uuid) &&
         llmprof_nsys_text(o->builder, scan, DEVICE_BUS, &device.bus) &&
         llmprof_builder_add_device(o->builder, &device);
}

/* Read when the export is opened, behind the strings: thread names are string
 * ids. */
static const struct {
  llmprof_scan_spec spec;
  llmprof_scan_take take;
} small_tables[] = {
    {{"META_DATA_EXPORT", COLUMNS("name", "value"), 0, 2}, take_meta},
    {{"EXPORT_META_DATA", COLUMNS("name", "value"), 0, 2}, take_meta},
    {{"TARGET_INFO_SESSION_START_TIME", COLUMNS("utcEpochNs"), 1, 0},
     take_epoch},
    {{"TARGET_INFO_GPU", device_columns, DEVICE_INTS, DEVICE_TEXTS},
     take_device},
    {{"PROCESSES", COLUMNS("globalPid", "name"), 1, 1}, take_process},
    {{"ThreadNames", COLUMNS("globalTid", "nameId", "callerTid"), 3, 0},
     take_thread},
};

static bool load_small_tables(opening *o, llmprof_error *err) {
  bool ok = load_strings(o, err);
  for (size_t i = 0; ok && i < sizeof small_tables / sizeof *small_tables; i++)
    ok = llmprof_scan_each(o->export->db, &small_tables[i].spec,
                           small_tables[i].take, o, NULL, err);
  return ok;
}

/* ---- when its times begin ---- */

/* Of the first row that has one, as names of NVTX domains have 0;
 * LLMPROF_ABSENT: none has. */
static bool first_start(const nsys_export *export, const char *table,
                        int64_t *start, llmprof_error *err) {
  const llmprof_scan_spec spec = {table, COLUMNS("start"), 1, 0};
  llmprof_scan *scan;
  int got = 0;
  *start = LLMPROF_ABSENT;
  if (!llmprof_scan_open(export->db, &spec, &scan, err)) return false;
  do {
    got = scan ? llmprof_scan_next(scan, start, err) : 0;
  } while (got == 1 && (*start == 0 || *start == LLMPROF_ABSENT));
  llmprof_scan_close(scan);
  if (got == 0) *start = LLMPROF_ABSENT;
  return got >= 0;
}

/* Times count from the session's start, or from 1970, which first ones between
 * 2001 and 2043 in all tables tell: one alone may be damaged. */
static bool find_origin(opening *o, llmprof_error *err) {
  static const char *const tables[] = {"CUPTI_ACTIVITY_KIND_KERNEL",
                                       "CUPTI_ACTIVITY_KIND_RUNTIME",
                                       "NVTX_EVENTS",
                                       "COMPOSITE_EVENTS",
                                       "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
                                       "CUPTI_ACTIVITY_KIND_MEMCPY"};
  const int64_t in_2001 = INT64_C(1000000000000000000);
  const int64_t in_2043 = INT64_C(1) << 61;
  int64_t least = in_2043;
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
    int64_t first;
    if (!first_start(o->export, tables[i], &first, err)) return false;
    if (first == LLMPROF_ABSENT) continue;
    if (first < in_2001 || first >= in_2043) return true;
    if (first < least) least = first;
  }
  if (least == in_2043) return true;
  o->export->origin =
      o->epoch > in_2001 && o->epoch <= least ? o->epoch : least;
  llmprof_builder_epoch(o->builder, o->export->origin);
  return true;
}

/* ---- diagnostics ---- */

/* 1 is information, 2 a warning, 3 an error. */
static llmprof_severity severity_of(int64_t level) {
  if (level < 2) return LLMPROF_INFO;
  return level == 2 ? LLMPROF_WARNING : LLMPROF_PROBLEM;
}

static bool scan_diagnostics(llmprof_builder *builder, llmprof_scan *scan,
                             llmprof_error *err) {
  llmprof_diagnostic diagnostic;
  int64_t level;
  int got;
  while ((got = llmprof_scan_next(scan, &level, err)) == 1) {
    diagnostic.severity = severity_of(level);
    if (!llmprof_nsys_text(builder, scan, 0, &diagnostic.text) ||
        !llmprof_builder_add_diagnostic(builder, &diagnostic))
      return llmprof_fail_nomem(err);
  }
  return got == 0;
}

bool llmprof_nsys_load_diagnostics(nsys_export *export,
                                   llmprof_builder *builder,
                                   llmprof_error *err) {
  static const char *const columns[] = {"severity", "text"};
  static const nsys_table table = {
      .spec = {"DIAGNOSTIC_EVENT", columns, 1, 1},
      .recorded_as = LLMPROF_TABLES,
      .fact = LLMPROF_KNOWS_DIAGNOSTICS,
      .known_by = 1,
  };
  llmprof_scan *scan;
  if (!llmprof_nsys_open_table(export, builder, &table, &scan, err))
    return false;
  bool ok = !scan || scan_diagnostics(builder, scan, err);
  llmprof_scan_close(scan);
  return ok;
}

/* ---- the reader ---- */

static llmprof_claim probe(const llmprof_specimen *file, llmprof_error *err) {
  static const char magic[] = "SQLite format 3"; /* with its NUL */
  if (file->size >= 100 && memcmp(file->bytes, magic, sizeof magic) == 0) {
    if (!file->packed) return LLMPROF_CLAIM_YES;
    llmprof_fail(err, LLMPROF_UNSUPPORTED,
                 "%s: an SQLite database within gzip: unpack it first",
                 file->path);
    return LLMPROF_CLAIM_FAILED;
  }
  llmprof_fail(err, LLMPROF_SYNTAX, "%s: not an SQLite database", file->path);
  return LLMPROF_CLAIM_NO;
}

static bool looks_like_a_trace(const nsys_export *export, llmprof_error *err) {
  static const char *const tables[] = {
      "StringIds",
      "CUPTI_ACTIVITY_KIND_KERNEL",
      "CUPTI_ACTIVITY_KIND_RUNTIME",
      "NVTX_EVENTS",
  };
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
    int has = llmprof_sqlite_has(export->db, tables[i], NULL, err);
    if (has != 0) return has > 0;
  }
  return llmprof_fail(err, LLMPROF_UNSUPPORTED,
                      "%s: an SQLite file, but no Nsight Systems export",
                      export->path);
}

/* A table that lost its name would count as nothing: kernels that are not there
 * leave all of the GPU's time to what is. Their columns tell them. */
static bool check_names(const nsys_export *export, llmprof_error *err) {
  static const char *const tables[][2] = {
      {"CUPTI_ACTIVITY_KIND_KERNEL", "gridX"},
      {"CUPTI_ACTIVITY_KIND_MEMCPY", "copyKind"},
      {"NVTX_EVENTS", "uint64Value"},
  };
  bool ok = true;
  for (size_t i = 0; ok && i < sizeof tables / sizeof *tables; i++) {
    llmprof_buffer other = {0};
    int has = llmprof_sqlite_has(export->db, tables[i][0], NULL, err);
    ok = has > 0 || (has == 0 && llmprof_sqlite_table_with(
                                     export->db, tables[i][1], &other, err));
    if (ok && other.size)
      ok = llmprof_fail(err, LLMPROF_UNSUPPORTED,
                        "%s: no table %s, but %.100s has its columns",
                        export->path, tables[i][0], other.bytes);
    llmprof_buffer_free(&other);
  }
  return ok;
}

/* Processes of API calls, as far as they matter. */
typedef struct callers {
  int64_t process;
  bool are_several;
} callers;

static bool take_caller(void *user, const llmprof_scan *scan,
                        const int64_t *values) {
  (void)scan;
  callers *seen = user;
  if (values[0] == LLMPROF_ABSENT) return true;
  int64_t process = values[0] >> 24;
  seen->are_several |=
      seen->process != LLMPROF_ABSENT && seen->process != process;
  seen->process = process;
  return true;
}

/* Some exports do not say which process an operation is of: it is that of the
 * calls, if there is one. *known: can operations find their calls? */
static bool find_sole_process(nsys_export *export, bool *known,
                              llmprof_error *err) {
  static const char kernels[] = "CUPTI_ACTIVITY_KIND_KERNEL";
  const llmprof_scan_spec spec = {"CUPTI_ACTIVITY_KIND_RUNTIME",
                                  COLUMNS("globalTid"), 1, 0};
  callers seen = {.process = LLMPROF_ABSENT};
  int has = llmprof_sqlite_has(export->db, kernels, NULL, err);
  if (has > 0) {
    has = llmprof_sqlite_has(export->db, kernels, "globalPid", err);
    if (has == 0 &&
        !llmprof_scan_each(export->db, &spec, take_caller, &seen, NULL, err))
      return false;
  }
  *known = !seen.are_several;
  if (!seen.are_several && seen.process != LLMPROF_ABSENT)
    export->sole_process = (int64_t)((uint64_t)seen.process << 24);
  return has >= 0;
}

static bool open_export(const char *path, llmprof_builder *builder,
                        void **state, llmprof_error *err) {
  nsys_export *export = llmprof_zalloc(1, sizeof *export);
  *state = export;
  if (!export) return llmprof_fail_nomem(err);
  opening o = {.export = export, .builder = builder, .epoch = LLMPROF_ABSENT};
  export->path = path;
  export->last_thread = export->sole_process = LLMPROF_ABSENT;
  export->last_thread_row = LLMPROF_NONE;
  llmprof_intern_init_keyed(&export->far_strings, sizeof(nsys_far_string),
                            sizeof(int64_t));
  export->db = llmprof_sqlite_open(path, err);
  llmprof_builder_knows(builder, LLMPROF_KNOWS_ALLOCATIONS);
  bool known = false;
  bool ok = export->db && looks_like_a_trace(export, err) &&
            check_names(export, err) &&
            llmprof_sqlite_check_stored(export->db, err) &&
            find_sole_process(export, &known, err) &&
            load_small_tables(&o, err) && find_origin(&o, err);
  if (known) llmprof_builder_knows(builder, LLMPROF_KNOWS_CALLS);
  return ok;
}

static void close_export(void *state) {
  nsys_export *export = state;
  if (!export) return;
  llmprof_sqlite_close(export->db);
  llmprof_intern_free(&export->far_strings);
  llmprof_free(export->string_at);
  llmprof_free(export);
}

static bool load(void *state, llmprof_builder *builder, llmprof_part part,
                 llmprof_error *err) {
  typedef bool (*loader)(nsys_export * export, llmprof_builder * builder,
                         llmprof_error * err);
  static const loader loaders[LLMPROF_PARTS] = {
      [LLMPROF_PART_OPS] = llmprof_nsys_load_ops,
      [LLMPROF_PART_DETAILS] = llmprof_nsys_load_details,
      [LLMPROF_PART_CALLS] = llmprof_nsys_load_calls,
      [LLMPROF_PART_STACKS] = llmprof_nsys_load_stacks,
      [LLMPROF_PART_RANGES] = llmprof_nsys_load_ranges,
      [LLMPROF_PART_SAMPLES] = llmprof_nsys_load_samples,
      [LLMPROF_PART_CPU_SAMPLES] = llmprof_nsys_load_cpu_samples,
      [LLMPROF_PART_DIAGNOSTICS] = llmprof_nsys_load_diagnostics,
  };
  return !loaders[part] || loaders[part](state, builder, err);
}

static const llmprof_reader_hint hints[] = {
    {".nsys-rep", "export it first: nsys export --type sqlite %s"},
    {".qdrep", "export it first: nsys export --type sqlite %s"},
    {0},
};

const llmprof_reader llmprof_nsys_reader = {
    .name = "nsys",
    .what = "SQLite export of Nsight Systems",
    .hints = hints,
    .instead = "llmprof reads what `nsys export --type sqlite REPORT.nsys-rep` "
               "writes",
    .probe = probe,
    .check = llmprof_sqlite_check_file,
    .open = open_export,
    .load = load,
    .close = close_export,
};

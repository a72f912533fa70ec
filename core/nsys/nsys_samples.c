/* Hardware samples of an export: GPU_METRICS has a row for each value of a
 * sample, which is told by its end; a table of ours has one for each sample. */
#include "nsys/nsys_samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "nsys/nsys_internal.h"

const char *const nsys_sampled_names[LLMPROF_SAMPLED] = {
    [LLMPROF_SAMPLED_GPU] = "GR Active",
    [LLMPROF_SAMPLED_SM] = "SMs Active",
    [LLMPROF_SAMPLED_TENSOR] = "Tensor Active",
    [LLMPROF_SAMPLED_DRAM_READ] = "DRAM Read Bandwidth",
    [LLMPROF_SAMPLED_DRAM_WRITE] = "DRAM Write Bandwidth",
};

const char *const nsys_sampled_columns[LLMPROF_SAMPLED] = {
    [LLMPROF_SAMPLED_GPU] = "grActive",
    [LLMPROF_SAMPLED_SM] = "smsActive",
    [LLMPROF_SAMPLED_TENSOR] = "tensorActive",
    [LLMPROF_SAMPLED_DRAM_READ] = "dramReadBandwidth",
    [LLMPROF_SAMPLED_DRAM_WRITE] = "dramWriteBandwidth",
};

enum {
  SOURCES = NSYS_METRICS_GPU_MASK + 1, /* GPUs at most */
};

/* What a metric of a type of source stands for. */
typedef struct metric {
  int64_t type, id;
  llmprof_sampled value;
} metric;

/* A row of GPU_METRICS that says something. */
typedef struct reading {
  int64_t time;
  double value;
  uint8_t device, of; /* of: a llmprof_sampled */
} reading;

typedef struct loader {
  const nsys_export *export;
  llmprof_builder *builder;
  llmprof_intern metrics; /* of metric, by type and id */
  reading *readings;
  size_t count, cap;
  bool sorted;           /* so far */
  int64_t last[SOURCES]; /* end of the sample before; ABSENT: none */
} loader;

/* ---- names ---- */

static llmprof_sampled value_of(const char *name, size_t size) {
  for (int i = 0; i < LLMPROF_SAMPLED; i++) {
    size_t length = strlen(nsys_sampled_names[i]);
    if (size >= length && memcmp(name, nsys_sampled_names[i], length) == 0 &&
        (size == length || name[length] == ' '))
      return (llmprof_sampled)i;
  }
  return LLMPROF_SAMPLED;
}

static bool take_metric(void *user, const llmprof_scan *scan,
                        const int64_t *values) {
  loader *l = user;
  size_t size;
  const char *name = llmprof_scan_text(scan, 0, &size);
  const metric named = {values[0], values[1],
                        name ? value_of(name, size) : LLMPROF_SAMPLED};
  return named.value == LLMPROF_SAMPLED ||
         llmprof_intern_put(&l->metrics, &named);
}

/* ---- values ---- */

static int compare(int64_t a, int64_t b) {
  return (a > b) - (a < b);
}

/* By time, then GPU; the rest, so that equal files are read alike. */
static int by_time(const void *left, const void *right) {
  const reading *a = left, *b = right;
  int order = compare(a->time, b->time);
  if (!order) order = compare(a->device, b->device);
  if (!order) order = compare(a->of, b->of);
  return order ? order : (a->value > b->value) - (a->value < b->value);
}

enum {
  METRIC_TIME,
  METRIC_TYPE,
  METRIC_ID,
  METRIC_INTS
};

static bool add_reading(loader *l, int64_t time, int64_t type, int of,
                        double value) {
  const reading r = {llmprof_nsys_time(l->export, time), value,
                     (uint8_t)(type & NSYS_METRICS_GPU_MASK), (uint8_t)of};
  if (time == LLMPROF_ABSENT) return true;
  if (!llmprof_grow(&l->readings, &l->cap, l->count + 1, sizeof r))
    return false;
  if (l->count && by_time(&l->readings[l->count - 1], &r) > 0)
    l->sorted = false;
  l->readings[l->count++] = r;
  return true;
}

static bool take_value(void *user, const llmprof_scan *scan,
                       const int64_t *values) {
  loader *l = user;
  int64_t type = values[METRIC_TYPE];
  const int64_t key[] = {type, values[METRIC_ID]};
  const metric *of = llmprof_intern_seek(&l->metrics, key);
  return !of || add_reading(l, values[METRIC_TIME], type, (int)of->value,
                            llmprof_scan_double(scan, 0));
}

/* A row of our own table; one without values says where the next begins. */
static bool take_row(void *user, const llmprof_scan *scan,
                     const int64_t *values) {
  (void)scan;
  loader *l = user;
  const int64_t *parts = values + METRIC_ID;
  bool ok = true, any = false;
  for (int i = 0; ok && i < LLMPROF_SAMPLED; i++) {
    if (parts[i] == LLMPROF_ABSENT) continue;
    any = true;
    ok = add_reading(l, values[METRIC_TIME], values[METRIC_TYPE], i,
                     (double)parts[i] / (double)NSYS_SAMPLES_PARTS);
  }
  return any ? ok
             : add_reading(l, values[METRIC_TIME], values[METRIC_TYPE], 0, NAN);
}

/* The first of a GPU began nobody knows when. */
static bool add_sample(loader *l, llmprof_sample_row *row, llmprof_error *err) {
  row->start = l->last[row->device];
  l->last[row->device] = row->end;
  if (row->start == LLMPROF_ABSENT || row->start >= row->end) return true;
  for (int i = 0; i < LLMPROF_SAMPLED; i++) {
    if (isfinite(row->values[i]))
      return llmprof_builder_add_sample(l->builder, row, err);
  }
  return true;
}

/* The sample that begins with a reading; where the next begins. */
static size_t gather(const loader *l, size_t from, llmprof_sample_row *row) {
  const reading *first = &l->readings[from];
  *row = (llmprof_sample_row){.end = first->time, .device = first->device};
  for (int i = 0; i < LLMPROF_SAMPLED; i++) row->values[i] = NAN;
  size_t i = from;
  for (; i < l->count; i++) {
    const reading *r = &l->readings[i];
    if (r->time != first->time || r->device != first->device) break;
    row->values[r->of] = r->value;
  }
  return i;
}

/* The order of rows is not promised. */
static bool add_samples(loader *l, llmprof_error *err) {
  if (!l->sorted) qsort(l->readings, l->count, sizeof *l->readings, by_time);
  for (size_t i = 0; i < l->count;) {
    llmprof_sample_row row;
    i = gather(l, i, &row);
    if (!add_sample(l, &row, err)) return false;
  }
  return true;
}

/* In files that llmprof writes it is a view of the table of its own. */
static bool is_own_view(nsys_export *export, bool *answer, llmprof_error *err) {
  int own = llmprof_sqlite_has(export->db, NSYS_SAMPLES_TABLE, NULL, err);
  int rows = llmprof_sqlite_has(export->db, "GPU_METRICS", NULL, err);
  *answer = own > 0 && rows == 0;
  return own >= 0 && rows >= 0;
}

static bool load(nsys_export *export, loader *l, llmprof_error *err) {
  const llmprof_scan_spec names = {"TARGET_INFO_GPU_METRICS",
                                   COLUMNS("typeId", "metricId", "metricName"),
                                   2, 1};
  const llmprof_scan_spec rows = {
      "GPU_METRICS", COLUMNS("timestamp", "typeId", "metricId", "value"),
      METRIC_INTS, 1};
  const char *own_columns[METRIC_ID + LLMPROF_SAMPLED] = {"timestamp",
                                                          "typeId"};
  const llmprof_scan_spec own = {NSYS_SAMPLES_TABLE, own_columns,
                                 METRIC_ID + LLMPROF_SAMPLED, 0};
  bool has = false, has_own = false, view;
  memcpy(own_columns + METRIC_ID, nsys_sampled_columns,
         sizeof nsys_sampled_columns);
  for (size_t i = 0; i < SOURCES; i++) l->last[i] = LLMPROF_ABSENT;
  bool ok = is_own_view(export, &view, err) &&
            llmprof_scan_each(export->db, &names, take_metric, l, NULL, err) &&
            (view ||
             llmprof_scan_each(export->db, &rows, take_value, l, &has, err)) &&
            llmprof_scan_each(export->db, &own, take_row, l, &has_own, err) &&
            add_samples(l, err);
  if (ok && (has || has_own))
    llmprof_builder_recorded(l->builder, LLMPROF_TABLE_SAMPLES);
  return ok;
}

bool llmprof_nsys_load_samples(nsys_export *export, llmprof_builder *builder,
                               llmprof_error *err) {
  loader l = {.export = export, .builder = builder, .sorted = true};
  llmprof_intern_init_keyed(&l.metrics, sizeof(metric), 2 * sizeof(int64_t));
  bool ok = load(export, &l, err);
  llmprof_intern_free(&l.metrics);
  llmprof_free(l.readings);
  return ok;
}

/* Hardware samples of an export: GPU_METRICS has a row for each value of a
 * sample, which is told by its end. */
#include "nsys/nsys_samples.h"

#include <math.h>
#include <string.h>

#include "llmprof/alloc.h"
#include "nsys/nsys_internal.h"

const char *const nsys_sampled_names[LLMPROF_SAMPLED] = {
    [LLMPROF_SAMPLED_GPU] = "GR Active",
    [LLMPROF_SAMPLED_SM] = "SMs Active",
    [LLMPROF_SAMPLED_TENSOR] = "Tensor Active",
    [LLMPROF_SAMPLED_DRAM_READ] = "DRAM Read Bandwidth",
    [LLMPROF_SAMPLED_DRAM_WRITE] = "DRAM Write Bandwidth",
};

enum {
  MOST_METRICS = 256,
  SOURCES = NSYS_METRICS_GPU_MASK + 1, /* GPUs at most */
};

/* What a metric of a type of source stands for. */
typedef struct metric {
  int64_t type, id;
  llmprof_sampled value;
} metric;

typedef struct loader {
  llmprof_builder *builder;
  metric metrics[MOST_METRICS];
  size_t metric_count;
  int64_t last[SOURCES]; /* end of the sample before; ABSENT: none */
  llmprof_sample_row row;
  bool open;      /* row is being filled */
  bool has_value; /* it says something */
  llmprof_error why;
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
  llmprof_sampled value = name ? value_of(name, size) : LLMPROF_SAMPLED;
  if (value == LLMPROF_SAMPLED || l->metric_count == MOST_METRICS) return true;
  l->metrics[l->metric_count++] = (metric){values[0], values[1], value};
  return true;
}

static llmprof_sampled metric_value(const loader *l, int64_t type, int64_t id) {
  for (size_t i = 0; i < l->metric_count; i++) {
    if (l->metrics[i].type == type && l->metrics[i].id == id)
      return l->metrics[i].value;
  }
  return LLMPROF_SAMPLED;
}

/* ---- values ---- */

/* The first of a GPU began nobody knows when. */
static bool end_sample(loader *l) {
  if (!l->open) return true;
  l->open = false;
  l->row.start = l->last[l->row.device];
  l->last[l->row.device] = l->row.end;
  if (!l->has_value || l->row.start == LLMPROF_ABSENT ||
      l->row.start >= l->row.end)
    return true;
  return llmprof_builder_add_sample(l->builder, &l->row, &l->why);
}

static void begin_sample(loader *l, int64_t end, uint32_t device) {
  l->row.end = end;
  l->row.device = device;
  for (int i = 0; i < LLMPROF_SAMPLED; i++) l->row.values[i] = NAN;
  l->open = true;
  l->has_value = false;
}

enum {
  METRIC_TIME,
  METRIC_TYPE,
  METRIC_ID,
  METRIC_INTS
};

static bool take_value(void *user, const llmprof_scan *scan,
                       const int64_t *values) {
  loader *l = user;
  int64_t time = values[METRIC_TIME], type = values[METRIC_TYPE];
  llmprof_sampled value = metric_value(l, type, values[METRIC_ID]);
  if (value == LLMPROF_SAMPLED || time == LLMPROF_ABSENT) return true;
  uint32_t device = (uint32_t)(type & NSYS_METRICS_GPU_MASK);
  if (!l->open || l->row.end != time || l->row.device != device) {
    if (!end_sample(l)) return false;
    begin_sample(l, time, device);
  }
  l->row.values[value] = llmprof_scan_double(scan, 0);
  l->has_value = l->has_value || isfinite(l->row.values[value]);
  return true;
}

static bool load(nsys_export *export, loader *l, llmprof_error *err) {
  const llmprof_scan_spec names = {"TARGET_INFO_GPU_METRICS",
                                   COLUMNS("typeId", "metricId", "metricName"),
                                   2, 1};
  const llmprof_scan_spec rows = {
      "GPU_METRICS", COLUMNS("timestamp", "typeId", "metricId", "value"),
      METRIC_INTS, 1};
  bool has = false;
  for (size_t i = 0; i < SOURCES; i++) l->last[i] = LLMPROF_ABSENT;
  bool ok = llmprof_scan_each(export->db, &names, take_metric, l, NULL, err) &&
            llmprof_scan_each(export->db, &rows, take_value, l, &has, err) &&
            (end_sample(l) || llmprof_fail_nomem(err));
  if (l->why.code && err) *err = l->why;
  if (ok && has) llmprof_builder_recorded(l->builder, LLMPROF_TABLE_SAMPLES);
  return ok;
}

bool llmprof_nsys_load_samples(nsys_export *export, llmprof_builder *builder,
                               llmprof_error *err) {
  loader *l = llmprof_zalloc(1, sizeof *l);
  if (!l) return llmprof_fail_nomem(err);
  l->builder = builder;
  bool ok = load(export, l, err);
  llmprof_free(l);
  return ok;
}

#include "collector/metrics.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "collector/diagnose.h"
#include "collector/exits.h"
#include "collector/log.h"

static atomic_uint last_id;

/* What a result means, and what to do about it. */
typedef struct meaning {
  CUptiResult result;
  const char *code, *text;
} meaning;

#define ADMINISTRATOR                                                          \
  "only administrators may read counters here: run as root or with "           \
  "CAP_SYS_ADMIN, or load the driver with NVreg_RestrictProfilingToAdminUsers" \
  "=0"

static const meaning meanings[] = {
    {CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, "no_permission", ADMINISTRATOR},
    {CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES, "no_permission",
     "the host must let this virtual GPU be profiled"},
    {CUPTI_ERROR_HARDWARE_BUSY, "counters_busy",
     "another program has the counters: DCGM (`dcgmi profile --pause`) or a "
     "profiler"},
    {CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED, "no_counters",
     "a MIG instance has no counters for CUPTI, the whole GPU has"},
    {CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED, "no_counters",
     "a virtual GPU has no counters"},
    {CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED, "no_counters",
     "confidential computing shuts off counters"},
    {CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED, "no_counters",
     "this kind of GPU has no counters"},
};

bool metrics_ok(CUptiResult result, const char *what) {
  if (result == CUPTI_SUCCESS) return true;
  const char *name = cupti_result_name(result);
  for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
    if (meanings[i].result == result) {
      diagnose(SPOOL_ERROR, meanings[i].code, "%s (%s: %s)", meanings[i].text,
               what, name);
      return false;
    }
  diagnose(SPOOL_ERROR, "cupti", "%s failed: %s (%d)", what, name, (int)result);
  return false;
}

bool metrics_begin(void) {
  if (!cupti.cuptiProfilerInitialize || !cupti.cuptiProfilerHostInitialize) {
    diagnose(SPOOL_WARNING, "cupti_old",
             "this libcupti has no counters: 12.6 or later is needed");
    return false;
  }
  CUPTI_PARAMS(CUpti_Profiler_Initialize_Params, p);
  if (!METRICS_OK(cuptiProfilerInitialize, p)) return false;
  /* it loads libraries, whose own handlers must run after ours */
  exits_register();
  return true;
}

char *metrics_chip(size_t device) {
  CUPTI_PARAMS(CUpti_Device_GetChipName_Params, p);
  p.deviceIndex = device;
  if (!cupti.cuptiDeviceGetChipName || !METRICS_OK(cuptiDeviceGetChipName, p))
    return NULL;
  return strdup(p.pChipName);
}

static CUpti_Profiler_Host_Object *
new_host(CUpti_ProfilerType type, const char *chip, const uint8_t *available) {
  CUPTI_PARAMS(CUpti_Profiler_Host_Initialize_Params, p);
  p.profilerType = type;
  p.pChipName = chip;
  p.pCounterAvailabilityImage = available;
  return METRICS_OK(cuptiProfilerHostInitialize, p) ? p.pHostObject : NULL;
}

static void free_host(CUpti_Profiler_Host_Object *host) {
  CUPTI_PARAMS(CUpti_Profiler_Host_Deinitialize_Params, p);
  p.pHostObject = host;
  (void)cupti.cuptiProfilerHostDeinitialize(&p);
}

static CUptiResult add_metrics(CUpti_Profiler_Host_Object *host,
                               const char **names, size_t count) {
  CUPTI_PARAMS(CUpti_Profiler_Host_ConfigAddMetrics_Params, p);
  p.pHostObject = host;
  p.ppMetricNames = names;
  p.numMetrics = count;
  return cupti.cuptiProfilerHostConfigAddMetrics(&p);
}

/* A metric that the chip lacks would spoil the whole set. */
static bool is_known(CUpti_ProfilerType type, const char *chip,
                     const uint8_t *available, const char *name) {
  CUpti_Profiler_Host_Object *host = new_host(type, chip, available);
  if (!host) return false;
  bool known = add_metrics(host, &name, 1) == CUPTI_SUCCESS;
  free_host(host);
  return known;
}

static bool make_config(metric_set *set) {
  CUPTI_PARAMS(CUpti_Profiler_Host_GetConfigImageSize_Params, size);
  size.pHostObject = set->host;
  if (!METRICS_OK(cuptiProfilerHostGetConfigImageSize, size)) return false;
  set->config_size = size.configImageSize;
  set->config = calloc(1, set->config_size);
  if (!set->config) return false;
  CUPTI_PARAMS(CUpti_Profiler_Host_GetConfigImage_Params, image);
  image.pHostObject = set->host;
  image.configImageSize = set->config_size;
  image.pConfigImage = set->config;
  CUPTI_PARAMS(CUpti_Profiler_Host_GetNumOfPasses_Params, passes);
  passes.configImageSize = set->config_size;
  passes.pConfigImage = set->config;
  bool ok = METRICS_OK(cuptiProfilerHostGetConfigImage, image) &&
            METRICS_OK(cuptiProfilerHostGetNumOfPasses, passes);
  set->passes = passes.numOfPasses;
  return ok;
}

/* The metric as the spool has it: value is its number, the name follows. */
static void announce(uint32_t id, const char *name) {
  size_t size = strlen(name) + 1;
  log_entry *entry = log_reserve(LOG_METRIC, sizeof *entry + size);
  if (!entry) return;
  entry->value = id;
  memcpy(entry + 1, name, size);
  log_commit();
}

/* The first of the names, which have "|" between them, that the chip has,
 * copied; NULL: none, or no memory for it. */
static char *first_known(CUpti_ProfilerType type, const char *chip,
                         const uint8_t *available, const char *names) {
  for (const char *name = names;;) {
    size_t size = strcspn(name, "|");
    char *copy = strndup(name, size);
    if (copy && is_known(type, chip, available, copy)) return copy;
    free(copy);
    name += size;
    if (!name[0] || !name[1]) return NULL; /* "a|": it may be lacking */
    name++;
  }
}

/* Takes a name, which it owns from then on. */
static void put(metric_set *set, char *name) {
  set->ids[set->count] = atomic_fetch_add(&last_id, 1) + 1;
  announce(set->ids[set->count], name);
  set->names[set->count++] = name;
}

/* The first of each line, where the chip has all of these: asked at once, as
 * each question takes CUPTI milliseconds. */
static bool choose_first(metric_set *set, CUpti_ProfilerType type,
                         const char *chip, const uint8_t *available,
                         char *const names[], size_t count) {
  char *first[PLAN_METRICS] = {0};
  bool ok = count <= PLAN_METRICS;
  for (size_t i = 0; ok && i < count; i++) {
    first[i] = strndup(names[i], strcspn(names[i], "|"));
    ok = first[i] != NULL;
  }
  CUpti_Profiler_Host_Object *host =
      ok ? new_host(type, chip, available) : NULL;
  ok = host && add_metrics(host, (const char **)first, count) == CUPTI_SUCCESS;
  if (host) free_host(host);
  for (size_t i = 0; i < count && i < PLAN_METRICS; i++)
    if (ok)
      put(set, first[i]);
    else
      free(first[i]);
  return ok;
}

static void choose(metric_set *set, CUpti_ProfilerType type, const char *chip,
                   const uint8_t *available, char *const names[],
                   size_t count) {
  for (size_t i = 0; i < count && set->count < PLAN_METRICS; i++) {
    char *name = first_known(type, chip, available, names[i]);
    if (!name) {
      bool may_lack = names[i][strlen(names[i]) - 1] == '|';
      diagnose(may_lack ? SPOOL_INFO : SPOOL_WARNING, "metric_missing",
               "%s has no metric %s", chip, names[i]);
      continue;
    }
    put(set, name);
  }
}

/* The host object and its configuration, of the metrics that were chosen. */
static bool configure(metric_set *set, CUpti_ProfilerType type,
                      const char *chip, const uint8_t *available) {
  set->host = new_host(type, chip, available);
  return set->host &&
         metrics_ok(add_metrics(set->host, set->names, set->count),
                    "cuptiProfilerHostConfigAddMetrics") &&
         make_config(set);
}

/* Leaves the last metric out. */
static void drop_last(metric_set *set) {
  free_host(set->host);
  free(set->config);
  set->host = NULL;
  set->config = NULL;
  free((char *)set->names[--set->count]);
}

bool metrics_make(metric_set *set, CUpti_ProfilerType type, const char *chip,
                  const uint8_t *available, char *const names[], size_t count,
                  bool single) {
  *set = (metric_set){0};
  if (!choose_first(set, type, chip, available, names, count))
    choose(set, type, chip, available, names, count);
  if (set->count == 0) return false; /* there is nothing to free */
  bool ok = configure(set, type, chip, available);
  while (ok && single && set->passes > 1 && set->count > 1) {
    drop_last(set);
    ok = configure(set, type, chip, available);
  }
  if (!ok) metrics_free(set);
  return ok;
}

void metrics_free(metric_set *set) {
  if (set->host) free_host(set->host);
  for (size_t i = 0; i < set->count; i++) free((char *)set->names[i]);
  free(set->config);
  free(set->data);
  free(set->blank);
  *set = (metric_set){0};
}

bool metrics_evaluate(const metric_set *set, size_t index,
                      const char *const names[], size_t count, double *values) {
  CUPTI_PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues_Params, p);
  p.pHostObject = set->host;
  p.pCounterDataImage = set->data;
  p.counterDataImageSize = set->data_size;
  p.rangeIndex = index;
  p.ppMetricNames = (const char **)names;
  p.numMetrics = count;
  p.pMetricValues = values;
  return METRICS_OK(cuptiProfilerHostEvaluateToGpuValues, p);
}

bool metrics_values(const metric_set *set, size_t index, double *values) {
  return metrics_evaluate(set, index, set->names, set->count, values);
}

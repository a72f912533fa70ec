#include "collector/samples.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collector/clock.h"
#include "collector/diagnose.h"
#include "collector/guard.h"
#include "collector/metrics.h"
#include "collector/output.h"

/* One pass on GH100: front end, SMs, tensor pipe, DRAM. */
static const char *const default_metrics[] = {
    "FE_B.TriageCompute.gr__cycles_active.avg.pct_of_peak_sustained_elapsed",
    "TPC.TriageCompute.sm__cycles_active.avg.pct_of_peak_sustained_elapsed",
    "TPC.TriageCompute.sm__pipe_tensor_cycles_active_realtime.avg"
    ".pct_of_peak_sustained_elapsed",
    "FBSP.TriageCompute.dramc__read_throughput.avg"
    ".pct_of_peak_sustained_elapsed",
    "FBSP.TriageCompute.dramc__write_throughput.avg"
    ".pct_of_peak_sustained_elapsed",
};

enum {
  BATCH = 2048, /* samples that are decoded together */
  HARDWARE_BUFFER = 256 << 20,
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static metric_set set;
static CUpti_PmSampling_Object *sampler; /* NULL: not running */
static char *chip;
static uint32_t device_number;
static pthread_t thread;
static atomic_bool quit;
static atomic_bool wanted;   /* as soon as there is a context */
static atomic_int seen = -1; /* device of the last context that was created */

/* ---- set-up ---- */

static bool init_image(void) {
  CUPTI_PARAMS(CUpti_PmSampling_CounterDataImage_Initialize_Params, p);
  p.pPmSamplingObject = sampler;
  p.counterDataSize = set.data_size;
  p.pCounterData = set.data;
  return metrics_ok(cupti.cuptiPmSamplingCounterDataImageInitialize(&p),
                    "cuptiPmSamplingCounterDataImageInitialize");
}

static uint8_t *availability(void) {
  CUPTI_PARAMS(CUpti_PmSampling_GetCounterAvailability_Params, p);
  p.deviceIndex = device_number;
  if (!metrics_ok(cupti.cuptiPmSamplingGetCounterAvailability(&p),
                  "cuptiPmSamplingGetCounterAvailability"))
    return NULL;
  uint8_t *image = calloc(1, p.counterAvailabilityImageSize);
  if (!image) return NULL;
  p.pCounterAvailabilityImage = image;
  if (metrics_ok(cupti.cuptiPmSamplingGetCounterAvailability(&p),
                 "cuptiPmSamplingGetCounterAvailability"))
    return image;
  free(image);
  return NULL;
}

static bool make_set(void) {
  uint8_t *available = availability();
  bool own = the_plan.sample_metric_count > 0;
  bool ok = metrics_make(
      &set, CUPTI_PROFILER_TYPE_PM_SAMPLING, chip, available,
      own ? the_plan.sample_metrics : (char *const *)default_metrics,
      own ? the_plan.sample_metric_count
          : sizeof default_metrics / sizeof *default_metrics);
  free(available);
  if (!ok) return false;
  if (set.passes == 1) return true;
  diagnose(SPOOL_ERROR, "passes",
           "no samples: these metrics need %zu passes, samples have one",
           set.passes);
  metrics_free(&set);
  return false;
}

static bool set_config(void) {
  CUPTI_PARAMS(CUpti_PmSampling_SetConfig_Params, p);
  p.pPmSamplingObject = sampler;
  p.configSize = set.config_size;
  p.pConfig = set.config;
  p.hardwareBufferSize = HARDWARE_BUFFER;
  p.samplingInterval = UINT64_C(1000000000) / the_plan.samples_hz;
  p.triggerMode = CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL;
  p.hwBufferAppendMode =
      CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST;
  return metrics_ok(cupti.cuptiPmSamplingSetConfig(&p),
                    "cuptiPmSamplingSetConfig");
}

static bool make_image(void) {
  CUPTI_PARAMS(CUpti_PmSampling_GetCounterDataSize_Params, p);
  p.pPmSamplingObject = sampler;
  p.pMetricNames = (const char **)set.names;
  p.numMetrics = set.count;
  p.maxSamples = BATCH;
  if (!metrics_ok(cupti.cuptiPmSamplingGetCounterDataSize(&p),
                  "cuptiPmSamplingGetCounterDataSize"))
    return false;
  set.data_size = p.counterDataSize;
  set.data = calloc(1, set.data_size);
  return set.data && init_image();
}

static bool enable(void) {
  CUPTI_PARAMS(CUpti_PmSampling_Enable_Params, p);
  p.deviceIndex = device_number;
  if (!metrics_ok(cupti.cuptiPmSamplingEnable(&p), "cuptiPmSamplingEnable"))
    return false;
  sampler = p.pPmSamplingObject;
  return true;
}

static void disable(void) {
  if (!sampler) return;
  CUPTI_PARAMS(CUpti_PmSampling_Disable_Params, p);
  p.pPmSamplingObject = sampler;
  (void)cupti.cuptiPmSamplingDisable(&p);
  sampler = NULL;
}

static bool start_sampling(void) {
  CUPTI_PARAMS(CUpti_PmSampling_Start_Params, p);
  p.pPmSamplingObject = sampler;
  return metrics_ok(cupti.cuptiPmSamplingStart(&p), "cuptiPmSamplingStart");
}

/* ---- decoding ---- */

/* Many samples in one entry: `count` of sample_row follow. */
typedef struct samples_entry {
  log_entry entry; /* value: the device */
  uint32_t count;
  uint32_t values; /* of each sample */
  uint32_t ids[PLAN_METRICS];
} samples_entry;

typedef struct sample_row {
  int64_t start, end;
  double values[]; /* as many as there are metrics */
} sample_row;

enum {
  ROWS = 64 /* of an entry */
};

static size_t row_size(void) {
  return sizeof(sample_row) + set.count * sizeof(double);
}

/* CUPTI gives them on the clock of our timestamp callback. */
static bool sample_times(size_t index, sample_row *row) {
  CUPTI_PARAMS(CUpti_PmSampling_CounterData_GetSampleInfo_Params, p);
  p.pPmSamplingObject = sampler;
  p.pCounterDataImage = set.data;
  p.counterDataImageSize = set.data_size;
  p.sampleIndex = index;
  if (!metrics_ok(cupti.cuptiPmSamplingCounterDataGetSampleInfo(&p),
                  "cuptiPmSamplingCounterDataGetSampleInfo"))
    return false;
  row->start = (int64_t)p.startTimestamp;
  row->end = (int64_t)p.endTimestamp;
  return true;
}

/* Samples first .. first + count - 1 as one entry. */
static bool log_rows(size_t first, size_t count) {
  samples_entry *e = log_reserve(LOG_SAMPLE, sizeof *e + count * row_size());
  if (!e) return true; /* counted as dropped */
  e->entry.value = device_number;
  e->count = (uint32_t)count;
  e->values = (uint32_t)set.count;
  memcpy(e->ids, set.ids, sizeof e->ids);
  char *at = (char *)(e + 1);
  for (size_t i = 0; i < count; i++, at += row_size()) {
    sample_row *row = (void *)at;
    if (!sample_times(first + i, row) ||
        !metrics_values(&set, first + i, row->values))
      return false;
  }
  log_commit();
  return true;
}

static bool log_samples(size_t count) {
  for (size_t i = 0; i < count; i += ROWS)
    if (!log_rows(i, count - i < ROWS ? count - i : ROWS)) return false;
  return true;
}

typedef enum drained {
  DRAINED_ALL,
  DRAINED_SOME, /* the image was full: there is more */
  DRAINED_FAILED,
} drained;

static drained drain(void) {
  CUPTI_PARAMS(CUpti_PmSampling_DecodeData_Params, decode);
  decode.pPmSamplingObject = sampler;
  decode.pCounterDataImage = set.data;
  decode.counterDataImageSize = set.data_size;
  CUptiResult result = cupti.cuptiPmSamplingDecodeData(&decode);
  if (decode.overflow)
    diagnose(SPOOL_WARNING, "samples_overflow",
             "the GPU's buffer of samples was full: some are missing");
  if (result != CUPTI_ERROR_OUT_OF_MEMORY &&
      !metrics_ok(result, "cuptiPmSamplingDecodeData"))
    return DRAINED_FAILED;
  CUPTI_PARAMS(CUpti_PmSampling_GetCounterDataInfo_Params, info);
  info.pCounterDataImage = set.data;
  info.counterDataImageSize = set.data_size;
  if (!metrics_ok(cupti.cuptiPmSamplingGetCounterDataInfo(&info),
                  "cuptiPmSamplingGetCounterDataInfo") ||
      !log_samples(info.numCompletedSamples) || !init_image())
    return DRAINED_FAILED;
  return decode.decodeStopReason ==
                 CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL
             ? DRAINED_SOME
             : DRAINED_ALL;
}

static void *decode_all(void *unused) {
  (void)unused;
  (void)guard_enter();
  while (!atomic_load(&quit)) {
    drained how = drain();
    if (how == DRAINED_FAILED) return NULL;
    if (how == DRAINED_ALL)
      nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
  }
  return NULL;
}

static bool start_thread(void) {
  sigset_t all, before;
  sigfillset(&all);
  atomic_store(&quit, false);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = pthread_create(&thread, NULL, decode_all, NULL);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return error == 0;
}

/* ---- on and off ---- */

static void undo(void) {
  disable();
  metrics_free(&set);
  free(chip);
  chip = NULL;
}

static bool set_up(uint32_t device) {
  if (!cupti.cuptiPmSamplingEnable || !metrics_begin()) return false;
  device_number = device;
  chip = metrics_chip(device_number);
  return chip && make_set() && enable() && set_config() && make_image() &&
         start_sampling();
}

static void start_on(uint32_t device) {
  pthread_mutex_lock(&lock);
  bool entered = guard_enter();
  if (!sampler) {
    if (!set_up(device) || !start_thread()) {
      diagnose(SPOOL_WARNING, "no_samples", "no hardware samples");
      undo();
    }
  }
  if (entered) guard_leave();
  pthread_mutex_unlock(&lock);
}

/* Of this thread's context, or else of the last one that was created. */
static int device_of_context(void) {
  CUdevice device;
  if (driver_load() && driver.context_device(&device) == CUDA_SUCCESS)
    return device;
  return atomic_load(&seen);
}

void samples_start(void) {
  if (the_plan.samples_hz == 0 || !cupti.version) return;
  int device = device_of_context();
  if (device < 0)
    atomic_store(&wanted, true);
  else
    start_on((uint32_t)device);
}

void samples_device(uint32_t device) {
  atomic_store(&seen, (int)device);
  if (atomic_exchange(&wanted, false)) start_on(device);
}

static void stop_sampling(void) {
  CUPTI_PARAMS(CUpti_PmSampling_Stop_Params, p);
  p.pPmSamplingObject = sampler;
  if (metrics_ok(cupti.cuptiPmSamplingStop(&p), "cuptiPmSamplingStop"))
    while (drain() == DRAINED_SOME) {}
  undo();
}

void samples_stop(void) {
  atomic_store(&wanted, false);
  pthread_mutex_lock(&lock);
  if (sampler) {
    bool entered = guard_enter();
    atomic_store(&quit, true);
    pthread_join(thread, NULL);
    if (driver_alive()) stop_sampling();
    sampler = NULL;
    if (entered) guard_leave();
  }
  pthread_mutex_unlock(&lock);
}

void samples_context_gone(void) {
  samples_stop();
}

/* ---- for the writer ---- */

bool samples_write(const log_entry *entry) {
  if (entry->type != LOG_SAMPLE) return false;
  const samples_entry *e = (const void *)entry;
  const char *at = (const char *)(e + 1);
  size_t size = sizeof(sample_row) + e->values * sizeof(double);
  for (uint32_t i = 0; i < e->count; i++, at += size) {
    const sample_row *row = (const void *)at;
    spool_value out[PLAN_METRICS];
    for (uint32_t k = 0; k < e->values; k++)
      out[k] = (spool_value){.metric = e->ids[k], .value = row->values[k]};
    spool_sample record = {.start = row->start,
                           .end = row->end,
                           .device = entry->value,
                           .values = e->values};
    output_record(SPOOL_SAMPLE, &record, sizeof record, out,
                  e->values * sizeof *out);
  }
  return true;
}

void samples_forget(void) {
  pthread_mutex_init(&lock, NULL);
  sampler = NULL;
  set = (metric_set){0};
  atomic_store(&wanted, false);
  atomic_store(&seen, -1);
}

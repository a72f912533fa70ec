#include "collector/samples.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collector/clock.h"
#include "collector/diagnose.h"
#include "collector/guard.h"
#include "collector/metrics.h"
#include "collector/output.h"
#include "collector/threads.h"

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
  DEVICES = 64,
  BATCH = 2048, /* samples that are decoded together */
  HARDWARE_BUFFER = 256 << 20,
  NAP_NS = 50000000,
};

/* A GPU that is sampled. */
typedef struct sampler {
  uint32_t device;
  char *chip;
  metric_set set;
  CUpti_PmSampling_Object *object; /* NULL: not running */
  pthread_t thread;                /* decodes */
  sem_t woken;                     /* before it is time */
  atomic_bool quit;
} sampler;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sampler *samplers[DEVICES]; /* by device; NULL: not yet */
static bool failed[DEVICES];       /* said so, in this unit */
static atomic_bool on;             /* a unit is sampled */
static atomic_uint_fast64_t seen;  /* devices that had a context, a bit each */
static atomic_uint running;        /* samplers */
static atomic_int contexts[DEVICES];

/* ---- set-up ---- */

static bool init_image(sampler *s) {
  CUPTI_PARAMS(CUpti_PmSampling_CounterDataImage_Initialize_Params, p);
  p.pPmSamplingObject = s->object;
  p.counterDataSize = s->set.data_size;
  p.pCounterData = s->set.data;
  return METRICS_OK(cuptiPmSamplingCounterDataImageInitialize, p);
}

static uint8_t *availability(const sampler *s) {
  CUPTI_PARAMS(CUpti_PmSampling_GetCounterAvailability_Params, p);
  p.deviceIndex = s->device;
  if (!METRICS_OK(cuptiPmSamplingGetCounterAvailability, p)) return NULL;
  uint8_t *image = calloc(1, p.counterAvailabilityImageSize);
  if (!image) return NULL;
  p.pCounterAvailabilityImage = image;
  if (METRICS_OK(cuptiPmSamplingGetCounterAvailability, p)) return image;
  free(image);
  return NULL;
}

static bool make_set(sampler *s) {
  uint8_t *available = availability(s);
  bool own = the_plan.sample_metric_count > 0;
  bool ok = metrics_make(
      &s->set, CUPTI_PROFILER_TYPE_PM_SAMPLING, s->chip, available,
      own ? the_plan.sample_metrics : (char *const *)default_metrics,
      own ? the_plan.sample_metric_count
          : sizeof default_metrics / sizeof *default_metrics,
      false);
  free(available);
  if (!ok) return false;
  if (s->set.passes == 1) return true;
  diagnose(SPOOL_ERROR, "passes",
           "no samples: these metrics need %zu passes, samples have one",
           s->set.passes);
  metrics_free(&s->set);
  return false;
}

static bool set_config(sampler *s) {
  CUPTI_PARAMS(CUpti_PmSampling_SetConfig_Params, p);
  p.pPmSamplingObject = s->object;
  p.configSize = s->set.config_size;
  p.pConfig = s->set.config;
  p.hardwareBufferSize = HARDWARE_BUFFER;
  p.samplingInterval = UINT64_C(1000000000) / the_plan.samples_hz;
  p.triggerMode = CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL;
  p.hwBufferAppendMode =
      CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST;
  return METRICS_OK(cuptiPmSamplingSetConfig, p);
}

static bool make_image(sampler *s) {
  CUPTI_PARAMS(CUpti_PmSampling_GetCounterDataSize_Params, p);
  p.pPmSamplingObject = s->object;
  p.pMetricNames = (const char **)s->set.names;
  p.numMetrics = s->set.count;
  p.maxSamples = BATCH;
  if (!METRICS_OK(cuptiPmSamplingGetCounterDataSize, p)) return false;
  s->set.data_size = p.counterDataSize;
  s->set.data = calloc(1, s->set.data_size);
  return s->set.data && init_image(s);
}

static bool enable(sampler *s) {
  CUPTI_PARAMS(CUpti_PmSampling_Enable_Params, p);
  p.deviceIndex = s->device;
  if (!METRICS_OK(cuptiPmSamplingEnable, p)) return false;
  s->object = p.pPmSamplingObject;
  return true;
}

static void disable(sampler *s) {
  if (!s->object) return;
  CUPTI_PARAMS(CUpti_PmSampling_Disable_Params, p);
  p.pPmSamplingObject = s->object;
  (void)cupti.cuptiPmSamplingDisable(&p);
  s->object = NULL;
}

static bool start_sampling(sampler *s) {
  CUPTI_PARAMS(CUpti_PmSampling_Start_Params, p);
  p.pPmSamplingObject = s->object;
  return METRICS_OK(cuptiPmSamplingStart, p);
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

static size_t row_size(const sampler *s) {
  return sizeof(sample_row) + s->set.count * sizeof(double);
}

/* CUPTI gives them on the clock of our timestamp callback. */
static bool sample_times(const sampler *s, size_t index, sample_row *row) {
  CUPTI_PARAMS(CUpti_PmSampling_CounterData_GetSampleInfo_Params, p);
  p.pPmSamplingObject = s->object;
  p.pCounterDataImage = s->set.data;
  p.counterDataImageSize = s->set.data_size;
  p.sampleIndex = index;
  if (!METRICS_OK(cuptiPmSamplingCounterDataGetSampleInfo, p)) return false;
  row->start = (int64_t)p.startTimestamp;
  row->end = (int64_t)p.endTimestamp;
  return true;
}

/* Samples first .. first + count - 1 as one entry. */
static bool log_rows(const sampler *s, size_t first, size_t count) {
  samples_entry *e = log_reserve(LOG_SAMPLE, sizeof *e + count * row_size(s));
  if (!e) return true; /* counted as dropped */
  e->entry.value = s->device;
  e->count = (uint32_t)count;
  e->values = (uint32_t)s->set.count;
  memcpy(e->ids, s->set.ids, sizeof e->ids);
  char *at = (char *)(e + 1);
  for (size_t i = 0; i < count; i++, at += row_size(s)) {
    sample_row *row = (void *)at;
    if (!sample_times(s, first + i, row) ||
        !metrics_values(&s->set, first + i, row->values))
      return false;
  }
  log_commit();
  return true;
}

static bool log_samples(const sampler *s, size_t count) {
  for (size_t i = 0; i < count; i += ROWS)
    if (!log_rows(s, i, count - i < ROWS ? count - i : ROWS)) return false;
  return true;
}

typedef enum drained {
  DRAINED_ALL,
  DRAINED_SOME, /* the image was full: there is more */
  DRAINED_FAILED,
} drained;

static drained drain(sampler *s) {
  CUPTI_PARAMS(CUpti_PmSampling_DecodeData_Params, decode);
  decode.pPmSamplingObject = s->object;
  decode.pCounterDataImage = s->set.data;
  decode.counterDataImageSize = s->set.data_size;
  CUptiResult result = cupti.cuptiPmSamplingDecodeData(&decode);
  if (decode.overflow)
    diagnose(SPOOL_WARNING, "samples_overflow",
             "the GPU's buffer of samples was full: some are missing");
  if (result != CUPTI_ERROR_OUT_OF_MEMORY &&
      !metrics_ok(result, "cuptiPmSamplingDecodeData"))
    return DRAINED_FAILED;
  CUPTI_PARAMS(CUpti_PmSampling_GetCounterDataInfo_Params, info);
  info.pCounterDataImage = s->set.data;
  info.counterDataImageSize = s->set.data_size;
  if (!METRICS_OK(cuptiPmSamplingGetCounterDataInfo, info) ||
      !log_samples(s, info.numCompletedSamples) || !init_image(s))
    return DRAINED_FAILED;
  return decode.decodeStopReason ==
                 CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL
             ? DRAINED_SOME
             : DRAINED_ALL;
}

/* Until there is more to decode, or the end. */
static void nap(sampler *s) {
  int64_t until = clock_read(CLOCK_REALTIME) + NAP_NS;
  (void)sem_timedwait(&s->woken,
                      &(struct timespec){.tv_sec = until / 1000000000,
                                         .tv_nsec = until % 1000000000});
}

static void *decode_all(void *of) {
  sampler *s = of;
  (void)guard_enter();
  while (!atomic_load(&s->quit)) {
    drained how = drain(s);
    if (how == DRAINED_FAILED) return NULL;
    if (how == DRAINED_ALL) nap(s);
  }
  return NULL;
}

static bool start_thread(sampler *s) {
  atomic_store(&s->quit, false);
  sem_init(&s->woken, 0, 0);
  return threads_start_joined(&s->thread, decode_all, s);
}

/* ---- on and off ---- */

static void undo(sampler *s) {
  disable(s);
  metrics_free(&s->set);
  free(s->chip);
  s->chip = NULL;
}

static bool set_up(sampler *s) {
  if (!cupti.cuptiPmSamplingEnable || !metrics_begin()) return false;
  s->chip = metrics_chip(s->device);
  return s->chip && make_set(s) && enable(s) && set_config(s) &&
         make_image(s) && start_sampling(s);
}

/* With the lock; NULL: no memory. */
static sampler *sampler_of(uint32_t device) {
  if (!samplers[device]) {
    samplers[device] = calloc(1, sizeof *samplers[device]);
    if (samplers[device]) samplers[device]->device = device;
  }
  return samplers[device];
}

/* With the lock. */
static void start_sampler(uint32_t device) {
  sampler *s = sampler_of(device);
  if ((s && s->object) || failed[device]) return;
  if (s && set_up(s) && start_thread(s)) {
    atomic_fetch_add(&running, 1);
    return;
  }
  failed[device] = true;
  diagnose(SPOOL_WARNING, "no_samples", "no hardware samples of GPU %u",
           (unsigned)device);
  if (s) undo(s);
}

static void start_all(void) {
  pthread_mutex_lock(&lock);
  bool entered = guard_enter();
  uint64_t devices = atomic_load(&seen);
  for (uint32_t i = 0; i < DEVICES; i++)
    if (atomic_load(&on) && devices >> i & 1) start_sampler(i);
  if (entered) guard_leave();
  pthread_mutex_unlock(&lock);
}

static void see(uint32_t device) {
  if (device < DEVICES) atomic_fetch_or(&seen, UINT64_C(1) << device);
}

void samples_start(void) {
  CUdevice device;
  if (the_plan.samples_hz == 0 || !cupti.version) return;
  if (driver_load() && driver.cuCtxGetDevice(&device) == CUDA_SUCCESS)
    see((uint32_t)device);
  atomic_store(&on, true);
  start_all();
}

void samples_device(uint32_t device) {
  see(device);
  if (atomic_load(&on)) start_all();
}

static void stop_sampling(sampler *s) {
  CUPTI_PARAMS(CUpti_PmSampling_Stop_Params, p);
  p.pPmSamplingObject = s->object;
  if (METRICS_OK(cuptiPmSamplingStop, p))
    while (drain(s) == DRAINED_SOME) {}
  undo(s);
}

static bool is_running(uint64_t devices, size_t device) {
  return devices >> device & 1 && samplers[device] && samplers[device]->object;
}

/* With the lock: their threads end side by side. */
static void stop_threads(uint64_t devices) {
  for (size_t i = 0; i < DEVICES; i++)
    if (is_running(devices, i)) {
      atomic_store(&samplers[i]->quit, true);
      (void)sem_post(&samplers[i]->woken);
    }
  for (size_t i = 0; i < DEVICES; i++)
    if (is_running(devices, i)) pthread_join(samplers[i]->thread, NULL);
}

/* Those of the devices with a bit. */
static void stop_on(uint64_t devices) {
  pthread_mutex_lock(&lock);
  bool entered = guard_enter();
  bool alive = atomic_load(&running) > 0 && driver_alive();
  stop_threads(devices);
  for (size_t i = 0; i < DEVICES; i++) {
    sampler *s = samplers[i];
    if (!(devices >> i & 1)) continue;
    failed[i] = false;
    if (!s || !s->object) continue;
    if (alive) stop_sampling(s);
    s->object = NULL;
    atomic_fetch_sub(&running, 1);
  }
  if (entered) guard_leave();
  pthread_mutex_unlock(&lock);
}

void samples_stop(void) {
  atomic_store(&on, false);
  stop_on(UINT64_MAX);
}

void samples_context(uint32_t device, bool created) {
  if (device >= DEVICES) { /* not known */
    if (!created) stop_on(UINT64_MAX);
  } else if (created) {
    see(device);
    atomic_fetch_add(&contexts[device], 1);
  } else if (atomic_fetch_sub(&contexts[device], 1) <= 1) {
    atomic_fetch_and(&seen, ~(UINT64_C(1) << device));
    stop_on(UINT64_C(1) << device);
  }
}

void samples_unseen(void) {
  atomic_store(&seen, 0);
  for (size_t i = 0; i < DEVICES; i++) atomic_store(&contexts[i], 0);
}

unsigned samples_threads(void) {
  return atomic_load(&running);
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
  memset(samplers, 0, sizeof samplers); /* the parent's */
  memset(failed, 0, sizeof failed);
  atomic_store(&on, false);
  atomic_store(&seen, 0);
  atomic_store(&running, 0);
  memset(contexts, 0, sizeof contexts);
}

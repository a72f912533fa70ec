/* A stand-in for libcupti: it delivers a record of each launch, callbacks,
 * values of metrics and samples, as the real one does, without a GPU.
 * STANDIN_FAIL="FUNCTION=CODE" makes a function fail. */
#include <cupti.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "standin.h"

enum {
  CBIDS = 1024,
  METRICS = 64,
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic CUpti_CallbackFunc callback;
static atomic_bool enabled[CBIDS]; /* callbacks of the driver's calls */
static atomic_bool runtime_on;     /* of cudaLaunchKernel */
static atomic_bool kernels_on;
static atomic_bool nodes_on; /* callbacks of nodes of graphs */
static bool older_graphs;    /* than the subscription */
static CUpti_BuffersCallbackRequestFunc request_buffer;
static CUpti_BuffersCallbackCompleteFunc complete_buffer;
static CUpti_TimestampCallbackFunc timestamp;
static uint8_t *buffer;
static size_t buffer_size, buffer_used;
static size_t dropped;
static atomic_uint correlation;

/* The range profiler of each context. */
static struct {
  atomic_uint ranges; /* that it has seen since its start */
  atomic_bool user;   /* they are pushed */
  atomic_uint kinds; /* of ranges since it was enabled: 1 automatic, 2 pushed */
  atomic_uint metrics; /* of the set that it had first since then; 0: none */
  /* what was pushed since it was configured: names, which are numbers, and
   * passes of each; the last one; the current pass, and how many there are */
  unsigned names[8], passes_of[8], named, last, pass, passes;
} profilers[STANDIN_DEVICES];

/* The result that the environment wants of a function. */
static CUptiResult result_of(const char *function) {
  const char *fail = getenv("STANDIN_FAIL");
  size_t size = strlen(function);
  if (!fail || strncmp(fail, function, size) != 0 || fail[size] != '=')
    return CUPTI_SUCCESS;
  return (CUptiResult)atoi(fail + size + 1);
}

#define MAY_FAIL()                                \
  do {                                            \
    CUptiResult result_ = result_of(__func__);    \
    if (result_ != CUPTI_SUCCESS) return result_; \
  } while (0)

/* ---- buffers ---- */

/* With the lock: hand over the buffer. */
static void complete(void) {
  if (!buffer) return;
  complete_buffer(NULL, 0, buffer, buffer_size, buffer_used);
  buffer = NULL;
}

/* With the lock. */
static void add_record(const void *record, size_t size) {
  if (buffer && buffer_used + size > buffer_size) complete();
  if (!buffer) {
    size_t most = 0;
    buffer_used = 0;
    request_buffer(&buffer, &buffer_size, &most);
  }
  if (!buffer) {
    dropped++;
    return;
  }
  memcpy(buffer + buffer_used, record, size);
  buffer_used += size;
}

static uint64_t now(void) {
  return timestamp ? timestamp() : 1;
}

static uint64_t ticks(void) {
  static atomic_uint_fast64_t ticked;
  return now() + atomic_fetch_add(&ticked, 1) % 2;
}

static void add_kernel(const standin_launch *l, uint32_t id, uint32_t graph,
                       uint64_t node) {
  CUpti_ActivityKernel10 k = {
      .kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
      .registersPerThread = 32,
      .start = ticks(),
      .gridX = (int32_t)l->grid[0],
      .gridY = (int32_t)l->grid[1],
      .gridZ = (int32_t)l->grid[2],
      .blockX = (int32_t)l->block[0],
      .blockY = (int32_t)l->block[1],
      .blockZ = (int32_t)l->block[2],
      .dynamicSharedMemory = (int32_t)l->shared,
      .correlationId = id,
      .deviceId = standin_device(standin_context()),
      .contextId = standin_device(standin_context()) + 1,
      .streamId = 7,
      .graphId = graph,
      .graphNodeId = node,
      .name = l->kernel->name,
  };
  k.end = k.start + 1000;
  add_record(&k, sizeof k);
}

/* ---- what happens in the driver ---- */

static void tell(uint32_t cbid, bool enters, const char *name,
                 const void *params, uint32_t id) {
  static _Thread_local uint64_t kept[CBIDS];
  if (enters) kept[cbid] = 0;
  CUpti_CallbackData data = {
      .correlationData = &kept[cbid],
      .callbackSite = enters ? CUPTI_API_ENTER : CUPTI_API_EXIT,
      .functionParams = params,
      .symbolName = name,
      .context = standin_context(),
      .contextUid = standin_device(standin_context()) + 1,
      .correlationId = id,
  };
  static _Thread_local bool told[CBIDS];
  CUpti_CallbackFunc told_to = atomic_load(&callback);
  bool comes = told_to && atomic_load(&enabled[cbid]);
  /* All later calls of the thread would have this one's number. */
  if (!enters && told[cbid] && !comes) abort();
  told[cbid] = enters && comes;
  if (comes) told_to(NULL, CUPTI_CB_DOMAIN_DRIVER_API, cbid, &data);
}

/* The call of the runtime that every second launch comes from. */
static void tell_runtime(bool enters, uint32_t id) {
  static _Thread_local uint64_t kept;
  static const uint32_t result = 0;
  if (enters) kept = 0;
  CUpti_CallbackData data = {
      .correlationData = &kept,
      .callbackSite = enters ? CUPTI_API_ENTER : CUPTI_API_EXIT,
      .functionReturnValue = (void *)(uintptr_t)&result,
      .correlationId = id,
  };
  CUpti_CallbackFunc told_to = atomic_load(&callback);
  if (told_to && atomic_load(&runtime_on) && id % 2)
    told_to(NULL, CUPTI_CB_DOMAIN_RUNTIME_API,
            CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, &data);
}

static void tell_launch(uint32_t cbid, bool enters, const standin_launch *l,
                        uint32_t id) {
  const cuLaunchKernel_params p = {
      .gridDimX = l->grid[0],
      .gridDimY = l->grid[1],
      .gridDimZ = l->grid[2],
      .blockDimX = l->block[0],
      .blockDimY = l->block[1],
      .blockDimZ = l->block[2],
      .sharedMemBytes = l->shared,
  };
  tell(cbid, enters, l->kernel->name, &p, id);
}

/* An automatic range for each launch; none for kernels of graphs. */
static void count_range(void) {
  unsigned device = standin_device(standin_context());
  if (!atomic_load(&profilers[device].user))
    atomic_fetch_add(&profilers[device].ranges, 1);
}

static void on_launch(const standin_launch *l, bool enters) {
  static _Thread_local uint32_t id;
  uint32_t cbid = CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel;
  if (enters) id = atomic_fetch_add(&correlation, 1) + 1;
  if (enters) tell_runtime(true, id);
  if (!enters) count_range();
  tell_launch(cbid, enters, l, id);
  if (enters) return;
  pthread_mutex_lock(&lock);
  if (atomic_load(&kernels_on)) add_kernel(l, id, 0, 0);
  pthread_mutex_unlock(&lock);
  tell_runtime(false, id);
}

static void on_graph(const standin_graph *g, bool enters) {
  static _Thread_local uint32_t id;
  const cuGraphLaunch_params p = {.hGraph = (CUgraphExec)(void *)(uintptr_t)g};
  if (enters) id = atomic_fetch_add(&correlation, 1) + 1;
  tell(CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, enters, NULL, &p, id);
  if (enters) return;
  pthread_mutex_lock(&lock);
  for (unsigned i = 0; atomic_load(&kernels_on) && i < g->count; i++) {
    const standin_launch l = {g->kernels[i], {16, 1, 1}, {64, 1, 1}, 0};
    add_kernel(&l, id, g->number,
               g->nodes[i].id ? g->nodes[i].id : g->number * 100);
  }
  pthread_mutex_unlock(&lock);
}

static void on_node(const standin_node *node, const standin_node *original) {
  CUpti_GraphData graph = {.node = (void *)(uintptr_t)node,
                           .originalNode = (void *)(uintptr_t)original};
  CUpti_ResourceData data = {.context = standin_context(),
                             .resourceDescriptor = &graph};
  CUpti_CallbackFunc told_to = atomic_load(&callback);
  if (told_to && atomic_load(&nodes_on))
    told_to(NULL, CUPTI_CB_DOMAIN_RESOURCE,
            original ? CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED
                     : CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
            &data);
}

static void on_profiler(bool starts, bool enters) {
  tell(starts ? CUPTI_DRIVER_TRACE_CBID_cuProfilerStart
              : CUPTI_DRIVER_TRACE_CBID_cuProfilerStop,
       enters, NULL, NULL, 0);
}

static void on_wait(CUstream stream, bool enters) {
  const cuStreamSynchronize_params p = {.hStream = stream};
  tell(CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize, enters, NULL, &p, 0);
}

static void on_context(CUcontext context, bool created) {
  CUpti_ResourceData data = {.context = context};
  CUpti_CallbackFunc told_to = atomic_load(&callback);
  if (told_to)
    told_to(NULL, CUPTI_CB_DOMAIN_RESOURCE,
            created ? CUPTI_CBID_RESOURCE_CONTEXT_CREATED
                    : CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING,
            &data);
}

__attribute__((constructor)) static void hook(void) {
  standin.launch = on_launch;
  standin.graph = on_graph;
  standin.node = on_node;
  standin.profiler = on_profiler;
  standin.context = on_context;
  standin.wait = on_wait;
}

/* ---- general ---- */

CUptiResult cuptiGetVersion(uint32_t *version) {
  *version = 130001;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char **text) {
  *text = result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES
              ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"
              : "CUPTI_ERROR_STANDIN";
  return CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *out, CUpti_CallbackFunc f,
                           void *user) {
  MAY_FAIL();
  if (callback) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  callback = f;
  older_graphs = standin.graphs > 0;
  for (size_t i = 0; i < CBIDS; i++) atomic_store(&enabled[i], false);
  atomic_store(&runtime_on, false);
  *out = (CUpti_SubscriberHandle)(void *)&callback;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle *out, CUpti_CallbackFunc f,
                              void *user, CUpti_SubscriberParams *p) {
  CUptiResult result = result_of(__func__);
  if (result != CUPTI_SUCCESS) {
    snprintf(p->oldSubscriberName, p->oldSubscriberSize, "CUPTI-SUB-other");
    return result;
  }
  if (callback && p->oldSubscriberName)
    snprintf(p->oldSubscriberName, p->oldSubscriberSize, "CUPTI-SUB-other");
  return cuptiSubscribe(out, f, user);
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber) {
  callback = NULL;
  pthread_mutex_lock(&lock);
  if (buffer) abort(); /* the next client's records would go there */
  pthread_mutex_unlock(&lock);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableCallback(uint32_t on, CUpti_SubscriberHandle subscriber,
                                CUpti_CallbackDomain domain,
                                CUpti_CallbackId id) {
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API && id < CBIDS)
    atomic_store(&enabled[id], on != 0);
  if (domain == CUPTI_CB_DOMAIN_RUNTIME_API &&
      id == CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000)
    atomic_store(&runtime_on, on != 0);
  if (domain == CUPTI_CB_DOMAIN_RESOURCE &&
      id == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED)
    atomic_store(&nodes_on, on != 0);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t id,
                                 const char **name) {
  *name = NULL;
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API &&
      id == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel)
    *name = "cuLaunchKernel";
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API &&
      id == CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch)
    *name = "cuGraphLaunch";
  if (domain == CUPTI_CB_DOMAIN_RUNTIME_API &&
      id == CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000)
    *name = "cudaLaunchKernel_v7000";
  if (!*name && id < CBIDS) *name = "cuOther";
  return *name ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t *id) {
  *id = standin_device(context);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetGraphExecId(CUgraphExec graph, uint32_t *id) {
  const standin_graph *g = (const void *)graph;
  *id = g->number;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t *id) {
  const standin_node *n = (const void *)node;
  *id = n->id;
  return CUPTI_SUCCESS;
}

/* ---- activity ---- */

CUptiResult
cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                               CUpti_BuffersCallbackCompleteFunc done) {
  MAY_FAIL();
  request_buffer = request;
  complete_buffer = done;
  return CUPTI_SUCCESS;
}

CUptiResult
cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc f) {
  timestamp = f;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  MAY_FAIL();
  if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
    atomic_store(&kernels_on, true);
  if (kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE && older_graphs)
    abort(); /* the real one ends by SIGSEGV */
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
    atomic_store(&kernels_on, false);
  return CUPTI_SUCCESS;
}

/* STANDIN_LATE: a thread launches one more before kernels are switched off. */
CUptiResult cuptiActivityFlushAll(uint32_t flag) {
  static const standin_kernel kernel = {"_Z4latev"};
  const standin_launch late = {&kernel, {1, 1, 1}, {1, 1, 1}, 0};
  pthread_mutex_lock(&lock);
  if (flag && atomic_load(&kernels_on) && getenv("STANDIN_LATE"))
    add_kernel(&late, atomic_fetch_add(&correlation, 1) + 1, 0, 0);
  complete();
  pthread_mutex_unlock(&lock);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context,
                                              uint32_t stream, size_t *count) {
  pthread_mutex_lock(&lock);
  *count = dropped;
  dropped = 0;
  pthread_mutex_unlock(&lock);
  return CUPTI_SUCCESS;
}

static size_t size_of(const CUpti_Activity *record) {
  return record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
             ? sizeof(CUpti_ActivityKernel10)
             : sizeof(CUpti_ActivityAPI);
}

CUptiResult cuptiActivityGetNextRecord(uint8_t *bytes, size_t valid,
                                       CUpti_Activity **record) {
  uint8_t *next = *record ? (uint8_t *)*record + size_of(*record) : bytes;
  if (next >= bytes + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = (CUpti_Activity *)(void *)next;
  return CUPTI_SUCCESS;
}

/* ---- metrics ---- */

/* Functions that need only succeed. */
#define SUCCEEDS(name, params)  \
  CUptiResult name(params *p) { \
    MAY_FAIL();                 \
    return CUPTI_SUCCESS;       \
  }
SUCCEEDS(cuptiProfilerInitialize, CUpti_Profiler_Initialize_Params)
SUCCEEDS(cuptiProfilerHostDeinitialize, CUpti_Profiler_Host_Deinitialize_Params)
SUCCEEDS(cuptiProfilerHostGetConfigImage,
         CUpti_Profiler_Host_GetConfigImage_Params)
SUCCEEDS(cuptiRangeProfilerDisable, CUpti_RangeProfiler_Disable_Params)
SUCCEEDS(cuptiRangeProfilerDecodeData, CUpti_RangeProfiler_DecodeData_Params)
SUCCEEDS(cuptiPmSamplingDisable, CUpti_PmSampling_Disable_Params)
SUCCEEDS(cuptiPmSamplingSetConfig, CUpti_PmSampling_SetConfig_Params)
SUCCEEDS(cuptiPmSamplingStart, CUpti_PmSampling_Start_Params)
SUCCEEDS(cuptiPmSamplingStop, CUpti_PmSampling_Stop_Params)

CUptiResult cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params *p) {
  MAY_FAIL();
  p->pChipName = "GH100";
  return CUPTI_SUCCESS;
}

/* The pass that a metric is of: "one" of the first, "one_pass2" of the third.
 */
static unsigned pass_of(const char *metric) {
  const char *at = strstr(metric, "pass");
  return at ? (unsigned)atoi(at + 4) : 0;
}

static atomic_uint host_passes; /* of the host object that was made last */

CUptiResult
cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params *p) {
  MAY_FAIL();
  atomic_store(&host_passes, 1);
  p->pHostObject = (void *)&callback;
  return CUPTI_SUCCESS;
}

/* One that is called "missing" is not of this chip. */
CUptiResult cuptiProfilerHostConfigAddMetrics(
    CUpti_Profiler_Host_ConfigAddMetrics_Params *p) {
  MAY_FAIL();
  for (size_t i = 0; i < p->numMetrics; i++)
    if (strstr(p->ppMetricNames[i], "missing"))
      return CUPTI_ERROR_INVALID_METRIC_NAME;
  for (size_t i = 0; i < p->numMetrics; i++) {
    unsigned passes = pass_of(p->ppMetricNames[i]) + 1;
    if (passes > atomic_load(&host_passes)) atomic_store(&host_passes, passes);
  }
  return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostGetConfigImageSize(
    CUpti_Profiler_Host_GetConfigImageSize_Params *p) {
  MAY_FAIL();
  p->configImageSize = 64;
  return CUPTI_SUCCESS;
}

CUptiResult
cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params *p) {
  MAY_FAIL();
  const char *passes = getenv("STANDIN_PASSES");
  p->numOfPasses =
      passes ? (size_t)atoi(passes) : (size_t)atomic_load(&host_passes);
  return CUPTI_SUCCESS;
}

static double value_of(const char *metric, size_t at, size_t range) {
  if (strstr(metric, ".peak_sustained")) return 2;
  if (strstr(metric, "cycles_elapsed")) return 100;
  return 1000.0 * (double)(at + 1) + (double)range;
}

static bool has_pass(unsigned whose, size_t range, const char *metric) {
  return !atomic_load(&profilers[whose].user) ||
         profilers[whose].passes_of[range] >> pass_of(metric) & 1;
}

/* One that is called "fails" has none; an image that was made for others has no
 * number, nor has what a pass measures that the range had not. */
CUptiResult cuptiProfilerHostEvaluateToGpuValues(
    CUpti_Profiler_Host_EvaluateToGpuValues_Params *p) {
  MAY_FAIL();
  for (size_t i = 0; i < p->numMetrics; i++)
    if (strstr(p->ppMetricNames[i], "fails")) return CUPTI_ERROR_UNKNOWN;
  const uint8_t *image = p->pCounterDataImage;
  bool other = image[1] && image[1] != p->numMetrics && p->numMetrics != 2;
  for (size_t i = 0; i < p->numMetrics; i++)
    p->pMetricValues[i] =
        other || !has_pass(image[0], p->rangeIndex, p->ppMetricNames[i])
            ? NAN
            : value_of(p->ppMetricNames[i], i, p->rangeIndex);
  return CUPTI_SUCCESS;
}

/* ---- range profiler ---- */

CUptiResult cuptiRangeProfilerEnable(CUpti_RangeProfiler_Enable_Params *p) {
  MAY_FAIL();
  unsigned device = standin_device(p->ctx);
  atomic_store(&profilers[device].kinds, 0);
  atomic_store(&profilers[device].metrics, 0);
  p->pRangeProfilerObject = (void *)&profilers[device];
  return CUPTI_SUCCESS;
}

static unsigned profiler_of(const CUpti_RangeProfiler_Object *object) {
  for (unsigned i = 0; i < STANDIN_DEVICES; i++)
    if ((const void *)&profilers[i] == (const void *)object) return i;
  abort();
}

CUptiResult
cuptiRangeProfilerSetConfig(CUpti_RangeProfiler_SetConfig_Params *p) {
  MAY_FAIL();
  unsigned whose = profiler_of(p->pRangeProfilerObject);
  bool user = p->range == CUPTI_UserRange;
  atomic_store(&profilers[whose].user, user);
  atomic_fetch_or(&profilers[whose].kinds, user ? 2 : 1);
  profilers[whose].named = profilers[whose].pass = 0;
  profilers[whose].passes = atomic_load(&host_passes);
  return CUPTI_SUCCESS;
}

/* An image knows whose it is, and for how many metrics. */
CUptiResult cuptiRangeProfilerCounterDataImageInitialize(
    CUpti_RangeProfiler_CounterDataImage_Initialize_Params *p) {
  MAY_FAIL();
  unsigned whose = profiler_of(p->pRangeProfilerObject);
  p->pCounterData[0] = (uint8_t)whose;
  p->pCounterData[1] = (uint8_t)atomic_load(&profilers[whose].metrics);
  return CUPTI_SUCCESS;
}

/* As the real one it refuses ranges of a profiler that had automatic ones, and
 * has what is of one name together. */
CUptiResult
cuptiRangeProfilerPushRange(CUpti_RangeProfiler_PushRange_Params *p) {
  MAY_FAIL();
  unsigned whose = profiler_of(p->pRangeProfilerObject);
  unsigned name = (unsigned)atoi(p->pRangeName), at = 0;
  if (atomic_load(&profilers[whose].kinds) != 2)
    return CUPTI_ERROR_INVALID_PARAMETER;
  while (at < profilers[whose].named && profilers[whose].names[at] != name)
    at++;
  if (at == 8) abort();
  if (at == profilers[whose].named) {
    profilers[whose].named++;
    profilers[whose].names[at] = name;
    profilers[whose].passes_of[at] = 0;
  }
  profilers[whose].last = at;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerPopRange(CUpti_RangeProfiler_PopRange_Params *p) {
  MAY_FAIL();
  unsigned whose = profiler_of(p->pRangeProfilerObject);
  unsigned pass = 1u << profilers[whose].pass;
  unsigned *had = &profilers[whose].passes_of[profilers[whose].last];
  if (*had & pass) abort(); /* the real one would add them up */
  *had |= pass;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerCounterDataGetRangeInfo(
    CUpti_RangeProfiler_CounterData_GetRangeInfo_Params *p) {
  static _Thread_local char name[16];
  MAY_FAIL();
  (void)snprintf(name, sizeof name, "%u",
                 profilers[p->pCounterDataImage[0]].names[p->rangeIndex]);
  p->rangeName = name;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerGetCounterDataSize(
    CUpti_RangeProfiler_GetCounterDataSize_Params *p) {
  MAY_FAIL();
  atomic_uint *has = &profilers[profiler_of(p->pRangeProfilerObject)].metrics;
  if (atomic_load(has) == 0) atomic_store(has, (unsigned)p->numMetrics);
  p->counterDataSize = 64;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerStart(CUpti_RangeProfiler_Start_Params *p) {
  MAY_FAIL();
  atomic_store(&profilers[profiler_of(p->pRangeProfilerObject)].ranges, 0);
  return CUPTI_SUCCESS;
}

/* It takes its time where the environment says so, in ms. */
CUptiResult cuptiRangeProfilerStop(CUpti_RangeProfiler_Stop_Params *p) {
  MAY_FAIL();
  unsigned whose = profiler_of(p->pRangeProfilerObject);
  profilers[whose].pass = (profilers[whose].pass + 1) % profilers[whose].passes;
  const char *slow = getenv("STANDIN_SLOW_STOP");
  if (slow) usleep((useconds_t)atoi(slow) * 1000);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerGetCounterDataInfo(
    CUpti_RangeProfiler_GetCounterDataInfo_Params *p) {
  MAY_FAIL();
  const char *none = getenv("STANDIN_NO_DATA");
  unsigned whose = p->pCounterDataImage[0];
  bool user = atomic_load(&profilers[whose].user);
  p->numTotalRanges = none && user ? 0
                      : user       ? profilers[whose].named
                                   : atomic_load(&profilers[whose].ranges);
  return CUPTI_SUCCESS;
}

/* ---- samples ---- */

static atomic_uint sampled[STANDIN_DEVICES];
static _Thread_local const void *looked_at; /* whose samples were decoded */

static atomic_uint *samples_of(CUpti_PmSampling_Object *object) {
  return (void *)object;
}

CUptiResult cuptiPmSamplingEnable(CUpti_PmSampling_Enable_Params *p) {
  MAY_FAIL();
  if (p->deviceIndex >= STANDIN_DEVICES) return CUPTI_ERROR_INVALID_DEVICE;
  p->pPmSamplingObject = (void *)&sampled[p->deviceIndex];
  return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingGetCounterAvailability(
    CUpti_PmSampling_GetCounterAvailability_Params *p) {
  MAY_FAIL();
  p->counterAvailabilityImageSize = 64;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingGetCounterDataSize(
    CUpti_PmSampling_GetCounterDataSize_Params *p) {
  MAY_FAIL();
  p->counterDataSize = 64;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingCounterDataImageInitialize(
    CUpti_PmSampling_CounterDataImage_Initialize_Params *p) {
  MAY_FAIL();
  atomic_store(samples_of(p->pPmSamplingObject), 0);
  return CUPTI_SUCCESS;
}

/* Ten samples each time. */
CUptiResult cuptiPmSamplingDecodeData(CUpti_PmSampling_DecodeData_Params *p) {
  MAY_FAIL();
  looked_at = p->pPmSamplingObject;
  atomic_store(samples_of(p->pPmSamplingObject), 10);
  p->decodeStopReason = CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingGetCounterDataInfo(
    CUpti_PmSampling_GetCounterDataInfo_Params *p) {
  MAY_FAIL();
  p->numCompletedSamples = atomic_load((const atomic_uint *)looked_at);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiPmSamplingCounterDataGetSampleInfo(
    CUpti_PmSampling_CounterData_GetSampleInfo_Params *p) {
  MAY_FAIL();
  p->startTimestamp = now();
  p->endTimestamp = p->startTimestamp + 100000;
  return CUPTI_SUCCESS;
}

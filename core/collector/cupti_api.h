/* Functions of libcupti and libcuda, looked up by name: those of the libcupti
 * that the program has loaded, else of the toolkit's. Nothing is linked, so
 * that one library serves CUPTI 12.0 and later; what an older one lacks is
 * NULL. */
#ifndef LLMPROF_COLLECTOR_CUPTI_API_H
#define LLMPROF_COLLECTOR_CUPTI_API_H

#include <cupti.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#include <stdbool.h>

/* Without these nothing can be recorded. */
#define CUPTI_NEEDED(X)                \
  X(cuptiGetVersion)                   \
  X(cuptiGetResultString)              \
  X(cuptiSubscribe)                    \
  X(cuptiUnsubscribe)                  \
  X(cuptiEnableCallback)               \
  X(cuptiGetCallbackName)              \
  X(cuptiActivityRegisterCallbacks)    \
  X(cuptiActivityGetNextRecord)        \
  X(cuptiActivityGetNumDroppedRecords) \
  X(cuptiActivityEnable)               \
  X(cuptiActivityDisable)              \
  X(cuptiActivityFlushAll)

#define CUPTI_OPTIONAL(X)                         \
  X(cuptiSubscribe_v2)                            \
  X(cuptiSetThreadIdType)                         \
  X(cuptiActivityRegisterTimestampCallback)       \
  X(cuptiActivitySetAttribute)                    \
  X(cuptiGetDeviceId)                             \
  X(cuptiGetGraphNodeId)                          \
  X(cuptiGetGraphExecId)                          \
  X(cuptiDeviceGetChipName)                       \
  X(cuptiProfilerInitialize)                      \
  X(cuptiProfilerGetCounterAvailability)          \
  X(cuptiProfilerHostInitialize)                  \
  X(cuptiProfilerHostDeinitialize)                \
  X(cuptiProfilerHostConfigAddMetrics)            \
  X(cuptiProfilerHostGetConfigImageSize)          \
  X(cuptiProfilerHostGetConfigImage)              \
  X(cuptiProfilerHostGetNumOfPasses)              \
  X(cuptiProfilerHostEvaluateToGpuValues)         \
  X(cuptiRangeProfilerEnable)                     \
  X(cuptiRangeProfilerDisable)                    \
  X(cuptiRangeProfilerStart)                      \
  X(cuptiRangeProfilerStop)                       \
  X(cuptiRangeProfilerSetConfig)                  \
  X(cuptiRangeProfilerPushRange)                  \
  X(cuptiRangeProfilerPopRange)                   \
  X(cuptiRangeProfilerDecodeData)                 \
  X(cuptiRangeProfilerGetCounterDataSize)         \
  X(cuptiRangeProfilerCounterDataImageInitialize) \
  X(cuptiRangeProfilerGetCounterDataInfo)         \
  X(cuptiRangeProfilerCounterDataGetRangeInfo)    \
  X(cuptiPmSamplingEnable)                        \
  X(cuptiPmSamplingDisable)                       \
  X(cuptiPmSamplingSetConfig)                     \
  X(cuptiPmSamplingStart)                         \
  X(cuptiPmSamplingStop)                          \
  X(cuptiPmSamplingDecodeData)                    \
  X(cuptiPmSamplingGetCounterAvailability)        \
  X(cuptiPmSamplingGetCounterDataSize)            \
  X(cuptiPmSamplingCounterDataImageInitialize)    \
  X(cuptiPmSamplingGetCounterDataInfo)            \
  X(cuptiPmSamplingCounterDataGetSampleInfo)

typedef struct cupti_api {
#define X(name) __typeof__(name) *name;
  CUPTI_NEEDED(X)
  CUPTI_OPTIONAL(X)
#undef X
  _Atomic uint32_t version; /* 130001 for 13.0.1, 24 for 12.6 */
} cupti_api;

extern cupti_api cupti;

/* False: no libcupti, or too old a one; *why is a line for people. Called
 * again it says the same. `path` is tried first; NULL: none. */
bool cupti_load(const char *path, const char **why);

/* In the child of a fork: it is not to be used until it is loaded again. */
void cupti_forget(void);

/* The driver, by its names with their versions. */
#define DRIVER_NEEDED(X)               \
  X(cuDriverGetVersion)                \
  X(cuCtxGetCurrent)                   \
  X(cuCtxGetDevice)                    \
  X(cuCtxSynchronize)                  \
  X(cuDeviceGet)                       \
  X(cuDeviceGetName)                   \
  X(cuDeviceGetUuid_v2)                \
  X(cuDeviceTotalMem_v2)               \
  X(cuDeviceGetAttribute)              \
  X(cuDevicePrimaryCtxGetState)        \
  X(cuDevicePrimaryCtxRetain)          \
  X(cuDevicePrimaryCtxRelease_v2)      \
  X(cuThreadExchangeStreamCaptureMode) \
  X(cuMemAlloc_v2)                     \
  X(cuMemFree_v2)                      \
  X(cuMemsetD8Async)                   \
  X(cuModuleLoadData)                  \
  X(cuModuleUnload)                    \
  X(cuModuleGetFunction)               \
  X(cuLaunchKernel)

typedef struct driver_api {
#define X(name) __typeof__(name) *name;
  DRIVER_NEEDED(X)
#undef X
} driver_api;

extern driver_api driver;

/* False: libcuda is not loaded or too old. */
bool driver_load(void);

/* False: the driver has been shut down, as it is at the end of an exit; then
 * CUPTI is gone, too. */
bool driver_alive(void);

/* CUPTI's word for a result, never NULL. */
const char *cupti_result_name(CUptiResult result);

/* A parameter struct of CUPTI's with its size filled in. */
#define CUPTI_PARAMS(type, name) \
  type name;                     \
  memset(&name, 0, sizeof name); \
  name.structSize = type##_STRUCT_SIZE

#endif

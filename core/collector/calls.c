#include "collector/calls.h"

#include <stddef.h>
#include <string.h>

#include "collector/cupti_api.h"

/* Calls that launch, copy, set, wait, allocate or make graphs, by how their
 * names begin: every version of CUDA adds variants of them. */
static const char *const chosen[] = {
    "cudaLaunch",
    "cudaGraphLaunch",
    "cudaGraphInstantiate",
    "cudaGraphExecUpdate",
    "cudaStreamBeginCapture",
    "cudaStreamEndCapture",
    "cudaMemcpy",
    "cudaMemset",
    "cudaMalloc",
    "cudaFree",
    "cudaHostAlloc",
    "cudaHostRegister",
    "cudaDeviceSynchronize",
    "cudaStreamSynchronize",
    "cudaEventSynchronize",
    "cudaStreamWaitEvent",
    "cudaMemPrefetch",
    "cuLaunch",
    "cuGraphLaunch",
    "cuGraphInstantiate",
    "cuGraphExecUpdate",
    "cuStreamBeginCapture",
    "cuStreamEndCapture",
    "cuMemcpy",
    "cuMemset",
    "cuMemAlloc",
    "cuMemFree",
    "cuMemHostAlloc",
    "cuMemHostRegister",
    "cuMemCreate",
    "cuMemMap",
    "cuMemPrefetch",
    "cuCtxSynchronize",
    "cuStreamSynchronize",
    "cuEventSynchronize",
    "cuStreamWaitEvent",
};

enum {
  CBIDS = 4096 /* more than any version has */
};

bool calls_is_chosen(const char *name) {
  for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++)
    if (strncmp(name, chosen[i], strlen(chosen[i])) == 0) return true;
  return false;
}

const char *calls_name(bool is_driver, uint32_t cbid) {
  const char *name = NULL;
  CUpti_CallbackDomain domain =
      is_driver ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API;
  if (cupti.cuptiGetCallbackName(domain, cbid, &name) != CUPTI_SUCCESS)
    return NULL;
  return name;
}

/* How many numbers of a domain have names. */
static uint32_t last_cbid(bool is_driver) {
  uint32_t last = 0, misses = 0;
  for (uint32_t cbid = 1; cbid < CBIDS && misses < 64; cbid++)
    if (calls_name(is_driver, cbid)) {
      last = cbid;
      misses = 0;
    } else {
      misses++;
    }
  return last;
}

#define CHOOSES_LATE 130500 /* the version that does */

static bool one_by_one;

void calls_prepare(bool early) {
  one_by_one = cupti.cuptiActivityEnableRuntimeApi &&
               cupti.cuptiActivityEnableDriverApi &&
               (one_by_one || early || cupti.version >= CHOOSES_LATE);
  if (!one_by_one || !early) return;
  /* One of each interface that hardly anybody calls. */
  (void)cupti.cuptiActivityEnableRuntimeApi(
      CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStop_v4000, 1);
  (void)cupti.cuptiActivityEnableDriverApi(
      CUPTI_DRIVER_TRACE_CBID_cuProfilerStop, 1);
}

/* Of those that are chosen, or of the others. */
static void set_calls(bool is_driver, bool those, bool on) {
  CUptiResult (*enable)(uint32_t cbid, uint8_t on) =
      is_driver ? cupti.cuptiActivityEnableDriverApi
                : cupti.cuptiActivityEnableRuntimeApi;
  uint32_t last = enable ? last_cbid(is_driver) : 0;
  for (uint32_t cbid = 1; cbid <= last; cbid++) {
    const char *name = calls_name(is_driver, cbid);
    if (name && calls_is_chosen(name) == those) (void)enable(cbid, on);
  }
}

void calls_enable(bool on) {
  if (one_by_one) {
    set_calls(false, true, on);
    set_calls(true, true, on);
    return;
  }
  CUptiResult (*set)(CUpti_ActivityKind) =
      on ? cupti.cuptiActivityEnable : cupti.cuptiActivityDisable;
  (void)set(CUPTI_ACTIVITY_KIND_RUNTIME);
  (void)set(CUPTI_ACTIVITY_KIND_DRIVER);
  if (!on) return;
  set_calls(false, false, false);
  set_calls(true, false, false);
}

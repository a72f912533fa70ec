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

static void leave_out(bool is_driver) {
  CUptiResult (*enable)(uint32_t cbid, uint8_t on) =
      is_driver ? cupti.cuptiActivityEnableDriverApi
                : cupti.cuptiActivityEnableRuntimeApi;
  uint32_t last = enable ? last_cbid(is_driver) : 0;
  for (uint32_t cbid = 1; cbid <= last; cbid++) {
    const char *name = calls_name(is_driver, cbid);
    if (name && !calls_is_chosen(name)) (void)enable(cbid, 0);
  }
}

void calls_enable(bool on) {
  CUptiResult (*set)(CUpti_ActivityKind) =
      on ? cupti.cuptiActivityEnable : cupti.cuptiActivityDisable;
  (void)set(CUPTI_ACTIVITY_KIND_RUNTIME);
  (void)set(CUPTI_ACTIVITY_KIND_DRIVER);
  if (!on) return;
  leave_out(false);
  leave_out(true);
}

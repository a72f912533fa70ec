#include "collector/subscriber.h"

#include <stdatomic.h>
#include <string.h>

#include "collector/diagnose.h"

#define DRIVER(name) CUPTI_DRIVER_TRACE_CBID_##name
#define WAITS(type)  CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_##type

static CUpti_SubscriberHandle subscriber;
static atomic_bool launches_on;

static const struct {
  CUpti_CallbackId id;
  uint32_t type;
} waits[] = {
    {DRIVER(cuCtxSynchronize), WAITS(CONTEXT_SYNCHRONIZE)},
    {DRIVER(cuCtxSynchronize_v2), WAITS(CONTEXT_SYNCHRONIZE)},
    {DRIVER(cuStreamSynchronize), WAITS(STREAM_SYNCHRONIZE)},
    {DRIVER(cuStreamSynchronize_ptsz), WAITS(STREAM_SYNCHRONIZE)},
    {DRIVER(cuEventSynchronize), WAITS(EVENT_SYNCHRONIZE)},
    {DRIVER(cuStreamWaitEvent), WAITS(STREAM_WAIT_EVENT)},
    {DRIVER(cuStreamWaitEvent_ptsz), WAITS(STREAM_WAIT_EVENT)},
};

static CUptiResult subscribe(CUpti_CallbackFunc function, char *other,
                             size_t size) {
  if (!cupti.cuptiSubscribe_v2)
    return cupti.cuptiSubscribe(&subscriber, function, NULL);
  CUPTI_PARAMS(CUpti_SubscriberParams, p);
  p.subscriberName = "llmprof";
  p.oldSubscriberName = other;
  p.oldSubscriberSize = size;
  return cupti.cuptiSubscribe_v2(&subscriber, function, NULL, &p);
}

bool subscriber_begin(CUpti_CallbackFunc function) {
  char other[64] = "";
  CUptiResult result = subscribe(function, other, sizeof other);
  if (result == CUPTI_SUCCESS) return true;
  subscriber = NULL;
  bool busy = result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED ||
              result == CUPTI_ERROR_MAX_LIMIT_REACHED;
  diagnose(SPOOL_ERROR, busy ? "cupti_busy" : "cupti",
           "no timeline, no counters: %s%s%s", cupti_result_name(result),
           other[0] ? ", CUPTI belongs to " : "", other);
  return false;
}

static void CUPTIAPI ignore(void *user, CUpti_CallbackDomain domain,
                            CUpti_CallbackId id, const void *data) {
  (void)user, (void)domain, (void)id, (void)data;
}

bool subscriber_other(char *other, size_t size) {
  bool there =
      subscribe((CUpti_CallbackFunc)ignore, other, size) != CUPTI_SUCCESS;
  if (there) subscriber = NULL;
  subscriber_end();
  return there;
}

void subscriber_end(void) {
  if (subscriber && driver_alive()) (void)cupti.cuptiUnsubscribe(subscriber);
  subscriber_forget();
}

void subscriber_enable(CUpti_CallbackDomain domain, CUpti_CallbackId id,
                       bool on) {
  if (subscriber) (void)cupti.cuptiEnableCallback(on, subscriber, domain, id);
}

void subscriber_launches(bool on) {
  static const CUpti_CallbackId ids[] = {
      DRIVER(cuLaunchKernel),
      DRIVER(cuLaunchKernel_ptsz),
      DRIVER(cuLaunchKernelEx),
      DRIVER(cuLaunchKernelEx_ptsz),
      DRIVER(cuLaunchCooperativeKernel),
      DRIVER(cuLaunchCooperativeKernel_ptsz),
      DRIVER(cuGraphLaunch),
      DRIVER(cuGraphLaunch_ptsz),
  };
  if (!subscriber || atomic_exchange(&launches_on, on) == on) return;
  for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
    subscriber_enable(CUPTI_CB_DOMAIN_DRIVER_API, ids[i], on);
}

/* With their variants of a default stream for each thread. */
#define WAITED(name) DRIVER(name), DRIVER(name##_ptds)
#define QUEUED(name) DRIVER(name), DRIVER(name##_ptsz)

static const CUpti_CallbackId copies[] = {
    WAITED(cuMemcpy),
    WAITED(cuMemcpyPeer),
    WAITED(cuMemcpyHtoD_v2),
    WAITED(cuMemcpyDtoH_v2),
    WAITED(cuMemcpyDtoD_v2),
    WAITED(cuMemcpyHtoA_v2),
    WAITED(cuMemcpyAtoH_v2),
    WAITED(cuMemcpyDtoA_v2),
    WAITED(cuMemcpyAtoD_v2),
    WAITED(cuMemcpyAtoA_v2),
    WAITED(cuMemcpy2D_v2),
    WAITED(cuMemcpy2DUnaligned_v2),
    WAITED(cuMemcpy3D_v2),
    WAITED(cuMemcpy3DPeer),
    WAITED(cuMemsetD8_v2),
    WAITED(cuMemsetD16_v2),
    WAITED(cuMemsetD32_v2),
    WAITED(cuMemsetD2D8_v2),
    WAITED(cuMemsetD2D16_v2),
    WAITED(cuMemsetD2D32_v2),
    QUEUED(cuMemcpyAsync),
    QUEUED(cuMemcpyPeerAsync),
    QUEUED(cuMemcpyHtoDAsync_v2),
    QUEUED(cuMemcpyDtoHAsync_v2),
    QUEUED(cuMemcpyDtoDAsync_v2),
    QUEUED(cuMemcpyHtoAAsync_v2),
    QUEUED(cuMemcpyAtoHAsync_v2),
    QUEUED(cuMemcpy2DAsync_v2),
    QUEUED(cuMemcpy3DAsync_v2),
    QUEUED(cuMemcpy3DPeerAsync),
    QUEUED(cuMemsetD8Async),
    QUEUED(cuMemsetD16Async),
    QUEUED(cuMemsetD32Async),
    QUEUED(cuMemsetD2D8Async),
    QUEUED(cuMemsetD2D16Async),
    QUEUED(cuMemsetD2D32Async),
};

bool subscriber_copies(CUpti_CallbackId id) {
  for (size_t i = 0; i < sizeof copies / sizeof *copies; i++)
    if (copies[i] == id) return true;
  return false;
}

void subscriber_sources(bool on) {
  subscriber_launches(on);
  for (size_t i = 0; i < sizeof copies / sizeof *copies; i++)
    subscriber_enable(CUPTI_CB_DOMAIN_DRIVER_API, copies[i], on);
}

void subscriber_waits(bool on) {
  for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
    subscriber_enable(CUPTI_CB_DOMAIN_DRIVER_API, waits[i].id, on);
}

uint32_t subscriber_waits_for(CUpti_CallbackId id) {
  for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
    if (waits[i].id == id) return waits[i].type;
  return 0;
}

void subscriber_forget(void) {
  subscriber = NULL;
  atomic_store(&launches_on, false);
}

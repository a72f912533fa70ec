#include "collector/subscriber.h"

#include <stdatomic.h>
#include <string.h>

#include "collector/diagnose.h"

static CUpti_SubscriberHandle subscriber;
static atomic_bool launches_on;

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

void subscriber_enable(CUpti_CallbackDomain domain, CUpti_CallbackId id,
                       bool on) {
  if (subscriber) (void)cupti.cuptiEnableCallback(on, subscriber, domain, id);
}

void subscriber_launches(bool on) {
  static const CUpti_CallbackId ids[] = {
      CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
      CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
      CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
      CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
      CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
      CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz,
      CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,
      CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz,
  };
  if (!subscriber || atomic_exchange(&launches_on, on) == on) return;
  for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
    subscriber_enable(CUPTI_CB_DOMAIN_DRIVER_API, ids[i], on);
}

void subscriber_forget(void) {
  subscriber = NULL;
  atomic_store(&launches_on, false);
}

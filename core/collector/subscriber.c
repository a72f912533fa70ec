#include "collector/subscriber.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "collector/clock.h"
#include "collector/diagnose.h"

#define DRIVER(name) CUPTI_DRIVER_TRACE_CBID_##name

enum {
  CBIDS = 1024, /* more than any version has */
};

/* With their variants of a default stream for each thread. */
#define WAITED(name) \
  [DRIVER(name)] = CALL_COPY, [DRIVER(name##_ptds)] = CALL_COPY
#define QUEUED(name) \
  [DRIVER(name)] = CALL_COPY, [DRIVER(name##_ptsz)] = CALL_COPY

static const uint8_t kinds[CBIDS] = {
    [DRIVER(cuLaunchKernel)] = CALL_LAUNCH,
    [DRIVER(cuLaunchKernel_ptsz)] = CALL_LAUNCH,
    [DRIVER(cuLaunchKernelEx)] = CALL_LAUNCH,
    [DRIVER(cuLaunchKernelEx_ptsz)] = CALL_LAUNCH,
    [DRIVER(cuLaunchCooperativeKernel)] = CALL_COOPERATIVE,
    [DRIVER(cuLaunchCooperativeKernel_ptsz)] = CALL_COOPERATIVE,
    [DRIVER(cuGraphLaunch)] = CALL_GRAPH,
    [DRIVER(cuGraphLaunch_ptsz)] = CALL_GRAPH,
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
    [DRIVER(cuStreamBeginCapture)] = CALL_CAPTURE_BEGINS,
    [DRIVER(cuStreamBeginCapture_ptsz)] = CALL_CAPTURE_BEGINS,
    [DRIVER(cuStreamBeginCapture_v2)] = CALL_CAPTURE_BEGINS,
    [DRIVER(cuStreamBeginCapture_v2_ptsz)] = CALL_CAPTURE_BEGINS,
    [DRIVER(cuStreamBeginCaptureToGraph)] = CALL_CAPTURE_BEGINS,
    [DRIVER(cuStreamBeginCaptureToGraph_ptsz)] = CALL_CAPTURE_BEGINS,
    [DRIVER(cuStreamEndCapture)] = CALL_CAPTURE_ENDS,
    [DRIVER(cuStreamEndCapture_ptsz)] = CALL_CAPTURE_ENDS,
    [DRIVER(cuProfilerStart)] = CALL_PROFILER_STARTS,
    [DRIVER(cuProfilerStop)] = CALL_PROFILER_STOPS,
};

static const uint8_t uses[] = {
    [CALL_LAUNCH] = USE_COUNTERS | USE_SOURCES,
    [CALL_COOPERATIVE] = USE_COUNTERS | USE_SOURCES,
    [CALL_GRAPH] = USE_COUNTERS | USE_SOURCES,
    [CALL_COPY] = USE_SOURCES,
    [CALL_CAPTURE_BEGINS] = USE_ALWAYS,
    [CALL_CAPTURE_ENDS] = USE_ALWAYS,
    [CALL_PROFILER_STARTS] = USE_ALWAYS,
    [CALL_PROFILER_STOPS] = USE_ALWAYS,
};

static CUpti_SubscriberHandle subscriber;
static atomic_uchar wanted[CUPTI_CB_DOMAIN_SIZE][CBIDS]; /* call_use */
static bool enabled[CUPTI_CB_DOMAIN_SIZE][CBIDS];        /* by CUPTI */
static atomic_int inside[CUPTI_CB_DOMAIN_SIZE][CBIDS];   /* threads */
/* When it was enabled last: an end is only seen with its begin. */
static atomic_int_fast64_t since[CUPTI_CB_DOMAIN_SIZE][CBIDS];

#define INSIDE_S 0.2 /* the longest that calls are waited for */

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

call_kind subscriber_kind(CUpti_CallbackId id) {
  return id < CBIDS ? (call_kind)kinds[id] : CALL_OTHER;
}

bool subscriber_sees(CUpti_CallbackDomain domain, CUpti_CallbackId id,
                     const CUpti_CallbackData *data) {
  if (id >= CBIDS) return false;
  if (data->callbackSite == CUPTI_API_ENTER) {
    atomic_fetch_add(&inside[domain][id], 1);
    *data->correlationData = (uint64_t)clock_now();
    return true;
  }
  if ((int64_t)*data->correlationData < atomic_load(&since[domain][id]))
    return false;
  atomic_fetch_sub(&inside[domain][id], 1);
  return true;
}

static void set(CUpti_CallbackDomain domain, CUpti_CallbackId id, bool on) {
  (void)cupti.cuptiEnableCallback(on, subscriber, domain, id);
  enabled[domain][id] = on;
}

void subscriber_enable(call_use use, CUpti_CallbackDomain domain,
                       CUpti_CallbackId id, bool on) {
  if (!subscriber || id >= CBIDS) return;
  unsigned uses_now = atomic_load(&wanted[domain][id]);
  uses_now = on ? uses_now | use : uses_now & ~(unsigned)use;
  atomic_store(&wanted[domain][id], (unsigned char)uses_now);
  if (!on || enabled[domain][id]) return;
  atomic_store(&inside[domain][id], 0); /* one may have outlasted the wait */
  atomic_store(&since[domain][id], clock_now());
  set(domain, id, true);
}

/* False: a thread is in the call. One may begin while it is switched off. */
static bool switch_off(CUpti_CallbackDomain domain, CUpti_CallbackId id,
                       bool late) {
  if (!late && atomic_load(&inside[domain][id]) > 0) return false;
  set(domain, id, false);
  if (late || atomic_load(&inside[domain][id]) <= 0) return true;
  set(domain, id, true);
  return false;
}

static bool switch_off_unwanted(bool late) {
  bool all = true;
  for (CUpti_CallbackDomain i = 0; i < CUPTI_CB_DOMAIN_SIZE; i++)
    for (CUpti_CallbackId id = 0; id < CBIDS; id++)
      if (enabled[i][id] && !atomic_load(&wanted[i][id]))
        all = switch_off(i, id, late) && all;
  return all;
}

void subscriber_settle(void) {
  int64_t end = clock_now() + (int64_t)(INSIDE_S * 1e9);
  while (!switch_off_unwanted(clock_now() >= end))
    nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
}

bool subscriber_has(call_use use, CUpti_CallbackDomain domain,
                    CUpti_CallbackId id) {
  return id < CBIDS &&
         atomic_load_explicit(&wanted[domain][id], memory_order_relaxed) & use;
}

void subscriber_use(call_use use, bool on) {
  for (CUpti_CallbackId id = 0; id < CBIDS; id++)
    if (kinds[id] && uses[kinds[id]] & use)
      subscriber_enable(use, CUPTI_CB_DOMAIN_DRIVER_API, id, on);
}

void subscriber_forget(void) {
  subscriber = NULL;
  memset(enabled, 0, sizeof enabled);
  for (size_t i = 0; i < CUPTI_CB_DOMAIN_SIZE; i++)
    for (size_t id = 0; id < CBIDS; id++) {
      atomic_store(&wanted[i][id], 0);
      atomic_store(&inside[i][id], 0);
    }
}

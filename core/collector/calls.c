#include "collector/calls.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "collector/cupti_api.h"
#include "collector/guard.h"
#include "collector/names.h"
#include "collector/output.h"
#include "collector/plan.h"
#include "collector/spool.h"
#include "collector/subscriber.h"

/* Calls that launch, copy, set, wait, allocate or make graphs, by how their
 * names begin after "cuda" or "cu": every version of CUDA adds variants of
 * them. */
static const char *const chosen[] = {
    "Launch",
    "GraphLaunch",
    "GraphInstantiate",
    "GraphExecUpdate",
    "StreamBeginCapture",
    "StreamEndCapture",
    "Memcpy",
    "Memset",
    "Malloc",
    "Free",
    "HostAlloc",
    "HostRegister",
    "HostUnregister",
    "DeviceSynchronize",
    "StreamSynchronize",
    "EventSynchronize",
    "StreamWaitEvent",
    "MemPrefetch",
    "MemAlloc",
    "MemFree",
    "MemHostAlloc",
    "MemHostRegister",
    "MemHostUnregister",
    "MemCreate",
    "MemMap",
    "CtxSynchronize",
};

enum {
  CBIDS = 1024, /* more than any version has */
  MISSES = 64,  /* numbers without a name, after the last one */
};

static bool is_chosen(const char *name) {
  if (strncmp(name, "cu", 2) != 0) return false;
  name += strncmp(name, "cuda", 4) == 0 ? 4 : 2;
  for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++)
    if (strncmp(name, chosen[i], strlen(chosen[i])) == 0) return true;
  return false;
}

static CUpti_CallbackDomain domain_of(bool is_driver) {
  return is_driver ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API;
}

/* NULL: CUPTI knows none. */
static const char *name_of(bool is_driver, uint32_t cbid) {
  const char *name = NULL;
  CUptiResult result =
      cupti.cuptiGetCallbackName(domain_of(is_driver), cbid, &name);
  return result == CUPTI_SUCCESS ? name : NULL;
}

static void enable(bool is_driver, bool on) {
  uint32_t misses = 0;
  for (uint32_t cbid = 1; cbid < CBIDS && misses < MISSES; cbid++) {
    const char *name = name_of(is_driver, cbid);
    misses = name ? 0 : misses + 1;
    if (name && is_chosen(name))
      subscriber_enable(USE_CALLS, domain_of(is_driver), cbid, on);
  }
}

static atomic_uint last;

/* Calls are switched off one by one: none may count, as the last, once another
 * has no record any more. */
static atomic_bool is_on;

uint32_t calls_last(void) {
  return atomic_load(&last);
}

void calls_enable(bool on) {
  static const CUpti_ActivityKind all[] = {CUPTI_ACTIVITY_KIND_RUNTIME,
                                           CUPTI_ACTIVITY_KIND_DRIVER};
  for (size_t i = 0; the_plan.yield && i < sizeof all / sizeof *all; i++)
    (void)(on ? cupti.cuptiActivityEnable : cupti.cuptiActivityDisable)(all[i]);
  if (on) atomic_store(&last, 0);
  atomic_store(&is_on, on);
  enable(false, on);
  enable(true, on);
}

/* ---- the program's threads ---- */

/* The call has no name yet. */
typedef struct call_entry {
  log_entry entry;
  spool_call call;
} call_entry;

static _Thread_local uint32_t outer; /* correlation of the runtime's call */

/* Numbers may run over. */
static void keep_last(uint32_t correlation) {
  unsigned was = atomic_load(&last);
  while ((!was || (int32_t)(correlation - was) > 0) &&
         !atomic_compare_exchange_weak(&last, &was, correlation))
    ;
}

void calls_callback(bool is_driver, uint32_t cbid, const void *of) {
  const CUpti_CallbackData *data = of;
  if (is_driver && outer && data->correlationId == outer) return;
  bool enters = data->callbackSite == CUPTI_API_ENTER;
  if (!is_driver) outer = enters ? data->correlationId : 0;
  if (!subscriber_has(USE_CALLS, domain_of(is_driver), cbid)) return;
  if (enters || !atomic_load(&is_on) || !guard_enter()) return;
  call_entry *e = log_reserve(LOG_CALL, sizeof *e);
  if (e) {
    const uint32_t *result = data->functionReturnValue;
    e->call = (spool_call){.start = (int64_t)*data->correlationData,
                           .end = e->entry.time,
                           .tid = e->entry.tid,
                           .correlation = data->correlationId,
                           .result = result ? *result : 0,
                           .cbid = cbid,
                           .driver = is_driver};
    log_commit();
  }
  keep_last(data->correlationId);
  guard_leave();
}

/* ---- the writer ---- */

#define NOT_CHOSEN UINT32_MAX

static uint32_t call_names[2][CBIDS]; /* of driver or not */

static uint32_t name_id(bool is_driver, uint32_t cbid) {
  if (cbid >= CBIDS) return NOT_CHOSEN;
  uint32_t *id = &call_names[is_driver][cbid];
  if (*id) return *id;
  const char *name = name_of(is_driver, cbid);
  *id = name && is_chosen(name) ? names_id(name) : NOT_CHOSEN;
  return *id;
}

static void write_call(spool_call call) {
  call.name = name_id(call.driver, call.cbid);
  if (call.name != NOT_CHOSEN)
    output_record(SPOOL_CALL, &call, sizeof call, NULL, 0);
}

bool calls_write(const log_entry *entry) {
  if (entry->type != LOG_CALL) return false;
  write_call(((const call_entry *)(const void *)entry)->call);
  return true;
}

void calls_write_record(const CUpti_ActivityAPI *a) {
  write_call((spool_call){.start = (int64_t)a->start,
                          .end = (int64_t)a->end,
                          .tid = a->threadId,
                          .correlation = a->correlationId,
                          .result = a->returnValue,
                          .cbid = a->cbid,
                          .driver = a->kind == CUPTI_ACTIVITY_KIND_DRIVER});
}

void calls_reset(void) {
  memset(call_names, 0, sizeof call_names);
}

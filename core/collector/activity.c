#include "collector/activity.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "collector/buffers.h"
#include "collector/calls.h"
#include "collector/clock.h"
#include "collector/cupti_api.h"
#include "collector/diagnose.h"
#include "collector/exits.h"
#include "collector/graphs.h"
#include "collector/names.h"
#include "collector/output.h"
#include "collector/places.h"
#include "collector/plan.h"
#include "collector/sources.h"
#include "collector/subscriber.h"
#include "collector/wake.h"

/* Records are structs of the libcupti that is loaded; what is read of them
 * here lies where every version since 12.0 has it. */
_Static_assert(offsetof(CUpti_ActivityKernel10, name) == 104, "layout");
_Static_assert(offsetof(CUpti_ActivityKernel10, graphNodeId) == 144, "layout");
_Static_assert(offsetof(CUpti_ActivityKernel10, graphId) == 156, "layout");
_Static_assert(offsetof(CUpti_ActivityMemcpy6, graphNodeId) == 64, "layout");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* running */
static atomic_bool running;
static bool prepared; /* CUPTI has our buffers */
/* Of a timeline that has ended; 0: it goes on, or calls are not seen. */
static atomic_uint last_call;

/* ---- buffers ---- */

/* Before 12.9 (API version 27) CUPTI may crash when it is given none. */
static bool bears_null(void) {
  return cupti.version >= 27;
}

static void CUPTIAPI give_buffer(uint8_t **bytes, size_t *size,
                                 size_t *max_records) {
  *bytes = buffers_give();
  if (!*bytes && !bears_null()) *bytes = buffers_give_blind();
  *size = *bytes ? BUFFER_SIZE : 0;
  *max_records = 0;
}

static void CUPTIAPI take_buffer(CUcontext context, uint32_t stream,
                                 uint8_t *bytes, size_t size, size_t valid) {
  (void)context, (void)stream, (void)size;
  if (!bytes) return;
  buffers_full(bytes, valid);
  wake_writer();
}

/* ---- on and off ---- */

static uint64_t CUPTIAPI timestamp(void) {
  return (uint64_t)clock_now();
}

static void set_attribute(CUpti_ActivityAttribute attribute, size_t size,
                          void *value) {
  if (cupti.cuptiActivitySetAttribute)
    (void)cupti.cuptiActivitySetAttribute(attribute, &size, value);
}

void activity_prepare(void) {
  if (cupti.cuptiSetThreadIdType)
    (void)cupti.cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
  if (cupti.cuptiActivityRegisterTimestampCallback)
    (void)cupti.cuptiActivityRegisterTimestampCallback(timestamp);
  uint8_t yes = 1;
  set_attribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, sizeof yes,
                &yes);
  set_attribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, sizeof yes,
                &yes);
  CUptiResult result =
      cupti.cuptiActivityRegisterCallbacks(give_buffer, take_buffer);
  prepared = result == CUPTI_SUCCESS;
  if (!prepared)
    diagnose(SPOOL_ERROR, "cupti", "no timeline: %s",
             cupti_result_name(result));
}

/* What the next client records would be in a buffer that is left, and lost. */
void activity_release(void) {
  if (!driver_alive()) return;
  for (int tries = 0; tries < 10 && buffers_out() > 0; tries++)
    (void)cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  if (cupti.cuptiSetThreadIdType)
    (void)cupti.cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT);
}

/* Not SYNCHRONIZATION, which makes every launch of PyTorch 3 us longer until
 * the process ends: callbacks of the calls that wait tell the same. */
static const CUpti_ActivityKind kinds[] = {
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
    CUPTI_ACTIVITY_KIND_MEMCPY,
    CUPTI_ACTIVITY_KIND_MEMCPY2,
    CUPTI_ACTIVITY_KIND_MEMSET,
};

static bool follows_sources; /* since the last start */

static void enable_kind(CUpti_ActivityKind kind) {
  CUptiResult result = cupti.cuptiActivityEnable(kind);
  if (result != CUPTI_SUCCESS)
    diagnose(SPOOL_WARNING, "cupti", "records of kind %d are missing: %s",
             (int)kind, cupti_result_name(result));
}

void activity_start(void) {
  pthread_mutex_lock(&lock);
  if (prepared && !atomic_load(&running)) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
      enable_kind(kinds[i]);
    if (!the_plan.graph_nodes) enable_kind(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
    if (the_plan.calls) calls_enable(true);
    follows_sources = sources_begin();
    if (follows_sources) subscriber_use(USE_SOURCES, true);
    exits_register();
    atomic_store(&last_call, 0);
    atomic_store(&running, true);
  }
  pthread_mutex_unlock(&lock);
}

void activity_stop(void) {
  /* For what was launched, where the thread has no context to wait for. */
  static const struct timespec to_end = {.tv_nsec = 100000000};
  pthread_mutex_lock(&lock);
  if (atomic_load(&running) && driver_alive()) {
    if (the_plan.calls) calls_enable(false);
    if (follows_sources) subscriber_use(USE_SOURCES, false);
    subscriber_settle();
    atomic_store(&last_call, calls_last());
    if (!places_sync() && calls_last()) nanosleep(&to_end, NULL);
    (void)cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
      (void)cupti.cuptiActivityDisable(kinds[i]);
    if (!the_plan.graph_nodes)
      (void)cupti.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
  }
  atomic_store(&running, false);
  pthread_mutex_unlock(&lock);
}

bool activity_running(void) {
  return atomic_load(&running);
}

void activity_flush(bool all) {
  if (!cupti.version || !driver_alive()) return;
  (void)cupti.cuptiActivityFlushAll(all ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
}

/* ---- records ---- */

static uint64_t without_time, not_known; /* since they were last reported */

/* What was launched after the end is there in part, and with wrong times where
 * it has not ended: it is left out. */
static bool counts(uint32_t correlation, uint64_t start, uint64_t end) {
  uint32_t last = atomic_load(&last_call);
  if (last && (int32_t)(correlation - last) > 0) return false;
  if (start != 0 && end != 0) return true;
  without_time++;
  return false;
}

static uint32_t stack_of(uint64_t graph_node, uint32_t correlation) {
  return graph_node ? sources_of_node(graph_node)
                    : sources_of_launch(correlation);
}

static void write_kernel(const CUpti_Activity *activity) {
  const CUpti_ActivityKernel10 *k = (const void *)activity;
  if (!counts(k->correlationId, k->start, k->end)) return;
  places_seen(k->deviceId);
  if (k->name) graphs_saw(k->graphId, k->name);
  spool_kernel record = {
      .start = (int64_t)k->start,
      .end = (int64_t)k->end,
      .queued = (int64_t)k->queued,
      .submitted = (int64_t)k->submitted,
      .name = names_id(k->name),
      .device = k->deviceId,
      .context = k->contextId,
      .stream = k->streamId,
      .correlation = k->correlationId,
      .grid = {(uint32_t)k->gridX, (uint32_t)k->gridY, (uint32_t)k->gridZ},
      .block = {(uint32_t)k->blockX, (uint32_t)k->blockY, (uint32_t)k->blockZ},
      .registers = k->registersPerThread,
      .static_shared = (uint32_t)k->staticSharedMemory,
      .dynamic_shared = (uint32_t)k->dynamicSharedMemory,
      .shared_executed = k->sharedMemoryExecuted,
      .local_per_thread = k->localMemoryPerThread,
      .local_total = k->localMemoryTotal,
      .graph_node = k->graphNodeId,
      .grid_id = k->gridId,
      .graph = k->graphId,
      .launch_type = k->launchType,
      .stack = stack_of(k->graphNodeId, k->correlationId),
      .cache_config = k->cacheConfig.both,
      .shared_limit = k->sharedMemoryCarveoutRequested,
  };
  output_record(SPOOL_KERNEL, &record, sizeof record, NULL, 0);
}

/* What records of copies have in common; their types differ. */
#define COPIED(m)                                                             \
  (spool_memcpy) {                                                            \
    .start = (int64_t)(m)->start, .end = (int64_t)(m)->end,                   \
    .bytes = (m)->bytes, .graph_node = (m)->graphNodeId,                      \
    .device = (m)->deviceId, .context = (m)->contextId,                       \
    .stream = (m)->streamId, .correlation = (m)->correlationId,               \
    .copy_kind = (m)->copyKind, .src_kind = (m)->srcKind,                     \
    .dst_kind = (m)->dstKind, .flags = (m)->flags, .src_device = SPOOL_NO_ID, \
    .src_context = SPOOL_NO_ID, .dst_device = SPOOL_NO_ID,                    \
    .dst_context = SPOOL_NO_ID, .graph = (m)->graphId,                        \
    .stack = stack_of((m)->graphNodeId, (m)->correlationId),                  \
  }

static void write_memcpy(const CUpti_Activity *activity) {
  const CUpti_ActivityMemcpy6 *m = (const void *)activity;
  if (!counts(m->correlationId, m->start, m->end)) return;
  places_seen(m->deviceId);
  spool_memcpy record = COPIED(m);
  output_record(SPOOL_MEMCPY, &record, sizeof record, NULL, 0);
}

static void write_peer_copy(const CUpti_Activity *activity) {
  const CUpti_ActivityMemcpyPtoP4 *m = (const void *)activity;
  if (!counts(m->correlationId, m->start, m->end)) return;
  places_seen(m->deviceId);
  spool_memcpy record = COPIED(m);
  record.src_device = m->srcDeviceId;
  record.src_context = m->srcContextId;
  record.dst_device = m->dstDeviceId;
  record.dst_context = m->dstContextId;
  output_record(SPOOL_MEMCPY, &record, sizeof record, NULL, 0);
}

static void write_memset(const CUpti_Activity *activity) {
  const CUpti_ActivityMemset4 *m = (const void *)activity;
  if (!counts(m->correlationId, m->start, m->end)) return;
  places_seen(m->deviceId);
  spool_memset record = {
      .start = (int64_t)m->start,
      .end = (int64_t)m->end,
      .bytes = m->bytes,
      .graph_node = m->graphNodeId,
      .device = m->deviceId,
      .context = m->contextId,
      .stream = m->streamId,
      .correlation = m->correlationId,
      .value = m->value,
      .memory_kind = m->memoryKind,
      .graph = m->graphId,
      .stack = stack_of(m->graphNodeId, m->correlationId),
  };
  output_record(SPOOL_MEMSET, &record, sizeof record, NULL, 0);
}

static void write_graph(const CUpti_Activity *activity) {
  const CUpti_ActivityGraphTrace2 *g = (const void *)activity;
  if (!counts(g->correlationId, g->start, g->end)) return;
  places_seen(g->deviceId);
  spool_graph record = {
      .start = (int64_t)g->start,
      .end = (int64_t)g->end,
      .device = g->deviceId,
      .context = g->contextId,
      .stream = g->streamId,
      .correlation = g->correlationId,
      .graph = g->graphId,
      .stack = sources_of_launch(g->correlationId),
  };
  output_record(SPOOL_GRAPH, &record, sizeof record, NULL, 0);
}

/* ---- buffers again ---- */

static void write_call(const CUpti_Activity *activity) {
  calls_write_record((const void *)activity);
}

static void write_record(const CUpti_Activity *activity) {
  static const struct {
    CUpti_ActivityKind kind;
    void (*write)(const CUpti_Activity *activity);
  } writers[] = {
      {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, write_kernel},
      {CUPTI_ACTIVITY_KIND_KERNEL, write_kernel},
      {CUPTI_ACTIVITY_KIND_RUNTIME, write_call},
      {CUPTI_ACTIVITY_KIND_DRIVER, write_call},
      {CUPTI_ACTIVITY_KIND_MEMCPY, write_memcpy},
      {CUPTI_ACTIVITY_KIND_MEMCPY2, write_peer_copy},
      {CUPTI_ACTIVITY_KIND_MEMSET, write_memset},
      {CUPTI_ACTIVITY_KIND_GRAPH_TRACE, write_graph},
  };
  for (size_t i = 0; i < sizeof writers / sizeof *writers; i++)
    if (writers[i].kind == activity->kind) {
      writers[i].write(activity);
      return;
    }
  not_known++;
}

static void write_buffer(uint8_t *bytes, size_t valid) {
  CUpti_Activity *activity = NULL;
  while (cupti.cuptiActivityGetNextRecord(bytes, valid, &activity) ==
         CUPTI_SUCCESS)
    write_record(activity);
}

static void report(spool_lost what, uint64_t *count) {
  if (*count) diagnose_drops(what, *count);
  *count = 0;
}

void activity_write(void) {
  buffers_drain(write_buffer);
  report(SPOOL_LOST_BROKEN, &without_time);
  report(SPOOL_LOST_UNKNOWN, &not_known);
  uint64_t missed = buffers_missed();
  report(SPOOL_LOST_BUFFERS, &missed);
  size_t dropped = 0;
  if (cupti.version &&
      cupti.cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped) ==
          CUPTI_SUCCESS &&
      dropped)
    diagnose_drops(SPOOL_LOST_ACTIVITY, dropped);
}

void activity_forget(void) {
  pthread_mutex_init(&lock, NULL);
  atomic_store(&running, false);
  prepared = false;
  atomic_store(&last_call, 0);
  without_time = not_known = 0;
}

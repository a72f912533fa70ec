#include "collector/callbacks.h"

#include <string.h>

#include "collector/counters.h"
#include "collector/cupti_api.h"
#include "collector/exits.h"
#include "collector/guard.h"
#include "collector/output.h"
#include "collector/places.h"
#include "collector/plan.h"
#include "collector/samples.h"
#include "collector/subscriber.h"
#include "collector/units.h"

#define DRIVER(name)  CUPTI_DRIVER_TRACE_CBID_##name
#define UNKNOWN_GRAPH UINT32_MAX /* of an older CUPTI */

/* ---- launches ---- */

static void set3(uint32_t to[3], unsigned x, unsigned y, unsigned z) {
  to[0] = x;
  to[1] = y;
  to[2] = z;
}

static void fill_ex(launch *l, const CUlaunchConfig *c) {
  set3(l->grid, c->gridDimX, c->gridDimY, c->gridDimZ);
  set3(l->block, c->blockDimX, c->blockDimY, c->blockDimZ);
  l->shared = c->sharedMemBytes;
}

static void fill_launch(launch *l, CUpti_CallbackId id,
                        const CUpti_CallbackData *data) {
  *l = (launch){.kernel = data->symbolName,
                .context = data->context,
                .context_id = data->contextUid,
                .correlation = data->correlationId};
  if (id == DRIVER(cuLaunchKernelEx) || id == DRIVER(cuLaunchKernelEx_ptsz)) {
    const cuLaunchKernelEx_params *p = data->functionParams;
    fill_ex(l, p->config);
    return;
  }
  const cuLaunchKernel_params *p = data->functionParams;
  set3(l->grid, p->gridDimX, p->gridDimY, p->gridDimZ);
  set3(l->block, p->blockDimX, p->blockDimY, p->blockDimZ);
  l->shared = p->sharedMemBytes;
}

static void on_launch(CUpti_CallbackId id, const CUpti_CallbackData *data) {
  if (!guard_enter()) return;
  if (data->callbackSite == CUPTI_API_ENTER) {
    launch l;
    fill_launch(&l, id, data);
    counters_enter(&l);
  } else {
    counters_exit(data->context);
  }
  guard_leave();
}

static void on_graph_launch(const CUpti_CallbackData *data) {
  if (!guard_enter()) return;
  if (data->callbackSite == CUPTI_API_ENTER) {
    const cuGraphLaunch_params *p = data->functionParams;
    launch l = {.context = data->context,
                .context_id = data->contextUid,
                .correlation = data->correlationId,
                .graph = UNKNOWN_GRAPH};
    if (cupti.cuptiGetGraphExecId)
      (void)cupti.cuptiGetGraphExecId(p->hGraph, &l.graph);
    counters_graph_enter(&l);
  } else {
    counters_graph_exit(data->context);
  }
  guard_leave();
}

/* ---- the rest of the driver's interface ---- */

typedef enum event {
  EVENT_NONE,
  EVENT_CAPTURE_BEGINS,
  EVENT_CAPTURE_ENDS,
  EVENT_UNMEASURED, /* a launch that must not be measured */
  EVENT_GRAPH,
  EVENT_PROFILER_STARTS,
  EVENT_PROFILER_STOPS,
} event;

static const struct {
  CUpti_CallbackId id;
  event event;
} known_calls[] = {
    {DRIVER(cuStreamBeginCapture), EVENT_CAPTURE_BEGINS},
    {DRIVER(cuStreamBeginCapture_ptsz), EVENT_CAPTURE_BEGINS},
    {DRIVER(cuStreamBeginCapture_v2), EVENT_CAPTURE_BEGINS},
    {DRIVER(cuStreamBeginCapture_v2_ptsz), EVENT_CAPTURE_BEGINS},
    {DRIVER(cuStreamBeginCaptureToGraph), EVENT_CAPTURE_BEGINS},
    {DRIVER(cuStreamBeginCaptureToGraph_ptsz), EVENT_CAPTURE_BEGINS},
    {DRIVER(cuStreamEndCapture), EVENT_CAPTURE_ENDS},
    {DRIVER(cuStreamEndCapture_ptsz), EVENT_CAPTURE_ENDS},
    {DRIVER(cuGraphLaunch), EVENT_GRAPH},
    {DRIVER(cuGraphLaunch_ptsz), EVENT_GRAPH},
    {DRIVER(cuLaunchCooperativeKernel), EVENT_UNMEASURED},
    {DRIVER(cuLaunchCooperativeKernel_ptsz), EVENT_UNMEASURED},
    {DRIVER(cuProfilerStart), EVENT_PROFILER_STARTS},
    {DRIVER(cuProfilerStop), EVENT_PROFILER_STOPS},
};

static event event_of(CUpti_CallbackId id) {
  for (size_t i = 0; i < sizeof known_calls / sizeof *known_calls; i++)
    if (known_calls[i].id == id) return known_calls[i].event;
  return EVENT_NONE;
}

/* A capture counts from before its begin until after its end. */
static void on_rare_call(event what, const CUpti_CallbackData *data) {
  bool enters = data->callbackSite == CUPTI_API_ENTER;
  switch (what) {
  case EVENT_CAPTURE_BEGINS:
    if (enters) guard_capture(1);
    if (enters) counters_break(data->context);
    return;
  case EVENT_UNMEASURED:
    if (enters) counters_break(data->context);
    return;
  case EVENT_GRAPH:
    on_graph_launch(data);
    return;
  case EVENT_CAPTURE_ENDS:
    if (!enters) guard_capture(-1);
    return;
  case EVENT_PROFILER_STARTS:
    if (!enters) units_profiler(true);
    return;
  case EVENT_PROFILER_STOPS:
    if (enters) units_profiler(false);
    return;
  case EVENT_NONE:
    return;
  }
}

static void on_call(CUpti_CallbackId id, const CUpti_CallbackData *data) {
  event what = event_of(id);
  if (what == EVENT_NONE)
    on_launch(id, data);
  else
    on_rare_call(what, data);
}

/* ---- resources ---- */

/* value: the context. */
typedef struct context_entry {
  log_entry entry;
  uint32_t device, null_stream;
} context_entry;

/* SPOOL_NO_ID: not known. */
static uint32_t device_of(CUcontext context) {
  uint32_t device = SPOOL_NO_ID;
  if (!cupti.cuptiGetDeviceId ||
      cupti.cuptiGetDeviceId(context, &device) != CUPTI_SUCCESS)
    return SPOOL_NO_ID;
  return device;
}

static void log_context(CUcontext context) {
  uint32_t id = 0, device = device_of(context), null_stream = SPOOL_NO_ID;
  if (device == SPOOL_NO_ID || !cupti.cuptiGetContextId ||
      cupti.cuptiGetContextId(context, &id) != CUPTI_SUCCESS)
    return;
  if (!cupti.cuptiGetStreamIdEx ||
      cupti.cuptiGetStreamIdEx(context, NULL, 0, &null_stream) != CUPTI_SUCCESS)
    null_stream = SPOOL_NO_ID;
  context_entry *e = log_reserve(LOG_CONTEXT, sizeof *e);
  if (!e) return;
  e->entry.value = id;
  e->device = device;
  e->null_stream = null_stream;
  log_commit();
}

typedef struct graph_node_entry {
  log_entry entry; /* value: the graph */
  uint64_t node, original;
} graph_node_entry;

static void log_graph_node(const CUpti_GraphData *g, bool cloned) {
  uint64_t node = 0, original = 0;
  uint32_t graph = 0;
  if (!cupti.cuptiGetGraphNodeId ||
      cupti.cuptiGetGraphNodeId(g->node, &node) != CUPTI_SUCCESS)
    return;
  if (cloned) (void)cupti.cuptiGetGraphNodeId(g->originalNode, &original);
  if (cupti.cuptiGetGraphId) (void)cupti.cuptiGetGraphId(g->graph, &graph);
  graph_node_entry *e = log_reserve(LOG_GRAPH_NODE, sizeof *e);
  if (!e) return;
  e->entry.value = graph;
  e->node = node;
  e->original = original;
  log_commit();
}

static void on_resource(CUpti_CallbackId id, const CUpti_ResourceData *data) {
  if (!guard_enter()) return;
  switch (id) {
  case CUPTI_CBID_RESOURCE_CONTEXT_CREATED:
    samples_context(device_of(data->context), true);
    log_context(data->context);
    exits_register();
    break;
  case CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING:
    counters_context_gone(data->context);
    samples_context(device_of(data->context), false);
    break;
  case CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED:
    log_graph_node(data->resourceDescriptor, false);
    break;
  case CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED:
    log_graph_node(data->resourceDescriptor, true);
    break;
  default:
    break;
  }
  guard_leave();
}

static void CUPTIAPI on_callback(void *unused, CUpti_CallbackDomain domain,
                                 CUpti_CallbackId id, const void *data) {
  (void)unused;
  if (domain == CUPTI_CB_DOMAIN_RESOURCE)
    on_resource(id, data);
  else if (domain == CUPTI_CB_DOMAIN_DRIVER_API && !guard_inside())
    on_call(id, data);
}

/* ---- subscription ---- */

/* Events that are rare and therefore always on. */
static void enable_rare(void) {
  for (size_t i = 0; i < sizeof known_calls / sizeof *known_calls; i++)
    if (known_calls[i].event != EVENT_UNMEASURED &&
        known_calls[i].event != EVENT_GRAPH) /* subscriber_launches */
      subscriber_enable(CUPTI_CB_DOMAIN_DRIVER_API, known_calls[i].id, true);
  subscriber_enable(CUPTI_CB_DOMAIN_RESOURCE,
                    CUPTI_CBID_RESOURCE_CONTEXT_CREATED, true);
  subscriber_enable(CUPTI_CB_DOMAIN_RESOURCE,
                    CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, true);
  if (!the_plan.graph_nodes) return;
  subscriber_enable(CUPTI_CB_DOMAIN_RESOURCE,
                    CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, true);
  subscriber_enable(CUPTI_CB_DOMAIN_RESOURCE,
                    CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, true);
}

bool callbacks_begin(void) {
  if (!subscriber_begin((CUpti_CallbackFunc)on_callback)) return false;
  enable_rare();
  return true;
}

/* ---- for the writer ---- */

bool callbacks_write(const log_entry *entry) {
  if (entry->type == LOG_CONTEXT) {
    const context_entry *e = (const void *)entry;
    places_context(entry->value, e->device, e->null_stream);
    samples_device(e->device);
    return true;
  }
  if (entry->type != LOG_GRAPH_NODE) return false;
  const graph_node_entry *e = (const void *)entry;
  spool_graph_node record = {.time = entry->time,
                             .node = e->node,
                             .original = e->original,
                             .graph = entry->value,
                             .tid = entry->tid};
  output_record(SPOOL_GRAPH_NODE, &record, sizeof record, NULL, 0);
  return true;
}

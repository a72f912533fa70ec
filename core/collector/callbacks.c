#include "collector/callbacks.h"

#include <stdatomic.h>

#include "collector/activity.h"
#include "collector/calls.h"
#include "collector/counters.h"
#include "collector/cupti_api.h"
#include "collector/diagnose.h"
#include "collector/exits.h"
#include "collector/guard.h"
#include "collector/output.h"
#include "collector/places.h"
#include "collector/plan.h"
#include "collector/samples.h"
#include "collector/sources.h"
#include "collector/subscriber.h"

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

static void (*profiler_told)(bool started);

void callbacks_profiler(void (*told)(bool started)) {
  profiler_told = told;
}

/* ---- calls of the driver ---- */

static void tell_source(const CUpti_CallbackData *data) {
  if (data->callbackSite == CUPTI_API_ENTER && activity_running())
    sources_launch(data->correlationId);
}

/* A capture counts from before its begin until after its end. */
static void on_call(CUpti_CallbackId id, const CUpti_CallbackData *data) {
  bool enters = data->callbackSite == CUPTI_API_ENTER;
  switch (subscriber_kind(id)) {
  case CALL_OTHER:
    return;
  case CALL_COPY:
    tell_source(data);
    return;
  case CALL_LAUNCH:
    tell_source(data);
    on_launch(id, data);
    return;
  case CALL_COOPERATIVE:
    tell_source(data);
    if (enters) counters_break(data->context);
    return;
  case CALL_GRAPH:
    tell_source(data);
    on_graph_launch(data);
    return;
  case CALL_CAPTURE_BEGINS:
    if (enters) guard_capture(1);
    if (enters) counters_break(data->context);
    return;
  case CALL_CAPTURE_ENDS:
    if (!enters) guard_capture(-1);
    return;
  case CALL_PROFILER_STARTS:
    if (!enters) profiler_told(true);
    return;
  case CALL_PROFILER_STOPS:
    if (enters) profiler_told(false);
    return;
  }
}

/* ---- resources ---- */

/* SPOOL_NO_ID: not known. */
static uint32_t device_of(CUcontext context) {
  uint32_t device = SPOOL_NO_ID;
  if (!cupti.cuptiGetDeviceId ||
      cupti.cuptiGetDeviceId(context, &device) != CUPTI_SUCCESS)
    return SPOOL_NO_ID;
  return device;
}

/* Its device. */
static void log_context(CUcontext context) {
  uint32_t device = device_of(context);
  log_entry *e =
      device == SPOOL_NO_ID ? NULL : log_reserve(LOG_CONTEXT, sizeof *e);
  if (!e) return;
  e->value = device;
  log_commit();
}

typedef struct graph_node_entry {
  log_entry entry;
  uint64_t node, original;
  uint32_t stack;
  uint32_t reserved;
} graph_node_entry;

static void log_graph_node(const CUpti_GraphData *g, bool cloned) {
  uint64_t node = 0, original = 0;
  if (!cupti.cuptiGetGraphNodeId ||
      cupti.cuptiGetGraphNodeId(g->node, &node) != CUPTI_SUCCESS)
    return;
  if (cloned) (void)cupti.cuptiGetGraphNodeId(g->originalNode, &original);
  graph_node_entry *e = log_reserve(LOG_GRAPH_NODE, sizeof *e);
  if (!e) return;
  e->node = node;
  e->original = original;
  e->stack = cloned ? 0 : sources_stack();
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
  if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
    on_resource(id, data);
    return;
  }
  if (guard_inside()) return;
  bool is_driver = domain == CUPTI_CB_DOMAIN_DRIVER_API;
  bool seen = subscriber_sees(domain, id, data);
  if (is_driver) on_call(id, data);
  if (seen) calls_callback(is_driver, id, data);
}

/* ---- subscription ---- */

static void enable_resource(CUpti_CallbackId id) {
  subscriber_enable(USE_ALWAYS, CUPTI_CB_DOMAIN_RESOURCE, id, true);
}

static void enable_rare(void) {
  subscriber_use(USE_ALWAYS, true);
  enable_resource(CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
  enable_resource(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
  if (!the_plan.graph_nodes) return;
  enable_resource(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED);
  enable_resource(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);
}

/* Contexts that were there before us. Only primary ones can be asked for, as
 * those of CUDA's runtime are. */
static void see_contexts(void) {
  CUdevice device;
  CUcontext context;
  unsigned flags;
  int active = 0;
  for (int i = 0;
       driver_load() && driver.cuDeviceGet(&device, i) == CUDA_SUCCESS; i++) {
    if (driver.cuDevicePrimaryCtxGetState(device, &flags, &active) !=
            CUDA_SUCCESS ||
        !active ||
        driver.cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS)
      continue;
    samples_context((uint32_t)i, true);
    log_context(context);
    (void)driver.cuDevicePrimaryCtxRelease_v2(device);
  }
  exits_register();
}

static enum {
  IDLE,
  RUNNING,
  REFUSED, /* once is enough, until the next begin after an end */
} having;
static atomic_bool driver_there, driver_begins;

void callbacks_driver(bool initialising) {
  atomic_store(&driver_begins, initialising);
  atomic_store(&driver_there, true);
}

static bool get_cupti(void) {
  const char *why = NULL;
  if (!cupti_load(the_plan.cupti, &why)) {
    diagnose(SPOOL_ERROR, "no_cupti", "%s", why);
    return false;
  }
  (void)driver_load();
  if (!subscriber_begin((CUpti_CallbackFunc)on_callback)) {
    cupti_forget(); /* nothing more of it may be called */
    return false;
  }
  return true;
}

bool callbacks_begin(void) {
  if (!atomic_load(&driver_there)) return false;
  if (having != IDLE) return having == RUNNING;
  having = REFUSED;
  if (!get_cupti()) return false;
  if (the_plan.yield)
    subscriber_end(); /* nobody had it */
  else
    enable_rare();
  activity_prepare();
  if (!atomic_load(&driver_begins)) see_contexts();
  having = RUNNING;
  return true;
}

/* Who came while we had no subscription has our buffers. */
static void tell_yielded(void) {
  char other[64] = "";
  if (subscriber_other(other, sizeof other))
    diagnose(SPOOL_WARNING, "yielded",
             "CUPTI went to another client%s%s, as torch.profiler is, while "
             "this unit was recorded, which has nothing from then on",
             other[0] ? ", " : "", other);
}

void callbacks_end(void) {
  if (having == RUNNING && the_plan.yield) tell_yielded();
  if (having == RUNNING) {
    activity_release();
    subscriber_end();
    samples_unseen();
  }
  having = IDLE;
}

void callbacks_forget(void) {
  having = IDLE;
  atomic_store(&driver_there, false);
  atomic_store(&driver_begins, false);
}

/* ---- for the writer ---- */

bool callbacks_keep(const log_entry *entry) {
  if (entry->type != LOG_GRAPH_NODE) return false;
  const graph_node_entry *e = (const void *)entry;
  sources_node(e->node, e->original, e->stack);
  return true;
}

bool callbacks_write(const log_entry *entry) {
  if (entry->type == LOG_CONTEXT) {
    places_seen(entry->value);
    samples_device(entry->value);
    return true;
  }
  return callbacks_keep(entry);
}

/* A stand-in for libcuda.so.1: two devices with a context each, kernels that do
 * nothing. The second context is made when it is first set. cuInit loads the
 * library of CUDA_INJECTION64_PATH, as the driver does. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "standin.h"

standin_hooks standin;
static int contexts[STANDIN_DEVICES];
static atomic_bool initialised;
static atomic_bool made[STANDIN_DEVICES] = {true}; /* contexts */
static _Thread_local unsigned current;

CUcontext standin_context(void) {
  return (CUcontext)(void *)&contexts[current];
}

unsigned standin_device(CUcontext context) {
  return (unsigned)((int *)(void *)context - contexts);
}

static void inject(void) {
  const char *path = getenv("CUDA_INJECTION64_PATH");
  void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  void *found = library ? dlsym(library, "InitializeInjection") : NULL;
  int (*begin)(void);
  memcpy(&begin, &found, sizeof begin);
  if (found) begin();
  if (standin.context) standin.context(standin_context(), true);
  initialised = true;
}

CUresult cuInit(unsigned flags) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, inject);
  return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version) {
  *version = 13000;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *out) {
  *out = standin_context();
  return CUDA_SUCCESS;
}

/* Of a device, for what is its context here. */
CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice device) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  if (device < 0 || device >= STANDIN_DEVICES) return CUDA_ERROR_INVALID_DEVICE;
  *out = (CUcontext)(void *)&contexts[device];
  pthread_mutex_lock(&lock);
  if (!made[device] && standin.context) standin.context(*out, true);
  made[device] = true;
  pthread_mutex_unlock(&lock);
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  return device < STANDIN_DEVICES ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags,
                                    int *active) {
  *flags = 0;
  *active = made[device];
  return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream stream) {
  const char *us = getenv("VICTIM_WAITS");
  if (standin.wait) standin.wait(stream, true);
  if (us) usleep((useconds_t)atoi(us));
  if (standin.wait) standin.wait(stream, false);
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context) {
  current = standin_device(context);
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *out) {
  *out = (CUdevice)current;
  return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize(void) {
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *out, int ordinal) {
  *out = ordinal;
  if (!initialised) return CUDA_ERROR_NOT_INITIALIZED;
  return ordinal >= 0 && ordinal < STANDIN_DEVICES ? CUDA_SUCCESS
                                                   : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGetName(char *out, int size, CUdevice device) {
  snprintf(out, (size_t)size, "Stand-in GPU");
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid *out, CUdevice device) {
  memset(out, 7, sizeof *out);
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem(size_t *out, CUdevice device) {
  *out = (size_t)80 << 30;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *out, CUdevice_attribute which,
                              CUdevice device) {
  *out = which == CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE ? 50 << 20
         : which == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID  ? device + 1
                                                    : 132;
  return CUDA_SUCCESS;
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) {
  return CUDA_SUCCESS;
}

CUresult cuMemAlloc(CUdeviceptr *out, size_t size) {
  *out = 4096;
  return size ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemFree(CUdeviceptr memory) {
  return CUDA_SUCCESS;
}

CUresult cuMemsetD8Async(CUdeviceptr memory, unsigned char value, size_t size,
                         CUstream stream) {
  return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule *out, const void *image) {
  *out = (CUmodule)(void *)(uintptr_t)image;
  return getenv("STANDIN_NO_COMPILER") ? CUDA_ERROR_JIT_COMPILER_NOT_FOUND
                                       : CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule module) {
  return module ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuModuleGetFunction(CUfunction *out, CUmodule module,
                             const char *name) {
  static standin_kernel kernel;
  kernel.name = name;
  *out = (CUfunction)(void *)&kernel;
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                        unsigned grid_z, unsigned block_x, unsigned block_y,
                        unsigned block_z, unsigned shared, CUstream stream,
                        void **parameters, void **extra) {
  standin_launch launch = {(const void *)function,
                           {grid_x, grid_y, grid_z},
                           {block_x, block_y, block_z},
                           shared};
  if (standin.launch) standin.launch(&launch, true);
  if (standin.launch) standin.launch(&launch, false);
  return CUDA_SUCCESS;
}

/* As a stream that is captured makes one. */
CUresult cuGraphAddKernelNode(CUgraphNode *out, CUgraph graph,
                              const CUgraphNode *before, size_t count,
                              const CUDA_KERNEL_NODE_PARAMS *parameters) {
  static atomic_ulong last = 100;
  standin_node *node = calloc(1, sizeof *node);
  if (!node) return CUDA_ERROR_OUT_OF_MEMORY;
  node->id = atomic_fetch_add(&last, 1);
  *out = (CUgraphNode)(void *)node;
  if (standin.node) standin.node(node, NULL);
  return CUDA_SUCCESS;
}

/* A node whose work is in another graph. */
CUresult cuGraphAddChildGraphNode(CUgraphNode *out, CUgraph graph,
                                  const CUgraphNode *before, size_t count,
                                  CUgraph child) {
  static atomic_ulong last = 500;
  standin_node *node = calloc(1, sizeof *node);
  if (!node) return CUDA_ERROR_OUT_OF_MEMORY;
  *node = (standin_node){atomic_fetch_add(&last, 1), true};
  *out = (CUgraphNode)(void *)node;
  if (standin.node) standin.node(node, NULL);
  return CUDA_SUCCESS;
}

/* Of a graph that has this one node. Kernels of child graphs are numbered
 * behind the nodes, and no callback tells of those numbers. */
CUresult cuGraphInstantiate(CUgraphExec *out, CUgraph graph,
                            unsigned long long flags) {
  static const standin_kernel kernel = {"_Z4nodev"}, inner = {"_Z5innerv"};
  static atomic_ulong last = 9000;
  const standin_node *of = (const void *)graph;
  standin_graph *g = calloc(1, sizeof *g);
  if (!g) return CUDA_ERROR_OUT_OF_MEMORY;
  *g = (standin_graph){
      .number = 5, .count = 1, .kernels = {of->child ? &inner : &kernel}};
  standin_node node = {atomic_fetch_add(&last, 1) << 32, false};
  *out = (CUgraphExec)(void *)g;
  if (standin.node) standin.node(&node, of);
  g->nodes[0].id = node.id + of->child;
  return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec graph, CUstream stream) {
  standin.graphs++;
  if (standin.graph) standin.graph((const void *)graph, true);
  if (standin.graph) standin.graph((const void *)graph, false);
  return CUDA_SUCCESS;
}

CUresult cuProfilerStart(void) {
  if (standin.profiler) standin.profiler(true, true);
  if (standin.profiler) standin.profiler(true, false);
  return CUDA_SUCCESS;
}

CUresult cuProfilerStop(void) {
  if (standin.profiler) standin.profiler(false, true);
  if (standin.profiler) standin.profiler(false, false);
  return CUDA_SUCCESS;
}

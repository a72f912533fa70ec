/* A stand-in for libcuda.so.1: one device, one context, kernels that do
 * nothing. cuInit loads the library of CUDA_INJECTION64_PATH, as the driver
 * does. */
#include <cudaProfiler.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "standin.h"

standin_hooks standin;
static int context;

CUcontext standin_context(void) {
  return (CUcontext)(void *)&context;
}

static void inject(void) {
  const char *path = getenv("CUDA_INJECTION64_PATH");
  void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  void *found = library ? dlsym(library, "InitializeInjection") : NULL;
  int (*begin)(void);
  memcpy(&begin, &found, sizeof begin);
  if (found) begin();
  if (standin.context) standin.context(true);
}

CUresult cuInit(unsigned flags) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)flags;
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

CUresult cuCtxGetDevice(CUdevice *out) {
  *out = 0;
  return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize(void) {
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *out, int ordinal) {
  *out = ordinal;
  return ordinal == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGetName(char *out, int size, CUdevice device) {
  (void)device;
  snprintf(out, (size_t)size, "Stand-in GPU");
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid *out, CUdevice device) {
  (void)device;
  memset(out, 7, sizeof *out);
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem(size_t *out, CUdevice device) {
  (void)device;
  *out = (size_t)80 << 30;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *out, CUdevice_attribute which,
                              CUdevice device) {
  (void)device;
  *out = which == CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE ? 50 << 20 : 132;
  return CUDA_SUCCESS;
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) {
  (void)mode;
  return CUDA_SUCCESS;
}

CUresult cuMemAlloc(CUdeviceptr *out, size_t size) {
  *out = 4096;
  return size ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemFree(CUdeviceptr memory) {
  (void)memory;
  return CUDA_SUCCESS;
}

CUresult cuMemsetD8Async(CUdeviceptr memory, unsigned char value, size_t size,
                         CUstream stream) {
  (void)memory, (void)value, (void)size, (void)stream;
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                        unsigned grid_z, unsigned block_x, unsigned block_y,
                        unsigned block_z, unsigned shared, CUstream stream,
                        void **parameters, void **extra) {
  (void)stream, (void)parameters, (void)extra;
  standin_launch launch = {(const void *)function,
                           {grid_x, grid_y, grid_z},
                           {block_x, block_y, block_z},
                           shared};
  if (standin.launch) standin.launch(&launch, true);
  if (standin.launch) standin.launch(&launch, false);
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

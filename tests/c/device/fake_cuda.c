/* A stand-in for the CUDA driver: counts what is held, and fails in the call
 * that the test names. */
#include <stddef.h>
#include <string.h>

typedef int cu_result;
typedef struct context *cu_context;
typedef struct module *cu_module;
typedef struct function *cu_function;

enum {
  ERROR_INVALID_DEVICE = 101,
  ERROR_NAMELESS = 7,
  ERROR_LAUNCH_FAILED = 719,
};

/* Set and read by tests. */
const char *fake_cuda_failing;                   /* name of a call, or NULL */
cu_result fake_cuda_error = ERROR_LAUNCH_FAILED; /* what it returns */
int fake_cuda_contexts, fake_cuda_launches;

static cu_result result_of(const char *call) {
  return fake_cuda_failing && strcmp(fake_cuda_failing, call) == 0
             ? fake_cuda_error
             : 0;
}

cu_result cuInit(unsigned flags) {
  return result_of("cuInit");
}

/* Two devices. */
cu_result cuDeviceGet(int *device, int ordinal) {
  *device = ordinal + 40;
  return ordinal < 2 ? result_of("cuDeviceGet") : ERROR_INVALID_DEVICE;
}

cu_result cuDevicePrimaryCtxRetain(cu_context *context, int device) {
  *context = NULL;
  cu_result result = result_of("cuDevicePrimaryCtxRetain");
  if (result == 0) fake_cuda_contexts++;
  return result;
}

cu_result cuDevicePrimaryCtxRelease_v2(int device) {
  fake_cuda_contexts--;
  return 0;
}

cu_result cuCtxSetCurrent(cu_context context) {
  return result_of("cuCtxSetCurrent");
}

cu_result cuCtxSynchronize(void) {
  return result_of("cuCtxSynchronize");
}

cu_result cuModuleLoadData(cu_module *module, const void *image) {
  *module = NULL;
  return strstr(image, ".entry llmprof_probe()") ? result_of("cuModuleLoadData")
                                                 : ERROR_NAMELESS;
}

cu_result cuModuleGetFunction(cu_function *function, cu_module module,
                              const char *name) {
  *function = NULL;
  return strcmp(name, "llmprof_probe") == 0 ? result_of("cuModuleGetFunction")
                                            : ERROR_NAMELESS;
}

#ifndef FAKE_OLD
cu_result cuLaunchKernel(cu_function function, unsigned grid_x, unsigned grid_y,
                         unsigned grid_z, unsigned block_x, unsigned block_y,
                         unsigned block_z, unsigned shared_bytes, void *stream,
                         void **parameters, void **extra) {
  if (grid_x * grid_y * grid_z * block_x * block_y * block_z != 1 ||
      shared_bytes)
    return ERROR_NAMELESS;
  fake_cuda_launches++;
  return result_of("cuLaunchKernel");
}
#endif

cu_result cuGetErrorName(cu_result error, const char **name) {
  if (error == ERROR_INVALID_DEVICE) *name = "CUDA_ERROR_INVALID_DEVICE";
  if (error == ERROR_LAUNCH_FAILED) *name = "CUDA_ERROR_LAUNCH_FAILED";
  return error == ERROR_NAMELESS;
}

#include "device/cuda.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

/* Of cuda.h, what is needed here; the driver's interface is stable. */
typedef int cu_result; /* 0: success */
typedef int cu_device;
typedef struct cu_context *cu_context;
typedef struct cu_module *cu_module;
typedef struct cu_function *cu_function;

typedef struct driver {
  void *library;
  cu_result (*init)(unsigned flags);
  cu_result (*device_get)(cu_device *device, int ordinal);
  cu_result (*context_retain)(cu_context *context, cu_device device);
  cu_result (*context_release)(cu_device device);
  cu_result (*context_set)(cu_context context);
  cu_result (*context_sync)(void);
  cu_result (*module_load)(cu_module *module, const void *image);
  cu_result (*module_function)(cu_function *function, cu_module module,
                               const char *name);
  cu_result (*launch)(cu_function function, unsigned grid_x, unsigned grid_y,
                      unsigned grid_z, unsigned block_x, unsigned block_y,
                      unsigned block_z, unsigned shared_bytes, void *stream,
                      void **parameters, void **extra);
  cu_result (*error_name)(cu_result error, const char **name);
} driver;

static const char kernel[] = ".version 6.0\n"
                             ".target sm_50\n"
                             ".address_size 64\n"
                             ".visible .entry llmprof_probe()\n"
                             "{\n"
                             "  ret;\n"
                             "}\n";

/* A function pointer out of dlsym, which gives an object pointer. */
static bool find(void *library, const char *name, void *function) {
  void *found = dlsym(library, name);
  memcpy(function, &found, sizeof found);
  return found != NULL;
}

static bool load(driver *d, llmprof_error *err) {
  d->library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!d->library)
    return llmprof_fail(err, LLMPROF_NOTFOUND,
                        "no CUDA driver (libcuda.so.1) here");
  if (find(d->library, "cuInit", &d->init) &&
      find(d->library, "cuDeviceGet", &d->device_get) &&
      find(d->library, "cuDevicePrimaryCtxRetain", &d->context_retain) &&
      find(d->library, "cuDevicePrimaryCtxRelease_v2", &d->context_release) &&
      find(d->library, "cuCtxSetCurrent", &d->context_set) &&
      find(d->library, "cuCtxSynchronize", &d->context_sync) &&
      find(d->library, "cuModuleLoadData", &d->module_load) &&
      find(d->library, "cuModuleGetFunction", &d->module_function) &&
      find(d->library, "cuLaunchKernel", &d->launch) &&
      find(d->library, "cuGetErrorName", &d->error_name))
    return true;
  return llmprof_fail(err, LLMPROF_UNSUPPORTED, "libcuda.so.1 is too old: %s",
                      dlerror());
}

static bool ok(const driver *d, cu_result result, const char *what,
               llmprof_error *err) {
  if (result == 0) return true;
  const char *name = NULL;
  d->error_name(result, &name);
  return llmprof_fail(err, LLMPROF_IO, "%s: %s", what,
                      name ? name : "unknown CUDA error");
}

static bool launch(const driver *d, llmprof_error *err) {
  cu_module module;
  cu_function function;
  return ok(d, d->module_load(&module, kernel), "cuModuleLoadData", err) &&
         ok(d, d->module_function(&function, module, "llmprof_probe"),
            "cuModuleGetFunction", err) &&
         ok(d, d->launch(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
            "cuLaunchKernel", err) &&
         ok(d, d->context_sync(), "cuCtxSynchronize", err);
}

bool llmprof_cuda_probe(int ordinal, llmprof_error *err) {
  driver d = {0};
  cu_device device;
  cu_context context;
  /* The library stays loaded: unloading a driver is not supported. */
  if (!load(&d, err) || !ok(&d, d.init(0), "cuInit", err) ||
      !ok(&d, d.device_get(&device, ordinal), "cuDeviceGet", err) ||
      !ok(&d, d.context_retain(&context, device), "cuDevicePrimaryCtxRetain",
          err))
    return false;
  bool done =
      ok(&d, d.context_set(context), "cuCtxSetCurrent", err) && launch(&d, err);
  d.context_release(device);
  return done;
}

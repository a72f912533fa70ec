#include "collector/cupti_api.h"

#include <dlfcn.h>
#include <string.h>

cupti_api cupti;
driver_api driver;

/* A function out of dlsym, which gives an object's address. */
static bool find(void *library, const char *name, void *function) {
  void *found = dlsym(library, name);
  memcpy(function, &found, sizeof found);
  return found != NULL;
}

/* One that the program has loaded comes first: two of them would be two
 * clients. */
static void *open_cupti(const char *path) {
  static const char *const loaded[] = {"libcupti.so.13", "libcupti.so.12",
                                       "libcupti.so"};
  static const char *const elsewhere[] = {
      "libcupti.so.13",
      "libcupti.so.12",
      "/usr/local/cuda/lib64/libcupti.so",
      "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
      "libcupti.so",
  };
  void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  for (size_t i = 0; !library && i < sizeof loaded / sizeof *loaded; i++)
    library = dlopen(loaded[i], RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  for (size_t i = 0; !library && i < sizeof elsewhere / sizeof *elsewhere; i++)
    library = dlopen(elsewhere[i], RTLD_NOW | RTLD_LOCAL);
  return library;
}

static bool look_up(void *library) {
#define X(name) \
  if (!find(library, #name, &cupti.name)) return false;
  CUPTI_NEEDED(X)
#undef X
#define X(name) (void)find(library, #name, &cupti.name);
  CUPTI_OPTIONAL(X)
#undef X
  uint32_t version;
  if (cupti.cuptiGetVersion(&version) != CUPTI_SUCCESS) return false;
  (void)driver_load(); /* before another thread sees that there is a version */
  cupti.version = version;
  return true;
}

bool cupti_load(const char *path, const char **why) {
  static const char *fault; /* of an earlier call */
  if (cupti.version) return true;
  if (!fault) {
    void *library = open_cupti(path);
    if (!library)
      fault = "no libcupti found: name one with cupti=PATH in the plan";
    else if (!look_up(library))
      fault = "this libcupti is too old: 12.0 or later is needed";
    else
      return true;
  }
  *why = fault;
  return false;
}

void cupti_forget(void) {
  cupti.version = 0;
}

bool driver_load(void) {
  static _Atomic bool loaded;
  if (loaded) return true;
  void *found = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (!found) return false;
#define X(name) \
  if (!find(found, #name, &driver.name)) return false;
  DRIVER_NEEDED(X)
#undef X
  loaded = true;
  return true;
}

bool driver_alive(void) {
  CUcontext context;
  (void)driver_load();
  return !driver.cuCtxGetCurrent ||
         driver.cuCtxGetCurrent(&context) != CUDA_ERROR_DEINITIALIZED;
}

const char *cupti_result_name(CUptiResult result) {
  const char *name = NULL;
  if (cupti.cuptiGetResultString) cupti.cuptiGetResultString(result, &name);
  return name ? name : "unknown CUPTI error";
}

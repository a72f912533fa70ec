/* What records of kernels cost at least: CUPTI's, whose buffers are dropped.
 * cc -shared -fPIC -o floor.so floor.c -ldl; CUDA_INJECTION64_PATH names it. */
#include <cupti.h>
#include <dlfcn.h>
#include <stdlib.h>

enum {
  SIZE = 8 << 20
};

static void CUPTIAPI give(uint8_t **bytes, size_t *size, size_t *records) {
  *bytes = malloc(SIZE);
  *size = *bytes ? SIZE : 0;
  *records = 0;
}

static void CUPTIAPI drop(CUcontext context, uint32_t stream, uint8_t *bytes,
                          size_t size, size_t valid) {
  (void)context, (void)stream, (void)size, (void)valid;
  free(bytes);
}

int InitializeInjection(void);
int InitializeInjection(void) {
  void *library = dlopen("libcupti.so.13", RTLD_NOW);
  if (!library) abort();
  __typeof__(cuptiActivityRegisterCallbacks) *take =
      (__typeof__(take))dlsym(library, "cuptiActivityRegisterCallbacks");
  __typeof__(cuptiActivityEnable) *enable =
      (__typeof__(enable))dlsym(library, "cuptiActivityEnable");
  if (!take || !enable || take(give, drop) != CUPTI_SUCCESS ||
      enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) != CUPTI_SUCCESS)
    abort();
  return 1;
}

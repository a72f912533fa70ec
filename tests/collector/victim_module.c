/* A module of its own: NVTX is initialised once for each. */
#include <nvtx3/nvToolsExt.h>

int module_marks(void);

int module_marks(void) {
  int outer = nvtxRangePushA("module");
  int inner = nvtxRangePushA("inner");
  nvtxRangePop();
  nvtxRangePop();
  return inner - outer;
}

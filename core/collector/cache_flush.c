#include "collector/cache_flush.h"

#include "collector/diagnose.h"
#include "collector/places.h"

/* Reads a word of each sector of 32 bytes, which are 0: it writes nothing. What
 * was written to memory meanwhile leaves the cache, and what comes into it need
 * not be written back, as it would after memory was set: that would count as
 * the measured kernel's writing. For any GPU: the driver compiles it. */
static const char reader[] =
    ".version 6.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry llmprof_read(.param .u64 at, .param .u64 sectors) {\n"
    ".reg .b64 %d<6>; .reg .b32 %r<8>; .reg .pred %p<3>;\n"
    "ld.param.u64 %d1, [at]; ld.param.u64 %d2, [sectors];\n"
    "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;\n"
    "mad.lo.u32 %r4, %r1, %r2, %r3; cvt.u64.u32 %d3, %r4;\n"
    "mov.u32 %r5, %nctaid.x; mul.lo.u32 %r5, %r5, %r2; cvt.u64.u32 %d4, %r5;\n"
    "mov.u32 %r6, 0;\n"
    "more: setp.ge.u64 %p1, %d3, %d2; @%p1 bra done;\n"
    "shl.b64 %d5, %d3, 5; add.u64 %d5, %d5, %d1;\n"
    "ld.global.cg.u32 %r7, [%d5]; or.b32 %r6, %r6, %r7;\n"
    "add.u64 %d3, %d3, %d4; bra more;\n"
    "done: setp.eq.u32 %p2, %r6, 0; @%p2 bra end;\n"
    "st.global.u32 [%d1], %r6;\n"
    "end: ret;\n}\n";

enum {
  SECTOR = 32,
  GRID = 1024,
  BLOCK = 256,
};

static size_t cache_size(void) {
  CUdevice device;
  int bytes = 0;
  if (driver.cuCtxGetDevice(&device) != CUDA_SUCCESS ||
      driver.cuDeviceGetAttribute(&bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE,
                                  device) != CUDA_SUCCESS ||
      bytes <= 0)
    return 0;
  return (size_t)bytes;
}

/* Three times the cache, so that nothing of it is left. */
void cache_flush_open(cache_flush *e) {
  *e = (cache_flush){.size = 3 * cache_size()};
  if (e->size == 0 ||
      driver.cuMemAlloc_v2(&e->scratch, e->size) != CUDA_SUCCESS) {
    e->scratch = 0;
    return;
  }
  (void)driver.cuMemsetD8Async(e->scratch, 0, e->size, NULL);
  if (driver.cuModuleLoadData(&e->module, reader) != CUDA_SUCCESS)
    e->module = NULL;
  if (!e->module || driver.cuModuleGetFunction(&e->reader, e->module,
                                               "llmprof_read") != CUDA_SUCCESS)
    e->reader = NULL;
  if (!e->reader)
    diagnose(
        SPOOL_WARNING, "cache",
        "the L2 cache is emptied by writing, as the driver cannot compile: "
        "kernels seem to write more");
}

void cache_flush_close(cache_flush *e) {
  if (e->module) (void)driver.cuModuleUnload(e->module);
  if (e->scratch) (void)driver.cuMemFree_v2(e->scratch);
  *e = (cache_flush){0};
}

static bool read_all(const cache_flush *e) {
  CUdeviceptr at = e->scratch;
  uint64_t sectors = e->size / SECTOR;
  void *parameters[] = {&at, &sectors};
  return driver.cuLaunchKernel(e->reader, GRID, 1, 1, BLOCK, 1, 1, 0, NULL,
                               parameters, NULL) == CUDA_SUCCESS;
}

bool cache_flush_run(const cache_flush *e) {
  if (!e->scratch) return false;
  bool touched = e->reader ? read_all(e)
                           : driver.cuMemsetD8Async(e->scratch, 0, e->size,
                                                    NULL) == CUDA_SUCCESS;
  return touched && driver.cuCtxSynchronize() == CUDA_SUCCESS;
}

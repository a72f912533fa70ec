/* The smallest CUDA program: one empty kernel on one device, to find out
 * whether a profiler may measure it.
 *
 * The driver is loaded when asked for and never linked. The kernel is PTX that
 * the driver compiles, so no CUDA Toolkit is needed, at build or run time. */
#ifndef LLMPROF_CUDA_H
#define LLMPROF_CUDA_H

#include <stdbool.h>

#include "llmprof/error.h"

/* Launch an empty kernel on a device and wait for it. Fails with NOTFOUND
 * without a driver or such a device, with IO when the driver refuses. */
bool llmprof_cuda_probe(int device, llmprof_error *err);

#endif

/* What the stand-ins for libcuda and libcupti tell each other. */
#ifndef STANDIN_H
#define STANDIN_H

#include <cuda.h>
#include <stdbool.h>

/* A kernel of the stand-in: what a CUfunction points to. */
typedef struct standin_kernel {
  const char *name;
} standin_kernel;

typedef struct standin_launch {
  const standin_kernel *kernel;
  unsigned grid[3], block[3];
  unsigned shared;
} standin_launch;

/* Set by the stand-in of libcupti when it is loaded. */
typedef struct standin_hooks {
  void (*launch)(const standin_launch *launch, bool enters);
  void (*profiler)(bool starts, bool enters);
  void (*context)(bool created);
} standin_hooks;

extern standin_hooks standin;

/* The one context. */
CUcontext standin_context(void);

#endif

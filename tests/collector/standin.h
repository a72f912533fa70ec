/* What the stand-ins for libcuda and libcupti tell each other. */
#ifndef STANDIN_H
#define STANDIN_H

#include <cuda.h>
#include <stdbool.h>

/* Functions take what NVIDIA's header says, and need little of it. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* cudaProfiler.h, which not every set of headers has. */
CUresult CUDAAPI cuProfilerStart(void);
CUresult CUDAAPI cuProfilerStop(void);

/* A kernel of the stand-in: what a CUfunction points to. */
typedef struct standin_kernel {
  const char *name;
} standin_kernel;

/* What a CUgraphNode points to. */
typedef struct standin_node {
  unsigned long id; /* as CUPTI has it */
  bool child;       /* another graph */
} standin_node;

/* What a CUgraphExec points to. */
typedef struct standin_graph {
  unsigned number; /* as CUPTI has it */
  unsigned count;
  const standin_kernel *kernels[4];
  standin_node nodes[4]; /* id 0: CUPTI makes one up */
} standin_graph;

typedef struct standin_launch {
  const standin_kernel *kernel;
  unsigned grid[3], block[3];
  unsigned shared;
} standin_launch;

/* Set by the stand-in of libcupti when it is loaded, on any thread. */
typedef struct standin_hooks {
  void (*_Atomic launch)(const standin_launch *launch, bool enters);
  void (*_Atomic graph)(const standin_graph *graph, bool enters);
  void (*_Atomic node)(const standin_node *node, const standin_node *original);
  void (*_Atomic profiler)(bool starts, bool enters);
  void (*_Atomic context)(CUcontext context, bool created);
  void (*_Atomic wait)(CUstream stream, bool enters);
  _Atomic unsigned graphs; /* launched, whoever listened */
} standin_hooks;

extern standin_hooks standin;

enum {
  STANDIN_DEVICES = 2
};

/* The calling thread's context, the first one unless it set another; and its
 * device, which is its number, too. */
CUcontext standin_context(void);
unsigned standin_device(CUcontext context);

#endif

/* A framework's operators, from a Chrome trace of torch.profiler: what called
 * what on the CPU, and which operator launched which GPU operation.
 *
 * Kept are complete events of the categories cpu_op (operators), cuda_runtime
 * and cuda_driver (calls), kernel, gpu_memcpy and gpu_memset (GPU operations),
 * user_annotation (marks: ranges that the program named); some 100 bytes each.
 * An event without a start, or with a duration that is missing or negative, is
 * counted and left out.
 *
 * Nesting: an operator or call lies inside the innermost one of its thread
 * that is running when it starts and does not end before it. Traces that hold
 * whole microseconds only are cut off, so there an end may lie 1 us beyond.
 *
 * A GPU operation belongs to the operator with its External id; else to that
 * of the call with its correlation; else to the operator around that call. */
#ifndef LLMPROF_OPERATORS_H
#define LLMPROF_OPERATORS_H

#include <stddef.h>
#include <stdint.h>

#include "llmprof/error.h"
#include "llmprof/frame.h"

typedef struct llmprof_operators llmprof_operators;

typedef struct llmprof_operators_info {
  size_t host;         /* operators and calls */
  size_t gpu;          /* GPU operations */
  size_t left_out;     /* events of these categories without usable times */
  int64_t first, last; /* ns, of everything kept; both 0 when that is nothing */
} llmprof_operators_info;

/* NULL on failure: what llmprof_chrome_next reports. */
llmprof_operators *llmprof_operators_load(const char *path, llmprof_error *err);
void llmprof_operators_free(llmprof_operators *operators);

llmprof_operators_info llmprof_operators_about(const llmprof_operators *o);

/* A frame, which borrows from the operators; NULL on failure (NOTFOUND).
 *
 * "host", a row for each operator and call:
 *   name, shapes (JSON text; absent where not recorded), thread (a number of
 *   its own), parent (row), duration, self (ns; duration without what it
 *   called), outer (duration; absent inside a call of the same name, so that
 *   sums count no time twice), calls (1; 0 where it is all that an operator of
 *   the same name around it calls: PyTorch dispatches it again, and its
 *   key_averages count both as one), device_self, device_outer (ns of the GPU
 *   operations that it launched itself, and with what it called; absent for
 *   calls, and when the trace has no GPU operation)
 * "gpu", a row for each GPU operation:
 *   name, operator (name; absent when none launched it), start, duration,
 *   device, stream, launched (ns: when its call began, else its operator),
 *   mark (row: the innermost on the launching thread)
 * "marks", a row for each mark:
 *   name, parent (row)
 * "memory", a row for each device that PyTorch's allocators told of:
 *   type (0: the CPU), device (its number), events, allocated, reserved (the
 *   most bytes that were given out and held) */
llmprof_frame *llmprof_operators_frame(llmprof_operators *operators,
                                       const char *name, llmprof_error *err);

#endif

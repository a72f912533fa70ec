/* Loops whose parts run on several threads, with the same result for any number
 * of them: the results of parts are taken in order. Threads live as long as a
 * loop; what they use belongs to the caller. Private to the core. */
#ifndef LLMPROF_THREAD_POOL_H
#define LLMPROF_THREAD_POOL_H

#include <stdbool.h>
#include <stddef.h>

#include "llmprof/error.h"

/* Does part `part`, of those below `parts`; `worker` is below the size of the
 * pool and one thread's at a time, so that each worker may have its own buffer.
 * False ends the loop; err may be left as it is, and then the loop's has code
 * 0. */
typedef bool (*llmprof_parallel_step)(void *user, size_t worker, size_t part,
                                      llmprof_error *err);

typedef struct llmprof_parallel_loop {
  size_t parts;
  llmprof_parallel_step work; /* several at once, begun in order */
  llmprof_parallel_step take; /* after it, one at a time, in order; or NULL */
  void *user;
} llmprof_parallel_loop;

/* Workers for this many parts: as LLMPROF_BOUND_THREADS says, or as the machine
 * has processors, less those of processes that were forked; 1 within a loop. */
size_t llmprof_thread_pool_size(size_t parts);

/* The caller is worker 0; threads that cannot be started are done without. On
 * failure the error is that of the first part that failed, as that left it, and
 * nothing that comes after it was taken. Signals are left to the caller's
 * thread. */
bool llmprof_parallel_for(const llmprof_parallel_loop *loop, size_t size,
                          llmprof_error *err);

#endif

/* A second process that goes on from here: it has all that this one has, as it
 * is now, works on something beside it, and hands over bytes when it ends.
 *
 *   llmprof_fork *other;
 *   switch (llmprof_fork_start(&other, &err)) {
 *   case 0: llmprof_fork_end(other, bytes, size);  // in the second process
 *   case 1: llmprof_fork_wait(other, &buffer, &err);  // in the first
 *   }
 *   llmprof_fork_free(other);
 *
 * The second one hears of no SIGINT, SIGTERM or SIGHUP: who started it ends it,
 * by llmprof_fork_free or by its own end, whatever that is. The bound on bytes
 * of memory is of both together. What it writes to files is written; of what
 * it holds, nothing is given back or finished but by the system.
 *
 * No other thread of the process may run when one is started. */
#ifndef LLMPROF_FORK_H
#define LLMPROF_FORK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "llmprof/buffer.h"
#include "llmprof/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct llmprof_fork llmprof_fork;

/* 1 in the first process, 0 in the second, which has to end by
 * llmprof_fork_end; -1 where there is none: UNSUPPORTED in a second process, or
 * where the system has no files in memory; LIMIT, NOMEM. */
int llmprof_fork_start(llmprof_fork **made, llmprof_error *err);

/* In the second process: hand over these bytes and end. NULL: it came to
 * nothing, which fails llmprof_fork_wait. */
#ifdef __cplusplus
[[noreturn]]
#else
_Noreturn
#endif
void llmprof_fork_end(llmprof_fork *own, const void *bytes, size_t size);

/* Wait for the end, and replace what `bytes` holds by what was handed over.
 * INTERRUPTED: it runs on. IO: it has ended without, whoever ended it. */
bool llmprof_fork_wait(llmprof_fork *other, llmprof_buffer *bytes,
                       llmprof_error *err);

/* Has it ended? */
bool llmprof_fork_ended(const llmprof_fork *other);

pid_t llmprof_fork_pid(const llmprof_fork *other);

/* Kill it if it still runs. NULL is fine. */
void llmprof_fork_free(llmprof_fork *other);

#ifdef __cplusplus
}
#endif

#endif

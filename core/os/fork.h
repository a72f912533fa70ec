/* A second process that goes on from here: it has all that this one has, as it
 * is now, works on something beside it, and hands over bytes.
 *
 *   llmprof_fork *other;
 *   switch (llmprof_fork_start(1, &other, &err)) {
 *   case 0:  // in the second process
 *     llmprof_fork_hand_over(other, bytes, size);
 *     llmprof_fork_end(other);
 *   case 1:  // in the first
 *     llmprof_fork_take(other, &buffer, &err);
 *   }
 *   llmprof_fork_free(other);
 *
 * The second one hears of no SIGINT, SIGTERM or SIGHUP: who started it ends it,
 * by llmprof_fork_free or by its own end, whatever that is. The bounds on bytes
 * of memory and on threads are of both together. What it writes to files is
 * written; of what it holds, nothing is given back or finished but by the
 * system.
 *
 * No other thread of the process may run when one is started. */
#ifndef LLMPROF_FORK_H
#define LLMPROF_FORK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "llmprof/error.h"

typedef struct llmprof_fork llmprof_fork;

/* 1 in the first process, 0 in the second, which has to end by
 * llmprof_fork_end and may have `threads` threads, 0 where it only waits for
 * a disk; -1 where there is none: UNSUPPORTED in a second process, or where the
 * system has no files in memory; LIMIT, NOMEM. */
int llmprof_fork_start(size_t threads, llmprof_fork **made, llmprof_error *err);

/* In the second process: hand over bytes, as often as wanted. */
bool llmprof_fork_hand_over(llmprof_fork *own, const void *bytes, size_t size);

/* In the second process: end it. */
#ifdef __cplusplus
[[noreturn]]
#else
_Noreturn
#endif
void llmprof_fork_end(llmprof_fork *own);

/* Wait for the next that is handed over, which replaces what `bytes` holds.
 * INTERRUPTED: none came yet. IO: it has ended, by itself or not, and there is
 * no more. */
bool llmprof_fork_take(llmprof_fork *other, llmprof_buffer *bytes,
                       llmprof_error *err);

/* Wait for its end; INTERRUPTED. What was handed over can still be taken. */
bool llmprof_fork_rest(const llmprof_fork *other, llmprof_error *err);

/* Has it ended? */
bool llmprof_fork_ended(const llmprof_fork *other);

pid_t llmprof_fork_pid(const llmprof_fork *other);

/* Kill it if it still runs. NULL is fine. */
void llmprof_fork_free(llmprof_fork *other);

#endif

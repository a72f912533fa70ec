/* Several processes of one job that a launcher of MPI started. MPI itself is in
 * a plugin, which is loaded here: nothing else needs it. */
#ifndef LLMPROF_CLUSTER_H
#define LLMPROF_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "llmprof/error.h"

typedef struct llmprof_cluster llmprof_cluster;

/* Load a plugin and begin; once in a process, which MPI does not begin again.
 * NULL on failure (NOTFOUND: it cannot be loaded; UNSUPPORTED: it is none, or
 * one for another llmprof). */
llmprof_cluster *llmprof_cluster_open(const char *plugin, llmprof_error *err);

/* NULL is fine. After llmprof_cluster_finish() it only frees; before, MPI is
 * left as it is, as it must be when others are gone. */
void llmprof_cluster_close(llmprof_cluster *cluster);

/* This process among all of them, from 0; how many; and which MPI. */
size_t llmprof_cluster_rank(const llmprof_cluster *cluster);
size_t llmprof_cluster_size(const llmprof_cluster *cluster);
const char *llmprof_cluster_library(const llmprof_cluster *cluster);

/* Bytes to another process, which receives them whole, in the order in which
 * they were sent. `wait_ms` is how long the other one may take, for ever when
 * it is negative (LIMIT: longer). INTERRUPTED as loops are. */
bool llmprof_cluster_send(llmprof_cluster *cluster, size_t to,
                          const void *bytes, size_t size, int64_t wait_ms,
                          llmprof_error *err);
bool llmprof_cluster_receive(llmprof_cluster *cluster, size_t from,
                             llmprof_buffer *bytes, int64_t wait_ms,
                             llmprof_error *err);

/* Wait for all processes, then end MPI; nothing can be sent any more. Launchers
 * send SIGTERM when a process of the job fails. Once all have met, that can
 * only be the first one, which says what is wrong; the others ignore the signal
 * from then on and end as they would. */
bool llmprof_cluster_finish(llmprof_cluster *cluster, int64_t wait_ms,
                            llmprof_error *err);

/* Have the launcher end all processes, this one with the exit status. */
void llmprof_cluster_abandon(llmprof_cluster *cluster, int status);

#endif

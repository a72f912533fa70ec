/* What several processes of one job have allocated, added up, so that a bound
 * on bytes is of all of them; and how many threads each may have. Each has an
 * account in memory that they share. Private to the core. */
#ifndef LLMPROF_ACCOUNTS_H
#define LLMPROF_ACCOUNTS_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes more than before; negative where they are freed. */
void llmprof_account_count(size_t more);

/* Of all processes. */
size_t llmprof_account_in_use(void);

/* Threads that the others of this process have. */
size_t llmprof_account_threads(void);

/* These three while no other thread of the process runs.
 *
 * An account for a process that is about to be forked; false where there is no
 * room for one. */
bool llmprof_account_open(size_t threads, size_t *account);

/* In that process: what it allocates from here on goes there. What it frees
 * that was allocated before is not given back: the other one has it still. */
void llmprof_account_use(size_t account);

/* In that process: it works no more, and needs no thread. */
void llmprof_account_rest(void);

/* In the one that opened it, when the other is gone. */
void llmprof_account_close(size_t account);

#endif

/* Threads of ours. */
#ifndef LLMPROF_COLLECTOR_THREADS_H
#define LLMPROF_COLLECTOR_THREADS_H

#include <pthread.h>
#include <stdbool.h>

/* Run `body` in a new thread that no signal of the program comes to. The
 * thread is detached unless `joined` is given, which is then to be joined. */
bool threads_start(void *(*body)(void *), void *argument);
bool threads_start_joined(pthread_t *joined, void *(*body)(void *),
                          void *argument);

#endif

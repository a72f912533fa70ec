#include "collector/threads.h"

#include <signal.h>
#include <stddef.h>

bool threads_start_joined(pthread_t *joined, void *(*body)(void *),
                          void *argument) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = pthread_create(joined, NULL, body, argument);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return error == 0;
}

bool threads_start(void *(*body)(void *), void *argument) {
  pthread_t thread;
  if (!threads_start_joined(&thread, body, argument)) return false;
  pthread_detach(thread);
  return true;
}

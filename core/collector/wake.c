#include "collector/wake.h"

#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

#include "collector/clock.h"

static sem_t sleeping;
static atomic_uint flush_asked, flush_done; /* how often */
static atomic_uint flush_now;               /* what the writer is at */
static atomic_bool finish_asked, finish_done;
static const char *_Atomic finish_reason;

void wake_init(void) {
  sem_init(&sleeping, 0, 0);
  atomic_store(&flush_asked, 0);
  atomic_store(&flush_done, 0);
  atomic_store(&finish_asked, false);
  atomic_store(&finish_done, false);
  atomic_store(&finish_reason, NULL);
}

void wake_writer(void) {
  int error = errno;
  (void)sem_post(&sleeping);
  errno = error;
}

static void nap(long ns) {
  nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

bool wake_pause(double seconds, bool (*stop)(void)) {
  int64_t end = clock_now() + (int64_t)(seconds * 1e9);
  while (!stop()) {
    if (clock_now() >= end) return false;
    nap(500000);
  }
  return true;
}

bool wake_is_over(void) {
  return atomic_load(&finish_done);
}

static bool wait_flushed(unsigned ticket, double seconds) {
  int64_t end = clock_now() + (int64_t)(seconds * 1e9);
  while ((int)(atomic_load(&flush_done) - ticket) < 0) {
    if (wake_is_over() || clock_now() >= end) return false;
    nap(200000);
  }
  return true;
}

bool wake_ask(wake_task task, const char *reason, double seconds) {
  if (task == WAKE_FINISH) {
    const char *none = NULL;
    (void)atomic_compare_exchange_strong(&finish_reason, &none, reason);
    atomic_store(&finish_asked, true);
    wake_writer();
    return wake_pause(seconds, wake_is_over);
  }
  unsigned ticket = atomic_fetch_add(&flush_asked, 1) + 1;
  wake_writer();
  return wait_flushed(ticket, seconds);
}

wake_task wake_sleep(double seconds) {
  int64_t end = clock_read(CLOCK_REALTIME) + (int64_t)(seconds * 1e9);
  struct timespec until = {.tv_sec = end / 1000000000,
                           .tv_nsec = end % 1000000000};
  (void)sem_timedwait(&sleeping, &until);
  while (sem_trywait(&sleeping) == 0) {}
  atomic_store(&flush_now, atomic_load(&flush_asked));
  if (atomic_load(&finish_asked)) return WAKE_FINISH;
  return atomic_load(&flush_now) != atomic_load(&flush_done) ? WAKE_FLUSH
                                                             : WAKE_NONE;
}

const char *wake_reason(void) {
  return atomic_load(&finish_reason);
}

void wake_done(void) {
  atomic_store(&flush_done, atomic_load(&flush_now));
}

void wake_finished(void) {
  atomic_store(&finish_done, true);
}

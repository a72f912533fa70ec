/* SIGINT, SIGTERM and SIGHUP while children run: a table of the groups to
 * forward to, and per signal a count. A signal is forwarded at once and
 * counted; each child compares the counts with those it has seen, so that all
 * learn of a signal the one that is pumped first. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include "os/spawn_internal.h"

enum {
  SLOTS = 256,
  SLOT_FREE = 0,
  SLOT_SILENT = -1, /* taken, but no group to forward to */
};

typedef struct shared_signal {
  int number;
  atomic_uint received;
  atomic_uint unnoticed; /* of those, since a child was last pumped */
} shared_signal;

static shared_signal shared[SPAWN_SIGNALS] = {
    {.number = SIGINT}, {.number = SIGTERM}, {.number = SIGHUP}};
static atomic_int groups[SLOTS];
static volatile sig_atomic_t users;

/* In a signal handler: async-signal-safe calls only. */
bool llmprof_spawn_signalled(int number) {
  bool taken = false;
  int errnum = errno;
  if (!users) return false;
  for (size_t i = 0; i < SLOTS; i++) {
    pid_t group = atomic_load(&groups[i]);
    if (group > 0) kill(-group, number);
  }
  for (size_t i = 0; i < SPAWN_SIGNALS; i++) {
    shared_signal *sig = &shared[i];
    if (sig->number != number) continue;
    atomic_fetch_add(&sig->received, 1);
    taken = atomic_fetch_add(&sig->unnoticed, 1) == 0;
  }
  errno = errnum;
  return taken;
}

/* ---- from a child's start to its end ---- */

static void fill_set(sigset_t *set) {
  sigemptyset(set);
  for (size_t i = 0; i < SPAWN_SIGNALS; i++) sigaddset(set, shared[i].number);
}

static void block(sigset_t *mask) {
  sigset_t set;
  fill_set(&set);
  pthread_sigmask(SIG_BLOCK, &set, mask);
}

bool llmprof_spawn_watch_begin(spawn_watch *watch, sigset_t *mask) {
  int slot = 0;
  while (slot < SLOTS && atomic_load(&groups[slot]) != SLOT_FREE) slot++;
  if (slot == SLOTS) return false;
  block(mask);
  if (users++ == 0) {
    for (size_t i = 0; i < SPAWN_SIGNALS; i++)
      atomic_store(&shared[i].unnoticed, 0);
  }
  atomic_store(&groups[slot], SLOT_SILENT);
  watch->slot = slot;
  for (size_t i = 0; i < SPAWN_SIGNALS; i++)
    watch->seen[i] = atomic_load(&shared[i].received);
  return true;
}

void llmprof_spawn_watch_unblock(const sigset_t *mask) {
  pthread_sigmask(SIG_SETMASK, mask, NULL);
}

void llmprof_spawn_watch_group(spawn_watch *watch, pid_t group) {
  atomic_store(&groups[watch->slot], group);
}

void llmprof_spawn_watch_reaped(spawn_watch *watch) {
  atomic_store(&groups[watch->slot], SLOT_SILENT);
}

int llmprof_spawn_watch_end(spawn_watch *watch) {
  if (watch->slot < 0) return 0;
  sigset_t mask;
  block(&mask); /* what comes from here on is for the program */
  int number = llmprof_spawn_watch_check(watch);
  atomic_store(&groups[watch->slot], SLOT_FREE);
  watch->slot = -1;
  users--;
  llmprof_spawn_watch_unblock(&mask);
  return number;
}

void llmprof_spawn_watch_abandon(spawn_watch *watch) {
  int number = llmprof_spawn_watch_end(watch);
  if (number && !users) raise(number); /* else another child tells of it */
}

/* ---- noticing ---- */

static bool any_new(const spawn_watch *watch) {
  for (size_t i = 0; i < SPAWN_SIGNALS; i++) {
    if (atomic_load(&shared[i].received) != watch->seen[i]) return true;
  }
  return false;
}

int llmprof_spawn_watch_check(spawn_watch *watch) {
  for (size_t i = 0; i < SPAWN_SIGNALS; i++) {
    unsigned received = atomic_load(&shared[i].received);
    if (received == watch->seen[i]) continue;
    watch->seen[i] = received;
    atomic_store(&shared[i].unnoticed, 0);
    return shared[i].number;
  }
  return 0;
}

int llmprof_spawn_watch_poll(const spawn_watch *watch, struct pollfd *fds,
                             nfds_t count, int64_t timeout_ns) {
  /* Blocked while looking, unblocked by the kernel while waiting: a signal
   * that comes in between ends the wait. */
  sigset_t mask;
  block(&mask);
  if (any_new(watch)) timeout_ns = 0;
  struct timespec timeout = {.tv_sec = timeout_ns / 1000000000,
                             .tv_nsec = timeout_ns % 1000000000};
  int ready = ppoll(fds, count, timeout_ns < 0 ? NULL : &timeout, &mask);
  int errnum = errno;
  llmprof_spawn_watch_unblock(&mask);
  errno = errnum;
  return ready;
}

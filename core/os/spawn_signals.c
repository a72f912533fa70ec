/* SIGINT, SIGTERM and SIGHUP while children run. Handlers belong to the whole
 * process, and so does this state: a table of the groups to forward to, and
 * per signal a count. The handler forwards at once and counts; each child
 * compares the counts with those it has seen, so that all learn of a signal
 * the one that is pumped first. */
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
  bool taken;
  struct sigaction previous; /* constant while taken */
} shared_signal;

static shared_signal shared[SPAWN_SIGNALS] = {
    {.number = SIGINT}, {.number = SIGTERM}, {.number = SIGHUP}};
static atomic_int groups[SLOTS];
static unsigned users;

/* ---- in the handler: async-signal-safe calls only ---- */

/* Let the handler that was there before have it. */
static void pass_on(const shared_signal *sig, siginfo_t *info, void *context) {
  const struct sigaction *previous = &sig->previous;
  if (previous->sa_flags & SA_SIGINFO) {
    previous->sa_sigaction(sig->number, info, context);
  } else if (previous->sa_handler == SIG_DFL) {
    sigaction(sig->number, previous, NULL);
    raise(sig->number); /* takes effect when our handler returns */
  } else {
    previous->sa_handler(sig->number);
  }
}

static void on_signal(int number, siginfo_t *info, void *context) {
  int errnum = errno;
  for (size_t i = 0; i < SLOTS; i++) {
    pid_t group = atomic_load(&groups[i]);
    if (group > 0) kill(-group, number);
  }
  for (size_t i = 0; i < SPAWN_SIGNALS; i++) {
    shared_signal *sig = &shared[i];
    if (sig->number != number) continue;
    atomic_fetch_add(&sig->received, 1);
    if (atomic_fetch_add(&sig->unnoticed, 1) > 0) pass_on(sig, info, context);
  }
  errno = errnum;
}

/* ---- taking and giving back ---- */

static void fill_set(sigset_t *set) {
  sigemptyset(set);
  for (size_t i = 0; i < SPAWN_SIGNALS; i++) sigaddset(set, shared[i].number);
}

/* A signal that is ignored (nohup, a shell's background job) stays so. */
static void take(shared_signal *sig) {
  struct sigaction ours = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
  fill_set(&ours.sa_mask);
  atomic_store(&sig->unnoticed, 0);
  sigaction(sig->number, NULL, &sig->previous);
  sig->taken = sig->previous.sa_handler != SIG_IGN;
  if (sig->taken) sigaction(sig->number, &ours, NULL);
}

/* A handler that replaced ours meanwhile stays. */
static void give_back(shared_signal *sig) {
  struct sigaction now;
  if (!sig->taken) return;
  sig->taken = false;
  sigaction(sig->number, NULL, &now);
  if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_signal)
    sigaction(sig->number, &sig->previous, NULL);
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
    for (size_t i = 0; i < SPAWN_SIGNALS; i++) take(&shared[i]);
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
  block(&mask); /* what comes from here on is for the old handler */
  int number = llmprof_spawn_watch_check(watch);
  atomic_store(&groups[watch->slot], SLOT_FREE);
  watch->slot = -1;
  if (--users == 0) {
    for (size_t i = 0; i < SPAWN_SIGNALS; i++) give_back(&shared[i]);
  }
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

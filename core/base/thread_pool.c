#include "base/thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>

#include "base/accounts.h"
#include "base/bounds.h"

enum {
  MOST = 64
};

/* A call of llmprof_parallel_for; what is not const is guarded by the lock. */
typedef struct loop_state {
  const llmprof_parallel_loop *loop;
  bool alone;
  pthread_mutex_t lock;
  pthread_cond_t turned;
  size_t next;   /* part that is begun next */
  size_t turn;   /* part that is taken next */
  size_t failed; /* the first part that failed; SIZE_MAX: none */
  llmprof_error error;
} loop_state;

typedef struct worker {
  loop_state *loop_state;
  size_t number;
  pthread_t thread;
} worker;

static _Thread_local bool is_working;

static size_t processors(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return (size_t)CPU_COUNT(&set);
}

size_t llmprof_thread_pool_size(size_t parts) {
  if (is_working || parts < 2) return 1;
  uint64_t wanted = llmprof_bound_get(LLMPROF_BOUND_THREADS);
  size_t size = wanted ? (size_t)wanted : processors();
  size_t others = llmprof_account_threads();
  size = size > others ? size - others : 1;
  if (size > MOST) size = MOST;
  return size < parts ? size : parts;
}

/* ---- one worker ---- */

/* Under the lock. */
static void fail(loop_state *s, size_t part, const llmprof_error *err) {
  if (part >= s->failed) return;
  s->failed = part;
  s->error = *err;
}

/* When the parts before it were taken: false when one of them failed. */
static bool await_turn(loop_state *s, size_t part) {
  pthread_mutex_lock(&s->lock);
  while (s->turn < part && s->failed > part)
    pthread_cond_wait(&s->turned, &s->lock);
  bool ok = s->failed > part;
  pthread_mutex_unlock(&s->lock);
  return ok;
}

static void end_part(loop_state *s, size_t part, bool ok,
                     const llmprof_error *err) {
  pthread_mutex_lock(&s->lock);
  if (!ok) fail(s, part, err);
  if (s->turn == part) s->turn++;
  pthread_cond_broadcast(&s->turned);
  pthread_mutex_unlock(&s->lock);
}

static bool begin_part(loop_state *s, size_t *part) {
  pthread_mutex_lock(&s->lock);
  bool more = s->failed == SIZE_MAX && s->next < s->loop->parts;
  if (more) *part = s->next++;
  pthread_mutex_unlock(&s->lock);
  return more;
}

static void do_part(loop_state *s, size_t number, size_t part) {
  const llmprof_parallel_loop *loop = s->loop;
  llmprof_error err = {0};
  bool ok = loop->work(loop->user, number, part, &err);
  if (loop->take) {
    if (!await_turn(s, part)) return;
    ok = ok && loop->take(loop->user, number, part, &err);
  }
  end_part(s, part, ok, &err);
}

static void work(loop_state *s, size_t number) {
  size_t part;
  bool before = is_working;
  is_working = before || !s->alone;
  while (begin_part(s, &part)) do_part(s, number, part);
  is_working = before;
}

static void *start(void *user) {
  const worker *w = user;
  work(w->loop_state, w->number);
  return NULL;
}

/* ---- all of them ---- */

/* A thread that hears of no signal. */
static bool start_thread(pthread_t *thread, void *(*run)(void *), void *user) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool started = pthread_create(thread, NULL, run, user) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return started;
}

/* How many were started, the caller's counted. */
static size_t start_threads(loop_state *s, worker *workers, size_t size) {
  size_t started = 1;
  for (; started < size; started++) {
    worker *w = &workers[started];
    *w = (worker){.loop_state = s, .number = started};
    if (!start_thread(&w->thread, start, w)) break;
  }
  return started;
}

bool llmprof_parallel_for(const llmprof_parallel_loop *loop, size_t size,
                          llmprof_error *err) {
  worker workers[MOST];
  loop_state s = {.loop = loop, .alone = size < 2, .failed = SIZE_MAX};
  pthread_mutex_init(&s.lock, NULL);
  pthread_cond_init(&s.turned, NULL);
  size_t started = start_threads(&s, workers, size < MOST ? size : MOST);
  work(&s, 0);
  for (size_t i = 1; i < started; i++) pthread_join(workers[i].thread, NULL);
  pthread_cond_destroy(&s.turned);
  pthread_mutex_destroy(&s.lock);
  if (s.failed == SIZE_MAX) return true;
  if (err) *err = s.error;
  return false;
}

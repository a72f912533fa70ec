#include "base/crew.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/accounts.h"
#include "base/bounds.h"

enum {
  MOST = 64
};

/* A call of llmprof_crew_run; what is not const is guarded by the lock. */
typedef struct shift {
  const llmprof_crew *crew;
  bool alone;
  pthread_mutex_t lock;
  pthread_cond_t turned;
  size_t next;   /* part that is begun next */
  size_t turn;   /* part that is taken next */
  size_t failed; /* the first part that failed; SIZE_MAX: none */
  llmprof_error error;
  bool taking;                   /* somebody is, where parts are done ahead; */
  size_t waiting;                /* for a room; */
  bool done[LLMPROF_CREW_AHEAD]; /* and not taken yet, by room */
} shift;

typedef struct worker {
  shift *shift;
  size_t number;
  pthread_t thread;
} worker;

static _Thread_local bool is_working;
static atomic_size_t asides; /* that have a thread */

static size_t processors(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return (size_t)CPU_COUNT(&set);
}

size_t llmprof_crew_size(size_t parts) {
  if (is_working || parts < 2) return 1;
  uint64_t wanted = llmprof_bound_get(LLMPROF_BOUND_THREADS);
  size_t size = wanted ? (size_t)wanted : processors();
  size_t others = llmprof_account_threads() + atomic_load(&asides);
  size = size > others ? size - others : 1;
  if (size > MOST) size = MOST;
  return size < parts ? size : parts;
}

/* ---- one worker ---- */

/* Under the lock. */
static void fail(shift *s, size_t part, const llmprof_error *err) {
  if (part >= s->failed) return;
  s->failed = part;
  s->error = *err;
}

/* When the parts before it were taken: false when one of them failed. */
static bool await_turn(shift *s, size_t part) {
  pthread_mutex_lock(&s->lock);
  while (s->turn < part && s->failed > part)
    pthread_cond_wait(&s->turned, &s->lock);
  bool ok = s->failed > part;
  pthread_mutex_unlock(&s->lock);
  return ok;
}

static void end_part(shift *s, size_t part, bool ok, const llmprof_error *err) {
  pthread_mutex_lock(&s->lock);
  if (!ok) fail(s, part, err);
  if (s->turn == part) s->turn++;
  pthread_cond_broadcast(&s->turned);
  pthread_mutex_unlock(&s->lock);
}

static bool is_more(const shift *s) {
  return s->failed == SIZE_MAX && s->next < s->crew->parts;
}

/* Under the lock. */
static void await_room(shift *s) {
  s->waiting++;
  while (s->crew->ahead && is_more(s) && s->next - s->turn >= s->crew->ahead)
    pthread_cond_wait(&s->turned, &s->lock);
  s->waiting--;
}

static bool begin_part(shift *s, size_t *part) {
  pthread_mutex_lock(&s->lock);
  await_room(s);
  bool more = is_more(s);
  if (more) *part = s->next++;
  pthread_mutex_unlock(&s->lock);
  return more;
}

/* Under the lock, but for the taking. Those who wait for a room are woken when
 * half of them are free, since waking takes longer than many a part. */
static void take_done(shift *s, size_t number) {
  const llmprof_crew *crew = s->crew;
  bool *done;
  s->taking = true;
  while (s->turn < s->failed && *(done = &s->done[s->turn % crew->ahead])) {
    llmprof_error err = {0};
    size_t part = s->turn;
    pthread_mutex_unlock(&s->lock);
    bool ok = crew->take(crew->user, number, part, &err);
    pthread_mutex_lock(&s->lock);
    *done = false;
    s->turn++;
    if (!ok) fail(s, part, &err);
    if (s->waiting && (!ok || s->next - s->turn <= crew->ahead / 2))
      pthread_cond_broadcast(&s->turned);
  }
  s->taking = false;
}

/* Leaves what a part made in its room. */
static void leave_part(shift *s, size_t number, size_t part, bool ok,
                       const llmprof_error *err) {
  pthread_mutex_lock(&s->lock);
  if (ok) {
    s->done[part % s->crew->ahead] = true;
  } else {
    fail(s, part, err);
    pthread_cond_broadcast(&s->turned);
  }
  if (!s->taking) take_done(s, number);
  pthread_mutex_unlock(&s->lock);
}

static void do_part(shift *s, size_t number, size_t part) {
  const llmprof_crew *crew = s->crew;
  llmprof_error err = {0};
  bool ok = crew->work(crew->user, number, part, &err);
  if (crew->ahead) {
    leave_part(s, number, part, ok, &err);
    return;
  }
  if (crew->take) {
    if (!await_turn(s, part)) return;
    ok = ok && crew->take(crew->user, number, part, &err);
  }
  end_part(s, part, ok, &err);
}

static void work(shift *s, size_t number) {
  size_t part;
  bool before = is_working;
  is_working = before || !s->alone;
  while (begin_part(s, &part)) do_part(s, number, part);
  is_working = before;
}

static void *start(void *user) {
  const worker *w = user;
  work(w->shift, w->number);
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
static size_t start_threads(shift *s, worker *workers, size_t size) {
  size_t started = 1;
  for (; started < size; started++) {
    worker *w = &workers[started];
    *w = (worker){.shift = s, .number = started};
    if (!start_thread(&w->thread, start, w)) break;
  }
  return started;
}

bool llmprof_crew_run(const llmprof_crew *crew, size_t size,
                      llmprof_error *err) {
  worker workers[MOST];
  shift s = {.crew = crew, .alone = size < 2, .failed = SIZE_MAX};
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

/* ---- rows ---- */

typedef struct row_crew {
  size_t count;
  llmprof_crew_rows_step step;
  void *user;
} row_crew;

static bool do_rows(void *user, size_t number, size_t part,
                    llmprof_error *err) {
  const row_crew *r = user;
  size_t first = part * LLMPROF_CREW_ROWS, left = r->count - first;
  (void)number;
  (void)err;
  r->step(r->user, first,
          first + (left < LLMPROF_CREW_ROWS ? left : LLMPROF_CREW_ROWS));
  return true;
}

void llmprof_crew_rows(size_t count, llmprof_crew_rows_step step, void *user) {
  row_crew r = {count, step, user};
  const llmprof_crew crew = {.parts = count / LLMPROF_CREW_ROWS +
                                      (count % LLMPROF_CREW_ROWS > 0),
                             .work = do_rows,
                             .user = &r};
  size_t size = llmprof_crew_size(crew.parts);
  if (size > 1)
    (void)llmprof_crew_run(&crew, size, NULL); /* no part fails */
  else if (count)
    step(user, 0, count);
}

/* ---- one thing aside ---- */

static void *start_aside(void *user) {
  llmprof_aside *aside = user;
  is_working = true;
  aside->ok = aside->work(aside->user, &aside->error);
  return NULL;
}

void llmprof_aside_begin(llmprof_aside *aside) {
  aside->is_begun = llmprof_crew_size(2) > 1 &&
                    start_thread(&aside->thread, start_aside, aside);
  if (aside->is_begun) atomic_fetch_add(&asides, 1);
}

bool llmprof_aside_end(llmprof_aside *aside, llmprof_error *err) {
  if (!aside->is_begun) return aside->work(aside->user, err);
  pthread_join(aside->thread, NULL);
  atomic_fetch_sub(&asides, 1);
  aside->is_begun = false;
  if (!aside->ok && err) *err = aside->error;
  return aside->ok;
}

/* Parts on several threads: in order, with the first error, whatever fails. */
#include "base/thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "base/bounds.h"
#include "support.h"

enum {
  PARTS = 500
};

typedef struct parts {
  atomic_int busy[64]; /* by worker */
  atomic_size_t done;
  size_t made[64]; /* last, by worker */
  atomic_int taking;
  size_t taken;
  size_t fail_work, fail_take; /* parts from which on it fails */
} parts;

static bool work(void *user, size_t worker, size_t part, llmprof_error *err) {
  parts *p = user;
  assert_int_equal(atomic_fetch_add(&p->busy[worker], 1), 0);
  if (part % 7 == 0) sched_yield();
  p->made[worker] = part;
  atomic_fetch_add(&p->done, 1);
  atomic_fetch_sub(&p->busy[worker], 1);
  if (part < p->fail_work) return true;
  return llmprof_fail(err, LLMPROF_IO, "work %zu", part);
}

static bool take(void *user, size_t worker, size_t part, llmprof_error *err) {
  parts *p = user;
  assert_int_equal(atomic_fetch_add(&p->taking, 1), 0);
  assert_int_equal(p->made[worker], part);
  if (part % 11 == 0) sched_yield();
  atomic_fetch_sub(&p->taking, 1);
  if (p->taken++ != part) return llmprof_fail(err, LLMPROF_IO, "order");
  if (part < p->fail_take) return true;
  return llmprof_fail(err, LLMPROF_IO, "take %zu", part);
}

static void assert_order(size_t size, size_t count) {
  parts p = {.fail_work = SIZE_MAX, .fail_take = SIZE_MAX};
  const llmprof_parallel_loop loop = {count, work, take, &p};
  assert_true(llmprof_parallel_for(&loop, size, NULL));
  assert_int_equal(p.done, count);
  assert_int_equal(p.taken, count);
  const llmprof_parallel_loop alone = {count, work, NULL, &p};
  assert_true(llmprof_parallel_for(&alone, size, NULL));
  assert_int_equal(p.done, 2 * count);
}

TEST(order) {
  for (size_t size = 1; size <= 8; size++) {
    for (size_t count = 0; count <= PARTS; count += 125)
      assert_order(size, count);
  }
}

static void assert_fails(size_t size, size_t fail_work, size_t fail_take,
                         const char *message, size_t taken) {
  parts p = {.fail_work = fail_work, .fail_take = fail_take};
  llmprof_error err = {0};
  const llmprof_parallel_loop loop = {PARTS, work, take, &p};
  assert_false(llmprof_parallel_for(&loop, size, &err));
  assert_string_equal(err.message, message);
  assert_int_equal(p.taken, taken);
}

TEST(first_error) {
  for (size_t size = 1; size <= 8; size++) {
    for (int again = 0; again < 20; again++) {
      assert_fails(size, 100, SIZE_MAX, "work 100", 100);
      assert_fails(size, SIZE_MAX, 100, "take 100", 101);
      assert_fails(size, 0, 0, "work 0", 0);
      assert_fails(size, 101, 100, "take 100", 101);
      parts p = {.fail_work = 30};
      llmprof_error err = {0};
      const llmprof_parallel_loop loop = {PARTS, work, NULL, &p};
      assert_false(llmprof_parallel_for(&loop, size, &err));
      assert_string_equal(err.message, "work 30");
    }
  }
}

TEST(size) {
  assert_int_equal(llmprof_thread_pool_size(0), 1);
  assert_int_equal(llmprof_thread_pool_size(1), 1);
  assert_true(llmprof_thread_pool_size(1000) >= 1);
  llmprof_bound_set(LLMPROF_BOUND_THREADS, 8);
  assert_int_equal(llmprof_thread_pool_size(1000), 8);
  assert_int_equal(llmprof_thread_pool_size(3), 3);
  llmprof_bound_set(LLMPROF_BOUND_THREADS, 1000000);
  assert_int_equal(llmprof_thread_pool_size(1000), 64);
  llmprof_bound_set(LLMPROF_BOUND_THREADS, 0);
}

/* A loop within a loop of several workers is the one worker that it is in. */
static bool nest(void *user, size_t worker, size_t part, llmprof_error *err) {
  size_t *sizes = user;
  sizes[part] = llmprof_thread_pool_size(100);
  return true;
}

TEST(nested) {
  size_t sizes[2];
  const llmprof_parallel_loop loop = {2, nest, NULL, sizes};
  llmprof_bound_set(LLMPROF_BOUND_THREADS, 4);
  assert_true(llmprof_parallel_for(&loop, 2, NULL));
  assert_int_equal(sizes[0], 1);
  assert_int_equal(sizes[1], 1);
  assert_true(llmprof_parallel_for(&loop, 1, NULL));
  assert_int_equal(sizes[0], 4);
  assert_int_equal(llmprof_thread_pool_size(100), 4);
  llmprof_bound_set(LLMPROF_BOUND_THREADS, 0);
}

/* Signals go to the thread that called. */
static pthread_t caller;

static bool is_blocked(void *user, size_t worker, size_t part,
                       llmprof_error *err) {
  sigset_t now;
  pthread_sigmask(SIG_SETMASK, NULL, &now);
  bool ours = pthread_equal(pthread_self(), caller);
  return sigismember(&now, SIGINT) == !ours ||
         llmprof_fail(err, LLMPROF_IO, "part %zu", part);
}

TEST(signals) {
  caller = pthread_self();
  const llmprof_parallel_loop loop = {200, is_blocked, NULL, NULL};
  assert_true(llmprof_parallel_for(&loop, 4, NULL));
}

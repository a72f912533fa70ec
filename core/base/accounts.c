#include "base/accounts.h"

#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>

enum {
  ACCOUNTS = 64, /* the first is that of the process that forked the others */
  CACHE_LINE = 64,
};

typedef struct account {
  _Alignas(CACHE_LINE) _Atomic size_t bytes; /* less than none as a negative */
  _Atomic size_t threads;
} account;

static account alone;
static account *mine = &alone;
static account *shared; /* of ACCOUNTS; NULL: nobody was forked */
static bool taken[ACCOUNTS];
static size_t most_taken = 1; /* accounts that were, when this one was forked */

static size_t bytes_of(const account *of) {
  size_t bytes = atomic_load_explicit(&of->bytes, memory_order_relaxed);
  return bytes > SIZE_MAX / 2 ? 0 : bytes;
}

size_t llmprof_account_in_use(void) {
  size_t all = 0;
  if (!shared) return bytes_of(mine);
  for (size_t i = 0; i < most_taken; i++) all += bytes_of(&shared[i]);
  return all;
}

/* Those of the first process are what the others leave. */
size_t llmprof_account_threads(void) {
  size_t all = 0;
  for (size_t i = 1; mine == shared && i < most_taken; i++)
    all += atomic_load_explicit(&shared[i].threads, memory_order_relaxed);
  return all;
}

void llmprof_account_count(size_t more) {
  atomic_fetch_add_explicit(&mine->bytes, more, memory_order_relaxed);
}

static bool share(void) {
  if (shared) return true;
  void *at = mmap(NULL, ACCOUNTS * sizeof *shared, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return false;
  shared = at;
  atomic_store(&shared->bytes, atomic_load(&mine->bytes));
  mine = shared;
  return true;
}

bool llmprof_account_open(size_t threads, size_t *number) {
  size_t i = 1;
  while (i < ACCOUNTS && taken[i]) i++;
  if (i == ACCOUNTS || !share()) return false;
  taken[i] = true;
  atomic_store(&shared[i].bytes, 0);
  atomic_store(&shared[i].threads, threads);
  if (i >= most_taken) most_taken = i + 1;
  *number = i;
  return true;
}

void llmprof_account_use(size_t number) {
  mine = &shared[number];
}

void llmprof_account_rest(void) {
  atomic_store(&mine->threads, 0);
}

void llmprof_account_close(size_t number) {
  taken[number] = false;
  atomic_store(&shared[number].bytes, 0);
  atomic_store(&shared[number].threads, 0);
}

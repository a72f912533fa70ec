#include "collector/buffers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "collector/memory.h"

/* Before the records, in the same piece of memory. */
struct buffer {
  buffer *next;
  size_t valid;
  bool blind; /* of the heap, its records do not count */
};

enum {
  HEAD = 64, /* bytes before the records */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static buffer *spare;
static buffer *full, **full_end = &full; /* in the order in which they came */
static atomic_uint_fast64_t missed;
static atomic_int out;

static uint8_t *bytes_of(buffer *b) {
  return (uint8_t *)b + HEAD;
}

static buffer *buffer_of(uint8_t *bytes) {
  return (buffer *)(void *)(bytes - HEAD);
}

uint8_t *buffers_give(void) {
  pthread_mutex_lock(&lock);
  buffer *b = spare;
  if (b) spare = b->next;
  pthread_mutex_unlock(&lock);
  if (!b) b = memory_take(HEAD + BUFFER_SIZE);
  if (b) {
    atomic_fetch_add(&out, 1);
    return bytes_of(b);
  }
  atomic_fetch_add(&missed, 1);
  return NULL;
}

uint8_t *buffers_give_blind(void) {
  buffer *b = NULL;
  if (posix_memalign((void **)&b, HEAD, HEAD + BUFFER_SIZE) != 0) return NULL;
  memset(b, 0, HEAD + BUFFER_SIZE);
  b->blind = true;
  atomic_fetch_add(&out, 1);
  return bytes_of(b);
}

void buffers_full(uint8_t *bytes, size_t valid) {
  buffer *b = buffer_of(bytes);
  b->valid = valid;
  atomic_fetch_sub(&out, 1);
  b->next = NULL;
  pthread_mutex_lock(&lock);
  *full_end = b;
  full_end = &b->next;
  pthread_mutex_unlock(&lock);
}

static buffer *take_full(void) {
  pthread_mutex_lock(&lock);
  buffer *b = full;
  if (b) full = b->next;
  if (!full) full_end = &full;
  pthread_mutex_unlock(&lock);
  return b;
}

static void make_spare(buffer *b) {
  memset(bytes_of(b), 0, b->valid);
  pthread_mutex_lock(&lock);
  b->next = spare;
  spare = b;
  pthread_mutex_unlock(&lock);
}

void buffers_drain(void (*visit)(uint8_t *bytes, size_t valid)) {
  for (buffer *b = take_full(); b; b = take_full()) {
    if (b->blind) {
      free(b);
      continue;
    }
    visit(bytes_of(b), b->valid);
    make_spare(b);
  }
}

uint64_t buffers_missed(void) {
  return atomic_exchange(&missed, 0);
}

unsigned buffers_out(void) {
  int count = atomic_load(&out);
  return count > 0 ? (unsigned)count : 0;
}

void buffers_forget(void) {
  atomic_store(&out, 0);
  pthread_mutex_init(&lock, NULL);
  spare = full = NULL;
  full_end = &full;
  atomic_store(&missed, 0);
}

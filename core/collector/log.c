#include "collector/log.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/clock.h"
#include "collector/memory.h"

typedef struct chunk {
  struct chunk *_Atomic next;
  atomic_uint used; /* bytes that the writer may read */
  _Alignas(8) unsigned char bytes[LOG_CHUNK_SIZE - 16]; /* entries */
} chunk;

typedef struct log {
  struct log *next; /* in the list of all */
  chunk *tail;      /* the thread's side */
  uint32_t pending; /* bytes reserved there */
  uint32_t tid;
  chunk *head; /* the writer's side */
  uint32_t read;
  atomic_bool closed; /* its thread is gone */
} log;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* logs, spare */
static log *logs;
static chunk *spare;
static atomic_uint_fast64_t dropped;
static atomic_uint generation = 1; /* one more in each child of a fork */
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;

static _Thread_local log *mine;
static _Thread_local unsigned mine_generation;

static void close_log(void *of) {
  log *l = of;
  if (mine_generation == atomic_load(&generation))
    atomic_store_explicit(&l->closed, true, memory_order_release);
  mine = NULL;
}

static void make_key(void) {
  (void)pthread_key_create(&key, close_log);
}

static chunk *take_chunk(void) {
  pthread_mutex_lock(&lock);
  chunk *c = spare;
  if (c) spare = atomic_load_explicit(&c->next, memory_order_relaxed);
  pthread_mutex_unlock(&lock);
  if (!c) return memory_take(sizeof *c);
  atomic_store_explicit(&c->next, NULL, memory_order_relaxed);
  atomic_store_explicit(&c->used, 0, memory_order_relaxed);
  return c;
}

static void give_chunk(chunk *c) {
  pthread_mutex_lock(&lock);
  atomic_store_explicit(&c->next, spare, memory_order_relaxed);
  spare = c;
  pthread_mutex_unlock(&lock);
}

/* The log lies at the start of its thread's first chunk's own piece. */
static log *make_log(void) {
  pthread_once(&key_once, make_key);
  log *l = memory_take(sizeof *l);
  if (!l) return NULL;
  l->head = l->tail = take_chunk();
  if (!l->head) {
    memory_give(l, sizeof *l);
    return NULL;
  }
  l->tid = (uint32_t)syscall(SYS_gettid);
  pthread_mutex_lock(&lock);
  l->next = logs;
  logs = l;
  pthread_mutex_unlock(&lock);
  (void)pthread_setspecific(key, l);
  return l;
}

static log *my_log(void) {
  unsigned now = atomic_load_explicit(&generation, memory_order_relaxed);
  if (mine && mine_generation == now) return mine;
  mine_generation = now;
  mine = make_log();
  return mine;
}

/* A chunk at the log's tail with so much space. */
static chunk *space(log *l, size_t size) {
  chunk *c = l->tail;
  unsigned used = atomic_load_explicit(&c->used, memory_order_relaxed);
  if (used + size <= sizeof c->bytes) return c;
  chunk *fresh = take_chunk();
  if (!fresh) return NULL;
  l->tail = fresh;
  atomic_store_explicit(&c->next, fresh, memory_order_release);
  return fresh;
}

void *log_reserve(log_type type, size_t size) {
  size = (size + 7) & ~(size_t)7;
  log *l = size <= LOG_ENTRY_MAX ? my_log() : NULL;
  chunk *c = l ? space(l, size) : NULL;
  if (!c) {
    atomic_fetch_add_explicit(&dropped, 1, memory_order_relaxed);
    return NULL;
  }
  unsigned used = atomic_load_explicit(&c->used, memory_order_relaxed);
  log_entry *entry = (log_entry *)(void *)(c->bytes + used);
  *entry = (log_entry){.size = (uint32_t)size,
                       .type = (uint32_t)type,
                       .time = clock_now(),
                       .tid = l->tid};
  l->pending = (uint32_t)size;
  return entry;
}

void log_commit(void) {
  chunk *c = mine->tail;
  unsigned used = atomic_load_explicit(&c->used, memory_order_relaxed);
  atomic_store_explicit(&c->used, used + mine->pending, memory_order_release);
}

/* ---- the writer's side ---- */

static void read_chunk(log *l, log_visitor visit) {
  chunk *c = l->head;
  uint32_t used = atomic_load_explicit(&c->used, memory_order_acquire);
  while (l->read < used) {
    const log_entry *entry = (const void *)(c->bytes + l->read);
    visit(entry);
    l->read += entry->size;
  }
}

static void drain_log(log *l, log_visitor visit) {
  for (;;) {
    chunk *c = l->head;
    chunk *next = atomic_load_explicit(&c->next, memory_order_acquire);
    read_chunk(l, visit); /* after next was seen nothing is added to c */
    if (!next) return;
    l->head = next;
    l->read = 0;
    give_chunk(c);
  }
}

/* Takes a closed and empty log out of the list. */
static void remove_log(log *gone) {
  pthread_mutex_lock(&lock);
  for (log **at = &logs; *at; at = &(*at)->next)
    if (*at == gone) {
      *at = gone->next;
      break;
    }
  pthread_mutex_unlock(&lock);
  give_chunk(gone->head);
  memory_give(gone, sizeof *gone);
}

void log_drain(log_visitor visit) {
  pthread_mutex_lock(&lock);
  log *l = logs; /* new ones come before it, none but us removes */
  pthread_mutex_unlock(&lock);
  while (l) {
    bool closed = atomic_load_explicit(&l->closed, memory_order_acquire);
    drain_log(l, visit);
    log *next = l->next;
    if (closed) remove_log(l);
    l = next;
  }
}

uint64_t log_dropped(void) {
  return atomic_exchange(&dropped, 0);
}

void log_forget(void) {
  pthread_mutex_init(&lock, NULL);
  logs = NULL;
  spare = NULL;
  atomic_store(&dropped, 0);
  atomic_fetch_add(&generation, 1);
}

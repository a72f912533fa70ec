#include "os/packer.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>

#include "os/packing.h"

enum {
  WINDOW = 32 * 1024,
  BLOCK = 256 * 1024,
  MEMORY_LEVEL = 8,
  RAW_WINDOW = -15, /* zlib's windowBits without a header */
  MOST_THREADS = 8,
};

typedef enum job_state {
  EMPTY,  /* the writer's, to be filled */
  FULL,   /* to be packed by whoever comes first */
  BUSY,   /* a thread's, which packs it */
  PACKED, /* the writer's, to be handed on */
} job_state;

/* A block on its way. */
typedef struct job {
  job_state state;
  z_stream stream;
  bool ready;         /* the stream is to be ended */
  bool last;          /* of the file */
  unsigned char *in;  /* WINDOW bytes of the block before, then this one */
  size_t window;      /* how many of those there are */
  size_t size;        /* of this block */
  unsigned char *out; /* room for any block, packed */
  size_t room, packed;
  uLong crc;
} job;

struct llmprof_packer {
  llmprof_packer_take take;
  void *user;
  bool begun; /* the header was handed on */
  uLong crc;
  uint64_t total;
  job jobs[MOST_THREADS + 2];
  size_t job_count;
  size_t filling; /* the writer's job, counted from the first block */
  size_t handed;  /* blocks handed on */
  size_t next;    /* block that a thread takes next */
  pthread_t threads[MOST_THREADS];
  size_t thread_count;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool stop;
};

static job *job_of(llmprof_packer *p, size_t block) {
  return &p->jobs[block % p->job_count];
}

/* ---- packing a block ---- */

static void pack(job *j) {
  z_stream *z = &j->stream;
  deflateReset(z);
  if (j->window)
    deflateSetDictionary(z, j->in + WINDOW - j->window, (uInt)j->window);
  z->next_in = j->in + WINDOW;
  z->avail_in = (uInt)j->size;
  z->next_out = j->out;
  z->avail_out = (uInt)j->room;
  deflate(z, j->last ? Z_FINISH : Z_SYNC_FLUSH);
  j->packed = j->room - z->avail_out;
  j->crc = crc32(crc32(0, NULL, 0), j->in + WINDOW, (uInt)j->size);
}

static void *work(void *user) {
  llmprof_packer *p = user;
  pthread_mutex_lock(&p->lock);
  while (!p->stop) {
    job *j = job_of(p, p->next);
    if (j->state != FULL) {
      pthread_cond_wait(&p->changed, &p->lock);
      continue;
    }
    p->next++;
    j->state = BUSY;
    pthread_mutex_unlock(&p->lock);
    pack(j);
    pthread_mutex_lock(&p->lock);
    j->state = PACKED;
    pthread_cond_broadcast(&p->changed);
  }
  pthread_mutex_unlock(&p->lock);
  return NULL;
}

/* The job becomes FULL, and PACKED at once where there are no threads. */
static void submit(llmprof_packer *p, job *j) {
  if (!p->thread_count) {
    pack(j);
    j->state = PACKED;
    return;
  }
  pthread_mutex_lock(&p->lock);
  j->state = FULL;
  pthread_cond_broadcast(&p->changed);
  pthread_mutex_unlock(&p->lock);
}

/* Until it is packed; then it is the writer's. */
static void take_back(llmprof_packer *p, job *j) {
  pthread_mutex_lock(&p->lock);
  while (j->state != PACKED) pthread_cond_wait(&p->changed, &p->lock);
  j->state = EMPTY;
  pthread_mutex_unlock(&p->lock);
}

/* ---- handing on ---- */

static void put_u32(unsigned char *at, uint32_t value) {
  for (int i = 0; i < 4; i++) at[i] = (unsigned char)(value >> 8 * i);
}

/* RFC 1952: no name and no time, so that equal input gives equal bytes. */
static bool begin(llmprof_packer *p, llmprof_error *err) {
  static const unsigned char header[10] = {0x1f, 0x8b, 8, [9] = 3};
  bool first = !p->begun;
  p->begun = true;
  return !first || p->take(p->user, header, sizeof header, err);
}

static bool end(llmprof_packer *p, llmprof_error *err) {
  unsigned char trailer[8];
  put_u32(trailer, (uint32_t)p->crc);
  put_u32(trailer + 4, (uint32_t)p->total);
  return p->take(p->user, trailer, sizeof trailer, err);
}

static bool hand_on(llmprof_packer *p, llmprof_error *err) {
  job *j = job_of(p, p->handed);
  take_back(p, j);
  p->handed++;
  p->crc = crc32_combine(p->crc, j->crc, (z_off_t)j->size);
  p->total += j->size;
  return begin(p, err) && p->take(p->user, j->out, j->packed, err);
}

/* ---- filling ---- */

/* The end of a block is the window of the next, in a job that is empty. */
static bool next_block(llmprof_packer *p, llmprof_error *err) {
  job *before = job_of(p, p->filling++);
  if (p->filling - p->handed >= p->job_count && !hand_on(p, err)) return false;
  job *j = job_of(p, p->filling);
  j->window = before->size < WINDOW ? before->size : WINDOW;
  memcpy(j->in + WINDOW - j->window,
         before->in + WINDOW + before->size - j->window, j->window);
  j->size = 0;
  return true;
}

bool llmprof_packer_write(llmprof_packer *p, const void *bytes, size_t size,
                          llmprof_error *err) {
  const char *from = bytes;
  while (size) {
    job *j = job_of(p, p->filling);
    if (j->size == BLOCK) {
      submit(p, j);
      if (!next_block(p, err)) return false;
      continue;
    }
    size_t room = BLOCK - j->size, part = size < room ? size : room;
    memcpy(j->in + WINDOW + j->size, from, part);
    j->size += part;
    from += part;
    size -= part;
  }
  return true;
}

bool llmprof_packer_finish(llmprof_packer *p, llmprof_error *err) {
  job *j = job_of(p, p->filling);
  j->last = true;
  submit(p, j);
  while (p->handed <= p->filling) {
    if (!hand_on(p, err)) return false;
  }
  return end(p, err);
}

/* ---- making and ending ---- */

static bool prepare(job *j, int level) {
  j->in = llmprof_alloc(WINDOW + BLOCK, 1);
  llmprof_packing_hooks(&j->stream);
  j->ready = j->in && deflateInit2(&j->stream, level, Z_DEFLATED, RAW_WINDOW,
                                   MEMORY_LEVEL, Z_DEFAULT_STRATEGY) == Z_OK;
  if (!j->ready) return false;
  j->room = deflateBound(&j->stream, BLOCK) + 16; /* the flush */
  j->out = llmprof_alloc(j->room, 1);
  return j->out != NULL;
}

/* Signals are the caller's. */
static void start_threads(llmprof_packer *p, size_t wanted) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  while (p->thread_count < wanted &&
         pthread_create(&p->threads[p->thread_count], NULL, work, p) == 0)
    p->thread_count++;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

llmprof_packer *llmprof_packer_new(int level, size_t threads,
                                   llmprof_packer_take take, void *user) {
  llmprof_packer *p = llmprof_zalloc(1, sizeof *p);
  if (!p) return NULL;
  if (threads > MOST_THREADS) threads = MOST_THREADS;
  p->take = take;
  p->user = user;
  p->crc = crc32(0, NULL, 0);
  p->job_count = threads + 2;
  pthread_mutex_init(&p->lock, NULL);
  pthread_cond_init(&p->changed, NULL);
  bool ok = true;
  for (size_t i = 0; ok && i < p->job_count; i++)
    ok = prepare(&p->jobs[i], level);
  if (ok) {
    start_threads(p, threads);
    return p;
  }
  llmprof_packer_free(p);
  return NULL;
}

void llmprof_packer_free(llmprof_packer *p) {
  if (!p) return;
  pthread_mutex_lock(&p->lock);
  p->stop = true;
  pthread_cond_broadcast(&p->changed);
  pthread_mutex_unlock(&p->lock);
  for (size_t i = 0; i < p->thread_count; i++)
    pthread_join(p->threads[i], NULL);
  for (size_t i = 0; i < p->job_count; i++) {
    if (p->jobs[i].ready) deflateEnd(&p->jobs[i].stream);
    llmprof_free(p->jobs[i].in);
    llmprof_free(p->jobs[i].out);
  }
  pthread_cond_destroy(&p->changed);
  pthread_mutex_destroy(&p->lock);
  llmprof_free(p);
}

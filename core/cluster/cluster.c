#include "cluster/cluster.h"

#include <dlfcn.h>
#include <signal.h>

#include "base/interrupt.h"
#include "cluster/plugin.h"
#include "llmprof/alloc.h"
#include "os/sys.h"

/* A message is its size, least byte first, and its bytes. */
enum {
  SIZE_BYTES = 8
};

struct llmprof_cluster {
  const llmprof_mpi_plugin *mpi;
  size_t rank, size;
  bool over; /* MPI has ended */
};

/* ---- beginning and ending ---- */

static const llmprof_mpi_plugin *load(const char *path, llmprof_error *err) {
  /* An MPI loads parts of its own, which look for its names among the global
   * ones; and it cannot be unloaded. */
  void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (!library)
    return llmprof_fail(err, LLMPROF_NOTFOUND, "%s", dlerror()), NULL;
  const llmprof_mpi_plugin *mpi = dlsym(library, "llmprof_mpi");
  if (mpi && mpi->version == LLMPROF_MPI_VERSION) return mpi;
  llmprof_fail(err, LLMPROF_UNSUPPORTED,
               mpi ? "%s: a plugin for another version of llmprof"
                   : "%s: no plugin of llmprof",
               path);
  dlclose(library);
  return NULL;
}

llmprof_cluster *llmprof_cluster_open(const char *plugin, llmprof_error *err) {
  const llmprof_mpi_plugin *mpi = load(plugin, err);
  if (!mpi) return NULL;
  llmprof_cluster *cluster = llmprof_zalloc(1, sizeof *cluster);
  if (!cluster) return llmprof_fail_nomem(err), NULL;
  int rank, size;
  if (!mpi->start(&rank, &size)) {
    llmprof_free(cluster);
    llmprof_fail(err, LLMPROF_IO, "%s does not begin", mpi->library);
    return NULL;
  }
  *cluster = (llmprof_cluster){mpi, (size_t)rank, (size_t)size, false};
  return cluster;
}

void llmprof_cluster_close(llmprof_cluster *cluster) {
  llmprof_free(cluster);
}

size_t llmprof_cluster_rank(const llmprof_cluster *cluster) {
  return cluster->rank;
}

size_t llmprof_cluster_size(const llmprof_cluster *cluster) {
  return cluster->size;
}

const char *llmprof_cluster_library(const llmprof_cluster *cluster) {
  return cluster->mpi->library;
}

/* ---- waiting ---- */

typedef struct waiting {
  int64_t until; /* on the monotonic clock; INT64_MAX: for ever */
} waiting;

static waiting wait_for(int64_t wait_ms) {
  if (wait_ms < 0 || wait_ms > INT64_MAX / 2000000) return (waiting){INT64_MAX};
  return (waiting){llmprof_sys_monotonic() + wait_ms * 1000000};
}

static bool go_on(void *user) {
  const waiting *wait = user;
  return !llmprof_interrupted() &&
         (wait->until == INT64_MAX || llmprof_sys_monotonic() < wait->until);
}

/* What came of it, in words; `whom` may be NULL. */
static bool result_of(const llmprof_cluster *cluster, llmprof_mpi_result result,
                      const size_t *whom, llmprof_error *err) {
  if (result == LLMPROF_MPI_DONE) return true;
  if (result == LLMPROF_MPI_STOPPED && llmprof_interrupted())
    return llmprof_fail_interrupted(err);
  const char *what = result == LLMPROF_MPI_STOPPED
                         ? "was not heard of for too long"
                         : "cannot be reached";
  if (whom)
    return llmprof_fail(err, LLMPROF_LIMIT, "process %zu of %zu %s", *whom,
                        cluster->size, what);
  return llmprof_fail(err, LLMPROF_LIMIT, "one of %zu processes %s",
                      cluster->size, what);
}

/* ---- messages ---- */

static bool check_peer(const llmprof_cluster *cluster, size_t peer,
                       llmprof_error *err) {
  if (peer < cluster->size && peer != cluster->rank && !cluster->over)
    return true;
  return llmprof_fail(err, LLMPROF_RANGE, "no such process to talk to: %zu",
                      peer);
}

bool llmprof_cluster_send(llmprof_cluster *cluster, size_t to,
                          const void *bytes, size_t size, int64_t wait_ms,
                          llmprof_error *err) {
  if (!check_peer(cluster, to, err)) return false;
  unsigned char head[SIZE_BYTES];
  for (int i = 0; i < SIZE_BYTES; i++)
    head[i] = (unsigned char)((uint64_t)size >> (8 * i));
  waiting wait = wait_for(wait_ms);
  llmprof_mpi_result result =
      cluster->mpi->send((int)to, head, sizeof head, go_on, &wait);
  if (result == LLMPROF_MPI_DONE)
    result = cluster->mpi->send((int)to, bytes, size, go_on, &wait);
  return result_of(cluster, result, &to, err);
}

bool llmprof_cluster_receive(llmprof_cluster *cluster, size_t from,
                             llmprof_buffer *bytes, int64_t wait_ms,
                             llmprof_error *err) {
  if (!check_peer(cluster, from, err)) return false;
  unsigned char head[SIZE_BYTES];
  waiting wait = wait_for(wait_ms);
  llmprof_mpi_result result =
      cluster->mpi->receive((int)from, head, sizeof head, go_on, &wait);
  if (result != LLMPROF_MPI_DONE) return result_of(cluster, result, &from, err);
  uint64_t size = 0;
  for (int i = 0; i < SIZE_BYTES; i++) size |= (uint64_t)head[i] << (8 * i);
  llmprof_buffer_clear(bytes);
  if (size > SIZE_MAX / 2) return llmprof_fail_nomem(err);
  llmprof_buffer_fill(bytes, 0, (size_t)size);
  if (bytes->failed) return llmprof_fail_nomem(err);
  result = cluster->mpi->receive((int)from, bytes->bytes, (size_t)size, go_on,
                                 &wait);
  return result_of(cluster, result, &from, err);
}

bool llmprof_cluster_finish(llmprof_cluster *cluster, int64_t wait_ms,
                            llmprof_error *err) {
  if (cluster->over) return true;
  waiting wait = wait_for(wait_ms);
  llmprof_mpi_result result = cluster->mpi->meet(go_on, &wait);
  if (!result_of(cluster, result, NULL, err)) return false;
  cluster->over = true;
  if (cluster->rank > 0) signal(SIGTERM, SIG_IGN);
  cluster->mpi->finish();
  return true;
}

void llmprof_cluster_abandon(llmprof_cluster *cluster, int status) {
  if (!cluster->over) cluster->mpi->abandon(status);
}

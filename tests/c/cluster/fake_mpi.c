/* A plugin without an MPI: process 0 of 2, whose other process sends back what
 * it was sent. FAKE_OTHER: of another version; FAKE_MUTE: the other one says
 * nothing; FAKE_LOST: it cannot be reached; FAKE_DEAD: it does not begin. */
#include <string.h>

#include "cluster/plugin.h"

static char kept[1 << 16];
static size_t from, until;

static bool start(int *rank, int *size) {
#ifdef FAKE_DEAD
  return false;
#endif
  *rank = 0;
  *size = 2;
  return true;
}

static llmprof_mpi_result moved(llmprof_mpi_go_on go_on, void *user) {
#ifdef FAKE_MUTE
  while (go_on(user)) continue;
  return LLMPROF_MPI_STOPPED;
#endif
#ifdef FAKE_LOST
  return LLMPROF_MPI_FAILED;
#endif
  return go_on(user) ? LLMPROF_MPI_DONE : LLMPROF_MPI_STOPPED;
}

static llmprof_mpi_result send_bytes(int to, const void *bytes, size_t size,
                                     llmprof_mpi_go_on go_on, void *user) {
  if (to != 1 || size > sizeof kept - until) return LLMPROF_MPI_FAILED;
  if (size) memcpy(kept + until, bytes, size);
  until += size;
  return moved(go_on, user);
}

static llmprof_mpi_result receive_bytes(int of, void *bytes, size_t size,
                                        llmprof_mpi_go_on go_on, void *user) {
  llmprof_mpi_result result = moved(go_on, user);
  if (result != LLMPROF_MPI_DONE) return result;
  if (of != 1 || size > until - from) return LLMPROF_MPI_FAILED;
  if (size) memcpy(bytes, kept + from, size);
  from += size;
  return LLMPROF_MPI_DONE;
}

static void finish(void) {
}

static void abandon(int status) {
  (void)status;
}

extern const llmprof_mpi_plugin llmprof_mpi;
const llmprof_mpi_plugin llmprof_mpi = {
#ifdef FAKE_OTHER
    .version = LLMPROF_MPI_VERSION + 1,
#else
    .version = LLMPROF_MPI_VERSION,
#endif
    .library = "No MPI",
    .start = start,
    .send = send_bytes,
    .receive = receive_bytes,
    .meet = moved,
    .finish = finish,
    .abandon = abandon,
};

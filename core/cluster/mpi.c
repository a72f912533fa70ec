/* The plugin for one MPI: libllmprof_mpi_NAME.so, made by its mpicc.
 *
 * Nothing here blocks in MPI: a process that waits sleeps between looks, so
 * that it can be ended, and takes no processor from those that work. */
#include <mpi.h>
#include <time.h>

#include "cluster/plugin.h"

enum {
  LOOK_EVERY_NS = 1000000, /* while waiting */
  QUICK_LOOKS = 1000,      /* before that */
  MOST_AT_ONCE = 1 << 28,  /* bytes of one message: a count is an int */
  TAG = 1,
};

static bool start(int *rank, int *size) {
  int provided;
  return MPI_Init_thread(NULL, NULL, MPI_THREAD_SINGLE, &provided) ==
             MPI_SUCCESS &&
         MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) ==
             MPI_SUCCESS &&
         MPI_Comm_rank(MPI_COMM_WORLD, rank) == MPI_SUCCESS &&
         MPI_Comm_size(MPI_COMM_WORLD, size) == MPI_SUCCESS;
}

/* See a request through. One that is given up is left to the end of MPI. */
static llmprof_mpi_result complete(MPI_Request *request,
                                   llmprof_mpi_go_on go_on, void *user) {
  static const struct timespec pause = {.tv_nsec = LOOK_EVERY_NS};
  for (int look = 0;; look += look < QUICK_LOOKS) {
    int done = 0;
    if (MPI_Test(request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
      return LLMPROF_MPI_FAILED;
    if (done) return LLMPROF_MPI_DONE;
    if (!go_on(user)) return LLMPROF_MPI_STOPPED;
    if (look == QUICK_LOOKS) nanosleep(&pause, NULL);
  }
}

static int part_of(size_t size) {
  return size > MOST_AT_ONCE ? (int)MOST_AT_ONCE : (int)size;
}

/* Begin to move a part, to a process or from it. */
typedef int begin_part(char *at, int size, int peer, MPI_Request *request);

static int begin_send(char *at, int size, int peer, MPI_Request *request) {
  return MPI_Isend(at, size, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, request);
}

static int begin_receive(char *at, int size, int peer, MPI_Request *request) {
  return MPI_Irecv(at, size, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, request);
}

static llmprof_mpi_result move_bytes(begin_part *begin, int peer, char *at,
                                     size_t size, llmprof_mpi_go_on go_on,
                                     void *user) {
  llmprof_mpi_result result = LLMPROF_MPI_DONE;
  while (size && result == LLMPROF_MPI_DONE) {
    MPI_Request request;
    int part = part_of(size);
    if (begin(at, part, peer, &request) != MPI_SUCCESS)
      return LLMPROF_MPI_FAILED;
    result = complete(&request, go_on, user);
    at += part;
    size -= (size_t)part;
  }
  return result;
}

static llmprof_mpi_result send_bytes(int to, const void *bytes, size_t size,
                                     llmprof_mpi_go_on go_on, void *user) {
  return move_bytes(begin_send, to, (char *)bytes, size, go_on, user);
}

static llmprof_mpi_result receive_bytes(int from, void *bytes, size_t size,
                                        llmprof_mpi_go_on go_on, void *user) {
  return move_bytes(begin_receive, from, bytes, size, go_on, user);
}

static llmprof_mpi_result meet(llmprof_mpi_go_on go_on, void *user) {
  MPI_Request request;
  if (MPI_Ibarrier(MPI_COMM_WORLD, &request) != MPI_SUCCESS)
    return LLMPROF_MPI_FAILED;
  return complete(&request, go_on, user);
}

static void finish(void) {
  MPI_Finalize();
}

static void abandon(int status) {
  MPI_Abort(MPI_COMM_WORLD, status);
}

#ifdef OPEN_MPI
#define LIBRARY "Open MPI"
#else
#define LIBRARY "MPICH"
#endif

extern const llmprof_mpi_plugin llmprof_mpi;
const llmprof_mpi_plugin llmprof_mpi = {
    .version = LLMPROF_MPI_VERSION,
    .library = LIBRARY,
    .start = start,
    .send = send_bytes,
    .receive = receive_bytes,
    .meet = meet,
    .finish = finish,
    .abandon = abandon,
};

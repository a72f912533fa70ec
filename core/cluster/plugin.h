/* What a plugin for one MPI gives: the functions that moving bytes takes, in a
 * struct called llmprof_mpi. mpi.c is the source of all of them; it is compiled
 * by the mpicc of the MPI that it is for, and by nothing else of llmprof. */
#ifndef LLMPROF_CLUSTER_PLUGIN_H
#define LLMPROF_CLUSTER_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>

enum {
  LLMPROF_MPI_VERSION = 1 /* of this struct */
};

typedef enum llmprof_mpi_result {
  LLMPROF_MPI_DONE,
  LLMPROF_MPI_STOPPED, /* go_on said so */
  LLMPROF_MPI_FAILED,
} llmprof_mpi_result;

/* Asked many times a second while something is waited for. */
typedef bool (*llmprof_mpi_go_on)(void *user);

typedef struct llmprof_mpi_plugin {
  int version;
  const char *library; /* which MPI it was compiled for */
  /* Begin, once in a process. */
  bool (*start)(int *rank, int *size);
  /* Exactly `size` bytes, to or from another process. */
  llmprof_mpi_result (*send)(int to, const void *bytes, size_t size,
                             llmprof_mpi_go_on go_on, void *user);
  llmprof_mpi_result (*receive)(int from, void *bytes, size_t size,
                                llmprof_mpi_go_on go_on, void *user);
  /* Wait until all processes are here. */
  llmprof_mpi_result (*meet)(llmprof_mpi_go_on go_on, void *user);
  /* End in order, when all do; or have the launcher end all processes. */
  void (*finish)(void);
  void (*abandon)(int status);
} llmprof_mpi_plugin;

#endif

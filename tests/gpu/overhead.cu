// What a launch takes, with a profiler's window open and closed in turn, in one
// process: processes differ by more than profilers do. overhead.py runs it
// under several of them and puts the figures side by side.
//
//   nvcc -O2 -std=c++17 -arch=native -o overhead overhead.cu
//   overhead ROUNDS LAUNCHES REPLAYS KERNELS NS CPU
//
// Each round: LAUNCHES of a kernel of NS nanoseconds and REPLAYS of a graph of
// KERNELS of it, first with the window closed, then with it open (cudaProfilerStart to
// Stop). The thread that launches is kept on CPU (-1: it is not), and all other
// threads of the process, the driver's and the profiler's, leave it, where there
// is another. A line for each part of a round,
// 1,000 launches or 20 replays, since what else runs on the machine comes and
// goes within a round,
//
//   eager|graph closed|open ROUND US     microseconds of a launch, of a kernel
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
  FAILED = 1,
  USAGE = 2,
  MISSING = 3,
  WARMING = 10, // the share that warms up: one in so many
  LAUNCHES = 1000,
  REPLAYS = 20, // of a part
};

typedef struct {
  int rounds, launches, replays, kernels, length, cpu; // length: ns
} Options;

// ---- helpers ----

static void check(cudaError_t error, const char *what) {
  if (error == cudaSuccess) return;
  fprintf(stderr, "overhead: %s: %s\n", what, cudaGetErrorString(error));
  exit(error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver
           ? MISSING
           : FAILED);
}

#define CHECK(call) check(call, #call)

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static cpu_set_t given; // to the process

static void leave(pid_t thread, int cpu) {
  cpu_set_t its, rest = given;
  CPU_CLR(cpu, &rest);
  if (CPU_COUNT(&rest) > 0 && sched_getaffinity(thread, sizeof its, &its) == 0 &&
      CPU_ISSET(cpu, &its))
    (void)sched_setaffinity(thread, sizeof rest, &rest); // it may have ended
}

// All threads but this one: those that it made since it is kept are on its CPU.
static void others_leave(int cpu) {
  DIR *threads = cpu < 0 ? NULL : opendir("/proc/self/task");
  if (!threads) return;
  while (struct dirent *entry = readdir(threads)) {
    pid_t thread = (pid_t)atoi(entry->d_name);
    if (thread > 0 && thread != (pid_t)syscall(SYS_gettid)) leave(thread, cpu);
  }
  closedir(threads);
}

static void keep_on(int cpu) {
  cpu_set_t one;
  if (cpu < 0) return;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0)
    fprintf(stderr, "overhead: CPU %d: %s\n", cpu, strerror(errno));
}

// ---- work ----

__global__ void wait(uint64_t cycles) {
  uint64_t begun = clock64();
  while (cycles && clock64() - begun < cycles) continue;
}

// Of the GPU's highest clock.
static uint64_t cycles_of(int ns) {
  int khz;
  CHECK(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0));
  return (uint64_t)ns * (uint64_t)khz / 1000000;
}

static void launch(int count, uint64_t cycles) {
  for (int i = 0; i < count; i++) wait<<<1, 32>>>(cycles);
  CHECK(cudaGetLastError());
}

static cudaGraphExec_t make_graph(cudaStream_t stream, int kernels,
                                  uint64_t cycles) {
  cudaGraph_t graph;
  cudaGraphExec_t made;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < kernels; i++) wait<<<1, 32, 0, stream>>>(cycles);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&made, graph, 0));
  CHECK(cudaGraphDestroy(graph));
  return made;
}

static void replay(cudaGraphExec_t graph, cudaStream_t stream, int count) {
  for (int i = 0; i < count; i++) CHECK(cudaGraphLaunch(graph, stream));
  CHECK(cudaDeviceSynchronize());
}

static void tell(const char *kind, const char *window, int round,
                 const int64_t *times, int parts, int each) {
  for (int i = 0; i < parts; i++)
    printf("%s %s %d %.5f\n", kind, window, round,
           (double)(times[i + 1] - times[i]) / 1e3 / each);
}

// Both, once they are warm; the graph is made with the window as it is. Nothing
// is printed in between.
static void measure(const Options *o, const char *window, int round,
                    cudaStream_t stream) {
  int parts = o->launches / LAUNCHES, others = o->replays / REPLAYS;
  int most = parts > others ? parts : others;
  int64_t *times = (int64_t *)malloc((size_t)(most + 1) * sizeof *times);
  if (!times) exit(FAILED);
  uint64_t cycles = cycles_of(o->length);
  cudaGraphExec_t graph = make_graph(stream, o->kernels, cycles);
  others_leave(o->cpu);
  launch(o->launches / WARMING + 1, cycles);
  CHECK(cudaDeviceSynchronize());
  times[0] = now();
  for (int i = 0; i < parts; i++) {
    launch(LAUNCHES, cycles);
    times[i + 1] = now();
  }
  CHECK(cudaDeviceSynchronize());
  tell("eager", window, round, times, parts, LAUNCHES);
  replay(graph, stream, o->replays / WARMING + 1);
  times[0] = now();
  for (int i = 0; i < others; i++) {
    replay(graph, stream, REPLAYS);
    times[i + 1] = now();
  }
  tell("graph", window, round, times, others, REPLAYS * o->kernels);
  CHECK(cudaGraphExecDestroy(graph));
  free(times);
}

static void run(const Options *o) {
  cudaStream_t stream;
  if (sched_getaffinity(0, sizeof given, &given) != 0) CPU_ZERO(&given);
  CHECK(cudaFree(NULL)); // makes the context
  keep_on(o->cpu);
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  launch(o->launches, cycles_of(o->length));
  for (int round = 0; round < o->rounds; round++) {
    measure(o, "closed", round, stream);
    CHECK(cudaProfilerStart());
    measure(o, "open", round, stream);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaProfilerStop());
  }
  CHECK(cudaStreamDestroy(stream));
}

// ---- the command line ----

static int number(const char *text, int least) {
  char *end;
  long value = strtol(text, &end, 10);
  if (*end || end == text || value < least || value > 100000000) {
    fprintf(stderr, "overhead: expected a number from %d on, got '%s'\n", least,
            text);
    exit(USAGE);
  }
  return (int)value;
}

int main(int argc, char **argv) {
  if (argc != 7) {
    fprintf(stderr, "usage: overhead ROUNDS LAUNCHES REPLAYS KERNELS NS CPU\n");
    return USAGE;
  }
  Options o = {number(argv[1], 1), number(argv[2], LAUNCHES), number(argv[3], REPLAYS),
               number(argv[4], 1), number(argv[5], 0), number(argv[6], -1)};
  run(&o);
  fflush(stdout);
  return 0;
}

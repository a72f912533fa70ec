/* A program to be injected into: victim HOW LAUNCHES THREADS. It launches
 * kernels of the stand-in in NVTX ranges and then ends in one of many ways.
 * VICTIM_GRAPHS: it launches graphs, too. VICTIM_EAGER: what is in them comes
 * once more, one by one. VICTIM_GPUS: each thread has a GPU of its own, as far
 * as there are some. VICTIM_UNTIL: it launches until there is a file of that
 * name, too. VICTIM_WAITS: each wait takes that many us, and it waits for those
 * launches. VICTIM_DOMAINS: it makes as many domains of NVTX. VICTIM_CLOSES: it
 * closes that library, which it never opened. VICTIM_UNSEEN: nothing of it is
 * recorded. VICTIM_UNLOADED: that library is not there in its first two
 * repeats. VICTIM_CLIENT: it becomes a client of that libcupti itself.
 * VICTIM_QUITS: "quick" ends once there is a file of that name. */
#include <cuda.h>
#include <cupti.h>
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "standin.h"

int module_marks(void); /* another module with NVTX in it */

static const standin_kernel gemm = {"_Z4gemmPf"};
static const standin_kernel reduce = {"_Z24ncclDevKernel_AllReduceP"};
static const standin_graph step = {5, 2, {&gemm, &gemm}, {{0}}};
static const standin_graph joined = {6, 2, {&gemm, &reduce}, {{0}}};
static const standin_graph unseen = {7, 1, {&gemm}, {{0}}};
static long launches;

static void launch(const standin_kernel *kernel, unsigned grid) {
  (void)cuLaunchKernel((CUfunction)(void *)(uintptr_t)kernel, grid, 1, 1, 128,
                       1, 1, 64, NULL, NULL, NULL);
}

static void launch_graph(const standin_graph *graph) {
  (void)cuGraphLaunch((CUgraphExec)(void *)(uintptr_t)graph, NULL);
}

static void launch_graphs(int repeat) {
  if (!getenv("VICTIM_GRAPHS")) return;
  for (int i = 0; i < 3; i++) launch_graph(&step);
  launch_graph(&joined);
  if (repeat == 3) launch_graph(&unseen);
}

static void choose_gpu(int number) {
  CUcontext context;
  if (getenv("VICTIM_GPUS") &&
      cuDevicePrimaryCtxRetain(&context, number % STANDIN_DEVICES) ==
          CUDA_SUCCESS)
    (void)cuCtxSetCurrent(context);
}

static void expect_unloaded(const char *path) {
  if (path && dlopen(path, RTLD_NOLOAD | RTLD_NOW)) exit(93);
}

static void CUPTIAPI ignore(void *user, CUpti_CallbackDomain domain,
                            CUpti_CallbackId id, const void *data) {
  (void)user, (void)domain, (void)id, (void)data;
}

/* As torch.profiler does when it starts. */
static void be_client(const char *path) {
  CUpti_SubscriberHandle handle;
  void *library = path ? dlopen(path, RTLD_NOW) : NULL;
  void *found = library ? dlsym(library, "cuptiSubscribe") : NULL;
  __typeof__(cuptiSubscribe) *subscribe;
  memcpy(&subscribe, &found, sizeof subscribe);
  if (path && (!found || subscribe(&handle, (CUpti_CallbackFunc)ignore, NULL) !=
                             CUPTI_SUCCESS))
    exit(92);
}

void *work(void *number);
void *work(void *number) { /* exported: stacks tell its name */
  choose_gpu((int)(intptr_t)number);
  for (int repeat = 0; repeat < 4; repeat++) {
    nvtxRangePushA("prefill");
    launch(&gemm, 8);
    nvtxRangePop();
    nvtxRangePushA("decode");
    for (long i = 0; i < launches; i++) {
      launch(&gemm, 4);
      if (i % 16 == 0) launch(&reduce, 2);
    }
    launch_graphs(repeat);
    (void)cuStreamSynchronize(NULL);
    nvtxRangePop();
    if (repeat < 2) expect_unloaded(getenv("VICTIM_UNLOADED"));
  }
  return NULL;
}

static void mark_operator(const char *text, unsigned grid) {
  nvtxRangePushA(text);
  launch(&gemm, grid);
  nvtxRangePop();
}

/* A repeat in which each operator is a range. */
static void mark_operators(void) {
  nvtxRangePushA("operators");
  expect_unloaded(getenv("VICTIM_OPERATORS"));
  nvtxRangePushA("prefill");
  nvtxRangePushA("aten::linear, op_id = 1");
  mark_operator("aten::mm, op_id = 2, sizes = [[8, 4], [4, 2]]", 8);
  nvtxRangePop();
  mark_operator("aten::mm, op_id = 3, sizes = [[1, 4], [4, 2]]", 4);
  mark_operator("aten::mm, op_id = 4, sizes = [[1, 4], [4, 2]]", 4);
  launch(&reduce, 2);
  nvtxRangePop();
  nvtxRangePop();
  launch(&gemm, 1);
}

/* Repeats whose kernels of graphs are launched one by one. */
static void repeat_eagerly(int count) {
  nvtxRangePushA("eager");
  for (; count > 0; count--) {
    nvtxRangePushA("prefill");
    launch(&gemm, 8);
    nvtxRangePop();
    nvtxRangePushA("decode");
    launch(&gemm, 4);
    for (int i = 0; i < 4; i++) launch(&gemm, 16);
    nvtxRangePop();
  }
  nvtxRangePop();
  launch(&gemm, 16);
}

typedef struct sizes {
  uint64_t communicator, bytes;
} sizes;

/* Every way to say something. */
static void mark_everything(void) {
  nvtxDomainHandle_t domain = nvtxDomainCreateA("NCCL");
  nvtxStringHandle_t name = nvtxDomainRegisterStringA(domain, "ncclAllReduce");
  nvtxDomainNameCategoryA(domain, 7, "collective");
  nvtxEventAttributes_t a = {0};
  a.version = NVTX_VERSION;
  a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  a.category = 7;
  a.colorType = NVTX_COLOR_ARGB;
  a.color = 0xff00ff00;
  a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  a.message.registered = name;
  const nvtxPayloadSchemaEntry_t fields[] = {
      {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "comm", NULL, 0, 0, NULL, NULL},
      {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "size", "Bytes", 0, 8, NULL, NULL},
  };
  nvtxPayloadSchemaAttr_t schema = {
      .fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME |
                   NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                   NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                   NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                   NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE,
      .name = "sizes",
      .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
      .entries = fields,
      .numEntries = 2,
      .payloadStaticSize = sizeof(sizes),
  };
  sizes payload = {0x1234, 4096};
  nvtxPayloadData_t data = {nvtxPayloadSchemaRegister(domain, &schema),
                            sizeof payload, &payload};
  a.payloadType = NVTX_PAYLOAD_TYPE_EXT;
  a.reserved0 = 1;
  a.payload.ullValue = (uint64_t)(uintptr_t)&data;
  int level = nvtxDomainRangePushEx(domain, &a);
  level = level * 10 + nvtxDomainRangePop(domain);
  a.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
  a.payload.dValue = 2.5;
  nvtxDomainMarkEx(domain, &a);
  nvtxRangeEnd(nvtxRangeStartW(L"w\u00efde"));
  nvtxNameOsThreadA((uint32_t)getpid(), "main thread");
  int deeper = module_marks();
  if (getenv("VICTIM_UNSEEN") ? level == 0 : level != 0 || deeper != 1)
    exit(99);
}

/* More domains than there is space for at first, each asked for twice. */
static void make_domains(long count) {
  nvtxDomainHandle_t *all = calloc((size_t)count, sizeof *all);
  if (!all) exit(96);
  for (long i = 0; i < 2 * count; i++) {
    char name[32];
    snprintf(name, sizeof name, "domain %ld", i % count);
    nvtxDomainHandle_t made = nvtxDomainCreateA(name);
    if (!made || (i >= count && made != all[i - count])) exit(95);
    if (i < count) all[i] = made;
  }
  for (long i = 0; i < count; i += 100) {
    nvtxEventAttributes_t a = {0};
    a.version = NVTX_VERSION;
    a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    nvtxDomainMarkEx(all[i], &a);
  }
  free(all);
}

/* More often than it was opened, as a plugin does that minds its own only. */
static void close_library(const char *path) {
  void *library = dlopen(path, RTLD_NOLOAD | RTLD_NOW);
  if (!library) exit(94);
  for (int i = 0; i < 10; i++) dlclose(library);
  usleep(200000); /* its thread looks ten times a second */
}

static void work_until(const char *path) {
  while (path && access(path, F_OK) != 0) {
    nvtxRangePushA("step");
    launch(&gemm, 4);
    launch_graphs(0);
    if (getenv("VICTIM_WAITS")) (void)cuStreamSynchronize(NULL);
    nvtxRangePop();
    usleep(1000);
  }
}

static void *wait_for_ever(void *unused) {
  (void)cuStreamSynchronize(NULL);
  return unused;
}

/* Leave a thread in a call that does not return. */
static void leave_waiting(void) {
  pthread_t thread;
  setenv("VICTIM_WAITS", "1000000000", 1);
  if (pthread_create(&thread, NULL, wait_for_ever, NULL) != 0) exit(97);
  usleep(20000);
}

static void end_by(const char *how) {
  if (strcmp(how, "quick") == 0) {
    const char *until = getenv("VICTIM_QUITS");
    for (int i = 0; i < (until ? 20000 : 1500); i++) {
      if (until && access(until, F_OK) == 0) break;
      usleep(1000);
    }
    _exit(3); /* what is not in the file by now is lost */
  }
  if (strcmp(how, "term") == 0) raise(SIGTERM);
  if (strcmp(how, "kill") == 0) raise(SIGKILL);
  if (strcmp(how, "abort") == 0) abort();
  if (strcmp(how, "thread") == 0) pthread_exit(NULL);
  if (strcmp(how, "wait") == 0) pause();
  if (strcmp(how, "waiting") == 0) leave_waiting();
  if (strcmp(how, "exec") == 0) execl("/bin/true", "true", (char *)NULL);
  if (strcmp(how, "fork") == 0) {
    pid_t child = fork();
    if (child == 0) {
      nvtxRangePushA("child");
      nvtxRangePop();
      exit(6);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WEXITSTATUS(status) != 6) exit(98);
  }
}

int main(int argc, char **argv) {
  pthread_t threads[16];
  if (argc != 4) return 2;
  launches = atol(argv[2]);
  int count = atoi(argv[3]);
  if (strcmp(argv[1], "nvtx") != 0) (void)cuInit(0);
  for (int i = 0; i < STANDIN_DEVICES; i++) choose_gpu(i);
  choose_gpu(0);
  nvtxRangePushA("measured");
  mark_everything();
  if (getenv("VICTIM_DOMAINS")) make_domains(atol(getenv("VICTIM_DOMAINS")));
  if (getenv("VICTIM_CLOSES")) close_library(getenv("VICTIM_CLOSES"));
  work_until(getenv("VICTIM_UNTIL"));
  be_client(getenv("VICTIM_CLIENT"));
  (void)cuProfilerStart();
  for (int i = 1; i < count; i++)
    if (pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i) != 0)
      return 97;
  work(NULL);
  for (int i = 1; i < count; i++) pthread_join(threads[i], NULL);
  (void)cuProfilerStop();
  nvtxRangePop();
  if (getenv("VICTIM_EAGER")) repeat_eagerly(atoi(getenv("VICTIM_EAGER")));
  if (getenv("VICTIM_OPERATORS")) mark_operators();
  puts("done");
  fflush(stdout);
  end_by(argv[1]);
  return 4;
}

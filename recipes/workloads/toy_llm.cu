// A small decoder in CUDA C with NVTX ranges: a workload for profilers that
// needs no Python and takes a second. Prefill runs tiled matrix products over
// the prompt; each decode step runs matrix-vector products, attention over a
// growing cache and small kernels, with half of the feed-forward network on a
// second stream. Weights are random, the arithmetic is real, and the tokens do
// not depend on how they are computed: --graph gives the same.
//
// CMake builds it where it finds nvcc. By hand, on the machine with the GPU:
//
//   nvcc -O2 -std=c++17 -arch=native -o toy_llm toy_llm.cu
//
// Exit status: 0 done, 1 a CUDA call or a worker failed, 2 usage, 3 no device,
// or what --exit-code says.
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
  FAILED = 1,
  USAGE = 2,
  MISSING = 3
};
enum {
  HEAD = 64,
  VOCABULARY = 4096,
  WIDEN = 4,
  TILE = 16,
  BLOCK = 128
};
enum {
  MOST_TOKENS = 8192
}; // scores of a head must fit in shared memory

// ---- options ----

typedef struct {
  int steps, repeats, warmup, prompt, layers, hidden, workers, exit_code;
  int graph, domain, no_nvtx, crash, hang, broken, help;
} Options;

typedef struct {
  const char *name;
  size_t offset;
  int flag; // takes no value
  int least, most;
  const char *text;
} Declared;

#define AT(field) offsetof(Options, field)

// The most of --prompt and --steps: the scores of so many tokens (32 KB) fit in
// shared memory.
static const Declared declared[] = {
    {"--steps", AT(steps), 0, 1, 4096, "decode steps in each repeat"},
    {"--repeats", AT(repeats), 0, 1, 1000, "runs inside the ranges"},
    {"--warmup", AT(warmup), 0, 0, 1000, "runs before that, outside them"},
    {"--prompt", AT(prompt), 0, 1, 4096, "tokens of the prompt"},
    {"--layers", AT(layers), 0, 1, 256, "layers"},
    {"--hidden", AT(hidden), 0, 64, 8192, "width, a multiple of 64"},
    {"--graph", AT(graph), 1, 0, 1, "replay decode steps from a CUDA graph"},
    {"--domain", AT(domain), 1, 0, 1, "make ranges in the NVTX domain LLM"},
    {"--no-nvtx", AT(no_nvtx), 1, 0, 1, "make no ranges"},
    {"--fork", AT(workers), 0, 0, 64, "run in so many forked processes"},
    {"--exit-code", AT(exit_code), 0, 0, 255, "exit so, after good output"},
    {"--crash-after-output", AT(crash), 1, 0, 1, "abort, after good output"},
    {"--hang", AT(hang), 1, 0, 1, "never exit, after good output"},
    {"--broken-metrics", AT(broken), 1, 0, 1, "cut metrics.json off"},
    {"--help", AT(help), 1, 0, 1, "print this"},
};

static const int declared_count = sizeof declared / sizeof *declared;

static int *field_of(Options *o, const Declared *d) {
  return (int *)((char *)o + d->offset);
}

static void usage_error(const char *word, const char *problem) {
  fprintf(stderr, "toy_llm: '%s': %s (--help lists the options)\n", word,
          problem);
  exit(USAGE);
}

static void print_help(const Options *o) {
  printf("usage: toy_llm [option]...\n");
  for (int i = 0; i < declared_count; i++) {
    const Declared *d = &declared[i];
    const int *value = field_of((Options *)o, d);
    if (d->flag)
      printf("  %-22s %s\n", d->name, d->text);
    else
      printf("  %-20s N %s (%d)\n", d->name, d->text, *value);
  }
  printf("Writes metrics.json into $LLMPROF_WORKLOAD_DIR when that is set.\n");
}

static int number(const Declared *d, const char *text) {
  char *end;
  errno = 0;
  long value = strtol(text, &end, 10);
  if (errno || end == text || *end || value < d->least || value > d->most) {
    char problem[96];
    snprintf(problem, sizeof problem, "%s takes a whole number from %d to %d",
             d->name, d->least, d->most);
    usage_error(text, problem);
  }
  return (int)value;
}

static const Declared *find_option(const char *word) {
  for (int i = 0; i < declared_count; i++)
    if (!strcmp(declared[i].name, word)) return &declared[i];
  usage_error(word, "no such option");
  return NULL;
}

static Options parse(int argc, char **argv) {
  Options o;
  memset(&o, 0, sizeof o);
  o.steps = 32, o.repeats = 2, o.warmup = 1, o.prompt = 128;
  o.layers = 4, o.hidden = 512;
  const Options defaults = o;
  for (int i = 1; i < argc; i++) {
    const Declared *d = find_option(argv[i]);
    if (!d->flag && i + 1 == argc) usage_error(argv[i], "needs a value");
    *field_of(&o, d) = d->flag ? 1 : number(d, argv[++i]);
  }
  if (o.help) {
    print_help(&defaults);
    exit(0);
  }
  if (o.hidden % HEAD) usage_error("--hidden", "not a multiple of 64");
  return o;
}

// ---- CUDA ----

static void check(cudaError_t error, const char *call, int line) {
  if (error == cudaSuccess) return;
  fprintf(stderr, "toy_llm: %s: %s (toy_llm.cu:%d)\n", call,
          cudaGetErrorString(error), line);
  exit(FAILED);
}

#define CHECK(call) check(call, #call, __LINE__)

static int blocks(size_t count, int size) {
  return (int)((count + (size_t)size - 1) / (size_t)size);
}

// A number that looks random but depends on its place and the seed only.
static __device__ float noise(uint32_t place, uint32_t seed) {
  uint32_t h = place * 2654435761u ^ seed * 2246822519u;
  h ^= h >> 15;
  h *= 2246822519u;
  h ^= h >> 13;
  h *= 3266489917u;
  h ^= h >> 16;
  return (float)(h >> 8) / 8388608.0f - 1.0f;
}

static __global__ void fill(float *out, size_t count, uint32_t seed,
                            float scale) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < count) out[i] = scale * noise((uint32_t)i, seed);
}

static __global__ void make_prompt(int *tokens, int count) {
  int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) tokens[i] = (int)((uint32_t)i * 2654435761u % VOCABULARY);
}

static __global__ void embed(float *out, const float *table, const int *tokens,
                             int hidden) {
  const float *row = table + (size_t)tokens[blockIdx.x] * hidden;
  for (int i = (int)threadIdx.x; i < hidden; i += BLOCK)
    out[(size_t)blockIdx.x * hidden + i] = row[i];
}

// The sum, or the largest, of one value per thread; every thread gets it.
static __device__ float reduce(float value, bool largest) {
  __shared__ float shared[BLOCK];
  int me = (int)threadIdx.x;
  shared[me] = value;
  __syncthreads();
  for (int half = BLOCK / 2; half > 0; half /= 2) {
    if (me < half)
      shared[me] = largest ? fmaxf(shared[me], shared[me + half])
                           : shared[me] + shared[me + half];
    __syncthreads();
  }
  float result = shared[0];
  __syncthreads();
  return result;
}

static __global__ void rms_norm(float *out, const float *x, int hidden) {
  const float *row = x + (size_t)blockIdx.x * hidden;
  float sum = 0;
  for (int i = (int)threadIdx.x; i < hidden; i += BLOCK) sum += row[i] * row[i];
  float scale = rsqrtf(reduce(sum, false) / (float)hidden + 1e-6f);
  for (int i = (int)threadIdx.x; i < hidden; i += BLOCK)
    out[(size_t)blockIdx.x * hidden + i] = row[i] * scale;
}

// out [n, rows] = x [n, columns] times the transpose of w [rows, columns]
static __global__ void gemm(float *out, const float *x, const float *w, int n,
                            int rows, int columns) {
  __shared__ float left[TILE][TILE], right[TILE][TILE + 1];
  int tx = (int)threadIdx.x, ty = (int)threadIdx.y;
  int row = (int)blockIdx.x * TILE + tx, item = (int)blockIdx.y * TILE + ty;
  int fetched = (int)blockIdx.x * TILE + ty;
  float sum = 0;
  for (int k = 0; k < columns; k += TILE) {
    left[ty][tx] = item < n ? x[(size_t)item * columns + k + tx] : 0;
    right[ty][tx] = fetched < rows ? w[(size_t)fetched * columns + k + tx] : 0;
    __syncthreads();
    for (int i = 0; i < TILE; i++) sum += left[ty][i] * right[tx][i];
    __syncthreads();
  }
  if (item < n && row < rows) out[(size_t)item * rows + row] = sum;
}

// The same for one x: a warp per row.
static __global__ void gemv(float *out, const float *x, const float *w,
                            int rows, int columns) {
  int row = (int)(blockIdx.x * blockDim.x + threadIdx.x) / 32;
  int lane = (int)threadIdx.x % 32;
  if (row >= rows) return; // all lanes of a warp have the same row
  float sum = 0;
  for (int i = lane; i < columns; i += 32)
    sum += x[i] * w[(size_t)row * columns + i];
  for (int step = 16; step > 0; step /= 2)
    sum += __shfl_down_sync(0xffffffffu, sum, step);
  if (lane == 0) out[row] = sum;
}

// Keys and values of new tokens go into the cache behind the `*length` there.
static __global__ void append(float *keys, float *values, const float *qkv,
                              const int *length, int hidden) {
  size_t slot = (size_t)*length + blockIdx.x;
  const float *row = qkv + (size_t)blockIdx.x * 3 * hidden;
  for (int i = (int)threadIdx.x; i < hidden; i += BLOCK) {
    keys[slot * hidden + i] = row[hidden + i];
    values[slot * hidden + i] = row[2 * hidden + i];
  }
}

// One block per head (x) and new token (y), which sees itself and what is
// before it. Scores are in dynamic shared memory.
static __global__ void attention(float *out, const float *qkv,
                                 const float *keys, const float *values,
                                 const int *length, int hidden) {
  extern __shared__ float scores[];
  int item = (int)blockIdx.y, me = (int)threadIdx.x;
  int seen = *length + item + 1;
  size_t head = (size_t)blockIdx.x * HEAD;
  const float *query = qkv + (size_t)item * 3 * hidden + head;
  float top = -INFINITY, sum = 0, mixed = 0;
  for (int j = me; j < seen; j += BLOCK) {
    float dot = 0;
    for (int i = 0; i < HEAD; i++)
      dot += query[i] * keys[(size_t)j * hidden + head + i];
    scores[j] = dot * rsqrtf((float)HEAD);
    top = fmaxf(top, scores[j]);
  }
  top = reduce(top, true);
  for (int j = me; j < seen; j += BLOCK) {
    scores[j] = expf(scores[j] - top);
    sum += scores[j];
  }
  sum = reduce(sum, false);
  if (me >= HEAD) return;
  for (int j = 0; j < seen; j++)
    mixed += scores[j] * values[(size_t)j * hidden + head + me];
  out[(size_t)item * hidden + head + me] = mixed / sum;
}

static __global__ void silu_multiply(float *gate, const float *up,
                                     size_t count) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < count) gate[i] = gate[i] / (1 + expf(-gate[i])) * up[i];
}

static __global__ void add(float *x, const float *y, size_t count) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < count) x[i] += y[i];
}

// The place of the largest, the first one if there are several.
static __global__ void argmax(int *token, const float *logits) {
  __shared__ float values[BLOCK];
  __shared__ int places[BLOCK];
  int me = (int)threadIdx.x;
  values[me] = -INFINITY, places[me] = 0;
  for (int i = me; i < VOCABULARY; i += BLOCK)
    if (logits[i] > values[me]) values[me] = logits[i], places[me] = i;
  __syncthreads();
  for (int half = BLOCK / 2; half > 0; half /= 2) {
    int other = me + half;
    if (me < half &&
        (values[other] > values[me] ||
         (values[other] == values[me] && places[other] < places[me])))
      values[me] = values[other], places[me] = places[other];
    __syncthreads();
  }
  if (me == 0) *token = places[0];
}

static __global__ void advance(int *length, int count) {
  *length += count;
}

// ---- the model ----

typedef struct {
  float *qkv, *out, *gate, *up, *down; // weights
  float *keys, *values;                // cache, [tokens, hidden]
} Layer;

typedef struct {
  int hidden, wide, layer_count, prompt;
  Layer *layers;
  float *table; // embedding and output layer, [VOCABULARY, hidden]
  float *x, *norm, *qkv, *mixed, *gate, *up, *logits;
  int *tokens, *token, *length; // prompt, last token, tokens in the cache
  size_t parameters;
  cudaStream_t stream, side;
  cudaEvent_t forked, joined;
  cudaGraphExec_t step; // NULL: launched one by one
} Model;

static float *floats(size_t count) {
  float *out;
  CHECK(cudaMalloc((void **)&out, count * sizeof *out));
  return out;
}

static float *weights(Model *m, size_t count, float scale) {
  float *out = floats(count);
  fill<<<blocks(count, 256), 256, 0, m->stream>>>(
      out, count, (uint32_t)m->parameters + 1, scale);
  m->parameters += count;
  return out;
}

static void make_layer(Model *m, Layer *l, int tokens) {
  size_t h = (size_t)m->hidden, w = (size_t)m->wide;
  float scale = 1.7f / sqrtf((float)h), narrow = scale / sqrtf(WIDEN);
  l->qkv = weights(m, 3 * h * h, scale);
  l->out = weights(m, h * h, scale);
  l->gate = weights(m, w * h, scale);
  l->up = weights(m, w * h, scale);
  l->down = weights(m, h * w, narrow);
  l->keys = floats((size_t)tokens * h);
  l->values = floats((size_t)tokens * h);
}

static void make_buffers(Model *m) {
  size_t n = (size_t)m->prompt, h = (size_t)m->hidden, w = (size_t)m->wide;
  m->x = floats(n * h);
  m->norm = floats(n * h);
  m->qkv = floats(n * 3 * h);
  m->mixed = floats(n * h);
  m->gate = floats(n * w);
  m->up = floats(n * w);
  m->logits = floats(VOCABULARY);
  CHECK(cudaMalloc((void **)&m->tokens, n * sizeof(int)));
  CHECK(cudaMalloc((void **)&m->token, sizeof(int)));
  CHECK(cudaMalloc((void **)&m->length, sizeof(int)));
  make_prompt<<<blocks(n, BLOCK), BLOCK, 0, m->stream>>>(m->tokens, m->prompt);
}

static void make_model(Model *m, const Options *o) {
  memset(m, 0, sizeof *m);
  m->hidden = o->hidden, m->wide = WIDEN * o->hidden;
  m->layer_count = o->layers, m->prompt = o->prompt;
  CHECK(cudaStreamCreateWithFlags(&m->stream, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&m->side, cudaStreamNonBlocking));
  CHECK(cudaEventCreateWithFlags(&m->forked, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&m->joined, cudaEventDisableTiming));
  m->layers = (Layer *)calloc((size_t)o->layers, sizeof *m->layers);
  if (!m->layers) check(cudaErrorMemoryAllocation, "calloc", __LINE__);
  m->table = weights(m, (size_t)VOCABULARY * (size_t)o->hidden, 0.1f);
  for (int i = 0; i < o->layers; i++)
    make_layer(m, &m->layers[i], o->prompt + o->steps);
  make_buffers(m);
  CHECK(cudaGetLastError());
  CHECK(cudaStreamSynchronize(m->stream));
}

static void multiply(cudaStream_t stream, float *out, const float *x,
                     const float *w, int n, int rows, int columns) {
  if (n == 1) {
    gemv<<<blocks((size_t)rows * 32, BLOCK), BLOCK, 0, stream>>>(out, x, w,
                                                                 rows, columns);
    return;
  }
  dim3 grid((unsigned)blocks((size_t)rows, TILE),
            (unsigned)blocks((size_t)n, TILE));
  gemm<<<grid, dim3(TILE, TILE), 0, stream>>>(out, x, w, n, rows, columns);
}

static void run_attention(Model *m, const Layer *l, int n, int most) {
  dim3 grid((unsigned)(m->hidden / HEAD), (unsigned)n);
  size_t scores = (size_t)most * sizeof(float);
  rms_norm<<<n, BLOCK, 0, m->stream>>>(m->norm, m->x, m->hidden);
  multiply(m->stream, m->qkv, m->norm, l->qkv, n, 3 * m->hidden, m->hidden);
  append<<<n, BLOCK, 0, m->stream>>>(l->keys, l->values, m->qkv, m->length,
                                     m->hidden);
  attention<<<grid, BLOCK, scores, m->stream>>>(
      m->mixed, m->qkv, l->keys, l->values, m->length, m->hidden);
  multiply(m->stream, m->norm, m->mixed, l->out, n, m->hidden, m->hidden);
  size_t count = (size_t)n * (size_t)m->hidden;
  add<<<blocks(count, 256), 256, 0, m->stream>>>(m->x, m->norm, count);
}

// The up projection runs on the second stream, beside the gate's.
static void run_feed_forward(Model *m, const Layer *l, int n) {
  rms_norm<<<n, BLOCK, 0, m->stream>>>(m->norm, m->x, m->hidden);
  CHECK(cudaEventRecord(m->forked, m->stream));
  CHECK(cudaStreamWaitEvent(m->side, m->forked, 0));
  multiply(m->side, m->up, m->norm, l->up, n, m->wide, m->hidden);
  CHECK(cudaEventRecord(m->joined, m->side));
  multiply(m->stream, m->gate, m->norm, l->gate, n, m->wide, m->hidden);
  CHECK(cudaStreamWaitEvent(m->stream, m->joined, 0));
  size_t wide = (size_t)n * (size_t)m->wide;
  size_t count = (size_t)n * (size_t)m->hidden;
  silu_multiply<<<blocks(wide, 256), 256, 0, m->stream>>>(m->gate, m->up, wide);
  multiply(m->stream, m->mixed, m->gate, l->down, n, m->hidden, m->wide);
  add<<<blocks(count, 256), 256, 0, m->stream>>>(m->x, m->mixed, count);
}

// Run n tokens through all layers; m->token is what comes next. `most` tokens
// are in the cache afterwards, at most.
static void forward(Model *m, const int *tokens, int n, int most) {
  embed<<<n, BLOCK, 0, m->stream>>>(m->x, m->table, tokens, m->hidden);
  for (int i = 0; i < m->layer_count; i++) {
    run_attention(m, &m->layers[i], n, most);
    run_feed_forward(m, &m->layers[i], n);
  }
  const float *last = m->x + (size_t)(n - 1) * (size_t)m->hidden;
  rms_norm<<<1, BLOCK, 0, m->stream>>>(m->norm, last, m->hidden);
  multiply(m->stream, m->logits, m->norm, m->table, 1, VOCABULARY, m->hidden);
  argmax<<<1, BLOCK, 0, m->stream>>>(m->token, m->logits);
  advance<<<1, 1, 0, m->stream>>>(m->length, n);
  CHECK(cudaGetLastError());
}

static void prefill(Model *m) {
  CHECK(cudaMemsetAsync(m->length, 0, sizeof(int), m->stream));
  forward(m, m->tokens, m->prompt, m->prompt);
}

static void decode_step(Model *m, int most) {
  if (m->step)
    CHECK(cudaGraphLaunch(m->step, m->stream));
  else
    forward(m, m->token, 1, most);
}

// Both streams are in the graph: the second joins the first's capture at fork.
static void capture_step(Model *m, int most) {
  cudaGraph_t graph;
  CHECK(cudaStreamBeginCapture(m->stream, cudaStreamCaptureModeThreadLocal));
  forward(m, m->token, 1, most);
  CHECK(cudaStreamEndCapture(m->stream, &graph));
  CHECK(cudaGraphInstantiate(&m->step, graph, 0));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaGraphUpload(m->step, m->stream));
  CHECK(cudaStreamSynchronize(m->stream));
}

// ---- runs and their times ----

typedef struct {
  double ms, gpu_ms;
} Time;

typedef struct {
  Time prefill, decode, *steps;
  uint64_t tokens; // a hash of them
} Run;

typedef struct {
  const Options *o;
  Model model;
  cudaEvent_t *events; // begin and end of prefill, then of every step
  Run *runs;
} Program;

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static nvtxDomainHandle_t llm_domain(void) {
  static nvtxDomainHandle_t domain;
  if (!domain) domain = nvtxDomainCreateA("LLM");
  return domain;
}

static void push(const Options *o, const char *name, int quiet) {
  if (o->no_nvtx || quiet) return;
  if (!o->domain) {
    nvtxRangePushA(name);
    return;
  }
  nvtxEventAttributes_t event;
  memset(&event, 0, sizeof event);
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = name;
  nvtxDomainRangePushEx(llm_domain(), &event);
}

static void pop(const Options *o, int quiet) {
  if (o->no_nvtx || quiet) return;
  if (o->domain)
    nvtxDomainRangePop(llm_domain());
  else
    nvtxRangePop();
}

// Reads the token as a real loop does to see whether it is the last one, which
// makes the CPU wait for the GPU.
static void read_token(Model *m, uint64_t *hash) {
  int token = 0;
  CHECK(cudaMemcpyAsync(&token, m->token, sizeof token, cudaMemcpyDeviceToHost,
                        m->stream));
  CHECK(cudaStreamSynchronize(m->stream));
  *hash = (*hash ^ (uint64_t)token) * 1099511628211u;
}

static void mark(Program *p, int event) {
  CHECK(cudaEventRecord(p->events[event], p->model.stream));
}

static double between(const Program *p, int begin, int end) {
  float ms;
  CHECK(cudaEventElapsedTime(&ms, p->events[begin], p->events[end]));
  return ms;
}

static void run_prefill(Program *p, Run *r, int quiet) {
  double begin = now_ms();
  push(p->o, "prefill", quiet);
  mark(p, 0);
  prefill(&p->model);
  mark(p, 1);
  read_token(&p->model, &r->tokens);
  pop(p->o, quiet);
  r->prefill.ms = now_ms() - begin;
  r->prefill.gpu_ms = between(p, 0, 1);
}

static void run_decode(Program *p, Run *r, int quiet) {
  int most = p->o->prompt + p->o->steps;
  double begin = now_ms();
  push(p->o, "decode", quiet);
  mark(p, 2);
  for (int i = 0; i < p->o->steps; i++) {
    double step = now_ms();
    push(p->o, "decode_step", quiet);
    decode_step(&p->model, most);
    mark(p, 3 + i);
    read_token(&p->model, &r->tokens);
    pop(p->o, quiet);
    r->steps[i].ms = now_ms() - step;
  }
  pop(p->o, quiet);
  r->decode.ms = now_ms() - begin;
  r->decode.gpu_ms = between(p, 2, 2 + p->o->steps);
  for (int i = 0; i < p->o->steps; i++)
    r->steps[i].gpu_ms = between(p, 2 + i, 3 + i);
}

static void run_once(Program *p, Run *r, int quiet) {
  r->tokens = 14695981039346656037u;
  run_prefill(p, r, quiet);
  run_decode(p, r, quiet);
}

static void make_program(Program *p, const Options *o) {
  p->o = o;
  make_model(&p->model, o);
  p->events = (cudaEvent_t *)calloc((size_t)o->steps + 3, sizeof *p->events);
  p->runs = (Run *)calloc((size_t)o->repeats, sizeof *p->runs);
  if (!p->events || !p->runs)
    check(cudaErrorMemoryAllocation, "calloc", __LINE__);
  for (int i = 0; i < o->steps + 3; i++) CHECK(cudaEventCreate(&p->events[i]));
  for (int i = 0; i < o->repeats; i++) {
    p->runs[i].steps = (Time *)calloc((size_t)o->steps, sizeof(Time));
    if (!p->runs[i].steps) check(cudaErrorMemoryAllocation, "calloc", __LINE__);
  }
}

static void run_all(Program *p) {
  const Options *o = p->o;
  if (o->graph) capture_step(&p->model, o->prompt + o->steps);
  for (int i = 0; i < o->warmup; i++) run_once(p, &p->runs[0], 1);
  push(o, "measured", 0);
  for (int i = 0; i < o->repeats; i++) {
    Run *r = &p->runs[i];
    run_once(p, r, 0);
    printf("repeat %d  prefill %.3f ms  decode %.3f ms  %.4f ms/step  "
           "tokens %016llx\n",
           i + 1, r->prefill.ms, r->decode.ms, r->decode.ms / o->steps,
           (unsigned long long)r->tokens);
  }
  CHECK(cudaDeviceSynchronize());
  pop(o, 0);
  fflush(stdout);
}

// ---- metrics.json ----

static void write_run(FILE *out, const Options *o, const Run *r, int index) {
  fprintf(out,
          "  {\"index\": %d, \"epoch\": 1, \"sample\": 1, \"repeat\": %d, "
          "\"inputs\": [], \"output_sha256\": null, \"stages\": {\n"
          "   \"prefill\": {\"ms\": %.6f, \"gpu_ms\": %.6f, \"count\": 1, "
          "\"tokens\": %d},\n"
          "   \"decode\": {\"ms\": %.6f, \"gpu_ms\": %.6f, \"count\": 1, "
          "\"tokens\": %d, \"steps\": %d,\n    \"steps_ms\": [",
          index, index, r->prefill.ms, r->prefill.gpu_ms, o->prompt,
          r->decode.ms, r->decode.gpu_ms, o->steps, o->steps);
  for (int i = 0; i < o->steps; i++)
    fprintf(out, "%s%.6f", i ? ", " : "", r->steps[i].ms);
  fprintf(out, "],\n    \"steps_gpu_ms\": [");
  for (int i = 0; i < o->steps; i++)
    fprintf(out, "%s%.6f", i ? ", " : "", r->steps[i].gpu_ms);
  fprintf(out, "]}}}");
}

static void write_model(FILE *out, const Program *p) {
  const Model *m = &p->model;
  fprintf(out,
          " \"model\": {\"name\": \"toy\", \"variant\": \"%dx%d\", "
          "\"weights\": \"random\", \"dtype\": \"fp32\",\n"
          "  \"parameters\": {\"total\": %zu, \"active\": %zu, "
          "\"decoder\": %zu},\n"
          "  \"architecture\": {\"vocab_size\": %d, \"hidden_size\": %d, "
          "\"num_hidden_layers\": %d, \"num_attention_heads\": %d, "
          "\"num_key_value_heads\": %d, \"head_dim\": %d, "
          "\"intermediate_size\": %d, \"tie_word_embeddings\": true}},\n",
          m->layer_count, m->hidden, m->parameters, m->parameters,
          m->parameters, VOCABULARY, m->hidden, m->layer_count,
          m->hidden / HEAD, m->hidden / HEAD, HEAD, m->wide);
}

// The version the driver's kernel module tells, or "null".
static void read_driver(char *text, size_t size) {
  char line[256];
  snprintf(text, size, "null");
  FILE *in = fopen("/proc/driver/nvidia/version", "r");
  if (!in) return;
  char *word = fgets(line, sizeof line, in) ? strstr(line, "Module") : NULL;
  for (word = word ? strtok(word, " ") : NULL; word; word = strtok(NULL, " ")) {
    if (word[strspn(word, "0123456789.")] == '\0' && strchr(word, '.')) {
      snprintf(text, size, "\"%s\"", word);
      break;
    }
  }
  fclose(in);
}

static void write_environment(FILE *out) {
  int device, runtime;
  struct cudaDeviceProp gpu;
  char driver[64];
  CHECK(cudaGetDevice(&device));
  CHECK(cudaGetDeviceProperties(&gpu, device));
  CHECK(cudaRuntimeGetVersion(&runtime));
  read_driver(driver, sizeof driver);
  fprintf(out,
          " \"environment\": {\"python\": null, \"torch\": null, "
          "\"transformers\": null, \"cuda\": \"%d.%d\",\n"
          "  \"device\": \"%s\", \"compute_capability\": \"%d.%d\", "
          "\"device_memory_bytes\": %zu, \"driver\": %s}\n",
          runtime / 1000, runtime % 1000 / 10, gpu.name, gpu.major, gpu.minor,
          gpu.totalGlobalMem, driver);
}

static void write_metrics(FILE *out, const Program *p) {
  const Options *o = p->o;
  fprintf(out, "{\"schema_version\": 1, \"workload\": \"toy_llm\",\n");
  write_model(out, p);
  fprintf(out,
          " \"options\": {\"cuda_graph\": \"%s\", \"warmup\": %d, "
          "\"sync_per_token\": \"on\"},\n"
          " \"batch\": 1, \"prompt_tokens\": %d, \"image_tokens\": 0, "
          "\"new_tokens\": %d,\n \"inputs\": [], \"repeats\": [\n",
          o->graph ? "on" : "off", o->warmup, o->prompt, o->steps + 1);
  if (o->broken) return;
  for (int i = 0; i < o->repeats; i++) {
    write_run(out, o, &p->runs[i], i + 1);
    fprintf(out, "%s\n", i + 1 < o->repeats ? "," : "],");
  }
  write_environment(out);
  fprintf(out, "}\n");
}

static void cannot_write(const char *path) {
  fprintf(stderr, "toy_llm: %s: %s\n", path, strerror(errno));
  exit(FAILED);
}

// Under a name of its own first, so that the file is never half there.
static void save_metrics(const Program *p, const char *folder) {
  char path[4096], temporary[4096];
  int room = sizeof path;
  if (snprintf(path, sizeof path, "%s/metrics.json", folder) >= room ||
      snprintf(temporary, sizeof temporary, "%s/.metrics.XXXXXX", folder) >=
          room) {
    errno = ENAMETOOLONG;
    cannot_write(folder);
  }
  int fd = mkstemp(temporary);
  FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
  if (!out) cannot_write(temporary);
  fchmod(fd, 0644);
  write_metrics(out, p);
  int failed = ferror(out);
  if (fclose(out) || failed || rename(temporary, path)) {
    int reason = errno;
    unlink(temporary);
    errno = reason;
    cannot_write(path);
  }
}

// ---- processes ----

static int work(const Options *o, int worker) {
  int count = 0;
  cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess || count == 0) {
    fprintf(stderr, "toy_llm: no CUDA device: %s\n",
            error == cudaSuccess ? "none found" : cudaGetErrorString(error));
    return MISSING;
  }
  Program p;
  make_program(&p, o);
  run_all(&p);
  const char *folder = getenv("LLMPROF_WORKLOAD_DIR");
  if (folder && *folder && worker == 0) save_metrics(&p, folder);
  if (o->crash) abort();
  while (o->hang) pause();
  return o->exit_code;
}

// The processes are forked before CUDA is touched: it does not survive a fork.
static int work_in_processes(const Options *o) {
  for (int i = 0; i < o->workers; i++) {
    pid_t child = fork();
    if (child < 0) {
      fprintf(stderr, "toy_llm: fork: %s\n", strerror(errno));
      return FAILED;
    }
    if (child == 0) exit(work(o, i));
  }
  int worst = 0, status;
  while (wait(&status) > 0) {
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : FAILED;
    if (code > worst) worst = code;
  }
  return worst;
}

int main(int argc, char **argv) {
  Options o = parse(argc, argv);
  return o.workers ? work_in_processes(&o) : work(&o, 0);
}

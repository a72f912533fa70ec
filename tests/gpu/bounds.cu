// Kernels that are each bound by one thing, for what counters say of them: each is launched
// several times in the range "measured". bounds.lua runs it, and a spec
// (analysis.counters.bounds) holds what a recorded run says against what they were made for.
//
//   nvcc -O2 -std=c++17 -arch=native -o bounds bounds.cu
//
// Exit status: 0 done, 1 a CUDA call failed, 3 no device.
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <mma.h>
#include <nvtx3/nvToolsExt.h>

#include <stdio.h>
#include <stdlib.h>

enum {
  BLOCK = 256,
  LAUNCHES = 48,
  WARP = 32,
};

static void check(cudaError_t error, const char *what) {
  if (error == cudaSuccess) return;
  fprintf(stderr, "bounds: %s: %s\n", what, cudaGetErrorString(error));
  exit(error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver ? 3 : 1);
}

// Bound by DRAM: reads and writes far more than a cache holds.
__global__ void bound_by_dram(const float4 *in, float4 *out, size_t count) {
  size_t step = (size_t)gridDim.x * blockDim.x;
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += step) {
    float4 v = in[i];
    v.x += 1;
    out[i] = v;
  }
}

// Bound by L2: reads the same few megabytes again and again, past L1.
__global__ void bound_by_l2(const float4 *in, float *out, size_t count, int rounds) {
  float sum = 0;
  size_t step = (size_t)gridDim.x * blockDim.x;
  for (int round = 0; round < rounds; round++)
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += step) {
      float4 v = __ldcg(&in[i]);
      sum += v.x + v.y + v.z + v.w;
    }
  if (sum == 0.5f) out[0] = sum;
}

// Bound by the tensor cores: products of fragments that stay in registers.
__global__ void bound_by_tensor(float *out, int rounds) {
  using namespace nvcuda;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::col_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums[4];
  wmma::fill_fragment(a, __float2bfloat16(0.001f));
  wmma::fill_fragment(b, __float2bfloat16(0.001f));
  for (int i = 0; i < 4; i++) wmma::fill_fragment(sums[i], 0);
  for (int round = 0; round < rounds; round++)
#pragma unroll
    for (int i = 0; i < 4; i++) wmma::mma_sync(sums[i], a, b, sums[i]);
  float sum = 0;
  for (int i = 0; i < 4; i++) sum += sums[i].x[0];
  if (sum == 0.5f) out[0] = sum;
}

// Bound by latency: many warps, each of which waits for one load after the other.
__global__ void bound_by_latency(const unsigned *next, unsigned *out, int rounds) {
  unsigned at = (blockIdx.x * blockDim.x + threadIdx.x) * 977u;
  at &= (1u << 24) - 1;
  if (threadIdx.x % WARP == 0)
    for (int round = 0; round < rounds; round++) at = next[at];
  if (at == 0xffffffffu) out[0] = at;
}

// Bound by occupancy: dependent arithmetic in the one block of two warps that an SM's shared
// memory has room for.
__global__ void bound_by_occupancy(float *out, int rounds) {
  extern __shared__ float kept[];
  float value = threadIdx.x;
  for (int round = 0; round < rounds; round++) value = value * 1.0001f + 0.5f;
  kept[threadIdx.x] = value;
  if (kept[threadIdx.x] == 0.5f) out[0] = value;
}

// A load of a warp touches 32 sectors instead of 4.
__global__ void uncoalesced(const float *in, float *out, size_t rows) {
  size_t row = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  float sum = 0;
  if (row < rows)
    for (int column = 0; column < WARP; column++) sum += in[row * WARP + column];
  if (sum == 0.5f) out[0] = sum;
}

// Threads of a warp read one bank of shared memory.
__global__ void bank_conflicts(float *out, int rounds) {
  __shared__ float tile[WARP][WARP];
  for (int i = threadIdx.x; i < WARP * WARP; i += blockDim.x) tile[i / WARP][i % WARP] = i;
  __syncthreads();
  float sum = 0;
  for (int round = 0; round < rounds; round++)
    sum += *(volatile float *)&tile[threadIdx.x % WARP][(threadIdx.x / WARP + round) % WARP];
  if (sum == 0.5f) out[0] = sum;
}

// Full waves, and a last one of a few blocks; all blocks take as long.
__global__ void tail(float *out, int rounds) {
  float value = threadIdx.x;
  for (int round = 0; round < rounds; round++) value = value * 1.0001f + 0.5f;
  if (value == 0.25f) out[0] = value;
}

static unsigned *chain_of(size_t count) {
  unsigned *chain = (unsigned *)malloc(count * sizeof *chain), *made;
  if (!chain) exit(1);
  for (size_t i = 0; i < count; i++)
    chain[i] = (unsigned)((i * 1664525u + 1013904223u) & (count - 1));
  check(cudaMalloc(&made, count * sizeof *made), "memory");
  check(cudaMemcpy(made, chain, count * sizeof *made, cudaMemcpyHostToDevice), "copy");
  free(chain);
  return made;
}

int main(int argc, char **argv) {
  int repeats = argc > 1 ? atoi(argv[1]) : 3;
  size_t large = (size_t)256 << 20, small = (size_t)8 << 20, links = (size_t)1 << 24;
  int sms = 0, shared = 0, blocks = 0;
  float4 *in, *out;
  check(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0), "device");
  check(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0), "device");
  check(cudaMalloc(&in, large), "memory");
  check(cudaMalloc(&out, large), "memory");
  check(cudaMemset(in, 0, large), "memory");
  check(cudaFuncSetAttribute(bound_by_occupancy, cudaFuncAttributeMaxDynamicSharedMemorySize,
            shared), "shared memory");
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, tail, BLOCK, 0), "occupancy");
  unsigned *chain = chain_of(links);
  float *sink = (float *)out;
  for (int repeat = 0; repeat < repeats; repeat++) {
    nvtxRangePushA("measured");
    for (int i = 0; i < LAUNCHES; i++) {
      bound_by_dram<<<sms * 8, BLOCK>>>(in, out, large / sizeof *in);
      bound_by_l2<<<sms * 8, BLOCK>>>(in, sink, small / sizeof *in, 24);
      bound_by_tensor<<<sms * 8, BLOCK>>>(sink, 2000);
      bound_by_latency<<<sms * 2, BLOCK>>>(chain, (unsigned *)sink, 200);
      bound_by_occupancy<<<sms, 2 * WARP, (size_t)shared>>>(sink, 20000);
      uncoalesced<<<(unsigned)(large / sizeof(float) / WARP / BLOCK), BLOCK>>>((float *)in, sink,
          large / sizeof(float) / WARP);
      bank_conflicts<<<sms * 8, BLOCK>>>(sink, 200);
      tail<<<sms * blocks + sms / 8, BLOCK>>>(sink, 16000);
    }
    check(cudaDeviceSynchronize(), "kernels");
    nvtxRangePop();
  }
  return 0;
}

// @NAME@: prefill and decode steps of a made-up model, to be replaced by yours.
// Compile it where the GPU is:
//
//   nvcc -O2 -arch=native -o workloads/@NAME@ workloads/@NAME@.cu
//
// Words: PROMPT_TOKENS NEW_TOKENS REPEATS. Exit status: 1 a CUDA call failed,
// 2 usage, 3 no device.
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 1024, LAYERS = 4 };

static void check(cudaError_t status) {
  if (status == cudaSuccess) return;
  fprintf(stderr, "@NAME@: %s\n", cudaGetErrorString(status));
  int missing = status == cudaErrorNoDevice ||
                status == cudaErrorInsufficientDriver;
  exit(missing ? 3 : 1);
}

// out[row][col] = sum over k of in[row][k] * weight[col][k]
__global__ void project(const float *in, const float *weight, float *out) {
  int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
  float sum = 0;
  for (int k = 0; k < WIDTH; k++)
    sum += in[row * WIDTH + k] * weight[col * WIDTH + k];
  out[row * WIDTH + col] = sum / WIDTH;
}

// The model goes here: its layers over so many tokens at once.
static void forward(float *state, float *next, const float *weight,
                    int tokens) {
  for (int layer = 0; layer < LAYERS; layer++) {
    project<<<dim3(WIDTH / 128, tokens), 128>>>(state, weight, next);
    check(cudaGetLastError());
    float *swap = state;
    state = next;
    next = swap;
  }
}

// One repeat in its ranges. Waiting inside a range makes its length true.
static void generate(float *a, float *b, const float *weight, int prompt,
                     int new_tokens) {
  nvtxRangePushA("prefill");
  forward(a, b, weight, prompt);
  check(cudaDeviceSynchronize());
  nvtxRangePop();
  nvtxRangePushA("decode");
  for (int i = 1; i < new_tokens; i++) {
    nvtxRangePushA("decode_step");
    forward(a, b, weight, 1);
    check(cudaDeviceSynchronize());
    nvtxRangePop();
  }
  nvtxRangePop();
}

int main(int argc, char **argv) {
  int prompt = argc == 4 ? atoi(argv[1]) : 0;
  int new_tokens = argc == 4 ? atoi(argv[2]) : 0;
  int repeats = argc == 4 ? atoi(argv[3]) : 0;
  if (prompt < 1 || new_tokens < 2 || repeats < 1) {
    fputs("usage: @NAME@ PROMPT_TOKENS NEW_TOKENS REPEATS\n", stderr);
    return 2;
  }
  float *a, *b, *weight;
  size_t size = (size_t)prompt * WIDTH * sizeof(float);
  check(cudaMalloc(&a, size));
  check(cudaMalloc(&b, size));
  check(cudaMalloc(&weight, WIDTH * WIDTH * sizeof(float)));
  check(cudaMemset(a, 0, size));
  check(cudaMemset(weight, 0, WIDTH * WIDTH * sizeof(float)));
  forward(a, b, weight, 1); // warm-up, outside the ranges
  check(cudaDeviceSynchronize());
  for (int i = 0; i < repeats; i++)
    generate(a, b, weight, prompt, new_tokens);
  check(cudaFree(a));
  check(cudaFree(b));
  check(cudaFree(weight));
  return 0;
}

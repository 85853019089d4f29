// ptxcheck-args: --launch-block 64
// why: called functions access arrays of the kernel outside of them, by the number of the thread and what they are passed
#include <cuda_runtime.h>

// Clears as many 64-bit elements as there are lanes, in an array of 32-bit ones.
__device__ __noinline__ void clear_pairs(int *memory) {
  if (threadIdx.x < 32) reinterpret_cast<long long *>(memory)[threadIdx.x] = 0;  //~ PTX211
}

__global__ void clears_too_much(int *out) {
  __shared__ int memory[32];
  clear_pairs(memory);
  __syncthreads();
  if (threadIdx.x < 32) out[threadIdx.x] = memory[threadIdx.x];
}

__device__ __noinline__ void put(float *row, int at, float value) {
  row[at] = value;  //~ PTX211
}

// The index is computed by the caller.
__global__ void puts_past(const float *in, float *out) {
  __shared__ float row[48];
  put(row, threadIdx.x, in[threadIdx.x]);
  __syncthreads();
  if (threadIdx.x < 48) out[threadIdx.x] = row[47 - threadIdx.x];
}

__device__ __noinline__ void put_deep(float *part, int at, float value) {
  part[at * 2] = value;  //~ PTX211
}

__device__ __noinline__ void put_shifted(float *row, int by, float value) {
  put_deep(row + 4, threadIdx.x + by, value);
}

// Two calls, each of which adds something.
__global__ void puts_deep(const float *in, float *out) {
  __shared__ float row[128];
  put_shifted(row, 8, in[threadIdx.x]);
  __syncthreads();
  out[threadIdx.x] = row[threadIdx.x + 64];
}

// The array is in the function.
__device__ __noinline__ float turned(float value) {
  __shared__ float own[60];
  own[threadIdx.x] = value;  //~ PTX211
  __syncthreads();
  return own[59 - threadIdx.x % 60];
}

__global__ void turns(const float *in, float *out) { out[threadIdx.x] = turned(in[threadIdx.x]); }

struct Piece {
  float *begin;
  int first;
};

__device__ __noinline__ float from_piece(Piece piece) {
  return piece.begin[piece.first + threadIdx.x];  //~[!clang-G] PTX211
}

// A structure is passed.
__global__ void reads_piece(const float *in, float *out) {
  __shared__ float row[64];
  row[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = from_piece({row, 1});
}

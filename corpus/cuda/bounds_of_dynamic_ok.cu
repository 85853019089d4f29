// ptxcheck-args: -W potential:PTX211 --launch-shared 4096 --launch-block 128
// why: usual ways to use dynamic shared memory, of which each launch has 4,096 bytes

#include <cuda_fp16.h>

extern __shared__ __align__(16) unsigned char memory[];
extern __shared__ float numbers[];

// right: all of it, in steps of the block.
__global__ void all_of_it(float *out, const float *in) {
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) numbers[i] = in[i];
  __syncthreads();
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) out[i] = numbers[1023 - i];
}

// right: four arrays of 256 numbers, of which a block of 128 threads uses the first halves.
__global__ void four_arrays(float *out, const float *in) {
  float *a = numbers, *b = a + 256, *c = b + 256, *d = c + 256;
  int t = threadIdx.x;
  a[t] = in[t];
  b[t] = in[t + 128];
  c[t] = in[t + 256];
  d[t] = in[t + 384];
  __syncthreads();
  out[t] = a[127 - t] + b[127 - t] + c[127 - t] + d[127 - t];
}

// right: eight arrays as long as the block.
__global__ void as_long_as_the_block(float *out, const float *in) {
  float *first = numbers, *last = first + 7 * blockDim.x;
  int t = threadIdx.x;
  first[t] = in[t];
  last[t] = in[t + 128];
  __syncthreads();
  out[t] = first[127 - t] * last[blockDim.x - 1 - t];
}

// right: doubles in front, integers behind them, bytes at the end.
__global__ void of_three_types(double *out, const double *in, int *flags) {
  double *d = reinterpret_cast<double *>(memory);
  int *n = reinterpret_cast<int *>(memory + 2048);
  unsigned char *b = memory + 2048 + 1536;
  int t = threadIdx.x;
  d[t] = in[t];
  d[t + 128] = in[t + 128];
  n[t] = flags[t];
  n[t + 256] = flags[t + 256];
  b[t + 384] = static_cast<unsigned char>(flags[t] & 1);
  __syncthreads();
  out[t] = d[255 - t] + n[383 - t] + b[511 - t];
}

// right: rows of 33 numbers, as padding against conflicts; 31 of them are used.
__global__ void padded_rows(float *out, const float *in) {
  int x = threadIdx.x % 32, y = threadIdx.x / 32;
  for (int row = y; row < 31; row += 4) numbers[row * 33 + x] = in[row * 32 + x];
  __syncthreads();
  if (x < 31) out[x * 32 + y] = numbers[x * 33 + y];
}

// right: vectors of 16 bytes, the last one of them at the end.
__global__ void vectors(float4 *out, const float4 *in) {
  float4 *v = reinterpret_cast<float4 *>(memory);
  int t = threadIdx.x;
  v[t] = in[t];
  v[t + 128] = in[t + 128];
  __syncthreads();
  out[t] = v[255 - t];
}

// right: the last byte.
__global__ void last_byte(int *out, const int *in) {
  if (threadIdx.x == 0) memory[4095] = static_cast<unsigned char>(in[0]);
  __syncthreads();
  out[threadIdx.x] = memory[4095];
}

// right: the last half of a pair that begins two bytes before the end.
__global__ void last_half(__half *out, const __half *in) {
  __half *h = reinterpret_cast<__half *>(memory);
  if (threadIdx.x == 127) h[2047] = in[0];
  __syncthreads();
  out[threadIdx.x] = h[2047];
}

// right: nothing uses it.
__global__ void unused(int *out, const int *in) { out[threadIdx.x] = in[threadIdx.x]; }

// right: only its address is used.
__global__ void address_alone(unsigned *out) {
  out[threadIdx.x] = static_cast<unsigned>(__cvta_generic_to_shared(memory + 8192));
}

// right: a launch that wants it has twice as much.
__global__ void where_wanted(float *out, const float *in, bool has_more) {
  int t = threadIdx.x;
  float sum = in[t];
  if (has_more) {
    numbers[t + 1024] = sum;
    __syncthreads();
    sum += numbers[1024 + (t ^ 1)];
  }
  out[t] = sum;
}

// right: a launch with large tiles has more.
__global__ void large_tiles(float *out, const float *in, int tiles) {
  int t = threadIdx.x;
  for (int tile = 8; tile < tiles; tile++) {
    numbers[tile * 128 + t] = in[tile * 128 + t];
    __syncthreads();
    out[tile * 128 + t] = numbers[tile * 128 + 127 - t];
    __syncthreads();
  }
}

// right: a launch with more of it says how much.
__global__ void size_as_parameter(float *out, const float *in, int bytes) {
  if (threadIdx.x == 0 && bytes > 4096) numbers[1024] = in[0];
  __syncthreads();
  if (bytes > 4096) out[threadIdx.x] = numbers[1024];
}

// right: the size that the hardware knows.
__global__ void size_of_the_launch(float *out, const float *in) {
  unsigned bytes;
  asm volatile("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
  if (bytes < 8192) return;
  numbers[1024 + threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = numbers[1024 + (threadIdx.x ^ 1)];
}

// right: one number for each warp, at the end.
__global__ void one_for_each_warp(float *out, const float *in) {
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  float sum = in[threadIdx.x];
  for (int by = 16; by > 0; by /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, by);
  if (lane == 0) numbers[1020 + warp] = sum;
  __syncthreads();
  if (threadIdx.x < 4) out[threadIdx.x] = numbers[1020 + threadIdx.x];
}

struct Layout {
  float4 *rows;
  float *sums;
  int *count;
};

__device__ __noinline__ Layout layout_of(unsigned char *from) {
  return {reinterpret_cast<float4 *>(from), reinterpret_cast<float *>(from + 2048),
          reinterpret_cast<int *>(from + 4092)};
}

// right: a function gives the places.
__global__ void places_of_a_function(float *out, const float4 *in) {
  Layout at = layout_of(memory);
  int t = threadIdx.x;
  at.rows[t] = in[t];
  at.sums[t] = static_cast<float>(t);
  if (t == 0) *at.count = 1;
  __syncthreads();
  out[t] = at.rows[127 - t].x + at.sums[127 - t] + *at.count;
}

__device__ __noinline__ float *part(int number) { return numbers + number * 128; }

// right: a function gives one of eight parts.
__global__ void part_of_a_function(float *out, const float *in) {
  part(7)[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = part(7)[127 - threadIdx.x];
}

struct Arena {
  unsigned char *next;
  template <class T> __device__ T *take(int count) {
    T *begin = reinterpret_cast<T *>(next);
    next += count * sizeof(T);
    return begin;
  }
};

// right: a class hands out memory.
__global__ void arena(float *out, const float *in, const double *more) {
  Arena left{memory};
  double *d = left.take<double>(256);
  float *f = left.take<float>(384);
  int *n = left.take<int>(128);
  int t = threadIdx.x;
  d[2 * t + 1] = more[t];
  f[t + 256] = in[t];
  n[t] = t;
  __syncthreads();
  out[t] = static_cast<float>(d[255 - 2 * t]) + f[383 - t] + static_cast<float>(n[127 - t]);
}

// right: static memory beside it.
__global__ void static_and_dynamic(float *out, const float *in) {
  __shared__ float fixed[128];
  int t = threadIdx.x;
  fixed[t] = in[t];
  numbers[t + 896] = in[t + 128];
  __syncthreads();
  out[t] = fixed[127 - t] + numbers[1023 - t];
}

// right: two buffers in turns.
__global__ void two_buffers(float *out, const float *in, int rounds) {
  int t = threadIdx.x;
  for (int k = 0; k < rounds; k++) {
    float *buffer = numbers + (k & 1) * 512;
    for (int i = t; i < 512; i += 128) buffer[i] = in[k * 512 + i];
    __syncthreads();
    out[k * 128 + t] = buffer[511 - t] + buffer[t];
  }
}

// right: counters of a histogram with 1,024 places.
__global__ void histogram(unsigned *out, const unsigned *in, int n) {
  unsigned *counts = reinterpret_cast<unsigned *>(memory);
  for (int i = threadIdx.x; i < 1024; i += 128) counts[i] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += 128) atomicAdd(&counts[in[i] & 1023], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 1024; i += 128) out[i] = counts[i];
}

// right: index behind the end in threads that the block lacks.
__global__ void missing_threads(float *out, const float *in) {
  int t = threadIdx.x;
  if (t < 512) numbers[t * 8] = in[t];
  __syncthreads();
  if (t < 512) out[t] = numbers[(127 - t) * 8];
}

// right: only threads whose place exists write.
__global__ void guarded(float *out, const float *in) {
  int t = threadIdx.x, at = t * 9;
  if (at < 1024) numbers[at] = in[t];
  __syncthreads();
  if (at < 1024) out[t] = numbers[at];
}

// right: the end is reached from both sides.
__global__ void backwards(float *out, const float *in) {
  float *last = numbers + 1023;
  last[-static_cast<int>(threadIdx.x)] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = last[static_cast<int>(threadIdx.x) - 127];
}
